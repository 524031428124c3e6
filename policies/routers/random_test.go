package routers_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/decodesim/decodesim/policies/internal/testcluster"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// TestRandomIsMultinomial: χ² of 16,000 requests over 16 instances has 15 degrees of freedom; 44.3 is its 99.99th
// percentile and 2.7 its 0.02nd. Another stage or seed draws anew; another order does not.
func TestRandomIsMultinomial(t *testing.T) {
	c, _ := testcluster.New(nil, nil, testcluster.NewPool(16, routers.NewRandom(3)))
	p := c.Pool(0)
	counts, same, other := make([]float64, 16), 0, routers.NewRandom(4)
	for id := range int32(16_000) {
		r := sim.Request{ID: id}
		in := p.Router.Route(0, &r, p)
		counts[in.ID]++
		r.Stage = 1
		if p.Router.Route(0, &r, p) == in {
			same++
		}
		r.Stage = 0
		if other.Route(0, &r, p) == in {
			same++
		}
		assert.Equal(t, in, p.Router.Route(9, &r, p), "again")
	}
	chi := 0.0
	for _, n := range counts {
		chi += (n - 1000) * (n - 1000) / 1000
	}
	assert.InDelta(t, 23, chi, 21)
	assert.InDelta(t, 2000, same, 5*44, "by chance, one in sixteen")
}

// TestRandomSplitsAPoissonStream: each instance then is an M/D/1 queue, with a mean wait of ρ/2(1−ρ) services: 1.17 at
// 0.7.
func TestRandomSplitsAPoissonStream(t *testing.T) {
	p := testcluster.NewPool(10, routers.NewRandom(1))
	p.Scheduler = &schedulers.Continuous{MaxNumSeqs: 1, MaxNumBatchedTokens: 1024}
	const n = 60_000
	c, e := testcluster.New(nil, testcluster.Poisson(n, 7, 1, 1), p)
	c.Run()
	sum := 0.0
	for id := range int32(n) {
		sum += e.Wait[id].Seconds() - 1
	}
	assert.InDelta(t, .7/2/.3, sum/n, .06)
}

// TestTwoChoicesLevelTheLoad: n requests on n instances; the longest queue is of the order of log₂ log₂ n = 3 with two
// choices, and of log n / log log n with one, which in any throw of 256 is at least 4.
func TestTwoChoicesLevelTheLoad(t *testing.T) {
	longest := func(router sim.Router) (most int) {
		until := func(c *sim.Config) { c.Until = testcluster.At(1) }
		c, _ := testcluster.New(until, make256(), testcluster.NewPool(256, router))
		c.Run()
		p := c.Pool(0)
		for i := range p.Len() {
			most = max(most, p.Instance(i).Load())
		}
		return most
	}
	for seed := range uint64(5) {
		two := longest(routers.NewPowerOfTwo(seed, 0))
		assert.LessOrEqual(t, two, 3)
		assert.Equal(t, two, longest(routers.NewPowerOfTwo(seed, sim.Second)), "a router counts what it sends")
		assert.GreaterOrEqual(t, longest(routers.NewRandom(seed)), 4)
		assert.Equal(t, 1, longest(routers.LeastLoaded{}))
		assert.Equal(t, 1, longest(new(routers.RoundRobin)))
	}
}

// TestTwoChoicesOfOneInstanceAreThatOne, fresh or stale, also where another has been drained.
func TestTwoChoicesOfOneInstanceAreThatOne(t *testing.T) {
	for _, staleness := range []sim.Duration{0, sim.Second} {
		router := routers.NewPowerOfTwo(1, staleness)
		c, _ := testcluster.New(nil, testcluster.Together(1, 0), testcluster.NewPool(2, routers.LeastLoaded{}))
		c.Run()
		pool := c.Pool(0)
		c.Drain(pool.Instance(0))
		for id := range int32(10) {
			assert.EqualValues(t, 1, router.Route(0, &sim.Request{ID: id}, pool).ID)
		}
	}
}

func make256() []sim.Request {
	requests := make([]sim.Request, 256)
	for i := range requests {
		requests[i] = sim.Request{Prompt: 1, Output: 99}
	}
	return requests
}
