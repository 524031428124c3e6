// Package metrics turns what a run reports into the numbers users ask for.
//
//	recorder.go  the definitions of TTFT, ITL, TPOT, E2E and queue time
//	class.go     the same by service class
//	account.go   what the time of a step is made of, and its bound
//	trace.go     gaps by output position, from traced requests
//	hist.go      the histogram behind every quantile
//	load.go      offered against served, and whether the queue grows
//	timeline.go  the state of a run over time
//	split.go tail.go   what late tokens waited for
//	pools.go     the load of each pool, hand-overs, and a fleet that changes
//	summary.go   summary.json; streamed.go what clients see, where a stream makes a difference
//	summarize.go recorder → summary
//	views/       the same run in the words of benchmark tools
package metrics
