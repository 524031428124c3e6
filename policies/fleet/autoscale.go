package fleet

import (
	"fmt"
	"math"

	"github.com/decodesim/decodesim/sim"
)

var (
	_ sim.Controller = (*Autoscale)(nil)
	_ sim.Activator  = (*Autoscale)(nil)
)

// Autoscale adapts the number of a pool's instances to its load, which it observes every Interval. It starts instances
// Provision ahead of their cold start. It drains an instance only if fewer were enough throughout the last
// Stabilisation, as Kubernetes' horizontal pod autoscaler does: first an instance that is still starting, then the one
// with the fewest requests, of equals the one with the highest ID, and never the last that takes requests.
//
// With a Min of 0 the pool may go down to no instance, by any signal, once it has had no request throughout the last
// Stabilisation. The first request that finds none starts one at once, without waiting for the next observation, as
// Knative's activator does (from memory); while there are requests, at least one instance stays.
type Autoscale struct {
	a    AutoscaleArguments
	past []demand    // of the last Stabilisation, in order of time
	seen firstTokens // by the last observation
}

// AutoscaleArguments configure Autoscale.
type AutoscaleArguments struct {
	Pool          int
	On            string // the signal, one of AutoscaleSignals
	Target        float64
	Low           float64 // share of the KV cache that one instance fewer may use before one drains, on queue and ttft
	Min, Max      int     // instances
	Interval      sim.Duration
	Provision     sim.Duration    // from the decision to the beginning of an instance's cold start
	Stabilisation sim.Duration    // the time over which the largest demand counts before instances drain
	Schedule      []ScheduledSize // of "schedule", in order of time
}

// ScheduledSize is a number of instances from an instant on.
type ScheduledSize struct {
	At       sim.Time
	Replicas int
}

// demand is the number of instances that the signal asked for at an instant.
type demand struct {
	at   sim.Time
	want int
}

// AutoscaleSignals returns the signals by which an Autoscale can go:
//
//	queue     waiting requests, Target per instance; an instance drains when no request waits and the cache has room
//	requests  waiting or running requests, Target per instance
//	kv        allocated blocks, as a share Target of the KV cache
//	ttft      the share Target of first tokens that are overdue in an interval; an instance drains as with queue
//	schedule  the clock
func AutoscaleSignals() []string { return []string{"queue", "requests", "kv", "ttft", "schedule"} }

// NewAutoscale returns the controller of a pool with places for most instances, or an error that names the argument out
// of range.
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
		s.past = append(s.past, demand{now, min(s.a.Max, have)}) // the load is not known yet
	}
	want := min(s.a.Max, max(s.least(&state), s.want(now, c.Pool(s.a.Pool), &state)))
	most := s.remember(demand{now, want})
	pool := c.Pool(s.a.Pool)
	for ; have < want && c.Start(pool, s.a.Provision) != nil; have++ {
	}
	for ; have > most; have-- {
		in := s.drainable(pool)
		if in == nil {
			break
		}
		c.Drain(in)
	}
	return s.next(now)
}

// Activate implements sim.Activator: it starts an instance of a pool that may have none. It is asked for every request
// that begins to wait, so it observes instances and not the requests at the gate.
func (s *Autoscale) Activate(_ sim.Time, p *sim.Pool, c *sim.Cluster) {
	if s.a.Min > 0 || p != c.Pool(s.a.Pool) {
		return
	}
	for i := range p.Replicas() {
		if in := p.Replica(i); in.Live() || in.Starting() {
			return
		}
	}
	c.Start(p, s.a.Provision)
}

// least returns how many instances there must be: one for requests, even where the pool may have none.
func (s *Autoscale) least(state *sim.Observation) int {
	if s.a.Min == 0 && state.Running+state.Waiting+state.Transferring > 0 {
		return 1
	}
	return s.a.Min
}

// remember adds d to the demands of the last Stabilisation, and returns the largest of them.
func (s *Autoscale) remember(d demand) int {
	recent, most := s.past[:0], d.want
	for _, e := range s.past {
		if e.at >= d.at.Add(-s.a.Stabilisation) {
			recent, most = append(recent, e), max(most, e.want)
		}
	}
	s.past = append(recent, d)
	return most
}

// next returns when to observe the pool again.
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

// drainable returns the instance of p whose drain costs least, or nil if there is none, or none but the last that takes
// requests, which must stay.
func (s *Autoscale) drainable(p *sim.Pool) (best *sim.Instance) {
	for i := range p.Replicas() {
		if in := p.Replica(i); in.Starting() {
			best = in
		}
	}
	if best != nil {
		return best
	}
	if s.a.Min == 0 && p.Len() == 1 {
		return p.Instance(0)
	}
	return leastNeeded(p)
}

// leastNeeded returns the instance of p with the fewest requests, the last of equals; nil unless at least two take
// requests.
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
	case a.Min < 0 || a.Max < max(1, a.Min) || a.Max > most:
		return fmt.Errorf("policies: autoscale: min_replicas is %d and replicas_max %d, "+
			"must be at least 0 and 1, in this order, and at most %d", a.Min, a.Max, most)
	case a.Interval < sim.Millisecond:
		return fmt.Errorf("policies: autoscale: interval_s is %g, must be at least 0.001", a.Interval.Seconds())
	case a.Provision < 0 || a.Stabilisation < 0:
		return fmt.Errorf("policies: autoscale: provision_s is %g and stabilisation_s %g, must not be negative",
			a.Provision.Seconds(), a.Stabilisation.Seconds())
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
			return fmt.Errorf("policies: autoscale: target is %g, must be above 0 and at most %g on %s",
				a.Target, min(bound, 1e6), a.On)
		}
		return nil
	case "ttft":
		if !(a.Target >= 0) || a.Target >= 1 {
			return fmt.Errorf("policies: autoscale: target is %g, "+
				"must be a share of overdue first tokens from 0 to below 1", a.Target)
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
		if row.At < 0 || i > 0 && row.At <= a.Schedule[i-1].At || row.Replicas < 0 {
			return fmt.Errorf("policies: autoscale: row %d of the schedule is %g s, %d replicas; "+
				"times must grow from 0 on and replicas be at least 0", i, row.At.Seconds(), row.Replicas)
		}
	}
	return nil
}
