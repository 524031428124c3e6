package sim

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
	w.demand, w.inTurn, w.tookTurns = 0, true, true
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
func (w *Work) Taken(r *Request) int32 { return r.chunk }

// Take has r compute its next n tokens in the step, and gives it the blocks for them; or reports that there are not
// enough.
func (w *Work) Take(r *Request, n int32) bool {
	in := w.in
	if r.state == prefilling {
		w.Chunk(r, n)
		if w.demand > in.cache.Free() {
			w.count(r, -1)
			r.chunk = 0
			return false
		}
		passing := int32(in.passing(r))
		r.blocks += int32(w.demand) - (passing - r.passing)
		r.passing = passing
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
	if w.demand > in.cache.Free() {
		w.demand = 0
		return false
	}
	if in.drafting.speculation != nil {
		r.blocks += int32(w.demand)
	}
	r.chunk = n
	w.allocate()
	return true
}

// allocate allocates the blocks that the step needs so far.
func (w *Work) allocate() {
	if w.demand > 0 {
		w.in.cache.Allocate(w.demand)
		w.demand = 0
	}
}

// blocksDue returns the blocks that r, which decodes, takes for its next token.
func (in *Instance) blocksDue(r *Request) int64 {
	computed, _ := in.batch.progress(r)
	if !in.paged(r) || computed%in.cache.BlockSize() != 0 {
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

// hasRejoined reports whether r, which decodes, missed the latest step, so that its engine knows all of its tokens.
func (b *runningBatch) hasRejoined(r *Request) bool { return r.leftOut && b.isNew(r) }
