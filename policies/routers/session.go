package routers

import "github.com/decodesim/decodesim/sim"

var _ sim.Router = (*SessionAffinity)(nil)

// SessionAffinity routes the requests of a session to the instance that had its first request, as long as that instance
// takes requests. All other requests go to the instance with the fewest requests. The router never moves a session to
// balance load, and it remembers every session, because nothing tells it that a session has ended.
type SessionAffinity struct {
	homes map[int32]int32 // ID of the instance of each session
	least Least
}

// NewSessionAffinity returns the router, which knows loads as they were at most staleness ago.
func NewSessionAffinity(staleness sim.Duration) *SessionAffinity {
	return &SessionAffinity{map[int32]int32{}, *NewLeast(Requests, staleness)}
}

// Route implements sim.Router.
func (p *SessionAffinity) Route(now sim.Time, r *sim.Request, pool *sim.Pool) *sim.Instance {
	if r.Session == 0 {
		return p.least.Route(now, r, pool)
	}
	if id, ok := p.homes[r.Session]; ok {
		if in := byID(pool, id); in.Live() {
			return in
		}
	}
	in := p.least.Route(now, r, pool)
	p.homes[r.Session] = in.ID
	return in
}
