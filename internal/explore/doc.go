// Package explore serves a page with controls for a scenario: each change says at once what binds a decode step, and is
// simulated by the engine of decodesim run.
//
//	controls.go  the controls: their values, and what each changes of a scenario
//	engine.go    the control of the engine, whose arguments have other names
//	pools.go     the controls of pools: co-located replicas, or prefill and decode
//	tree.go      changes to the text of a scenario, which keeps its comments
//	state.go     the query of a page's URL as a scenario
//	step.go      what binds its decode step: the roofline, and steps by batch
//	simulate.go  the run: distributions of latencies, bounded in size and time
//	server.go    the server: who may ask, and which runs give way
//	local.go     answers without a server, for the page as files: the simulator runs in it, as WebAssembly
//	site.go      those files
//	page.go      the page; page.html, page.css and the scripts are beside it
package explore
