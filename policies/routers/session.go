package routers

import "github.com/decodesim/decodesim/sim"

var _ sim.Router = (*SessionAffinity)(nil)

// SessionAffinity routes the requests of a session to the instance that had the session's first, as long as that takes
// requests; then, and without a session, to the one with the fewest requests. It never balances what has settled, and
// remembers every session, for none says that it is over.
type SessionAffinity struct {
	homes map[int32]int32 // instance of each session
	rest  Least
}

// NewSessionAffinity returns the router, which knows loads as they were at most so long ago.
func NewSessionAffinity(staleness sim.Duration) *SessionAffinity {
	return &SessionAffinity{map[int32]int32{}, *NewLeast(Requests, staleness)}
}

// Route implements sim.Router.
func (p *SessionAffinity) Route(now sim.Time, r *sim.Request, pool *sim.Pool) *sim.Instance {
	if r.Session == 0 {
		return p.rest.Route(now, r, pool)
	}
	if id, ok := p.homes[r.Session]; ok {
		if in := byID(pool, id); in.Live() {
			return in
		}
	}
	in := p.rest.Route(now, r, pool)
	p.homes[r.Session] = in.ID
	return in
}

// byID returns the instance of pool with an ID: a pool's are numbered on end.
func byID(pool *sim.Pool, id int32) *sim.Instance { return pool.Replica(int(id - pool.Replica(0).ID)) }
