package sim

import (
	"cmp"
	"slices"

	"github.com/decodesim/decodesim/sim/batch"
)

// runningBatch is the requests that run. A request is in the list from its admission until it ends or is preempted, and
// in the decode set while it emits a token per step.
type runningBatch struct {
	requests    *slab
	set         batch.DecodeSet
	first, last int32 // of the list, in order of admission
	n           int
	departures  int64    // so far
	prefill     []int32  // members of the list that prefill, in its order
	padded      int32    // tokens to which the prompts of a static batch are padded; 0: none
	finished    []int32  // members of the decode set that have ended, in a static batch or as the engine does not know yet
	ended       []int32  // other members of the list that have ended, as the engine does not know yet
	deferred    []int32  // requests that have ended and left, whose blocks the step under way may write
	read        []int32  // members of the decode set whose prompts a radix tree gets as soon as the engine knows
	placed      [2]int64 // the first and the last place that place has given
	stale       []int32  // members of the list that have been preempted since their step began; n is without them
	cancelled   []int32  // members of the list whose clients have cancelled them during the step under way
	astray      []int32  // members of the decode set that have other blocks than by their length, see passing.go
	traced      []int32  // members of the decode set that are reported step by step, or have emitted reasoning alone
	byClass     []int32  // members of the decode set by class; nil: there is one class
	emittedAt   Time     // end of the latest step in which the decode set emitted
	overdue     bool     // some members of the decode set emitted their latest token before that
	leftOut     bool     // some that decode may have missed the latest step, see LeaveOut
	published   bool     // PublishChunks has been called since the latest step
	passing     passingSteps
	counts
}

// clear makes b the batch of an engine that has just started.
func (b *runningBatch) clear() {
	b.first, b.last, b.n = noSlot, noSlot, 0
	b.prefill, b.traced, b.astray = b.prefill[:0], b.traced[:0], b.astray[:0]
	b.cancelled, b.finished, b.ended = b.cancelled[:0], b.finished[:0], b.ended[:0]
	b.read, b.deferred, b.stale = b.read[:0], b.deferred[:0], b.stale[:0]
	b.padded, b.overdue = 0, false
	b.leftOut, b.published = false, false
	b.placed, b.passing.left = [2]int64{}, b.passing.left[:0]
	clear(b.byClass)
	b.counts = counts{asked: b.asked, joined: b.joined[:0], long: b.long[:0]}
}

// insert puts the request in slot behind those of the list that were admitted before it.
func (b *runningBatch) insert(slot int32) {
	r, prev, next := &b.requests.at[slot], b.last, noSlot
	for prev != noSlot && b.requests.at[prev].admission > r.admission {
		prev, next = b.requests.at[prev].prev, prev
	}
	r.prev, r.next = prev, next
	if prev != noSlot {
		b.requests.at[prev].next = slot
	} else {
		b.first = slot
	}
	if next != noSlot {
		b.requests.at[next].prev = slot
	} else {
		b.last = slot
	}
	b.n++
}

// remove takes the request in slot out of the list.
func (b *runningBatch) remove(slot int32) {
	r := &b.requests.at[slot]
	if r.prev != noSlot {
		b.requests.at[r.prev].next = r.next
	} else {
		b.first = r.next
	}
	if r.next != noSlot {
		b.requests.at[r.next].prev = r.prev
	} else {
		b.last = r.prev
	}
	b.n--
	b.departures++
}

// place gives r, the i-th prompt of a step, which is complete, a place in the batch of decodes as SGLang orders it:
// behind the others or, if they decoded in the same step, before them (ScheduleBatch.mix_with_running of 0.5.23). A
// request whose cache was transferred is behind them, as of a step without others.
func (b *runningBatch) place(r *Request, mixed bool, i int) {
	if mixed {
		r.place = b.placed[0] + int64(i)
		return
	}
	b.placed[1]++
	r.place = b.placed[1]
}

// insertPrefill puts the request in slot among the prefills, in order of admission.
func (b *runningBatch) insertPrefill(slot int32) {
	at, _ := slices.BinarySearchFunc(b.prefill, b.requests.at[slot].admission, func(slot int32, admission int64) int {
		return cmp.Compare(b.requests.at[slot].admission, admission)
	})
	b.prefill = slices.Insert(b.prefill, at, slot)
}

// removePrefill takes the request in slot out of the prefills.
func (b *runningBatch) removePrefill(slot int32) {
	i := slices.Index(b.prefill, slot)
	b.prefill = slices.Delete(b.prefill, i, i+1)
}

// progress returns the computed and emitted tokens of a decoding request.
func (b *runningBatch) progress(r *Request) (computed, emitted int32) {
	if b.set.Counted() {
		return r.Computed, r.Emitted
	}
	d := int32(b.set.Step() - r.joinStep)
	return r.Computed + d, r.Emitted + d
}

// isNew reports whether r has joined the decode set since that last emitted.
func (b *runningBatch) isNew(r *Request) bool { return r.joinStep == b.set.Step() }

// cancelledDecodes returns how many members of the decode set have lost their clients during the step under way.
func (b *runningBatch) cancelledDecodes() (n int) {
	for _, slot := range b.cancelled {
		if b.requests.at[slot].state == cancelledDecode {
			n++
		}
	}
	return n
}

// rows returns how many rows of a static batch have ended.
func (b *runningBatch) rows() int {
	if b.padded == 0 {
		return 0
	}
	return len(b.finished)
}

// untrace takes the request in slot out of the requests that are reported step by step.
func (b *runningBatch) untrace(r *Request, slot int32) {
	if !r.Traced && r.Reasoning == 0 {
		return
	}
	if i := slices.Index(b.traced, slot); i >= 0 {
		b.traced = slices.Delete(b.traced, i, i+1)
	}
}

// emitted returns the tokens that the members have emitted up to the steps under way, but for those without a client.
func (b *runningBatch) emitted() (n int64) {
	for slot := b.first; slot != noSlot; slot = b.requests.at[slot].next {
		switch r := &b.requests.at[slot]; {
		case r.state == decoding:
			_, emitted := b.progress(r)
			n += int64(emitted)
		case r.state == prefilling && !r.finished:
			n += int64(r.Emitted)
		}
	}
	return n
}

// longRemaining is what few requests may emit more than: a sum that clips remaining tokens at it, or higher, visits
// those alone.
const longRemaining = 4096

// counts is what an instance counts only if its Scheduler asks for it, see Counter.
type counts struct {
	asked     Counts
	joined    []int32 // slots that have joined the decode set since it last emitted
	remaining int64   // Σ tokens that the members of the decode set may still emit, by their limits
	long      []int32 // slots of the members that had more than longRemaining of them when they joined
}

// must panics if the scheduler has not asked for k.
func (c *counts) must(k Counts) {
	if c.asked&k == 0 {
		panic("sim: the scheduler asks for what its Counts does not name")
	}
}

// countJoined counts the request in slot, which has joined the decode set.
func (b *runningBatch) countJoined(slot int32) {
	if b.asked&CountPauses != 0 {
		b.joined = append(b.joined, slot)
	}
	if b.asked&CountRemaining != 0 {
		r := &b.requests.at[slot]
		remaining := r.Limit() - r.Emitted
		b.remaining += int64(remaining)
		if remaining > longRemaining {
			b.long = append(b.long, slot)
		}
	}
}

// countLeft takes the request in slot, which is still in the decode set, out of the counts.
func (b *runningBatch) countLeft(slot int32) {
	r := &b.requests.at[slot]
	if b.isNew(r) {
		b.joined = without(b.joined, slot)
	}
	if b.asked&CountRemaining != 0 {
		_, emitted := b.progress(r)
		b.remaining -= int64(r.Limit() - emitted)
		b.long = without(b.long, slot)
	}
}

// without returns slots without slot.
func without(slots []int32, slot int32) []int32 {
	if i := slices.Index(slots, slot); i >= 0 {
		return slices.Delete(slots, i, i+1)
	}
	return slots
}

// countEmitted counts a step, or several, with which the decode set emitted so many tokens.
func (b *runningBatch) countEmitted(tokens int64) {
	if b.asked&CountRemaining != 0 {
		b.remaining -= tokens
	}
	b.overdue, b.joined = false, b.joined[:0]
}

// RemainingTokens returns Σ min(tokens that it may still emit, clip) over the sequences that decode, as far as the
// engine knows what they have emitted. It takes CountRemaining.
func (in *Instance) RemainingTokens(clip int32) int64 {
	in.batch.must(CountRemaining)
	if clip >= longRemaining {
		sum := in.batch.remaining + in.unknown()
		for _, slot := range in.batch.long {
			sum -= int64(max(0, in.remaining(&in.requests.at[slot])-clip))
		}
		return sum
	}
	var sum int64
	for r := in.LastAdmitted(); r != nil; r = in.AdmittedBefore(r) {
		if in.decodesOrEnded(r) || r.state == ended {
			sum += int64(min(in.remaining(r), clip))
		}
	}
	return sum
}

// remaining returns how many tokens r, which decodes or has ended, may still emit, as far as the engine knows.
func (in *Instance) remaining(r *Request) int32 {
	emitted := r.Emitted
	if in.decodesOrEnded(r) {
		_, emitted = in.batch.progress(r)
	}
	return r.Limit() - emitted + in.Unknown(r)
}

// commitBlocks counts what r may take of the cache, with the sign of coming or going, if the scheduler asks for it.
func (in *Instance) commitBlocks(r *Request, sign int64) {
	if in.batch.asked&CountCommitted != 0 {
		in.committed += sign * in.cache.Blocks(r.Prompt+r.Limit())
	}
}

// enter makes the request in slot the latest to be admitted.
func (in *Instance) enter(slot int32) {
	r := &in.requests.at[slot]
	r.admission, r.lane = in.admissions, in.lane
	in.admissions++
	in.batch.insert(slot)
	in.commitBlocks(r, 1)
	if in.adapters != nil {
		in.adapters.enter(r.Adapter, in.cluster.now)
	}
}

// exit takes the request in slot out of the list of running requests.
func (in *Instance) exit(slot int32) {
	in.batch.remove(slot)
	if len(in.batch.read) > 0 {
		in.batch.read = without(in.batch.read, slot)
	}
	r := &in.requests.at[slot]
	if r.stale {
		in.settleStale(r)
	}
	r.leftOut = false
	in.commitBlocks(r, -1)
	if in.adapters != nil {
		in.adapters.exit(r.Adapter, in.cluster.now)
	}
}

// join adds the request in slot, whose prompt is complete, to the decode set.
func (in *Instance) join(slot int32) {
	r, b := &in.requests.at[slot], &in.batch
	r.state, r.joinStep, r.computedAtJoin = decoding, b.set.Step(), r.Computed
	r.burst, r.rejected, r.leftOut = 0, 0, false
	if in.pool.BatchQueue > 1 {
		r.rejected = r.filler
	}
	r.filler = 0
	if !b.set.Counted() {
		r.blocks = 0
	}
	if in.cache.Passes() {
		in.joinPassing(r)
	}
	r.finishStep = b.set.Join(slot, r.Computed, r.Output-r.Emitted, in.paged(r))
	if b.asked != 0 {
		b.countJoined(slot)
	}
	if b.byClass != nil {
		b.byClass[r.Class]++
	}
	if in.adapters != nil {
		in.adapters.countDecode(r.Adapter, 1)
	}
	if r.Traced && in.cluster.tracer != nil || r.Emitted <= r.Reasoning && r.Reasoning > 0 {
		b.traced = append(b.traced, slot)
	}
}

// leave takes the request in slot out of the decode set; its end has been taken. Its record is as of now then.
func (in *Instance) leave(slot int32) {
	r, b := &in.requests.at[slot], &in.batch
	if b.asked != 0 {
		b.countLeft(slot)
	}
	r.Computed, r.Emitted = b.progress(r)
	if in.cache.Passes() {
		in.leavePassing(r)
	}
	b.set.Leave(slot, r.Computed, in.paged(r))
	if b.byClass != nil && r.state != finishedRow {
		b.byClass[r.Class]--
	}
	if in.adapters != nil {
		in.adapters.countDecode(r.Adapter, -1)
	}
}

// paged reports whether r takes blocks as it grows: it has not reserved them all, as the rows of a static batch have. A
// token that is computed in vain takes one, too.
func (in *Instance) paged(r *Request) bool {
	computed := r.Prompt + r.Output - 1
	if in.pool.BatchQueue > 1 && !in.pool.serial() && r.Output < r.Limit() {
		computed++
	}
	return r.blocksMin == 0 || in.batch.padded == 0 && in.cache.Blocks(computed) > int64(r.blocksMin)
}

// allocated returns the blocks of r, whose record is as of now.
func (in *Instance) allocated(r *Request) int64 {
	if in.batch.set.Counted() {
		return int64(r.blocks)
	}
	return max(int64(r.blocksMin), in.cache.Blocks(r.Computed))
}

// finishRow ends the request in slot for its client, if that still waits; its row and its blocks stay in the static
// batch.
func (in *Instance) finishRow(slot int32, now Time) {
	r, b := &in.requests.at[slot], &in.batch
	b.finished = append(b.finished, slot)
	if b.byClass != nil {
		b.byClass[r.Class]--
	}
	if r.state == decoding {
		seen := &in.report.request
		*seen = *r
		_, seen.Emitted = b.progress(r)
		seen.Last = now
		in.charge(r, -1)
		r.state = finishedRow
		in.cluster.done(seen, now, Completed)
		return
	}
	r.state = finishedRow
}

// disband frees a static batch all of whose members have ended.
func (in *Instance) disband() {
	for _, slot := range in.batch.finished {
		in.leave(slot)
		in.vacate(slot)
		in.exit(slot)
		in.forget(slot)
	}
	in.batch.finished, in.batch.padded = in.batch.finished[:0], 0
}

// hasRejoined reports whether r, which decodes, missed the latest step, so that its engine knows all of its tokens.
func (b *runningBatch) hasRejoined(r *Request) bool { return r.leftOut && b.isNew(r) }
