package live

import "github.com/decodesim/decodesim/sim"

var _ sim.Follower = (*inbox)(nil)

// inbox is the source of a live run: the requests that have come and have not been delivered, in order of arrival.
type inbox struct {
	requests []sim.Request
	head     int
}

// When implements sim.Follower.
func (x *inbox) When() sim.Time {
	if x.head == len(x.requests) {
		return sim.Forever
	}
	return x.requests[x.head].Arrival
}

// Next implements sim.Source.
func (x *inbox) Next(r *sim.Request) bool {
	if x.head == len(x.requests) {
		return false
	}
	*r = x.requests[x.head]
	x.head++
	if x.head == len(x.requests) {
		x.requests, x.head = x.requests[:0], 0
	}
	return true
}

// Done implements sim.Follower: clients decide for themselves what they ask next.
func (x *inbox) Done(sim.Time, *sim.Request) {}

// add appends r, which arrives no earlier than those before it.
func (x *inbox) add(r sim.Request) { x.requests = append(x.requests, r) }

// last returns the latest arrival that has not been delivered; 0: there is none.
func (x *inbox) last() sim.Time {
	if n := len(x.requests); n > x.head {
		return x.requests[n-1].Arrival
	}
	return 0
}

// cancel sets the deadline of a request that has not been delivered, and reports whether it is here.
func (x *inbox) cancel(id int32, at sim.Time) bool {
	for i := x.head; i < len(x.requests); i++ {
		if r := &x.requests[i]; r.ID == id {
			r.Deadline = at
			return true
		}
	}
	return false
}

// pinning is the router of a pool, for requests that are not pinned to a replica of it.
type pinning struct {
	fleet *Fleet
	pool  int
	sim.Router
}

// Route implements sim.Router. A pinned request whose replica takes none is routed as any other.
func (p *pinning) Route(now sim.Time, r *sim.Request, pool *sim.Pool) *sim.Instance {
	o := p.fleet.open[r.ID]
	in := (*sim.Instance)(nil)
	if o != nil && o.pin >= 0 && p.pool == 0 && pool.Replica(o.pin).Live() {
		in = pool.Replica(o.pin)
	} else {
		in = p.Router.Route(now, r, pool)
	}
	if o != nil {
		o.instance = in.ID
		o.answer.replica = in.ID - pool.Replica(0).ID
	}
	return in
}
