// Package live lets a simulated deployment serve requests as they come: it ties the simulated clock to the wall's.
//
//	fleet.go     the deployment: requests in, tokens out, advanced to an instant by its one owner
//	request.go   what a client asks for, and how far its answer is
//	admitting.go who enters, and why somebody does not
//	inbox.go     the source of the requests, and the routers in front of which some are pinned to a replica
//	sink.go      which tokens clients get, and when
//	prompts.go   what prompts have in common, block by block of their text
//	command.go   replicas that fail, drain, start and stop by command
//	recording.go the trace that run replays to the same latencies
//	counters.go  what a server counts for its metrics
//	state.go     what an observer sees of the fleet
//	loop.go      the goroutine that owns a fleet: it follows the clock
//	clock.go     the clock
//	alarm_*.go   what wakes that goroutine in time
//
// A fleet knows nothing of goroutines, sockets or the wall clock: what it does is a function of what it is given at
// which simulated instant. Whatever is served is therefore what run gives for the recorded trace.
package live
