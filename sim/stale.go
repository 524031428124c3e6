package sim

// Where a microbatch finds no block, a request of another one that is under way may be preempted. Its blocks are free
// at once, as if it had no token there. What its batch yields of it still reaches its client, and may be its last
// token; but until the batch has ended the request is passed over in the queue, because otherwise it would compute a
// token that is there already (vLLM 0.33.0, vllm/v1/core/sched/scheduler.py, num_stale_output_tokens). The same goes
// for a prompt whose next chunk is preempted while the one before it is under way.
//
// So such a request stays a member of its batch until that has ended, although it does not count as running, and is set
// aside from the queue as long as the engine does not know what came of it. Where its cache goes to another instance,
// what its batch yields of it is dropped, and it waits like any other (requires_kv_delivery there).
//
// vLLM 0.22 passes over none. A request that it admits before its batch has ended is in two microbatches from then on,
// and gets a token from each, also for one place in its output. So there such a request leaves its batch at once, which
// yields its token to it wherever it is then. As long as others do, it computes its tokens as if they were chunks of a
// prompt. With drafts and where windows pass blocks it waits instead, and so do those behind it. One that is scheduled
// asynchronously is in pipeline_ahead.go.

// yield is the token that a microbatch under way yields of a request which is not in it any more.
type yield struct{ slot, id int32 }

// aside is a request that waits, and is passed over in the queue.
type aside struct {
	slot  int32
	batch int64 // that it waits for
	known Time  // when the engine knew what came of that, less Config.Ingress; Forever: it does not yet
}

// Microbatches returns how many microbatches the pipeline has that in is one of; 0: in is none.
func (in *Instance) Microbatches() int {
	if in.line == nil {
		return 0
	}
	return len(in.line.lanes)
}

// Microbatch returns the i-th microbatch of the pipeline that in is a part of.
func (in *Instance) Microbatch(i int) *Instance { return in.line.lanes[i] }

// Has reports whether r, which runs, is in the batch of in, and not in that of another microbatch.
func (in *Instance) Has(r *Request) bool { return r.lane == in.lane }

// Preemptible reports whether r, which runs, can make room for another microbatch.
func (in *Instance) Preemptible(r *Request) bool {
	return !r.stale && (r.state == decoding || r.state == prefilling)
}

// preemptAway preempts r, which another microbatch has. A client that cancels it before that has ended does so as if it
// ran.
func (w *Work) preemptAway(r *Request) {
	in, lane := w.in, w.in.line.lanes[r.lane]
	underWay := lane.step.end != Forever
	blocks, findable := lane.cacheAway(r, underWay)
	in.drop(r, blocks, findable)
	r.Preemptions++
	in.tally.preemptions++
	if in.yields() && !in.delivers(r) {
		lane.expel(r, underWay)
		in.takeTurn(r)
		in.queue.pushBack(r.slot, false)
		return
	}
	r.stale = true
	in.takeTurn(r)
	lane.batch.stale = append(lane.batch.stale, r.slot)
	lane.batch.n--
	lane.batch.departures++
	in.queue.stale++
	in.queue.resuming++
	switch {
	case !underWay:
		lane.dropStale(in.work.now)
	case in.delivers(r):
		lane.batch.removePrefill(r.slot)
		lane.leaveStale(r)
		in.queue.pushBack(r.slot, false)
	}
}

// yields reports whether a microbatch of in yields tokens of requests that have been preempted to where they are then.
func (in *Instance) yields() bool {
	return in.pool.BatchQueue < 2 && !in.pool.FillsQueue && in.drafting.speculation == nil && !in.cache.Passes()
}

// expel takes r, which is preempted, out of the batch of in, a microbatch, which yields its token all the same if its
// step is under way.
func (in *Instance) expel(r *Request, underWay bool) {
	decodes := r.state == decoding
	if underWay && (decodes || r.yielding || r.chunk > 0 && r.chunk == r.Pending()) {
		in.yieldsTo(r)
	}
	if decodes {
		if !in.batch.isNew(r) {
			r.Last = in.batch.emittedAt
		}
		in.batch.set.DropEnd(r.slot)
		in.leave(r.slot)
		in.batch.untrace(r, r.slot)
		if underWay {
			in.step.decodes--
		}
	} else {
		in.batch.removePrefill(r.slot)
	}
	in.leaveStale(r)
}

// yieldsTo has the step of in, a microbatch that r leaves, yield its token of r to where that is then.
func (in *Instance) yieldsTo(r *Request) {
	list := &in.line.yielded[in.lane]
	*list = append(*list, yield{r.slot, r.ID})
	r.yields++
	r.yielding = false
}

// commitYields lets clients have the tokens that the step of a microbatch of in, which ends, yields of requests that
// have left it.
func (in *Instance) commitYields(lane *Instance, now Time) {
	list := &in.line.yielded[lane.lane]
	for _, y := range *list {
		r := &in.requests.at[y.slot]
		if r.ID != y.id || r.state != waiting && r.state != prefilling {
			continue // its client has left
		}
		r.yields--
		r.yielding = r.yielding || r.state == prefilling && r.chunk > 0 && r.chunk == r.Pending()
		in.emit(r, now)
		if r.Emitted == r.Output {
			in.finishAway(y.slot, now)
		}
	}
	*list = (*list)[:0]
}

// goesOn lets the client of r, which prefills, have a token that the step of in yields, and reports whether r goes on:
// as if it prefilled, because others yield tokens of it.
func (in *Instance) goesOn(r *Request, now Time) bool {
	r.yielding = false
	in.emit(r, now)
	if r.Emitted == r.Output {
		in.vacate(r.slot)
		in.finish(r.slot, r, now)
		return false
	}
	return true
}

// finishAway ends the request in slot, which waits or prefills: it had its last token from another microbatch.
func (in *Instance) finishAway(slot int32, now Time) {
	r := &in.requests.at[slot]
	if r.state == waiting {
		in.charge(r, -1)
		in.cluster.done(r, now, Completed)
		in.cache.Forget(slot)
		in.queue.cancel(slot)
		return
	}
	lane := in.line.lanes[r.lane]
	lane.batch.removePrefill(slot)
	r.Computed += r.chunk
	lane.vacate(slot)
	if len(lane.freed) > 0 {
		lane.freeBlocks()
	}
	lane.finish(slot, r, now)
}

// takeTurn gives r, which is preempted, its place in a queue without an order: before all others that wait.
func (in *Instance) takeTurn(r *Request) {
	if in.pool.Order == nil {
		in.line.turns++
		r.turn = -in.line.turns
	}
}

// requeueOfLine has r, which a microbatch has preempted, wait, and aside if another one still has a chunk of it.
func (in *Instance) requeueOfLine(r *Request) {
	in.takeTurn(r)
	if in.pool.serial() {
		in.unlearn(r)
	}
	if r.chunkBatch > in.line.ended && !in.delivers(r) && !in.yields() {
		in.queue.setAside(r.slot, r.chunkBatch, Forever)
		return
	}
	in.queue.pushBack(r.slot, false)
}

// delivers reports whether r goes to another instance with its cache.
func (in *Instance) delivers(r *Request) bool { return in.pool.sends && in.cluster.stage(r) != nil }

// cacheAway returns the blocks of r, a member of the batch of in, and how many of its tokens are in blocks that can be
// found again: those that were known when it got them and, if the step is under way and the engine schedules
// asynchronously, all but the one that this computes.
func (in *Instance) cacheAway(r *Request, underWay bool) (blocks int64, findable int32) {
	if r.state == prefilling {
		blocks = max(int64(r.blocks), in.chunked(r), int64(r.blocksMin))
		findable = in.withNext(r, r.Computed+r.chunk)
		if in.cache.Passes() {
			in.pass(r)
		}
		return blocks, findable
	}
	computed, emitted := in.batch.progress(r)
	findable = computed
	if underWay && in.pool.BatchQueue < 2 {
		findable++
	}
	findable = min(findable, r.Prompt+emitted-in.pool.Drafter.Ahead)
	has := computed
	if underWay {
		has++
	}
	switch {
	case in.batch.set.Counted():
		return int64(r.blocks), findable
	case !in.cache.Passes():
	case r.astray:
		if underWay {
			in.passTo(r, in.passesDecoding(r))
		}
		r.astray = false
		in.batch.astray = without(in.batch.astray, r.slot)
	default:
		if in.cache.SharesWindows() {
			in.regainPassed(r, computed, underWay)
		}
		r.passed = in.passedAt(has)
	}
	return max(int64(r.blocksMin), in.cache.Blocks(has)), findable
}

// endStale ends the request in slot, which has been preempted: it had its last token in the step just taken.
func (in *Instance) endStale(slot int32, now Time) {
	r := &in.requests.at[slot]
	in.leave(slot)
	if r.state == decoding {
		r.Last = now
		in.finish(slot, r, now)
	}
}

// learnStale has the engine know what came of the batch of lane, a microbatch of in, which ends.
func (in *Instance) learnStale(lane *Instance) {
	line, now := in.line, in.cluster.now
	line.ended = line.began[lane.lane]
	if len(lane.batch.stale) > 0 {
		lane.dropStale(now)
	}
	for i := range in.queue.aside {
		if a := &in.queue.aside[i]; a.known == Forever && a.batch <= line.ended {
			a.known = in.queuedBy(now)
		}
	}
}

// dropStale takes the requests that have been preempted out of the batch of in, a microbatch none of whose steps is
// under way.
func (in *Instance) dropStale(now Time) {
	b := &in.batch
	for len(b.stale) > 0 {
		slot := b.stale[0]
		r := &in.requests.at[slot]
		if r.state == decoding {
			if !b.isNew(r) {
				r.Last = b.emittedAt
			}
			b.set.DropEnd(slot)
			in.leave(slot)
			b.untrace(r, slot)
			r.delay = Preempted
		} else {
			b.removePrefill(slot)
		}
		in.leaveStale(r)
		in.queue.setAside(slot, 0, in.queuedBy(now))
	}
}

// leaveStale has r, which has been preempted and is in no decode set or list of prompts, leave its batch.
func (in *Instance) leaveStale(r *Request) {
	if r.delay != Restarted {
		r.delay = Preempted
	}
	in.exit(r.slot)
	r.recompute()
}

// settleStale has r, which leaves the batch, be one that was preempted no longer.
func (in *Instance) settleStale(r *Request) {
	r.stale = false
	in.batch.stale = without(in.batch.stale, r.slot)
	in.batch.n++ // which has lost it twice: when it was preempted, and as it left the list
	in.queue.stale--
	in.queue.resuming--
}

// staleFirst reports whether a request of which tokens are under way stands before r, the head of the queue without it,
// or nil, and is not passed over: the engine does not fill its queue of batches.
func (in *Instance) staleFirst(r *Request) bool {
	if in.pool.FillsQueue {
		return false
	}
	if r == nil {
		return true
	}
	for _, lane := range in.batches() {
		for _, slot := range lane.batch.stale {
			if in.standsBefore(slot, r) {
				return true
			}
		}
	}
	for i := range in.queue.aside {
		if in.standsBefore(in.queue.aside[i].slot, r) {
			return true
		}
	}
	return false
}

// standsBefore reports whether the request in slot, which was preempted, stands before r in the queue.
func (in *Instance) standsBefore(slot int32, r *Request) bool {
	x := &in.requests.at[slot]
	if in.pool.Order != nil {
		return before(x, r)
	}
	return x.turn < r.turn
}

// setAside has the request in slot be passed over until the engine knows what came of a batch, which it did at known.
func (q *queue) setAside(slot int32, batch int64, known Time) {
	q.resuming++
	q.aside = append(q.aside, aside{slot: slot, batch: batch, known: known})
}

// recall gives those that were set aside their places in the queue, as far as the engine knows what came of their
// batches.
func (q *queue) recall() {
	left := q.aside[:0]
	for _, a := range q.aside {
		if a.known == Forever || a.known > q.visible {
			left = append(left, a)
			continue
		}
		q.resuming--
		q.pushBack(a.slot, false)
	}
	q.aside = left
}

// dropAside takes the request in slot out of q if it is set aside, and reports whether it was.
func (q *queue) dropAside(slot int32) bool {
	for i := range q.aside {
		if q.aside[i].slot == slot {
			q.aside = append(q.aside[:i], q.aside[i+1:]...)
			return true
		}
	}
	return false
}
