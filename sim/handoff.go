package sim

// A request that has been served by one pool is handed to the next: its blocks stay where they are, parked, until the next
// instance has reserved as many and received what is in them. Who waits for that fills up the cache of its source, which
// is how a full pool throttles the one before it. Nothing is dropped.
//
// vLLM's NIXL connector pulls so (vllm/distributed/kv_transfer/kv_connector/v1/nixl_connector.py); SGLang's decode side
// reserves first, and its prefill side pushes.

// handing is what an instance knows of hand-overs.
type handing struct {
	parked    int     // requests that wait to be received elsewhere
	inbound   []int32 // slots of those that wait for room here
	promised  int     // that have it, and are computed elsewhere
	flying    int     // that have it, or need none, and are on their way
	bare      int     // of those, that need none: they come without a cache
	landed    []int32 // slots of those that wait for a seat
	back      int     // requests in the queue that had been in a batch before
	sending   int32   // transfers at either port
	receiving int32
}

// outside returns how many requests have blocks here and are in neither queue nor batch.
func (in *Instance) outside() int { return in.parked + in.promised + in.flying + len(in.landed) }

// Incoming returns how many requests are handed over to in and wait for room or for a seat.
func (in *Instance) Incoming() int { return len(in.inbound) + len(in.landed) }

// again reports whether r, which waits, had been in a batch before.
func (r *Request) again() bool { return r.Emitted > 0 || r.Preemptions > 0 }

// park takes the request in slot, whose prompt is complete, out of the batch, and hands it over.
func (in *Instance) park(slot int32, s *Stage) {
	c, r := in.cluster, &in.slab[slot]
	in.unlink(slot)
	in.charge(r, -1)
	r.state, r.PendingTransfer = parked, c.now
	in.parked++
	in.ceiling += int64(r.held) // what it holds is nobody's promise any more
	if r.move == 0 {
		r.move = c.links.add(move{from: in, source: slot, slot: noSlot, stage: s})
		q := r.onTheWay()
		c.pass(c.pools[c.routes[r.Route][r.Stage+1].Pool], &q)
		return
	}
	m := &c.links.moves[r.move]
	m.source = slot
	m.to.fly(m.slot, r.onTheWay())
	if m.sent {
		c.links.begin(r.move, c.now, m.rest)
	}
}

// onTheWay returns r as the next instance receives it.
func (r *Request) onTheWay() Request {
	q := *r
	q.held, q.reserved, q.shared, q.pieces, q.own, q.chunk = 0, 0, 0, 0, 0, 0
	return q
}

// reserve begins a hand-over at its far end: r enters the pool of its stage when the next one has room for it.
func (c *Cluster) reserve(r *Request) {
	s := c.stage(r)
	r.move = c.links.add(move{source: noSlot, slot: noSlot, stage: s, push: true})
	c.pass(c.pools[c.routes[r.Route][r.Stage+1].Pool], r)
}

// pass brings r, which is handed over, to an instance of p, the pool of its next stage.
func (c *Cluster) pass(p *Pool, r *Request) {
	if len(p.instances) == 0 {
		c.hold(p, r)
		return
	}
	in, m := p.Router.Route(c.now, r, p), &c.links.moves[r.move]
	in.charge(r, 1)
	slot := in.record()
	in.slab[slot] = *r
	m.to, m.slot = in, slot
	in.slab[slot].state = inbound
	in.watch(slot)
	if !m.stage.Cache {
		in.slab[slot].Allocated, in.slab[slot].state = c.now, flying
		in.flying++
		in.bare++
		c.depart(r.move, r.Computed)
		return
	}
	in.inbound = append(in.inbound, slot)
	in.stir(c.now)
}

// depart sends the cache of so many tokens.
func (c *Cluster) depart(i int32, tokens int32) {
	m := &c.links.moves[i]
	m.tokens = tokens
	c.links.begin(i, c.now.Add(m.stage.Link.Latency), m.stage.Link.Fixed+Duration(tokens)*m.stage.Link.Token)
}

// watch sets the timer of the request in slot, if its client may hang up.
func (in *Instance) watch(slot int32) {
	if r := &in.slab[slot]; r.Deadline != 0 {
		in.cluster.timers.push(timer{at: r.Deadline, id: r.ID, instance: in.ID, slot: slot})
	}
}

// stir has in planned at the next boundary from now on.
func (in *Instance) stir(now Time) {
	if in.end == Forever {
		in.cluster.wake(in)
		return
	}
	in.cut(in.open(now), 0)
}

// land ends hand-over i: its source frees what is parked, and its destination has the request.
func (c *Cluster) land(i int32) {
	m := c.links.moves[i]
	c.links.free(i)
	m.from.unpark(m.source)
	r := &m.to.slab[m.slot]
	r.move, r.Transferred = 0, c.now
	r.Stage++
	m.to.flying--
	c.totals.Transfers++
	if c.mover != nil {
		c.mover.Transferred(m.from, m.to, r)
	}
	if !m.stage.Cache {
		q := *r
		q.Computed = 0
		m.to.bare--
		m.to.forget(m.slot)
		m.to.enqueue(c.now, &q)
		return
	}
	c.totals.TransferredTokens += int64(m.tokens)
	r.state = landed
	m.to.landed = append(m.to.landed, m.slot)
	m.to.stir(c.now)
}

// unpark frees what the request in slot, which has been received elsewhere or ended, holds here.
func (in *Instance) unpark(slot int32) {
	in.parked--
	in.ceiling -= int64(in.slab[slot].held)
	in.discard(slot)
	in.stir(in.cluster.now)
}

// discard frees the blocks of the request in slot, which is in neither queue nor batch, and its record.
func (in *Instance) discard(slot int32) {
	if r := &in.slab[slot]; r.OutputContent != 0 && in.prefix != nil {
		in.prefix.publish(r, r.Computed)
	}
	in.drain(slot)
}

// drain frees the blocks of the request in slot, whether something is in them or not, and its record.
func (in *Instance) drain(slot int32) {
	r := &in.slab[slot]
	in.left++
	in.mark()
	if in.prefix == nil {
		in.kv.release(int64(r.held))
	} else {
		in.prefix.release(r, slot, int64(r.held), r.Computed, false)
	}
	in.forget(slot)
}

// mark notes the use of the cache before something is freed during a run of steps, whose blocks are taken at its end.
func (in *Instance) mark() {
	if in.end == Forever || in.cold || in.steps == 1 || in.decodes == 0 {
		return
	}
	begun := min(in.seg.Ended(in.cluster.now.Sub(in.start)-1)+1, in.steps)
	if begun > 1 {
		in.kv.low = min(in.kv.low, in.kv.free-in.set.blocksFor(1, int64(begun), &in.kv))
	}
}

// cancel ends hand-over i of a request that has ended, or starts again: both ends free what they hold for it. A record
// that is in a queue or a batch stays there.
func (c *Cluster) cancel(i int32) {
	c.links.end(i, c.now)
	m := c.links.moves[i]
	c.links.free(i)
	if m.source != noSlot {
		m.from.unpark(m.source)
	}
	if m.to == nil {
		return
	}
	in, r := m.to, &m.to.slab[m.slot]
	in.charge(r, -1)
	switch r.state {
	case inbound:
		in.inbound = without(in.inbound, m.slot)
		in.forget(m.slot)
	case promised:
		in.promised--
		in.unreserve(m.slot)
	case flying:
		in.flying--
		in.unreserve(m.slot)
	}
	in.stir(c.now)
}
