package hardware

import "github.com/decodesim/decodesim/sim"

// PartCost is one part of a step on one GPU: what it moves and computes, and the time that takes.
type PartCost struct {
	Name         string
	Kind         sim.Part // Weights or KV, by what it reads; Communication; Overhead
	Bytes        float64
	FLOPs        float64
	MemoryS      float64 // bytes at the achieved bandwidth, with what padding reads, in the slowest stage
	ComputeS     float64 // FLOPs at the achieved rate, the same
	TimeS        float64 // the two overlapped, as the step counts them
	MemoryPeakS  float64 // bytes at peak bandwidth
	ComputePeakS float64 // FLOPs at the peak rate of their number format

	// Of a collective: by which algorithm, what its bytes take at the peak of the slower link, and how much of it passes
	// while the GPU computes, beside TimeS.
	Algorithm string
	LinkPeakS float64
	HiddenS   float64
}

// Parts takes one decode step apart: batch sequences with the given context tokens each, the new one included.
func (r *Roofline) Parts(batch, context int) []PartCost {
	d, shape := &r.d, r.Shape(batch, context)
	var l load
	r.load(&l, &shape)
	var out []PartCost
	windows := d.Windows()
	for i := range r.products {
		out = append(out, r.explainProduct(&r.products[i], &l))
	}
	if shape.Adapters > 0 {
		out = append(out, r.adapting.explain(d, &shape))
	}
	for _, a := range r.attend {
		sees := float64(batch) / float64(min(batch, r.shares))
		if a.window >= 0 {
			sees *= float64(seen(windows[a.window], context))
		} else {
			sees *= float64(context)
		}
		out = append(out, PartCost{
			Name: "KV cache, " + a.name, Kind: sim.KV, Bytes: sees * (a.bytes + a.scores), FLOPs: sees * a.flops,
			MemoryS: sees * (a.decodePS + a.scorePS) / psPerS, ComputeS: sees * a.flopsPS / psPerS,
			ComputePeakS: sees * a.flopsPeakPS / psPerS,
			TimeS:        r.decoding(&a, sees*(a.decodePS+a.scorePS), sees*a.flopsPS) / psPerS,
		})
	}
	if state := l.sequences * 2 * d.Model.RecurrentBytes() / float64(d.Parallel.Tensor); state > 0 {
		out = append(out, PartCost{Name: "recurrent state", Kind: sim.KV, Bytes: state,
			MemoryS: l.sequences * r.statePS / psPerS})
	}
	for i := range out {
		c := &out[i]
		c.MemoryPeakS = c.Bytes / d.GPU.BandwidthBps.Value
		if c.TimeS == 0 {
			c.TimeS = smax(c.MemoryS, c.ComputeS, d.Efficiency.Overlap)
		}
	}
	_, rows := r.busiest(l.tokens, r.touched(l.tokens))
	if moved := float64(rows * l.tokens * r.experts.copyPS); moved > 0 {
		out = append(out, PartCost{Name: "expert activations", Kind: sim.Overhead, TimeS: moved / psPerS})
	}
	if bytes := l.asked * d.Model.ResidualRowBytes(); bytes > 0 {
		s := l.rows * r.residualPS / psPerS // no part of the bound, for few rows may stay on chip
		out = append(out, PartCost{Name: "residual streams", Kind: sim.Compute, Bytes: bytes, MemoryS: s, TimeS: s})
	}
	comm, more := r.explainComm(&l)
	out = append(append(out, comm...),
		PartCost{Name: "overhead", Kind: sim.Overhead,
			TimeS: (r.fixedPS+more)/psPerS + float64(float64(l.decodes)*r.perSeq.Seconds())})
	sum := 0.0
	for i := range out {
		sum += out[i].TimeS
	}
	if floor := r.host(&l).least.Seconds(); floor > sum {
		out = append(out, PartCost{Name: "waiting for the host", Kind: sim.Overhead, TimeS: floor - sum})
	}
	return out
}

// ChunkFloor returns the least that the attention of a chunk takes which ends at such a context, and from how many
// tokens of the chunk it takes more; 0: there is no least. Where kinds of layers differ, it is the longest's tokens.
func (r *Roofline) ChunkFloor(context int) (leastS float64, tokens int) {
	longest := 0.0
	for i := range r.attend {
		a := &r.attend[i]
		tile := float64(min(int64(context), a.tileCtx)) * a.tilePS
		leastS += tile / psPerS
		if tile > longest {
			longest, tokens = tile, int(a.tilePS/a.pairPS)
		}
	}
	return leastS, tokens
}

// explainProduct takes a group of matrix products apart.
func (r *Roofline) explainProduct(p *product, l *load) PartCost {
	rows, asked := l.rows, l.asked
	read, touched := 1.0, 1.0
	padding, more := 1.0, 1.0
	switch {
	case p.lastToken:
		rows, asked = l.outputs, l.outputs
	case p.experts:
		rows, asked = l.tokens, l.routed
		read, touched = r.touched(rows), r.touched(asked)
		padding = r.tiling.padding(rows, read)
		read, more = r.busiest(rows, read)
	}
	return PartCost{
		Name: p.name, Kind: sim.Weights, Bytes: p.bytes * touched, FLOPs: asked * p.flops,
		MemoryS: p.memoryPS * read / psPerS, ComputeS: float64(more*rows*p.rowPS) * padding / psPerS,
		ComputePeakS: asked * p.peakPS / psPerS,
	}
}

// Share is what the busiest GPU has of a decode step.
type Share struct {
	Sequences int     // of its data-parallel rank
	Rows      int     // that its linear layers multiply: those of a microbatch, padded to a CUDA graph
	Padding   int     // of them
	Tokens    int     // that its experts are shared by: those of all ranks
	Eager     bool    // launched kernel by kernel
	LaunchS   float64 // that the host takes for that at least, in seconds; 0: not eager, or not known
}

// Share returns that of a step of batch decodes.
func (r *Roofline) Share(batch int) Share {
	var l load
	r.load(&l, &sim.Shape{Decodes: batch, DecodeTokens: int64(batch), Outputs: batch})
	share := Share{l.decodes, int(l.rows), int(l.rows - l.asked), int(l.tokens), l.eager, 0}
	if l.eager {
		share.LaunchS = r.launching()
	}
	return share
}

// ExpertsRead returns how many of the routed experts of a layer a decode step of batch sequences is expected to read.
func (r *Roofline) ExpertsRead(batch int) float64 {
	return float64(r.d.Model.Experts()+r.d.Routing.Redundant) * r.touched(float64(r.Share(batch).Tokens))
}

// BusiestExperts returns how many times the mean over GPUs the busiest one reads of a layer's experts in a decode step
// of batch sequences, and multiplies of their rows.
func (r *Roofline) BusiestExperts(batch int) (read, rows float64) {
	tokens := float64(r.Share(batch).Tokens)
	touched := r.touched(tokens)
	read, rows = r.busiest(tokens, touched)
	return read / touched, rows
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
	r.d.wear(&b)
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
