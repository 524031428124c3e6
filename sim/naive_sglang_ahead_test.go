package sim_test

import (
	"math"
	"slices"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// retractAhead decides, as a step ends, whether the next one has blocks for its decodes. Those that it has none for get
// no token of this step.
func (n *naive) retractAhead(in *naiveInstance, p *schedulers.SGLang) {
	s := &in.sglang
	s.ahead, in.everybody = "", false
	if n.passing.Blocks > 0 || n.transfers() {
		return
	}
	var batch, all []*naiveRequest
	ends, chunked := false, false
	for _, r := range in.members() {
		if r.outcome != "" {
			return
		}
		if !r.decoding && r.want < r.Pending() {
			if p.Preemption {
				chunked = true
				continue
			}
			return
		}
		all = append(all, r)
		if r.want > 0 && r.Emitted+1 >= r.Limit() {
			ends = true
		} else {
			batch = append(batch, r)
		}
	}
	for _, r := range in.running {
		if !slices.Contains(all, r) && r.outcome == "" && r != s.chunked {
			all, batch = append(all, r), append(batch, r)
		}
	}
	next := func(batch []*naiveRequest) (blocks int64) {
		for _, r := range batch {
			blocks += n.needs(r.Computed+r.want+1) - n.needs(r.Computed+r.want)
		}
		return blocks
	}
	if in.tree != nil {
		in.tree.taken = 0
	}
	if p.Preemption {
		s.full = false
	}
	if n.mayAdmit(in, p) {
		n.promptsAhead(in, p, all)
		if s.ahead != "tried" {
			return
		}
		all, batch = stillIn(in, all), stillIn(in, batch)
		ends = len(batch) < len(all)
	}
	if chunked || ends || len(batch) < 2 || next(batch) <= in.free {
		return
	}
	for _, r := range batch {
		if r.decoding && r.want > 0 {
			n.decodes--
		}
	}
	batch = n.retractSGLang(in, p, batch, next)
	for _, r := range batch {
		if r.decoding && r.want > 0 {
			n.decodes++
		}
	}
	n.evictFor(in, next(batch))
	n.estimate(in, batch)
	s.ahead = "retracted"
	n.cover["tokens dropped"]++
}

// promptsAhead decides whether the next step has prompts, and with preemption which.
func (n *naive) promptsAhead(in *naiveInstance, p *schedulers.SGLang, all []*naiveRequest) {
	s := &in.sglang
	if p.Preemption {
		n.planPrompts(in, p, all)
		return
	}
	n.sortByCache(in, p.Order)
	s.ahead = "tried"
	if n.next(in, p, n.budget(in, p, all)).r != nil {
		s.ahead = "sorted"
	}
}

// transfers reports whether requests of the pool come from others or go to them.
func (n *naive) transfers() bool {
	return slices.ContainsFunc(n.sc.routes, func(route sim.Route) bool {
		return len(route) > 1 && slices.ContainsFunc(route, func(s sim.Stage) bool { return n.pools[s.Pool] == n })
	})
}

// place gives prompts that are complete a place in the batch: before the decodes of the same step, or behind all.
func (s *sglangState) place(complete []*naiveRequest, mixed bool) {
	if mixed {
		s.first -= len(complete)
	}
	for i, r := range complete {
		if mixed {
			r.place = s.first + i
		} else {
			s.last++
			r.place = s.last
		}
	}
}

// placeOf returns the place of r in the batch, which has those whose caches came as the step began; if the step under
// way completes its prompt, before or behind all others.
func (n *naive) placeOf(in *naiveInstance, r *naiveRequest) int {
	switch {
	case r.decoding, r.move != nil && r.move.accepted:
		return r.place
	case slices.ContainsFunc(in.running, func(o *naiveRequest) bool { return o.decoding && o.want > 0 }):
		return math.MinInt
	}
	return math.MaxInt
}

// ranksJoin reports whether a rank that computes nothing takes part in the steps of others, which it composes when they
// do: SGLang's does, and vLLM's that queues batches.
func (n *naive) ranksJoin() bool {
	if _, sglang := n.policy.(*schedulers.SGLang); sglang {
		return n.ranks > 1 && n.maxNumSeqs == 0 && n.speculation == nil
	}
	return n.ranks > 1 && n.queues()
}

// rejoin has the ranks compose a step anew if none computes anything: each has learned then what has ended and come.
func (n *naive) rejoin(team []*naiveInstance) {
	if !n.ranksJoin() || slices.ContainsFunc(team, (*naiveInstance).computes) {
		return
	}
	for _, in := range team {
		in.sglang.joins = false
		n.learn(in)
		in.idle = true
		n.plan(in)
	}
	n.cover["steps that all ranks compose twice"]++
}
