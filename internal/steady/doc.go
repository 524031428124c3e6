// Package steady says how far a run tells of a steady state.
//
//	steady.go    what a run that has ended says
//	warmup.go    where its warm-up ended
//	interval.go  how sure its means and quantiles are
//	halves.go    whether its halves agree
//	drift.go     whether the requests under way grow
package steady
