// Package policies holds the decisions of a serving system: who may enter, which instance a request goes to, what an
// instance runs next, and how many there are.
//
//	admission*.go      who may enter the cluster
//	splitter*.go       which route through pools a request takes
//	routing.go         the names of routers, and what they go by
//	router*.go         where in a pool a request goes
//	view.go            what a router knows of loads
//	order.go           in which order a queue is served
//	continuous.go      what an instance runs next: vLLM V1, Sarathi, TensorRT-LLM, Orca
//	prefill_first.go   … vLLM V0, and decodes first
//	sglang.go          … SGLang
//	cache_order.go     its orders of the queue
//	static.go          … a static batch
//	acceptance*.go     how many drafted tokens the model accepts
//	noise.go           how much longer steps last than priced
//	straggler.go       … in some instances always
//	autoscale*.go      how many instances a pool has
//	role_switch.go     which role they have
//	failures*.go       when they go down, and come back
//	drains.go          when they are taken out for maintenance
//	controllers.go     all of these as one
//	names.go           the names of schedulers in scenarios
package policies
