package hardware

import (
	"math"

	"github.com/decodesim/decodesim/sim"
)

// Roofline prices a step as a sum of parts, each of which takes its memory time or its compute time, whichever is longer
// (Williams, Waterman & Patterson, CACM 52(4), 2009), or a smooth maximum of them. On one GPU of the replica, for n
// decodes with K context tokens and P prompt tokens, M = n + P rows, times in seconds:
//
//	linear     Σ over parts  smax(W / (e_b·BW), 2·p·M / (e_c·F))   weights W bytes, p parameters, F of their dtype;
//	                         experts: W·A(M), A the expected share touched; LM head: the rows that yield a token
//	cache      K · smax(k / (e_kv·BW), f / (e_at·F16))             k bytes and f FLOPs per context token; by window
//	state      2·s·(n + chunks) / (e_kv·BW)                        recurrent state s, read and written
//	prefill    Σ over kinds  smax(ctx·k / (e_kv·BW), pairs·2·a·(d_k+d_v) / (e_at·F16))
//	comm       all-reduces and stage hand-overs, see comm.go
//	fixed      L·t_L + L_moe·t_M + L_x·t_X + T_e + n·t_r
//
// The form is the one found to suffice for public benchmark data: more terms did not help on unseen deployments. With
// Textbook efficiencies it is the sum over parts of max(bytes/BW, FLOPs/F), never below the max over the whole step.
//
// Coefficients of what grows from step to step are integer picoseconds, rounded up once, so that the price of step i of
// a run is exactly affine in i; see sim.Segment.
type Roofline struct {
	d        Deployment
	products []product
	attend   []attention
	comm     comm
	stateS   float64 // per sequence, at the efficiency
	fixedS   float64 // per step
	perSeq   sim.Duration
	ctx      [3]growth // full context, then by window
	decode   []base    // decode-only steps, by number of sequences
}

// growth is what one more context token of one sequence adds to a step.
type growth struct {
	price, memory           sim.Duration // rounded up, down
	boundMemory, boundFLOPs sim.Duration // rounded down
}

// base is the part of a step that does not grow.
type base struct {
	price                      sim.Duration // rounded up
	weights, kv, compute, comm sim.Duration // rounded down; overhead is the rest
	boundMemory, boundFLOPs    sim.Duration // rounded down
}

var _ sim.StepModel = (*Roofline)(nil)

// NewRoofline derives the coefficients of d, which must be valid; batches up to decodesMax are tabulated.
func NewRoofline(d Deployment, decodesMax int) *Roofline {
	e := d.Efficiency
	r := &Roofline{d: d, products: d.products(), attend: d.attentions(), comm: newComm(&d)}
	r.stateS = 2 * d.Model.StateBytes() / float64(d.Parallel.Tensor) / (e.KVBandwidth * d.GPU.BandwidthBps.Value)
	r.fixedS = float64(d.Model.LayerCount())*e.LayerS + float64(d.Model.MoELayers())*e.MoELayerS +
		float64(d.Model.MixerLayers())*e.MixerLayerS + e.StepS
	r.perSeq = sim.SecondsUp(e.SequenceS)
	var exact [3]struct{ price, memory, boundMemory, boundFLOPs float64 }
	for _, a := range r.attend {
		x := &exact[a.window+1]
		m, f := r.attentionS(a.bytes, a.flops)
		x.price += smax(m, f, e.Overlap)
		x.memory += m
		x.boundMemory += a.bytes / d.GPU.BandwidthBps.Value
		x.boundFLOPs += a.flops / d.GPU.FLOPS.BF16.Value
	}
	for i, x := range exact {
		r.ctx[i] = growth{ceil(x.price), floor(x.memory), floor(x.boundMemory), floor(x.boundFLOPs)}
	}
	r.decode = make([]base, decodesMax+1)
	for n := 1; n <= decodesMax; n++ {
		r.decode[n] = r.base(&sim.Shape{Decodes: n, DecodeTokens: int64(n), Outputs: n})
	}
	return r
}

// ceil and floor convert seconds to picoseconds.
func ceil(s float64) sim.Duration  { return sim.Duration(math.Ceil(s * 1e12)) }
func floor(s float64) sim.Duration { return sim.Duration(math.Floor(s * 1e12)) }

// attentionS returns the memory and the compute time of attention.
func (r *Roofline) attentionS(bytes, flops float64) (memory, compute float64) {
	e := r.d.Efficiency
	return bytes / (e.KVBandwidth * r.d.GPU.BandwidthBps.Value), flops / (e.AttentionCompute * r.d.GPU.FLOPS.BF16.Value)
}

// base prices what does not grow with the context of the decodes: everything else.
func (r *Roofline) base(b *sim.Shape) base {
	e, bw := r.d.Efficiency, r.d.GPU.BandwidthBps.Value
	rows := float64(b.DecodeTokens + b.PrefillTokens)
	var weights, kv, compute, boundMemory, boundFLOPs float64
	for i := range r.products {
		p := &r.products[i]
		bytes, n := r.read(p, rows), rows
		if p.lastToken {
			n = float64(b.Outputs)
		}
		m := bytes / (e.Bandwidth * bw)
		weights += m
		compute += smax(m, n*p.rowS, e.Overlap) - m
		boundMemory += bytes / bw
		boundFLOPs += n * p.peakS
	}
	kv = r.stateS * float64(b.Decodes+b.Prefills)
	boundMemory += kv * e.KVBandwidth
	if b.Prefills > 0 {
		for i := range r.attend {
			bytes, flops := r.attend[i].prefill(b)
			m, f := r.attentionS(bytes, flops)
			kv += m
			compute += smax(m, f, e.Overlap) - m
			boundMemory += bytes / bw
			boundFLOPs += flops / r.d.GPU.FLOPS.BF16.Value
		}
	}
	comm := r.comm.fixedS + rows*r.comm.rowS
	return base{
		price: ceil(weights+kv+compute+comm+r.fixedS) + r.perSeq*sim.Duration(b.Decodes), weights: floor(weights), kv: floor(kv),
		compute: floor(compute), comm: floor(comm), boundMemory: floor(boundMemory), boundFLOPs: floor(boundFLOPs),
	}
}

// read returns the bytes of p that a step with so many rows reads.
func (r *Roofline) read(p *product, rows float64) float64 {
	if p.experts {
		return p.bytes * r.d.active(rows)
	}
	return p.bytes
}

// prefill returns what the chunks of a step cost: each reads the context it attends to once, and multiplies pairs.
func (a *attention) prefill(b *sim.Shape) (bytes, flops float64) {
	ctx, pairs := float64(b.PrefillCtx), float64(b.PrefillPairs)
	if a.limit > 0 {
		pairs = min(pairs, a.limit*float64(b.PrefillTokens))
		ctx = min(ctx, a.limit*float64(b.Prefills)+float64(b.PrefillTokens))
	}
	return ctx * a.bytes, pairs * a.pairFLOPs
}

// Price implements sim.StepModel.
func (r *Roofline) Price(ranks []sim.Shape, g *sim.Segment) {
	b := &ranks[0]
	var fixed base
	at := &fixed
	if b.Prefills == 0 && b.Decodes < len(r.decode) {
		at = &r.decode[b.Decodes]
	} else {
		fixed = r.base(b)
	}
	price, kv := sim.Affine{A: at.price}, sim.Affine{A: at.kv}
	memory, flops := sim.Affine{A: at.boundMemory}, sim.Affine{A: at.boundFLOPs}
	r.ctx[0].add(sim.Duration(b.DecodeCtx), sim.Duration(b.Decodes), &price, &kv, &memory, &flops)
	for i := range b.Capped {
		if c := &b.Capped[i]; c.Ctx > 0 {
			r.ctx[i+1].add(sim.Duration(c.Ctx), sim.Duration(c.Growing), &price, &kv, &memory, &flops)
		}
	}
	g.First, g.Growth, g.Steps = price.A, price.B, math.MaxInt32
	g.Part[sim.Weights] = sim.Affine{A: at.weights}
	g.Part[sim.KV] = kv
	// Attention that multiplies longer than it reads: what its price exceeds the reading by.
	attend := sim.Affine{A: price.A - at.price - (kv.A - at.kv), B: price.B - kv.B}
	g.Part[sim.Compute] = sim.Affine{A: at.compute + attend.A, B: attend.B}
	g.Part[sim.Communication] = sim.Affine{A: at.comm}
	g.Part[sim.Overhead] = sim.Affine{A: at.price - at.weights - at.kv - at.compute - at.comm}
	bound(memory, flops, g)
}

// add adds ctx context tokens that grow by the given number per step.
func (c *growth) add(ctx, growing sim.Duration, price, kv, memory, flops *sim.Affine) {
	price.A, price.B = price.A+c.price*ctx, price.B+c.price*growing
	kv.A, kv.B = kv.A+c.memory*ctx, kv.B+c.memory*growing
	memory.A, memory.B = memory.A+c.boundMemory*ctx, memory.B+c.boundMemory*growing
	flops.A, flops.B = flops.A+c.boundFLOPs*ctx, flops.B+c.boundFLOPs*growing
}

// bound sets g's bound to the greater of two affine times, and ends the segment where the other overtakes it.
func bound(memory, flops sim.Affine, g *sim.Segment) {
	high, low := memory, flops
	g.ComputeBound = flops.A > memory.A
	if g.ComputeBound {
		high, low = flops, memory
	}
	g.Bound = high
	if low.B > high.B {
		g.Steps = int(min((high.A-low.A)/(low.B-high.B)+1, math.MaxInt32))
	}
}
