package workloads

import (
	"fmt"
	"math/rand/v2"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
)

// ClosedLoop is traffic of a fixed number of clients: each sends a request, waits for its end, thinks, and sends the
// next. It ends with Requests or DurationS, whichever comes first.
type ClosedLoop struct {
	Concurrency int64
	ThinkTimeS  float64 // seconds from the end of a request to the client's next, mean
	ThinkLaw    string  // "constant" (also "") or "exponential"
	RampS       float64 // the clients start evenly spread over it; 0: all at once
	Lengths     Lengths
	Requests    int64   // 0: as many as there are recorded lengths, if they do not repeat; else no limit
	DurationS   float64 // requests sent before it; 0: no limit
	Patience    Patience
}

// Closed is the source of a ClosedLoop.
//
// The k-th request sent has the same lengths whichever client sends it and whenever, so runs of different engines see
// the same requests in the same order. The clients are alike: the source keeps when the next sends are due, not whose
// they are, which leaves nothing for a tie to decide.
//
// A request that is rejected ends like any other. Where every request ends at the instant it was sent and clients do
// not think, time would stand still: the loop then ends at Requests, or with an error after stallMax such requests.
type Closed struct {
	due      instants // when sends are due
	think    sim.Duration
	thinkS   float64
	thoughts *rand.Rand // nil: constant
	sizes    *sizes
	patience patience
	limit    int32
	requests int64
	end      sim.Time
	timed    bool
	sent     int32
	stalled  int
	err      error
}

var (
	_ sim.Source   = (*Closed)(nil)
	_ sim.Follower = (*Closed)(nil)
)

const (
	concurrencyMax = 1 << 24
	stallMax       = 1_000_000
)

// NewClosedLoop returns the source that c describes in the run with the given seed.
func NewClosedLoop(c ClosedLoop, seed uint64) (*Closed, error) {
	if c.Concurrency < 1 || c.Concurrency > concurrencyMax {
		return nil, refuse("closed_loop.concurrency", c.Concurrency, fmt.Sprintf("a whole number from 1 to %d", concurrencyMax))
	}
	var err error
	if c.Requests, err = c.Lengths.take(c.Requests); err != nil {
		return nil, err
	}
	err = first(
		closed("closed_loop.think_time_s", c.ThinkTimeS, 0, sim.HorizonS/100),
		oneOf("closed_loop.think_law", c.ThinkLaw, []string{"", "constant", "exponential"}),
		closed("closed_loop.ramp_s", c.RampS, 0, sim.HorizonS),
		extent(c.Requests, c.DurationS),
	)
	if err != nil {
		return nil, err
	}
	l := &Closed{limit: requestsMax, requests: c.Requests, end: sim.Time(sim.Seconds(sim.HorizonS))}
	if l.sizes, err = newSizes(c.Lengths, seed); err != nil {
		return nil, err
	}
	if l.patience, err = newPatience(c.Patience, seed); err != nil {
		return nil, err
	}
	l.think, l.thinkS = sim.Seconds(c.ThinkTimeS), c.ThinkTimeS
	if c.ThinkLaw == "exponential" {
		l.thoughts = rng.Stream(seed, "workloads.thoughts")
	}
	if c.Requests > 0 {
		l.limit = int32(c.Requests)
	}
	if c.DurationS > 0 {
		l.end, l.timed = sim.Time(sim.Seconds(c.DurationS)), true
	}
	for i := range c.Concurrency {
		if at := sim.Time(sim.Seconds(c.RampS * float64(i) / float64(c.Concurrency))); at < l.end {
			l.due.push(at)
		}
	}
	return l, nil
}

// When returns the instant of the earliest send that is due.
func (l *Closed) When() sim.Time {
	if l.sent == l.limit {
		return sim.Forever
	}
	return l.due.first()
}

// Next fills the request that is due first.
func (l *Closed) Next(r *sim.Request) bool {
	if len(l.due) == 0 || l.sent == l.limit {
		return false
	}
	r.ID, r.Arrival = l.sent, l.due.pop()
	l.sizes.draw(r)
	l.patience.mark(r)
	l.sent++
	return true
}

// Done lets the client of r, for which r ended at `at`, think and send again. Requests that end at one instant draw the
// same set of thoughts in whatever order they are told.
func (l *Closed) Done(at sim.Time, r *sim.Request) {
	if l.err != nil {
		return
	}
	think := l.think
	if l.thoughts != nil {
		think = sim.Seconds(l.thinkS * l.thoughts.ExpFloat64())
	}
	next := at.Add(think)
	if next > r.Arrival {
		l.stalled = 0
	} else if l.stalled++; l.stalled == stallMax {
		l.fail(fmt.Errorf("workloads: closed_loop: the last %d requests ended at the instant they were sent, at %v; accepted: "+
			"requests that can be served, a think_time_s above 0, or at most %d requests", stallMax, at, stallMax))
		return
	}
	if next < l.end {
		l.due.push(next)
	} else if !l.timed {
		l.fail(fmt.Errorf("workloads: closed_loop: a request would be sent after %g s; accepted: a run within %g s",
			next.Seconds(), sim.HorizonS))
	}
}

func (l *Closed) fail(err error) {
	l.err, l.due = err, nil
}

// Rate returns 0: the rate of a closed loop is a result.
func (l *Closed) Rate() float64 { return 0 }

// Requests returns how many requests to expect; 0: unknown, for a duration ends it.
func (l *Closed) Requests() float64 { return float64(l.requests) }

// Means returns the mean prompt and output in tokens, before truncation and before MaxOutput cuts.
func (l *Closed) Means() (prompt, output float64) { return l.sizes.means() }

// Truncated returns how many draws so far were truncated.
func (l *Closed) Truncated() Truncated { return l.sizes.truncated() }

// Err says why the source ended before its limits, or nil.
func (l *Closed) Err() error { return l.err }
