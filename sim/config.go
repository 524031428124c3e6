package sim

import (
	"errors"
	"fmt"
	"slices"
)

// Config is all a run is a function of.
type Config struct {
	Source     Source
	Sink       Sink
	Pools      []*PoolSpec
	Routes     []Route    // that requests may take; nil: one, of the first pool alone
	Splitter   Splitter   // picks one of them; nil: the first
	Admission  Admission  // decides which requests may enter; nil: all
	Controller Controller // of the fleet; nil: it stays as it is
	Contents   *Contents  // that requests name; nil: they name none
	Ingress    Duration   // from the client to the engine's queue: network, API server, tokenizer
	Egress     Duration   // from the engine to the client, of each token; a Follower goes by it, a Sink does not
	Until      Time       // stop here, at most at ClockEnd; 0: run until every request has ended

	// Unordered says that the Sink may hear of one instance before another, each in order of time. What is routed by a
	// router that looks at no instance can then be simulated one instance after the other, which is faster.
	Unordered bool

	// Cores is how many such instances may be simulated at the same time, if Sink is a Sharder, while Source and the
	// router go on with the next requests. Each calls do(0) … do(n−1) at the same time: the package itself starts no
	// goroutine. Neither changes a result. Cores 0 or 1, or no Each: one instance after the other.
	Cores int
	Each  func(n int, do func(i int))

	// Observe, if set, is called at instants of its own choice, between events: it returns the next.
	Observe func(c *Cluster, now Time) (next Time)

	// Cancelled, if set, is asked whenever a request arrives or ends, by several cores at once if Unordered; a yes stops
	// the run.
	Cancelled func() bool

	// TraceEvery marks the requests whose ID is a multiple of it as Traced; 0: those the source marks.
	TraceEvery int32

	// MaxRun bounds the steps advanced at once; 0: no bound. LogWheel is the binary logarithm of the size of the timing
	// wheels, 6 to 12; 0: 12. Both change the number of events, never a result: tests compare them.
	MaxRun   int
	LogWheel uint
}

func (c *Config) validate() error {
	switch {
	case c.Source == nil || c.Sink == nil || len(c.Pools) == 0 || slices.Contains(c.Pools, nil):
		return errors.New("sim: Source, Sink and Pools are required")
	case c.Until < 0 || c.Until > ClockEnd || c.MaxRun < 0 || c.Ingress < 0 || c.Egress < 0 || c.TraceEvery < 0 ||
		c.Cores < 0:
		return fmt.Errorf("sim: Until %v, MaxRun %d, Ingress %v, Egress %v, TraceEvery %d and Cores %d must not be negative",
			c.Until, c.MaxRun, c.Ingress, c.Egress, c.TraceEvery, c.Cores)
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

// A live run serves requests that are not known in advance: its source is a Follower that others add to, and it is
// advanced to the present again and again. What is added later than everything that has been handled gives the very run
// that a source gives which knew of it from the beginning.

// Advance handles everything up to an instant, and returns when the next event is due; Forever: none is known. Run may
// follow, when nothing more is to come from outside; it goes on to the end.
//
// After Advance, requests may be added to the source that arrive later than Now, and Act and Cancel be called for an
// instant later than Now. An observer is called as late as the Advance after its instant.
func (c *Cluster) Advance(to Time) (next Time) {
	if c.follower == nil {
		panic("sim: only a Follower can be asked again whether there is a request")
	}
	c.present = min(to, c.until)
	c.fetch()
	c.findPause()
	c.advance()
	c.present = Forever
	c.findPause()
	t, _ := c.ends.Min()
	return min(t, c.arrival, c.nextDeadline(), c.links.At(), c.controlAt)
}

// Act has do called at an instant after Now, before anything else that happens then, as a Controller is. do may call
// what a Controller may.
func (c *Cluster) Act(at Time, do func()) {
	if at <= c.now && c.now > 0 {
		panic("sim: something is to happen before what has happened")
	}
	c.Advance(at - 1)
	c.now = at
	do()
}

// Cancel has the client of a request cancel it at an instant after Now. It reports whether the request is there and can
// be cancelled: it has not ended, and is Traced; others may have no record.
func (c *Cluster) Cancel(id int32, at Time) bool {
	cancelled := false
	note := func(p place) {
		if c.applies(p, id) {
			c.deadlines.Push(at, int64(id), p)
			cancelled = true
		}
	}
	for i := range c.gate.waits {
		note(place{noSlot, int32(i)})
	}
	for in := range built(c.instances) {
		for slot := range in.requests.at {
			if in.requests.at[slot].ID == id {
				note(place{in.ID, int32(slot)})
			}
		}
	}
	return cancelled
}
