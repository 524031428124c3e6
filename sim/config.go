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
