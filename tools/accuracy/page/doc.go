// Package page writes docs/accuracy.md: how far predictions of measured runs are off, by what was kept away from the
// fit.
//
//	page.go           what the page says, and the predictions that a line of it is about
//	headline.go       the page from its claim to its table of errors, and its figures
//	groups.go         errors by label, and where they are largest
//	engines.go        engine by engine, and how full their servers are
//	disaggregated.go  pools for prefill and pools for decode
//	published.go      published figures, logs of steps and kernels, and what was never measured
//	servers.go        published servers by their requests in flight
//	anchors.go        single prompts and published speeds
//	method.go         how the fit was made, of which data
//	markdown.go       paragraphs and tables
package page
