package sim_test

import (
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// drafts returns how many tokens a sequence drafts while so many decode.
func (n *naive) drafts(decodes int) int32 {
	switch s := n.speculation; {
	case s == nil:
		return 0
	case s.Adaptive == nil:
		return s.Tokens
	default:
		for _, row := range s.Adaptive {
			if decodes <= row.Decodes {
				return row.Tokens
			}
		}
		return 0
	}
}

// decodeOf returns how many tokens r computes in a step of the decode set: one, and drafts as far as it may emit more.
func (n *naive) decodeOf(in *naiveInstance, r *naiveRequest) int32 {
	most := r.Limit() - r.Emitted - 1
	if n.uncapped() {
		most = n.maxLen - 2 - r.Computed - r.hoped
	}
	return 1 + max(0, min(in.drafting, most))
}

// uncapped reports whether drafts go beyond what clients may get, which follows from what was drawn.
func (n *naive) uncapped() bool { return n.speculation != nil && n.speculation.Uncapped }

// verify returns how many of the tokens that r computes in a step of the decode set are its next ones.
func (n *naive) verify(r *naiveRequest) int32 {
	if r.want < 2 {
		return r.want
	}
	draft := []sim.Draft{{Request: r.ID, Position: r.Emitted, Drafts: r.want - 1}}
	n.speculation.Acceptance.Verify(draft)
	n.drafted += int64(draft[0].Drafts)
	if r.Output-r.Emitted-1 < draft[0].Accepted {
		n.cover["bursts cut"]++
	}
	if r.outcome != "" {
		n.cover["verified in vain"]++
	}
	return 1 + min(draft[0].Accepted, r.Output-r.Emitted-1)
}

// swapNeed returns the blocks that it takes to swap r in, but for the one that its next token may need.
func (n *naive) swapNeed(in *naiveInstance, r *naiveRequest) int64 {
	return max(r.blocks, n.needs(r.Computed+n.decodeOf(in, r)-1))
}

// random accepts drafts one by one, each with a chance that depends on how many of the step were accepted before, until
// one is not: the same ones at the same position of a request whenever it gets there.
type random struct {
	seed  uint64
	rates []float64 // that of the last one goes for all beyond
}

// Verify implements sim.Acceptance.
func (a random) Verify(batch []sim.Draft) {
	for i := range batch {
		d := &batch[i]
		for d.Accepted = 0; d.Accepted < d.Drafts; d.Accepted++ {
			if a.draw(d.Request, d.Position+d.Accepted) >= a.rates[min(int(d.Accepted), len(a.rates)-1)] {
				break
			}
		}
	}
}

// draw returns a number below 1, by mixing the bits of where it is drawn.
func (a random) draw(request, position int32) float64 {
	x := a.seed + uint64(uint32(request))<<32 + uint64(uint32(position))
	for range 2 {
		x += 0x9e3779b97f4a7c15
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		x ^= x >> 31
	}
	return float64(x>>11) / (1 << 53)
}

// lookAhead returns the tokens beyond those that it computes in a step for which a sequence has blocks.
func (n *naive) lookAhead(first bool) int32 {
	if s := n.speculation; s != nil && !(first && s.DelayedLookAhead) {
		return s.LookAhead
	}
	return 0
}

// fillerOf returns the wrong drafts beside the only token of a request that is admitted to a step of decodes.
func (n *naive) fillerOf(in *naiveInstance, p *schedulers.Continuous, cached, whole int32, alike bool) int32 {
	s := n.speculation
	if s == nil || !s.Fills || whole-cached != 1 || !alike {
		return 0
	}
	if cached == 0 && len(n.emitters(in)) == 0 || cached+1+s.Tokens+1 > p.MaxModelLen ||
		1+s.Tokens+p.DraftSlots > p.MaxNumBatchedTokens {
		return 0
	}
	return s.Tokens
}
