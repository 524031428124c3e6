package sim_test

import (
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// settleLoads lets blocks come back from host memory beside steps in most pools that may do so; how fast follows from
// what was drawn.
func (sc *scenario) settleLoads() {
	sc.loadLink = sim.Link{}
	p, ok := sc.policy.(*schedulers.Continuous)
	n := int64(len(sc.requests)) + sc.blocks + sc.offload
	if !ok || p.Reserve != schedulers.AsComputed || p.NoEvict || p.BatchWaitIters > 0 || sc.offload == 0 ||
		sc.tree == nil && len(sc.requests) > 0 || sc.uncached || sc.maxNumSeqs > 0 || len(sc.stages) > 1 ||
		sc.speculation != nil || sc.passing.Blocks > 0 || sc.adapters.Slots > 0 || n%7 == 0 || sc.recvInterval() > 1 {
		return
	}
	sc.loads = true
	sc.loadLink = sim.Link{Fixed: sim.Duration(n%2) * sim.Millisecond,
		Token: []sim.Duration{1, sim.Microsecond, 2 * sim.Millisecond, 20 * sim.Millisecond, 90 * sim.Millisecond}[n%5]}
}

// loadsHead begins to load what host memory has of the head of the queue, if there is room. It reports whether there is
// something, and whether that has begun.
func (n *naive) loadsHead(in *naiveInstance, p *schedulers.Continuous) (some, begun bool) {
	r := n.head(in)
	if n.loadLink == (sim.Link{}) || r == nil {
		return false, false
	}
	f := n.lookup(in, r)
	if f.loads == 0 {
		return false, false
	}
	leaves, need := *p, n.needs(f.tokens)
	leaves.LoadsReserve = true
	in.loading = naiveLoading{allowed: true, policy: &leaves}
	fits := n.mayLoad(in, r, need, f.more)
	in.loading = naiveLoading{}
	if !fits {
		n.cover["loads from host memory that lack blocks"]++
		return true, false
	}
	n.dequeue(in, r)
	n.take(in, r, f)
	in.free -= need - r.blocks
	for range need - r.blocks {
		r.pages = append(r.pages, in.pool.allocate())
	}
	n.peak = max(n.peak, n.blocks-in.free)
	m := &naiveMove{number: n.moved, r: r, to: in, host: true, computed: f.tokens, blocks: need, pages: r.pages,
		was: f, load: in.loaded, reserved: true}
	n.moved++
	in.loaded++
	r.pages, r.blocks, r.host = nil, 0, m
	in.transferring = append(in.transferring, m)
	n.moves = append(n.moves, m)
	m.begin, m.left = max(n.now, in.copies), wholeWork(n.loadLink, f.loads*n.blockSize)
	if m.begin > n.now {
		n.cover["loads from host memory behind others"]++
	}
	in.copies = m.begin.Add(m.left)
	n.loaded += int64(f.loads * n.blockSize)
	n.cover["loads from host memory"]++
	if len(in.running) > 0 {
		n.cover["loads from host memory beside steps"]++
	}
	if r.Preemptions > 0 {
		n.cover["loads from host memory after a preemption"]++
	}
	return true, true
}

// landHost ends a load from host memory.
func (f *naiveFleet) landHost(m *naiveMove) {
	f.moves = remove(f.moves, m)
	in := m.to
	in.transferring = remove(in.transferring, m)
	m.noticed = false
	in.arrived = append(in.arrived, m)
	in.of.sortLoaded(in)
	in.wake()
}

// joinHost admits one that has come from host memory, and returns what is left of the budget, and whether it joins.
func (n *naive) joinHost(in *naiveInstance, p *schedulers.Continuous, m *naiveMove, budget int32) (int32, bool) {
	m.find(in)
	r, room := m.r, budget-p.DraftSlots
	whole := r.Prompt + r.Emitted
	want := n.chunkOf(p, whole-m.computed, room)
	if p.Unchunked {
		want = whole - m.computed
		single := len(in.running) == len(decodes(in.running)) && r.Preemptions+r.Emitted > 0
		if want > room && !single {
			n.cover["prompts from host memory that wait for a whole budget"]++
			return budget, false
		}
	}
	asks, free := n.needs(m.computed+want), in.free
	if p.SchedulerReserveFullISL {
		asks = max(asks, n.needs(whole))
	}
	if in.runs() > 0 {
		free -= p.WatermarkBlocks
	}
	if asks-m.blocks > free {
		n.cover["prompts from host memory that lack blocks"]++
		return budget, false
	}
	in.arrived = remove(in.arrived, m)
	r.host, r.blocks, r.pages = nil, m.blocks, m.pages
	r.Computed, r.want, r.chunks = m.computed, want, nil
	r.recalled = false
	if n.order != nil {
		r.key = n.order.Key(&r.Request)
	}
	in.enlist(r)
	n.countFetched(r, m.was)
	n.enter(r, m.computed)
	n.allocate(in, r, max(r.blocks, n.needs(m.computed+want)))
	return budget - want - p.DraftSlots, true
}

// lacksHere reports whether there are no blocks for the first that has been loaded, where none runs, and none to come.
func (n *naive) lacksHere(in *naiveInstance, p *schedulers.Continuous, m *naiveMove) bool {
	if !m.host {
		return n.growsBy(in, m, p, p.MaxNumBatchedTokens-p.DraftSlots, true) > in.free
	}
	whole := m.r.Prompt + m.r.Emitted
	want := n.chunkOf(p, whole-m.computed, p.MaxNumBatchedTokens-p.DraftSlots)
	if p.SchedulerReserveFullISL || p.Unchunked {
		want = whole - m.computed
	}
	return len(in.pending) == 0 && n.needs(m.computed+want)-m.blocks > in.free
}

// unloadHost has one that has come from host memory, and for whose prompt there are no blocks, wait again.
func (n *naive) unloadHost(in *naiveInstance, m *naiveMove) {
	r := m.r
	in.arrived = remove(in.arrived, m)
	r.host, r.blocks, r.pages = nil, m.blocks, m.pages
	r.Computed, r.prefill = m.computed, m.computed
	if n.order != nil {
		r.key = n.order.Key(&r.Request)
	}
	in.enlist(r)
	in.pool.cache(r, r.Computed)
	n.recompute(in, r)
	in.again = true
	n.cover["prompts from host memory that make room"]++
}

// dropHost forgets the load of r from host memory, which its client does not wait for any more. What it would have
// taken of the link stays taken.
func (f *naiveFleet) dropHost(r *naiveRequest) {
	m, in := r.host, r.host.to
	f.stop(m)
	f.moves = remove(f.moves, m)
	in.transferring, in.arrived = remove(in.transferring, m), remove(in.arrived, m)
	r.host, r.blocks, r.pages = nil, m.blocks, m.pages
	in.of.unreserve(in, r)
	r.blocks, r.pages = 0, nil
	f.cover["loads from host memory that are cancelled"]++
}
