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
	r.state, r.Parked = parked, c.now
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
		in.slab[slot].Reserved, in.slab[slot].state = c.now, flying
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
	in.cut(now, 0)
}

// pull reserves room for those who wait to be received, in order, in what the step leaves. Nobody overtakes a request of
// this instance that waits to be computed again.
func (in *Instance) pull(w *Work) {
	for len(in.inbound) > 0 && in.back == 0 && in.running+in.promised+in.flying-in.bare+len(in.landed) < in.pool.Seats {
		slot := in.inbound[0]
		r := &in.slab[slot]
		m := &in.cluster.links.moves[r.move]
		tokens := r.Computed
		if w.found, w.idle = 0, 0; m.push {
			tokens = r.Prompt + r.Emitted
		} else {
			w.Cached(r)
		}
		found, idle := w.found, w.idle
		w.found, w.idle, w.beyond = 0, 0, 0
		blocks := in.kv.Blocks(tokens)
		if blocks-int64(found-idle) > w.Room() || in.breaksPromise(r, w, int64(found-idle)) {
			return
		}
		in.inbound = append(in.inbound[:0], in.inbound[1:]...)
		if found > 0 {
			in.repeats += int64(found - idle)
			in.kv.take(int64(idle))
			in.prefix.hold(r, found)
		}
		in.take(blocks - int64(found))
		in.promise(r, 1)
		r.held, r.Reserved = int32(blocks), w.now
		in.accept(slot, m, tokens-found*in.kv.size)
	}
}

// breaksPromise reports whether whoever runs could no longer emit as much as it may if r came too.
func (in *Instance) breaksPromise(r *Request, w *Work, shared int64) bool {
	return in.keeps&KeepPromised != 0 && in.kv.Blocks(r.Prompt+r.Limit())-shared > w.Room()-w.Promised()
}

// accept lets the request in slot, for which there is room now, come: its cache, or first of all whoever computes it.
func (in *Instance) accept(slot int32, m *move, tokens int32) {
	c, r := in.cluster, &in.slab[slot]
	if !m.push {
		r.state = flying
		in.flying++
		c.depart(r.move, tokens)
		return
	}
	r.state = promised
	in.promised++
	work := m.stage.Link.Fixed + Duration(tokens)*m.stage.Link.Token
	layers := Duration(m.stage.Link.Layers)
	m.left = work / layers * (layers - 1)
	m.rest = work - m.left
	q := *r
	q.held = 0
	c.send(c.pools[c.routes[q.Route][q.Stage].Pool], &q)
}

// push sends the layers of the prompts of which the step that begins at now computes the first chunk.
func (in *Instance) push(now Time) {
	for _, slot := range in.prefill {
		r := &in.slab[slot]
		if r.move == 0 || r.chunk == 0 {
			continue
		}
		if m := &in.cluster.links.moves[r.move]; !m.begun {
			m.begun, m.from = true, in
			in.cluster.links.begin(r.move, now.Add(m.stage.Link.Latency), m.left)
		}
	}
}

// fly makes the request in slot, computed elsewhere meanwhile, one that is on its way.
func (in *Instance) fly(slot int32, q Request) {
	r := &in.slab[slot]
	q.held, q.Reserved = r.held, r.Reserved
	*r = q
	r.state = flying
	in.promised--
	in.flying++
	in.watch(slot)
}

// land ends hand-over i: its source frees what is parked, and its destination has the request.
func (c *Cluster) land(i int32) {
	m := c.links.moves[i]
	c.links.free(i)
	m.from.unpark(m.source)
	r := &m.to.slab[m.slot]
	r.move, r.Landed = 0, c.now
	r.Stage++
	m.to.flying--
	c.totals.Moved++
	if c.mover != nil {
		c.mover.Landed(m.from, m.to, r)
	}
	if !m.stage.Cache {
		q := *r
		q.Computed = 0
		m.to.bare--
		m.to.forget(m.slot)
		m.to.enqueue(c.now, &q)
		return
	}
	c.totals.MovedTokens += int64(r.Computed)
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
	if r := &in.slab[slot]; r.Answer != 0 && in.prefix != nil {
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

// board lets those who have landed into the batch, as far as there are seats.
func (in *Instance) board(now Time) {
	for len(in.landed) > 0 && in.running < in.pool.Seats {
		slot := in.landed[0]
		in.landed = append(in.landed[:0], in.landed[1:]...)
		r := &in.slab[slot]
		in.promise(r, -1)
		if in.pool.Order != nil {
			r.key = in.pool.Order.Key(r)
		}
		in.link(slot)
		r.Boarded = now
		in.enterBatch(slot, now)
	}
}

// enterBatch makes the request in slot a member of the decode set, or of the prompts of which a token is left. The token
// that its source computed and did not emit comes now.
func (in *Instance) enterBatch(slot int32, now Time) {
	r := &in.slab[slot]
	withheld := r.Computed == r.Prompt+r.Emitted
	again := withheld && in.pool.Recompute
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
		r.late = Moved
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

// unreserve frees what has been reserved for the request in slot, if anything.
func (in *Instance) unreserve(slot int32) {
	r := &in.slab[slot]
	if r.held == 0 { // it comes without a cache
		in.bare--
		in.forget(slot)
		return
	}
	in.promise(r, -1)
	in.drain(slot)
}
