// Package plot draws every figure of the program on one sheet: a title, a caption that names the run, and charts below
// them, as SVG and PNG with the same bytes for the same input. Charts are those of gonum.org/v1/plot, in the one house
// style: axes, ticks, scales, lines, areas, bars, boxes and points come from there. What it cannot do stands here: the
// name of an axis that is written level above it, grid lines where ticks have no label, a bin for 0 on a log scale,
// labels on a white ground, marks in turns on curves that coincide, and legends with columns of numbers.
//
//	figure.go        SVG and PNG of one drawing
//	style.go         colours, fonts and the looks of curves
//	sheet.go         the page: title, caption, text
//	scale.go         round numbers, and scales beyond linear and logarithmic
//	axis.go          axes of times, counts, shares and powers of two, with their ticks
//	chart.go         a chart of gonum/plot in a given place on the sheet
//	layers.go        what is drawn in a chart: lines, points, labels
//	distribution.go  cumulative distributions; pair.go two of them under one legend
//	rules.go         the rules of an SLO that a distribution shows
package plot
