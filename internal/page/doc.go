// Package page writes results as one HTML page that needs nothing else: no network, no files beside it. Commands say
// what is on it, in blocks; how it looks, on a screen, a phone and paper, in light and dark, is said here once.
//
//	page.go     the page: question, answer, facts, sections of blocks
//	table.go    tables, and numbers that name the field of the results that they are
//	plot.go     plots with hover values, drawn in the browser by uPlot
//	bars.go     stacked and floating bars, drawn without a script
//	write.go    the page as HTML: escaped, and with a policy that lets nothing run but the two scripts that are ours
//	live.go     a page with a script of its own, which asks the server that it came from
//	embed.go    template, style and scripts; uplot/ is a copy of uPlot 1.6.32 with its licence
package page
