package sim_test

import (
	"slices"

	"github.com/decodesim/decodesim/policies/schedulers"
)

// naiveLoading is what a plan says of the KV connector's loads that may begin with it.
type naiveLoading struct {
	allowed bool
	policy  *schedulers.Continuous
	next    int64 // blocks that the next step takes
	resumes int   // requests that have been preempted, and that the next step admits
	lacking int64 // blocks that prompts under way lack behind it
	ahead   bool  // it is said of the next step
	running int   // requests that run in that one, those among them that have been loaded or preempted
}

// sortLoaded sorts what has been loaded: by the order in which loads began, or by that of the queue.
func (n *naive) sortLoaded(in *naiveInstance) {
	for _, m := range in.arrived {
		if n.order != nil {
			m.r.key = n.order.Key(&m.r.Request) // that of its source may have had another order
		}
	}
	slices.SortStableFunc(in.arrived, func(a, b *naiveMove) int {
		if n.order != nil {
			return inOrder(a.r, b.r)
		}
		return a.load - b.load
	})
}

// loadedFirst returns what has been loaded and joins the batch next, as far as the engine knows, or nil.
func (n *naive) loadedFirst(in *naiveInstance) *naiveMove {
	for _, m := range in.arrived {
		if n.loads && (in.everybody || m.noticed) {
			return m
		}
	}
	return nil
}

// pendsLast reports whether the last token of the prompt of a request that has been loaded is computed again.
func (m *naiveMove) pendsLast() bool { return m.computed == m.r.Prompt+m.r.Emitted }

// find lets others find what has been loaded, the last block of the prompt too.
func (m *naiveMove) find(in *naiveInstance) {
	if in.pool != nil {
		m.r.pages = m.pages
		in.pool.cache(m.r, m.computed)
		m.r.pages = nil
	}
}

// growsBy returns the blocks that a request which has been loaded takes to join.
func (n *naive) growsBy(in *naiveInstance, m *naiveMove, p *schedulers.Continuous, room int32, alike bool) int64 {
	q := *m.r
	q.blocks, q.Computed = m.blocks, m.computed
	q.hoped, q.passed, q.underWay = 0, 0, 0
	if m.pendsLast() {
		q.Computed--
		q.decoding, q.want = false, 1+n.fillerOf(in, p, q.Computed, q.Computed+1, alike)
	} else {
		q.decoding, q.want = true, min(n.decodeOf(in, &q), room)
	}
	return n.grows(&q)
}

// joinLoaded admits what has been loaded, and returns what is left of the budget, and whether none of it waits for
// blocks.
func (n *naive) joinLoaded(in *naiveInstance, p *schedulers.Continuous, budget int32, alike bool) (int32, bool) {
	for budget > p.DraftSlots && in.runs() < p.MaxNumSeqs {
		m := n.loadedFirst(in)
		if m == nil {
			return budget, true
		}
		left, all := n.joinFirst(in, p, m, budget, alike)
		budget = left
		if !all {
			return budget, false
		}
	}
	if len(in.arrived) > 0 {
		n.cover["transferred without a free sequence"]++
	}
	return budget, true
}

// joinFirst admits one that has been loaded, and returns what is left of the budget, and whether there are blocks.
func (n *naive) joinFirst(in *naiveInstance, p *schedulers.Continuous, m *naiveMove, budget int32,
	alike bool) (int32, bool) {
	if m.host {
		return n.joinHost(in, p, m, budget)
	}
	m.find(in)
	room, filler := budget-p.DraftSlots, int32(0)
	if m.pendsLast() {
		filler = n.fillerOf(in, p, m.computed-1, m.computed, alike)
	}
	free := in.free
	if in.runs() > 0 {
		free -= p.WatermarkBlocks
	}
	if filler > 0 && 1+filler > room || n.growsBy(in, m, p, room, alike) > free {
		n.cover["loaded requests without blocks"]++
		return budget, false
	}
	r := n.enterTransferred(in, m)
	r.want = 1
	if r.decoding {
		r.want = min(n.decodeOf(in, r), room)
	}
	n.allocateLoaded(in, r, filler)
	return budget - r.want - filler - p.DraftSlots, true
}

// precede lets the loads begin that stand before the head of the queue in its order, and reports whether none of them
// waits for blocks.
func (n *naive) precede(in *naiveInstance, p *schedulers.Continuous) bool {
	next := n.head(in)
	if in.everybody || !n.queues() {
		in.loading = naiveLoading{allowed: true, policy: p}
		n.admitBefore(in, next)
		in.loading = naiveLoading{}
	}
	if slices.ContainsFunc(in.inbound, func(x *naiveMove) bool {
		return (next == nil || inOrder(x.r, next) < 0) && (in.everybody || x.noticed)
	}) {
		n.cover["those that wait behind loads"]++
		return false
	}
	return true
}

// allocateLoaded lets r, which joins, have the blocks of its tokens and of so many wrong drafts beside the last of its
// prompt.
func (n *naive) allocateLoaded(in *naiveInstance, r *naiveRequest, filler int32) {
	r.want += filler
	blocks := r.blocks + n.lasts(r)
	r.want -= filler
	n.allocate(in, r, blocks)
	r.filler = filler
	if filler > 0 {
		n.cover["rows filled"]++
	}
}

// unload has a request that has been loaded, and for whose next token there is no block, be computed again.
func (n *naive) unload(in *naiveInstance, m *naiveMove) {
	if m.host {
		n.unloadHost(in, m)
		return
	}
	r := n.enterTransferred(in, m)
	r.decoding = false
	if n.recomputes || n.loads {
		r.Computed, r.prefill = m.computed, m.computed
	}
	n.recompute(in, r)
	in.again = true
	n.cover["loaded requests computed again"]++
}

// mayLoad reports whether the plan lets a load begin that needs so many blocks, of which it found some here.
func (n *naive) mayLoad(in *naiveInstance, r *naiveRequest, need, found int64) bool {
	if !in.loading.allowed {
		n.cover["loads that must wait for a step"]++
		return false
	}
	p, room := in.loading.policy, in.free-in.loading.next
	if max(in.runs(), in.loading.running) > 0 {
		room -= p.WatermarkBlocks
	}
	if p.SchedulerReserveFullISL && n.needs(r.Prompt+r.Emitted)-found > room {
		return false
	}
	if p.LoadsReserve {
		slots := n.slots()
		room -= in.loading.lacking
		for _, other := range slices.Concat(in.running, in.away) {
			if !other.decoding && !in.loading.ahead {
				room -= max(0, n.needs(other.Prompt+other.Emitted+slots)-other.blocks)
			}
		}
		for _, m := range in.reserved() {
			room -= max(0, n.needs(m.r.Prompt+m.r.Emitted+slots)-m.blocks)
		}
		if in.runs()+len(in.reserved()) > 0 {
			room -= n.needs(slots)
		}
		if need-found > room {
			n.cover["loads that leave blocks for others"]++
		}
	}
	return need-found <= room
}

// admitWithStep begins loads with the step of an engine that queues batches, if it composed that knowing of them.
func (n *naive) admitWithStep(in *naiveInstance) {
	if n.loads && n.queues() && (in.everybody || !in.computes()) {
		n.admitInbound(in)
	}
}

// slots returns for how many tokens a sequence that drafts has blocks.
func (n *naive) slots() int32 {
	if s := n.speculation; s != nil && s.Tokens > 0 {
		return 1 + s.Tokens + s.LookAhead
	}
	return 0
}

// nextOf returns how many tokens r wants in the next step, as far as the engine can tell, and whether it decodes then.
func (n *naive) nextOf(in *naiveInstance, r *naiveRequest) (want int32, decodes bool) {
	switch last := r.Emitted+1 >= r.Limit(); {
	case r.decoding && r.want > 0 && last, !r.decoding && r.want > 0 && r.want == r.Pending() && last:
		return 0, false
	case r.decoding, r.want > 0 && r.want == r.Pending():
		return 1 + in.drafting, true
	}
	return r.Pending() - r.want, false
}
