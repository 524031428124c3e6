// Package traffic looks at streams of requests: it describes one, fits laws to it, says how well they stand for it, and
// writes it in the formats of public traces.
//
//	tally.go    token counts, exactly, by how many requests have each
//	record.go   what is kept of a stream while it passes: counts by second, gaps, lengths, what prompts share
//	summary.go  Summary: rate, burstiness, lengths, correlation, sharing, time of day
//	text.go figure.go
//	            the summary to read and to look at
//	open.go     a trace of any format that a run reads, as a stream
//	gaps.go laws.go
//	            laws of arrivals and of lengths that stand for a stream
//	fit.go fit_text.go
//	            Fit: the block of a workload, and how far it is from the trace
//	verdict.go  a simulation under the fit beside one under the trace
//	preset.go   Preset: a workload that is built in, beside what was published of traffic like it
//	write.go    a trace or a scenario's workload, in a public format
package traffic
