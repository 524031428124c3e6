package sim

import (
	"math"
	"slices"

	"github.com/decodesim/decodesim/sim/batch"
	"github.com/decodesim/decodesim/sim/clock"
	"github.com/decodesim/decodesim/sim/heap"
	"github.com/decodesim/decodesim/sim/transfer"
)

// Cluster is a run in progress.
type Cluster struct {
	now     Time
	overran bool
	totals  Totals
	setup
	events
	planning
	control
	separation
}

// setup is what a run consists of: its Config, with what is found out about it at the start, and the instances.
type setup struct {
	source           Source
	follower         Follower // source, if it is one
	sink             Sink
	tracer           Tracer           // sink, if it is one
	transferObserver TransferObserver // sink, if it is one
	pools            []*Pool
	instances        []*Instance
	routes           []Route
	splitter         Splitter
	admission        Admission
	contents         *Contents
	ingress          Duration
	egress           Duration
	until            Time
	maxRun           int
	logWheel         uint
	traceEvery       int32
}

// events is everything that is to happen.
type events struct {
	arrival    Time             // of the next request at the engine; Forever: none known
	next       Request          // the next request, unless the source is a Follower
	ends       clock.Tournament // of the steps under way
	deadlines  deadlines
	tokenizing heap.Heap[Time, place] // when prompts have been tokenised, and then by ID; void without their request
	links      transfer.Links
	gate       gate
}

// planning is which instances are to be planned at this instant, when everything else at it has happened.
type planning struct {
	woken   []int32 // instances
	round   []int32 // instances that are being planned
	planned Time    // when instances planned latest
	turn    int32   // instances before this one have planned then, although a segment may hide it
}

// control is what observes and changes a run between its events.
type control struct {
	observe    func(*Cluster, Time) Time
	observeAt  Time
	controller Controller
	activator  Activator // controller, if it is one
	controlAt  Time
	arrivals   arrivalObserver
	cancelled  func() bool
	building   func(built, of int) (stop bool)
	halted     bool      // it has said yes
	running    bool      // Run handles events, all of them itself
	pause      Time      // past it there is more than events: the horizon, an observer or a controller
	failing    *Instance // that fails at this moment; nil: none
	present    Time      // of a live run, which is advanced no further; Forever: the run goes on to its end
}

// arrivalObserver is called before some of the arrivals.
type arrivalObserver struct {
	next    func(arrived int64) int64
	observe func(c *Cluster, arrived int64)
	after   int64 // arrivals
	at      Time  // the next arrival, if there have been so many; else Forever
}

// Totals counts what a run has seen.
type Totals struct {
	Arrived           int64
	PromptTokens      int64 // of the requests that arrived
	CachedTokens      int64 // prompt tokens that were cached when their request was first admitted to a batch
	Ended             int64
	EndedBefore       int64 // requests that had ended before the latest arrival
	OutputTokens      int64 // emitted to clients that still waited
	NotAdmitted       int64 // requests that were not admitted to the cluster; among the rejected
	Stranded          int64 // requests that nothing was to come for any more: no instance, or no room
	InstancesFailed   int64
	Restarted         int64 // times that a request began again because its instance failed
	Transfers         int64 // KV transfers that have arrived
	TransferredTokens int64 // whose cache they transferred: without what was cached at the destination
}

// New builds the run that c describes.
func New(c Config) (*Cluster, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	cl := &Cluster{
		setup: setup{
			source: c.Source, sink: c.Sink, routes: c.Routes, splitter: c.Splitter,
			admission: c.Admission, contents: c.Contents, ingress: c.Ingress, egress: c.Egress,
			until: c.Until, maxRun: c.MaxRun, logWheel: c.LogWheel, traceEvery: c.TraceEvery,
		},
		events: events{arrival: Forever},
		control: control{
			observe: c.Observe, observeAt: Forever, controller: c.Controller, controlAt: Forever, cancelled: c.Cancelled,
			building: c.Building,
			arrivals: arrivalObserver{at: Forever}, present: Forever,
		},
	}
	cl.complete()
	if c.Observe != nil {
		cl.observeAt = 0
	}
	if c.Controller != nil {
		cl.controlAt = 0
		cl.activator, _ = c.Controller.(Activator)
	}
	cl.findPause()
	cl.build(c.Pools)
	if c.Unordered && cl.separable() {
		cl.separate(c.Cores, c.Each)
	}
	return cl, nil
}

// complete fills in what a Config may leave out.
func (s *setup) complete() {
	if s.contents == nil {
		s.contents = new(Contents)
	}
	if s.until == 0 {
		s.until = ClockEnd
	}
	if s.maxRun == 0 {
		s.maxRun = math.MaxInt32
	}
	if s.logWheel == 0 {
		s.logWheel = batch.LogWheelMax
	}
	if s.routes == nil {
		s.routes = []Route{{{Pool: 0}}}
	}
	s.follower, _ = s.source.(Follower)
	s.tracer, _ = s.sink.(Tracer)
	s.transferObserver, _ = s.sink.(TransferObserver)
}

// build builds the pools and their instances.
func (c *Cluster) build(specs []*PoolSpec) {
	n, ends := 0, 0
	transfers := slices.ContainsFunc(c.routes, func(r Route) bool { return len(r) > 1 }) ||
		slices.ContainsFunc(specs, func(p *PoolSpec) bool { return len(p.Tiers) > 0 })
	for _, spec := range specs {
		n += max(spec.Size, spec.SizeMax)
		if transfers {
			ends += max(spec.Size, spec.SizeMax) * (1 + spec.Ranks)
		}
	}
	c.ends, c.links = clock.NewTournament(0, n), transfer.NewLinks(ends)
	for _, spec := range specs {
		p := &Pool{PoolSpec: *spec}
		p.retractor = p.retracting()
		c.pools = append(c.pools, p)
		p.addTiers(c)
		p.addInstances(c)
	}
	for _, p := range c.pools {
		p.addRanks(c)
		p.addStages(c)
	}
	for _, route := range c.routes {
		for i := range route[:len(route)-1] {
			p := c.pools[route[i].Pool]
			p.sends, p.pushes, p.unseenSends = true, p.pushes || route[i].Push, p.sendsUnseen()
			p.retractor, c.pools[route[i+1].Pool].retractor = nil, c.pools[route[i+1].Pool].retractsAhead()
		}
	}
}

// Run handles events in order until none is left or the horizon is reached.
//
// At one instant, observers and controllers come first, then deadlines, arrivals, prompts that have been tokenised,
// transfers and the ends of steps, by instance. What these cause at the same instant is handled before any instance
// plans, so that a plan sees all of it.
func (c *Cluster) Run() {
	c.fetch()
	if c.parts != nil {
		c.runParts()
		return
	}
	c.running = true
	defer c.halt()
	c.advance()
}

// advance handles events as long as there are any that it may.
func (c *Cluster) advance() {
	for {
		t, id := c.ends.Min()
		cancels, tokenized, transfers := c.nextDeadline(), c.nextTokenized(), c.links.At()
		t = min(t, c.arrival, cancels, tokenized, transfers)
		switch {
		case t > c.now && len(c.woken) > 0:
			c.plan()
		case t > c.pause:
			if !c.intervene(t) {
				return
			}
		case cancels == t:
			c.now = t
			c.cancel()
		case c.arrival == t:
			c.now = t
			c.deliver()
		case tokenized == t:
			c.now = t
			c.tokenized()
		case transfers == t && c.onlyWrites():
			c.stopAllWrites()
		case transfers == t:
			c.now = t
			c.advanceTransfers()
		default:
			c.now = t
			c.commit(c.instances[id])
		}
	}
}

// intervene has an observer or the controller act, or ends the run and reports false. Nothing else happens before t,
// which is past pause.
func (c *Cluster) intervene(t Time) bool {
	if c.whole != nil || c.halted {
		return false
	}
	at := min(c.arrivals.at, c.observeAt, c.controlAt)
	if min(t, c.controlAt) > c.present { // observers wait for what changes something: a run ends with its last event
		return false
	}
	if t == Forever && c.present == Forever && !c.waitsForControl() || min(t, at) > c.until {
		c.stop()
		return false
	}
	switch {
	case c.arrivals.at <= min(c.observeAt, c.controlAt):
		c.now = c.arrivals.at
		c.arrivals.observe(c, c.arrivals.after)
		c.nextArrivalObserver()
	case c.observeAt <= c.controlAt:
		c.now = c.observeAt
		c.observeAt = c.observe(c, c.now)
	case c.settled():
		c.controlAt = Forever
	default:
		c.now = c.controlAt
		c.controlAt = c.controller.Control(c.now, c)
	}
	c.findPause()
	return true
}

// ObserveArrivals has observe called when a number of requests have arrived and another is about to, before anything
// else happens at that instant. next says how many those are: it is called with 0, and then with each of its answers,
// which must grow. It must depend on nothing else, because arrivals may be known long before they are observed.
func (c *Cluster) ObserveArrivals(next func(arrived int64) int64, observe func(c *Cluster, arrived int64)) {
	c.arrivals = arrivalObserver{next: next, observe: observe, after: next(0), at: Forever}
}

// nextArrivalObserver finds out when the observer of arrivals is called after this time.
func (c *Cluster) nextArrivalObserver() {
	c.arrivals.after = c.arrivals.next(c.arrivals.after)
	c.scheduleArrivalObserver()
}

// scheduleArrivalObserver finds out whether the observer of arrivals is called before the next one.
func (c *Cluster) scheduleArrivalObserver() {
	c.arrivals.at = Forever
	if c.totals.Arrived == c.arrivals.after {
		c.arrivals.at = c.arrival
	}
	c.findPause()
}

// findPause computes until when there is nothing but events.
func (c *Cluster) findPause() {
	c.pause = min(c.until, c.observeAt-1, c.controlAt-1, c.arrivals.at-1, c.present)
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
	in.step.end = Forever
	c.ends.Set(in.ID, Forever)
	if in.life == starting {
		c.up(in)
	}
	next, _ := c.ends.Min()
	if len(c.woken) > 0 || min(next, c.arrival, c.nextDeadline(), c.nextTokenized(), c.links.At()) == c.now {
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
		return // it was woken before it went down
	}
	in.plan(c.now)
	if in.step.end != Forever {
		c.ends.Set(in.ID, in.step.end)
	}
}

// wake notes that in is to be planned at this instant.
func (c *Cluster) wake(in *Instance) {
	if !in.step.woken {
		in.step.woken = true
		c.woken = append(c.woken, in.ID)
	}
}

// plan plans the instances that were woken, in order of ID, and then those that they woke in turn, before anything else
// happens.
func (c *Cluster) plan() {
	for len(c.woken) > 0 {
		c.round, c.woken = c.woken, c.round[:0]
		if len(c.round) > 1 {
			slices.Sort(c.round)
		}
		first := c.planned != c.now
		c.planned = c.now
		for _, id := range c.round {
			if first {
				c.turn = id
			}
			c.instances[id].step.woken = false
			c.start(c.instances[id])
		}
		c.turn = math.MaxInt32
	}
}

// stop ends the run. At a horizon, the clients have seen the steps that have ended by then.
func (c *Cluster) stop() {
	if t, _ := c.ends.Min(); min(t, c.arrival, c.nextTokenized(), c.links.At()) < Forever {
		c.overran = c.until == ClockEnd
		c.now = c.until
	} else { // nothing is to come, and the requests that are still here wait in vain
		c.totals.Stranded = c.totals.Arrived - c.totals.Ended
	}
	for in := range built(c.instances) {
		in.settle(c.now)
	}
	c.eachArriving(func(_ *Instance, r *Request) { c.sink.Done(r, c.now, Unfinished) })
	for _, p := range c.pools {
		c.eachAtGate(p, func(r *Request) {
			c.totals.OutputTokens += int64(r.Emitted)
			c.sink.Done(r, c.now, Unfinished)
		})
	}
}
