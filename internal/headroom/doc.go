// Package headroom finds how much more load a deployment sustains before it misses its SLO: by short runs under the
// same workload at scaled rates.
//
//	headroom.go  what is sustained, and what breaks first
//	search.go    which rates are tried
package headroom
