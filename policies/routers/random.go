package routers

import (
	"math/rand/v2"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
)

var (
	_ sim.Router = (*Random)(nil)
	_ sim.Router = (*PowerOfTwo)(nil)
	_ sim.Blind  = (*Random)(nil)
)

// Random routes to any instance, each with the same probability. Where a request goes depends on the seed, the ID and
// stage of the request and the number of instances.
type Random struct{ draws *rng.Keyed }

// NewRandom returns the router with the draws of a seed.
func NewRandom(seed uint64) *Random { return &Random{rng.NewKeyed(seed, "policies.random")} }

// Blind implements sim.Blind.
func (p *Random) Blind() {}

// Route implements sim.Router.
func (p *Random) Route(_ sim.Time, r *sim.Request, pool *sim.Pool) *sim.Instance {
	return pool.Instance(drawsFor(p.draws, r).IntN(pool.Len()))
}

// PowerOfTwo routes to the less loaded of two instances drawn at random, and to the first drawn of equals. The longest
// queue is then of the order of log log n instead of log n / log log n (Mitzenmacher, IEEE TPDS 12(10), 2001).
type PowerOfTwo struct {
	draws *rng.Keyed
	known view
}

// NewPowerOfTwo returns the router with the draws of a seed, which knows loads as they were at most staleness ago.
func NewPowerOfTwo(seed uint64, staleness sim.Duration) *PowerOfTwo {
	return &PowerOfTwo{rng.NewKeyed(seed, "policies.power-of-two"), view{staleness: staleness}}
}

// Route implements sim.Router.
func (p *PowerOfTwo) Route(now sim.Time, r *sim.Request, pool *sim.Pool) *sim.Instance {
	n := pool.Len()
	if n == 1 {
		return pool.Instance(0)
	}
	draws := drawsFor(p.draws, r)
	i, j := draws.IntN(n), draws.IntN(n-1)
	if j >= i {
		j++
	}
	if p.known.staleness == 0 {
		if loads := pool.Outstanding(); loads[j] < loads[i] {
			i = j
		}
		return pool.Instance(i)
	}
	if loads := p.known.read(Requests, now, pool); loads[j] < loads[i] {
		i = j
	}
	return p.known.send(Requests, r, pool, i)
}

// drawsFor returns the draws that belong to the stage that r has reached.
func drawsFor(k *rng.Keyed, r *sim.Request) *rand.Rand { return k.At(uint64(r.ID), uint64(r.Stage)) }
