package sim_test

import (
	"cmp"
	"slices"

	"github.com/decodesim/decodesim/policies/schedulers"
)

// preemptFor preempts members of the batch for r, which waits and finds no place, or reports that it is not to.
func (n *naive) preemptFor(in *naiveInstance, b *prefillBudget, r *naiveRequest) bool {
	order := slices.Clone(b.batch)
	slices.SortFunc(order, func(x, y *naiveRequest) int {
		return cmp.Or(cmp.Compare(y.Priority, x.Priority), cmp.Compare(y.entry, x.entry))
	})
	need := r.fill + int64(min(r.Limit(), b.ClipMaxNewTokens))
	left := slices.Clone(b.batch)
	var victims []*naiveRequest
	for enough := false; !enough; {
		i := len(victims)
		if i == len(order) || int32(order[i].Priority)-int32(r.Priority) <= b.PreemptionMargin {
			if i > 0 {
				n.cover["preemptions that would not do"]++
			}
			return false
		}
		v := order[i]
		victims = append(victims, v)
		left = slices.DeleteFunc(left, func(o *naiveRequest) bool { return o == v })
		then := *b
		then.reserve(n, in, left, in.sglang.ratio)
		room := then.rest()
		if then.fraction {
			room--
		}
		enough = need <= room
	}
	slices.SortFunc(victims, func(x, y *naiveRequest) int {
		return cmp.Or(cmp.Compare(n.placeOf(in, x), n.placeOf(in, y)), cmp.Compare(x.number, y.number))
	})
	before := in.free
	for i, v := range victims {
		if b.ahead && v.decoding && v.want > 0 {
			n.decodes--
		}
		n.retract(in, v)
		stay := int64(len(b.batch) - 1 - i)
		n.evictFor(in, (stay*int64(b.RetractDecodeSteps)+b.page-1)/b.page)
		n.cover["places taken"]++
	}
	b.free += (in.free - before) * b.page
	b.blocks += in.free - before
	b.rows -= len(victims)
	b.batch, b.lost = left, true
	b.reserve(n, in, left, in.sglang.ratio)
	return true
}

// planPrompts says what the next step computes of prompts, and which others lose their places for that, with what this
// step, which ends, has computed of them. all are those that decode, or would.
func (n *naive) planPrompts(in *naiveInstance, p *schedulers.SGLang, all []*naiveRequest) {
	s := &in.sglang
	if r := s.chunked; r != nil && in.tree != nil {
		r.Computed += r.want
		n.publish(in, r)
		r.Computed -= r.want
		s.stashed = true
	}
	b := n.budget(in, p, all)
	b.preempts, b.ahead = true, true
	b.rows, b.blocks = len(in.running), in.free
	s.planned, s.chunk = nil, 0
	if r := s.chunked; r != nil {
		tokens := n.nextChunk(int64(r.Pending()-r.want), b)
		takes := n.needs(r.Computed+r.want+int32(tokens)) - n.needs(r.Computed+r.want)
		if tokens < 1 || takes > b.blocks {
			return
		}
		expected := int64(0)
		if tokens == int64(r.Pending()-r.want) {
			expected = int64(min(r.Limit(), b.ClipMaxNewTokens))
		}
		s.chunk = tokens
		b.blocks -= takes
		b.charge(tokens, expected)
	}
	n.sortByCache(in, p.Order)
	queue := slices.DeleteFunc(slices.Clone(in.waiting), func(r *naiveRequest) bool { return !r.noticed })
	for _, r := range queue {
		c := n.try(in, p, b, r)
		if c.r == nil {
			break
		}
		s.planned = append(s.planned, c)
		b.blocks -= c.takes - c.f.more
		b.rows++
		b.free -= c.f.idle() * b.page
		b.charge(c.tokens, c.limit)
		if in.tree != nil {
			in.tree.lock(c.f.node, 1)
			n.count(in)
		}
		if !b.hasMemory() || !b.hasInput() {
			break
		}
	}
	s.ahead = "tried"
	if b.prompts > 0 {
		s.ahead = "planned"
	}
	s.lost = b.lost
	if b.lost {
		n.cover["tokens dropped for others"]++
	}
}

// startOver has the engine compose another step at once, before which it looks at the queue, since the one that it
// composed while the step before ran has nothing.
func (in *naiveInstance) startOver() {
	in.sglang.ahead = ""
	in.noticeAll()
}

// admitPlanned composes what planPrompts has said.
func (n *naive) admitPlanned(in *naiveInstance, b *prefillBudget) {
	s := &in.sglang
	if r := s.chunked; r != nil {
		r.want = int32(s.chunk)
		if r.want == r.Pending() {
			s.chunked = nil
		}
		n.allocate(in, r, r.blocks+n.lasts(r))
		b.charge(s.chunk, 0)
	}
	for _, c := range s.planned {
		if in.tree != nil {
			in.tree.lock(c.f.node, -1)
			n.count(in)
		}
		c.r.fill = int64(c.r.Prompt + c.r.Emitted)
		n.admit(in, c.r, c.f, int32(c.tokens), c.takes)
		b.charge(c.tokens, 0)
		if c.cut {
			s.chunked = c.r
		}
	}
	s.planned, s.chunk = nil, 0
}

// stillIn returns those of a list that are in the batch.
func stillIn(in *naiveInstance, list []*naiveRequest) []*naiveRequest {
	return slices.DeleteFunc(list, func(r *naiveRequest) bool { return !slices.Contains(in.running, r) })
}
