// Package groundtruth reads tables of published measurements, most of which say how their servers were deployed.
// Accuracy is claimed, and efficiencies are fitted, on these.
//
//	schemas.go     all of them
//	closedloop.go  what tables of closed loops share: deployments, lengths, statistics, skipped rows
//	silicon.go     closed-loop sweeps of many deployments, one row each: mean TTFT and mean TPOT
//	               silicon_args.go: their launch scripts; silicon_pools.go: those with pools for prefill and for decode
//	profiled.go    closed loops on profiled servers, with all statistics; longruns.go: the requests of some of them
//	positions.go   closed loops over a grid of prompt lengths, medians
//	splitwise.go   single steps: one prefill, and the decode steps of a batch
//	stages.go      open-loop stages, several rows to one run; rates.go: their arrivals
//	               stages_sampling.go: what sampling takes of their steps
//	timings.go     times of every request over a trace; timings_run.go: a run of them; timings_trace.go: its trace
//	unmeasured.go  tables that lie beside the data and hold no measurement
package groundtruth
