package policies

import "github.com/decodesim/decodesim/sim"

var (
	_ sim.Router = (*RoundRobin)(nil)
	_ sim.Router = LeastLoaded{}
)

// RoundRobin routes to each instance in turn.
type RoundRobin struct{ next int }

// Route implements sim.Router.
func (p *RoundRobin) Route(_ sim.Time, _ *sim.Request, pool *sim.Pool) *sim.Instance {
	i := p.next
	if p.next++; p.next == pool.Len() {
		p.next = 0
	}
	return pool.Instance(i)
}

// LeastLoaded routes to the instance with the fewest requests, queued or running; the first of equals.
type LeastLoaded struct{}

// Route implements sim.Router.
func (LeastLoaded) Route(_ sim.Time, _ *sim.Request, pool *sim.Pool) *sim.Instance {
	loads := pool.Outstanding()
	best, least := 0, loads[0]
	for i, n := range loads {
		if n < least {
			best, least = i, n
		}
	}
	return pool.Instance(best)
}
