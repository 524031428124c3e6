// Package policies is the room of the decisions of a serving system. Each kind has a package of its own:
//
//	routers     which route through the pools a request takes, and which instance of a pool
//	schedulers  what an instance runs next, in which order its queue is served, and which request is preempted
//	fleet       which requests enter, how many instances there are, in which role, and how they fail and slow down
//	acceptance  how many drafted tokens the model accepts
//
// They implement the ports of package sim and import nothing else of the simulator. Names in scenarios become policies
// in one table a package.
package policies
