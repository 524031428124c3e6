package sim

import "slices"

// Fail takes in down at once, with its queue, its batch and its cache. Steps that have ended by now count. Its requests end as
// Failed or, to be retried, begin again elsewhere and keep what they have emitted.
func (c *Cluster) Fail(in *Instance, retry bool) {
	switch in.life {
	case down:
		return
	case starting:
		c.Drain(in)
		return
	}
	c.totals.InstancesFailed++
	lost := c.lose(in, in.crash(c.now))
	in.life = down
	in.pool.list()
	in.pool.up += c.now.Sub(in.since)
	in.retireCache()
	in.wipe()
	for i := range lost {
		if !retry {
			c.done(&lost[i], c.now, Failed)
			continue
		}
		c.restart(&lost[i])
	}
	if to := in.next; to != nil {
		in.next = nil
		c.Start(to, in.after)
	}
}

// crash ends the steps under way as far as they have come: it returns how many of a run that is not over, after which its
// decodes had emitted their latest token.
func (in *Instance) crash(now Time) (n int) {
	defer func() {
		in.end, in.cold = Forever, false
		in.cluster.ends.set(in.ID, Forever)
	}()
	if in.end == Forever || in.cold {
		return 0
	}
	if n = in.ended(now); n == in.steps {
		in.commit()
		return 0
	}
	in.busy += now.Sub(in.start)
	if in.decodes == 0 {
		return 0
	}
	if begun := in.seg.Ended(now.Sub(in.start)-1) + 1; begun > 1 {
		in.take(in.set.blocksFor(1, int64(begun), &in.kv))
	}
	if n > 0 {
		in.tellOf(n)
	}
	return n
}

// lose returns every request that in has something of, in order of ID and as it is after so many steps of the run under way, and
// takes its hand-overs apart.
func (c *Cluster) lose(in *Instance, n int) (lost []Request) {
	keep := func(slot int32) {
		r := in.slab[slot]
		if r.state == decoding {
			r.Computed, r.Emitted = in.progress(&r)
			if !in.isFresh(&r) {
				r.Last = in.decode
			}
			if n > 0 {
				r.Emitted += int32(n)
				r.Last = in.start.Add(in.seg.Span(n))
			}
		}
		lost = append(lost, r)
	}
	for slot := in.head; slot != noSlot; slot = in.slab[slot].next {
		if s := in.slab[slot].state; s == prefilling || s == decoding {
			keep(slot)
		}
	}
	for _, list := range [][]int32{in.swapped, in.front, in.sorted, in.landed} {
		for _, slot := range list {
			keep(slot)
		}
	}
	in.queue.each(func(q queued) {
		if slot := q.slot(); slot == noSlot {
			lost = append(lost, *q.request())
		} else if in.slab[slot].state != gone {
			keep(slot)
		}
	})
	lost = append(lost, c.sever(in)...)
	slices.SortFunc(lost, func(a, b Request) int { return int(a.ID) - int(b.ID) })
	for i := range lost { // in order, for what is freed first elsewhere is evicted first
		if m := lost[i].move; m != 0 {
			c.cancel(m)
		}
	}
	return lost
}

// sever returns the requests that are handed over from or to in and are in no queue or batch. Those that are have lost what
// was reserved for them here.
func (c *Cluster) sever(in *Instance) (lost []Request) {
	for i := 1; i < len(c.links.moves); i++ {
		m := &c.links.moves[i]
		if m.number == 0 || m.to != in && (m.from != in || m.source == noSlot) {
			continue
		}
		if m.to == nil { // at a gate, with its blocks here
			lost = append(lost, c.ungate(c.atGate(int32(i))))
		} else if r := &m.to.slab[m.slot]; r.state == promised {
			c.disown(int32(i))
			c.cancel(int32(i))
		} else {
			lost = append(lost, *r)
		}
	}
	return lost
}

// wipe makes in empty, whatever is in it. Records stay where timers may look for them.
func (in *Instance) wipe() {
	in.spare = in.spare[:0]
	for slot := range in.slab {
		in.slab[slot] = Request{state: free}
		in.spare = append(in.spare, int32(slot))
	}
	in.running, in.prefill, in.traced, in.freed, in.hungup, in.idle = 0, in.prefill[:0], in.traced[:0], in.freed[:0], in.hungup[:0], in.idle[:0]
	in.queue, in.front, in.sorted, in.swapped, in.dead, in.again = fifo{}, in.front[:0], in.sorted[:0], in.swapped[:0], 0, 0
	clear(in.classes)
	in.repeats, in.draftSum, in.padded, in.steps, in.decodes = 0, 0, 0, 0, 0
	in.fresh, in.late, in.owed, in.long, in.ceiling = in.fresh[:0], false, 0, in.long[:0], 0
	in.handing = handing{}
	in.load, in.prompts = 0, 0
	in.empty()
}

// disown has the source of hand-over i, which has lost what was reserved for it, begin another when it has finished.
func (c *Cluster) disown(i int32) {
	for _, in := range c.instances {
		for slot := range in.slab {
			if r := &in.slab[slot]; r.move == i && (r.state == waiting || r.state == prefilling) {
				r.move = 0
			}
		}
	}
	if slot := c.atGate(i); slot != noSlot {
		c.lobby.waits[slot].move = 0
	}
}

// restart lets r, whose instance failed, begin its route again.
func (c *Cluster) restart(r *Request) {
	c.totals.Restarted++
	q := r.onTheWay()
	q.Stage, q.Computed, q.move, q.state, q.key = 0, 0, 0, free, 0
	if q.Emitted > 0 {
		q.late = Restarted
	}
	c.enter(&q)
}
