// Package expected says how far predictions for a deployment are to be expected off: what errors were where runs like
// it were left out of the fit. The numbers are those of docs/accuracy.md, written beside it by make calibrate.
//
//	table.go     errors by model, GPU and engine, where they were measured, and by what was left out where they were not
//	expected.go  the errors to expect for the deployments of a scenario
package expected
