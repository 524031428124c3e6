package sim

import (
	"github.com/decodesim/decodesim/sim/clock"
	"github.com/decodesim/decodesim/sim/transfer"
)

// If a router looks at no instance, instances have nothing to do with each other: each can be simulated alone, on the
// requests that are routed to it. What it sees and reports is the same, to the picosecond; it is faster because a
// processor then works on one instance at a time.

// separation is the parts that a run is simulated in.
type separation struct {
	parts  []*Cluster // one for each instance; nil: all instances share one clock
	groups []group    // of parts, that may be advanced at the same time; nil: there is one group
	each   func(n int, do func(i int))
	whole  *Cluster // of which this is a part; nil: of none
	feed   feed
}

// group is parts that report to a sink of their own.
type group struct {
	parts []*Cluster
	sink  Sink
}

// windowPart is how many requests per instance are read and routed before the instances are advanced, one after the
// other.
const windowPart = 64

// feed is the requests that a part has been given and has not delivered.
type feed struct {
	requests []Request
	at       []Time // when each reaches the engine
	next     int
}

func (f *feed) push(at Time, r *Request) {
	f.requests, f.at = append(f.requests, *r), append(f.at, at)
}

func (f *feed) when() Time {
	if f.next == len(f.at) {
		return Forever
	}
	return f.at[f.next]
}

// compact makes room for more.
func (f *feed) compact() {
	n := copy(f.requests, f.requests[f.next:])
	copy(f.at, f.at[f.next:])
	f.requests, f.at, f.next = f.requests[:n], f.at[:n], 0
}

// separable reports whether the instances have nothing to do with each other.
func (c *Cluster) separable() bool {
	if c.follower != nil || c.splitter != nil || c.admission != nil || c.controller != nil || c.observe != nil {
		return false
	}
	if len(c.pools) > 1 || len(c.routes) > 1 || len(c.routes[0]) > 1 {
		return false
	}
	p := c.pools[0]
	_, blind := p.Router.(Blind)
	return blind && p.Size > 1 && len(p.all) == p.Size
}

// separate makes a part of each instance, and groups of parts for as many cores, which each runs at the same time.
func (c *Cluster) separate(cores int, each func(n int, do func(i int))) {
	for _, in := range c.instances {
		part := *c
		part.whole, part.parts = c, nil
		part.ends, part.links = clock.NewTournament(in.ID, 1), transfer.NewLinks(0)
		part.ends.Set(in.ID, in.step.end)
		in.cluster = &part
		c.parts = append(c.parts, &part)
	}
	sharder, ok := c.sink.(Sharder)
	if n := min(cores, len(c.parts)); n > 1 && each != nil && ok && c.pools[0].concurrent() {
		c.each = each
		c.group(n, sharder)
	}
}

// concurrent reports whether what the instances share can be asked about several of them at the same time: noise and
// acceptance draw from one generator, and some schedulers have scratch.
func (p *Pool) concurrent() bool {
	s, ok := p.Scheduler.(Sequential)
	return p.Noise == nil && p.Speculation == nil && !(ok && s.Sequential())
}

// group divides the parts into n groups of about the same size.
func (c *Cluster) group(n int, sharder Sharder) {
	for i := range n {
		g := group{parts: c.parts[i*len(c.parts)/n : (i+1)*len(c.parts)/n], sink: sharder.Shard()}
		for _, part := range g.parts {
			part.sink = g.sink
			part.tracer, _ = g.sink.(Tracer)
			part.transferObserver, _ = g.sink.(TransferObserver)
		}
		c.groups = append(c.groups, g)
	}
}

// runParts reads requests a window at a time and advances each part as far as its arrivals are known.
func (c *Cluster) runParts() {
	for c.arrival <= c.until && !c.halted {
		if c.arrivals.at == c.arrival {
			c.advanceParts(c.arrival - 1)
			c.observeArrival()
		}
		for n := 0; n < windowPart*len(c.parts) && c.arrival <= c.until && c.arrivals.at > c.arrival && !c.halted; n++ {
			c.now = c.arrival
			c.deliver()
		}
		c.advanceParts(c.now - 1)
	}
	if !c.halted {
		c.countBefore()
		c.advanceParts(c.until)
	}
	if !c.halted {
		c.endParts()
	}
}

// endParts ends the run, and adds up what the parts have counted.
func (c *Cluster) endParts() {
	over := c.arrival == Forever
	for _, part := range c.parts {
		t, _ := part.ends.Min()
		over = over && t == Forever
		c.now = max(c.now, part.now)
	}
	if !over {
		c.overran = c.until == ClockEnd
		c.now = c.until
		for _, in := range c.instances {
			in.settle(c.now)
		}
	}
	for _, part := range c.parts {
		c.totals.Ended += part.totals.Ended
		c.totals.CachedTokens += part.totals.CachedTokens
		c.totals.OutputTokens += part.totals.OutputTokens
	}
	for _, g := range c.groups {
		c.sink.(Sharder).Merge(g.sink)
	}
}

// countBefore counts the requests that have ended before the latest arrival; those that were cancelled at the same
// instant have.
func (c *Cluster) countBefore() {
	for _, part := range c.parts {
		for part.nextDeadline() == c.now {
			part.now = c.now
			part.cancel()
		}
		c.totals.EndedBefore += part.totals.Ended
	}
}

// advanceParts lets each part handle its events up to a time.
func (c *Cluster) advanceParts(to Time) {
	if c.groups == nil {
		advanceAll(c.parts, to)
	} else {
		c.each(len(c.groups), func(i int) { advanceAll(c.groups[i].parts, to) })
	}
	for _, part := range c.parts {
		c.halted = c.halted || part.halted
	}
}

// advanceAll lets parts handle their events up to a time, one part after the other, until one is halted.
func advanceAll(parts []*Cluster, to Time) {
	for _, part := range parts {
		part.feed.compact()
		part.pause = to
		part.fetch()
		part.advance()
		if part.halted {
			return
		}
	}
}

// deliverFed brings the next request that was routed to the part to its instance.
func (c *Cluster) deliverFed() {
	r := &c.feed.requests[c.feed.next]
	c.feed.next++
	_, id := c.ends.Min()
	in := c.instances[id]
	in.charge(r, 1)
	in.enqueue(c.now, r)
	c.fetch()
}
