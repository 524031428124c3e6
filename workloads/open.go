package workloads

import (
	"fmt"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/arrivals"
	"github.com/decodesim/decodesim/workloads/check"
	"github.com/decodesim/decodesim/workloads/requests"
)

// OpenLoop is a load that does not wait for answers. It ends with Requests or DurationS, whichever comes first.
type OpenLoop struct {
	Arrivals  arrivals.Spec
	Mix       requests.Mix
	Requests  int64   // 0: one for each of the recorded lengths, if they do not repeat; otherwise no limit
	DurationS float64 // arrivals before it; 0: no limit
	Patience  requests.Patience
}

// Open is the source of an OpenLoop.
//
// Runs that differ in the rate only see the same requests in the same order, faster or slower.
type Open struct {
	process   *arrivals.Process
	timeline  arrivals.Timeline
	sampler   *requests.Sampler
	deadlines requests.Deadlines
	limit     int32
	drawn     int32 // requests drawn so far
	ahead     batch // the last of them, not sent yet
	expected  float64
	done      bool
	err       error
}

// batch is a number of requests drawn together: a stream at a time, while its tables are in the processor's cache.
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
	c.Requests, err = c.Mix.Limit(c.Requests)
	if err != nil {
		return nil, err
	}
	if err := check.Extent(c.Requests, c.DurationS); err != nil {
		return nil, err
	}
	o := &Open{limit: check.RequestsMax}
	o.process, err = arrivals.New(c.Arrivals, seed)
	if err != nil {
		return nil, err
	}
	o.expected, err = o.process.Expect(c.Requests, c.DurationS)
	if err != nil {
		return nil, err
	}
	o.sampler, err = requests.NewSampler(c.Mix, seed)
	if err != nil {
		return nil, err
	}
	o.deadlines, err = requests.NewDeadlines(c.Patience, seed)
	if err != nil {
		return nil, err
	}
	if c.Requests > 0 {
		o.limit = int32(c.Requests)
	}
	o.timeline = arrivals.NewTimeline(o.process, c.DurationS)
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
	if !o.sampler.LengthsOnly() {
		o.sampler.Finish(r)
	}
	o.deadlines.Mark(r)
	return true
}

// draw draws the next requests and reports whether there are any.
func (o *Open) draw() bool {
	b := &o.ahead
	b.next, b.n = 0, 0
	if o.done {
		return false
	}
	want := min(batchSize, int(o.limit-o.drawn))
	n, endS := o.timeline.Fill(b.at[:want])
	o.drawn += int32(n)
	o.sampler.Fill(b.prompt[:n], b.output[:n])
	b.n = n
	if n < want {
		o.stop(endS)
	}
	return n > 0
}

// stop ends the source at s seconds, which is an error if the clock ends it.
func (o *Open) stop(s float64) {
	o.done = true
	if o.timeline.Overrun(s) {
		o.err = fmt.Errorf("workloads: request %d of %d would arrive after %g s; accepted: arrivals within %g s",
			o.drawn, o.limit, s, sim.HorizonS)
	}
}

// Rate returns the mean offered rate in requests/s: in the long run, or of points without a period, which have no long
// run, over the time in which the requests are expected.
func (o *Open) Rate() float64 { return o.process.MeanRate(o.expected) }

// Requests returns how many requests to expect; with a duration, on average.
func (o *Open) Requests() float64 { return o.expected }

// Means returns the mean prompt and output in tokens, before truncation and before MaxOutput cuts.
func (o *Open) Means() (prompt, output float64) { return o.sampler.Means() }

// Truncated returns how many draws so far were truncated.
func (o *Open) Truncated() requests.Truncated { return o.sampler.Truncated() }

// Contents returns the tree that the requests' Content is in; nil: they share nothing.
func (o *Open) Contents() *sim.Contents { return o.sampler.Contents() }

// Sampler returns what draws the requests.
func (o *Open) Sampler() *requests.Sampler { return o.sampler }

// Err says why the source ended before its limits, or nil.
func (o *Open) Err() error { return o.err }
