package fleet

import (
	"fmt"
	"math"

	"github.com/decodesim/decodesim/sim"
)

var _ sim.Controller = (*Autoscale)(nil)

// Autoscale keeps the number of a pool's instances in step with its load, as seen every Interval. It starts instances
// Provision ahead of their cold start. It drains one only when fewer were enough throughout the last Stabilisation, as
// Kubernetes' horizontal pod autoscaler does: first those that are not up yet, then those with the fewest requests; of
// equals the one with the highest ID; never the last that takes requests.
type Autoscale struct {
	a    AutoscaleArguments
	past []demand // of the last Stabilisation, in order of time
	seen signals
}

// AutoscaleArguments is what Autoscale goes by.
type AutoscaleArguments struct {
	Pool          int
	On            string // what it looks at, of AutoscaleSignals
	Target        float64
	Low           float64 // share of the cache that one instance fewer may use before it goes, on queue and ttft
	Min, Max      int     // instances
	Interval      sim.Duration
	Provision     sim.Duration    // from the decision to the beginning of an instance's cold start
	Stabilisation sim.Duration    // over which the most that was wanted counts, before instances go
	Schedule      []ScheduledSize // of "schedule", in order of time
}

// ScheduledSize is a number of instances from an instant on.
type ScheduledSize struct {
	At       sim.Time
	Replicas int
}

// demand is how many instances were wanted at an instant.
type demand struct {
	at   sim.Time
	want int
}

// AutoscaleSignals returns what an Autoscale can look at:
//
//	queue     requests that wait, Target per instance; one goes when nobody waits and the cache has room
//	requests  requests that wait or run, Target per instance
//	kv        blocks in use, as a share Target of the cache
//	ttft      first tokens after the pool's Due, as a share Target of those in an interval; one goes as with queue
//	schedule  the clock
func AutoscaleSignals() []string { return []string{"queue", "requests", "kv", "ttft", "schedule"} }

// NewAutoscale returns the controller of a pool with room for most instances, or says which argument makes no sense.
func NewAutoscale(a AutoscaleArguments, most int) (*Autoscale, error) {
	if err := a.validate(most); err != nil {
		return nil, err
	}
	return &Autoscale{a: a}, nil
}

// Control implements sim.Controller.
func (s *Autoscale) Control(now sim.Time, c *sim.Cluster) sim.Time {
	state := c.PoolState(s.a.Pool, now)
	have := state.Live + state.Starting
	if now == 0 && s.a.On != "schedule" {
		s.past = append(s.past, demand{now, min(s.a.Max, have)}) // nobody knows yet what the load will be
	}
	want := min(s.a.Max, max(s.a.Min, s.want(now, c.Pool(s.a.Pool), &state)))
	most := s.remember(demand{now, want})
	pool := c.Pool(s.a.Pool)
	for ; have < want && c.Start(pool, s.a.Provision) != nil; have++ {
	}
	for ; have > most; have-- {
		in := spare(pool)
		if in == nil {
			break
		}
		c.Drain(in)
	}
	return s.next(now)
}

// remember keeps d, and returns the most that was wanted within Stabilisation.
func (s *Autoscale) remember(d demand) int {
	kept, most := s.past[:0], d.want
	for _, e := range s.past {
		if e.at >= d.at.Add(-s.a.Stabilisation) {
			kept, most = append(kept, e), max(most, e.want)
		}
	}
	s.past = append(kept, d)
	return most
}

// next returns when to look again.
func (s *Autoscale) next(now sim.Time) sim.Time {
	next := now.Add(s.a.Interval)
	if s.a.On == "schedule" {
		for _, row := range s.a.Schedule {
			if row.At > now {
				return min(next, row.At)
			}
		}
	}
	return next
}

// spare returns the instance of p that is missed least, or nil if there is none but the last that takes requests.
func spare(p *sim.Pool) (best *sim.Instance) {
	for i := range p.Replicas() {
		if in := p.Replica(i); in.Starting() {
			best = in
		}
	}
	if best != nil {
		return best
	}
	return leastNeeded(p)
}

// leastNeeded returns the instance of p with the fewest requests, the last of equals, of several that take some; or
// nil.
func leastNeeded(p *sim.Pool) (best *sim.Instance) {
	if p.Len() < 2 {
		return nil
	}
	for i := range p.Len() {
		if in := p.Instance(i); best == nil || in.Load() <= best.Load() {
			best = in
		}
	}
	return best
}

func (a *AutoscaleArguments) validate(most int) error {
	switch {
	case a.Min < 1 || a.Max < a.Min || a.Max > most:
		return fmt.Errorf("policies: autoscale: min_replicas is %d and replicas_max %d, must be at least 1, in this order, and at most %d", a.Min, a.Max, most)
	case a.Interval < sim.Millisecond:
		return fmt.Errorf("policies: autoscale: interval_s is %g, must be at least 0.001", a.Interval.Seconds())
	case a.Provision < 0 || a.Stabilisation < 0:
		return fmt.Errorf("policies: autoscale: provision_s is %g and stabilisation_s %g, must not be negative", a.Provision.Seconds(), a.Stabilisation.Seconds())
	case !(a.Low >= 0) || a.Low > 1:
		return fmt.Errorf("policies: autoscale: low is %g, must be a share from 0 to 1", a.Low)
	}
	switch bound := math.Inf(1); a.On {
	case "schedule":
		return a.validateSchedule()
	case "kv":
		bound = 1
		fallthrough
	case "queue", "requests":
		if !(a.Target > 0) || a.Target > min(bound, 1e6) {
			return fmt.Errorf("policies: autoscale: target is %g, must be above 0 and at most %g on %s", a.Target, min(bound, 1e6), a.On)
		}
		return nil
	case "ttft":
		if !(a.Target >= 0) || a.Target >= 1 {
			return fmt.Errorf("policies: autoscale: target is %g, must be a share of late first tokens from 0 to below 1", a.Target)
		}
		return nil
	}
	return fmt.Errorf("policies: autoscale: on is %q, must be one of %q", a.On, AutoscaleSignals())
}

func (a *AutoscaleArguments) validateSchedule() error {
	if len(a.Schedule) == 0 {
		return fmt.Errorf("policies: autoscale: on schedule, but the schedule has no rows")
	}
	for i, row := range a.Schedule {
		if row.At < 0 || i > 0 && row.At <= a.Schedule[i-1].At || row.Replicas < 1 {
			return fmt.Errorf("policies: autoscale: row %d of the schedule is %g s, %d replicas; times must grow from 0 on and replicas be at least 1",
				i, row.At.Seconds(), row.Replicas)
		}
	}
	return nil
}
