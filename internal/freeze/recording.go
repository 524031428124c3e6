package freeze

import (
	"github.com/decodesim/decodesim/internal/validation"
	"github.com/decodesim/decodesim/sim"
)

// recording records the batches of a run.
type recording struct {
	*validation.Observation
	model  sim.StepModel
	closed bool // clients send when they have been answered
	last   sim.Shape
	steps  []taped
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
	t.last = ranks[0]
	t.model.Price(ranks, g)
}

// Run implements sim.Sink.
func (t *recording) Run(in *sim.Instance, start sim.Time, g *sim.Segment, n, tokens int) {
	t.Observation.Run(in, start, g, n, tokens)
	s := taped{shape: t.last, n: n, start: start, span: g.Span(n)}
	s.shape.DecodeCtx += int64(s.shape.Decodes) * int64(n-1) / 2
	for i := range s.shape.Capped {
		s.shape.Capped[i].Ctx += int64(s.shape.Capped[i].Growing) * int64(n-1) / 2
	}
	t.steps = append(t.steps, s)
}
