// Package sweep runs a scenario over a grid of values and tabulates what comes of it.
//
//	plan.go     what is varied: axis.go an axis of values, keys.go the key it is of; the scenario of every point
//	shard.go    the part of it that one machine runs
//	sweep.go    the runs, over all cores, into a directory; journal.go what outlives an interruption
//	row.go      one run; columns.go its numbers
//	csv.go      the table of rows; parquet.go the same as Parquet
//	result.go   means of points, and what they show: curve.go knee and saturation, frontier.go the Pareto frontier
//	table.go    the result for people, names.go what its numbers are called
//	figures.go  what is drawn: curve_figure.go the load curve, heat.go heat maps
//	page.go     the result as a page, page_plots.go its plots
//	files.go    what --out leaves; merge.go the same from shards; elsewhere.go runs that other processes make
package sweep
