// Package output writes what a command leaves behind: all of it or nothing, and never over what is not its own.
//
//	dir.go      the directory of --out
//	place.go    how what was built aside gets to its place
//	staging.go  where it is built: the lock on it, and what an interrupted command has left there
//	file.go     one file, a pipe or a device; stream_*.go opens those
//	cell.go     text as a cell of a CSV file
package output
