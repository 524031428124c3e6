package sim

// life is what an instance is about, beyond its steps.
type life uint8

const (
	down     life = iota
	starting      // it comes up at the end of what it does now
	live          // it takes requests
	draining      // it serves those that it has
)

// lifetime is how long an instance has been there, and what comes after.
type lifetime struct {
	since Time  // it was started; GPUs are paid from then on
	next  *Pool // where its GPUs go when it is down; nil: nowhere
	after Duration
}

// charge counts r among the requests routed to in, or takes it out again.
func (in *Instance) charge(r *Request, n int32) {
	in.load += n
	in.prompts += int64(n) * int64(r.Prompt)
	if in.place >= 0 {
		in.pool.outstanding[in.place] = in.load
	}
}

// Pool returns the pool that in belongs to.
func (in *Instance) Pool() *Pool { return in.pool }

// Live, Draining and Starting say what an instance is about; if nothing of it, it is down.
func (in *Instance) Live() bool { return in.life == live }

// Draining reports whether in only serves those that it has.
func (in *Instance) Draining() bool { return in.life == draining }

// Starting reports whether in is on its way up.
func (in *Instance) Starting() bool { return in.life == starting }

// Start starts the first instance of p that is down: after a while, to provision GPUs, and the pool's cold start it takes
// requests. It returns nil if none is down.
func (c *Cluster) Start(p *Pool, after Duration) *Instance {
	for _, in := range p.all {
		if in.life == down {
			in.life, in.since, in.cold = starting, c.now, true
			in.end = c.now.Add(after + p.ColdStart)
			c.ends.set(in.ID, in.end)
			return in
		}
	}
	return nil
}

// up lets in take requests, and those who waited for that.
func (c *Cluster) up(in *Instance) {
	in.life = live
	in.pool.list()
	c.open(in.pool)
}

// Drain has in take no more requests. It is down when it has served those that it has.
func (c *Cluster) Drain(in *Instance) {
	switch in.life {
	case starting:
		in.cold, in.end = false, Forever
		c.ends.set(in.ID, Forever)
		c.down(in)
	case live:
		in.life = draining
		in.pool.list()
		if in.end == Forever {
			c.wake(in)
		}
	}
}

// Switch drains in and starts an instance of another pool on its GPUs, after a while.
func (c *Cluster) Switch(in *Instance, to *Pool, after Duration) {
	if in.life == live || in.life == starting {
		in.next, in.after = to, after
		c.Drain(in)
	}
}

// down ends the life of in, which has nothing left.
func (c *Cluster) down(in *Instance) {
	p := in.pool
	in.life = down
	p.up += c.now.Sub(in.since)
	in.retireCache()
	in.empty()
	if to := in.next; to != nil {
		in.next = nil
		c.Start(to, in.after)
	}
}

// retireCache keeps what has been counted of a cache that is about to be dropped.
func (in *Instance) retireCache() {
	p := in.pool
	p.peak = max(p.peak, in.kv.total-in.kv.low)
	if in.prefix != nil {
		p.evicted += in.prefix.evicted
		if in.prefix.host != nil {
			p.loaded += in.prefix.host.loaded
		}
	}
}
