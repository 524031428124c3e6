package hardware

import (
	"slices"

	"github.com/decodesim/decodesim/sim"
)

// The collectives that Parts tells apart.
const (
	AllReducePart = "all-reduce"
	DispatchPart  = "dispatch to experts"
	CombinePart   = "combine from experts"
	HopPart       = "transfers between stages"
	LogitsPart    = "all-gather of logits"
	YieldsPart    = "all-gather of what experts yield"
)

// explainComm returns the collectives of a step, as far as nothing hides them, and by how much a step is longer
// otherwise for hiding them: two halves of a batch read all weights twice.
func (r *Roofline) explainComm(l *load) (parts []PartCost, more float64) {
	add := func(name string, c *linearPS, l *load, visible float64) {
		whole := c.ps(l) / psPerS
		parts = append(parts, PartCost{Name: name, Kind: sim.Communication, Algorithm: c.name, TimeS: whole * visible,
			HiddenS: whole - float64(whole*visible), LinkPeakS: c.peak(l) / psPerS})
	}
	if a := quickest(r.comm.reduce, l); a != nil {
		add(AllReducePart, a, l, 1)
	}
	if x := r.comm.exchange(l); x != nil {
		visible, all := 1.0, x.ps(l)
		if r.d.Parallel.Overlap != NoOverlap && all > 0 {
			visible, more = r.hidden(l, all)
			visible /= all
		}
		add(DispatchPart, &x.dispatch, l, visible)
		add(CombinePart, &x.combine, l, visible)
	}
	if r.comm.hop != (linearPS{}) {
		add(HopPart, &r.comm.hop, l, 1)
	}
	if out, a := r.comm.outputs(l); a != nil {
		add(LogitsPart, a, &out, 1)
	}
	if a := quickest(r.comm.yields, l); a != nil {
		add(YieldsPart, a, l, 1)
	}
	return parts, more
}

// Sent is what kernels that send tokens to experts send: the bytes of a copy of a token, to dispatch it and to combine
// what it yields, and on how many of so many GPUs and domains the experts of a token are.
type Sent struct {
	DispatchBytes  float64 `json:"dispatch_bytes"` // in the format that experts compute in, with its scales
	CombineBytes   float64 `json:"combine_bytes"`  // in 16 bits
	GPUs           int     `json:"gpus"`
	GPUsReached    float64 `json:"gpus_reached"` // expected of choices at random, within groups of experts where it has some
	Domains        int     `json:"domains"`      // of the scale-up link: hosts, or racks of them
	DomainsReached float64 `json:"domains_reached"`
}

// Sent says what is sent of a token in a decode step of a batch; nil: no kernel sends tokens, which all GPUs gather or
// which stay where they are.
func (r *Roofline) Sent(batch, context int) *Sent {
	shape := r.Shape(batch, context)
	var l load
	r.load(&l, &shape)
	x := r.comm.exchange(&l)
	if x == nil || !slices.Contains(sendingKernels(), x.dispatch.name) {
		return nil
	}
	d := &r.d
	s := d.span(d.Parallel.expertGPUs())
	return &Sent{
		DispatchBytes: d.dispatchBytes(), CombineBytes: d.expertRowBytes(),
		GPUs: d.Parallel.expertGPUs(), GPUsReached: d.Reached(d.Parallel.expertGPUs()),
		Domains: int(s.domains), DomainsReached: d.Reached(int(s.domains)),
	}
}

// hidden returns how much of dispatch and combine is left, and by how much the rest of the step is longer.
func (r *Roofline) hidden(l *load, exchange float64) (visible, more float64) {
	weights, products, _ := r.linear(l)
	fixed, before := r.fixedPS, products
	r.hide(l, &hiding{&weights, &products, &fixed, &exchange})
	return exchange, products - before + fixed - r.fixedPS
}
