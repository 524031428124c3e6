package hardware

import (
	"math"

	"github.com/decodesim/decodesim/sim"
)

// base is the part of a step that does not grow.
type base struct {
	price                      sim.Duration // rounded up
	weights, kv, compute, comm sim.Duration // rounded down
	overhead                   sim.Duration // the rest
	boundMemory, boundFLOPs    sim.Duration // rounded down
	host                       hostTimes
}

// fill prices what does not grow with the context of the decodes: everything else. It sums picoseconds.
func (at *base) fill(r *Roofline, b *sim.Shape) {
	var l load
	r.load(&l, b)
	weights, products, moved := r.linear(&l) // reading them, and with the arithmetic it overlaps
	comm, exchange := r.comm.ps(&l)
	fixed := r.fixedPS
	if l.prompts {
		fixed += r.promptPS
	}
	if exchange > 0 && r.d.Parallel.Overlap != NoOverlap {
		r.hide(&l, &hiding{&weights, &products, &fixed, &exchange})
	}
	comm += exchange
	kv := float64(r.statePS * l.sequences)
	attention := kv
	flops := float64(l.asked*r.rowPeakPS) + float64(l.routed*r.experts.peakPS) + float64(l.outputs*r.head.peakPS)
	if b.Prefills > 0 {
		for i := range r.attend {
			a := &r.attend[i]
			ctx, pairs := a.prefill(b)
			ctx, pairs = ctx*l.prefill, pairs*l.prefill
			m := float64(ctx*a.ctxPS) + float64(pairs*a.scorePS)
			kv += m
			multiplied := float64(pairs * a.pairPS)
			if a.tilePS > 0 {
				multiplied = max(multiplied, float64(min(b.PrefillLongest, a.tileCtx))*a.tilePS)
			}
			attention += r.both(m, multiplied)
			if a.expandPS > 0 {
				attention += a.again(float64(max(0, b.PrefillCtx-b.PrefillTokens))*l.prefill, pairs)
			}
			flops += float64(pairs * a.pairPeakPS)
		}
	}
	at.price = sim.Duration(products+attention+comm+fixed+float64(l.outputs*r.samplePS)) + 1 +
		r.perSeq*sim.Duration(l.decodes)
	at.weights, at.kv, at.comm = sim.Duration(weights), sim.Duration(kv), sim.Duration(comm)
	at.compute = sim.Duration(products + attention - weights - kv - moved)
	at.overhead = at.price - at.weights - at.kv - at.compute - at.comm
	if l.routed != l.tokens || r.d.Parallel.Overlap == TwoBatch || r.routing.busiest != nil {
		weights = r.reads(l.routed) // the bound needs no weights for padding, nor twice, and shares them evenly
	}
	at.boundMemory = sim.Duration(float64(weights*r.peakWeights) + float64(kv*r.peakKV))
	at.boundFLOPs = sim.Duration(flops)
	at.host = r.host(&l)
}

// linear returns the time of the linear layers: reading their weights, that overlapped with the arithmetic and with
// residual streams between them, and of it moving the activations of experts. The smooth maximum with p = 2 is worth a
// loop of its own.
func (r *Roofline) linear(l *load) (weights, products, moved float64) {
	if r.quadratic {
		for i := range r.dense {
			m, c := r.dense[i].memoryPS, float64(l.rows*r.dense[i].rowPS)
			products += math.Sqrt(float64(m*m) + float64(c*c))
		}
	} else {
		for i := range r.dense {
			products += r.both(r.dense[i].memoryPS, float64(l.rows*r.dense[i].rowPS))
		}
	}
	products += r.both(r.head.memoryPS, float64(l.outputs*r.head.rowPS)) + float64(l.rows*r.residualPS)
	if r.experts.bytes == 0 {
		return r.readPS, products, 0
	}
	weights, routed, moved := r.expertProducts(l)
	return r.readPS + weights, products + routed, moved
}

// both is the time of memory and compute time together.
func (r *Roofline) both(memory, compute float64) float64 {
	if r.quadratic {
		return math.Sqrt(float64(memory*memory) + float64(compute*compute))
	}
	return smax(memory, compute, r.d.Efficiency.Overlap)
}

// again returns what chunks take more for tokens that come before them, whose latents they expand again, or, where that
// is quicker, for attending to the latents themselves, as a decode does.
func (a *attention) again(before, pairs float64) float64 {
	return min(float64(before*a.expandPS), float64(pairs*max(0, a.flopsPS-a.pairPS)))
}

// prefill returns what the chunks of a step see: each reads the context it attends to once, and multiplies pairs.
func (a *attention) prefill(b *sim.Shape) (ctx, pairs float64) {
	if a.window >= 0 {
		c := &b.Capped[a.window]
		return float64(c.PrefillCtx), float64(c.PrefillPairs)
	}
	return float64(b.PrefillCtx), float64(b.PrefillPairs)
}
