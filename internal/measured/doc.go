// Package measured is the model of measurements of real deployments: each run says how it was made, as a scenario that
// can be simulated, and what was measured of it. What a run was set up with goes into the scenario; what was measured
// stays beside it, so that no prediction can see it.
//
//	run.go         a file, its runs, rows and values
//	priced.go      steps, collectives and kernels, which are priced in place of a simulation
//	plausible.go   the range of what is measured
//	deployment.go  runs that say only their load, put on the deployment of a scenario
//	overlay.go     the text of that scenario with their keys over it
//
// The packages below it read files. They recognise one by its columns or keys, never by its name:
//
//	formats      the door: which format a file has, and what the user may have meant if none
//	longform     a table of one measured value a row: decodesim/measurements/v1
//	points       a user's own table of measured points
//	benchtools   result files of benchmark tools
//	groundtruth  tables of published measurements
//	logs         the authors' tables of engine steps, kernels and newer servers
//	setup        the scenario of a run as its data describe it: deployment, load, token counts
//	datafile     CSV and JSON by column and key, with the place of every error
//	names        models, GPUs and engines as the catalogs call them
package measured
