package sim

import "slices"

// hold lets r wait at the gate of p until an instance takes requests.
func (c *Cluster) hold(p *Pool, r *Request) {
	p.gate = append(p.gate, *r)
	if r.Deadline != 0 {
		c.timers.push(timer{at: r.Deadline, id: r.ID, instance: noSlot})
	}
}

// open lets those who wait at the gate of p in, in order.
func (c *Cluster) open(p *Pool) {
	gate := p.gate
	p.gate = nil
	for i := range gate {
		r := &gate[i]
		if c.pools[c.routes[r.Route][r.Stage].Pool] == p {
			c.send(p, r)
		} else {
			c.pass(p, r)
		}
	}
}

// atGate returns where a request waits at a gate, or nil.
func (c *Cluster) atGate(id int32) (*Pool, int) {
	for _, p := range c.pools {
		if i := slices.IndexFunc(p.gate, func(r Request) bool { return r.ID == id }); i >= 0 {
			return p, i
		}
	}
	return nil, 0
}

// ungate takes the request that hand-over i is of from the gate where it waits.
func (c *Cluster) ungate(i int32) Request {
	for _, p := range c.pools {
		for j := range p.gate {
			if r := p.gate[j]; r.move == i {
				p.gate = slices.Delete(p.gate, j, j+1)
				return r
			}
		}
	}
	panic("sim: a hand-over without a request")
}
