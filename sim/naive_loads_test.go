package sim_test

import (
	"cmp"
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
	slices.SortStableFunc(in.arrived, func(a, b *naiveMove) int {
		if n.order != nil {
			return cmp.Or(cmp.Compare(n.order.Key(&a.r.Request), n.order.Key(&b.r.Request)),
				cmp.Compare(a.r.Arrival, b.r.Arrival), cmp.Compare(a.r.ID, b.r.ID))
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
	q.hoped, q.passing, q.underWay = 0, 0, 0
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
		budget -= r.want + filler + p.DraftSlots
	}
	if len(in.arrived) > 0 {
		n.cover["transferred without a free sequence"]++
	}
	return budget, true
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

// loadAhead begins the loads of the step after the one that begins, which an engine that queues batches composes now.
func (n *naive) loadAhead(in *naiveInstance) {
	in.loading = n.nextLeaves(in, n.policy.(*schedulers.Continuous))
	n.admitInbound(in)
	for _, b := range slices.Backward(in.aside) {
		b.refs, b.place = 0, in.pool.free.PushFront(b)
	}
	in.aside = nil
}

// takeAhead lets the next step take so many free blocks before any load does.
func (n *naive) takeAhead(in *naiveInstance, blocks int64) {
	if in.pool == nil {
		return
	}
	for range blocks {
		in.aside = append(in.aside, in.pool.allocate())
	}
	n.cover["blocks set aside for the next step"] += int(blocks)
}

// admitNext gives r the blocks of the next step, which admits it, and lets others find what that computes.
func (n *naive) admitNext(in *naiveInstance, r *naiveRequest, f found, want int32, blocks int64) {
	n.take(in, r, f)
	in.free -= blocks - r.blocks
	for r.blocks < blocks {
		r.pages = append(r.pages, in.pool.allocate())
		r.blocks++
	}
	in.pool.cache(r, f.tokens+want)
	r.ahead = &found{hits: f.hits, tokens: f.tokens, more: blocks}
	n.cover["requests with blocks of the next step"]++
}

// dropAhead frees the blocks of the step that was to admit r.
func (n *naive) dropAhead(in *naiveInstance, r *naiveRequest) {
	if r.ahead == nil {
		return
	}
	for _, b := range r.pages {
		if !b.content {
			in.pool.forget([]*block{b})
		}
	}
	in.pool.release(r.pages)
	in.free = int64(in.pool.free.Len())
	r.blocks, r.pages, r.ahead = 0, nil, nil
	n.cover["blocks of the next step for nothing"]++
}

// nextLeaves returns what the next step leaves to loads.
func (n *naive) nextLeaves(in *naiveInstance, p *schedulers.Continuous) naiveLoading {
	if len(in.inbound) == 0 {
		return naiveLoading{}
	}
	next := naiveNext{budget: p.MaxNumBatchedTokens}
	next.allowed, next.ahead, next.policy = true, true, p
	next.running = in.runs()
	n.runNext(in, &next)
	for _, m := range in.arrived {
		if next.full(p) {
			return naiveLoading{}
		}
		m.find(in)
		n.nextTakes(in, &next, n.growsBy(in, m, p, 1, false))
		next.running++
		next.budget -= 1 + p.DraftSlots
	}
	if !next.allowed {
		return naiveLoading{}
	}
	n.takeAhead(in, next.next)
	n.resumeNext(in, &next)
	if next.full(p) {
		return naiveLoading{}
	}
	return next.naiveLoading
}

// naiveNext is what the next step comes to.
type naiveNext struct {
	naiveLoading
	budget int32
	chunks int
}

func (x *naiveNext) full(p *schedulers.Continuous) bool {
	return !x.allowed || x.budget <= p.DraftSlots || x.running >= p.MaxNumSeqs
}

// nextTakes lets the next step take blocks for one that it admits. If there are too few, it admits no more, and no load
// begins.
func (n *naive) nextTakes(in *naiveInstance, next *naiveNext, blocks int64) {
	free := in.free
	if next.running > 0 {
		free -= next.policy.WatermarkBlocks
	}
	next.next += blocks
	next.allowed = next.allowed && next.next <= free
}

// runNext gives the requests that run what they take in the next step.
func (n *naive) runNext(in *naiveInstance, next *naiveNext) {
	p, stopped := next.policy, false
	for _, r := range in.running {
		want, decodes := n.nextOf(in, r)
		if !decodes && want > 0 {
			want = n.chunkOf(p, want, next.budget-p.DraftSlots)
		}
		want = min(want, next.budget-p.DraftSlots)
		prompt := !r.decoding && r.want < r.Pending() && !r.leftOut
		takes := int64(0)
		if want > 0 && !stopped {
			tokens := r.Computed + r.want + want
			if n.speculation != nil {
				tokens = min(tokens+n.speculation.LookAhead, n.maxLen)
			}
			takes = max(0, n.needs(tokens)-r.blocks)
			if next.next+takes > in.free {
				if v := n.victim(in, p.Victim); !n.defers() || !v.decoding && v.want == 0 {
					n.cover["loads that wait for preemptions"]++
					next.allowed = false
					return
				}
				stopped, takes = true, 0
				n.cover["loads beside those that lack blocks"]++
			}
		}
		if prompt {
			next.lacking += max(0, n.needs(r.Prompt+r.Emitted+n.slots())-r.blocks-takes)
		}
		if want <= 0 || stopped {
			continue
		}
		next.next += takes
		next.budget -= want + p.DraftSlots
		if !decodes {
			next.chunks++
		}
	}
}

// resumeNext admits those that have been preempted.
func (n *naive) resumeNext(in *naiveInstance, next *naiveNext) {
	p := next.policy
	resuming := n.resuming(in)
	if n.order != nil && resuming > 0 {
		next.allowed = false
		return
	}
	for range resuming {
		if next.full(p) {
			next.allowed = false
			return
		}
		r := in.waiting[next.resumes]
		f := n.lookup(in, r)
		whole, room := r.Prompt+r.Emitted, next.budget-p.DraftSlots
		want := n.chunkOf(p, whole-f.tokens, room)
		if p.Unchunked {
			want = whole - f.tokens
			if want > room && next.chunks > 0 {
				next.allowed = false
				return
			}
		}
		computed := f.tokens + want
		if n.speculation != nil {
			computed = min(computed+n.lookAhead(true), n.maxLen)
		}
		takes := n.needs(computed)
		switch p.Reserve {
		case schedulers.WholePrompt:
			takes = max(takes, n.needs(whole))
		case schedulers.MaxOutput:
			takes = max(takes, n.needs(r.Prompt+r.Limit()))
		case schedulers.MaxModelLen:
			takes = max(takes, n.needs(p.MaxModelLen))
		}
		takes += n.asksFor(f.tokens, computed)
		asks := takes
		if p.SchedulerReserveFullISL {
			asks = max(asks, n.needs(whole)+n.asksFor(f.tokens, whole))
		}
		before := next.next
		n.nextTakes(in, next, asks-f.more)
		next.next = before + takes - f.more
		switch later := n.asksFor(f.tokens, computed); {
		case !next.allowed:
		case in.pool != nil && f.loads == 0:
			next.next = before + later
			n.admitNext(in, r, f, want, takes-later)
			n.takeAhead(in, later)
		default:
			n.takeAhead(in, takes-int64(len(f.hits)))
		}
		if want < whole-f.tokens {
			next.lacking += n.needs(whole+n.slots()) - n.needs(f.tokens+want)
		}
		next.resumes++
		next.running++
		next.chunks++
		next.budget -= want + p.DraftSlots
		if next.allowed {
			n.cover["loads behind those that resume"]++
		}
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
