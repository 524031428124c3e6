package live

import "github.com/decodesim/decodesim/sim"

var (
	_ sim.Sink             = (*sink)(nil)
	_ sim.Tracer           = (*sink)(nil)
	_ sim.TransferObserver = (*sink)(nil)
)

// recorder is the sink that a run would have without its clients.
type recorder interface {
	sim.Sink
	sim.Tracer
	sim.TransferObserver
}

// sink stands in front of the recorder of a run and releases each token to its client.
type sink struct {
	recorder
	fleet *Fleet
}

// newSink puts the clients of f in front of s.
func newSink(f *Fleet, s sim.Sink) *sink {
	r, ok := s.(recorder)
	if !ok {
		panic("live: the recorder of a run follows single requests")
	}
	return &sink{r, f}
}

// First implements sim.Sink.
func (s *sink) First(r *sim.Request) {
	s.recorder.First(r)
	if o := s.fleet.open[r.ID]; o != nil {
		o.answer.cached.Store(r.Cached)
		s.fleet.counters[o.instance].first(r, s.fleet.delays.egress)
	}
	s.fleet.emit(r.ID, r.First, 1)
}

// Run implements sim.Sink.
func (s *sink) Run(in *sim.Instance, start sim.Time, g *sim.Segment, n, tokens int) {
	s.recorder.Run(in, start, g, n, tokens)
	s.fleet.counters[in.Replica().ID].step(in, g, n, tokens)
}

// Paused implements sim.Sink.
func (s *sink) Paused(in *sim.Instance, since, start sim.Time, g *sim.Segment, tokens int) {
	s.recorder.Paused(in, since, start, g, tokens)
	s.fleet.counters[in.Replica().ID].gaps(start.Add(g.First).Sub(since), tokens)
}

// Gap implements sim.Sink.
func (s *sink) Gap(in *sim.Instance, r *sim.Request, t sim.Time, c sim.Cause) {
	s.recorder.Gap(in, r, t, c)
	s.fleet.counters[in.Replica().ID].gaps(t.Sub(r.Last), 1)
	s.fleet.emit(r.ID, t, 1)
}

// Burst implements sim.Sink.
func (s *sink) Burst(in *sim.Instance, t sim.Time, tokens int) {
	s.recorder.Burst(in, t, tokens)
	s.fleet.counters[in.Replica().ID].Generated += int64(tokens)
}

// Tokens implements sim.Tracer.
func (s *sink) Tokens(r *sim.Request, emitted int32, start sim.Time, g *sim.Segment, n int) {
	s.recorder.Tokens(r, emitted, start, g, n)
	for i := range n {
		s.fleet.emit(r.ID, start.Add(g.Span(i+1)), 1)
	}
}

// Delayed implements sim.Tracer.
func (s *sink) Delayed(r *sim.Request, emitted int32, since, t sim.Time) {
	s.recorder.Delayed(r, emitted, since, t)
	s.fleet.emit(r.ID, t, 1)
}

// Accepted implements sim.Tracer.
func (s *sink) Accepted(r *sim.Request, emitted int32, t sim.Time, n int) {
	s.recorder.Accepted(r, emitted, t, n)
	if o := s.fleet.open[r.ID]; o != nil {
		accepted := s.fleet.counters[o.instance].Accepted
		for i := range n {
			accepted[i]++
		}
	}
	s.fleet.emit(r.ID, t, int32(n))
}

// Done implements sim.Sink.
func (s *sink) Done(r *sim.Request, at sim.Time, o sim.Outcome) {
	s.recorder.Done(r, at, o)
	if under := s.fleet.open[r.ID]; under != nil {
		if under.instance >= 0 {
			s.fleet.counters[under.instance].done(r, at, o, s.fleet.delays.egress)
			if under.samples != nil {
				s.fleet.counters[under.instance].sampled(under.samples, r.Emitted)
			}
		}
		s.fleet.end(under.answer, at, o)
		delete(s.fleet.open, r.ID)
	}
	if s.fleet.record != nil {
		s.fleet.record.end(r.ID)
	}
}

// emit has the client of a request get tokens that were emitted at t: at once, or when a chunk of them is full.
func (f *Fleet) emit(id int32, t sim.Time, tokens int32) {
	o := f.open[id]
	if o == nil {
		return // its client is gone, and the step under way had it
	}
	a := o.answer
	a.pending += tokens
	if a.pending >= f.interval || !a.begun {
		a.begun = true
		f.delays.push(delayed{t.Add(f.delays.egress), a, a.pending, underway})
		a.pending = 0
	}
}

// end reports the outcome of a request to its client, with what a chunk still lacks of a completed one.
func (f *Fleet) end(a *Answer, at sim.Time, o sim.Outcome) {
	tokens := int32(0)
	if o == sim.Completed {
		tokens = a.pending
	}
	a.pending = 0
	f.delays.push(delayed{at.Add(f.delays.egress), a, tokens, int32(o)})
}

// delayed is what is on its way from the engine to a client.
type delayed struct {
	at      sim.Time
	answer  *Answer
	tokens  int32
	outcome int32
}

// delays is what is on its way to clients, in order of time, for it takes all the same time.
type delays struct {
	egress sim.Duration
	queue  []delayed
	head   int
}

func (d *delays) push(x delayed) { d.queue = append(d.queue, x) }

// next returns when the next of it arrives.
func (d *delays) next() sim.Time {
	if d.head == len(d.queue) {
		return sim.Forever
	}
	return d.queue[d.head].at
}

// release lets clients have what has arrived by an instant.
func (d *delays) release(f *Fleet, to sim.Time) {
	for ; d.head < len(d.queue) && d.queue[d.head].at <= to; d.head++ {
		x := &d.queue[d.head]
		a := x.answer
		if x.tokens > 0 {
			a.due.Store(int64(x.at))
			a.released.Add(x.tokens)
			f.released = append(f.released, releasedTokens{x.at, x.tokens})
		}
		if x.outcome != underway {
			a.outcome.Store(x.outcome)
		}
		f.dirty = append(f.dirty, a)
		*x = delayed{}
	}
	if d.head == len(d.queue) {
		d.queue, d.head = d.queue[:0], 0
	} else if d.head > 1<<12 {
		n := copy(d.queue, d.queue[d.head:])
		clear(d.queue[n:])
		d.queue, d.head = d.queue[:n], 0
	}
}
