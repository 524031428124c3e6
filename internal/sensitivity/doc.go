// Package sensitivity varies what an answer rests on, one input at a time and each by its own uncertainty, and ranks
// the inputs by what they do to the answer.
//
//	inputs.go     what is varied: what the user forecasts, data sheets and fitted constants, each with its range
//	datasheet.go  how far a number of a data sheet may be off, by its source
//	constants.go  how far a fitted constant may be off, by what the fit knows of it
//	subject.go    the answer: of a run; size.go of a study
//	analysis.go   every input at both ends of its range, and where the decision changes
//	result.go     the ranking and its sentences; table.go for people and as CSV, figure.go the tornado
//	page.go       the result as a page; files.go what --out leaves
package sensitivity
