package sim

import "slices"

// commit ends the steps under way: tokens out, sequences on. The instance must be planned next.
func (in *Instance) commit() {
	now, n := in.end, in.steps
	in.busy += now.Sub(in.start)
	in.stepCount += int64(n)
	in.decodeSum += int64(n) * int64(in.decodes)
	if len(in.hungup) > 0 {
		in.commitHungup(n)
	} else {
		in.cluster.sink.Run(in, in.start, &in.seg, n, in.decodes)
		if len(in.traced) > 0 {
			in.trace(n)
		}
	}
	if in.decodes > 0 {
		if n > 1 {
			in.take(in.set.blocksFor(1, int64(n), &in.kv))
		}
		in.set.advance(n)
		if in.set.windows != nil {
			in.scratch = in.set.turn(in.scratch)
		}
		if !in.set.ends.none(in.set.step) {
			in.retire(now)
		}
	}
	if len(in.prefill) > 0 {
		in.commitPrefill(now)
	}
	if len(in.hungup) > 0 {
		in.drop(now)
	}
	if len(in.freed) > 0 {
		in.free()
	}
}

// retire ends the sequences whose last token came with the step just taken, in order of ID.
func (in *Instance) retire(now Time) {
	done := in.set.ends.take(in.set.step, in.scratch[:0])
	in.scratch = done
	if len(done) > 1 {
		slices.SortFunc(done, func(a, b int32) int { return int(in.slab[a].ID) - int(in.slab[b].ID) })
	}
	for _, slot := range done {
		r := &in.slab[slot]
		r.Computed, r.Emitted = in.progress(r)
		in.set.leave(slot, r.Computed, &in.kv)
		in.vacate(slot)
		in.untrace(r, slot)
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
		r.Computed += r.chunk
		r.held = int32(in.kv.Blocks(r.Computed))
		r.chunk = 0
		if r.Pending() > 0 || r.state == leavingPrefill {
			kept = append(kept, slot)
			continue
		}
		r.Emitted++
		if r.Emitted == 1 {
			r.First, r.Last = now, now
			in.cluster.sink.First(r)
		} else {
			in.cluster.sink.Gap(r, now, Preempted)
			r.Last = now
		}
		if r.Emitted == r.Output {
			in.vacate(slot)
			in.finish(slot, r, now)
			continue
		}
		r.state, r.held, r.joined = decoding, 0, in.set.step
		r.finish = in.set.join(slot, r.Computed, r.Output-r.Emitted, &in.kv)
		if r.Traced && in.cluster.tracer != nil {
			in.traced = append(in.traced, slot)
		}
	}
	in.prefill = kept
}

// finish ends a request that has left the cache.
func (in *Instance) finish(slot int32, r *Request, now Time) {
	in.unlink(slot)
	in.pool.outstanding[in.index]--
	in.cluster.done(r, now, Completed)
	in.forget(slot)
}

// trace tells the tracer of the tokens of the traced requests.
func (in *Instance) trace(n int) {
	for _, slot := range in.traced {
		r := &in.slab[slot]
		_, emitted := in.progress(r)
		in.cluster.tracer.Tokens(r, emitted, in.start, &in.seg, n)
	}
}

func (in *Instance) untrace(r *Request, slot int32) {
	if !r.Traced || in.cluster.tracer == nil {
		return
	}
	i := slices.Index(in.traced, slot)
	in.traced = slices.Delete(in.traced, i, i+1)
}
