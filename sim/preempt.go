package sim

// Preemption says how a running request makes room.
type Preemption uint8

// The ways to make room.
const (
	Recompute Preemption = iota // its cache is dropped; it waits at the head of the queue to be computed again
	// its cache is dropped; it waits at the end of the queue, and can reuse what its prompt left
	Retract
	Swap // its cache is copied to host memory and back; without memory there, as Recompute
)

// Preempt takes r, which runs, out of the batch. A single request always fits.
func (w *Work) Preempt(r *Request, how Preemption) {
	in, slot := w.in, r.slot
	if w.allocated && !w.inTurn && !(w.paused && r.state == decoding) {
		panic("sim: preempted after blocks of the step had been allocated")
	}
	if !in.Has(r) {
		w.preemptAway(r)
		return
	}
	if r.state == finishedRow || r.state == ended || r.state == pendingTransfer {
		w.preemptEnded(r, slot)
		return
	}
	decodes := r.state == decoding
	findable := in.withNext(r, in.findable(r)+w.named(r))
	if decodes {
		w.interrupt(r, slot)
	} else {
		w.withdraw(r, slot)
	}
	blocks := max(int64(r.blocks), int64(r.blocksMin))
	if decodes {
		blocks = w.taken(r)
	}
	if in.pool.serial() {
		findable = min(r.Computed+r.chunk, in.line.named(r, w.inTurn && r.chunk > 0))
	}
	w.retreat(r)
	if (how == Swap || in.pool.Reserved.Restores) && decodes && blocks <= in.swap.free {
		in.swapOut(r, slot, blocks)
		return
	}
	cached := findable
	if how == Retract && decodes {
		cached = r.computedAtJoin
	}
	in.drop(r, blocks, cached)
	in.requeue(r, how == Retract && in.Queued() > 0)
}

// drop frees the blocks of r, which is preempted and may reuse what its first computed tokens, so many, have filled.
func (in *Instance) drop(r *Request, blocks int64, computed int32) {
	blocks = in.had(r, blocks)
	if !in.cache.Caches() {
		in.cache.Release(blocks)
		return
	}
	if r.OutputContent != 0 && !in.cache.Radix() {
		in.cache.Publish(r.slot, r.prompt(), computed)
	}
	in.cache.ReleaseSequence(r.slot, r.prompt(), blocks, computed, true)
	in.write()
}

// retreat takes r, which is preempted, out of the batch.
func (w *Work) retreat(r *Request) {
	r.Preemptions++
	if r.finished {
		w.in.exit(r.slot)
		return
	}
	if r.delay != Restarted { // what it has waited for before is not what it waits for now
		r.delay = Preempted
	}
	w.in.tally.preemptions++
	w.in.exit(r.slot)
}

// requeue has r, which has no blocks any more, wait again.
func (in *Instance) requeue(r *Request, last bool) {
	r.recompute()
	if in.line != nil {
		in.requeueOfLine(r)
		return
	}
	in.queue.pushBack(r.slot, last)
}

// interrupt takes r, which decodes, out of the decode set. Its latest token came when the set last emitted, or when it
// joined.
func (w *Work) interrupt(r *Request, slot int32) {
	in := w.in
	if in.pool.serial() {
		in.noteTokens(r)
	}
	if !in.batch.isNew(r) {
		r.Last = in.batch.emittedAt
	}
	in.batch.set.DropEnd(slot)
	steady := !r.astray && !in.batch.set.Counted() && in.cache.SharesWindows() && r.OutputContent == 0
	in.leave(slot)
	if steady {
		in.regainPassed(r, r.Computed, false)
	}
	w.excuse(r)
	in.batch.untrace(r, slot)
}

// excuse takes what r, which has left the decode set, needs for the step out of what the step needs.
func (w *Work) excuse(r *Request) {
	in := w.in
	if !w.paused && !w.inTurn && in.cache.Passes() {
		w.frees -= in.freesNext(r)
	}
	switch {
	case w.paused:
	case in.drafting.speculation != nil:
		in.drafting.sum -= int64(in.draftsOf(r))
		if !w.inTurn {
			w.demand -= in.blocksToDraft(r)
		}
	case w.inTurn:
	case in.paged(r) && r.Computed%in.cache.BlockSize() == 0:
		w.demand -= in.cache.Blocks(r.Computed+1) - in.cache.Blocks(r.Computed)
	}
}

// withdraw takes r, which prefills, out of the step.
func (w *Work) withdraw(r *Request, slot int32) {
	if r.chunk > 0 {
		w.count(r, -1)
		w.leaveLongest(r)
	}
	w.in.batch.removePrefill(slot)
}

// swapSpace is the host memory for requests that are preempted by swapping.
type swapSpace struct {
	free  int64   // blocks
	slots []int32 // of the requests there, the longest there first
}

// swapOut copies the cache of r to host memory. The copy precedes the step, which can have the blocks.
func (in *Instance) swapOut(r *Request, slot int32, blocks int64) {
	in.swap.free -= blocks
	in.release(r, blocks, 0, false)
	in.work.shape.SwapBlocks += blocks
	in.tally.swaps++
	r.state, r.delay = swappedOut, Swapped
	in.swap.slots = append(in.swap.slots, slot)
}

// release frees the blocks of r, of which so many computed tokens may be reused; retain says that r may reuse what is
// its own.
func (in *Instance) release(r *Request, blocks int64, computed int32, retain bool) {
	blocks = in.had(r, blocks)
	if !in.cache.Caches() {
		in.cache.Release(blocks)
	} else {
		in.cache.ReleaseSequence(r.slot, r.prompt(), blocks, computed, retain)
		in.write()
	}
}

// Swapped returns the request that has been in host memory for longest, or nil, and the blocks that it takes to bring
// it back, with those of windows that its next token may need, but for the one of all other layers. It is as it left.
func (in *Instance) Swapped() (r *Request, blocks int64) {
	if len(in.swap.slots) == 0 {
		return nil, 0
	}
	r, blocks = &in.requests.at[in.swap.slots[0]], int64(in.pool.Windowed.Blocks)
	if in.drafting.speculation != nil {
		return r, blocks + max(int64(r.blocks), in.cache.Blocks(r.Computed+in.draftsOf(r)))
	}
	return r, blocks + in.allocated(r)
}

// SwapIn brings the request that Swapped returns back into the batch; it decodes in this step. It takes CountPauses.
func (w *Work) SwapIn() {
	in := w.in
	in.batch.must(CountPauses)
	slot := in.swap.slots[0]
	r := &in.requests.at[slot]
	blocks := in.allocated(r)
	in.swap.slots = append(in.swap.slots[:0], in.swap.slots[1:]...)
	in.swap.free += blocks
	w.shape.SwapBlocks += blocks
	in.enter(slot)
	in.join(slot)
	in.batch.overdue = true
	if in.drafting.speculation != nil {
		in.drafting.sum += int64(in.draftsOf(r))
	}
	w.demand += in.blocksToSwapIn(r)
}

// blocksToSwapIn returns the blocks that r takes to come back and decode.
func (in *Instance) blocksToSwapIn(r *Request) int64 {
	if in.drafting.speculation != nil {
		return int64(r.blocks) + in.blocksToDraft(r)
	}
	return max(int64(r.blocksMin), in.cache.Blocks(r.Computed+1))
}

// SwapInFits reports whether there is room for the request that Swapped returns, to the block. If no other runs or
// comes, there is.
func (w *Work) SwapInFits() bool {
	return w.in.blocksToSwapIn(&w.in.requests.at[w.in.swap.slots[0]]) <= w.FreeBlocks()
}

// Where the blocks of a step do not suffice, the order counts in which requests take them: what one evicts another may
// have found, a victim may have taken blocks already, and what it was to compute is free for others. Then requests take
// their blocks one after the other, as in vLLM's loop over the running requests (vllm/v1/core/sched/scheduler.py), and
// the step visits each of them.

// TakeInTurn drops the composition of the step so far: no request has tokens in it until Take gives it some.
func (w *Work) TakeInTurn() {
	in := w.in
	for _, slot := range in.batch.prefill {
		if r := &in.requests.at[slot]; r.chunk > 0 {
			w.count(r, -1)
			r.chunk = 0
		}
	}
	w.demand, w.frees = 0, 0
	w.inTurn, w.tookTurns = true, true
}

// EndTurns ends what TakeInTurn began. Requests that decode have all taken their blocks then, or have been left out.
func (w *Work) EndTurns() {
	in := w.in
	for r := in.LastAdmitted(); r != nil; r = in.AdmittedBefore(r) {
		if in.decodesOrEnded(r) {
			r.chunk = 0
		}
	}
	w.inTurn, w.allocated, w.settled = false, true, len(in.batch.prefill)
}

// Wants returns how many tokens r, which runs, has to compute: those that its prompt lacks or, if it decodes, one and
// its drafts; none, if the engine knows that it has ended.
func (in *Instance) Wants(r *Request) int32 {
	switch {
	case r.state == prefilling:
		return r.Pending()
	case !in.decodesOrEnded(r):
		return 0
	case in.drafting.speculation != nil:
		return 1 + in.draftsOf(r)
	}
	return 1
}

// Prefills reports whether the prompt of r, which runs, is not complete.
func (in *Instance) Prefills(r *Request) bool { return r.state == prefilling }

// FirstAdmitted returns the running request that was admitted first, or nil.
func (in *Instance) FirstAdmitted() *Request { return in.requests.request(in.batch.first) }

// AdmittedAfter returns the running request that was admitted after r, or nil.
func (in *Instance) AdmittedAfter(r *Request) *Request { return in.requests.request(r.next) }

// AdmittedEarlier reports whether a was admitted before b. Both run.
func (in *Instance) AdmittedEarlier(a, b *Request) bool { return a.admission < b.admission }

// Taken returns how many tokens r has taken blocks for in its turn.
func (w *Work) Taken(r *Request) int32 {
	if !w.in.Has(r) {
		return 0
	}
	return r.chunk
}

// Take has r compute its next n tokens in the step, and gives it the blocks for them; or reports that there are not
// enough.
func (w *Work) Take(r *Request, n int32) bool {
	in := w.in
	if in.cache.SharesWindows() {
		in.passInTurn(r)
	}
	if r.state == prefilling {
		w.Chunk(r, n)
		if w.FreeBlocks() < 0 {
			w.count(r, -1)
			w.leaveLongest(r)
			r.chunk = 0
			return false
		}
		r.blocks += int32(w.demand)
		if in.cache.Passes() {
			in.passTo(r, in.passes(r))
		}
		w.allocate()
		in.name(r, r.Computed+n)
		return true
	}
	if in.drafting.speculation != nil {
		r.cut += in.Wants(r) - n
		w.demand = in.blocksToDraft(r)
	} else {
		w.demand = in.blocksDue(r)
	}
	if in.cache.Passes() {
		w.frees = in.freesOf(r)
	} else if w.demand == 0 && in.drafting.speculation == nil { // most tokens have their block
		r.chunk = n
		return true
	}
	if w.FreeBlocks() < 0 {
		w.demand, w.frees = 0, 0
		return false
	}
	if in.drafting.speculation != nil {
		r.blocks += int32(w.demand)
		if in.cache.Passes() {
			in.passTo(r, in.passes(r))
		}
	}
	r.chunk = n
	w.allocate()
	return true
}

// blocksDue returns the blocks that r, which decodes, takes for its next token.
func (in *Instance) blocksDue(r *Request) int64 {
	computed, _ := in.batch.progress(r)
	if !in.cache.Full(computed) || !in.paged(r) {
		return 0
	}
	return in.cache.Blocks(computed+1) - in.cache.Blocks(computed)
}

// taken returns the blocks of r, which has left the decode set: that for the token it was to compute among them, if it
// has taken it in its turn.
func (w *Work) taken(r *Request) int64 {
	if w.inTurn && r.chunk > 0 {
		return w.in.allocatedUnseen(r)
	}
	return w.in.allocated(r)
}

// named returns how many tokens of r more can be found again, because it has taken blocks for them in its turn: vLLM
// names a block when it gives it out. Of a sequence that decodes it knows one more token, unless that is the first and
// still under way.
func (w *Work) named(r *Request) int32 {
	in := w.in
	switch {
	case !w.inTurn || r.chunk == 0:
		return 0
	case r.state == prefilling:
		return r.chunk
	case in.pool.BatchQueue > 1 && in.batch.isNew(r) && !in.batch.hasRejoined(r):
		return 0
	}
	return 1
}

// LeaveOut has r, whose turn it is, miss the step. If it decodes, it joins those that decode again in the next one. It
// takes CountPauses.
func (w *Work) LeaveOut(r *Request) {
	in, slot := w.in, r.slot
	in.batch.must(CountPauses)
	if r.state == finishedRow { // no token of it is computed in vain
		in.leave(slot)
		r.state = ended
		in.batch.finished, in.batch.ended = without(in.batch.finished, slot), append(in.batch.ended, slot)
	}
	if r.state != decoding {
		return
	}
	if !in.batch.isNew(r) || r.delay == Preempted { // one that has just joined waits for what it waited for before
		r.delay = Paused
	}
	w.interrupt(r, slot)
	r.state, r.leftOut = prefilling, true
	r.blocks = int32(in.allocated(r))
	in.batch.insertPrefill(slot)
	in.batch.leftOut = true
}

// rejoin has the requests that missed the latest step decode again.
func (in *Instance) rejoin() {
	b := &in.batch
	for i := len(b.prefill) - 1; i >= 0; i-- {
		slot := b.prefill[i]
		r := &in.requests.at[slot]
		if !r.leftOut {
			continue
		}
		b.removePrefill(slot)
		in.join(slot)
		r.leftOut, b.overdue = true, true
	}
	b.leftOut = false
}
