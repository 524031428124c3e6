package routers

import (
	"fmt"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
)

var (
	_ sim.Splitter = ByPrompt{}
	_ sim.Splitter = ByClass(nil)
	_ sim.Splitter = LeastLoadedRoute(nil)
	_ sim.Splitter = (*Shares)(nil)
)

// ByPrompt sends short prompts on the local route, past the pool that prefills for the others: with fewer prompt tokens
// to compute than LocalBelow, less the most that the cache of any instance of Pool holds, a hand-over costs more than it
// saves. So does Dynamo's conditional disaggregation.
type ByPrompt struct {
	LocalBelow    int32 // prompt tokens to compute
	Pool          int   // that takes the local route
	Local, Remote int   // routes
}

// Split implements sim.Splitter.
func (p ByPrompt) Split(_ sim.Time, r *sim.Request, c *sim.Cluster) int {
	rest := r.Prompt
	pool := c.Pool(p.Pool)
	for i := 0; i < pool.Len() && rest >= p.LocalBelow; i++ {
		rest = min(rest, r.Prompt-hit(pool.Instance(i), r))
	}
	if rest < p.LocalBelow {
		return p.Local
	}
	return p.Remote
}

// ByClass sends each class on the route with its index; later classes on the last one. It needs one route at least.
type ByClass []int

// Split implements sim.Splitter.
func (p ByClass) Split(_ sim.Time, r *sim.Request, _ *sim.Cluster) int {
	return p[min(int(r.Class), len(p)-1)]
}

// LeastLoadedRoute sends a request where its first pool, of those named by route, has the fewest requests per instance
// that takes some: queued, running or at the gate, for a queue is empty until it is too late. The first of equals; a pool
// without such an instance comes last.
type LeastLoadedRoute []int

// Split implements sim.Splitter.
func (p LeastLoadedRoute) Split(_ sim.Time, _ *sim.Request, c *sim.Cluster) int {
	best := 0
	var least, live int64
	for i, pool := range p {
		n, m := requestsIn(c.Pool(pool)), int64(c.Pool(pool).Len())
		// n/m < least/live, where m may be 0: then n/m is the greatest there is.
		if i == 0 || m > 0 && (live == 0 || n*live < least*m) {
			best, least, live = i, n, m
		}
	}
	return best
}

// requestsIn returns the requests that wait or run in the instances of p that take requests, or wait at its gate.
func requestsIn(p *sim.Pool) int64 {
	n := int64(p.AtGate())
	for _, m := range p.Outstanding() {
		n += int64(m)
	}
	return n
}

// Shares sends a share of the requests on each route: which, depends on the seed and the request's number alone.
type Shares struct {
	upTo  []float64 // Σ of the shares up to each route
	draws *rng.Keyed
}

// NewShares returns the splitter with a weight for each route and the draws of a seed.
func NewShares(weights []float64, seed uint64) (*Shares, error) {
	s, sum := &Shares{draws: rng.NewKeyed(seed, "policies.shares")}, 0.0
	for i, w := range weights {
		if !(w >= 0) || w > 1e9 {
			return nil, fmt.Errorf("policies: the share of route %d is %g, must be from 0 to 1e9", i, w)
		}
		sum += w
		s.upTo = append(s.upTo, sum)
	}
	if sum == 0 {
		return nil, fmt.Errorf("policies: the shares of %d routes are all 0, one must be above", len(weights))
	}
	return s, nil
}

// Split implements sim.Splitter.
func (s *Shares) Split(_ sim.Time, r *sim.Request, _ *sim.Cluster) int {
	last := len(s.upTo) - 1
	u := s.draws.At(uint64(r.ID), 0).Float64() * s.upTo[last]
	for i, to := range s.upTo {
		if u < to {
			return i
		}
	}
	return last
}
