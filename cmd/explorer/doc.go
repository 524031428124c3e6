// Command explorer is the simulator for a page without a server: compiled to WebAssembly, it answers in a worker what
// the page of decodesim explore asks.
//
//	main.go  what the worker calls; other.go is what it is anywhere else
package main
