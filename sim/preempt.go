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
	if w.allocated && !w.inTurn {
		panic("sim: preempted after blocks of the step had been allocated")
	}
	if r.state == finishedRow || r.state == ended {
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
	w.retreat(r)
	if how == Swap && decodes && blocks <= in.swap.free {
		in.swapOut(r, slot, blocks)
		return
	}
	in.dropPassing(r)
	if !in.cache.Caches() {
		in.cache.Release(blocks)
	} else {
		cached := findable
		if how == Retract && decodes {
			cached = r.computedAtJoin
		}
		if r.OutputContent != 0 && !in.cache.Radix() {
			in.cache.Publish(slot, r.prompt(), cached)
		}
		in.cache.ReleaseSequence(slot, r.prompt(), blocks, cached, true)
		in.write()
	}
	in.requeue(r, how == Retract && in.Queued() > 0)
}

// retreat takes r, which is preempted, out of the batch.
func (w *Work) retreat(r *Request) {
	r.Preemptions++
	if r.delay != Restarted { // what it has waited for before is not what it waits for now
		r.delay = Preempted
	}
	w.in.tally.preemptions++
	w.in.exit(r.slot)
}

// requeue has r, which has no blocks any more, wait again.
func (in *Instance) requeue(r *Request, last bool) {
	r.blocks, r.Computed = 0, 0
	r.chunk, r.filler, r.blocksMin = 0, 0, 0
	r.state = waiting
	in.queue.pushBack(r.slot, last)
}

// interrupt takes r, which decodes, out of the decode set. Its latest token came when the set last emitted, or when it
// joined.
func (w *Work) interrupt(r *Request, slot int32) {
	in := w.in
	if !in.batch.isNew(r) {
		r.Last = in.batch.emittedAt
	}
	in.batch.set.DropEnd(slot)
	in.leave(slot)
	w.excuse(r)
	in.batch.untrace(r, slot)
}

// excuse takes what r, which has left the decode set, needs for the step out of what the step needs.
func (w *Work) excuse(r *Request) {
	in := w.in
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
