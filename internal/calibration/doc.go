// Package calibration fits efficiencies to measured runs.
//
// A run is simulated once and frozen (see freeze.Frozen): its batches are kept, and which step each measured value
// waits for. Pricing them anew under other efficiencies takes a millisecond, so that a fit of a thousand runs takes
// seconds and leaving out each deployment in turn takes no new simulation. The fit is a robust least squares of the
// logarithms of predicted over measured, held to a prior by a penalty, which Newton's method minimises.
//
//	parameter.go  the constants that data can tell something of
//	fit.go        the loss, and its minimum
//	slopes.go     its derivatives; blocks.go solves for a step
//	freeze.go     runs to fit to, and the rounds of simulating and fitting
//	holdout.go    errors on what was left out
//	crossed.go    those where all that shares any of several keys is left out, such as a GPU and a model
//	judge.go      what the data could not tell, and what contradicts them
//	own.go        a fit to a user's own runs; calibration.go what comes of it
//	write.go      efficiency files; file.go one that is written whole or not at all
//	table.go      what a fit says, for people
package calibration
