package sessions

import (
	"cmp"
	"math/rand/v2"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
	"github.com/decodesim/decodesim/workloads/check"
	"github.com/decodesim/decodesim/workloads/requests"
)

// ClosedLoop is a load of a fixed number of clients: each sends a request, waits for its end, thinks, and sends the
// next. It ends with Requests or DurationS, whichever comes first.
type ClosedLoop struct {
	Concurrency int64
	ThinkTimeS  float64 // seconds from the end of a request to the client's next, mean
	ThinkLaw    string  // "constant" (also "") or "exponential"
	RampS       float64 // the clients start evenly spread over it; 0: all at once
	Mix         requests.Mix
	Requests    int64   // 0: one for each of the recorded lengths, if they do not repeat; otherwise no limit
	DurationS   float64 // requests sent before it; 0: no limit
	Patience    requests.Patience
}

// Closed is the source of a ClosedLoop.
//
// The k-th request sent has the same lengths whichever client sends it and whenever, so runs of different engines see
// the same requests in the same order. The clients are alike: the source records when the next sends are due, not by
// which client, which leaves nothing for a tie to decide.
//
// A request that is rejected ends like any other. Where every request ends at the instant it was sent and clients do
// not think, time would stand still: the loop then ends at Requests, or with an error after stallMax such requests.
type Closed struct {
	clients   *clients
	think     sim.Duration
	thinkS    float64
	thoughts  *rand.Rand // nil: constant
	sampler   *requests.Sampler
	deadlines requests.Deadlines
	limit     int32
	requests  int64
	sent      int32
}

var (
	_ sim.Source   = (*Closed)(nil)
	_ sim.Follower = (*Closed)(nil)
)

// NewClosedLoop returns the source that c describes in the run with the given seed.
func NewClosedLoop(c ClosedLoop, seed uint64) (*Closed, error) {
	err := check.Count("closed_loop.concurrency", c.Concurrency, concurrencyMax)
	if err != nil {
		return nil, err
	}
	c.Requests, err = c.Mix.Limit(c.Requests)
	if err != nil {
		return nil, err
	}
	err = cmp.Or(
		check.Within("closed_loop.think_time_s", c.ThinkTimeS, 0, sim.HorizonS/100),
		check.OneOf("closed_loop.think_law", c.ThinkLaw, []string{"", "constant", "exponential"}),
		check.Within("closed_loop.ramp_s", c.RampS, 0, sim.HorizonS),
		check.Extent(c.Requests, c.DurationS),
	)
	if err != nil {
		return nil, err
	}
	l := &Closed{limit: check.RequestsMax, requests: c.Requests, think: sim.Seconds(c.ThinkTimeS), thinkS: c.ThinkTimeS}
	l.sampler, err = requests.NewSampler(c.Mix, seed)
	if err != nil {
		return nil, err
	}
	l.deadlines, err = requests.NewDeadlines(c.Patience, seed)
	if err != nil {
		return nil, err
	}
	if c.ThinkLaw == "exponential" {
		l.thoughts = rng.Stream(seed, "workloads.thoughts")
	}
	if c.Requests > 0 {
		l.limit = int32(c.Requests)
	}
	l.clients = newClients(requestWords, c.Concurrency, c.RampS, newEnd(c.DurationS))
	return l, nil
}

// When returns the instant of the earliest send that is due.
func (l *Closed) When() sim.Time {
	if l.sent == l.limit {
		return sim.Forever
	}
	return l.clients.when()
}

// Next fills the request that is due first.
func (l *Closed) Next(r *sim.Request) bool {
	if len(l.clients.due) == 0 || l.sent == l.limit {
		return false
	}
	r.ID, r.Arrival = l.sent, l.clients.take()
	l.sampler.Draw(r)
	l.deadlines.Mark(r)
	l.sent++
	return true
}

// Done lets the client of r, for which r ended at the given instant, think and send again. Requests that end at one
// instant draw the same set of thoughts in whatever order they are reported.
func (l *Closed) Done(at sim.Time, r *sim.Request) {
	if l.clients.fault != nil {
		return
	}
	think := l.think
	if l.thoughts != nil {
		think = sim.Seconds(l.thinkS * l.thoughts.ExpFloat64())
	}
	l.clients.goOn(r.Arrival, at, at.Add(think))
}

// Rate returns 0: the rate of a closed loop is a result.
func (l *Closed) Rate() float64 { return 0 }

// Requests returns how many requests to expect; 0: unknown, for a duration ends it.
func (l *Closed) Requests() float64 { return float64(l.requests) }

// Means returns the mean prompt and output in tokens, before truncation and before MaxOutput cuts.
func (l *Closed) Means() (prompt, output float64) { return l.sampler.Means() }

// Truncated returns how many draws so far were truncated.
func (l *Closed) Truncated() requests.Truncated { return l.sampler.Truncated() }

// Contents returns the tree that the requests' Content is in; nil: they share nothing.
func (l *Closed) Contents() *sim.Contents { return l.sampler.Contents() }

// Sampler returns what draws the requests.
func (l *Closed) Sampler() *requests.Sampler { return l.sampler }

// Err says why the source ended before its limits, or nil.
func (l *Closed) Err() error { return l.clients.fault }
