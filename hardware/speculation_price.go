package hardware

import (
	"math"

	"github.com/decodesim/decodesim/sim"
)

// drafting is what a step with drafts costs beside verifying them.
type drafting struct {
	pass     *Roofline // one pass of the drafter; nil: nothing on the GPU drafts
	prompts  bool      // it has a cache, so it reads prompts too
	parallel bool      // one pass yields all drafts
	windows  []int     // of the target, by window of the drafter
	host     sim.Duration
}

// newDrafting prices what drafts for d; nil: nothing does.
func newDrafting(d *Deployment) *drafting {
	if d.Speculation == nil {
		return nil
	}
	s := &drafting{host: sim.SecondsUp(d.Speculation.HostS)}
	if d.drafts() {
		sub := d.drafting()
		s.pass, s.parallel, s.windows = NewRoofline(sub, 0), d.Speculation.Drafter.Parallel, d.windowsOf(&sub)
		s.prompts = len(s.pass.attend) > 0
	}
	return s
}

// speculates reports whether a step is more than one of plain decodes and prompts.
func (r *Roofline) speculates(b *sim.Shape) bool {
	return b.Drafts > 0 || b.Prefills > 0 && r.draft != nil && r.draft.prompts
}

// speculate prices a step in which each of n sequences verifies K drafts, for one step: what is accepted decides the
// next.
//
//	verify   the step of n·(1+K) rows: weights once, arithmetic and experts by rows, the cache once per sequence with the
//	         arithmetic of all pairs of row and token; t_r by row, for a token is chosen from the logits of each
//	draft    pass 1 of n·(1+K) rows, which brings the drafter's cache up to what was verified, and of the prompts in the
//	         step; then K−1 passes of n rows, each after the other. Heads without a cache take one pass of n rows
//	host     as given
//
// The last drafts of an output may be fewer: Σ K is spread evenly and K rounded up. Rows route to experts
// independently, though those of one sequence resemble each other.
func (r *Roofline) speculate(b *sim.Shape, g *sim.Segment) {
	at := r.once(b, float64(b.DecodeCtx), 0)
	if b.Adapters > 0 {
		r.adapt(&at, b)
	}
	if r.draft != nil {
		if r.draft.pass != nil {
			r.draft.add(&at, b)
		}
		if b.Drafts > 0 {
			at.price += r.draft.host
			at.overhead += r.draft.host
		}
	}
	*g = sim.Segment{First: at.price, Steps: 1}
	g.Part[sim.Weights].A, g.Part[sim.KV].A, g.Part[sim.Compute].A = at.weights, at.kv, at.compute
	g.Part[sim.Communication].A, g.Part[sim.Overhead].A = at.comm, at.overhead
	bound(sim.Affine{A: at.boundMemory}, sim.Affine{A: at.boundFLOPs}, g)
	g.Steps = 1
	r.delay(&at.host, g)
	if b.SwapBlocks > 0 {
		r.copy(b.SwapBlocks, g)
	}
	if b.AdapterCopies > 0 {
		precede(b.AdapterCopies, g)
	}
}

// add adds the passes of the drafter to the step that verifies what they draft. Draft j of a sequence attends to what
// the model knew of it and the j − 1 drafts before; passes 2 to K cost K−1 times one at their mean context, in which a
// pass is linear.
func (s *drafting) add(at *base, b *sim.Shape) {
	n, first := int64(b.Decodes), s.shape(b)
	known := float64(b.DecodeCtx - b.Drafts)
	if b.Drafts > 0 || s.prompts && b.Prefills > 0 {
		one := s.pass.once(&first, known, float64(b.Drafts))
		at.add(s.pass, &one, 1)
	}
	if more := (b.Drafts+n-1)/max(1, n) - 1; more > 0 && !s.parallel {
		first.DecodeTokens, first.Outputs = n, b.Decodes
		first.Prefills, first.PrefillTokens = 0, 0
		drafted := float64(float64(n*(more+1)) / 2)
		one := s.pass.once(&first, known+drafted, drafted)
		at.add(s.pass, &one, more)
	}
}

// shape returns that of the drafter's first pass.
func (s *drafting) shape(b *sim.Shape) sim.Shape {
	var p sim.Shape
	if b.Drafts > 0 {
		p = sim.Shape{Decodes: b.Decodes, DecodeTokens: b.DecodeTokens, DecodeCtx: b.DecodeCtx, Outputs: b.Decodes}
	}
	if s.prompts {
		p.Prefills, p.PrefillTokens = b.Prefills, b.PrefillTokens
		p.PrefillPairs, p.PrefillCtx, p.PrefillLongest = b.PrefillPairs, b.PrefillCtx, b.PrefillLongest
		p.Outputs += max(0, b.Outputs-int(b.DecodeTokens))
		for i, of := range s.windows {
			p.Capped[i] = b.Capped[of]
		}
	} else {
		p.DecodeTokens = int64(p.Decodes)
	}
	return p
}

// add adds n times the cost of a pass.
func (at *base) add(pass *Roofline, one *base, n int64) {
	k := sim.Duration(n)
	extra := pass.beyond(&one.host, one.price) // for passes launched kernel by kernel
	at.price += k * (one.price + extra)
	at.weights += k * one.weights
	at.kv += k * one.kv
	at.compute += k * one.compute
	at.comm += k * one.comm
	at.overhead += k * (one.overhead + extra)
	at.boundMemory += k * one.boundMemory
	at.boundFLOPs += k * one.boundFLOPs
}

// once prices one step whose decodes see ctx tokens in all and compute DecodeTokens rows. The sums of b over windows
// are those of a context that is up to later tokens longer.
//
// The rows of a sequence share one reading of its cache. Sparse attention is the exception: each row selects other
// tokens. In a window the first row sees R − 1 tokens further back than the last of R rows. A recurrent state is
// written after each row. Row i of a sequence sees R − i tokens less than the last row: the bound subtracts that, and
// the rounding up of windows with it; the price does not.
func (r *Roofline) once(b *sim.Shape, ctx, later float64) base {
	var at base
	at.fill(r, b)
	if b.Decodes == 0 {
		return at
	}
	n, share, slower := float64(b.Decodes), 1/float64(min(b.Decodes, r.shares)), 1.0
	if b.Prefills > 0 {
		slower = max(1, r.d.Efficiency.MixedKV)
	}
	rows := float64(b.DecodeTokens) / n
	triangle := float64(n * rows * (rows - 1) / 2)
	state := float64(n * share * (rows - 1) * r.statePS / 2)
	attention, kv := state, state
	boundMemory, boundFLOPs := 0.0, 0.0
	for i := range r.attend {
		a := &r.attend[i]
		sees, reads, least := ctx, ctx, ctx
		if a.window >= 0 {
			c := &b.Capped[a.window]
			sees = float64(c.Ctx)
			least = max(0, sees-later)
			reads = sees + float64(float64(b.Decodes-c.Growing)*(rows-1))
		}
		if a.sparse {
			reads = float64(sees * rows)
		}
		pairs := float64(sees * rows)
		leastPairs := max(0, float64(least*rows)-triangle)
		m := float64(share * slower * (float64(reads*a.decodePS) + float64(pairs*a.scorePS)))
		kv += m
		attention += r.decoding(a, m, float64(share*pairs*a.flopsPS))
		boundMemory += float64(share * r.peakKV * (float64(least*a.ctxPS) + float64(leastPairs*a.scorePS)))
		boundFLOPs += float64(share * float64(leastPairs*a.flopsPeakPS))
	}
	perRow := float64(sim.SecondsUp(r.d.Efficiency.SequenceS)) // of the GPU: the host prepares a sequence once
	choosing := float64(perRow * (rows - 1) * float64(ceilDiv(b.Decodes, r.d.Parallel.Ranks())))
	at.price += sim.Duration(math.Ceil(attention + choosing))
	at.kv += sim.Duration(kv)
	at.compute += sim.Duration(attention - kv)
	at.overhead = at.price - at.weights - at.kv - at.compute - at.comm
	at.boundMemory += sim.Duration(boundMemory)
	at.boundFLOPs += sim.Duration(boundFLOPs)
	return at
}

// DraftShape returns the shape of a step in which each of batch sequences verifies so many drafts; context counts what
// each would attend to without them.
func (r *Roofline) DraftShape(batch, context, drafts int) sim.Shape {
	b := r.Shape(batch, context+drafts)
	b.Drafts = int64(batch) * int64(drafts)
	b.DecodeTokens += b.Drafts
	b.Outputs = int(b.DecodeTokens)
	r.d.wear(&b)
	return b
}

// StepWithDrafts prices that step, and says how many seconds of it the drafting takes; without drafts it is Step.
func (r *Roofline) StepWithDrafts(batch, context, drafts int) (g sim.Segment, draftingS float64) {
	ranks := []sim.Shape{r.DraftShape(batch, context, drafts)}
	r.Price(ranks, &g)
	if drafts == 0 || r.draft == nil {
		return g, 0
	}
	verify := *r
	verify.draft = nil
	var without sim.Segment
	verify.Price(ranks, &without)
	return g, (g.First - without.First).Seconds()
}
