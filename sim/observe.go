package sim

import "math"

// What schedulers, routers, controllers and observers may ask for. An instance is observed between its events: the
// steps of the segment under way that have ended by then count.

// Pool returns the pool that in belongs to.
func (in *Instance) Pool() *Pool { return in.pool }

// Running returns the number of requests in the batch, or in those of all ranks or microbatches.
func (in *Instance) Running() int {
	if len(in.batched) == 1 {
		return in.batched[0].batch.n
	}
	return in.runningOfAll()
}

// Decoding returns the number of rows that decode, finished ones included.
func (in *Instance) Decoding() int { return in.batch.set.Len() }

// Prefilling returns the number of requests in the batch whose prompt is not complete.
func (in *Instance) Prefilling() int { return len(in.batch.prefill) }

// Prefill returns the i-th request that prefills, in order of admission. The pointer is good until Head is called.
func (in *Instance) Prefill(i int) *Request { return &in.requests.at[in.batch.prefill[i]] }

// Queued returns the number of requests that wait, whether the scheduler sees them yet or not, in host memory too; or
// those of all ranks.
func (in *Instance) Queued() int {
	if in.group != nil {
		return in.sum((*Instance).Queued)
	}
	return in.queue.len() + len(in.swap.slots)
}

// SwappedOut returns how many requests have their cache in host memory.
func (in *Instance) SwappedOut() int { return len(in.swap.slots) }

// Head returns the request at the head of the queue, or nil. The pointer is good until the next call.
//
// With Pool.AsyncScheduling it is nil, too, if the head reached the engine after the step that has just ended began. An
// engine that schedules asynchronously (vLLM, vllm/v1/core/sched/async_scheduler.py) composes a step when the one
// before begins, so an arrival waits for the remainder of the step under way and for a whole step that was fixed
// without it. An engine with nothing in its batch takes every request at once. What a step frees, blocks and a place in
// the batch, can be had at its end, unless the engine queues batches: see Pool.BatchQueue.
func (in *Instance) Head() *Request {
	r := in.queue.head()
	if in.queue.stale+len(in.queue.aside) > 0 && in.staleFirst(r) {
		return nil
	}
	if r == nil || r.queuedAt > in.queue.visible {
		in.work.passesOver = in.queue.heaps != nil && r == nil && in.queue.heaps.n > 0
		return nil
	}
	return r
}

// Waiting returns the i-th request of a queue, or nil if requests have adapters, or if the scheduler does not see so
// many. The pointer is good until the next call.
func (in *Instance) Waiting(i int) *Request {
	if in.queue.heaps != nil {
		return nil
	}
	return in.queue.waiting(i)
}

// Visible returns how many requests wait that the scheduler sees, up to a number. Those whose caches a KV connector is
// to load, or has loaded, wait in the same queue.
func (in *Instance) Visible(most int) int {
	n := in.queue.countVisible(most) + len(in.queue.aside) + in.queue.stale
	if t := &in.transfers; in.pool.ConnectorLoads {
		n += len(t.awaiting) + t.admissible()
	}
	return min(n, most)
}

// Ordered reports whether the queue has the order of its pool, so that nothing else may arrange it.
func (in *Instance) Ordered() bool { return in.pool.Order != nil }

// Arrange gives the first requests of a queue without an Order another order, for good: the i-th is then the one that
// Waiting(order[i]) returned.
func (in *Instance) Arrange(order []int32) { in.queue.arrange(order) }

// anyAdmissible reports whether a request waits that may join the batch before a member of it ends: those behind a head
// that is blocked, and that the scheduler sees, may not.
func (in *Instance) anyAdmissible() bool {
	if in.work.headBlocked && !in.work.full {
		return in.pool.Order != nil && in.queue.pages.n > in.queue.cancelled
	}
	if in.work.passesOver && !in.work.full {
		return in.queue.pages.n > in.queue.cancelled
	}
	return !in.work.full && in.Queued() > 0
}

// closed reports whether no arrival can change the batch before one of its members ends.
func (in *Instance) closed() bool {
	return in.work.full || in.work.headBlocked && in.pool.Order == nil // with an order, an arrival may be the new head
}

// Load returns how many requests were routed to in that have neither ended nor moved on.
func (in *Instance) Load() int { return int(in.load) }

// PromptTokens returns the tokens of the prompts of the requests that Load counts.
func (in *Instance) PromptTokens() int64 { return in.prompts }

// CachedTokens returns how many of r's prompt tokens the GPUs' cache has now, as far as steps under way have been
// composed; of several ranks, that of the one which has most.
func (in *Instance) CachedTokens(r *Request) (most int32) {
	for _, rank := range in.parts {
		if cache := &rank.cache; cache.Matchable(noSlot, r.prompt()) {
			most = max(most, cache.Match(noSlot, r.prompt(), r.Prompt+r.Emitted).Cached*cache.BlockSize())
		}
	}
	return most
}

// Departures returns how many requests have left the batch so far, because they ended, were dropped, transferred or
// preempted, and how many KV transfers have freed their blocks: a request that had no room before may have it when this
// has changed.
func (in *Instance) Departures() int64 { return in.batch.departures }

// StepsEnded returns how many steps of in have ended, a replica of pipeline stages or data-parallel ranks.
func (in *Instance) StepsEnded() int64 { return in.tally.steps }

// Pipeline returns the instance that in is a microbatch of, whose steps are single ones; nil: it is none.
func (in *Instance) Pipeline() *Instance {
	if in.line == nil {
		return nil
	}
	return in.replica
}

// LastAdmitted returns the running request that was admitted last, or nil.
func (in *Instance) LastAdmitted() *Request { return in.requests.request(in.batch.last) }

// AdmittedBefore returns the running request that was admitted before r, or nil.
func (in *Instance) AdmittedBefore(r *Request) *Request { return in.requests.request(r.prev) }

// PlacedBefore reports whether a is before b in SGLang's batch of decodes, in which both are or will be when the step
// under way has ended.
func (in *Instance) PlacedBefore(a, b *Request) bool {
	x, y := in.placeOf(a), in.placeOf(b)
	return x < y || x == y && a.admission < b.admission
}

// placeOf returns the place of r in the batch of decodes; before or behind all places, if its prompt is under way.
func (in *Instance) placeOf(r *Request) int64 {
	switch {
	case r.state != prefilling:
		return r.place
	case in.step.decodes > 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

// Decodes reports whether r, which runs, emits a token per step.
func (in *Instance) Decodes(r *Request) bool {
	return r.state == decoding || r.state == cancelledDecode
}

// decodesOrEnded reports whether the decode set has r, which runs: it computes a token in every step, be it in vain.
func (in *Instance) decodesOrEnded(r *Request) bool { return in.Decodes(r) || r.state == finishedRow }

// Composed returns how many tokens the step that is being composed computes of r, which runs, and after how many
// computed ones, as the engine counts them, which may take drafts for accepted. It is for observers of a scheduler.
func (in *Instance) Composed(r *Request) (tokens, computed int32) {
	if !in.decodesOrEnded(r) {
		return r.chunk + r.filler, r.Computed
	}
	computed, _ = in.batch.progress(r)
	if in.drafting.speculation != nil {
		return 1 + in.draftsOf(r), computed + r.rejected
	}
	return 1, computed
}

// Emitted returns the tokens that r, which runs, has emitted.
func (in *Instance) Emitted(r *Request) int32 {
	if !in.decodesOrEnded(r) {
		return r.Emitted
	}
	_, emitted := in.batch.progress(r)
	return emitted
}

// Later reports whether a comes after b in the pool's order or, without one, was admitted later. Both run.
func (in *Instance) Later(a, b *Request) bool {
	if in.pool.Order != nil {
		return before(b, a)
	}
	return a.admission > b.admission
}

// Cache returns the instance's KV cache.
func (in *Instance) Cache() *Cache { return &in.cache }

// Live reports whether in takes requests. An instance that neither is live nor drains nor starts is down.
func (in *Instance) Live() bool { return in.life == live }

// Draining reports whether in only serves the requests that it has.
func (in *Instance) Draining() bool { return in.life == draining }

// Starting reports whether in is on its way up.
func (in *Instance) Starting() bool { return in.life == starting }

// BlocksUsedAt returns the blocks in use at now, over all ranks.
func (in *Instance) BlocksUsedAt(now Time) (used int64) {
	for _, rank := range in.parts {
		used += rank.cache.Allocated()
		if ended := rank.ended(now); ended > 0 && rank.step.decodes > 0 {
			if begun, from := min(ended+1, rank.step.n), max(1, rank.tiers.begun); begun > from {
				used += rank.takenIn(int64(from), int64(begun))
			}
		}
	}
	return used
}

// ended returns how many of the steps under way have ended by now.
func (in *Instance) ended(now Time) int {
	s := &in.step
	switch {
	case s.end == Forever, in.cold:
		return 0
	case now >= s.end:
		return s.n
	}
	return s.price.Ended(now.Sub(s.start))
}

// underway returns the tokens emitted so far, up to the steps under way, by requests that have not ended.
func (in *Instance) underway() int64 {
	n := in.queue.emitted()
	for _, lane := range in.batches() {
		n += lane.batch.emitted()
	}
	for _, list := range [][]int32{in.swap.slots, in.transfers.awaiting, in.transfers.transferred} {
		for _, slot := range list {
			n += int64(in.requests.at[slot].Emitted)
		}
	}
	in.eachTokenizing(func(r *Request) { n += int64(r.Emitted) })
	if in.transfers.transferring+in.tiers.fetching > 0 {
		in.cluster.eachArriving(func(to *Instance, r *Request) {
			if to == in && r.state != awaitingAllocation {
				n += int64(r.Emitted)
			}
		})
	}
	return n
}

// reaching returns how many tokens reach their clients with each step under way.
func (in *Instance) reaching() int {
	if in.step.decodes == 0 {
		return 0
	}
	return in.emitting() - in.batch.cancelledDecodes()
}

// settle reports the steps under way that have ended by now, the horizon, and then every request that is still here.
func (in *Instance) settle(now Time) {
	n, s := in.ended(now), &in.step
	if s.end != Forever && !in.cold {
		in.countTime(n, now.Sub(s.start))
		if in.group != nil {
			in.countRanks(n)
		}
		in.cluster.totals.OutputTokens += int64(n) * int64(in.reaching())
	}
	in.cluster.totals.OutputTokens += in.underway()
	if n > 0 && s.decodes > 0 {
		in.reportEnded(n)
	}
	for _, lane := range in.batches() {
		lane.settleBatch(now, n)
	}
	unfinished := func(r *Request) {
		if r.finished {
			return
		}
		r.learnAll()
		in.cluster.sink.Done(r, now, Unfinished)
	}
	for _, slot := range in.swap.slots {
		unfinished(&in.requests.at[slot])
	}
	in.queue.settle()
	in.queue.eachListed(unfinished)
	for _, slot := range in.transfers.transferred {
		unfinished(&in.requests.at[slot])
	}
	in.queue.eachPacked(unfinished)
	in.eachTokenizing(unfinished)
}

// settleBatch reports the requests that run, after n steps of the segment under way.
func (in *Instance) settleBatch(now Time, n int) {
	for slot := in.batch.first; slot != noSlot; slot = in.requests.at[slot].next {
		r := in.requests.at[slot]
		switch r.state {
		case decoding:
			r.Computed, r.Emitted = in.batch.progress(&r)
			if in.step.decodes > 0 {
				r.Computed, r.Emitted = r.Computed+int32(n), r.Emitted+int32(n)
			}
		case cancelledDecode, cancelledPrefill, finishedRow, ended:
			continue // they have been reported
		}
		if r.finished {
			continue
		}
		in.cluster.sink.Done(&r, now, Unfinished)
	}
}

// reportEnded reports n steps of a segment that is not over.
func (in *Instance) reportEnded(n int) {
	in.reportSteps(n)
	in.tally.add(n, in.emitting(), in.batch.rows())
}

// Observation is the state of a run, or of one pool, at one instant.
type Observation struct {
	Totals
	Running      int64 // requests in a batch
	Waiting      int64 // requests in a queue or on the way there, at a gate, or transferred and not admitted
	Transferring int64 // requests on their way to an instance
	KVUsed       int64 // blocks
	KVTotal      int64
	Live         int // instances that take requests
	Starting     int
	Draining     int
}

// State returns the state of the whole run at now, which must not be later than the next event.
func (c *Cluster) State(now Time) Observation {
	var o Observation
	for i := range c.pools {
		o.add(c.PoolState(i, now))
	}
	underway := o.OutputTokens
	o.Totals = c.totals
	o.OutputTokens += underway
	return o
}

// add adds the state of a pool.
func (o *Observation) add(p Observation) {
	o.OutputTokens += p.OutputTokens
	o.Running += p.Running
	o.Waiting += p.Waiting
	o.Transferring += p.Transferring
	o.KVUsed += p.KVUsed
	o.KVTotal += p.KVTotal
	o.Live += p.Live
	o.Starting += p.Starting
	o.Draining += p.Draining
}

// PoolState returns the state of the i-th pool at now, which must not be later than the next event. Of the totals it
// has the tokens emitted to clients whose requests are there.
func (c *Cluster) PoolState(i int, now Time) Observation {
	p := c.pools[i]
	o := Observation{Waiting: int64(p.atGate)}
	if p.atGate > 0 {
		c.eachAtGate(p, func(r *Request) { o.OutputTokens += int64(r.Emitted) })
	}
	o.Live, o.KVTotal = p.unasked, int64(p.unasked)*p.KVBlocks
	for _, in := range p.built {
		switch in.life {
		case down:
			continue
		case starting:
			o.Starting++
			continue
		case live:
			o.Live++
		case draining:
			o.Draining++
		}
		for _, rank := range in.parts {
			for _, lane := range rank.batches() {
				o.Running += int64(lane.batch.n - len(lane.batch.finished) - len(lane.batch.ended))
			}
			o.Waiting += int64(rank.Queued() + rank.Incoming() + rank.Tokenizing())
			o.Transferring += int64(rank.transfers.transferring)
			o.KVTotal += rank.cache.Total()
			o.KVUsed += rank.BlocksUsedAt(now)
			o.OutputTokens += rank.underway() + int64(rank.ended(now))*(int64(rank.reaching())+rank.bursting())
		}
	}
	return o
}
