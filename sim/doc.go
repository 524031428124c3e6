// Package sim is the serving model: a deterministic discrete-event simulation of requests moving through instances of
// an LLM engine.
//
// Read it in the order a request meets it:
//
//	ports.go       the interfaces the outside world implements, and all that a run is a function of; one that is
//	               advanced to the present, while requests are added; types of the packages below, as others know them
//	cluster.go     a run: the order of events at one instant
//	request.go     what a client asks for, and what becomes of it
//	route.go       arrival → route → router → instance, or the gate
//	pool.go        identical instances: what they are built from, and their state
//	instance.go    an engine: plan a step
//	queue.go       the requests that wait, in order, and the turns of loads among them
//	pages.go       their packed form, for most of them have no record yet; and the heap of a queue in an order
//	adapters.go    LoRA adapters: their slots, and which requests wait for one
//	work.go        what a scheduler may do to a batch: admit, chunk, reserve, pause decodes
//	preempt.go     and take out of it: recompute, retract, swap; requests that take blocks one after the other
//	passing.go     blocks that windows have passed
//	batch.go       the requests that run
//	batch_queue.go and that have ended, where the engine composed a step before it learned of that
//	commit.go      the end of a step: tokens, and what steps were for
//	speculate.go   drafts, and how many of them are accepted
//	transfer.go    KV transfers from one pool to the next
//	preallocate.go blocks for what is to come, and for what was retracted, in the turn of SGLang's decode side
//	loads.go       those that a vLLM scheduler begins and admits in its turn
//	tiers.go       what a prompt has in stores below host memory is fetched before the request is queued
//	deadlines.go   clients that cancel requests, and runs that are cancelled
//	ranks.go       data-parallel ranks of an instance, in lock step
//	pipeline.go    its pipeline stages, and the microbatches under way in them
//	pipeline_ahead.go and those of an engine that schedules them asynchronously
//	stale.go       requests that one microbatch preempts while another computes tokens of them
//	fleet.go       instances that start, drain, fail and change pools
//	report.go      what a sink hears of steps, and what gaps between tokens consist of
//	observe.go     what policies and observers may ask
//	separate.go    instances that have nothing to do with each other, simulated one by one, on requests that are fed
//
// Below it, and imported by it alone, are the packages clock (simulated time), batch (the arithmetic of a batch that
// decodes), kv (the paged KV cache) and transfer (the links between instances). sim imports no other package of this
// module. Each port is implemented by one room: workloads (Source), policies (Router, Scheduler, Order), hardware
// (StepModel), sim/metrics (Sink).
//
// Why it is fast: a decode step touches no request. The batch is sums (sequences, Σ context, blocks due by residue), a
// counter of steps and a finish order; whatever else is asked of a sequence follows from the counter. The steps between
// changes are one event. Both are exact: with integer time and affine prices, n steps at once end at the very
// picosecond, and fill the very histogram, that n single steps do.
package sim
