// Package workloads generates the requests of a run: when each arrives, how long its prompt and its output are, and
// when its client cancels it. Its packages implement sim.Source and sim.Follower.
//
// Sources of open loops are here, those that wait for answers in sessions, and recorded ones in traces. Every random
// quantity has a stream of its own and gaps are drawn at unit rate, so runs that differ in the rate, in one length law
// or in the engine see the same requests.
//
//	open.go     Open: requests that do not wait for answers
//	mixed.go    Mixed: several streams, each with arrivals of its own
//	clients.go  streams of clients that differ in rate, bursts and lengths
//	fan.go      Fan: several answers to each prompt of a source
//	adapters.go Adapted: the LoRA adapters that requests of a source have
//	arrivals/   processes of arrivals
//	requests/   what a request is: lengths, class, shared content, patience
//	lengths/    laws of token counts, and recorded ones
//	sessions/   closed loops, and conversations of several turns
//	traces/     recorded files, streamed
//	variates/   random numbers that math/rand/v2 does not draw
//	check/      errors about values
package workloads
