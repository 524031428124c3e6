package sglang

import (
	"maps"
	"slices"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// watched records what its scheduler composes.
type watched struct {
	*schedulers.SGLang
	of map[int32]*composed // by instance: the engine, or its ranks
}

// composed is what an instance has composed.
type composed struct {
	steps     []step
	retracted []int32 // as the step before ended
	runs      int     // of steps that began
}

func (w *watched) by(in *sim.Instance) *composed {
	if w.of[in.ID] == nil {
		w.of[in.ID] = &composed{}
	}
	return w.of[in.ID]
}

// all returns the steps of the engine or, if it has ranks, those of the first rank, then those of the next.
func (w *watched) all() (steps []step) {
	for _, id := range slices.Sorted(maps.Keys(w.of)) {
		steps = append(steps, w.of[id].steps...)
	}
	return steps
}

// Retract implements sim.Retractor.
func (w *watched) Retract(in *sim.Instance, work *sim.Work) {
	before := running(in)
	w.SGLang.Retract(in, work)
	w.by(in).retracted = missing(before, running(in))
}

// Schedule implements sim.Scheduler. Each answer holds for one step.
func (w *watched) Schedule(in *sim.Instance, work *sim.Work) int {
	before := running(in)
	w.SGLang.Schedule(in, work)
	c := w.by(in)
	s := step{Preempted: c.retracted}
	c.retracted = nil
	for r := in.LastAdmitted(); r != nil; r = in.AdmittedBefore(r) {
		n, computed := in.Composed(r)
		if n > 0 && (in.Prefills(r) || !work.Paused()) {
			s.Batch = append(s.Batch, [3]int32{r.ID, n, computed})
		}
	}
	slices.Reverse(s.Batch)
	s.Preempted = append(s.Preempted, missing(before, running(in))...)
	s.Free = work.FreeBlocks() * int64(in.Cache().BlockSize())
	if len(s.Batch) > 0 {
		c.steps = append(c.steps, s)
	}
	return 1
}

// missing returns which of before are not in now.
func missing(before, now []int32) (ids []int32) {
	for _, id := range before {
		if !slices.Contains(now, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

func running(in *sim.Instance) (ids []int32) {
	for r := in.LastAdmitted(); r != nil; r = in.AdmittedBefore(r) {
		ids = append(ids, r.ID)
	}
	for i := 0; in.Accepted(i) != nil; i++ {
		ids = append(ids, in.Accepted(i).ID)
	}
	return ids
}

// sink records when each request emitted its tokens, and when steps began.
type sink struct {
	metrics.Recorder
	watched *watched          // nil: nobody watches
	tokens  map[int32][]int64 // in ns
}

func newSink() *sink { return &sink{tokens: map[int32][]int64{}} }

func (s *sink) emit(id int32, t sim.Time) { s.tokens[id] = append(s.tokens[id], int64(t)/1000) }

// Run implements sim.Sink.
func (s *sink) Run(in *sim.Instance, start sim.Time, _ *sim.Segment, _, _ int) {
	if s.watched == nil {
		return
	}
	if c := s.watched.of[in.ID]; c != nil {
		c.steps[c.runs].T = int64(start) / 1000
		c.runs++
	}
}

// Paused implements sim.Sink.
func (s *sink) Paused(*sim.Instance, sim.Time, sim.Time, *sim.Segment, int) {}

// Burst implements sim.Sink.
func (s *sink) Burst(*sim.Instance, sim.Time, int) {}

// First implements sim.Sink.
func (s *sink) First(r *sim.Request) { s.emit(r.ID, r.First) }

// Gap implements sim.Sink.
func (s *sink) Gap(_ *sim.Instance, r *sim.Request, t sim.Time, _ sim.Cause) { s.emit(r.ID, t) }

// Done implements sim.Sink.
func (s *sink) Done(*sim.Request, sim.Time, sim.Outcome) {}

// Tokens implements sim.Tracer.
func (s *sink) Tokens(r *sim.Request, _ int32, start sim.Time, g *sim.Segment, n int) {
	for i := range n {
		s.emit(r.ID, start.Add(g.Span(i+1)))
	}
}

// Accepted implements sim.Tracer.
func (s *sink) Accepted(r *sim.Request, _ int32, t sim.Time, n int) {
	for range n {
		s.emit(r.ID, t)
	}
}

// Delayed implements sim.Tracer.
func (s *sink) Delayed(r *sim.Request, _ int32, _, t sim.Time) { s.emit(r.ID, t) }
