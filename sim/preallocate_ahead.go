package sim

// With its overlap scheduler SGLang's decode side composes a step as the one before begins
// (event_loop_overlap_disagg_decode): it allocates blocks for the caches that are to come, learns which have arrived,
// and lets clients have the first tokens of those that have a place in the step which it composes. It leaves out no
// request that ends at its limit with the step under way, so that a token more is computed in vain of each.
//
// Here the rest of that step is composed when the one under way ends, see batch_queue.go: nothing but these
// allocations comes between.

// composesAhead reports whether the pool is the decode side of SGLang with its overlap scheduler.
func (p *PoolSpec) composesAhead() bool { return p.Reserved.Tokens > 0 && p.BatchQueue > 1 }

// receiveAhead does what SGLang does with caches as the step that has just been composed begins, and reports whether
// the next step may differ from it.
func (in *Instance) receiveAhead(w *Work) (differs bool) {
	t := &in.transfers
	t.restored = 0
	departures := in.batch.departures
	if in.retracted()+len(t.awaiting) > 0 {
		in.allocateFor(w)
	}
	joins := in.acceptAhead(w.now)
	if in.Prefilling() == 0 && in.Queued() == len(in.swap.slots) &&
		in.cache.Free() < in.nextBlocksMax()+int64(len(t.transferred)) {
		in.pool.retractor.Retract(in, w)
	}
	left := t.staying.requests > 0 || in.batch.departures != departures
	t.staying = staying{}
	return joins || t.restored > 0 || left && len(t.awaiting)+len(t.transferred)+in.retracted() > 0
}

// acceptAhead gives requests that have arrived their places in the next step, and lets their clients have the tokens
// that came with their caches. It reports whether there are any.
func (in *Instance) acceptAhead(now Time) (joins bool) {
	t := &in.transfers
	if len(t.transferred) == 0 {
		return false
	}
	in.poll()
	i := 0
	for places := in.pool.MaxNumSeqs - t.staying.requests - in.Running(); places > 0 && i < len(t.transferred); places-- {
		slot := t.transferred[i]
		r := &in.requests.at[slot]
		if !r.polled {
			break
		}
		r.accepted, joins = true, true
		in.batch.place(r, false, 0)
		if r.Computed < r.Prompt+r.Emitted {
			i++
			continue
		}
		t.lacking -= in.lacks(r)
		in.emit(r, now)
		t.lacking += in.lacks(r)
		if r.Emitted < r.Output {
			i++
			continue
		}
		in.unload(slot)
		in.charge(r, -1)
		in.cluster.done(r, now, Completed)
		in.discard(slot)
	}
	return joins
}

// Accepted returns the i-th request that joins the batch with the next step, or nil.
func (in *Instance) Accepted(i int) *Request {
	if i >= len(in.transfers.transferred) {
		return nil
	}
	if r := &in.requests.at[in.transfers.transferred[i]]; r.accepted {
		return r
	}
	return nil
}

// dropAccepted retracts r, which was to join the batch.
func (w *Work) dropAccepted(r *Request) {
	in := w.in
	in.unload(r.slot)
	r.accepted = false
	r.Preemptions++
	if r.delay != Restarted {
		r.delay = Preempted
	}
	in.tally.preemptions++
	in.batch.departures++
	in.retreatAhead(r, int64(r.blocks))
}

// retreatAhead frees so many blocks of r, which has been retracted as a step begins. What is known of its cache is
// copied to host memory with the next step, if there is room.
func (in *Instance) retreatAhead(r *Request, blocks int64) {
	copied := in.allocated(r)
	if copied > in.swap.free {
		in.release(r, blocks, 0, true)
		in.requeue(r, true)
		return
	}
	in.swapOut(r, r.slot, blocks)
	in.swap.free += blocks - copied
	in.work.shape.SwapBlocks -= blocks
	in.transfers.restored += copied
}

// joinAccepted has those join the batch that acceptAhead has given places.
func (in *Instance) joinAccepted(now Time) {
	t := &in.transfers
	for len(t.transferred) > 0 && in.requests.at[t.transferred[0]].accepted {
		slot := t.transferred[0]
		in.admit(slot, now)
		in.requests.at[slot].accepted = false
	}
}
