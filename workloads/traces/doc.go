// Package traces replays recorded requests: files of CSV or JSON lines, plain or gzip, in the formats of public traces.
//
//	trace.go   Trace: a recorded file, streamed
//	pace.go    as fast as a rate asks for
//	scan.go    the whole trace, before it is replayed
//	pairs.go   the lengths of a trace without its arrivals
//	blocks.go  what prompts share, by the ids of their blocks; links.go those ids, in little memory
//	write.go   Writer: requests as a trace in one of the public formats
//	rows.go    rows of a file, checked
//	format.go  the formats that a file may have
//	csv.go jsonl.go number.go lines.go input.go
//	           from bytes to rows
package traces
