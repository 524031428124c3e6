package main

import "github.com/decodesim/decodesim/sim"

var (
	_ sim.Sink   = (*diary)(nil)
	_ sim.Tracer = (*diary)(nil)
)

// diary notes when each token of each request came, and when the steps of a watched scheduler began.
type diary struct {
	watched   *watched // nil: runs of steps
	tokens    map[int32][]int64
	cached    map[int32]int32
	transfers map[int32]Transfer // nil: not of interest
	sends     bool               // of interest is when prompts are complete, which clients learn from elsewhere
}

func (d *diary) note(r *sim.Request, t sim.Time) {
	d.tokens[r.ID] = append(d.tokens[r.ID], int64(t)/int64(sim.Nanosecond))
}

// First implements sim.Sink.
func (d *diary) First(r *sim.Request) { d.note(r, r.First) }

// Run implements sim.Sink.
func (d *diary) Run(in *sim.Instance, start sim.Time, g *sim.Segment, _, _ int) {
	if d.watched == nil {
		return
	}
	if c := d.watched.of[in.ID]; c != nil {
		if in.Pipeline() != nil && in.Pool().AsyncScheduling {
			start = start.Add(g.First)
		}
		c.steps[c.begun].Start = int64(start) / int64(sim.Nanosecond)
		c.begun++
	}
}

// Paused implements sim.Sink.
func (d *diary) Paused(*sim.Instance, sim.Time, sim.Time, *sim.Segment, int) {}

// Burst implements sim.Sink.
func (d *diary) Burst(*sim.Instance, sim.Time, int) {}

// Gap implements sim.Sink.
func (d *diary) Gap(_ *sim.Instance, r *sim.Request, t sim.Time, _ sim.Cause) { d.note(r, t) }

// Done implements sim.Sink.
func (d *diary) Done(r *sim.Request, _ sim.Time, _ sim.Outcome) {
	d.cached[r.ID] = r.Cached
	if d.transfers != nil {
		d.transfers[r.ID] = transferOf(r)
	}
	if d.sends {
		d.tokens[r.ID] = []int64{transferOf(r).Pending}
	}
}

// Tokens implements sim.Tracer.
func (d *diary) Tokens(r *sim.Request, _ int32, start sim.Time, g *sim.Segment, n int) {
	for i := range n {
		d.note(r, start.Add(g.Span(i+1)))
	}
}

// Delayed implements sim.Tracer.
func (d *diary) Delayed(r *sim.Request, _ int32, _, t sim.Time) { d.note(r, t) }

// Accepted implements sim.Tracer.
func (d *diary) Accepted(r *sim.Request, _ int32, t sim.Time, n int) {
	for range n {
		d.note(r, t)
	}
}
