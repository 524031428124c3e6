// Package explore serves a page with controls for a scenario: each change says at once what binds a decode step, and is
// simulated by the engine of decodesim run.
//
//	controls.go  the controls: their values, and what each changes of a scenario
//	pools.go     the controls of pools: co-located replicas, or prefill and decode
//	tree.go      changes to the text of a scenario, which keeps its comments
//	state.go     the query of a page's URL as a scenario
//	step.go      what binds its decode step: the roofline, and steps by batch
//	simulate.go  the run: distributions of latencies, bounded in size and time
//	server.go    the server: who may ask, and which runs give way
//	page.go      the page; page.html, page.css and page.js are beside it
package explore
