// Package report shows what a run did. It reads results and computes none: every number it prints is a field of
// metrics.Summary, a sample of the timeline or a point of a distribution. Numbers and tables are written by
// internal/text and figures drawn by internal/plot; what other commands find is shown by their own packages.
//
//	caption.go        the run's name on everything that shows it
//	table.go          the table of a run; sections.go what stands below its latencies, classes.go its service classes
//	rules.go          the rules of an SLO; headroom.go how much more load it sustains
//	steady.go         how sure the latencies are; tasks.go how tasks of agents ended
//	gaps.go           what gaps between tokens are made of: a table and sentences; gaps_figure.go stacked bars
//	money.go          rent and energy
//	timeline.go       the run over time; timeline_pools.go the rows of several pools,
//	                  timeline_latency.go latencies, the SLO and alerts by window; timeline_csv.go those for programs
//	overtime.go       sentences on when the SLO was broken and which alerts fired; classes_overtime.go the same by class
//	views.go          a run in the words of benchmark tools; definitions.go what each means; tools/ their files
package report
