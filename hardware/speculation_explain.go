package hardware

import "github.com/decodesim/decodesim/sim"

// DraftShape returns the shape of a step in which each of batch sequences verifies so many drafts; context counts what each
// would attend to without them.
func (r *Roofline) DraftShape(batch, context, drafts int) sim.Shape {
	b := r.Shape(batch, context+drafts)
	b.Drafts = int64(batch) * int64(drafts)
	b.DecodeTokens += b.Drafts
	b.Outputs = int(b.DecodeTokens)
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
	var alone sim.Segment
	verify.Price(ranks, &alone)
	return g, (g.First - alone.First).Seconds()
}
