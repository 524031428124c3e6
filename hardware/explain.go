package hardware

import "github.com/decodesim/decodesim/sim"

// PartCost is one part of a step on one GPU: what it moves and computes, and the time that takes.
type PartCost struct {
	Name         string
	Kind         sim.Part // Weights or KV, by what it reads; Communication; Overhead
	Bytes        float64
	FLOPs        float64
	MemoryS      float64 // bytes at the achieved bandwidth
	ComputeS     float64 // FLOPs at the achieved rate
	TimeS        float64 // the two overlapped, as the step counts them
	MemoryPeakS  float64 // bytes at peak bandwidth
	ComputePeakS float64 // FLOPs at the peak rate of their number format
}

// Parts takes one decode step apart: batch sequences with the given context tokens each, the new one included.
func (r *Roofline) Parts(batch, context int) []PartCost {
	d, n := &r.d, float64(batch)
	e, windows := d.Efficiency, d.Windows()
	var out []PartCost
	for i := range r.products {
		p := &r.products[i]
		out = append(out, PartCost{
			Name: p.name, Kind: sim.Weights, Bytes: r.read(p, n), FLOPs: n * p.flops,
			ComputeS: n * p.rowPS / psPerS, ComputePeakS: n * p.peakPS / psPerS,
		})
	}
	for _, a := range r.attend {
		sees := n * float64(context)
		if a.window >= 0 {
			sees = n * float64(seen(windows[a.window], context))
		}
		flops := sees * a.flops
		out = append(out, PartCost{
			Name: "KV cache, " + a.name, Kind: sim.KV, Bytes: sees * a.bytes, FLOPs: flops,
			ComputeS: sees * a.flopsPS / psPerS, ComputePeakS: flops / d.GPU.FLOPS.BF16.Value,
		})
	}
	if state := n * 2 * d.Model.StateBytes() / float64(d.Parallel.Tensor); state > 0 {
		out = append(out, PartCost{Name: "recurrent state", Kind: sim.KV, Bytes: state})
	}
	for i := range out {
		c, share := &out[i], e.Bandwidth
		if c.Kind == sim.KV {
			share = e.KVBandwidth
		}
		c.MemoryPeakS = c.Bytes / d.GPU.BandwidthBps.Value
		c.MemoryS = c.MemoryPeakS / share
		c.TimeS = smax(c.MemoryS, c.ComputeS, e.Overlap)
	}
	return append(out,
		PartCost{Name: "communication", Kind: sim.Communication, TimeS: (r.comm.fixedPS + n*r.comm.rowPS) / psPerS},
		PartCost{Name: "overhead", Kind: sim.Overhead, TimeS: r.fixedPS/psPerS + n*e.SequenceS})
}

// ExpertsRead returns how many of the routed experts of a layer a decode step of batch sequences is expected to read.
func (r *Roofline) ExpertsRead(batch int) float64 {
	return float64(r.d.Model.Experts()) * r.d.active(float64(batch))
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
