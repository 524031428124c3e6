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
	d         Deployment
	products  []product // all of them, in order; and by what their rows are:
	dense     []product // every token
	head      product   // tokens of the step that yield another
	experts   product   // every token, reading only the experts it is routed to
	attend    []attention
	comm      comm
	quadratic bool // the overlap is p = 2
	windows   int
	statePS   float64 // per sequence, at the efficiency
	fixedPS   float64 // per step

	readPS    float64 // weights that every step reads, at the efficiency
	rowPeakPS float64 // arithmetic at peak per row, the head's apart
	perSeq    sim.Duration

	peakWeights, peakKV float64 // time at peak bandwidth, as a share of that at the efficiency

	ctx    [3]growth // full context, then by window
	decode []base    // decode-only steps, by number of sequences
}

// growth is what one more context token of one sequence adds to a step.
type growth struct {
	price, memory           sim.Duration // rounded up, down
	boundMemory, boundFLOPs sim.Duration // rounded down
}

// base is the part of a step that does not grow.
type base struct {
	price                      sim.Duration // rounded up
	weights, kv, compute, comm sim.Duration // rounded down
	overhead                   sim.Duration // the rest
	boundMemory, boundFLOPs    sim.Duration // rounded down
}

var _ sim.StepModel = (*Roofline)(nil)

// NewRoofline derives the coefficients of d, which must be valid; batches up to decodesMax are tabulated. A Roofline serves
// one run at a time.
func NewRoofline(d Deployment, decodesMax int) *Roofline {
	e := d.Efficiency
	r := &Roofline{
		d: d, products: d.products(), attend: d.attentions(), comm: newComm(&d), windows: len(d.Windows()),
		quadratic: e.Overlap == 2, perSeq: sim.SecondsUp(e.SequenceS), peakWeights: e.Bandwidth, peakKV: e.KVBandwidth,
	}
	r.statePS = 2 * d.Model.StateBytes() / float64(d.Parallel.Tensor) / (e.KVBandwidth * d.GPU.BandwidthBps.Value) * psPerS
	layers, moe, mixers := float64(d.Model.LayerCount()), float64(d.Model.MoELayers()), float64(d.Model.MixerLayers())
	r.fixedPS = psPerS * (float64(layers*e.LayerS) + float64(moe*e.MoELayerS) + float64(mixers*e.MixerLayerS) + e.StepS)
	for _, p := range r.products {
		switch {
		case p.lastToken:
			r.head = p
		case p.experts:
			r.experts = p
		default:
			r.dense = append(r.dense, p)
			r.readPS += p.memoryPS
			r.rowPeakPS += p.peakPS
		}
	}
	r.readPS += r.head.memoryPS
	r.rowPeakPS += r.experts.peakPS
	r.ctx = r.growths()
	r.decode = make([]base, decodesMax+1)
	for n := 1; n <= decodesMax; n++ {
		r.decode[n].fill(r, &sim.Shape{Decodes: n, DecodeTokens: int64(n), Outputs: n})
	}
	return r
}

// psPerS converts seconds to the clock's picoseconds.
const psPerS = 1e12

// growths returns what a context token adds: in layers that see all of it, and in those with either window.
func (r *Roofline) growths() [3]growth {
	var out [3]growth
	var exact [3]struct{ price, memory, boundMemory, boundFLOPs float64 }
	for i := range r.attend {
		a := &r.attend[i]
		x := &exact[a.window+1]
		m := a.ctxPS
		x.price += r.both(m, a.flopsPS)
		x.memory += m
		x.boundMemory += float64(m * r.peakKV)
		x.boundFLOPs += float64(a.flopsPS * r.d.Efficiency.AttentionCompute)
	}
	for i, x := range exact {
		out[i] = growth{
			sim.Duration(math.Ceil(x.price)), sim.Duration(x.memory), sim.Duration(x.boundMemory), sim.Duration(x.boundFLOPs),
		}
	}
	return out
}

// fill prices what does not grow with the context of the decodes: everything else. It sums picoseconds.
func (at *base) fill(r *Roofline, b *sim.Shape) {
	rows, outputs := float64(b.DecodeTokens+b.PrefillTokens), float64(b.Outputs)
	weights, products := r.linear(rows, outputs) // reading them, and with the arithmetic it overlaps
	kv := float64(r.statePS * float64(b.Decodes+b.Prefills))
	attention, flops := kv, float64(rows*r.rowPeakPS)+float64(outputs*r.head.peakPS)
	if b.Prefills > 0 {
		for i := range r.attend {
			a := &r.attend[i]
			ctx, pairs := a.prefill(b)
			m := float64(ctx * a.ctxPS)
			kv += m
			attention += r.both(m, float64(pairs*a.pairPS))
			flops += float64(pairs * a.pairPeakPS)
		}
	}
	comm := r.comm.fixedPS + float64(rows*r.comm.rowPS)
	at.price = sim.Duration(products+attention+comm+r.fixedPS) + 1 + r.perSeq*sim.Duration(b.Decodes)
	at.weights, at.kv, at.comm = sim.Duration(weights), sim.Duration(kv), sim.Duration(comm)
	at.compute = sim.Duration(products + attention - weights - kv)
	at.overhead = at.price - at.weights - at.kv - at.compute - at.comm
	at.boundMemory = sim.Duration(float64(weights*r.peakWeights) + float64(kv*r.peakKV))
	at.boundFLOPs = sim.Duration(flops)
}

// linear returns the time of the linear layers: reading their weights, and that overlapped with the arithmetic. The
// smooth maximum with p = 2 is worth a loop of its own.
func (r *Roofline) linear(rows, outputs float64) (weights, products float64) {
	if r.quadratic {
		for i := range r.dense {
			m, c := r.dense[i].memoryPS, float64(rows*r.dense[i].rowPS)
			products += math.Sqrt(float64(m*m) + float64(c*c))
		}
	} else {
		for i := range r.dense {
			products += r.both(r.dense[i].memoryPS, float64(rows*r.dense[i].rowPS))
		}
	}
	products += r.both(r.head.memoryPS, float64(outputs*r.head.rowPS))
	if r.experts.bytes == 0 {
		return r.readPS, products
	}
	m := float64(r.experts.memoryPS * r.d.active(rows))
	return r.readPS + m, products + r.both(m, float64(rows*r.experts.rowPS))
}

// both is the time of memory and compute time together.
func (r *Roofline) both(memory, compute float64) float64 {
	if r.quadratic {
		return math.Sqrt(float64(memory*memory) + float64(compute*compute))
	}
	return smax(memory, compute, r.d.Efficiency.Overlap)
}

// prefill returns what the chunks of a step see: each reads the context it attends to once, and multiplies pairs.
func (a *attention) prefill(b *sim.Shape) (ctx, pairs float64) {
	if a.window >= 0 {
		c := &b.Capped[a.window]
		return float64(c.PrefillCtx), float64(c.PrefillPairs)
	}
	return float64(b.PrefillCtx), float64(b.PrefillPairs)
}

// Price implements sim.StepModel.
func (r *Roofline) Price(ranks []sim.Shape, g *sim.Segment) {
	b := &ranks[0]
	at := &r.decode[0] // of no batch: free for those that are not tabulated
	if b.Prefills == 0 && b.Decodes < len(r.decode) {
		at = &r.decode[b.Decodes]
	} else {
		at.fill(r, b)
	}
	// What grows: price and its memory part, and both sides of the bound, by the context and per step.
	k, n, c := sim.Duration(b.DecodeCtx), sim.Duration(b.Decodes), &r.ctx[0]
	priceA, priceB, kvA, kvB := c.price*k, c.price*n, c.memory*k, c.memory*n
	memory := sim.Affine{A: at.boundMemory + c.boundMemory*k, B: c.boundMemory * n}
	flops := sim.Affine{A: at.boundFLOPs + c.boundFLOPs*k, B: c.boundFLOPs * n}
	for i := range r.windows {
		k, n, c = sim.Duration(b.Capped[i].Ctx), sim.Duration(b.Capped[i].Growing), &r.ctx[i+1]
		priceA, priceB, kvA, kvB = priceA+c.price*k, priceB+c.price*n, kvA+c.memory*k, kvB+c.memory*n
		memory.A, memory.B = memory.A+c.boundMemory*k, memory.B+c.boundMemory*n
		flops.A, flops.B = flops.A+c.boundFLOPs*k, flops.B+c.boundFLOPs*n
	}
	g.First, g.Growth, g.Steps = at.price+priceA, priceB, math.MaxInt32
	g.Part[sim.Weights] = sim.Affine{A: at.weights}
	g.Part[sim.KV] = sim.Affine{A: at.kv + kvA, B: kvB}
	// Attention that multiplies longer than it reads counts as compute, by what its price exceeds the reading.
	g.Part[sim.Compute] = sim.Affine{A: at.compute + priceA - kvA, B: priceB - kvB}
	g.Part[sim.Communication] = sim.Affine{A: at.comm}
	g.Part[sim.Overhead] = sim.Affine{A: at.overhead}
	bound(&memory, &flops, g)
}

// bound sets g's bound to the greater of two affine times, and ends the segment where the other overtakes it.
func bound(memory, flops *sim.Affine, g *sim.Segment) {
	high, low := memory, flops
	g.ComputeBound = flops.A > memory.A
	if g.ComputeBound {
		high, low = flops, memory
	}
	g.Bound = *high
	if low.B > high.B {
		g.Steps = int(min((high.A-low.A)/(low.B-high.B)+1, math.MaxInt32))
	}
}
