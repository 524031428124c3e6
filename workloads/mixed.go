package workloads

import (
	"fmt"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/heap"
	"github.com/decodesim/decodesim/sim/rng"
	"github.com/decodesim/decodesim/workloads/arrivals"
	"github.com/decodesim/decodesim/workloads/check"
	"github.com/decodesim/decodesim/workloads/requests"
)

// Mix is a load of several streams of requests that know nothing of each other and do not wait for answers: of classes
// each with arrivals of its own, or of clients. It ends with Requests or DurationS, whichever comes first.
type Mix struct {
	ByClass   []arrivals.Spec // of Mix.Classes, whose shares follow from them; nil: Clients
	Clients   Clients
	Mix       requests.Mix
	Requests  int64   // 0: no limit
	DurationS float64 // arrivals before it; 0: no limit
	Patience  requests.Patience
}

// Mixed is the source of a Mix.
//
// What a stream sends is drawn by its number and by the number of the request in it: a rate that changes leaves the
// other streams, and the order within its own, as they were. Equal instants are ordered by stream.
type Mixed struct {
	streams   []stream
	due       heap.Heap[sim.Time, int32] // streams, by their next arrival
	sampler   *requests.Sampler
	deadlines requests.KeyedDeadlines
	groups    []int32 // nodes of the prefixes
	prefix    int32   // tokens of each
	left      int64
	sent      int32
	expected  float64
	spanS     float64 // in which they are expected
	overrun   float64 // seconds at which the clock cut a stream off; 0: it cut off none
	limited   bool    // by a number of requests

	// by stream and request, or by stream
	classes, grouped, prompts, outputs, limits *rng.Keyed
}

// stream is one of a mix.
type stream struct {
	process  *arrivals.Process
	timeline arrivals.Timeline
	next     sim.Time
	sent     uint64
	class    int // −1: drawn for each request
	client   bool
	prompt   float64 // what is drawn is multiplied by it
	output   float64
}

var _ sim.Source = (*Mixed)(nil)

// NewMix returns the source that c describes in the run with the given seed.
func NewMix(c Mix, seed uint64) (*Mixed, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	s := &Mixed{left: c.Requests, limited: c.Requests > 0}
	if s.left == 0 {
		s.left = check.RequestsMax
	}
	if err := s.open(&c, seed); err != nil {
		return nil, err
	}
	if err := s.expect(&c); err != nil {
		return nil, err
	}
	var err error
	s.sampler, err = requests.NewSampler(c.Mix, seed)
	if err != nil {
		return nil, err
	}
	s.groups, s.prefix = s.sampler.Prefixes()
	s.deadlines, err = requests.NewKeyedDeadlines(c.Patience, seed)
	s.classes, s.grouped = rng.NewKeyed(seed, "workloads.mix-classes"), rng.NewKeyed(seed, "workloads.mix-groups")
	s.prompts, s.outputs = rng.NewKeyed(seed, "workloads.mix-prompts"), rng.NewKeyed(seed, "workloads.mix-outputs")
	s.limits = rng.NewKeyed(seed, "workloads.mix-limits")
	for i := range s.streams {
		s.streams[i].timeline = arrivals.NewTimeline(s.streams[i].process, c.DurationS)
		s.advance(int32(i))
	}
	return s, err
}

// check refuses what streams do not have.
func (c *Mix) check() error {
	owner := "classes with arrivals of their own"
	if c.ByClass == nil {
		owner = "a workload of clients"
	}
	for _, err := range []error{
		check.Absent("lengths", owner, c.Mix.Pairs != nil, "recorded"),
		check.Absent("distinct_prompts", owner, c.Mix.Sharing.DistinctPrompts != 0, c.Mix.Sharing.DistinctPrompts),
		check.Extent(c.Requests, c.DurationS),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// open makes the streams, each with a seed of its own.
func (s *Mixed) open(c *Mix, seed uint64) (err error) {
	if c.ByClass == nil {
		s.streams, err = c.Clients.streams(seed)
		return err
	}
	seeds := rng.NewKeyed(seed, "workloads.mix-streams")
	for i := range c.ByClass {
		p, err := arrivals.New(c.ByClass[i], seeds.At(uint64(i), 0).Uint64())
		if err != nil {
			return check.Under(fmt.Sprintf("classes[%d]", i), err)
		}
		p.Stationary()
		s.streams = append(s.streams, stream{process: p, class: i, prompt: 1, output: 1})
	}
	return nil
}

// expect finds how many requests are expected in which time, and gives classes with arrivals their shares.
func (s *Mixed) expect(c *Mix) error {
	all := func(seconds float64) (n float64) {
		for i := range s.streams {
			n += s.streams[i].process.Expected(seconds)
		}
		return n
	}
	s.spanS = sim.HorizonS
	if c.DurationS > 0 {
		s.spanS = c.DurationS
	}
	s.expected = all(s.spanS)
	if n := float64(c.Requests); n > 0 && n < s.expected {
		low, high := 0.0, s.spanS
		for range 100 {
			if middle := (low + high) / 2; all(middle) < n {
				low = middle
			} else {
				high = middle
			}
		}
		s.expected, s.spanS = n, high
	}
	if s.expected > check.RequestsMax-1e6 {
		return check.Refuse("duration_s", c.DurationS, fmt.Sprintf("a duration in which fewer requests than %d are "+
			"expected, not %.3g", check.RequestsMax-1_000_000, s.expected))
	}
	if c.ByClass == nil {
		return nil
	}
	c.Mix.Classes = append([]requests.Class(nil), c.Mix.Classes...)
	for i := range c.Mix.Classes {
		c.Mix.Classes[i].Share = min(1, s.streams[i].process.Expected(s.spanS)/s.expected) // which is a sum, and rounded
		if !(c.Mix.Classes[i].Share > 0) {
			return check.Refuse(fmt.Sprintf("classes[%d].arrivals.process", i), c.ByClass[i].Process,
				fmt.Sprintf("arrivals within the %.6g s of the workload", s.spanS))
		}
	}
	return nil
}

// advance finds the next arrival of a stream.
func (s *Mixed) advance(i int32) {
	var next [1]sim.Time
	v := &s.streams[i]
	n, at := v.timeline.Fill(next[:])
	if n == 0 {
		if v.timeline.Overrun(at) {
			s.overrun = at
		}
		return
	}
	v.next = next[0]
	s.due.Push(v.next, int64(i), i)
}

// Next fills the next request.
func (s *Mixed) Next(r *sim.Request) bool {
	if len(s.due) == 0 || s.left == 0 {
		return false
	}
	i := s.due.Pop().Value
	v := &s.streams[i]
	r.ID, r.Arrival = s.sent, v.next
	s.fill(r, v, uint64(i))
	v.sent++
	s.sent++
	s.left--
	s.advance(i)
	return true
}

// fill draws what request n of stream i is.
func (s *Mixed) fill(r *sim.Request, v *stream, i uint64) {
	n := v.sent
	class := v.class
	if class < 0 {
		class = s.sampler.Pick(s.classes.At(i, n).Float64())
	}
	r.Class, r.Priority = uint8(class), s.sampler.Priority(class)
	laws := s.sampler.Laws(r.Class)
	r.Prompt = laws.Prompt.Scaled(laws.Prompt.Draw(s.prompts.At(i, n)), v.prompt)
	r.Output = laws.Output.Scaled(laws.Output.Draw(s.outputs.At(i, n)), v.output)
	if s.sampler.Reasons() {
		r.Reasoning, r.Output = s.sampler.Reason(r.Class, r.Output, i, n)
	}
	if laws.Limit != nil {
		r.MaxOutput = laws.Limit.Draw(s.limits.At(i, n))
		r.Output = min(r.Output, r.MaxOutput)
		r.Reasoning = min(r.Reasoning, r.Output)
	}
	if len(s.groups) > 0 {
		of := n
		if v.client { // whose prompts all begin with one prefix
			of = 0
		}
		r.Content = s.groups[s.grouped.At(i, of).IntN(len(s.groups))]
		r.Prompt += s.prefix
	}
	s.deadlines.Mark(r, i, n)
}

// Rate returns the mean offered rate in requests/s over the time in which the requests are expected.
func (s *Mixed) Rate() float64 { return s.expected / s.spanS }

// Requests returns how many requests to expect.
func (s *Mixed) Requests() float64 { return s.expected }

// Shares returns which part of the requests is expected of each stream: of each class with arrivals of its own, or of
// each client.
func (s *Mixed) Shares() []float64 {
	var all []float64
	for i := range s.streams {
		all = append(all, s.streams[i].process.Expected(s.spanS)/s.expected)
	}
	return all
}

// PeakRate returns the highest mean rate over a 1,440th of the time in which the requests are expected: of a day, a
// minute.
func (s *Mixed) PeakRate() (peak float64) {
	const parts = 1440
	before := 0.0
	for k := 1; k <= parts; k++ {
		n := 0.0
		for i := range s.streams {
			n += s.streams[i].process.Expected(float64(s.spanS * float64(k) / parts))
		}
		peak, before = max(peak, (n-before)*parts/s.spanS), n
	}
	return peak
}

// SpanS returns the time in which the requests are expected.
func (s *Mixed) SpanS() float64 { return s.spanS }

// Means returns the mean prompt and output in tokens, before truncation and before MaxOutput cuts.
func (s *Mixed) Means() (prompt, output float64) { return s.sampler.Means() }

// Truncated returns how many draws so far were truncated.
func (s *Mixed) Truncated() requests.Truncated { return s.sampler.TruncatedDraws() }

// Contents returns the tree that the requests' Content is in; nil: they share nothing.
func (s *Mixed) Contents() *sim.Contents { return s.sampler.Contents() }

// Sampler returns what draws the requests.
func (s *Mixed) Sampler() *requests.Sampler { return s.sampler }

// Err says why the source ended before its limits, or nil.
func (s *Mixed) Err() error {
	if s.overrun > 0 && s.limited && s.left > 0 && len(s.due) == 0 {
		return fmt.Errorf("workloads: request %d would arrive after %g s; accepted: arrivals within %g s", s.sent,
			s.overrun, sim.HorizonS)
	}
	return nil
}
