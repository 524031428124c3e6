package sim

import "slices"

// A client that hangs up (time-out, cancellation) leaves at its deadline. The engine learns of it between steps: until
// the boundary at or after the deadline the sequence keeps its place in the batch and its blocks, as in an engine that
// aborts requests between steps, but tokens of that boundary reach nobody.

// timer is the deadline of a request. It is void once the request has ended.
type timer struct {
	at       Time
	id       int32
	instance int32
	slot     int32
}

func (t *timer) before(u *timer) bool { return t.at < u.at || t.at == u.at && t.id < u.id }

// timers is a binary min-heap of deadlines.
type timers []timer

func (h *timers) push(t timer) {
	*h = append(*h, t)
	q, i := *h, len(*h)-1
	for i > 0 {
		p := (i - 1) / 2
		if !q[i].before(&q[p]) {
			break
		}
		q[i], q[p] = q[p], q[i]
		i = p
	}
}

func (h *timers) pop() timer {
	q := *h
	top, n := q[0], len(q)-1
	q[0] = q[n]
	q = q[:n]
	*h = q
	for i := 0; ; {
		c := 2*i + 1
		if c >= n {
			break
		}
		if c+1 < n && q[c+1].before(&q[c]) {
			c++
		}
		if !q[c].before(&q[i]) {
			break
		}
		q[i], q[c] = q[c], q[i]
		i = c
	}
	return top
}

// hangup returns the earliest deadline of a request that has not ended. It drops void ones: they are no events, and a
// run must not last until them.
func (c *Cluster) hangup() Time {
	for len(c.timers) > 0 {
		if t := &c.timers[0]; c.waits(t) {
			return t.at
		}
		c.timers.pop()
	}
	return Forever
}

// waits reports whether t is not void.
func (c *Cluster) waits(t *timer) bool {
	if t.instance == noSlot {
		w := &c.lobby.waits[t.slot]
		return w.pool != nil && w.ID == t.id
	}
	r := &c.instances[t.instance].slab[t.slot]
	return r.ID == t.id && r.state != free && r.state != idle && r.state != parked && r.state != promised
}

// leave ends the request of t for its client.
func (c *Cluster) leave(t timer) {
	if t.instance != noSlot {
		c.instances[t.instance].hangup(t)
		return
	}
	r := c.ungate(t.slot)
	c.done(&r, t.at, Failed)
	if r.move != 0 {
		c.cancel(r.move)
	}
}

// hangup ends the request of t for its client.
func (in *Instance) hangup(t timer) {
	r := &in.slab[t.slot]
	switch r.state {
	case waiting, swappedOut:
		in.cluster.done(r, t.at, Failed)
		in.charge(r, -1)
		in.dismiss(r)
		if r.state == swappedOut {
			in.unswap(t.slot)
		} else {
			in.unqueue(t.slot)
		}
		in.stir(t.at) // whoever waited behind it may fit
	case inbound, flying:
		in.cluster.done(r, t.at, Failed)
		in.cluster.cancel(r.move)
	case landed:
		in.cluster.done(r, t.at, Failed)
		in.charge(r, -1)
		in.landed = without(in.landed, t.slot)
		in.promise(r, -1)
		in.drain(t.slot)
		in.stir(t.at)
	case prefilling:
		r.state = leavingPrefill
		in.hungup = append(in.hungup, t.slot)
		in.cluster.done(r, t.at, Failed)
		in.dismiss(r)
		if in.end == Forever { // no step will end that it could leave with: it waited for room
			in.drop(t.at)
			if len(in.freed) > 0 {
				in.free()
			}
			in.stir(t.at)
		}
	case decoding:
		r.state = leavingDecode
		in.hungup = append(in.hungup, t.slot)
		in.shown = *r // what the client saw: not the boundary at the deadline itself
		if _, in.shown.Emitted = in.progress(r); in.decodes > 0 {
			in.shown.Emitted += int32(in.seg.Ended(t.at.Sub(in.start) - 1))
		}
		in.cluster.done(&in.shown, t.at, Failed)
		in.cut(t.at, 0)
	}
}

// dismiss frees what is reserved elsewhere for r, which has ended.
func (in *Instance) dismiss(r *Request) {
	if r.move != 0 {
		in.cluster.cancel(r.move)
		r.move = 0
	}
}

// unswap frees the host memory of the request in slot, whose client has hung up.
func (in *Instance) unswap(slot int32) {
	in.host += in.holding(&in.slab[slot])
	i := slices.Index(in.swapped, slot)
	in.swapped = slices.Delete(in.swapped, i, i+1)
	in.forget(slot)
}

// drop frees what the requests whose clients hung up still hold. In a static batch their rows stay.
func (in *Instance) drop(now Time) {
	for _, slot := range in.hungup {
		r := &in.slab[slot]
		prefilled := r.state == leavingPrefill
		ended := !prefilled && r.finish <= in.set.step // with the step just taken; see retire
		if prefilled {
			i := slices.Index(in.prefill, slot)
			in.prefill = slices.Delete(in.prefill, i, i+1)
			if in.padded > 0 {
				in.join(slot)
			}
		}
		if r.state != leavingPrefill && !ended { // a padded prompt has joined
			if !in.set.walked {
				in.set.ends.remove(slot)
			}
			in.untrace(r, slot)
		}
		in.charge(r, -1)
		switch {
		case in.padded > 0 && !ended:
			r.state = leavingDecode
			in.rest(slot, now)
		case in.padded > 0:
		default:
			in.dropFrom(slot, r, ended)
		}
	}
	in.hungup = in.hungup[:0]
}

// dropFrom takes the request in slot out of the batch.
func (in *Instance) dropFrom(slot int32, r *Request, ended bool) {
	if r.state == leavingDecode && !ended {
		in.leave(slot)
	}
	if !ended {
		in.vacate(slot)
	}
	in.unlink(slot)
	in.forget(slot)
}

// leaving returns how many of the decoding sequences have lost their client.
func (in *Instance) leaving() int {
	n := 0
	for _, slot := range in.hungup {
		if in.slab[slot].state == leavingDecode {
			n++
		}
	}
	return n
}
