package sim_test

import (
	"slices"

	"github.com/decodesim/decodesim/policies/schedulers"
)

// planContinuous shares a budget of tokens between decodes, chunks under way and new requests, in this order.
func (n *naive) planContinuous(in *naiveInstance, p *schedulers.Continuous) {
	if n.single(in) && p.SingleExempt && p.LongPrefillTokenThreshold > 0 {
		free := *p
		free.LongPrefillTokenThreshold = 0
		p = &free
		n.cover["plans for a single request"]++
	}
	in.loading = naiveLoading{}
	if m := n.loadedFirst(in); m != nil && in.runs() == 0 && n.lacksHere(in, p, m) {
		n.unload(in, m)
		return
	}
	for _, r := range in.running { // what missed the latest step decodes again
		r.decoding, r.missed = r.decoding || r.missed, false
	}
	in.drafting = n.drafts(len(n.emitters(in)))
	budget, left, short := n.share(in, p)
	chunks := 0
	for _, r := range in.running {
		if !r.decoding {
			chunks++
			if r.want == 0 {
				n.cover["prompts without a chunk"]++
			}
		}
	}
	preempted := n.demand(in.running) > in.free
	if preempted {
		budget, preempted = n.turns(in, p)
		in.again = !in.computes() && in.underWay() == 0
	} else {
		n.grow(in, short)
		for _, r := range left {
			n.leaveOut(r)
		}
	}
	all, alike := true, !slices.ContainsFunc(in.running, func(r *naiveRequest) bool { return !r.decoding && r.want > 0 })
	ordered := n.loads && n.order != nil
	if !preempted && n.loads {
		budget, all = n.joinLoaded(in, p, budget, alike)
		chunks = len(in.running) - len(decodes(in.running))
	}
	for !preempted && all && budget > p.DraftSlots && in.runs() < p.MaxNumSeqs {
		if ordered && !n.precede(in, p) {
			break
		}
		if some, begun := n.loadsHead(in, p); begun {
			continue
		} else if some {
			break
		}
		want := n.admitContinuous(in, p, budget-p.DraftSlots, chunks, alike)
		if want == 0 {
			break
		}
		budget -= want + p.DraftSlots
		chunks++
	}
	if budget <= p.DraftSlots {
		n.cover["steps that spend the budget"]++
	}
	if !preempted && all && budget > p.DraftSlots && !ordered {
		in.loading = naiveLoading{allowed: true, policy: p}
	}
}

// share gives the running requests, in their order, what they want of the budget and its drafter's slots, as far as
// that goes. It returns what is left of the budget, the decodes that get nothing of it, and whether it is short for any
// but a prompt behind all others.
func (n *naive) share(in *naiveInstance, p *schedulers.Continuous) (budget int32, left []*naiveRequest, short bool) {
	budget = p.MaxNumBatchedTokens
	for i, r := range in.running {
		decodes := r.decoding && n.emits(in, r)
		room := budget - p.DraftSlots
		switch {
		case r.decoding && !decodes:
			continue
		case decodes && room <= 0:
			left, short = append(left, r), true
		case decodes:
			all := n.decodeOf(in, r)
			r.want = min(all, room)
			if r.want < all {
				short = true
				n.cover["drafts cut by the budget"]++
			}
		default:
			r.want = n.chunkOf(p, r.Pending(), room)
			whole := n.chunkOf(p, r.Pending(), p.MaxNumBatchedTokens)
			short = short || r.want < whole && i < len(in.running)-1
		}
		if r.want > 0 {
			budget -= r.want + p.DraftSlots
		}
	}
	return budget, left, short
}

func (n *naive) chunkOf(p *schedulers.Continuous, pending, budget int32) int32 {
	want := max(0, min(pending, budget))
	if p.LongPrefillTokenThreshold > 0 {
		want = min(want, p.LongPrefillTokenThreshold)
	}
	return want
}

// admitContinuous admits the head of the queue if it may join a step, and returns the tokens of its chunk; 0: it may
// not.
func (n *naive) admitContinuous(in *naiveInstance, p *schedulers.Continuous, budget int32, chunks int,
	alike bool) int32 {
	r := n.head(in)
	if r == nil {
		return 0
	}
	f := n.lookup(in, r)
	whole := r.Prompt + r.Emitted
	want := n.chunkOf(p, whole-f.tokens, budget)
	if p.Unchunked {
		want = whole - f.tokens
		if single := chunks == 0 && r.Preemptions+r.Emitted > 0; want > budget && !single {
			n.cover["prompts that wait for a whole budget"]++
			return 0
		}
	}
	filler := n.fillerOf(in, p, f.tokens, whole, alike)
	if filler > 0 && want+filler > budget {
		n.cover["prompts that wait for a whole row"]++
		return 0
	}
	computed := f.tokens + want
	if n.speculation != nil {
		computed = min(computed+filler+n.lookAhead(true), n.maxLen)
	}
	takes := max(n.reserves(r, p), n.needs(computed))
	asks := takes - int64(n.passing.Blocks*n.without(in, f.tokens))
	if p.SchedulerReserveFullISL && r.ahead == nil {
		asks = max(asks, n.fits(in, f.tokens, whole))
	}
	room := in.free
	if r.ahead != nil {
		asks = max(takes, f.more)
	} else if in.runs() > 0 {
		room -= p.WatermarkBlocks
	}
	if asks-f.more > room {
		if asks-f.more <= in.free {
			n.cover["stopped by the watermark"]++
		}
		return 0
	}
	if p.NoEvict && !n.completes(in, r, f) {
		n.cover["stopped by no-evict"]++
		return 0
	}
	if n.waitsForOthers(in, p, chunks) {
		return 0
	}
	n.admit(in, r, f, want, takes)
	r.filler = filler
	if filler > 0 {
		n.cover["rows filled"]++
	}
	r.reserve = 0
	if p.Reserve != schedulers.AsComputed {
		r.reserve = takes
		n.cover["reserved blocks"] += int(takes - n.needs(computed))
	}
	return want + filler
}

// reserves returns the blocks that r takes at its admission for tokens to come, with those that it computes; 0: none.
func (n *naive) reserves(r *naiveRequest, p *schedulers.Continuous) int64 {
	switch p.Reserve {
	case schedulers.WholePrompt:
		return n.needs(r.Prompt + r.Emitted)
	case schedulers.MaxOutput:
		return n.needs(r.Prompt + r.Limit())
	case schedulers.MaxModelLen:
		return n.needs(p.MaxModelLen)
	}
	return 0
}

// waitsForOthers reports whether the first prompt of a step waits for others, and counts the step if so.
func (n *naive) waitsForOthers(in *naiveInstance, p *schedulers.Continuous, chunks int) bool {
	if p.BatchWaitIters > 0 && chunks == 0 && len(in.team) > 1 {
		return n.waitsForRanks(in.team, p)
	}
	if p.BatchWaitIters == 0 || chunks > 0 || !n.decodesAny(in) {
		return false
	}
	if in.waited == p.BatchWaitIters {
		in.waited = 0
		return false
	}
	in.waited++
	n.cover["steps without a prompt that waits for others"]++
	return true
}

// decodesAny reports whether a request of the batch decodes.
func (n *naive) decodesAny(in *naiveInstance) bool {
	return slices.ContainsFunc(in.running, func(r *naiveRequest) bool { return r.decoding && n.emits(in, r) })
}

// agreement is what ranks last agreed on: whether prompts wait in a step, and the last in which they did not.
type agreement struct {
	made         bool
	step, joined int64
	waits        bool
}

// waitsForRanks reports whether the prompts of all ranks wait in the step that is composed, which they decide when the
// first of them could take one.
func (n *naive) waitsForRanks(team []*naiveInstance, p *schedulers.Continuous) bool {
	step, a := team[0].step, &team[0].agreed
	if a.made && a.step == step {
		return a.waits
	}
	a.made, a.step, a.waits = true, step, false
	idle := slices.ContainsFunc(team, func(in *naiveInstance) bool { return !n.decodesAny(in) })
	without := slices.ContainsFunc(team, func(in *naiveInstance) bool {
		return len(in.waiting) == 0 || in.runs() >= p.MaxNumSeqs
	})
	steps := step - a.joined
	switch {
	case idle:
		n.cover["prompts that join where a rank has no decodes"]++
	case !without:
		n.cover["prompts that join on every rank"]++
	case steps > 0 && steps%int64(p.BatchWaitIters) == 0:
		n.cover["prompts that have waited for other ranks"]++
	default:
		a.waits = true
		n.cover["steps in which the prompts of ranks wait"]++
		return true
	}
	a.joined = step
	return false
}

// fits returns the blocks that there must be for so many tokens of a request that is admitted, in however many steps
// they are computed: in each group of windows no more than those that can be under way and the window before them.
func (n *naive) fits(in *naiveInstance, cached, tokens int32) int64 {
	p := n.passing
	blocks := (tokens + n.blockSize - 1) / n.blockSize
	most := (p.Window-1+p.TokensMax+n.blockSize-1)/n.blockSize + 1
	return n.needs(tokens) - int64(p.Blocks)*int64(blocks-max(0, min(blocks, most)-n.without(in, cached)))
}

// completes reports whether r and the whole batch can emit all they may without a preemption.
func (n *naive) completes(in *naiveInstance, r *naiveRequest, f found) bool {
	room := in.free
	for _, other := range slices.Concat(in.running, in.away) {
		room -= n.needs(other.Prompt+other.Limit()) - other.blocks
	}
	for _, m := range in.reserved() {
		room -= n.needs(m.r.Prompt+m.r.Limit()) - m.blocks
	}
	return n.needs(r.Prompt+r.Limit())-f.more <= room
}
