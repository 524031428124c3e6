package sim

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Config is all a run is a function of.
type Config struct {
	Source     Source
	Sink       Sink
	Pools      []*Pool
	Routes     []Route    // that requests may take; nil: one, of the first pool alone
	Splitter   Splitter   // which of them; nil: the first
	Admission  Admission  // who may enter; nil: everybody
	Controller Controller // of the fleet; nil: it stays as it is
	Contents   *Contents  // that requests name; nil: they name none
	Ingress    Duration   // from the client to the engine's queue: network, API server, tokenizer
	Egress     Duration   // from the engine to the client, of each token; a Follower is told of it, a Sink is not
	Until      Time       // stop here, at most at ClockEnd; 0: run until every request has ended

	// Unordered says that the Sink may be told of one instance before another, each in order of time: what a router does that
	// looks at no instance can then be simulated one instance after the other, which is faster.
	Unordered bool

	// Observe, if set, is called at instants of its own choice, between events: it returns the next.
	Observe func(c *Cluster, now Time) (next Time)

	// Cancelled, if set, is asked whenever a request arrives or ends, by several cores at once if Unordered; a yes stops the run.
	Cancelled func() bool

	// TraceEvery marks the requests whose ID is a multiple of it as Traced; 0: those the source marks.
	TraceEvery int32

	// MaxRun bounds the steps advanced at once; 0: no bound. It changes the number of events, never a result: that is
	// tested with MaxRun = 1. LogWheel is the binary logarithm of the size of the timing wheels, 6 to 12; 0: 12. Likewise.
	MaxRun   int
	LogWheel uint
}

func (c *Config) validate() error {
	switch {
	case c.Source == nil || c.Sink == nil || len(c.Pools) == 0 || slices.Contains(c.Pools, nil):
		return errors.New("sim: Source, Sink and Pools are required")
	case c.Until < 0 || c.Until > ClockEnd || c.MaxRun < 0 || c.Ingress < 0 || c.Egress < 0 || c.TraceEvery < 0:
		return fmt.Errorf("sim: Until %v, MaxRun %d, Ingress %v, Egress %v and TraceEvery %d must not be negative", c.Until, c.MaxRun, c.Ingress, c.Egress, c.TraceEvery)
	case len(c.Routes) > 256:
		return fmt.Errorf("sim: %d routes, at most 256", len(c.Routes))
	}
	for _, p := range c.Pools {
		if err := p.validate(); err != nil {
			return err
		}
	}
	for i, r := range c.Routes {
		if err := r.validate(i, c.Pools); err != nil {
			return err
		}
	}
	return nil
}

// Cluster is a run in progress.
type Cluster struct {
	now       Time
	until     Time
	overran   bool
	source    Source
	follower  Follower // source, if it is one
	sink      Sink
	tracer    Tracer           // sink, if it is one
	mover     TransferObserver // likewise
	pools     []*Pool
	routes    []Route
	splitter  Splitter
	admission Admission
	instances []*Instance
	contents  *Contents
	ingress   Duration
	egress    Duration
	maxRun    int
	logWheel  uint

	parts []*Cluster // one for each instance; nil: all share one clock
	whole *Cluster   // of which this is a part; nil: of none
	feed  feed

	ends    ends
	timers  timers
	links   links
	lobby   lobby
	arrival Time    // of the next request at the engine; Forever: none known
	next    Request // it, unless the source is a Follower
	woken   []int32 // instances to plan when everything at this instant has happened
	rounds  []int32 // of those, the ones being planned

	traceEvery int32
	cancelled  func() bool
	halted     bool // it has said yes
	observe    func(*Cluster, Time) Time
	observeAt  Time
	controller Controller
	controlAt  Time
	look       func(*Cluster) int64
	lookAfter  int64 // arrivals
	lookAt     Time  // the next arrival, if there have been so many; else Forever
	planned    Time  // when instances planned latest
	turn       int32 // those before it have planned then, although a run of steps may hide it
	pause      Time  // past it there is more than events: the horizon, an observer or a controller

	totals Totals
}

// Totals counts what a run has seen.
type Totals struct {
	Arrived           int64
	PromptTokens      int64 // of the requests that arrived
	CachedTokens      int64 // of those, found in a cache when the request first entered a batch
	Ended             int64
	EndedBefore       int64 // of those, before the latest arrival
	OutputTokens      int64 // emitted to clients that were still there
	NotAdmitted       int64 // requests that were not admitted to the cluster; among the rejected
	Stranded          int64 // requests that nothing was to come for any more: no instance, or no room
	InstancesFailed   int64 // instances that failed
	Restarted         int64 // times that a request began again because its instance failed
	Transfers         int64 // hand-overs that have landed
	TransferredTokens int64 // whose cache they moved: not what was found at the other end
}

// New builds the run that c describes.
func New(c Config) (*Cluster, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	cl := &Cluster{
		source: c.Source, sink: c.Sink, pools: c.Pools, routes: c.Routes, splitter: c.Splitter, admission: c.Admission,
		ingress: c.Ingress, egress: c.Egress, until: c.Until, maxRun: c.MaxRun, logWheel: c.LogWheel, traceEvery: c.TraceEvery,
		cancelled: c.Cancelled,
		arrival:   Forever, observe: c.Observe, observeAt: Forever, controller: c.Controller, controlAt: Forever, lookAt: Forever, contents: c.Contents,
	}
	if cl.contents == nil {
		cl.contents = new(Contents)
	}
	if cl.until == 0 {
		cl.until = ClockEnd
	}
	if cl.maxRun == 0 {
		cl.maxRun = math.MaxInt32
	}
	if cl.logWheel == 0 {
		cl.logWheel = wheelBits
	}
	if cl.routes == nil {
		cl.routes = []Route{{{Pool: 0}}}
	}
	cl.follower, _ = c.Source.(Follower)
	cl.tracer, _ = c.Sink.(Tracer)
	cl.mover, _ = c.Sink.(TransferObserver)
	if c.Observe != nil {
		cl.observeAt = 0
	}
	if c.Controller != nil {
		cl.controlAt = 0
	}
	cl.rest()
	cl.found()
	if c.Unordered && cl.separable() {
		cl.separate()
	}
	return cl, nil
}

// found builds the pools.
func (c *Cluster) found() {
	n := 0
	for _, p := range c.pools {
		n += max(p.Size, p.SizeMax)
	}
	c.ends, c.links = newEnds(n), newLinks()
	for _, p := range c.pools {
		p.found(c)
	}
	for _, route := range c.routes {
		for i := range route[:len(route)-1] {
			p := c.pools[route[i].Pool]
			p.hands, p.pushes = true, p.pushes || route[i].Push
		}
	}
}

// Run handles events in order until none is left or the horizon is reached.
//
// At one instant, observers and controllers come first, then clients that hang up, then arrivals, then transfers, then the
// ends of steps, by instance. What these cause at the same instant is handled before any instance plans, so that a plan
// sees all of it.
func (c *Cluster) Run() {
	c.fetch()
	if c.parts != nil {
		c.runParts()
		return
	}
	c.advance()
}

// advance handles events as long as there are any that it may.
func (c *Cluster) advance() {
	for {
		t, id := c.ends.min()
		hangup := c.hangup()
		t = min(t, c.arrival, hangup, c.links.at)
		switch {
		case t > c.now && len(c.woken) > 0:
			c.plan()
		case t > c.pause:
			if !c.control(t) {
				return
			}
		case hangup == t:
			c.now = t
			c.leave(c.timers.pop())
		case c.arrival == t:
			c.now = t
			c.deliver()
		case c.links.at == t:
			c.now = t
			c.transfer()
		default:
			c.now = t
			c.commit(c.instances[id])
		}
	}
}

// control lets observer and controller look, or ends the run and reports false. Nothing else happens before t, which is past
// pause.
func (c *Cluster) control(t Time) bool {
	if c.whole != nil || c.halted {
		return false
	}
	if at := min(c.lookAt, c.observeAt, c.controlAt); t == Forever && !c.waitsForControl() || min(t, at) > c.until {
		c.stop()
		return false
	}
	switch {
	case c.lookAt <= min(c.observeAt, c.controlAt):
		c.now = c.lookAt
		c.glance()
	case c.observeAt <= c.controlAt:
		c.now = c.observeAt
		c.observeAt = c.observe(c, c.now)
	case c.settled():
		c.controlAt = Forever
	default:
		c.now = c.controlAt
		c.controlAt = c.controller.Control(c.now, c)
	}
	c.rest()
	return true
}

// settled reports whether every request has ended, and no other is known. What a controller does then, nobody sees.
func (c *Cluster) settled() bool {
	return c.arrival == Forever && c.totals.Arrived > 0 && c.totals.Ended == c.totals.Arrived
}

// Look has f called when so many requests have arrived and the next is about to, before anything else happens at that
// instant. f returns after how many to look again.
func (c *Cluster) ObserveArrivals(after int64, f func(*Cluster) (after int64)) {
	c.look, c.lookAfter = f, after
}

// glance looks, and finds out when to look again.
func (c *Cluster) glance() {
	c.lookAfter = c.look(c)
	c.aim()
}

// aim finds out whether to look before the next arrival.
func (c *Cluster) aim() {
	c.lookAt = Forever
	if c.totals.Arrived == c.lookAfter {
		c.lookAt = c.arrival
	}
	c.rest()
}

// waitsForControl reports whether requests wait, at a gate or for room that never comes, and a controller will act again.
func (c *Cluster) waitsForControl() bool {
	return c.controlAt < Forever && c.totals.Ended < c.totals.Arrived
}

// rest computes until when there is nothing but events.
func (c *Cluster) rest() {
	c.pause = min(c.until, c.observeAt-1, c.controlAt-1, c.lookAt-1)
	if c.halted {
		c.pause = -1
	}
}

// Now returns the time of the event being handled; after Run, the end of the run.
func (c *Cluster) Now() Time { return c.now }

// Overran reports whether the run was still under way at the end of the clock.
func (c *Cluster) Overran() bool { return c.overran }

// Totals returns what the run has seen so far.
func (c *Cluster) Totals() Totals { return c.totals }

// Pools returns the number of pools.
func (c *Cluster) Pools() int { return len(c.pools) }

// Pool returns the i-th pool.
func (c *Cluster) Pool(i int) *Pool { return c.pools[i] }

// commit ends the steps of in, or its start, and plans the next if nothing else is to happen at this instant.
func (c *Cluster) commit(in *Instance) {
	in.commit()
	in.end = Forever
	c.ends.set(in.ID, Forever)
	if in.life == starting {
		c.up(in)
	}
	next, _ := c.ends.min()
	if len(c.woken) > 0 || min(next, c.arrival, c.hangup(), c.links.at) == c.now {
		c.wake(in)
		return
	}
	if c.planned != c.now {
		c.planned, c.turn = c.now, in.ID
	}
	c.start(in)
	c.turn = math.MaxInt32
	c.plan()
}

// start plans in and schedules the end of its steps.
func (c *Cluster) start(in *Instance) {
	if in.life == down || in.life == starting {
		return // it was woken before it went
	}
	in.plan(c.now)
	if in.end != Forever {
		c.ends.set(in.ID, in.end)
	}
}

// wake notes that in is to be planned at this instant.
func (c *Cluster) wake(in *Instance) {
	if !in.woken {
		in.woken = true
		c.woken = append(c.woken, in.ID)
	}
}

// plan plans the instances that were woken, in order of ID, and then those whom they woke in turn, before anything else happens.
func (c *Cluster) plan() {
	for len(c.woken) > 0 {
		c.rounds, c.woken = c.woken, c.rounds[:0]
		if len(c.rounds) > 1 {
			slices.Sort(c.rounds)
		}
		first := c.planned != c.now
		c.planned = c.now
		for _, id := range c.rounds {
			if first {
				c.turn = id
			}
			c.instances[id].woken = false
			c.start(c.instances[id])
		}
		c.turn = math.MaxInt32
	}
}

// stop ends the run. At a horizon, the steps that have ended by then have been seen by the clients.
func (c *Cluster) stop() {
	if t, _ := c.ends.min(); t < Forever || c.arrival < Forever || c.links.at < Forever {
		c.overran = c.until == ClockEnd
		c.now = c.until
	} else { // nothing is to come, and who is still here waits in vain
		c.totals.Stranded = c.totals.Arrived - c.totals.Ended
	}
	for _, in := range c.instances {
		in.settle(c.now)
	}
	c.links.settleAll(c)
	c.strand()
}

// strand tells of those who still wait at gates that the run has ended.
func (c *Cluster) strand() {
	for _, p := range c.pools {
		c.eachGated(p, func(r *Request) {
			c.totals.OutputTokens += int64(r.Emitted)
			c.sink.Done(r, c.now, Unfinished)
		})
	}
}
