// Package inputs reads the files that users name. Each is opened without waiting and read up to a bound.
//
//	inputs.go     files, plain or gzip
//	pipe_*.go     pipes that are opened without waiting, by system
//	json.go       what is refused of any JSON
//	printable.go  text that reads as it is written
package inputs
