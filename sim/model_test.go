package sim_test

import (
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/sim"
)

// prices is a step model for the laws: memory and compute, each affine in the batch, of which the larger counts, so
// that a run of steps may switch from one to the other; plus a fixed overhead.
type prices struct {
	weights, token   sim.Duration // per step, per token computed
	ctx, pair        sim.Duration // per context token: memory, compute
	capped           [2]sim.Duration
	shared           sim.Duration // per token of all ranks
	draft, row       sim.Duration // per drafted token, per row through the LM head
	swap             sim.Duration // per block copied
	overhead, perSeq sim.Duration
	single           bool // answer for one step only
}

func drawModel(t *rapid.T, windows int) prices {
	ps := func(label string, v ...sim.Duration) sim.Duration { return rapid.SampledFrom(v).Draw(t, label) }
	p := prices{
		weights: ps("weights", 0, 100*sim.Microsecond, 4*sim.Millisecond),
		token:   ps("token", 0, 33_000_001, 3*sim.Millisecond),
		ctx:     ps("ctx", 0, 46_031, 46_031, sim.Microsecond), pair: ps("pair", 0, 23_000, 2*sim.Microsecond),
		overhead: ps("overhead", sim.Millisecond, 1_200_000_007), perSeq: ps("per_seq", 0, 4_400_000),
		single: rapid.IntRange(0, 9).Draw(t, "single") == 0,
	}
	if rapid.IntRange(0, 3).Draw(t, "grid_price") == 0 { // boundaries fall on the grid of arrivals
		p = prices{overhead: sim.Millisecond * ps("ms", 1, 5, 500)}
	}
	p.swap = ps("swap", 0, 3_000_017, sim.Millisecond)
	p.draft, p.row = ps("draft", 0, 50_000_003, 2*sim.Millisecond), ps("row", 0, 1_000_003)
	for i := range windows {
		p.capped[i] = ps("capped", 0, 46_031, sim.Microsecond)
	}
	return p
}

// Price implements sim.StepModel: of several ranks the slowest decides, and all wait for what they share.
func (p prices) Price(ranks []sim.Shape, g *sim.Segment) {
	if len(ranks) == 1 {
		p.price(&ranks[0], 0, g)
		return
	}
	var tokens int64
	for i := range ranks {
		tokens += ranks[i].DecodeTokens + ranks[i].PrefillTokens
	}
	all := make([]sim.Segment, len(ranks))
	most := 0
	for i := range ranks {
		p.price(&ranks[i], p.shared*sim.Duration(tokens), &all[i])
		if x, y := &all[i], &all[most]; x.First > y.First || x.First == y.First && x.Growth > y.Growth {
			most = i
		}
	}
	*g = all[most]
	for i := range all {
		g.Steps = min(g.Steps, all[i].Steps)
		if faster := all[i].Growth - g.Growth; faster > 0 { // it is the slowest after so many steps
			g.Steps = min(g.Steps, max(1, int((g.First-all[i].First+faster-1)/faster)))
		}
	}
}

// price prices the step of one rank, if what it shares with others takes so long.
func (p prices) price(b *sim.Shape, shared sim.Duration, g *sim.Segment) {
	n := sim.Duration(b.Decodes)
	memory := sim.Affine{A: p.weights + p.ctx*sim.Duration(b.DecodeCtx+b.PrefillCtx+b.PrefillLongest), B: p.ctx * n}
	for i, c := range b.Capped {
		memory.A += p.capped[i] * sim.Duration(c.Ctx+c.PrefillCtx+c.PrefillPairs)
		memory.B += p.capped[i] * sim.Duration(c.Growing)
	}
	compute := sim.Affine{
		A: p.token*sim.Duration(b.DecodeTokens+b.PrefillTokens) + p.pair*sim.Duration(b.DecodeCtx+b.PrefillPairs),
		B: p.pair * n,
	}
	*g = sim.Segment{Steps: 1 << 30}
	high, low := memory, compute
	if compute.A > memory.A {
		high, low, g.ComputeBound = compute, memory, true
	}
	if low.B > high.B { // the other one overtakes after this many steps
		g.Steps = int((high.A-low.A)/(low.B-high.B)) + 1
	}
	fixed := shared + p.overhead + p.perSeq*(n+sim.Duration(b.Prefills)) + p.swap*sim.Duration(b.SwapBlocks) +
		p.draft*sim.Duration(b.Drafts) + p.row*sim.Duration(b.Outputs) + b.AdapterCopies +
		p.row*(sim.Duration(17*b.Adapters+3*b.AdapterOutputs)+sim.Duration(b.AdapterTokens))
	g.First, g.Growth, g.Bound = high.A+fixed, high.B, high
	g.Part[sim.Weights], g.Part[sim.Overhead] = high, sim.Affine{A: fixed}
	if p.single || b.SwapBlocks > 0 || b.AdapterCopies > 0 { // only the first step copies
		g.Steps = 1
	}
}
