package hardware

import "github.com/decodesim/decodesim/sim"

// PartCost is one part of a step on one GPU: what it moves and computes, and the time that takes.
type PartCost struct {
	Name     string
	Bytes    float64
	FLOPs    float64
	MemoryS  float64 // bytes at the achieved bandwidth
	ComputeS float64 // FLOPs at the achieved rate
	TimeS    float64 // the two overlapped, as the step counts them
	BoundS   float64 // max(bytes, FLOPs) at peak
}

// Parts takes one decode step apart: batch sequences with the given context tokens each, the new one included.
func (r *Roofline) Parts(batch, context int) []PartCost {
	d, n := &r.d, float64(batch)
	e, bw, f16 := d.Efficiency, d.GPU.BandwidthBps.Value, d.GPU.FLOPS.BF16.Value
	var out []PartCost
	for i := range r.products {
		p := &r.products[i]
		c := PartCost{Name: p.name, Bytes: r.read(p, n), FLOPs: n * p.flops, ComputeS: n * p.rowS}
		c.MemoryS = c.Bytes / (e.Bandwidth * bw)
		c.TimeS, c.BoundS = smax(c.MemoryS, c.ComputeS, e.Overlap), max(c.Bytes/bw, n*p.peakS)
		out = append(out, c)
	}
	windows := d.Windows()
	for _, a := range r.attend {
		sees := float64(context)
		if a.window >= 0 {
			sees = float64(seen(windows[a.window], context))
		}
		c := PartCost{Name: "KV cache, " + a.name, Bytes: n * sees * a.bytes, FLOPs: n * sees * a.flops}
		c.MemoryS, c.ComputeS = r.attentionS(c.Bytes, c.FLOPs)
		c.TimeS, c.BoundS = smax(c.MemoryS, c.ComputeS, e.Overlap), max(c.Bytes/bw, c.FLOPs/f16)
		out = append(out, c)
	}
	if state := n * 2 * d.Model.StateBytes() / float64(d.Parallel.Tensor); state > 0 {
		out = append(out, PartCost{Name: "recurrent state", Bytes: state, MemoryS: n * r.stateS, TimeS: n * r.stateS, BoundS: state / bw})
	}
	return append(out,
		PartCost{Name: "communication", TimeS: r.comm.fixedS + n*r.comm.rowS},
		PartCost{Name: "overhead", TimeS: r.fixedS + n*e.SequenceS})
}

func seen(w sim.Window, context int) int {
	if w.Chunked {
		return (context-1)%int(w.Tokens) + 1
	}
	return min(context, int(w.Tokens))
}

// Shape returns the shape of that step.
func (r *Roofline) Shape(batch, context int) sim.Shape {
	b := sim.Shape{Decodes: batch, DecodeTokens: int64(batch), DecodeCtx: int64(batch) * int64(context), Outputs: batch}
	for i, w := range r.d.Windows() {
		v := seen(w, context)
		b.Capped[i].Ctx = int64(batch) * int64(v)
		if w.Chunked || v < int(w.Tokens) {
			b.Capped[i].Growing = batch
		}
	}
	return b
}

// Step prices that step.
func (r *Roofline) Step(batch, context int) sim.Segment {
	var g sim.Segment
	r.Price([]sim.Shape{r.Shape(batch, context)}, &g)
	return g
}

// Deployment returns what r prices.
func (r *Roofline) Deployment() Deployment { return r.d }
