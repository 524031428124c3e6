package sim

// An engine that queues batches composes a step while the one before runs: vLLM's EngineCore.step_with_batch_queue
// (vllm/v1/engine/core.py, 0.33) with asynchronous scheduling. Of the step under way it knows what it has scheduled and
// not what came out. So a request that ends in that step still has its place in the batch and its blocks while the next
// step is composed, and what it frees can be had by the step after the next. If it ends at its limit, which the engine
// can tell, no other token of it is computed; if it ends before, by a stop token, one more is computed in vain.
//
// Here a step is composed when the one before ends, so this is the same: a request that has ended stays in the batch
// until the next step has been composed, at the same instant. Its client knows at once.
//
// Where a KV connector loads into blocks, vLLM 0.33 does not free what a step under way may write (Scheduler's
// defer_block_free): the blocks of a request of which a token is computed in vain are had one step later still, though
// others may find them before, and no request is preempted that has tokens in that step.

// finishUnseen ends the request in slot, a member of the decode set that has left the finish order, for its client.
func (in *Instance) finishUnseen(slot int32, now Time) {
	r := &in.requests.at[slot]
	_, emitted := in.batch.progress(r)
	switch {
	case in.pool.serial():
		in.finishSerial(slot, now)
		return
	case emitted-r.burst < r.Limit() || in.pool.composesAhead():
		in.finishRow(slot, now)
		return
	}
	in.leave(slot)
	r.state, r.Last = ended, now
	in.batch.ended = append(in.batch.ended, slot)
	in.charge(r, -1)
	in.cluster.done(r, now, Completed)
}

// endPromptUnseen ends the request in slot, whose last token came with its prompt.
func (in *Instance) endPromptUnseen(slot int32, now Time) {
	r := &in.requests.at[slot]
	if r.transfer != 0 {
		in.cluster.cancelTransfer(r.transfer)
		r.transfer = 0
	}
	in.join(slot)
	in.batch.set.DropEnd(slot)
	in.batch.untrace(r, slot)
	in.finishUnseen(slot, now)
}

// unseen reports whether requests have ended, prompts are complete, or caches have been sent, without the engine's
// knowledge.
func (in *Instance) unseen() bool {
	b := &in.batch
	return in.pool.BatchQueue > 1 && len(b.finished)+len(b.ended)+len(b.read)+len(b.deferred)+len(in.transfers.sent) > 0
}

// guesses reports whether in composes a step without knowing what came of the one before.
func (in *Instance) guesses() bool { return in.pool.BatchQueue > 1 && in.queue.visible != Forever }

// Ending returns how many requests of the batch have ended at their limits as the engine does not know yet: it leaves
// them out of decode steps, and they have their blocks still.
func (in *Instance) Ending() int { return len(in.batch.ended) }

// Unknown returns how many tokens r, which runs, has emitted that the engine does not know of while it composes a step:
// that of the step before, if it has not learned what came of it.
func (in *Instance) Unknown(r *Request) int32 {
	switch {
	case !in.guesses() || r.state == prefilling || in.pool.composesAhead():
		return 0
	case r.state == ended, in.batch.isNew(r):
		if r.Last != in.work.now {
			return 0
		}
	case in.batch.emittedAt != in.work.now:
		return 0
	}
	return 1
}

// Frees reports whether the blocks of r, which runs, are free at once if it is preempted.
func (w *Work) Frees(r *Request) bool {
	switch in := w.in; {
	case !in.pool.DefersFrees:
		return true
	case !in.Has(r):
		return in.line.lanes[r.lane].step.end == Forever
	case r.state == prefilling:
		return !in.guesses() || !r.inFlight
	default:
		return in.Unknown(r) == 0
	}
}

// unknown returns Σ Unknown over the decode set and the requests that have ended.
func (in *Instance) unknown() (n int64) {
	b := &in.batch
	if !in.guesses() {
		return 0
	}
	n = int64(len(b.ended))
	if b.emittedAt == in.work.now {
		return n + int64(b.set.Len())
	}
	for _, slot := range b.joined {
		n += int64(in.Unknown(&in.requests.at[slot]))
	}
	return n
}

// releaseEnded takes the requests that had ended before the step was composed out of the batch, once it has been. The
// prompts that were complete by then join a radix tree.
func (in *Instance) releaseEnded() {
	b := &in.batch
	in.learnPrompts()
	if len(b.deferred) > 0 {
		in.freeDeferred()
	}
	for _, slot := range b.finished {
		r := &in.requests.at[slot]
		steady := !r.astray && !in.batch.set.Counted() && in.cache.SharesWindows()
		in.leave(slot)
		if steady {
			in.passInVain(r)
		}
		in.stay(r)
		r.blocks = int32(in.allocatedUnseen(r))
		r.blocksMin = r.blocks // the block of the token in vain among them
		if in.cache.Radix() && !in.work.paused {
			r.Computed++ // SGLang adds that token to its tree, which then has the whole output
		}
		if in.pool.DefersFrees && !in.work.paused {
			in.publishAnswer(slot)
			in.exit(slot)
			b.deferred = append(b.deferred, slot)
			continue
		}
		in.dropEnded(slot)
	}
	for _, slot := range b.ended {
		if in.requests.at[slot].state == pendingTransfer {
			in.exit(slot)
			continue
		}
		in.dropEnded(slot)
	}
	b.finished, b.ended = b.finished[:0], b.ended[:0]
	if len(in.freed) > 0 {
		in.freeBlocks()
	}
	in.freeSent()
	in.work.full, in.work.headBlocked = false, false
}

// endUnseen releases what has ended, now that the step under way has been composed, and reports whether the next step
// may differ from it: a token is computed in vain in this one, or others may have what was freed.
func (in *Instance) endUnseen() bool {
	vain := len(in.batch.finished) > 0
	in.releaseEnded()
	if !in.work.paused {
		in.step.decodes = in.batch.set.Len()
	}
	return vain || in.Queued()+in.Incoming() > 0
}

// allocatedUnseen returns the blocks of r, which has left the decode set and for which another token has been composed
// since it ended, unless decodes are paused. What its windows had passed then is noted.
func (in *Instance) allocatedUnseen(r *Request) int64 {
	if in.batch.set.Counted() || !in.paged(r) || in.work.paused {
		return in.allocated(r)
	}
	if in.cache.Passes() {
		in.passTo(r, in.passes(r))
	}
	return max(int64(r.blocksMin), in.cache.Blocks(r.Computed+1))
}

// dropEnded takes the request in slot, which has ended and is not in the decode set, out of the batch.
func (in *Instance) dropEnded(slot int32) {
	in.vacate(slot)
	in.exit(slot)
	in.forget(slot)
}

// AdmitNext says that the step after this one admits r, which CachedTokens was asked of last, computes so many of its
// tokens and takes blocks for takes of them. The engine composes that step now, so r has the blocks at once, and
// others can find those that the step computes. It returns how many free blocks r takes only when it is admitted.
func (w *Work) AdmitNext(r *Request, computes, takes int32) int64 {
	in, m := w.in, w.match
	blocks := w.BlocksToAdmit(takes)
	if !in.cache.Caches() || m.Offloaded > 0 { // host memory is read when r is admitted
		w.SetAside(blocks - int64(m.Free))
		return blocks
	}
	tokens := w.matched()
	if m.Cached > 0 {
		in.cache.Reuse(r.slot, r.prompt(), m)
	} else {
		in.cache.Forget(r.slot)
	}
	r.blocks, r.ahead = int32(in.cache.Blocks(tokens+takes)), 1+m.Cached
	in.cache.Allocate(int64(r.blocks - m.Cached))
	in.name(r, tokens+computes)
	in.transfers.ahead = append(in.transfers.ahead, r.slot)
	return 0
}

// Ahead reports whether r, which waits, has the blocks of this step since it was composed.
func (w *Work) Ahead(r *Request) bool { return r.ahead > 0 }

// releaseAhead frees what requests have that the step was to admit and has not: a client has cancelled one meanwhile.
func (in *Instance) releaseAhead() {
	for len(in.transfers.ahead) > 0 {
		in.dropAhead(&in.requests.at[in.transfers.ahead[0]])
	}
}

// dropAhead frees the blocks that r, which waits, has had since the step that was to admit it was composed.
func (in *Instance) dropAhead(r *Request) {
	in.transfers.ahead = without(in.transfers.ahead, r.slot)
	if r.planned > 0 {
		if r.blocks > 0 {
			in.cache.ReleaseSequence(r.slot, r.prompt(), int64(r.blocks), 0, true)
		}
	} else {
		in.cache.ReleaseUnread(r.slot, r.prompt(), int64(r.blocks), 0)
	}
	r.blocks, r.ahead, r.planned = 0, 0, 0
}

// freeDeferred frees the blocks of requests that had ended before the step which has just ended: their tokens in vain
// were in that.
func (in *Instance) freeDeferred() {
	for _, slot := range in.batch.deferred {
		in.vacate(slot)
		in.forget(slot)
	}
	in.batch.deferred = in.batch.deferred[:0]
	if len(in.freed) > 0 {
		in.freeBlocks()
	}
}

// preemptEnded takes r, which has ended without the engine's knowledge, out of the batch to make room. No client waits
// for r, so it is not counted as a preemption. Only where the engine may admit it again before it knows does it wait.
func (w *Work) preemptEnded(r *Request, slot int32) {
	in, b := w.in, &w.in.batch
	if r.state == pendingTransfer { // its blocks stay until they have been sent
		b.ended = without(b.ended, slot)
		in.exit(slot)
		return
	}
	findable := in.withNext(r, in.findable(r)+w.named(r))
	if r.state == finishedRow {
		in.leave(slot)
		w.excuse(r)
		b.finished = without(b.finished, slot)
	} else {
		b.ended = without(b.ended, slot)
	}
	in.exit(slot)
	if in.pool.serial() {
		r.finished, r.Emitted = true, r.Output
		r.Preemptions++
		in.line.finished = append(in.line.finished, slot)
		in.drop(r, w.taken(r), min(r.Computed, in.line.named(r, w.inTurn && r.chunk > 0)))
		in.requeue(r, false)
		return
	}
	if r.OutputContent != 0 {
		in.cache.Publish(slot, r.prompt(), findable)
	}
	in.release(r, w.taken(r), findable, false)
	in.forget(slot)
}

// withNext returns how many of n computed tokens of r, which is preempted, are in blocks whose next token the engine
// knows too, if a block is found only with that.
func (in *Instance) withNext(r *Request, n int32) int32 {
	known := r.Prompt + r.Emitted
	if in.decodesOrEnded(r) {
		_, emitted := in.batch.progress(r)
		known = r.Prompt + emitted
	}
	if in.pool.BatchQueue > 1 && r.state != prefilling && !in.batch.hasRejoined(r) {
		known -= 1 + r.burst
	}
	return min(n, known-in.pool.Drafter.Ahead)
}

// findable returns how many computed tokens of r, which is preempted, are in blocks that can be found again. An engine
// that queues batches does not know the tokens of the step under way, so it has not named the block that they fill; nor
// has one with DelayedNames, where accepted drafts fill it.
func (in *Instance) findable(r *Request) int32 {
	computed := r.Computed
	if in.Decodes(r) || r.state == finishedRow {
		computed, _ = in.batch.progress(r)
	}
	switch {
	case r.state == prefilling || in.batch.isNew(r):
		return computed
	case in.pool.BatchQueue < 2:
		return computed - in.unnamed(r)
	}
	return computed - 1 - r.burst
}

// retracts reports whether the scheduler is asked which tokens of the step that ends are dropped: the next step may
// lack blocks, at most one for each sequence and kind of layer. Where a client has cancelled a request during the step,
// its blocks come first.
func (in *Instance) retracts() bool {
	b, p := &in.batch, in.pool
	return p.retractor != nil && !p.composesAhead() && in.step.n == 1 && len(b.cancelled) == 0 &&
		(in.cache.Free() < in.nextBlocksMax() || p.preempts() && in.Queued() > 0)
}

// nextBlocksMax returns the most blocks that the step after the one under way may take for its decodes.
func (in *Instance) nextBlocksMax() int64 {
	return int64(in.batch.set.Len()+len(in.batch.prefill)) * int64(1+in.pool.Windowed.Blocks)
}

// retract asks the scheduler which tokens of the step that ends are dropped.
func (in *Instance) retract() {
	in.updateVisible()
	w := &in.work
	w.now, w.ends = in.step.end, in.step.decodes+w.shape.Decodes > 0
	in.pool.retractor.Retract(in, w)
	w.ends = false
}

// Continues says what becomes of r, which runs, after the step under way, as far as its engine can tell: whether it
// decodes then, or has ended at its limit.
func (in *Instance) Continues(r *Request) (decodes, ends bool) {
	switch {
	case r.accepted || r.state == decoding && in.pool.composesAhead():
		return true, false
	case r.state == decoding:
		_, emitted := in.batch.progress(r)
		ends = in.step.decodes > 0 && emitted+1 >= r.Limit()
	case r.state == prefilling && r.chunk > 0 && r.chunk == r.Pending():
		ends = r.Emitted+1 >= r.Limit()
	default:
		return false, false
	}
	return !ends, ends
}

// BlocksNext returns the blocks that the step after the one under way takes if those decode in it that Continues names.
func (w *Work) BlocksNext() (n int64) {
	in := w.in
	for r := in.LastAdmitted(); r != nil; r = in.AdmittedBefore(r) {
		if decodes, _ := in.Continues(r); decodes {
			computed := in.computedAfter(r)
			n += in.cache.Blocks(computed+1) - in.cache.Blocks(computed)
		}
	}
	for i := 0; in.Accepted(i) != nil; i++ {
		r := in.Accepted(i)
		n += in.cache.Blocks(r.Computed+1) - in.cache.Blocks(r.Computed)
	}
	return n
}

// computedAfter returns the tokens of r that have been computed when the step under way has ended.
func (in *Instance) computedAfter(r *Request) int32 {
	if r.state == prefilling {
		return r.Computed + r.chunk
	}
	computed, _ := in.batch.progress(r)
	if in.step.decodes > 0 {
		computed++
	}
	return computed
}

// Drop retracts r, for which Continues has said that it decodes, from the step that ends: r gets no token of it.
func (w *Work) Drop(r *Request) {
	in, slot := w.in, r.slot
	if r.accepted {
		w.dropAccepted(r)
		return
	}
	blocks := in.cache.Blocks(in.computedAfter(r))
	if r.state == prefilling {
		blocks = max(blocks, int64(r.blocks))
		in.batch.removePrefill(slot)
	} else {
		if !in.batch.isNew(r) {
			r.Last = in.batch.emittedAt
		}
		in.batch.set.DropEnd(slot)
		in.leave(slot)
		in.batch.untrace(r, slot)
		in.step.decodes = max(0, in.step.decodes-1)
	}
	w.retreat(r)
	if in.pool.composesAhead() {
		in.retreatAhead(r, max(blocks, int64(r.blocksMin)))
		return
	}
	in.release(r, max(blocks, int64(r.blocksMin)), 0, true)
	in.requeue(r, true)
}
