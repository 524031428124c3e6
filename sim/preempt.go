package sim

// How says how a running request makes room.
type Preemption uint8

// The ways to make room.
const (
	Recompute Preemption = iota // its cache is dropped; it waits at the head of the queue to be computed again
	Retract                     // its cache is dropped; it waits at the end of the queue, and finds again what its prompt left
	Swap                        // its cache is copied to host memory, and back when there is room; without memory there: Recompute
)

// Preempt takes r, which runs, out of the batch. A single request always fits.
func (w *Work) Preempt(r *Request, how Preemption) {
	in := w.in
	if w.taken {
		panic("sim: preempted after blocks of the step had been taken")
	}
	slot := in.slotOf(r)
	decodes := r.state == decoding
	if decodes {
		w.interrupt(r, slot)
	} else {
		w.withdraw(r, slot)
	}
	held := max(int64(r.held), int64(r.reserved))
	if decodes {
		held = in.holding(r)
	}
	r.Preemptions++
	in.pool.preemptions++
	in.unlink(slot)
	if how == Swap && decodes && held <= in.host {
		in.swapOut(r, slot, held)
		return
	}
	if in.prefix == nil {
		in.kv.release(held)
	} else {
		kept := r.Computed
		if how == Retract && decodes {
			kept = r.filled
		}
		if r.OutputContent != 0 {
			in.prefix.publish(r, kept)
		}
		in.prefix.release(r, slot, held, kept, true)
	}
	r.held, r.Computed, r.chunk, r.reserved = 0, 0, 0, 0
	r.state = waiting
	in.requeue(slot, how == Retract)
}

// slotOf returns the slot of r, which runs.
func (in *Instance) slotOf(r *Request) int32 {
	if r.next != noSlot {
		return in.slab[r.next].prev
	}
	return in.tail
}

// interrupt takes r, which decodes, out of the decode set. Its latest token came when that last emitted, or when it joined.
func (w *Work) interrupt(r *Request, slot int32) {
	in := w.in
	if !in.isFresh(r) {
		r.Last = in.decode
	}
	if !in.set.walked {
		in.set.ends.remove(slot)
	}
	in.leave(slot)
	switch {
	case w.held:
	case in.spec != nil:
		w.demand -= in.lookFor(r)
		in.draftSum -= int64(in.draftsOf(r))
	case in.paged(r) && in.kv.residue(int64(r.Computed)) == 0:
		w.demand--
	}
	in.untrace(r, slot)
}

// withdraw takes r, which prefills, out of the step.
func (w *Work) withdraw(r *Request, slot int32) {
	in := w.in
	if r.chunk > 0 {
		w.count(r, -1)
	}
	for i, s := range in.prefill {
		if s == slot {
			in.prefill = append(in.prefill[:i], in.prefill[i+1:]...)
			return
		}
	}
}
