// Package run is the one way from a built scenario to its results.
//
//	run.go       one run: what is kept of it, who follows it, and how it is cancelled
//	memory.go    the memory that a run needs, and whether it is there
//	precise.go   runs that are lengthened to a precision
//	steady.go    which runs have a steady state
//	rows.go      a row for each request; csv.go writes them
//	live.go      a run that is advanced to the present, while requests are added to it
//	progress.go  how far a run is
//	shares.go    how far several are that are simulated at the same time
//	of_peak.go   what the parts of the usual step achieve of the peaks
//	each.go      many runs over all cores
package run
