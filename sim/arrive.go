package sim

import "fmt"

// fetch learns of the next arrival.
func (c *Cluster) fetch() {
	c.arrival = Forever
	if c.whole != nil {
		c.arrival = c.feed.when()
		return
	}
	if c.follower != nil {
		if t := c.follower.When(); t != Forever {
			c.arrival = t.Add(c.ingress)
		}
	} else {
		c.next = Request{}
		if c.source.Next(&c.next) {
			c.arrival = c.next.Arrival.Add(c.ingress)
		}
	}
	if c.look != nil {
		c.aim()
	}
}

// deliver brings the next request to an instance.
func (c *Cluster) deliver() {
	if c.whole != nil {
		c.deliverFed()
		return
	}
	r := &c.next
	if c.follower != nil {
		*r = Request{}
		c.source.Next(r)
	}
	c.totals.Arrived++
	c.totals.EndedBefore = c.totals.Ended
	c.totals.PromptTokens += int64(r.Prompt)
	if r.Content < 0 || int(r.Content) >= c.contents.Len() {
		panic(fmt.Sprintf("sim: request %d has content %d, of %d nodes", r.ID, r.Content, c.contents.Len()))
	}
	if c.traceEvery > 0 && r.ID%c.traceEvery == 0 {
		r.Traced = true
	}
	if c.splitter != nil {
		r.Route = uint8(c.splitter.Split(c.now, r, c))
	}
	switch {
	case c.tooLong(r):
		c.done(r, c.now, Rejected)
	case r.Deadline != 0 && r.Deadline <= c.now:
		c.done(r, c.now, Failed)
	case c.admission != nil && !c.admission.Admit(c.now, r, c):
		c.totals.NotAdmitted++
		c.done(r, c.now, Rejected)
	default:
		c.enter(r)
	}
	c.fetch()
	c.poll()
}

// tooLong reports whether some pool on the way of r cannot take it.
func (c *Cluster) tooLong(r *Request) bool {
	for i := range c.routes[r.Route] {
		p := c.pools[c.routes[r.Route][i].Pool]
		if int64(r.Prompt)+int64(r.Limit()) > int64(p.MaxModelLen) || p.PromptMax > 0 && r.Prompt > p.PromptMax {
			return true
		}
	}
	return false
}

// stage returns what r's pool does for it, if it is to hand r over; else nil.
func (c *Cluster) stage(r *Request) *Stage {
	if route := c.routes[r.Route]; int(r.Stage) < len(route)-1 {
		return &route[r.Stage]
	}
	return nil
}

// enter begins the stage of r that its record names.
func (c *Cluster) enter(r *Request) {
	if s := c.stage(r); s != nil && s.Push {
		c.reserve(r)
		return
	}
	c.send(c.pools[c.routes[r.Route][r.Stage].Pool], r)
}

// send routes r within the pool of its stage.
func (c *Cluster) send(p *Pool, r *Request) {
	if len(p.instances) == 0 {
		c.hold(p, r)
		return
	}
	in := p.Router.Route(c.now, r, p)
	if c.parts != nil {
		in.cluster.feed.push(c.now, r)
		return
	}
	in.charge(r, 1)
	in.enqueue(c.now, r)
}

// done ends r for its client.
func (c *Cluster) done(r *Request, at Time, o Outcome) {
	c.totals.Ended++
	c.totals.OutputTokens += int64(r.Emitted)
	c.sink.Done(r, at, o)
	c.poll()
	if c.follower != nil {
		c.follower.Done(at.Add(c.egress), r)
		c.fetch()
	}
}

// poll asks whether the run is cancelled; if so, every event to come is past the pause.
func (c *Cluster) poll() {
	if c.cancelled != nil && c.cancelled() {
		c.halted, c.pause = true, -1
	}
}

// Halted reports whether the run was cancelled. What was under way then has no outcome.
func (c *Cluster) Halted() bool { return c.halted }
