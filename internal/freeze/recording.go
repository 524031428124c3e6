package freeze

import (
	"github.com/decodesim/decodesim/internal/validation"
	"github.com/decodesim/decodesim/sim"
)

// recording records the batches of a run.
type recording struct {
	*validation.Observation
	model     sim.StepModel
	closed    bool    // clients send when they have been answered
	tokenizeS float64 // of each token of a prompt
	last      sim.Shape
	steps     []taped
}

var (
	_ sim.StepModel = (*recording)(nil)
	_ sim.Sink      = (*recording)(nil)
)

// taped is n steps of a batch; its shape is that of the middle of them.
type taped struct {
	shape sim.Shape
	n     int
	start sim.Time
	span  sim.Duration
}

func (s *taped) end() sim.Time { return s.start.Add(s.span) }

// Price implements sim.StepModel. Each price is that of the run of steps which Run tells of next: the one instance of
// the pool commits a run before it plans another.
func (t *recording) Price(ranks []sim.Shape, g *sim.Segment) {
	t.last = sum(ranks)
	t.model.Price(ranks, g)
}

// Run implements sim.Sink.
func (t *recording) Run(in *sim.Instance, start sim.Time, g *sim.Segment, n, tokens int) {
	t.Observation.Run(in, start, g, n, tokens)
	if k := len(t.steps); k > 0 && t.steps[k-1].start == start {
		return // another rank has reported it
	}
	s := taped{shape: t.last, n: n, start: start, span: g.Span(n)}
	s.shape.DecodeCtx += int64(s.shape.Decodes) * int64(n-1) / 2
	for i := range s.shape.Capped {
		s.shape.Capped[i].Ctx += int64(s.shape.Capped[i].Growing) * int64(n-1) / 2
	}
	t.steps = append(t.steps, s)
}

// sum returns the batch of all ranks together, which is priced anew as one that they share evenly: what an efficiency
// changes of the one it changes of the other, nearly.
func sum(ranks []sim.Shape) sim.Shape {
	all := ranks[0]
	for i := range ranks[1:] {
		b := &ranks[1+i]
		all.Decodes, all.Prefills, all.Outputs = all.Decodes+b.Decodes, all.Prefills+b.Prefills, all.Outputs+b.Outputs
		all.DecodeTokens, all.DecodeCtx, all.Drafts = all.DecodeTokens+b.DecodeTokens, all.DecodeCtx+b.DecodeCtx,
			all.Drafts+b.Drafts
		all.PrefillTokens, all.PrefillPairs = all.PrefillTokens+b.PrefillTokens, all.PrefillPairs+b.PrefillPairs
		all.PrefillCtx, all.PrefillLongest = all.PrefillCtx+b.PrefillCtx, max(all.PrefillLongest, b.PrefillLongest)
		for j := range all.Capped {
			w, own := &all.Capped[j], &b.Capped[j]
			w.Ctx, w.Growing = w.Ctx+own.Ctx, w.Growing+own.Growing
			w.PrefillPairs, w.PrefillCtx = w.PrefillPairs+own.PrefillPairs, w.PrefillCtx+own.PrefillCtx
		}
	}
	return all
}
