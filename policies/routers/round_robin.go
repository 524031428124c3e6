package routers

import "github.com/decodesim/decodesim/sim"

var (
	_ sim.Router = (*RoundRobin)(nil)
	_ sim.Blind  = (*RoundRobin)(nil)
)

// RoundRobin routes to each instance in turn: to the one with the next higher ID, even if instances have come or gone
// since the last request. The zero value begins with the first instance.
type RoundRobin struct {
	idMin int32 // the smallest ID that may be next
	next  int   // the index of the next instance, unless instances have come or gone
}

// Blind implements sim.Blind.
func (p *RoundRobin) Blind() {}

// Route implements sim.Router.
func (p *RoundRobin) Route(_ sim.Time, _ *sim.Request, pool *sim.Pool) *sim.Instance {
	i, n := p.next, pool.Len()
	if i >= n || pool.Instance(i).ID != p.idMin {
		for i = 0; i < n && pool.Instance(i).ID < p.idMin; i++ {
		}
		if i == n {
			i = 0
		}
	}
	in := pool.Instance(i)
	p.next, p.idMin = i+1, in.ID+1
	if p.next == n {
		p.next, p.idMin = 0, 0
	}
	return in
}
