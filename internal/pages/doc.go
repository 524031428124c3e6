// Package pages says what stands on the page of a result that a planner forwards, report.html: the question and the
// answer, the numbers behind it, what was assumed, how far off it may be, and how to get it again. How a page looks is
// said by internal/page; every number on it is a field of the results.
//
//	run.go        the page of a run; answer.go its question and answer
//	latency.go    latencies: a table and distributions
//	parts.go      what gaps between tokens are made of
//	overtime.go   the run over time; courses.go several of them over each other
//	pools.go      the replicas; money.go their rent and energy
//	assumed.go    the figures of the hardware with their sources, the constants, and every default
//	evidence.go   how far off predictions for this deployment have been, and warnings
//	again.go      how to get the result again
package pages
