// Package stats is what results of several runs share: intervals of confidence, and numbers that may be missing.
//
//	interval.go  an interval from samples that are independent, such as runs under several seeds
//	spectral.go  one from a series whose neighbours may be correlated
package stats
