// Package progress is the line of a terminal that says how far a long command is: the work done, its rate, and the time
// that is left. Where stderr is no terminal there is none, and no file gets a word of it.
//
//	line.go      the line: when it is drawn, and cleared
//	describe.go  what it says
package progress
