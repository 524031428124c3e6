package sim_test

import (
	"slices"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// naiveMove is a request on its way from one instance to another.
type naiveMove struct {
	number   int
	r        *naiveRequest
	stage    sim.Stage
	from, to *naiveInstance // nil: not known yet

	parked       int64 // blocks at the source
	parkedPages  []*block
	computed     int32 // tokens in them
	blocks       int64 // at the destination
	pages        []*block
	found        int32 // tokens that were there
	reserved     bool
	read         bool // the prompt has been
	sent         bool // the first layers are on their way, or there
	first, whole sim.Duration

	begin   sim.Time // of the flow that is to come; Forever: none
	flowing bool
	left    sim.Duration // work
	since   sim.Time
	share   sim.Duration // a link's rate is one by this
	last    bool         // the flow is the last one
}

func remove[T comparable](list []T, x T) []T {
	return slices.DeleteFunc(list, func(y T) bool { return x == y })
}

// stir lets an instance plan at its next step boundary, which is now if it has nothing to do.
func (in *naiveInstance) stir() {
	if in.end == sim.Forever && (in.life == "live" || in.life == "draining") {
		in.woken = true
	}
}

func (f *naiveFleet) newMove(r *naiveRequest) *naiveMove {
	m := &naiveMove{number: f.moved, r: r, stage: f.stage(r), begin: sim.Forever}
	f.moved++
	f.moves = append(f.moves, m)
	r.move = m
	return m
}

// handOver takes r, whose prompt has been read, out of the batch; its blocks stay until they have been sent.
func (n *naive) handOver(in *naiveInstance, r *naiveRequest) {
	pushed := r.move != nil
	if !pushed {
		n.newMove(r)
	}
	in.running = remove(in.running, r)
	in.sglang.forget(r)
	in.load--
	m := r.move
	m.from, m.parked, m.parkedPages = in, r.blocks, r.pages
	m.computed, m.read = r.Computed, true
	in.parked = append(in.parked, m)
	r.at, r.blocks, r.pages = nil, 0, nil
	r.want, r.decoding = 0, false
	n.cover["hand-overs"]++
	if !pushed {
		if m.stage.Push {
			n.cover["pulled for want of a push"]++
		}
		n.receiver(r).offer(gated{r, true})
		return
	}
	if m.sent && m.begin == sim.Forever && !m.flowing {
		n.lastLayer(m)
		n.cover["pushes that waited for the prompt"]++
	} else {
		n.cover["prompts that waited for a push"]++
	}
}

// expect lets an instance await r: room for its cache or, without one, just that it comes.
func (n *naive) expect(in *naiveInstance, m *naiveMove) {
	m.to = in
	if m.stage.Cache {
		in.inbound = append(in.inbound, m)
		in.stir()
		return
	}
	in.flying = append(in.flying, m)
	n.pull(m)
	n.cover["without a cache"]++
}

func (n *naive) pull(m *naiveMove) {
	m.r.Allocated = n.now
	m.left = m.stage.Link.Fixed + sim.Duration(m.computed-m.found)*m.stage.Link.Token
	m.begin, m.last = n.now.Add(m.stage.Link.Latency), true
}

// admitInbound reserves room for those who are to come, the first ones first.
func (n *naive) admitInbound(in *naiveInstance) {
	for len(in.inbound) > 0 {
		m := in.inbound[0]
		if !n.reserve(in, m) {
			n.cover["plans that keep a hand-over waiting"]++
			return
		}
		in.inbound = in.inbound[1:]
		in.flying = append(in.flying, m)
		m.reserved = true
		if m.read {
			n.pull(m)
			continue
		}
		m.r.Allocated = n.now
		link := m.stage.Link
		m.whole = link.Fixed + sim.Duration(m.r.Prompt+m.r.Emitted)*link.Token
		m.first = m.whole / sim.Duration(link.Layers) * sim.Duration(link.Layers-1)
		n.naiveFleet.pools[m.stage.Pool].offer(gated{m.r, false})
	}
}

// reserve takes the blocks of a hand-over, if it may have them.
func (n *naive) reserve(in *naiveInstance, m *naiveMove) bool {
	r := m.r
	for _, other := range in.waiting {
		if other.Emitted > 0 || other.Preemptions > 0 {
			n.cover["hand-overs behind who must come back"]++
			return false
		}
	}
	if len(in.running)+len(in.reserved()) >= n.seats {
		n.cover["hand-overs without a seat"]++
		return false
	}
	tokens := m.computed
	f := found{}
	if !m.read {
		tokens = r.Prompt + r.Emitted
	} else if in.pool != nil {
		hits := in.pool.lookup(r)
		f = found{hits: hits, more: int64(len(hits)) - idle(hits)}
	}
	need := n.needs(tokens)
	if need-f.more > in.free {
		n.cover["hand-overs without room"]++
		return false
	}
	if p, ok := n.policy.(*schedulers.Continuous); ok && p.NoEvict && !n.completes(in, r, f) {
		n.cover["hand-overs stopped by no-evict"]++
		return false
	}
	in.free -= idle(f.hits)
	if in.pool != nil {
		in.pool.touch(f.hits)
	}
	m.found = int32(len(f.hits)) * n.blockSize
	m.pages, m.blocks = slices.Clone(f.hits), need
	in.free -= need - int64(len(f.hits))
	if in.pool != nil {
		for range need - int64(len(f.hits)) {
			m.pages = append(m.pages, in.pool.allocate())
		}
	}
	n.cover["found at the destination"] += len(f.hits)
	return true
}

// reserved returns the hand-overs that have room here.
func (in *naiveInstance) reserved() []*naiveMove {
	return slices.DeleteFunc(slices.Concat(in.flying, in.landed), func(m *naiveMove) bool { return !m.reserved })
}

// land ends a hand-over but for the boarding.
func (f *naiveFleet) land(m *naiveMove) {
	r, from, to := m.r, m.from, m.to
	f.unpark(m)
	from.stir()
	m.from = nil
	f.moves = remove(f.moves, m)
	to.flying = remove(to.flying, m)
	f.counts.Transfers++
	r.Transferred = f.now
	if m.stage.Cache {
		f.counts.TransferredTokens += int64(m.computed - m.found)
		to.landed = append(to.landed, m)
		to.stir()
		return
	}
	r.move, r.known, r.noticed = nil, false, false
	r.Computed, r.prefill = 0, 0
	r.Stage++
	to.of.join(to, r)
}

// unpark frees the blocks of a hand-over at its source, as those of a request that ends.
func (f *naiveFleet) unpark(m *naiveMove) {
	in, r := m.from, m.r
	in.parked = remove(in.parked, m)
	in.sglang.full = false
	held, pages := r.blocks, r.pages
	r.blocks, r.pages = m.parked, m.parkedPages
	in.of.release(in, r, m.computed)
	if in.pool != nil {
		in.pool.disown(r)
	}
	r.blocks, r.pages = held, pages
}

// board seats those who have landed.
func (n *naive) board(in *naiveInstance) {
	for len(in.landed) > 0 && len(in.running) < n.seats {
		m := in.landed[0]
		in.landed = in.landed[1:]
		r := m.r
		r.move, r.at = nil, in
		r.blocks, r.pages = m.blocks, m.pages
		r.Computed, r.prefill = m.computed, m.computed
		r.Stage++
		if n.order != nil {
			r.key = n.order.Key(&r.Request)
		}
		in.running = append(in.running, r)
		r.decoding = true
		switch {
		case r.known && n.recomputes:
			r.Computed--
			r.prefill--
			r.decoding = false
			n.cover["last tokens computed again"]++
		case r.known:
			n.emit(r, 1)
			n.cover["tokens emitted at boarding"]++
		default:
			r.cause = "moved"
		}
		r.known = false
		if in.pool != nil {
			in.pool.cache(r, r.Computed)
		}
		n.leaves(in)
	}
	if len(in.landed) > 0 {
		n.cover["landed without a seat"]++
	}
}

// drop forgets the hand-over of r, wherever it is.
func (f *naiveFleet) drop(r *naiveRequest) {
	m := r.move
	r.move = nil
	f.stop(m)
	f.moves = remove(f.moves, m)
	if in := m.to; in != nil {
		in.load--
		for what, list := range map[string]*[]*naiveMove{"inbound": &in.inbound, "flying": &in.flying, "landed": &in.landed} {
			if slices.Contains(*list, m) {
				*list = remove(*list, m)
				f.cover["dropped while "+what]++
			}
		}
		if m.reserved {
			r.blocks, m.blocks = m.blocks, r.blocks
			r.pages, m.pages = m.pages, r.pages
			in.of.unreserve(in, r)
			r.blocks, m.blocks = m.blocks, r.blocks
			r.pages, m.pages = m.pages, r.pages
		}
		in.stir()
	}
	if m.read && m.from != nil {
		f.unpark(m)
		m.from.stir()
	}
}

// unreserve frees blocks to which nothing has been written yet.
func (n *naive) unreserve(in *naiveInstance, r *naiveRequest) {
	in.free += r.blocks
	in.sglang.full = false
	if in.pool != nil {
		in.pool.release(r.pages)
		in.free = int64(in.pool.free.Len())
	}
}
