package policies_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/policies"
	"github.com/decodesim/decodesim/sim"
)

// Small real clusters, in which a step takes a second whatever it computes, to watch policies in.

// ending is a sink that keeps how requests ended and when they got their first token.
type ending struct {
	story
	outcome map[int32]sim.Outcome
	wait    map[int32]sim.Duration // for the first token
}

func newEnding() *ending {
	return &ending{story{first: map[int32]sim.Time{}}, map[int32]sim.Outcome{}, map[int32]sim.Duration{}}
}

func (e *ending) First(r *sim.Request) { e.wait[r.ID] = r.First.Sub(r.Arrival) }
func (e *ending) Done(r *sim.Request, _ sim.Time, o sim.Outcome) {
	if _, twice := e.outcome[r.ID]; twice {
		panic("a request ended twice")
	}
	e.outcome[r.ID] = o
}

// count returns how many requests ended so.
func (e *ending) count(o sim.Outcome) (n int) {
	for _, p := range e.outcome {
		if p == o {
			n++
		}
	}
	return n
}

// watched is a router whose answers are kept, by request.
type watched struct {
	sim.Router
	to map[int32]int32
}

func watch(r sim.Router) watched { return watched{r, map[int32]int32{}} }

func (w watched) Route(now sim.Time, r *sim.Request, p *sim.Pool) *sim.Instance {
	in := w.Router.Route(now, r, p)
	w.to[r.ID] = in.ID
	return in
}

// newPool returns a pool of instances that run up to 8 sequences, in 200 blocks of 4 tokens.
func newPool(size int, router sim.Router) *sim.Pool {
	return &sim.Pool{
		Name: "p", Size: size, KVBlocks: 200, BlockSize: 4, MaxModelLen: 400, Model: second{},
		Scheduler: &policies.Continuous{MaxNumSeqs: 8, MaxNumBatchedTokens: 1024}, Router: router,
	}
}

// build returns a cluster of these pools and requests, numbered here, and what it will tell.
func build(t testing.TB, change func(*sim.Config), requests []sim.Request, pools ...*sim.Pool) (*sim.Cluster, *ending) {
	t.Helper()
	for i := range requests {
		requests[i].ID = int32(i)
	}
	source, e := list(slices.Clone(requests)), newEnding()
	config := sim.Config{Source: &source, Sink: e, Pools: pools}
	if change != nil {
		change(&config)
	}
	c, err := sim.New(config)
	require.NoError(t, err)
	return c, e
}

// poisson returns n requests at a rate per second.
func poisson(n int, rate float64, prompt, output int32) []sim.Request {
	rnd, now := rand.New(rand.NewPCG(5, 1)), 0.0
	requests := make([]sim.Request, n)
	for i := range requests {
		now += rnd.ExpFloat64() / rate
		requests[i] = sim.Request{Prompt: prompt, Output: output, Arrival: sim.Time(sim.Seconds(now))}
	}
	return requests
}

// various returns n requests at a rate per second, of any length up to 300 tokens.
func various(n int, rate float64) []sim.Request {
	requests, rnd := poisson(n, rate, 1, 1), rand.New(rand.NewPCG(6, 1))
	for i := range requests {
		requests[i].Prompt, requests[i].Output = 1+rnd.Int32N(200), 1+rnd.Int32N(100)
	}
	return requests
}

func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}
