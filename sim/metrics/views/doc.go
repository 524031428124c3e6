// Package views says what each benchmark tool would have reported of a run. Tools mean different things by TTFT, ITL
// and TPOT; every definition here is a pure function of one record of a request, and the record is the same for all.
//
//	record.go        a request as its client saw it: when it was sent, and the chunks that came back
//	sample.go        the sink that records the traced requests of a run, and counts all others
//	stream.go        from tokens as the engine emits them to chunks as the client receives them
//	streamed.go      the latencies of a summary, as the clients of the sample see them
//	distribution.go  weighted values and their percentiles, by either rule
//	tool.go          a tool: its measures, rates and rule of goodput
//	clients.go       benchmark clients, in their own words
//	servers.go       what a server exports, and percentiles as its histograms give them
//	simulators.go    what other simulators and papers mean by the same names
//	goodput.go       which requests are good, by whose rule
//	view.go          a run in the terms of one tool
//	smoothness.go    stalls, and what a reader notices of them
package views
