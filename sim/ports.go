package sim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/decodesim/decodesim/sim/batch"
	"github.com/decodesim/decodesim/sim/clock"
	"github.com/decodesim/decodesim/sim/kv"
	"github.com/decodesim/decodesim/sim/transfer"
)

// The ports: everything the model needs from outside. Each is implemented by one directory of the module.

// Source yields requests in arrival order. Next fills *r, which is zero, and reports whether there was one; after false
// it is asked again when a request has ended. Implemented in workloads.
type Source interface {
	Next(r *Request) bool
}

// Follower is a Source whose later requests depend on how earlier ones went (closed loop, sessions, retries). The run
// asks When before every event and takes Next only when that instant has come.
type Follower interface {
	When() Time               // arrival of the earliest request known so far; Forever: none
	Done(at Time, r *Request) // r has ended for the client, whatever its outcome
}

// Router picks the instance of a pool that will serve r. It is asked once, when r reaches the pool, and sees the
// instances that take requests: at least one. Implemented in policies.
type Router interface {
	Route(now Time, r *Request, pool *Pool) *Instance
}

// Blind is a Router that goes by requests alone and observes no instance: where it routes one does not depend on how
// others fare.
type Blind interface {
	Blind()
}

// Splitter picks the route of r, an index in Config.Routes. It is asked once, when r reaches the cluster. Implemented
// in policies.
type Splitter interface {
	Split(now Time, r *Request, c *Cluster) int
}

// Admission reports whether r, which reaches the cluster, may enter; otherwise it is rejected. Implemented in policies.
type Admission interface {
	Admit(now Time, r *Request, c *Cluster) bool
}

// Controller changes the fleet while it runs, by Cluster.Start, Drain, Fail and Switch. It is asked at time 0, and then
// at each instant that it names, before anything else happens then. Implemented in policies.
type Controller interface {
	Control(now Time, c *Cluster) (next Time)
}

// Activator is a Controller that acts as soon as a request begins to wait at the gate of p, where no instance takes
// requests: it need not wait for an instant that it named before.
type Activator interface {
	Activate(now Time, p *Pool, c *Cluster)
}

// Scheduler decides what an instance runs next. It is asked when a batch may change, not per token: its answer holds
// for the number of steps it returns (0: no limit) unless something arrives, finishes or fails to fit. It acts only
// through w and must depend only on queue, batch and cache. Implemented in policies.
type Scheduler interface {
	Schedule(in *Instance, w *Work) (steps int)
}

// Retractor is a Scheduler that drops what a step computes of requests which the next one has no blocks for: its engine
// queues batches, and composes the next step while this one runs. Retract is asked as a step ends whose successor may
// lack blocks, before its tokens are emitted; it acts through Work.Drop.
//
// In a pool with an Order, requests of a Retractor that have equal keys stand in the order in which they joined the
// queue, and those that were retracted join it again. Others stand by arrival.
type Retractor interface {
	Retract(in *Instance, w *Work)
}

// Preemptor is a Retractor that may drop tokens for want of places in the batch, too: while it reports true, Retract is
// asked as every step ends while requests wait.
type Preemptor interface {
	Preempts() bool
}

// Counter is a Scheduler that asks an instance to count more than most schedulers need.
type Counter interface {
	Counts() Counts
}

// Counts is a set of what an instance counts for its Scheduler.
type Counts uint8

// What a Scheduler may ask for.
const (
	CountPauses    Counts = 1 << iota // decodes that are paused: for Work.PauseDecodes, LeaveOut and SwapIn
	CountRemaining                    // tokens that may still be emitted: for Instance.RemainingTokens
	CountCommitted                    // blocks that may still be allocated: for Work.CommittedBlocks
)

// Order sorts a queue: by Key, the smaller first, then by arrival. It is asked once, when r reaches an instance, so its
// answer must not depend on time: an order by the time left to a deadline is one by the deadline. Implemented in
// policies.
type Order interface {
	Key(r *Request) int64
}

// Acceptance draws how many drafted tokens a model accepts: for each sequence of the batch, the first Accepted of its
// Drafts. What it draws depends on the request, the position and a seed alone, so neither preemption nor another
// deployment changes it. Implemented in policies.
type Acceptance interface {
	Verify(batch []Draft)
}

// StepModel prices steps: one Shape per rank that runs in lock step (one otherwise); the busiest rank decides. It fills
// *g, whose every field it must set. Implemented in hardware.
type StepModel interface {
	Price(ranks []Shape, g *Segment)
}

// Noise lengthens steps at random: jitter, neighbours. Stretch returns what the step-th step of an instance, which
// begins at now and should last d, lasts longer; not less than 0. It must depend on its arguments and a seed alone.
// With it, a run has one step. Implemented in policies.
type Noise interface {
	Stretch(instance int32, step int64, now Time, d Duration) Duration
}

// Sink observes a run in time order. Tokens are reported by the segment of steps, never one by one. Implemented in
// sim/metrics.
type Sink interface {
	// First: r emitted its first token at r.Last.
	First(r *Request)
	// Run: n steps of g began at start; in each of them, tokens sequences that had emitted a token at the end of the
	// step before emitted one more. n is 1 and tokens may be 0 in a step with prefill. Instance.Classes and
	// Instance.Prompts say more of it.
	Run(in *Instance, start Time, g *Segment, n, tokens int)
	// Paused: with the first step of g, which began at start, tokens sequences emitted one token each, after their latest
	// at since: prefill-only steps came between.
	Paused(in *Instance, since, start Time, g *Segment, tokens int)
	// Burst: at t, sequences that emitted a token at t emitted so many more: drafts that were accepted.
	Burst(in *Instance, t Time, tokens int)
	// Gap: r emitted a token at t, the end of the first step under way, for the first time since r.Last: something other
	// than that step delayed it.
	Gap(in *Instance, r *Request, t Time, cause Cause)
	// Done: r has ended at `at`. A completed request emitted its last token then. At the horizon of a run every request
	// that is still under way is reported, as Unfinished.
	Done(r *Request, at Time, o Outcome)
}

// Sharder is a Sink that can hear of several instances at the same time: Shard returns a Sink with the same settings
// that has heard of nothing, and Merge adds what such a Sink has heard. A shard hears of an instance for some of the
// time, and another one for the remainder; which it is, and the order of merging, must not matter.
type Sharder interface {
	Shard() Sink
	Merge(shard Sink)
}

// Sequential is a Scheduler that may remember something between calls, other than in an instance. If it reports true,
// it is never asked about two instances at the same time.
type Sequential interface {
	Sequential() bool
}

// Tracer is a Sink to which every token of the requests marked Traced is reported as well.
type Tracer interface {
	// Tokens: r, which had emitted a token at start, emitted one at the end of each of the first n steps of g; r.Emitted
	// counts those before.
	Tokens(r *Request, emitted int32, start Time, g *Segment, n int)
	// Delayed: r, which had emitted so many tokens, the last of them at since, emitted one at t and was delayed in
	// between.
	Delayed(r *Request, emitted int32, since, t Time)
	// Accepted: r, which had emitted so many tokens, the last of them at t, emitted n accepted drafts at t.
	Accepted(r *Request, emitted int32, t Time, n int)
}

// TransferObserver is a Sink to which KV transfers are reported as well.
type TransferObserver interface {
	// Transferred: the KV transfer of r from one instance to another has arrived; r.TransferTimes say when it did what.
	Transferred(from, to *Instance, r *Request)
}

// Cause says why a gap between two tokens is longer than a step.
type Cause uint8

// The causes of a long gap.
const (
	Preempted   Cause = iota // the KV cache was dropped and recomputed
	Swapped                  // the KV cache was in host memory
	Paused                   // it joined the decodes while prefill-only steps paused them
	Transferred              // the KV cache went to another instance
	Restarted                // its instance failed, and another computed it again
)

// Outcome says how a request ended.
type Outcome uint8

// The outcomes; they sum to the arrivals.
const (
	Completed Outcome = iota
	// it exceeds a limit of the model or of the cache, or was not admitted
	Rejected
	Failed     // the client cancelled it (time-out, disconnect), or its instance failed
	Unfinished // the run ended first
	NumOutcomes
)

var outcomeNames = [NumOutcomes]string{"completed", "rejected", "failed", "unfinished"}

func (o Outcome) String() string { return outcomeNames[o] }

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
	Ingress    Duration   // from the client to the router: network and API server; see PoolSpec.Tokenize
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

	// Building, if set, is called while instances of a pool are built, every few thousand of them and after the last: so
	// many there are, of all that there may ever be. It stands in for Cancelled there: a yes stops the run.
	Building func(built, of int) (stop bool)

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
	return cmp.Or(validateHops(c.Routes, c.Pools), c.validateAhead())
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
	return min(t, c.arrival, c.nextDeadline(), c.nextTokenized(), c.links.At(), c.controlAt)
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

// What other packages know by the names of this one is declared in the packages below.

// The clock: instants and spans in picoseconds, see package clock.
type (
	Time     = clock.Time
	Duration = clock.Duration
	Uint128  = clock.Uint128
)

// Units of Duration, and the limits of the clock.
const (
	Picosecond  = clock.Picosecond
	Nanosecond  = clock.Nanosecond
	Microsecond = clock.Microsecond
	Millisecond = clock.Millisecond
	Second      = clock.Second

	Forever  = clock.Forever
	HorizonS = clock.HorizonS
	ClockEnd = clock.End
)

// Seconds converts s, rounding to the nearest picosecond; see clock.Seconds.
func Seconds(s float64) Duration { return clock.Seconds(s) }

// SecondsUp converts s, rounding up to the next picosecond; see clock.SecondsUp.
func SecondsUp(s float64) Duration { return clock.SecondsUp(s) }

// What a cost model reads and writes: the sums of a batch, and the price of consecutive steps, see package batch.
type (
	Shape   = batch.Shape
	Capped  = batch.Capped
	Window  = batch.Window
	Segment = batch.Segment
	Affine  = batch.Affine
	Part    = batch.Part
	Parts   = batch.Parts
)

// The parts of a step, in the order in which overlapping time is attributed.
const (
	Weights       = batch.Weights
	KV            = batch.KV
	Compute       = batch.Compute
	Communication = batch.Communication
	Overhead      = batch.Overhead
	NumParts      = batch.NumParts
)

// The KV cache of an instance and what prompts have in common, see package kv.
type (
	Cache    = kv.Cache
	Contents = kv.Contents
	Windowed = kv.Windowed
	Drafter  = kv.Drafter
	Passing  = kv.Passing
)

// Link is what a KV transfer between two instances takes, see package transfer.
type Link = transfer.Link
