// Package catalog fits the efficiencies that the program carries to the runs of many deployments at once.
//
//	catalog.go   the fit: what all engines have in common, what an engine adds, and what a GPU adds under it
//	published.go which published figures are fitted to
//	kernels.go   what tables of kernels say of models that no server was fitted to
//	holds.go     predictions of its runs with part of the data kept away from the fit
//	releases.go  releases of an engine that have constants of their own
//	steps.go     the few steps of a long log that are fitted to
//	trial.go     another form of step prices, on batches that a file keeps; trial_table.go: its errors
package catalog
