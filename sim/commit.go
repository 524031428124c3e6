package sim

import "slices"

// commit ends the steps under way: tokens out, sequences on. The instance must be planned next.
func (in *Instance) commit() {
	if in.cold {
		in.cold = false
		return
	}
	switch {
	case in.group != nil:
		in.commitRanks()
	case in.line != nil:
		in.commitLane()
	default:
		in.commitSteps()
	}
}

// commitSteps ends the steps under way of an instance, or of a rank.
func (in *Instance) commitSteps() {
	s, b := &in.step, &in.batch
	now, n := s.end, s.n
	if in.pool.RecvInterval > 1 {
		in.listen()
	}
	if in.retracts() {
		in.retract()
	}
	in.countTime(n, now.Sub(s.start))
	in.tally.add(n, in.emitting(), b.rows())
	switch {
	case !in.computes(): // a rank, while others do
	case len(b.cancelled) == 0 && !b.overdue && b.byClass == nil && len(b.traced) == 0: // nearly always
		in.cluster.sink.Run(in, s.start, &s.price, n, in.emitting())
	default:
		in.reportSteps(n)
	}
	if s.decodes > 0 {
		b.emittedAt = now
		if n > 1 {
			in.allocateSteps(n)
			in.tiers.begun = 0
		}
		if in.drafting.speculation != nil {
			in.commitDrafts(now)
		} else {
			in.commitDecodes(now, n)
		}
	} else if in.pool.BatchQueue > 1 && in.work.shape.Decodes > 0 {
		b.set.Skip() // a step whose every token is in vain is one to the scheduler
	}
	if len(b.prefill) > 0 {
		in.commitPrefill(now)
	}
	if len(b.cancelled) > 0 {
		in.dropCancelled(now)
	}
	if b.padded > 0 && len(b.finished) == b.n {
		in.disband()
	}
	if len(b.read) > 0 && in.pool.BatchQueue < 2 {
		in.learnPrompts()
	}
	if len(in.freed) > 0 {
		in.freeBlocks()
	}
	if in.cache.Radix() {
		in.publishChunks()
	}
}

// allocateSteps allocates what the first n steps under way have taken, but for what has been allocated of that. An
// allocator of pages of several tokens has a radix tree evict a page for each sequence before each step, whether or not
// that takes one.
func (in *Instance) allocateSteps(n int) {
	set, from := &in.batch.set, int64(max(1, in.tiers.begun))
	if in.cache.Radix() && in.cache.BlockSize() > 1 {
		in.cache.EvictFor(set.BlocksFor(from, int64(n-1)) + int64(set.Len()))
	}
	in.takeSteps(from, int64(n))
}

// stepsBegun returns how many steps of the segment of decodes under way have begun before now; 0: there is none.
func (in *Instance) stepsBegun() int {
	s := &in.step
	if s.end == Forever || in.cold || s.n == 1 || s.decodes == 0 {
		return 0
	}
	return min(s.price.Ended(in.cluster.now.Sub(s.start)-1)+1, s.n)
}

// publishChunks adds prompts that are not complete to a radix tree, as far as they have been computed.
func (in *Instance) publishChunks() {
	if in.batch.published {
		in.batch.published = false
		return
	}
	for _, slot := range in.batch.prefill {
		r := &in.requests.at[slot]
		in.cache.Publish(slot, r.prompt(), r.Computed)
	}
}

// commitDecodes takes n steps of the decode set.
func (in *Instance) commitDecodes(now Time, n int) {
	b := &in.batch
	if len(b.astray) > 0 {
		in.passAstray()
	}
	b.set.Advance(n)
	if b.asked != 0 {
		b.countEmitted(int64(n) * int64(b.set.Len()))
	}
	if b.set.AnyEnds() {
		in.scratch = b.set.TakeEnded(in.scratch[:0])
		in.retire(now, in.scratch)
	}
}

// retire ends the sequences in ended, whose last token came with the step just taken, in order of ID.
func (in *Instance) retire(now Time, ended []int32) {
	if len(ended) > 1 {
		slices.SortFunc(ended, func(a, b int32) int { return int(in.requests.at[a].ID) - int(in.requests.at[b].ID) })
	}
	for _, slot := range ended {
		r := &in.requests.at[slot]
		in.batch.untrace(r, slot)
		if r.stale {
			in.endStale(slot, now)
			continue
		}
		if in.batch.padded > 0 {
			in.finishRow(slot, now)
			continue
		}
		if in.pool.BatchQueue > 1 && r.state == decoding {
			in.finishUnseen(slot, now)
			continue
		}
		in.leave(slot)
		in.vacate(slot)
		if r.state == decoding {
			r.Last = now
			in.finish(slot, r, now)
		}
	}
}

// commitPrefill adds the step's chunks to the cache. A prompt that is complete yields a token, the first or, after a
// preemption, the next.
func (in *Instance) commitPrefill(now Time) {
	b := &in.batch
	remaining, mixed := b.prefill[:0], in.step.decodes > 0
	if mixed {
		b.placed[0] -= int64(len(b.prefill))
	}
	for i, slot := range b.prefill {
		r := &in.requests.at[slot]
		// A request whose cache was transferred may have the block of a token that is yet to be computed.
		r.blocks = max(r.blocks, int32(in.chunked(r)))
		if in.cache.Passes() && !r.stale {
			in.pass(r)
		}
		r.Computed += r.chunk
		if b.padded > r.Computed {
			r.blocks, r.Computed = max(r.blocks, int32(in.cache.Blocks(b.padded))), b.padded
		}
		r.inFlight = r.chunk > 0
		r.chunk, r.entering = 0, false
		if r.Pending() > 0 || r.state == cancelledPrefill {
			if !r.yielding || r.state == cancelledPrefill || in.goesOn(r, now) {
				remaining = append(remaining, slot)
			}
			continue
		}
		if r.yields > 0 && r.Emitted+1 < r.Output && in.goesOn(r, now) {
			remaining = append(remaining, slot)
			continue
		}
		if r.finished {
			in.joinFinished(slot)
			continue
		}
		b.place(r, mixed, i)
		in.completePrompt(slot, r, now)
	}
	b.prefill = remaining
}

// completePrompt has the request in slot, whose prompt is complete, go on: to decode, to another instance, or to its
// end.
func (in *Instance) completePrompt(slot int32, r *Request, now Time) {
	var next *Stage
	if in.pool.sends {
		next = in.cluster.stage(r)
	}
	if next == nil || next.Tokens > 0 {
		in.emit(r, now)
	}
	if in.line != nil && in.pool.serial() {
		in.line.unknown = append(in.line.unknown, token{slot: slot, id: r.ID, at: now})
	}
	if in.cache.Radix() && r.Emitted < r.Output {
		in.batch.read = append(in.batch.read, slot)
	}
	switch {
	case next != nil && r.Emitted < r.Output:
		in.send(slot, next)
	case r.Emitted < r.Output:
		in.join(slot)
	case in.batch.padded > 0:
		in.join(slot)
		in.batch.set.DropEnd(slot)
		in.batch.untrace(r, slot)
		in.finishRow(slot, now)
	case in.pool.BatchQueue > 1 && !r.stale:
		in.endPromptUnseen(slot, now)
	default:
		in.vacate(slot)
		in.finish(slot, r, now)
	}
}

// emit lets the client of r have a token that no decode step computed: the first, or the first since an interruption.
func (in *Instance) emit(r *Request, now Time) {
	r.Emitted++
	if r.Reasoning > 0 && r.Emitted == r.Reasoning+1 {
		r.Visible = now
	}
	switch {
	case r.Emitted == 1:
		r.First, r.Last = now, now
		t := &in.replica.tally
		t.firstTokens++
		if in.pool.FirstTokenDue > 0 && now.Sub(r.Arrival) > in.pool.FirstTokenDue {
			t.overdue++
		}
		in.cluster.sink.First(r)
	default:
		in.cluster.sink.Gap(in, r, now, r.delay)
	}
	r.Last, r.delay = now, Preempted
}

// finish ends a request whose blocks are free.
func (in *Instance) finish(slot int32, r *Request, now Time) {
	in.stay(r)
	in.exit(slot)
	in.charge(r, -1)
	if r.transfer != 0 {
		in.cluster.cancelTransfer(r.transfer)
	}
	in.cluster.done(r, now, Completed)
	in.forget(slot)
}

// vacate frees the blocks of the request in slot. With prefix caching the order counts, and they are freed together
// with the others of this step.
func (in *Instance) vacate(slot int32) {
	r := &in.requests.at[slot]
	if r.stale { // they are
		return
	}
	if !in.cache.Caches() {
		in.cache.Release(in.had(r, in.allocated(r)))
	} else {
		in.cache.NamePassed(slot, r.prompt()) // before it forgets what only it could find
		in.freed = append(in.freed, slot)
	}
}

// learnPrompts has the prompts that have been complete since it was called last join a radix tree with the next call of
// freeBlocks.
func (in *Instance) learnPrompts() {
	in.freed = append(in.freed, in.batch.read...)
	in.batch.read = in.batch.read[:0]
}

// freeBlocks frees the blocks of the requests in freed, in order of admission. With a radix tree the order is that of
// SGLang's batch, and some of them run on: their prompts join the tree.
func (in *Instance) freeBlocks() {
	radix := in.cache.Radix()
	for i := 1; i < len(in.freed); i++ { // most steps free few, in order
		for j := i; j > 0 && in.freedBefore(in.freed[j], in.freed[j-1], radix); j-- {
			in.freed[j], in.freed[j-1] = in.freed[j-1], in.freed[j]
		}
	}
	for _, slot := range in.freed {
		r := &in.requests.at[slot]
		switch {
		case radix && r.state == decoding:
			in.cache.Publish(slot, r.prompt(), r.computedAtJoin)
			continue
		case radix && r.state == pendingTransfer:
			in.cache.Publish(slot, r.prompt(), r.Computed)
			continue
		}
		known := r.Computed
		if !radix { // which gets what the step has computed of a cancelled request, and in vain, too
			known = in.publishAnswer(slot)
		}
		in.cache.ReleaseSequence(slot, r.prompt(), in.had(r, in.allocated(r)), known, false)
		in.write()
	}
	in.freed = in.freed[:0]
}

// publishAnswer lets others find the answer of the request in slot, which has ended, if one may ask for it. It returns
// how many computed tokens others may find: what is computed after the last one is in no block with a name.
func (in *Instance) publishAnswer(slot int32) (known int32) {
	r := &in.requests.at[slot]
	known = min(r.Computed-in.unnamed(r), r.Prompt+r.Emitted-in.pool.Drafter.Ahead, r.Prompt+r.Output-1)
	if r.OutputContent != 0 {
		in.cache.Publish(slot, r.prompt(), known)
	}
	return known
}

// freedBefore reports whether the blocks of the request in slot a are freed before those of the one in b.
func (in *Instance) freedBefore(a, b int32, radix bool) bool {
	x, y := &in.requests.at[a], &in.requests.at[b]
	if radix && x.place != y.place {
		return x.place < y.place
	}
	return x.admission < y.admission
}

// phases is what the steps of an instance were for: power and cost follow from it.
type phases struct {
	prefill      Duration // total length of the steps with prompts
	bound        Duration // Σ over steps of decodes alone of the least time that the data sheet allows
	prefillSteps int64    // steps with prompts
	mixedSteps   int64    // among them those with decodes
}

// PhaseTotals is what the steps of a pool were for.
type PhaseTotals struct {
	PrefillS     float64 // Σ length of steps with prompts, over instances
	DecodeBoundS float64 // Σ over steps of decodes alone of their bound: divided by their length, how hard they work
	PrefillSteps int64   // steps with prompts
	MixedSteps   int64   // among them those with decodes
}

func (t *PhaseTotals) add(p *phases) {
	t.PrefillS += p.prefill.Seconds()
	t.DecodeBoundS += p.bound.Seconds()
	t.PrefillSteps += p.prefillSteps
	t.MixedSteps += p.mixedSteps
}

// countTime counts d of the steps under way, n of which have ended in it.
func (in *Instance) countTime(n int, d Duration) {
	in.tally.busy += d
	in.tally.phases.count(&in.step, n, d, 1)
}

// count counts d of the steps s, n of which have ended in it. Each of so many stages works on s in turn.
func (p *phases) count(s *step, n int, d Duration, stages int) {
	prompts, decodes := s.ranks[0].Prefills, s.ranks[0].Decodes
	for i := 1; i < len(s.ranks); i++ {
		prompts += s.ranks[i].Prefills
		decodes += s.ranks[i].Decodes
	}
	k := Duration(n)
	if prompts == 0 {
		bound := k*s.price.Bound.A + k*(k-1)/2*s.price.Bound.B
		if stages > 1 { // a division takes longer than all else here
			bound /= Duration(stages)
		}
		p.bound += bound
		return
	}
	p.prefill += d
	p.prefillSteps += int64(n)
	if decodes > 0 {
		p.mixedSteps += int64(n)
	}
}

// PoolTotalsNow is PoolTotals with the time of the steps under way, which those count once they have ended. It is for
// observers.
func (c *Cluster) PoolTotalsNow(i int) PoolTotals {
	t := c.PoolTotals(i)
	for in := range built(c.pools[i].all) {
		if in.step.end == Forever || in.cold || c.now <= in.step.start {
			continue
		}
		var p phases
		d := c.now.Sub(in.step.start)
		p.count(&in.step, in.ended(c.now), d, 1)
		t.BusyS += d.Seconds()
		t.Phases.add(&p)
	}
	return t
}
