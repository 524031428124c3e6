// Package report shows what a run found. It reads results and computes none: every number it prints is a field of
// metrics.Summary, a sample of the timeline or a point of a distribution.
//
//	caption.go    the run's name on everything that shows it
//	units.go      numbers with units, three significant digits
//	table.go      the terminal table; sections.go below the latencies
//	gaps*.go      what gaps between tokens are made of: a table, a sentence, stacked bars
//	requests.go   requests.csv
//	views.go definitions.go   a run in the words of benchmark tools, and what each means; tools/ their files
//	dir.go        the output directory, whose files are whole or absent
//	figure.go     SVG and PNG of one drawing; style.go the one house style
//	scale.go      values to positions; ticks.go where the labels stand
//	panel.go      axes, lines and areas of one coordinate system
//	cdf.go timeline.go roofline.go batch.go heatmap.go   the plots
//	compare*.go   scenarios beside each other: a table, sentences, CSV, and distributions in pairs
//	size*.go      the answer of a search: text, CSV, a page, goodput by split and the frontier
//	predictions.go   predictions beside measurements, as CSV; validation*.go as text
//	parity.go spread.go   how far they are apart, drawn; clouds.go what shares a colour
package report
