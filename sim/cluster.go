package sim

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Config is all a run is a function of.
type Config struct {
	Source   Source
	Sink     Sink
	Pool     *Pool
	Contents *Contents // that requests name; nil: they name none
	Ingress  Duration  // from the client to the engine's queue: network, API server, tokenizer
	Until    Time      // stop here, at most at ClockEnd; 0: run until every request has ended

	// Observe, if set, is called at instants of its own choice, between events: it returns the next.
	Observe func(c *Cluster, now Time) (next Time)

	// TraceEvery marks the requests whose ID is a multiple of it as Traced; 0: those the source marks.
	TraceEvery int32

	// MaxRun bounds the steps advanced at once; 0: no bound. It changes the number of events, never a result: that is
	// tested with MaxRun = 1. LogWheel is the binary logarithm of the size of the timing wheels, 6 to 12; 0: 12. Likewise.
	MaxRun   int
	LogWheel uint
}

func (c *Config) validate() error {
	switch {
	case c.Source == nil || c.Sink == nil || c.Pool == nil:
		return errors.New("sim: Source, Sink and Pool are required")
	case c.Until < 0 || c.Until > ClockEnd || c.MaxRun < 0 || c.Ingress < 0 || c.TraceEvery < 0:
		return fmt.Errorf("sim: Until %v, MaxRun %d, Ingress %v and TraceEvery %d must not be negative", c.Until, c.MaxRun, c.Ingress, c.TraceEvery)
	}
	return c.Pool.validate()
}

// Cluster is a run in progress.
type Cluster struct {
	now       Time
	until     Time
	overran   bool
	source    Source
	follower  Follower // source, if it is one
	sink      Sink
	tracer    Tracer // sink, if it is one
	pool      *Pool
	instances []*Instance
	contents  *Contents
	ingress   Duration
	maxRun    int
	logWheel  uint

	ends    ends
	timers  timers
	arrival Time    // of the next request at the engine; Forever: none known
	next    Request // it, unless the source is a Follower
	woken   []int32 // instances to plan when everything at this instant has happened

	traceEvery int32
	observe    func(*Cluster, Time) Time
	observeAt  Time
	pause      Time // past it there is more than events: min(until, observeAt − 1)

	totals Totals
}

// Totals counts what a run has seen.
type Totals struct {
	Arrived      int64
	PromptTokens int64 // of the requests that arrived
	CachedTokens int64 // of those, found in a cache when the request first entered a batch
	Ended        int64
	OutputTokens int64 // emitted to clients that were still there
}

// New builds the run that c describes.
func New(c Config) (*Cluster, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	cl := &Cluster{
		source: c.Source, sink: c.Sink, pool: c.Pool, ingress: c.Ingress, until: c.Until, maxRun: c.MaxRun,
		logWheel: c.LogWheel, traceEvery: c.TraceEvery, arrival: Forever, observe: c.Observe, observeAt: Forever, ends: newEnds(c.Pool.Size),
	}
	if cl.contents = c.Contents; cl.contents == nil {
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
	cl.follower, _ = c.Source.(Follower)
	cl.tracer, _ = c.Sink.(Tracer)
	if c.Observe != nil {
		cl.observeAt = 0
	}
	cl.pause = min(cl.until, cl.observeAt-1)
	p := c.Pool
	p.instances, p.outstanding, p.preemptions = nil, make([]int32, p.Size), 0
	p.prompted, p.cached, p.swaps = 0, 0, 0
	for i := range p.Size {
		in := newInstance(cl, p, int32(len(cl.instances)), int32(i))
		p.instances = append(p.instances, in)
		cl.instances = append(cl.instances, in)
	}
	return cl, nil
}

// Run handles events in order until none is left or the horizon is reached.
//
// At one instant, observers come first, then clients that hang up, then arrivals, then the ends of steps, by instance.
// What these cause at the same instant is handled before any instance plans, so that a plan sees all of it.
func (c *Cluster) Run() {
	c.fetch()
	for {
		t, id := c.ends.min()
		hangup := c.hangup()
		t = min(t, c.arrival, hangup)
		switch {
		case t > c.now && len(c.woken) > 0:
			c.plan()
		case t > c.pause:
			if !c.control(t) {
				return
			}
		case hangup == t:
			c.now = t
			timer := c.timers.pop()
			c.instances[timer.instance].hangup(timer)
		case c.arrival == t:
			c.now = t
			c.deliver()
		default:
			c.now = t
			c.commit(c.instances[id])
		}
	}
}

// control lets the observer look, or ends the run and reports false. Nothing else happens before t, which is past pause.
func (c *Cluster) control(t Time) bool {
	if t == Forever || min(t, c.observeAt) > c.until {
		c.stop()
		return false
	}
	c.now = c.observeAt
	c.observeAt = c.observe(c, c.now)
	c.pause = min(c.until, c.observeAt-1)
	return true
}

// Now returns the time of the event being handled; after Run, the end of the run.
func (c *Cluster) Now() Time { return c.now }

// Overran reports whether the run was still under way at the end of the clock.
func (c *Cluster) Overran() bool { return c.overran }

// Totals returns what the run has seen so far.
func (c *Cluster) Totals() Totals { return c.totals }

// fetch learns of the next arrival.
func (c *Cluster) fetch() {
	c.arrival = Forever
	if c.follower != nil {
		if t := c.follower.When(); t != Forever {
			c.arrival = t.Add(c.ingress)
		}
		return
	}
	c.next = Request{}
	if c.source.Next(&c.next) {
		c.arrival = c.next.Arrival.Add(c.ingress)
	}
}

// deliver brings the next request to an instance.
func (c *Cluster) deliver() {
	r := &c.next
	if c.follower != nil {
		*r = Request{}
		c.source.Next(r)
	}
	c.totals.Arrived++
	c.totals.PromptTokens += int64(r.Prompt)
	if r.Content < 0 || int(r.Content) >= c.contents.Len() {
		panic(fmt.Sprintf("sim: request %d has content %d, of %d nodes", r.ID, r.Content, c.contents.Len()))
	}
	if c.traceEvery > 0 && r.ID%c.traceEvery == 0 {
		r.Traced = true
	}
	switch {
	case int64(r.Prompt)+int64(r.Limit()) > int64(c.pool.MaxModelLen), c.pool.PromptMax > 0 && r.Prompt > c.pool.PromptMax:
		c.done(r, c.now, Rejected)
	case r.Deadline != 0 && r.Deadline <= c.now:
		c.done(r, c.now, Failed)
	default:
		in := c.pool.Router.Route(c.now, r, c.pool)
		c.pool.outstanding[in.index]++
		in.enqueue(c.now, r)
	}
	c.fetch()
}

// commit ends the steps of in, and plans the next if nothing else is to happen at this instant.
func (c *Cluster) commit(in *Instance) {
	in.commit()
	in.end = Forever
	c.ends.set(in.ID, Forever)
	next, _ := c.ends.min()
	if len(c.woken) > 0 || min(next, c.arrival, c.hangup()) == c.now {
		c.wake(in)
		return
	}
	c.start(in)
}

// start plans in and schedules the end of its steps.
func (c *Cluster) start(in *Instance) {
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

// plan plans the instances that were woken, in order of ID.
func (c *Cluster) plan() {
	if len(c.woken) > 1 {
		slices.Sort(c.woken)
	}
	for _, id := range c.woken {
		c.instances[id].woken = false
		c.start(c.instances[id])
	}
	c.woken = c.woken[:0]
}

// done ends r for its client.
func (c *Cluster) done(r *Request, at Time, o Outcome) {
	c.totals.Ended++
	c.totals.OutputTokens += int64(r.Emitted)
	c.sink.Done(r, at, o)
	if c.follower != nil {
		c.follower.Done(at, r)
		c.fetch()
	}
}

// stop ends the run. At a horizon, the steps that have ended by then have been seen by the clients.
func (c *Cluster) stop() {
	if t, _ := c.ends.min(); t == Forever && c.arrival == Forever {
		return // everything has ended
	}
	c.overran = c.until == ClockEnd
	c.now = c.until
	for _, in := range c.instances {
		in.settle(c.now)
	}
}
