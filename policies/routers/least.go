package routers

import "github.com/decodesim/decodesim/sim"

var _ sim.Router = (*Least)(nil)

// Least routes to the instance with the least load by some measure; the first of equals. Of requests, as they are now,
// LeastLoaded is the faster.
type Least struct {
	of    Measure
	known view
}

// NewLeast returns the router by a measure that it knows as it was at most so long ago; 0: as it is.
func NewLeast(of Measure, staleness sim.Duration) *Least {
	return &Least{of, view{staleness: staleness}}
}

// Route implements sim.Router.
func (p *Least) Route(now sim.Time, r *sim.Request, pool *sim.Pool) *sim.Instance {
	return p.known.send(p.of, r, pool, least(p.known.read(p.of, now, pool)))
}
