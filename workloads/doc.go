// Package workloads generates the requests of a run: when each arrives, how long its prompt and its output are, and
// when its client hangs up. It implements sim.Source and sim.Follower.
//
// Open and Closed draw requests from laws, Sessions draws conversations, and Trace replays a recorded file. Every random
// quantity has a stream of its own and gaps are drawn at unit rate, so runs that differ in the rate, in one length law or
// in the engine see the same requests.
//
// The files, in the order a request meets them:
//
//	open.go       Open: independent arrivals
//	closed.go     Closed: a fixed number of clients that each wait for their answer
//	sessions.go   Sessions: conversations of several turns
//	turns.go      what a session asks
//	thoughts.go span.go
//	              how long its user thinks, and when they give up
//	starts.go     when sessions begin
//	turnqueue.go instants.go
//	              which turn and which client is next
//	trace.go      Trace: a recorded file, streamed
//	fan.go fan_closed.go
//	              Choices: several answers to each prompt
//	arrival.go    Arrivals: processes of gaps at unit rate
//	curve.go      rates that follow a list of points or a wave
//	bursts.go     rates that switch on and off
//	length.go     Length: laws of token counts, checked
//	law.go        the same laws, drawn
//	exponential.go gamma.go zipf.go empirical.go
//	              what some laws need to be drawn
//	sizes.go      Lengths: the prompt, the output and the limit of a request
//	classes.go    Class: shares of the requests with lengths and a priority of their own
//	sharing.go    Sharing: prompts that begin alike, and prompts that repeat
//	pairs.go      Pairs: recorded prompt and output lengths, taken in order
//	patience.go   Patience: time-outs and cancellations
//	scan.go       the whole trace, before it is replayed
//	rows.go       rows of a trace file, checked
//	blocks.go     what prompts of a trace share, by the ids of their blocks
//	format.go     the formats it may have
//	csv.go jsonl.go number.go lines.go input.go
//	              from bytes to rows
//	field.go      errors about values
package workloads
