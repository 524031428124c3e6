// Package setup describes how a measured run was set up and loaded, and writes that as a scenario.
//
//	scenario.go  a deployment with its workload
//	load.go      the load that a benchmark tool put on a deployment it does not know
//	overlap.go   which releases plan a step only when the one before has ended
//	counts.go    token counts of many requests, as far as a file has them
package setup
