package routers

import (
	"errors"
	"fmt"

	"github.com/decodesim/decodesim/policies/internal/named"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
)

var (
	_ sim.Splitter = ByPrompt{}
	_ sim.Splitter = ByClass(nil)
	_ sim.Splitter = LeastLoadedRoute(nil)
	_ sim.Splitter = (*Shares)(nil)
)

// splitters is the splitters that scenarios can name.
func splitters() named.List[SplitterArguments, sim.Splitter] {
	return named.List[SplitterArguments, sim.Splitter]{
		{Name: "least-loaded", Does: "the route whose first pool has the fewest requests per replica",
			New: newLeastLoadedRoute},
		{Name: "share", Does: "a share of the requests on each route, drawn by request", New: newShares},
		{Name: "class", Does: "a route for each class of service", New: newByClass},
		{Name: "prompt", Does: "short prompts past the pool that prefills, the others through it", New: newByPrompt},
	}
}

// SplitterArguments configure splitters. Each splitter uses those that concern it.
type SplitterArguments struct {
	Seed    uint64
	Entries []int     // the pool that each route begins with
	Weights []float64 // of share, by route
	Classes []int     // of class: the route of each
	Prompt  ByPrompt  // of prompt
}

// SplitterNames returns the names of all splitters.
func SplitterNames() []string { return splitters().Names() }

// SplitterDoes returns in a few words what the splitter called name does.
func SplitterDoes(name string) string { return splitters().Does(name) }

// NewSplitter returns a splitter called name.
func NewSplitter(name string, a SplitterArguments) (sim.Splitter, error) {
	return splitters().New("splitter", name, a)
}

// ByPrompt sends short prompts on the local route, past the pool that prefills for the others: with fewer prompt
// tokens to compute than LocalBelow, a KV transfer costs more than it saves. What the prefix cache of any instance of
// Pool holds of a prompt need not be computed. Dynamo's conditional disaggregation has the same rule.
type ByPrompt struct {
	LocalBelow    int32 // prompt tokens to compute
	Pool          int   // of the local route
	Local, Remote int   // routes
}

func newByPrompt(a SplitterArguments) (sim.Splitter, error) {
	p, routes := a.Prompt, len(a.Entries)
	if p.LocalBelow < 0 || min(p.Local, p.Remote, p.Pool) < 0 || max(p.Local, p.Remote) >= routes {
		return nil, fmt.Errorf("policies: local_below_tokens is %d and routes %d and %d, "+
			"must not be negative and below %d", p.LocalBelow, p.Local, p.Remote, routes)
	}
	return p, nil
}

// Split implements sim.Splitter.
func (p ByPrompt) Split(_ sim.Time, r *sim.Request, c *sim.Cluster) int {
	computed := r.Prompt
	pool := c.Pool(p.Pool)
	for i := 0; i < pool.Len() && computed >= p.LocalBelow; i++ {
		computed = min(computed, r.Prompt-cachedPrompt(pool.Instance(i), r))
	}
	if computed < p.LocalBelow {
		return p.Local
	}
	return p.Remote
}

// ByClass sends each class on the route with its index, and later classes on the last route. It needs at least one
// route.
type ByClass []int

func newByClass(a SplitterArguments) (sim.Splitter, error) {
	routes := len(a.Entries)
	if len(a.Classes) == 0 {
		return nil, errors.New("policies: a splitter by class needs the route of a class at least")
	}
	for class, route := range a.Classes {
		if route < 0 || route >= routes {
			return nil, fmt.Errorf("policies: the route of class %d is %d, must be from 0 to %d",
				class, route, routes-1)
		}
	}
	return ByClass(a.Classes), nil
}

// Split implements sim.Splitter.
func (p ByClass) Split(_ sim.Time, r *sim.Request, _ *sim.Cluster) int {
	return p[min(int(r.Class), len(p)-1)]
}

// LeastLoadedRoute has the first pool of each route. It sends a request on the route whose first pool has the fewest
// requests per instance that takes requests, and on the first of equals. Running requests and those at the gate count
// too: a queue alone is empty until it is too late. A pool in which no instance takes requests comes last.
type LeastLoadedRoute []int

func newLeastLoadedRoute(a SplitterArguments) (sim.Splitter, error) {
	if len(a.Entries) == 0 {
		return nil, errors.New("policies: a splitter by load needs the pool that each route begins with")
	}
	return LeastLoadedRoute(a.Entries), nil
}

// Split implements sim.Splitter.
func (p LeastLoadedRoute) Split(_ sim.Time, _ *sim.Request, c *sim.Cluster) int {
	best := 0
	var fewest, live int64
	for i, pool := range p {
		n, m := requestsIn(c.Pool(pool)), int64(c.Pool(pool).Len())
		// n/m < fewest/live, without a division; n/0 is greater than any other.
		if i == 0 || m > 0 && (live == 0 || n*live < fewest*m) {
			best, fewest, live = i, n, m
		}
	}
	return best
}

// requestsIn returns the requests in the instances of p that take requests, waiting or running, and at its gate.
func requestsIn(p *sim.Pool) int64 {
	n := int64(p.AtGate())
	for _, m := range p.Outstanding() {
		n += int64(m)
	}
	return n
}

// Shares sends a share of the requests on each route. Which route a request takes depends on the seed and its ID alone.
type Shares struct {
	cumulative []float64 // Σ weights up to each route
	draws      *rng.Keyed
}

func newShares(a SplitterArguments) (sim.Splitter, error) {
	if len(a.Weights) != len(a.Entries) {
		return nil, fmt.Errorf("policies: %d shares for %d routes, must be one for each",
			len(a.Weights), len(a.Entries))
	}
	return NewShares(a.Weights, a.Seed)
}

// NewShares returns the splitter with a weight for each route and the draws of a seed.
func NewShares(weights []float64, seed uint64) (*Shares, error) {
	s, sum := &Shares{draws: rng.NewKeyed(seed, "policies.shares")}, 0.0
	for i, w := range weights {
		if !(w >= 0) || w > 1e9 {
			return nil, fmt.Errorf("policies: the share of route %d is %g, must be from 0 to 1e9", i, w)
		}
		sum += w
		s.cumulative = append(s.cumulative, sum)
	}
	if sum == 0 {
		return nil, fmt.Errorf("policies: the shares of %d routes are all 0, one must be above", len(weights))
	}
	return s, nil
}

// Split implements sim.Splitter.
func (s *Shares) Split(_ sim.Time, r *sim.Request, _ *sim.Cluster) int {
	last := len(s.cumulative) - 1
	u := s.draws.At(uint64(r.ID), 0).Float64() * s.cumulative[last]
	for i, sum := range s.cumulative {
		if u < sum {
			return i
		}
	}
	return last
}
