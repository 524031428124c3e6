package sim

// pull reserves room for those who wait to be received, in order, in what the step leaves. Nobody overtakes a request of
// this instance that waits to be computed again.
func (in *Instance) pull(w *Work) {
	for len(in.inbound) > 0 && in.back == 0 && in.running+in.promised+in.flying-in.bare+len(in.landed) < in.pool.MaxNumSeqs {
		slot := in.inbound[0]
		r := &in.slab[slot]
		m := &in.cluster.links.moves[r.move]
		tokens := r.Computed
		if w.found, w.idle = 0, 0; m.push {
			tokens = r.Prompt + r.Emitted
		} else {
			w.CachedTokens(r)
		}
		found, idle := w.found, w.idle
		w.found, w.idle, w.beyond = 0, 0, 0
		blocks := in.kv.Blocks(tokens)
		if blocks-int64(found-idle) > w.FreeBlocks() || in.breaksPromise(r, w, int64(found-idle)) {
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
		r.held, r.Allocated = int32(blocks), w.now
		in.accept(slot, m, tokens-found*in.kv.size)
	}
}

// breaksPromise reports whether whoever runs could no longer emit as much as it may if r came too.
func (in *Instance) breaksPromise(r *Request, w *Work, shared int64) bool {
	return in.keeps&CountCommitted != 0 && in.kv.Blocks(r.Prompt+r.Limit())-shared > w.FreeBlocks()-w.CommittedBlocks()
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
	m.tokens = tokens
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
	q.held, q.Allocated = r.held, r.Allocated
	*r = q
	r.state = flying
	in.promised--
	in.flying++
	in.watch(slot)
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
