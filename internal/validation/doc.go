// Package validation replays measured runs and scores the predictions.
//
//	read.go       measurements, and the deployment they are replayed on
//	all.go        many runs, over all cores
//	predict.go    one measured run simulated; observe.go the statistics that its benchmark tool reported
//	priced.go     steps, collectives and kernels, priced without a simulation
//	steps.go      the step of a run that has no other
//	score.go      predictions beside measurements: what is compared and what is not
//	groups.go     errors by label; errors.go how they are summed up
//	occupancy.go  how full the simulated server is
//	kinds.go      errors by kind, of tables that hold several
//	table.go      the scores for people; words.go sentences and names of metrics, lists.go what was left out
//	page.go       the scores as a page
//	csv.go        predictions.csv; files.go all that --out leaves
//	parity.go     predicted against measured, drawn; clouds.go what shares a colour, spread.go errors by concurrency
package validation
