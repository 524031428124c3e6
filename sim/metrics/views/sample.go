package views

import (
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

const (
	// recordsMax is how many requests a sample keeps at most: enough for tails, few enough to list.
	recordsMax = 4000
	// stepsMax bounds what they hold together: 16 bytes for each step that emitted a token.
	stepsMax = 1 << 23
)

// Sample is the sink of a run that records the traced requests, token by token, and counts all others. It is also the
// recorder of the whole run, which hears everything as if the sample were not there. Where requests are too many or too
// long it drops every other one, by identity, so that what stays is a systematic sample of the whole run.
type Sample struct {
	*metrics.Full
	wire    *Wire
	every   int32
	records []Record // of request i·every at i
	begun   int      // records with a token
	steps   int      // in them all
	counts  Counts
}

var (
	_ sim.Sink   = (*Sample)(nil)
	_ sim.Tracer = (*Sample)(nil)
)

// Counts is what is known of every request of a run, after the warm-up.
type Counts struct {
	Completed, Failed int64 // rejected ones failed too
	Unfinished        int64
	Prompt, Output    int64   // tokens of the completed ones
	E2ES              float64 // Σ of their latencies
	First, LastSent   sim.Time
	Verdicts          Verdicts
}

// NewSample returns a sample of the requests whose identity is a multiple of every, as the run traces them. f is set up
// as for a run of its own; its SLO decides which requests are good.
func NewSample(f *metrics.Full, every int32, wire *Wire) *Sample {
	return &Sample{Full: f, wire: wire, every: max(1, every), counts: Counts{First: sim.Forever}}
}

// First implements sim.Sink.
func (s *Sample) First(r *sim.Request) {
	s.Full.First(r)
	s.emitted(r, r.First)
}

// Gap implements sim.Sink.
func (s *Sample) Gap(in *sim.Instance, r *sim.Request, t sim.Time, c sim.Cause) {
	s.Full.Gap(in, r, t, c)
	s.emitted(r, t)
}

// Delayed implements sim.Tracer.
func (s *Sample) Delayed(r *sim.Request, emitted int32, since, t sim.Time) {
	s.Full.Delayed(r, emitted, since, t)
	s.emitted(r, t)
}

// Tokens implements sim.Tracer.
func (s *Sample) Tokens(r *sim.Request, emitted int32, start sim.Time, g *sim.Segment, n int) {
	s.Full.Tokens(r, emitted, start, g, n)
	if s.record(r) == nil {
		return
	}
	for i := range n {
		s.emitted(r, start.Add(g.Span(i+1)))
	}
}

// Accepted implements sim.Tracer: accepted drafts come with the token that they follow.
func (s *Sample) Accepted(r *sim.Request, emitted int32, t sim.Time, n int) {
	s.Full.Accepted(r, emitted, t, n)
	for range n {
		s.emitted(r, t)
	}
}

// Done implements sim.Sink.
func (s *Sample) Done(r *sim.Request, at sim.Time, o sim.Outcome) {
	s.Full.Done(r, at, o)
	if r.Arrival < s.Warmup {
		return
	}
	s.count(r, at, o)
	if rec := s.record(r); rec != nil {
		rec.Cached, rec.Outcome = r.Cached, o
	}
	if s.begun > recordsMax || s.steps > stepsMax && s.begun > 1 {
		s.thin()
	}
}

// count adds a request that has ended to the counts of all requests.
func (s *Sample) count(r *sim.Request, at sim.Time, o sim.Outcome) {
	c := &s.counts
	c.First, c.LastSent = min(c.First, r.Arrival), max(c.LastSent, r.Arrival)
	switch o {
	case sim.Completed:
	case sim.Unfinished:
		c.Unfinished++
		return
	default:
		c.Failed++
		return
	}
	way := s.wire.stream.Egress()
	c.Completed++
	c.Prompt += int64(r.Prompt)
	c.Output += int64(r.Emitted)
	e2e := at.Sub(r.Arrival)
	c.E2ES += (e2e + way).Seconds()
	tpot := sim.Duration(0)
	if r.Emitted > 1 {
		tpot = at.Sub(r.First) / sim.Duration(r.Emitted-1)
	}
	c.Verdicts.add(s.SLO, r.First.Sub(r.Arrival)+way, tpot, e2e+way, r.Emitted)
}

// record returns the record of r, or nil if r is not part of the sample.
func (s *Sample) record(r *sim.Request) *Record {
	if !r.Traced || r.ID%s.every != 0 || r.Arrival < s.Warmup {
		return nil
	}
	i := int(r.ID / s.every)
	for i >= len(s.records) {
		s.records = append(s.records, Record{Outcome: sim.Unfinished})
	}
	rec := &s.records[i]
	if rec.Prompt == 0 {
		rec.ID, rec.Class = r.ID, r.Class
		rec.Prompt, rec.Send = r.Prompt, r.Arrival
	}
	return rec
}

// emitted records a token of r. Tokens of one instant are of one step.
func (s *Sample) emitted(r *sim.Request, t sim.Time) {
	rec := s.record(r)
	if rec == nil {
		return
	}
	if last := len(rec.Steps) - 1; last >= 0 && rec.Steps[last].At == t {
		rec.Steps[last].Tokens++
		return
	}
	if len(rec.Steps) == 0 {
		s.begun++
	}
	s.steps++
	rec.Steps = append(rec.Steps, Chunk{t, 1})
}

// thin drops every other record.
func (s *Sample) thin() {
	remaining := s.records[:0]
	s.begun, s.steps = 0, 0
	for i := 0; i < len(s.records); i += 2 {
		remaining = append(remaining, s.records[i])
		if n := len(s.records[i].Steps); n > 0 {
			s.begun, s.steps = s.begun+1, s.steps+n
		}
	}
	clear(s.records[len(remaining):])
	s.records, s.every = remaining, 2*s.every
}

// Every returns k where the sample holds every k-th request.
func (s *Sample) Every() int32 { return s.every }

// Records returns the sampled requests that have ended, in order of arrival, as their clients saw them.
func (s *Sample) Records() []Record {
	var all []Record
	for _, r := range s.records {
		if r.Prompt == 0 || r.Outcome == sim.Unfinished {
			continue
		}
		r.Up = s.wire.stream.Up()
		r.Chunks = s.wire.Deliver(r.ID, r.Steps, r.Outcome == sim.Completed)
		all = append(all, r)
	}
	return all
}

// Counts returns what is known of every request.
func (s *Sample) Counts() Counts { return s.counts }
