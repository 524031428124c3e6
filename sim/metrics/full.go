package metrics

import (
	"math/bits"

	"github.com/decodesim/decodesim/sim"
)

// Full is the Recorder of a whole run: it also records the traced requests by output position, the load over time, KV
// transfers, and each service class separately.
type Full struct {
	Recorder
	SampleEvery int32 // of the traced requests, those whose ID is a multiple of it are recorded by position; 0: all

	octaves   [31]octave
	load      load
	transfers transfers
	classes   []byClass // nil: classes are not recorded separately
	single    [1]int32  // scratch: the tokens of the only class
}

// octave is the gaps before the tokens at the positions 2^i ≤ position < 2^(i+1); the first token has position 1.
type octave struct {
	gaps    Hist
	reached int64 // traced requests that emitted token 2^i
}

var (
	_ sim.Sink             = (*Full)(nil)
	_ sim.Tracer           = (*Full)(nil)
	_ sim.TransferObserver = (*Full)(nil)
)

// Watch makes f record the load of c, whose sink it is.
func (f *Full) Watch(c *sim.Cluster) {
	f.load.watch(c)
}

// First implements sim.Sink.
func (f *Full) First(r *sim.Request) {
	f.Recorder.First(r)
	if f.classes != nil {
		f.classes[r.Class].First(r)
	}
	f.load.start = min(f.load.start, r.Arrival)
}

// Run implements sim.Sink.
func (f *Full) Run(in *sim.Instance, start sim.Time, g *sim.Segment, n, tokens int) {
	f.Recorder.Run(in, start, g, n, tokens)
	if f.classes == nil {
		return
	}
	for i, k := range f.shares(in, tokens) {
		f.classes[i].Run(in, start, g, n, int(k))
	}
}

// Paused implements sim.Sink.
func (f *Full) Paused(in *sim.Instance, since, start sim.Time, g *sim.Segment, tokens int) {
	f.Recorder.Paused(in, since, start, g, tokens)
	if f.classes == nil {
		return
	}
	for i, k := range f.shares(in, tokens) {
		if k > 0 {
			f.classes[i].Paused(in, since, start, g, int(k))
		}
	}
}

// Burst implements sim.Sink.
func (f *Full) Burst(in *sim.Instance, t sim.Time, tokens int) {
	f.Recorder.Burst(in, t, tokens)
	if f.classes == nil {
		return
	}
	for i, k := range f.shares(in, tokens) {
		f.classes[i].Burst(in, t, int(k))
	}
}

// shares returns how many of the tokens of a batch are of each class.
func (f *Full) shares(in *sim.Instance, tokens int) []int32 {
	if of := in.TokensByClass(); of != nil {
		return of
	}
	f.single[0] = int32(tokens)
	return f.single[:]
}

// Gap implements sim.Sink.
func (f *Full) Gap(in *sim.Instance, r *sim.Request, t sim.Time, c sim.Cause) {
	f.Recorder.Gap(in, r, t, c)
	if f.classes != nil {
		f.classes[r.Class].Gap(in, r, t, c)
	}
	if r.Traced && f.sampled(r) {
		o := f.octave(r.Emitted)
		o.gaps.Add(t.Sub(r.Last), 1)
	}
}

// Done implements sim.Sink.
func (f *Full) Done(r *sim.Request, at sim.Time, o sim.Outcome) {
	f.Recorder.Done(r, at, o)
	if f.classes != nil {
		f.classes[r.Class].done(r, at, o)
	}
	if o != sim.Unfinished {
		f.load.done(r)
	}
}

// Tokens implements sim.Tracer: it counts the steps before each token, one octave at a time.
func (f *Full) Tokens(r *sim.Request, emitted int32, start sim.Time, g *sim.Segment, n int) {
	f.eachStream(r, func(c *Chunks) { c.Tokens(r, start, g, n) })
	if !f.sampled(r) {
		return
	}
	for i := 0; i < n; {
		position := emitted + 1 + int32(i)
		o := f.octave(position)
		end := 2 << (bits.Len32(uint32(position)) - 1) // the first position of the next octave
		k := min(n-i, end-int(position))
		rest := g.Tail(i)
		o.gaps.AddRun(&rest, k, 1)
		i += k
	}
}

// Delayed implements sim.Tracer.
func (f *Full) Delayed(r *sim.Request, emitted int32, since, t sim.Time) {
	f.eachStream(r, func(c *Chunks) { c.One(r, t) })
	if f.sampled(r) {
		f.octave(emitted+1).gaps.Add(t.Sub(since), 1)
	}
}

// Accepted implements sim.Tracer.
func (f *Full) Accepted(r *sim.Request, emitted int32, t sim.Time, n int) {
	f.eachStream(r, func(c *Chunks) { c.Accepted(r, t, n) })
	if !f.sampled(r) {
		return
	}
	for i := range int32(n) {
		f.octave(emitted+1+i).gaps.Add(0, 1)
	}
}

// sampled reports whether a traced request is recorded by position.
func (f *Full) sampled(r *sim.Request) bool {
	return r.Arrival >= f.Warmup && (f.SampleEvery <= 1 || r.ID%f.SampleEvery == 0)
}

// eachStream calls do for what follows the chunks of all requests, and of the class of r.
func (f *Full) eachStream(r *sim.Request, do func(*Chunks)) {
	if f.Stream == nil {
		return
	}
	do(f.Stream)
	if f.classes != nil {
		do(f.classes[r.Class].Stream)
	}
}

// octave returns the octave of a position, and counts a request that has reached it.
func (f *Full) octave(position int32) *octave {
	o := &f.octaves[bits.Len32(uint32(position))-1]
	if position&(position-1) == 0 {
		o.reached++
	}
	return o
}

// positions returns the octaves that some traced request reached.
func (f *Full) positions() []Octave {
	var out []Octave
	for i := range f.octaves {
		o := &f.octaves[i]
		if o.gaps.N() == 0 {
			continue
		}
		out = append(out, Octave{
			From: 1 << i, To: int32(min(2<<i, 1<<31-1)), Requests: o.reached, N: o.gaps.N(),
			Mean: o.gaps.MeanS(), P50: o.gaps.QuantileS(.5), P90: o.gaps.QuantileS(.9), P95: o.gaps.QuantileS(.95),
			P99: o.gaps.QuantileS(.99),
		})
	}
	return out
}
