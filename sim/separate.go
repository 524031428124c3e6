package sim

import (
	"sync/atomic"

	"github.com/decodesim/decodesim/sim/clock"
	"github.com/decodesim/decodesim/sim/transfer"
)

// If a router observes no instance, instances have nothing to do with each other: each can be simulated by itself, on
// the requests that are routed to it. What it sees and reports is the same, to the picosecond; it is faster because a
// processor then works on one instance at a time, and several processors can work on several.

// separation is the parts that a run is simulated in.
type separation struct {
	parts  []*Cluster // one for each instance with requests, by its ID; nil: all instances share one clock
	window int        // requests of a window
	part   *Cluster   // what each of them is at its beginning
	routed []feed     // requests that have been routed to each of them in the window being read
	fed    []int32    // those of them that have any
	named  Contents   // those that requests of the parts name: the source may add others meanwhile
	shards []Sink     // one for each of the parts that may be advanced at the same time; nil: one at a time
	each   func(n int, do func(i int))

	whole *Cluster // of which this is a part; nil: of none
	feed  feed     // the requests that the part has been given
}

// window is requests that are read and routed together, while instances work on those of the window before.
type window struct {
	requests int
	to       Time  // so far its instances can be advanced: what arrives by then is known
	observed int64 // arrivals after which an observer is to be called when they have been; 0: none is
	tied     bool  // the next arrival comes at the same instant as the last of them
}

// How many requests a window has, so that an instance works on many while its state is in a processor's cache.
const (
	windowPart = 128     // for each instance
	windowMin  = 1 << 13 // however few instances there are
	windowMax  = 1 << 20 // however many
)

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
	return blind && len(p.Tiers) == 0 && p.Size > 1 && len(p.all) == p.Size && p.Ranks <= 1
}

// separate makes a part of each instance, and has as many cores as there are work on them at the same time.
func (c *Cluster) separate(cores int, each func(n int, do func(i int))) {
	part := *c
	part.whole, part.links, part.contents = c, transfer.NewLinks(0), &c.named
	c.part = &part
	c.routed, c.parts = make([]feed, len(c.instances)), make([]*Cluster, len(c.instances))
	c.window = min(max(windowMin, windowPart*len(c.instances)), windowMax)
	for in := range built(c.instances) {
		c.parts[in.ID] = c.newPart(in)
	}
	sharder, ok := c.sink.(Sharder)
	if n := min(cores, len(c.parts)); n > 1 && each != nil && ok && c.pools[0].concurrent() {
		c.each = each
		for range n {
			c.shards = append(c.shards, sharder.Shard())
		}
	}
}

// newPart makes a part of an instance that has done nothing yet.
func (c *Cluster) newPart(in *Instance) *Cluster {
	part := *c.part
	part.ends = clock.NewTournament(in.ID, 1)
	part.ends.Set(in.ID, in.step.end)
	in.cluster, in.place = &part, -1 // the router asks no instance how many requests it has
	for _, lane := range in.batches() {
		lane.cluster = &part
	}
	in.reset()
	return &part
}

// concurrent reports whether what the instances share can be asked about several of them at the same time: noise and
// acceptance draw from one generator, and some schedulers have scratch.
func (p *Pool) concurrent() bool {
	s, ok := p.Scheduler.(Sequential)
	return p.Noise == nil && p.Speculation == nil && !(ok && s.Sequential())
}

// runParts reads requests a window at a time, and advances each part as far as its arrivals are known while the next
// window is read.
func (c *Cluster) runParts() {
	for w := c.readWindow(); w.requests > 0 && !c.halted; {
		c.giveWindow()
		var next window
		c.advanceParts(w.to, func() { next = c.readWindow() })
		if w.observed > 0 && !c.halted {
			c.observeParts(&w)
		}
		w = next
	}
	if !c.halted {
		c.countBefore()
		c.advanceParts(c.until, func() {})
	}
	if !c.halted {
		c.endParts()
	}
}

// readWindow reads and routes the next requests, up to an arrival that is observed.
func (c *Cluster) readWindow() (w window) {
	for w.requests < c.window && w.observed == 0 && c.arrival <= c.until && !c.halted {
		c.now = c.arrival
		c.deliver()
		w.requests++
		if c.arrivals.at <= c.until {
			w.observed, w.tied = c.arrivals.after, c.arrival == c.now
			c.nextArrivalObserver()
		}
	}
	w.to = c.arrival - 1
	if c.arrival > c.until {
		w.to = c.now - 1 // what has ended before the latest arrival is counted then
	}
	return w
}

// giveWindow gives the parts the requests of the window that has been read.
func (c *Cluster) giveWindow() {
	c.named = *c.contents
	for _, id := range c.fed {
		if c.parts[id] == nil {
			c.parts[id] = c.newPart(c.instances[id])
		}
		c.parts[id].feed.take(&c.routed[id])
	}
	c.fed = c.fed[:0]
}

// advanceParts reads the next window and lets each part handle its events up to a time, both at the same time if there
// are several cores. A core takes the next part when it is done with one.
func (c *Cluster) advanceParts(to Time, read func()) {
	var taken atomic.Int64
	work := func(core int) {
		if core == 0 {
			read()
		}
		for i := taken.Add(1) - 1; i < int64(len(c.parts)); i = taken.Add(1) - 1 {
			part := c.parts[i]
			if part == nil {
				continue
			}
			if c.shards != nil {
				part.reportTo(c.shards[core])
			}
			part.advanceTo(to)
			if part.halted {
				return
			}
		}
	}
	if c.shards == nil {
		work(0)
	} else {
		c.each(len(c.shards), work)
	}
	for part := range built(c.parts) {
		c.halted = c.halted || part.halted
	}
}

// advanceTo handles the events up to a time. A part that has been brought to a later one plans when it is advanced
// beyond that, because other requests may arrive then.
func (c *Cluster) advanceTo(to Time) {
	if c.now > to {
		return
	}
	c.pause = to
	c.fetch()
	c.advance()
}

// observeParts calls the observer of arrivals after those of w.
func (c *Cluster) observeParts(w *window) {
	if w.tied {
		for part := range built(c.parts) {
			part.reach(w.to + 1)
		}
	}
	c.arrivals.observe(c, w.observed)
}

// reach has what comes first at t happen, up to the arrivals that are known. Nothing else is to come before.
func (c *Cluster) reach(t Time) {
	for c.nextDeadline() == t {
		c.now = t
		c.cancel()
	}
	for c.fetch(); c.arrival == t; {
		c.now = t
		c.deliver()
	}
}

// reportTo makes s the sink of c.
func (c *Cluster) reportTo(s Sink) {
	c.sink = s
	c.tracer, _ = s.(Tracer)
	c.transferObserver, _ = s.(TransferObserver)
}

// countBefore counts the requests that have ended before the latest arrival; those that were cancelled at the same
// instant have.
func (c *Cluster) countBefore() {
	for part := range built(c.parts) {
		part.reach(c.now)
		c.totals.EndedBefore += part.totals.Ended
	}
}

// endParts ends the run, and adds up what the parts have counted.
func (c *Cluster) endParts() {
	over := c.arrival == Forever
	for part := range built(c.parts) {
		t, _ := part.ends.Min()
		over = over && min(t, part.nextTokenized()) == Forever
		c.now = max(c.now, part.now)
	}
	if !over {
		c.overran = c.until == ClockEnd
		c.now = c.until
		for in := range built(c.instances) {
			in.settle(c.now)
		}
	}
	for part := range built(c.parts) {
		c.totals.Ended += part.totals.Ended
		c.totals.CachedTokens += part.totals.CachedTokens
		c.totals.OutputTokens += part.totals.OutputTokens
	}
	for _, s := range c.shards {
		c.sink.(Sharder).Merge(s)
	}
}

// deliverFed brings the next request that was routed to the part to its instance.
func (c *Cluster) deliverFed() {
	c.next = c.feed.pop()
	_, id := c.ends.Min()
	c.instances[id].accept(&c.next)
	c.fetch()
}

// feed is requests on their way to a part of a run, see separation, in order of arrival and packed if they can be.
type feed struct {
	requests []packed
	records  []Request // of the requests that are more than a packed one can say
	next     int       // the first of requests that has not been delivered
}

// push adds r.
func (f *feed) push(r *Request) {
	slot := noSlot
	if !r.plain() {
		slot = int32(len(f.records))
		f.records = append(f.records, *r)
	}
	f.requests = append(f.requests, r.pack(slot))
}

// empty reports whether f has nothing that has not been taken.
func (f *feed) empty() bool { return len(f.requests) == 0 }

// at returns the i-th of the requests.
func (f *feed) at(i int) Request {
	if slot := f.requests[i].slot(); slot != noSlot {
		return f.records[slot]
	}
	return *f.requests[i].request()
}

// pop takes the next request off f.
func (f *feed) pop() Request {
	f.next++
	return f.at(f.next - 1)
}

// when returns when the next request arrives, or Forever.
func (f *feed) when() Time {
	if f.next == len(f.requests) {
		return Forever
	}
	return f.requests[f.next].arrival
}

// take moves the requests of o, which come later, to f.
func (f *feed) take(o *feed) {
	if f.next == len(f.requests) {
		*f, *o = *o, *f
	} else {
		for i := range o.requests {
			r := o.at(i)
			f.push(&r)
		}
	}
	o.requests, o.records, o.next = o.requests[:0], o.records[:0], 0
}
