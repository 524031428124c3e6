// Package metrics turns what a run reports into the numbers users ask for.
//
//	recorder.go     the definitions of TTFT, TPOT, E2E and queue time
//	itl.go          the definition of ITL; the reasons of the longest gaps
//	chunks.go       what clients receive where tokens are sent several at a time
//	rules.go        an SLO as contracts write it, and what became of it
//	cliff.go        where a small change of the load changes the percentile of a rule much
//	full.go         the recorder of a whole run; ITL by output position, from traced requests
//	class.go        the same metrics by service class
//	tasks.go        tasks of agents
//	account.go      what the time of a step is made of, and its bound
//	of_peak.go      what the parts of the usual step achieve of the peaks
//	attribution.go  what every gap between tokens is made of
//	hist.go         the histogram behind every quantile
//	series.go       the run in order of time, for what single values cannot say: warm-up, drift, intervals
//	steady.go       what it tells of a steady state, for the summary
//	load.go         offered against served, and whether the queue grows
//	shard.go        recorders of parts of a run, and merging them
//	timeline.go     the state of a run over time
//	windows.go      the same definitions by window of time; spread.go its small histograms
//	overtime.go     whether windows met the SLO, its backlog, and alerts
//	cost.go         rent, what it is paid for and how it divides; energy.go what the run draws
//	pools.go        the load of each pool, KV transfers, and pools that change
//	latency.go      the latencies of a summary
//	summary.go      the other results in summary.json
//	summarize.go    from recorder to summary
//	views/          the same run in the words of benchmark tools
package metrics
