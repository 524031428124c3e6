package fleet

import (
	"fmt"
	"slices"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
)

var _ sim.Controller = (*RandomFailures)(nil)

// RandomFailures takes the instances of a pool down at random: each after an exponential time between failures, for an
// exponential time to repair. When a place in the pool fails, and for how long, follows from the seed and the place
// alone: neither the load nor the size of the pool nor other controllers change it. An instance that is down already
// does not fail.
type RandomFailures struct {
	a         RandomFailureArguments
	draws     *rng.Keyed
	clocks    []failureClock // by place in the pool
	instances []int          // which instance has each place: a replacement need not be the instance that failed
	repairs   []repair
}

// RandomFailureArguments configure RandomFailures.
type RandomFailureArguments struct {
	Pool  int
	MTBF  sim.Duration // mean time of an instance between the end of one failure and the next
	MTTR  sim.Duration // mean time until the cold start of its replacement
	Retry bool         // requests begin again elsewhere; else they fail
	First int          // place from which on instances fail; 0: all do
	Seed  uint64
}

// failureClock is the next failure of a place.
type failureClock struct {
	at     sim.Time
	down   sim.Duration
	number uint64
}

// NewRandomFailures returns the controller, or an error that names the argument out of range.
func NewRandomFailures(a RandomFailureArguments) (*RandomFailures, error) {
	switch {
	case a.MTBF < sim.Millisecond || a.MTBF > sim.Duration(sim.ClockEnd):
		return nil, fmt.Errorf("policies: mtbf_s is %g, must be from 0.001 to %g", a.MTBF.Seconds(), sim.HorizonS)
	case a.MTTR < 0 || a.MTTR > sim.Duration(sim.ClockEnd):
		return nil, fmt.Errorf("policies: mttr_s is %g, must be from 0 to %g", a.MTTR.Seconds(), sim.HorizonS)
	}
	return &RandomFailures{a: a, draws: rng.NewKeyed(a.Seed, "policies.failures")}, nil
}

// Control implements sim.Controller.
func (p *RandomFailures) Control(now sim.Time, c *sim.Cluster) sim.Time {
	pool := c.Pool(p.a.Pool)
	for i := len(p.clocks); i < pool.Replicas(); i++ {
		p.clocks, p.instances = append(p.clocks, failureClock{}), append(p.instances, i)
		p.wind(i, now)
	}
	for ; len(p.repairs) > 0 && p.repairs[0].at <= now; p.repairs = slices.Delete(p.repairs, 0, 1) {
		if in := c.Start(pool, 0); in != nil {
			p.assign(p.repairs[0].place, int(in.ID-pool.Replica(0).ID))
		}
	}
	next := sim.Forever
	for i := p.a.First; i < len(p.clocks); i++ {
		for k := &p.clocks[i]; k.at <= now; p.wind(i, k.at.Add(k.down)) {
			if strike(c, p.a.Pool, p.instances[i], p.a.Retry) {
				p.repairs = schedule(p.repairs, repair{at: k.at.Add(k.down), place: i})
			}
		}
		next = min(next, p.clocks[i].at)
	}
	if len(p.repairs) > 0 {
		next = min(next, p.repairs[0].at)
	}
	if next > sim.ClockEnd {
		return sim.Forever
	}
	return next
}

// assign gives a place to an instance, and the place that this instance had to the one that had the first.
func (p *RandomFailures) assign(place, instance int) {
	former := slices.Index(p.instances, instance)
	p.instances[place], p.instances[former] = instance, p.instances[place]
}

// wind draws the next failure of the i-th place, which is up again at from.
func (p *RandomFailures) wind(i int, from sim.Time) {
	k := &p.clocks[i]
	draws := p.draws.At(uint64(i), uint64(p.a.Pool)<<40+k.number)
	up, down := exponential(draws.ExpFloat64(), p.a.MTBF), exponential(draws.ExpFloat64(), p.a.MTTR)
	*k = failureClock{sim.Forever, down, k.number + 1}
	if from <= sim.ClockEnd {
		k.at = from.Add(up)
	}
}

// exponential returns x means, but at least a picosecond, so that time goes on, and at most the end of the clock.
func exponential(x float64, mean sim.Duration) sim.Duration {
	return max(1, sim.Duration(min(float64(sim.ClockEnd), x*float64(mean))))
}
