// Package chrometrace writes what replicas do, step by step, for chrome://tracing and ui.perfetto.dev, in the JSON of
// the Trace Event Format.
//
//	trace.go   the sink that watches a run through a window
//	events.go  what it reports: steps, stalls, KV transfers, arrivals, queues
//	write.go   events as JSON
//	file.go    the file of --trace, whole or not there
package chrometrace
