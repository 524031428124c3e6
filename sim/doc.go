// Package sim is the serving model: a deterministic discrete-event simulation of requests moving through instances of an
// LLM engine.
//
// Read it in the order a request meets it:
//
//	ports.go      the interfaces the outside world implements
//	cluster.go    arrival → router → instance; the order of events at one instant
//	pool.go       identical instances and their policies
//	instance.go   queue → batch → plan
//	ask.go        what policies may ask of it
//	line.go       who waits, in which order
//	queue.go      those of them whom nobody has looked at yet
//	route.go      the pools that a request goes through
//	arrive.go     how it enters them
//	handoff.go    how it goes from one to the next: parked
//	receive.go    received, when there is room
//	board.go      and boarded, when there is a seat
//	link.go       what carries its cache, and is shared
//	gate.go       who waits for an instance
//	fleet.go      instances that come and go
//	fail.go       and fail
//	separate.go   those that have nothing to do with each other
//	work.go       what a scheduler may do to a batch: admit, chunk, hold, reserve
//	preempt.go    and take out of it: recompute, retract
//	swap.go       or copy to host memory, and back
//	segment.go    consecutive steps priced and advanced together
//	commit.go     step → tokens
//	membership.go who joins and leaves the batch, and what it frees
//	keep.go       what it counts for some schedulers only
//	tell.go       what the sink hears of it
//	decodeset.go  the running decodes, as sums
//	wheel.go      which of them ends or changes next
//	kv.go         cache blocks
//	contents.go   what prompts have in common
//	prefix.go     what the cache still knows of prompts
//	extents.go    that, as stretches of blocks in order of eviction
//	speculate.go  drafts, and what comes of them
//	split.go      what a step is made of
//	offload.go    and what of it host memory keeps
//	hangup.go     clients that leave
//	observe.go    reading a run between its events
//	ends.go       which instance's steps end next
//	time.go       the clock
//
// sim imports no other package of this module. Each port is implemented by one directory: workloads (Source), policies
// (Router, Scheduler, Order), hardware (StepModel), sim/metrics (Sink).
//
// Why it is fast: a decode step touches no request. The batch is sums (sequences, Σ context, blocks due by residue), a
// counter of steps and a finish order; whatever else is asked of a sequence follows from the counter. Runs of steps
// between changes are one event. Both are exact: with integer time and affine prices, n steps at once end at the very
// picosecond, and leave the very histogram, that n single steps do.
package sim
