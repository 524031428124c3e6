// Package measured reads measurements of real deployments and says how each was made, as a scenario that can be
// simulated. It recognises a file by its columns or keys, never by its name. What a run was set up with goes into the
// scenario; what was measured stays apart, so that no prediction can see it.
//
//	run.go      a file, its runs, rows and values
//	read.go     which reader a file is for; plain.go: compressed files, schema.go: kinds of file, and the one that was perhaps meant
//	table.go    CSV fields; rows.go a run for every row; plausible.go: the range of what is measured
//	names.go    names of models and GPUs as the catalogs have them; spelling.go: the name that was perhaps meant, published.go: for others
//	setup.go    the text of a scenario
//	closedloop.go  what tables of closed loops share: deployments, lengths, statistics, what is not modelled
//	silicon.go     closed-loop sweeps of many deployments (one row: mean TTFT and mean TPOT); silicon_args.go: their launch scripts,
//	            silicon_pools.go: those with a pool for prompts and one for outputs
//	profiled.go    closed loops on profiled servers, all statistics; longruns.go: the requests of some of them, recorded.go: their lengths
//	positions.go   closed loops over a grid of prompt lengths, medians
//	splitwise.go   single steps: one prefill and the decode steps of a batch
//	unmeasured.go  tables beside the data that hold no measurement
//	stages.go   open-loop stages, several rows to one run; rates.go: their arrivals, prefixes.go: what their prompts share
//	timings.go  times of every request over a trace; timings_run.go: a run of them, timings_trace.go: its trace
//	vllmbench.go aiperf.go guidellm.go inferenceperf.go
//	            results of benchmark tools, which say the load and not the deployment; asked.go: such a load, counts.go: its
//	            token counts, statistics.go: its latencies, vllmrequests.go: its requests one by one
//	points.go   a user's own table: the load, what was measured, and what the user cares to say of the deployment
//	deployment.go  those runs on the deployment of a scenario; overlay.go: its text with their keys over it
//	document.go    JSON values; object.go: their fields
package measured
