// Package run is the one way from a built scenario to its results.
//
//	each.go  many runs over all cores
package run
