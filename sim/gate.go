package sim

// lobby is where those wait who found no instance that takes requests: by slot, with the pool that they wait for.
type lobby struct {
	waits []gated
	spare []int32
}

type gated struct {
	Request
	pool *Pool // nil: nobody waits here
}

// hold lets r wait at the gate of p until an instance takes requests.
func (c *Cluster) hold(p *Pool, r *Request) {
	l := &c.lobby
	if len(l.spare) == 0 {
		l.spare = append(l.spare, int32(len(l.waits)))
		l.waits = append(l.waits, gated{})
	}
	slot := l.spare[len(l.spare)-1]
	l.spare = l.spare[:len(l.spare)-1]
	l.waits[slot] = gated{*r, p}
	p.gate = append(p.gate, slot)
	p.gated++
	if r.Deadline != 0 {
		c.timers.push(timer{at: r.Deadline, id: r.ID, instance: noSlot, slot: slot})
	}
}

// open lets those who wait at the gate of p in, in order.
func (c *Cluster) open(p *Pool) {
	gate := p.gate
	p.gate = nil
	for _, slot := range gate {
		here := c.lobby.waits[slot].pool == p
		r := c.ungate(slot)
		c.lobby.spare = append(c.lobby.spare, slot)
		switch {
		case !here: // its client has hung up, or it began again
		case c.pools[c.routes[r.Route][r.Stage].Pool] == p:
			c.send(p, &r)
		default:
			c.pass(p, &r)
		}
	}
}

// ungate takes the request in slot of the lobby away. Its place at the gate stays, empty.
func (c *Cluster) ungate(slot int32) Request {
	w := &c.lobby.waits[slot]
	if w.pool != nil {
		w.pool.gated--
		w.pool = nil
	}
	return w.Request
}

// atGate returns the slot of the lobby in which the request waits that hand-over i is of, or noSlot.
func (c *Cluster) atGate(i int32) int32 {
	for slot := range c.lobby.waits {
		if w := &c.lobby.waits[slot]; w.pool != nil && w.move == i {
			return int32(slot)
		}
	}
	return noSlot
}

// eachGated calls f with every request that waits at the gate of p, in order.
func (c *Cluster) eachGated(p *Pool, f func(r *Request)) {
	for _, slot := range p.gate {
		if w := &c.lobby.waits[slot]; w.pool == p {
			f(&w.Request)
		}
	}
}
