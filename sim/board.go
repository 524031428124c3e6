package sim

// board lets those who have landed into the batch, as far as there are seats.
func (in *Instance) board(now Time) {
	for len(in.landed) > 0 && in.running < in.pool.MaxNumSeqs {
		slot := in.landed[0]
		in.landed = append(in.landed[:0], in.landed[1:]...)
		r := &in.slab[slot]
		in.promise(r, -1)
		if in.pool.Order != nil {
			r.key = in.pool.Order.Key(r)
		}
		in.link(slot)
		r.Resumed = now
		in.enterBatch(slot, now)
	}
}

// enterBatch makes the request in slot a member of the decode set, or of the prompts of which a token is left. The token
// that its source computed and did not emit comes now.
func (in *Instance) enterBatch(slot int32, now Time) {
	r := &in.slab[slot]
	withheld := r.Computed == r.Prompt+r.Emitted
	again := withheld && in.pool.RecomputeLastToken
	if again {
		r.Computed--
	}
	if in.prefix != nil {
		in.prefix.publish(r, r.Computed)
	}
	if again {
		r.state = prefilling
		in.prefill = append(in.prefill, slot)
		return
	}
	r.state = decoding
	if !withheld {
		r.late = Transferred
	} else {
		in.emit(r, now)
		if r.Emitted == r.Output {
			in.unlink(slot)
			in.charge(r, -1)
			in.cluster.done(r, now, Completed)
			in.discard(slot)
			return
		}
	}
	in.join(slot)
	in.late = true
}
