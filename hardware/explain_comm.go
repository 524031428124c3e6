package hardware

import "github.com/decodesim/decodesim/sim"

// The collectives that Parts tells apart.
const (
	AllReducePart = "all-reduce"
	DispatchPart  = "dispatch to experts"
	CombinePart   = "combine from experts"
	HopPart       = "transfers between stages"
	LogitsPart    = "all-gather of logits"
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
	return parts, more
}

// hidden returns how much of dispatch and combine is left, and by how much the rest of the step is longer.
func (r *Roofline) hidden(l *load, exchange float64) (visible, more float64) {
	weights, products, _ := r.linear(l)
	fixed, before := r.fixedPS, products
	r.hide(l, &hiding{&weights, &products, &fixed, &exchange})
	return exchange, products - before + fixed - r.fixedPS
}
