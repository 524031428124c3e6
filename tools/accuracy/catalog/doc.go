// Package catalog fits the efficiencies that the program carries to the runs of many deployments at once.
//
//	catalog.go   the fit: what all engines have in common, what an engine adds, and what a GPU adds under it
//	holds.go     predictions of its runs with part of the data kept away from the fit
package catalog
