package sim

// A request is a member of the running list from its admission until it ends or is preempted, and of the decode set while
// it emits a token per step.

// join adds the request in slot, whose prompt is complete, to the decode set.
func (in *Instance) join(slot int32) {
	r := &in.slab[slot]
	r.state, r.joined, r.filled = decoding, in.set.step, r.Computed
	if in.spec == nil {
		r.held = 0
	}
	r.finish = in.set.join(slot, r.Computed, r.Output-r.Emitted, in.paged(r), &in.kv)
	if in.keeps != 0 {
		in.keepJoined(slot)
	}
	if in.classes != nil {
		in.classes[r.Class]++
	}
	if r.Traced && in.cluster.tracer != nil {
		in.traced = append(in.traced, slot)
	}
}

// leave takes the request in slot out of the decode set; its end has been taken. Its record is as of now then.
func (in *Instance) leave(slot int32) {
	r := &in.slab[slot]
	if in.keeps != 0 {
		in.keepLeft(slot)
	}
	r.Computed, r.Emitted = in.progress(r)
	in.set.leave(slot, r.Computed, in.paged(r), &in.kv)
	if in.classes != nil && r.state != idle {
		in.classes[r.Class]--
	}
}

// paged reports whether r takes blocks as it grows: it has not reserved them all, as the rows of a static batch have.
func (in *Instance) paged(r *Request) bool {
	return r.reserved == 0 || in.padded == 0 && in.kv.Blocks(r.Prompt+r.Output-1) > int64(r.reserved)
}

// holding returns the blocks that r, whose record is as of now, holds.
func (in *Instance) holding(r *Request) int64 {
	if in.spec != nil {
		return int64(r.held)
	}
	return max(int64(r.reserved), in.kv.Blocks(r.Computed))
}

// rest ends the request in slot for its client, if that is still there; its row and its blocks stay in the batch.
func (in *Instance) rest(slot int32, now Time) {
	r := &in.slab[slot]
	in.idle = append(in.idle, slot)
	if in.classes != nil {
		in.classes[r.Class]--
	}
	if r.state == decoding {
		in.shown = *r
		_, in.shown.Emitted = in.progress(r)
		in.shown.Last = now
		in.charge(r, -1)
		r.state = idle
		in.cluster.done(&in.shown, now, Completed)
		return
	}
	r.state = idle
}

// disband frees a static batch of which everybody has ended.
func (in *Instance) disband() {
	for _, slot := range in.idle {
		in.leave(slot)
		in.vacate(slot)
		in.unlink(slot)
		in.forget(slot)
	}
	in.idle, in.padded = in.idle[:0], 0
}

// vacate frees what the request in slot holds. With prefix caching the order counts, and it waits for the others that
// this step frees.
func (in *Instance) vacate(slot int32) {
	if in.prefix == nil {
		in.kv.release(in.holding(&in.slab[slot]))
	} else {
		in.freed = append(in.freed, slot)
	}
}

// free frees what the requests in freed hold, in order of admission.
func (in *Instance) free() {
	for i := 1; i < len(in.freed); i++ { // most steps free few, in order
		for j := i; j > 0 && in.slab[in.freed[j]].order < in.slab[in.freed[j-1]].order; j-- {
			in.freed[j], in.freed[j-1] = in.freed[j-1], in.freed[j]
		}
	}
	for _, slot := range in.freed {
		r := &in.slab[slot]
		if r.OutputContent != 0 {
			in.prefix.publish(r, r.Computed)
		}
		in.prefix.release(r, slot, in.holding(r), r.Computed, false)
	}
	in.freed = in.freed[:0]
}
