package sim

import "slices"

// commit ends the steps under way: tokens out, sequences on. The instance must be planned next.
func (in *Instance) commit() {
	if in.cold {
		in.cold = false
		return
	}
	now, n := in.end, in.steps
	in.busy += now.Sub(in.start)
	in.stepCount += int64(n)
	in.decodeSum += int64(n) * int64(in.emitting())
	in.idleSum += int64(n) * int64(len(in.idle))
	if len(in.hungup) == 0 && !in.late && in.classes == nil && len(in.traced) == 0 { // nearly always
		in.cluster.sink.Run(in, in.start, &in.seg, n, in.emitting())
	} else {
		in.tell(n)
	}
	if in.decodes > 0 {
		in.decode = now
		if n > 1 {
			in.take(in.set.blocksFor(1, int64(n), &in.kv))
		}
		if in.spec != nil {
			in.verified(now)
		} else {
			in.advance(now, n)
		}
	}
	if len(in.prefill) > 0 {
		in.commitPrefill(now)
	}
	if len(in.hungup) > 0 {
		in.drop(now)
	}
	if in.running > 0 && len(in.idle) == in.running {
		in.disband()
	}
	if len(in.freed) > 0 {
		in.free()
	}
}

// advance takes n steps of the decode set.
func (in *Instance) advance(now Time, n int) {
	in.set.advance(n)
	if in.keeps != 0 {
		in.keepEmitted(int64(n) * int64(in.set.n))
	}
	if in.set.windows != nil {
		in.scratch = in.set.turn(in.scratch)
	}
	if !in.set.ends.none(in.set.step) {
		in.scratch = in.set.ends.take(in.set.step, in.scratch[:0])
		in.retire(now, in.scratch)
	}
}

// retire ends the sequences in done, whose last token came with the step just taken, in order of ID.
func (in *Instance) retire(now Time, done []int32) {
	if len(done) > 1 {
		slices.SortFunc(done, func(a, b int32) int { return int(in.slab[a].ID) - int(in.slab[b].ID) })
	}
	for _, slot := range done {
		r := &in.slab[slot]
		in.untrace(r, slot)
		if in.padded > 0 {
			in.rest(slot, now)
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
	kept := in.prefill[:0]
	for _, slot := range in.prefill {
		r := &in.slab[slot]
		r.Computed = max(r.Computed+r.chunk, in.padded)
		r.held = max(r.held, int32(in.kv.Blocks(r.Computed))) // who landed may hold the block of a token that is yet to be computed
		r.chunk = 0
		if r.Pending() > 0 || r.state == leavingPrefill {
			kept = append(kept, slot)
			continue
		}
		var next *Stage
		if in.pool.hands {
			next = in.cluster.stage(r)
		}
		if next == nil || next.Tokens > 0 {
			in.emit(r, now)
		}
		switch {
		case next != nil && r.Emitted < r.Output:
			in.park(slot, next)
		case r.Emitted < r.Output:
			in.join(slot)
		case in.padded > 0:
			in.join(slot)
			in.set.ends.remove(slot)
			in.untrace(r, slot)
			in.rest(slot, now)
		default:
			in.vacate(slot)
			in.finish(slot, r, now)
		}
	}
	in.prefill = kept
}

// emit lets the client of r have a token that no decode step computed: the first, or the first since an interruption.
func (in *Instance) emit(r *Request, now Time) {
	r.Emitted++
	switch {
	case r.Emitted == 1:
		r.First, r.Last = now, now
		in.pool.firsts++
		if in.pool.FirstTokenDue > 0 && now.Sub(r.Arrival) > in.pool.FirstTokenDue {
			in.pool.late++
		}
		in.cluster.sink.First(r)
	case r.late == Restarted:
		in.cluster.sink.Gap(in, r, now, Restarted)
	default:
		in.cluster.sink.Gap(in, r, now, Preempted)
	}
	r.Last, r.late = now, Preempted
}

// finish ends a request that has left the cache.
func (in *Instance) finish(slot int32, r *Request, now Time) {
	in.unlink(slot)
	in.charge(r, -1)
	if r.move != 0 {
		in.cluster.cancel(r.move)
	}
	in.cluster.done(r, now, Completed)
	in.forget(slot)
}

func (in *Instance) untrace(r *Request, slot int32) {
	if !r.Traced || in.cluster.tracer == nil {
		return
	}
	i := slices.Index(in.traced, slot)
	in.traced = slices.Delete(in.traced, i, i+1)
}
