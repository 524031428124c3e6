package sim_test

import "slices"

// composesAhead reports whether the decode side of SGLang deals with caches as a step begins, for the one after it.
func (n *naive) composesAhead() bool { return n.leavesFree().Tokens > 0 && n.queues() }

// receiveAhead gives blocks to those that come, places to those that have come, and then retracts.
func (n *naive) receiveAhead(in *naiveInstance) {
	in.copied = 0
	n.preallocate(in)
	n.accept(in)
	n.retractAsItBegins(in)
	in.stayed, in.departed = nil, false
}

// accept gives those that have arrived their places in the next step. Clients get the tokens that came along at once.
func (n *naive) accept(in *naiveInstance) {
	places := n.poll(in)
	for _, m := range slices.Clone(in.arrived) {
		if places <= 0 || !m.polled {
			return
		}
		places--
		r := m.r
		m.accepted = true
		in.sglang.place([]*naiveRequest{r}, false)
		n.cover["caches accepted as a step begins"]++
		if !r.known {
			continue
		}
		r.known, r.move = false, nil
		n.emit(r, 1)
		n.cover["tokens emitted as a step begins"]++
		if r.outcome != "" {
			r.removed, in.departed = true, true
			in.load--
			in.arrived = remove(in.arrived, m)
			in.free += m.blocks
			in.sglang.forget(r)
		} else {
			r.move = m
		}
	}
}

// joinAccepted has those join the batch that have places in it.
func (n *naive) joinAccepted(in *naiveInstance) {
	for len(in.arrived) > 0 && in.arrived[0].accepted {
		n.enterTransferred(in, in.arrived[0])
	}
}

// retractAsItBegins retracts those for whose next tokens there are no blocks. They get none of the step that begins.
func (n *naive) retractAsItBegins(in *naiveInstance) {
	batch := slices.Clone(in.running)
	if len(in.waiting) > 0 || len(decodes(batch)) < len(batch) {
		return
	}
	for _, m := range in.arrived {
		if m.accepted {
			batch = append(batch, m.r)
		}
	}
	next := func() (blocks int64) {
		for _, r := range batch {
			tokens := r.Computed + r.want
			if r.move != nil {
				tokens = r.move.computed
			}
			blocks += n.needs(tokens+1) - n.needs(tokens)
		}
		return blocks
	}
	retracted := false
	for first := true; len(batch) > 1 && next() > in.free; first = false {
		retracted = true
		v := slices.MinFunc(batch, n.retractedFirst(in))
		batch = slices.DeleteFunc(batch, func(r *naiveRequest) bool { return r == v })
		if v.move != nil {
			n.enterTransferred(in, v.move)
			n.cover["accepted caches retracted"]++
		} else if v.want > 0 {
			n.decodes--
		}
		had := v.blocks
		v.blocks = min(had, n.needs(v.Computed))
		if v.blocks > in.host {
			v.blocks = had
			n.recompute(in, v)
			continue
		}
		in.free += had - v.blocks
		n.swapOut(in, v)
		n.cover["retractions as a step begins"]++
		if !first {
			n.cover["several retractions as a step begins"]++
		}
	}
	if retracted {
		n.estimate(in, batch)
		in.sglang.ahead = "retracted"
	}
}
