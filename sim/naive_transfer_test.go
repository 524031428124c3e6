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

	pending        int64 // blocks at the source
	pendingPages   []*block
	pendingWindows [][]*block
	computed       int32 // tokens in them
	blocks         int64 // at the destination
	pages          []*block
	found          int32 // tokens that were there
	reserved       bool
	read           bool // the prompt has been
	sent           bool // the first layers are on their way, or there
	first, whole   sim.Duration

	begin    sim.Time // of the flow that is to come; Forever: none
	flowing  bool
	left     sim.Duration // work
	since    sim.Time
	rate     uint64 // of whole
	ends     sim.Time
	last     bool // the flow is the last one
	noticed  bool // it had arrived when a step began
	polled   bool // the engine knows that it has arrived
	accepted bool // and it has a place in the next step
	restored bool // it has come from host memory
	load     int  // its place in the order in which loads began
	host     bool // from host memory
	was      found
	fetch    bool // from a tier of the destination
	write    bool // to a tier of the source, for no request
	tier     int
}

func remove[T comparable](list []T, x T) []T {
	return slices.DeleteFunc(list, func(y T) bool { return x == y })
}

// wake lets an instance plan at its next step boundary, which is now if it has nothing to do.
func (in *naiveInstance) wake() {
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

// beginTransfer takes r, whose prompt has been read, out of the batch; its blocks stay until they have been sent.
func (n *naive) beginTransfer(in *naiveInstance, r *naiveRequest) {
	pushed := r.move != nil
	if !pushed {
		n.newMove(r)
	}
	if n.sendsUnseen() { // its place in the batch stays until then
		ghost := *r
		ghost.ghost, ghost.removed = true, true
		ghost.stopped, ghost.decoding = true, true
		ghost.outcome, ghost.blocks, ghost.want = "completed", 0, 0
		ghost.pages, ghost.windows = nil, nil
		in.running[slices.Index(in.running, r)] = &ghost
	} else {
		in.running = remove(in.running, r)
	}
	in.sglang.forget(r)
	in.load--
	m := r.move
	m.from, m.pending = in, n.has(r)
	m.pendingPages, m.pendingWindows = r.pages, r.windows
	m.computed, m.read = r.Computed, true
	in.pending = append(in.pending, m)
	r.at, r.blocks = nil, 0
	r.pages, r.windows = nil, nil
	r.passed, r.underWay = 0, 0
	r.want, r.decoding = 0, false
	n.cover["KV transfers"]++
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
		m.noticed = false
		in.inbound = append(in.inbound, m)
		if n.loads && n.order != nil {
			m.r.key = n.order.Key(&m.r.Request)
			slices.SortStableFunc(in.inbound, func(a, b *naiveMove) int { return inOrder(a.r, b.r) })
		}
		in.wake()
		return
	}
	in.transferring = append(in.transferring, m)
	n.pull(m)
	n.cover["without a cache"]++
}

func (n *naive) pull(m *naiveMove) {
	m.r.Allocated = n.now
	m.left = wholeWork(m.stage.Link, m.computed-m.found)
	m.begin, m.last = n.now.Add(m.stage.Link.Latency), true
}

// wholeWork is what a transfer takes, token by token: the last ones of a window have more to send.
func wholeWork(l sim.Link, tokens int32) sim.Duration {
	work := l.Fixed
	for i := range tokens {
		work += l.Token
		if i >= tokens-l.Window {
			work += l.Windowed
		}
	}
	return work
}

// admitInbound reserves room for incoming transfers, the first ones first.
func (n *naive) admitInbound(in *naiveInstance) { n.admitBefore(in, nil) }

// admitBefore does so for those that stand before another request in the queue; nil is its end.
func (n *naive) admitBefore(in *naiveInstance, before *naiveRequest) {
	for len(in.inbound) > 0 && (before == nil || inOrder(in.inbound[0].r, before) < 0) {
		m := in.inbound[0]
		if !n.reserve(in, m) {
			n.cover["plans that keep a KV transfer waiting"]++
			return
		}
		in.inbound = in.inbound[1:]
		m.load = in.loaded
		in.loaded++
		in.transferring = append(in.transferring, m)
		m.reserved = true
		if m.read {
			n.pull(m)
			continue
		}
		m.r.Allocated = n.now
		link := m.stage.Link
		m.whole = wholeWork(link, m.r.Prompt+m.r.Emitted)
		m.first = m.whole / sim.Duration(link.Layers) * sim.Duration(link.Layers-1)
		n.naiveFleet.pools[m.stage.Pool].offer(gated{m.r, false})
	}
}

// reserve takes the blocks of a KV transfer, if it may have them.
func (n *naive) reserve(in *naiveInstance, m *naiveMove) bool {
	r := m.r
	if ordered := n.loads && n.order != nil; !ordered && n.resuming(in) != in.loading.resumes {
		n.cover["KV transfers behind swapped requests"]++
		return false
	}
	taken := in.runs() + in.loading.resumes
	if !n.loads {
		taken += len(in.reserved())
	} else if taken < n.maxNumSeqs && taken+len(in.reserved()) >= n.maxNumSeqs {
		n.cover["loads of more than may run"]++
	}
	if taken >= n.maxNumSeqs+n.leavesFree().Slots {
		n.cover["KV transfers without a free sequence"]++
		return false
	}
	tokens := m.computed
	f := found{}
	if !m.read {
		tokens = r.Prompt + r.Emitted
	} else if in.pool != nil {
		hits, _ := in.pool.lookup(r)
		f = found{hits: hits, more: int64(len(hits)) - idle(hits)}
	}
	need := n.needs(tokens)
	if need-f.more > in.free {
		n.cover["KV transfers without room"]++
		return false
	}
	if n.loads && !n.mayLoad(in, r, need, f.more) || n.leavesTooFew(in, r, need-f.more) {
		return false
	}
	if p, ok := n.policy.(*schedulers.Continuous); ok && p.NoEvict && !n.completes(in, r, f) {
		n.cover["KV transfers stopped by no-evict"]++
		return false
	}
	in.free -= idle(f.hits)
	if in.pool != nil {
		in.pool.touch(f.hits)
	}
	m.found = int32(len(f.hits)) * n.blockSize
	m.pages, m.blocks = slices.Clone(f.hits), need
	in.free -= need - int64(len(f.hits))
	n.peak = max(n.peak, n.blocks-in.free) // it may leave before a step of it begins
	if in.pool != nil {
		for range need - int64(len(f.hits)) {
			m.pages = append(m.pages, in.pool.allocate())
		}
	}
	n.cover["cached at the destination"] += len(f.hits)
	return true
}

// resuming returns how many requests wait that have run before.
func (n *naive) resuming(in *naiveInstance) (count int) {
	for _, r := range in.waiting {
		if r.Emitted > 0 || r.Preemptions > 0 {
			count++
		}
	}
	return count
}

// reserved returns the KV transfers that have room here.
func (in *naiveInstance) reserved() []*naiveMove {
	return slices.DeleteFunc(slices.Concat(in.transferring, in.arrived), func(m *naiveMove) bool { return !m.reserved })
}

// land ends a KV transfer but for the admission.
func (f *naiveFleet) land(m *naiveMove) {
	r, from, to := m.r, m.from, m.to
	ghost := func(x *naiveRequest) bool { return x.ghost && x.ID == r.ID }
	if from.of.sendsUnseen() && (from.end != sim.Forever || slices.ContainsFunc(from.running, ghost)) {
		q, copied := *r, *m
		copied.r = &q
		from.pending[slices.Index(from.pending, m)] = &copied
		from.sent = append(from.sent, &copied)
	} else {
		f.releaseSource(m)
	}
	from.wake()
	m.from = nil
	f.moves = remove(f.moves, m)
	to.transferring = remove(to.transferring, m)
	f.counts.Transfers++
	r.Transferred = f.now
	if m.stage.Cache {
		f.counts.TransferredTokens += int64(m.computed - m.found)
		m.noticed = false
		to.arrived = append(to.arrived, m)
		to.of.sortUnpolled(to)
		if to.of.loads {
			to.of.sortLoaded(to)
		}
		to.wake()
		return
	}
	r.move, r.known, r.noticed = nil, false, false
	r.Computed, r.prefill = 0, 0
	r.Stage++
	r.at = to
	to.of.queuesUp(to, r)
}

// releaseSource frees the blocks of a KV transfer at its source, as those of a request that ends.
func (f *naiveFleet) releaseSource(m *naiveMove) {
	in, r := m.from, m.r
	in.pending = remove(in.pending, m)
	in.sglang.full = false
	allocated, pages := r.blocks, r.pages
	r.blocks, r.pages, r.windows = m.pending, m.pendingPages, m.pendingWindows
	if in.pool != nil && r.known { // the token after the prompt, which is not emitted here
		in.pool.name(r, m.computed, r.Prompt+r.Emitted+1)
	}
	in.of.release(in, r, m.computed)
	if in.pool != nil {
		in.pool.disown(r, 0)
	}
	r.disownTree()
	r.blocks, r.pages = allocated, pages
}

// admitTransferred admits the requests whose KV has arrived.
func (n *naive) admitTransferred(in *naiveInstance) {
	places := n.poll(in)
	for len(in.arrived) > 0 && in.runs() < n.maxNumSeqs {
		if n.leavesFree().Tokens > 0 && (places <= 0 || !in.arrived[0].polled) {
			break
		}
		places--
		r := n.enterTransferred(in, in.arrived[0])
		if r.outcome != "" { // with the token that came along
			r.removed = true
			in.load--
			in.running = remove(in.running, r)
			n.release(in, r, r.Computed)
			in.sglang.forget(r)
			in.departed = true
		}
	}
	if len(in.arrived) > 0 {
		n.cover["transferred without a free sequence"]++
	}
}

// enterTransferred admits a request whose KV has arrived.
func (n *naive) enterTransferred(in *naiveInstance, m *naiveMove) *naiveRequest {
	in.arrived = remove(in.arrived, m)
	r := m.r
	r.move, r.at = nil, in
	r.blocks, r.pages = m.blocks, m.pages
	r.Computed, r.prefill = m.computed, m.computed
	if !m.restored {
		r.Stage++
	}
	if n.order != nil {
		r.key = n.order.Key(&r.Request)
	}
	in.enlist(r)
	if !m.accepted {
		in.sglang.place([]*naiveRequest{r}, false)
	}
	r.decoding = true
	switch {
	case r.known && (n.recomputes || n.loads):
		r.Computed--
		r.prefill--
		r.decoding = false
		n.cover["last tokens computed again"]++
	case r.known:
		n.emit(r, 1)
		n.cover["tokens emitted at admission"]++
	case !m.restored && r.tokens[len(r.tokens)-1] < n.now: // else it took no time
		r.cause = "moved"
	}
	r.known = false
	if in.pool != nil {
		in.pool.cache(r, r.Computed)
	}
	r.latest, r.hoped = 0, 0
	return r
}

// drop forgets the KV transfer of r, wherever it is.
func (f *naiveFleet) drop(r *naiveRequest) {
	m := r.move
	r.move = nil
	f.stop(m)
	f.moves = remove(f.moves, m)
	if in := m.to; in != nil {
		in.load--
		for what, list := range map[string]*[]*naiveMove{"inbound": &in.inbound, "transferring": &in.transferring,
			"transferred": &in.arrived} {
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
		in.wake()
	}
	if m.read && m.from != nil {
		f.releaseSource(m)
		m.from.wake()
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
