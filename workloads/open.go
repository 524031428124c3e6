package workloads

import (
	"fmt"
	"math"

	"github.com/decodesim/decodesim/sim"
)

// OpenLoop is traffic that does not wait for answers. It ends with Requests or DurationS, whichever comes first.
type OpenLoop struct {
	Arrivals  Arrivals
	Lengths   Lengths
	Requests  int64   // 0: as many as there are recorded lengths, if they do not repeat; else no limit
	DurationS float64 // arrivals before it; 0: no limit
	Patience  Patience
}

// Open is the source of an OpenLoop.
//
// Runs that differ in the rate only see the same requests in the same order, faster or slower.
type Open struct {
	clock    *clock
	sizes    *sizes
	patience patience
	limit    int32
	endS     float64
	timed    bool  // endS is the workload's own end, not the clock's
	drawn    int32 // requests drawn
	ahead    batch // of those, the ones not sent yet
	last     sim.Time
	expected float64
	done     bool
	err      error
}

// batch is a stretch of requests drawn together: a stream at a time, while its tables are in the processor's cache.
type batch struct {
	next, n int
	at      [batchSize]sim.Time
	prompt  [batchSize]int32
	output  [batchSize]int32
}

const batchSize = 64

var _ sim.Source = (*Open)(nil)

// NewOpenLoop returns the source that c describes in the run with the given seed.
func NewOpenLoop(c OpenLoop, seed uint64) (*Open, error) {
	var err error
	if c.Requests, err = c.Lengths.take(c.Requests); err != nil {
		return nil, err
	}
	if err := extent(c.Requests, c.DurationS); err != nil {
		return nil, err
	}
	o := &Open{limit: requestsMax, endS: sim.HorizonS}
	if o.clock, err = newClock(c.Arrivals, seed); err != nil {
		return nil, err
	}
	if o.expected, err = o.clock.extent(c.Requests, c.DurationS); err != nil {
		return nil, err
	}
	if o.sizes, err = newSizes(c.Lengths, seed); err != nil {
		return nil, err
	}
	if o.patience, err = newPatience(c.Patience, seed); err != nil {
		return nil, err
	}
	if c.Requests > 0 {
		o.limit = int32(c.Requests)
	}
	if c.DurationS > 0 {
		o.endS, o.timed = c.DurationS, true
	}
	return o, nil
}

// Next fills the next request. Its draws are the same whatever the rate.
func (o *Open) Next(r *sim.Request) bool {
	b := &o.ahead
	if b.next == b.n && !o.draw() {
		return false
	}
	i := b.next
	b.next++
	r.ID = o.drawn - int32(b.n-i)
	r.Arrival, r.Prompt, r.Output = b.at[i], b.prompt[i], b.output[i]
	if o.sizes.finishes() {
		o.sizes.finish(r)
	}
	o.patience.mark(r)
	return true
}

// draw draws the next requests and reports whether there are any.
func (o *Open) draw() bool {
	b := &o.ahead
	b.next, b.n = 0, 0
	for !o.done && b.n < batchSize && o.drawn+int32(b.n) < o.limit {
		s := o.clock.next()
		if s >= o.endS {
			o.stop(s)
			break
		}
		// Rounding at the joint of two pieces of a rate must not turn time back.
		o.last = max(o.last, sim.Time(0).Add(sim.Seconds(s)))
		b.at[b.n] = o.last
		b.n++
	}
	o.drawn += int32(b.n)
	o.sizes.fill(b.prompt[:b.n], b.output[:b.n])
	return b.n > 0
}

// stop ends the source at s seconds, which is an error if the clock and not the workload ends it. Arrivals whose rate has
// fallen to zero for good end at +Inf.
func (o *Open) stop(s float64) {
	o.done = true
	if !o.timed && !math.IsInf(s, 1) {
		o.err = fmt.Errorf("workloads: request %d of %d would arrive after %g s; accepted: arrivals within %g s",
			o.drawn+int32(o.ahead.n), o.limit, s, sim.HorizonS)
	}
}

// Rate returns the mean offered rate in requests/s: in the long run, but of points without a period, which have none, over
// the time in which the requests are expected.
func (o *Open) Rate() float64 {
	if c := o.clock.curve; c != nil && c.period == 0 && o.expected > 0 {
		return o.expected / c.at(o.expected)
	}
	return o.clock.rate
}

// Requests returns how many requests to expect; with a duration, on average.
func (o *Open) Requests() float64 { return o.expected }

// Means returns the mean prompt and output in tokens, before truncation and before MaxOutput cuts.
func (o *Open) Means() (prompt, output float64) { return o.sizes.means() }

// Truncated returns how many draws so far were truncated.
func (o *Open) Truncated() Truncated { return o.sizes.truncated() }

// Err says why the source ended before its limits, or nil.
func (o *Open) Err() error { return o.err }
