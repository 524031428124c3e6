// Package strict decodes YAML without mercy: an unknown key, a duplicate, an anchor or a number that can be read in two
// ways is an error that names file, line, column and path, and suggests what was meant.
//
//	strict.go   Decode, the positions of values, and errors that point at them
//	numbers.go  long lists of numbers, which are read past the library
//	decode.go   the walk over YAML nodes and the Go values they fill
//	scalar.go   text, truth values and numbers
//	node.go     the tree of a file, for edits before it is decoded
//	suggest.go  the nearest name
//	synonyms.go words of engines and load testers, and the keys that they stand for
//	release.go  numbers of releases, which no reader may take for decimals
package strict
