package fleet

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/decodesim/decodesim/sim"
)

var _ sim.Controller = (*Failures)(nil)

// Failure takes an instance of a pool down at an instant.
type Failure struct {
	Pool     int
	Instance int // of the pool, from 0
	At       sim.Time
	Down     sim.Duration // until the cold start of its replacement; negative: no replacement
	Retry    bool         // its requests begin again elsewhere; else they fail
}

// Failures takes instances down as a list says. The replacement is the first instance of the pool that is down, which
// is the same to all observers. An instance that is down already does not fail, and gets no other replacement.
type Failures struct {
	list    []Failure // by instant
	repairs []repair  // that are due, by instant
}

// repair starts an instance of a pool, and assigns it to a place in the pool if failures are by place.
type repair struct {
	at          sim.Time
	pool, place int
}

// NewFailures returns the failures of a list in pools of so many instances, or an error that names the first impossible
// one.
func NewFailures(list []Failure, instances []int) (*Failures, error) {
	for i, f := range list {
		if err := within("failures", i, f.Pool, f.Instance, f.At, instances); err != nil {
			return nil, err
		}
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Failure) int { return cmp.Compare(a.At, b.At) })
	return &Failures{list: list}, nil
}

// within checks entry i of a list that names an instance and an instant.
func within(key string, i, pool, instance int, at sim.Time, instances []int) error {
	switch {
	case pool < 0 || pool >= len(instances):
		return fmt.Errorf("policies: %s[%d]: pool is %d, must be below %d", key, i, pool, len(instances))
	case instance < 0 || instance >= instances[pool]:
		return fmt.Errorf("policies: %s[%d]: replica is %d, must be from 0 to %d", key, i, instance, instances[pool]-1)
	case at < 0 || at > sim.ClockEnd:
		return fmt.Errorf("policies: %s[%d]: at_s is %g, must be from 0 to %g",
			key, i, at.Seconds(), sim.ClockEnd.Seconds())
	}
	return nil
}

// Control implements sim.Controller.
func (p *Failures) Control(now sim.Time, c *sim.Cluster) sim.Time {
	p.repairs = finish(now, c, p.repairs)
	for ; len(p.list) > 0 && p.list[0].At <= now; p.list = p.list[1:] {
		f := p.list[0]
		if strike(c, f.Pool, f.Instance, f.Retry) && f.Down >= 0 {
			p.repairs = schedule(p.repairs, repair{at: now.Add(f.Down), pool: f.Pool})
		}
	}
	p.repairs = finish(now, c, p.repairs)
	next := sim.Forever
	if len(p.list) > 0 {
		next = p.list[0].At
	}
	if len(p.repairs) > 0 {
		next = min(next, p.repairs[0].at)
	}
	return next
}

// strike fails an instance, and reports whether it was up, starting or draining.
func strike(c *sim.Cluster, pool, instance int, retry bool) bool {
	in := c.Pool(pool).Replica(instance)
	if !in.Live() && !in.Draining() && !in.Starting() {
		return false
	}
	c.Fail(in, retry)
	return true
}

// finish starts the instances whose repair is due by now, and returns the other repairs. An instance does not start
// earlier: GPUs that are being replaced are not paid for, and do not prolong a run that has nothing else to do.
func finish(now sim.Time, c *sim.Cluster, repairs []repair) []repair {
	n := 0
	for ; n < len(repairs) && repairs[n].at <= now; n++ {
		c.Start(c.Pool(repairs[n].pool), 0)
	}
	return slices.Delete(repairs, 0, n)
}

// schedule adds r to repairs, after those of the same instant.
func schedule(repairs []repair, r repair) []repair {
	i := len(repairs)
	for i > 0 && repairs[i-1].at > r.at {
		i--
	}
	return slices.Insert(repairs, i, r)
}
