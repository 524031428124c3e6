// Package catalog fits the efficiencies that the program carries to the runs of many deployments at once.
//
//	catalog.go   the fit: what all engines have in common, what an engine adds, and what a GPU adds under it
//	published.go which published figures are fitted to
//	kernels.go   what tables of kernels say of models that no server was fitted to
//	holds.go     predictions of its runs with part of the data kept away from the fit
package catalog
