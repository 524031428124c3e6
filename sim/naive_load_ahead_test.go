package sim_test

import (
	"slices"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// ahead is a request that had blocks of the step after the one that began at an instant.
type ahead struct {
	request int32
	at      sim.Time
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
	n.aheads = append(n.aheads, ahead{r.ID, n.now})
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
	ordered := n.order != nil
	for next.joined < len(in.arrived) {
		if next.full(p) {
			return naiveLoading{}
		}
		n.joinNext(in, &next)
	}
	if !next.allowed {
		return naiveLoading{}
	}
	n.takeAhead(in, next.next)
	n.resumeNext(in, &next)
	if ordered {
		n.precedeNext(in, &next, nil)
	}
	if ordered || next.full(p) {
		return naiveLoading{}
	}
	return next.naiveLoading
}

// joinNext lets the first that has been loaded and has not yet joined join the next step.
func (n *naive) joinNext(in *naiveInstance, next *naiveNext) {
	m, p := in.arrived[next.joined], next.policy
	m.find(in)
	n.nextTakes(in, next, n.growsBy(in, m, p, 1, false))
	next.running++
	next.joined++
	next.budget -= 1 + p.DraftSlots
}

// precedeNext lets the loads begin with the next step that stand before r in the order of the queue.
func (n *naive) precedeNext(in *naiveInstance, next *naiveNext, r *naiveRequest) {
	if next.full(next.policy) {
		return
	}
	in.loading = next.naiveLoading
	n.admitBefore(in, r)
	in.loading = naiveLoading{}
	if len(in.inbound) > 0 && (r == nil || inOrder(in.inbound[0].r, r) < 0) {
		n.cover["those that wait behind loads"]++
		next.allowed = false
	}
}

// naiveNext is what the next step comes to.
type naiveNext struct {
	naiveLoading
	budget int32
	chunks int
	joined int // of what has been loaded
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
	for range resuming {
		r := in.waiting[next.resumes]
		if n.order != nil {
			n.precedeNext(in, next, r)
		}
		if next.full(p) {
			next.allowed = false
			return
		}
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
		asks := takes
		if p.SchedulerReserveFullISL {
			asks = max(asks, n.needs(whole))
		}
		before := next.next
		n.nextTakes(in, next, asks-f.more)
		next.next = before + takes - f.more
		switch {
		case !next.allowed:
		case in.pool != nil && f.loads == 0:
			next.next = before
			n.admitNext(in, r, f, want, takes)
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
