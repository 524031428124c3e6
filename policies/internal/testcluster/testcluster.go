// Package testcluster has small real clusters for the tests of policies. Every step takes a second, whatever it
// computes, so that a test can tell by hand when things happen.
package testcluster

import (
	"slices"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
)

var (
	_ sim.Sink   = (*Log)(nil)
	_ sim.Router = Watched{}
)

// Log is a sink that records what became of each request, by ID.
type Log struct {
	FirstToken map[int32]sim.Time
	Wait       map[int32]sim.Duration // from the arrival to the first token
	Gaps       []int32                // requests with a gap that is longer than a step, in order of time
	Outcome    map[int32]sim.Outcome

	counts [sim.Unfinished + 1]int
}

// NewLog returns an empty log.
func NewLog() *Log {
	return &Log{FirstToken: map[int32]sim.Time{}, Wait: map[int32]sim.Duration{}, Outcome: map[int32]sim.Outcome{}}
}

// First implements sim.Sink.
func (l *Log) First(r *sim.Request) {
	l.FirstToken[r.ID], l.Wait[r.ID] = r.First, r.First.Sub(r.Arrival)
}

// Run implements sim.Sink.
func (l *Log) Run(*sim.Instance, sim.Time, *sim.Segment, int, int) {}

// Paused implements sim.Sink.
func (l *Log) Paused(*sim.Instance, sim.Time, sim.Time, *sim.Segment, int) {}

// Burst implements sim.Sink.
func (l *Log) Burst(*sim.Instance, sim.Time, int) {}

// Gap implements sim.Sink.
func (l *Log) Gap(_ *sim.Instance, r *sim.Request, _ sim.Time, _ sim.Cause) {
	l.Gaps = append(l.Gaps, r.ID)
}

// Done implements sim.Sink.
func (l *Log) Done(r *sim.Request, _ sim.Time, o sim.Outcome) {
	if _, twice := l.Outcome[r.ID]; twice {
		panic("testcluster: a request ended twice")
	}
	l.Outcome[r.ID] = o
	l.counts[o]++
}

// Count returns how many requests ended with an outcome.
func (l *Log) Count(o sim.Outcome) int { return l.counts[o] }

// Watched is a router that records the ID of the instance it sends each request to.
type Watched struct {
	sim.Router
	To map[int32]int32
}

// Watch returns r, watched.
func Watch(r sim.Router) Watched { return Watched{r, map[int32]int32{}} }

// Route implements sim.Router.
func (w Watched) Route(now sim.Time, r *sim.Request, p *sim.Pool) *sim.Instance {
	in := w.Router.Route(now, r, p)
	w.To[r.ID] = in.ID
	return in
}

// second is a step model: a step takes a second.
type second struct{}

func (second) Price(_ []sim.Shape, g *sim.Segment) {
	*g = sim.Segment{First: sim.Second, Steps: 1 << 30}
}

// NewPool returns a pool of instances that run up to 8 sequences, in 200 blocks of 4 tokens.
func NewPool(size int, router sim.Router) *sim.PoolSpec {
	return &sim.PoolSpec{
		Name: "p", Size: size, KVBlocks: 200, BlockSize: 4, MaxModelLen: 400, Model: second{},
		Scheduler: &schedulers.Continuous{MaxNumSeqs: 8, MaxNumBatchedTokens: 1024}, Router: router,
	}
}

// list is a source of requests.
type list []sim.Request

func (l *list) Next(r *sim.Request) bool {
	if len(*l) == 0 {
		return false
	}
	*r, *l = (*l)[0], (*l)[1:]
	return true
}

// New returns a cluster of these pools, which serves the requests numbered in their order, and the log of its run.
// change, unless it is nil, changes the configuration first.
func New(change func(*sim.Config), requests []sim.Request, pools ...*sim.PoolSpec) (*sim.Cluster, *Log) {
	for i := range requests {
		requests[i].ID = int32(i)
	}
	source, l := list(slices.Clone(requests)), NewLog()
	config := sim.Config{Source: &source, Sink: l, Pools: pools}
	if change != nil {
		change(&config)
	}
	return Must(sim.New(config)), l
}

// At returns the instant so many seconds after the start of a run.
func At(seconds int64) sim.Time { return sim.Time(seconds) * sim.Time(sim.Second) }

// Poisson returns n requests that arrive at a rate per second.
func Poisson(n int, rate float64, prompt, output int32) []sim.Request {
	rnd, now := rng.Stream(5, "testcluster.arrivals"), 0.0
	requests := make([]sim.Request, n)
	for i := range requests {
		now += rnd.ExpFloat64() / rate
		requests[i] = sim.Request{Prompt: prompt, Output: output, Arrival: sim.Time(sim.Seconds(now))}
	}
	return requests
}

// Various returns n requests that arrive at a rate per second, of any length up to 300 tokens.
func Various(n int, rate float64) []sim.Request {
	requests, rnd := Poisson(n, rate, 1, 1), rng.Stream(5, "testcluster.lengths")
	for i := range requests {
		requests[i].Prompt, requests[i].Output = 1+rnd.Int32N(200), 1+rnd.Int32N(100)
	}
	return requests
}

// Together returns n requests that arrive at once.
func Together(n int, at sim.Time) []sim.Request {
	requests := make([]sim.Request, n)
	for i := range requests {
		requests[i] = sim.Request{Prompt: 8, Output: 20, Arrival: at}
	}
	return requests
}

// Must returns v and panics on an error.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
