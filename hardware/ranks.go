package hardware

import (
	"math"

	"github.com/decodesim/decodesim/sim"
)

// ranksWaitS is how long data-parallel ranks wait for one another in a step. It grows with the logarithm of their
// GPUs: each collective between them waits for the slowest. A decode of one sequence a rank of Qwen3.6-35B-A3B on
// B300 takes 1.0 ms more on two ranks of one GPU than on one, 1.7 ms more on two of two than on one of two, and 1.8
// and 2.4 ms more on eight GPUs (H_steps). With their deployment left out of the fit, decodes of that log are 7.4 %
// off in the median and 26 % nine times in ten, where 8.8 and 30 with a wait that is the same for all.
func (d *Deployment) ranksWaitS() float64 {
	return d.Efficiency.RankS * math.Log2(float64(d.Parallel.expertGPUs())) / 3
}

// lockStep is how the batch of one data-parallel rank compares with those of the others, with which it steps together.
type lockStep struct {
	tokens  float64 // by how many times the mean over all ranks has of its tokens; 0: ranks share one batch evenly
	rows    float64 // by how many times its tokens the rank has that has most
	prompts bool    // some of the ranks have prompts
}

// priceRanks prices the step of ranks that share experts. Experts compute the tokens of all of them; ranks run the same
// graph, that of the one with most rows; and the step lasts as long as that of the slowest. A segment ends where
// another rank becomes that.
func (r *Roofline) priceRanks(ranks []sim.Shape, g *sim.Segment) {
	var tokens, most int64
	one := *r
	for i := range ranks {
		n := ranks[i].DecodeTokens + ranks[i].PrefillTokens
		tokens, most = tokens+n, max(most, n)
		one.lockStep.prompts = one.lockStep.prompts || ranks[i].Prefills > 0
	}
	first := true
	var next sim.Segment
	for i := range ranks {
		own := ranks[i].DecodeTokens + ranks[i].PrefillTokens
		if own == 0 {
			continue // it waits for the others
		}
		one.lockStep.tokens = float64(tokens) / (float64(own) * float64(len(ranks)))
		one.lockStep.rows = float64(most) / float64(own)
		b := times(&ranks[i], len(ranks))
		if first {
			one.priceOne(&b, g)
			first = false
			continue
		}
		one.priceOne(&b, &next)
		slower(g, &next)
	}
}

// times returns the batch of so many ranks that have b each.
func times(b *sim.Shape, n int) sim.Shape {
	c, k := *b, int64(n)
	c.Decodes, c.Prefills, c.Outputs = n*b.Decodes, n*b.Prefills, n*b.Outputs
	c.DecodeTokens, c.DecodeCtx, c.Drafts = k*b.DecodeTokens, k*b.DecodeCtx, k*b.Drafts
	c.PrefillTokens, c.PrefillPairs, c.PrefillCtx = k*b.PrefillTokens, k*b.PrefillPairs, k*b.PrefillCtx
	for i := range c.Capped {
		w := &c.Capped[i]
		w.Ctx, w.Growing = k*w.Ctx, n*w.Growing
		w.PrefillPairs, w.PrefillCtx = k*w.PrefillPairs, k*w.PrefillCtx
	}
	return c
}

// slower makes g the longer of itself and h, as far as it stays so.
func slower(g, h *sim.Segment) {
	steps := min(g.Steps, h.Steps)
	if h.First > g.First || h.First == g.First && h.Growth > g.Growth {
		*g, *h = *h, *g
	}
	if faster := h.Growth - g.Growth; faster > 0 {
		steps = int(min(sim.Duration(steps), (g.First-h.First+faster-1)/faster))
	}
	g.Steps = steps
}

// together makes the load of a rank that of one among others.
func (s *lockStep) together(l *load) {
	if s.tokens > 0 {
		l.tokens *= s.tokens
		l.routed = l.tokens
		l.prompts = l.prompts || s.prompts
	}
}

// graphRows returns for how many rows the graph of a step must be that has so many on this rank.
func (s *lockStep) graphRows(rows float64) int {
	if s.tokens > 0 {
		rows *= s.rows
	}
	return int(math.Ceil(rows))
}
