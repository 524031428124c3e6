// Package formats reads a file of measurements in whichever of the known formats it has.
//
//	formats.go       the formats, and the reader that a file is for
//	unrecognised.go  what keeps a file from being read: the column that the nearest format misses
package formats
