// Package explain takes one decode step apart: bytes, FLOPs, the bound, what limits it, and at which batch that
// changes.
//
//	step.go         the step that is asked about: a replica, a batch and a context
//	explanation.go  what is said of it; switch.go at which batch or context another resource takes over
//	speculation.go  what drafting does to it
//	loads.go        what it takes to load a prefix of that context from host memory and from the tiers below
//	text.go         the explanation for people, speculation_text.go that of drafts
//	grid.go         steps of several values, as a table; grid_plot.go as a plot
//	files.go        what is written to a directory
//	request.go      what benchmark tools say of one request
//	roofline.go batch.go speedup.go   the plots: the roofline, the latency against the batch, where drafting pays
package explain
