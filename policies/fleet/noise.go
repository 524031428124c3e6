package fleet

import (
	"fmt"
	"math"
	"slices"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
)

var (
	_ sim.Noise = (*Noise)(nil)
	_ sim.Noise = (*Straggler)(nil)
)

// Noise lengthens steps at random. Jitter adds an exponential share of its length to each step: launches, clocks, a
// host that is busy elsewhere. A neighbour slows down all steps for whole periods, as another tenant of a host, a link
// or a power budget does. Noise never makes a step shorter than its price, so no step falls below its bound.
type Noise struct {
	Jitter            float64      // mean share of its length by which a step lasts longer; 0: none
	NeighbourShare    float64      // share of the periods in which a neighbour is active; 0: none
	NeighbourSlowdown float64      // factor by which a step then lasts longer, ≥ 1
	Period            sim.Duration // of the neighbour

	jitter, neighbour *rng.Keyed
}

// NewNoise returns n with the draws of a seed, or an error that names the value out of range.
func NewNoise(n Noise, seed uint64) (*Noise, error) {
	switch {
	case !(n.Jitter >= 0) || n.Jitter > 10:
		return nil, fmt.Errorf("policies: jitter is %g, must be from 0 to 10", n.Jitter)
	case !(n.NeighbourShare >= 0) || n.NeighbourShare > 1:
		return nil, fmt.Errorf("policies: neighbour_share is %g, must be from 0 to 1", n.NeighbourShare)
	case n.NeighbourShare > 0 && (!(n.NeighbourSlowdown >= 1) || n.NeighbourSlowdown > 100 || n.Period < 1):
		return nil, fmt.Errorf("policies: neighbour_slowdown is %g and neighbour_period_s %g, "+
			"must be from 1 to 100 and above 0", n.NeighbourSlowdown, n.Period.Seconds())
	}
	n.jitter, n.neighbour = rng.NewKeyed(seed, "policies.jitter"), rng.NewKeyed(seed, "policies.neighbour")
	return &n, nil
}

// Stretch implements sim.Noise.
func (n *Noise) Stretch(instance int32, step int64, now sim.Time, d sim.Duration) sim.Duration {
	more := 0.0
	if n.Jitter > 0 {
		more = n.Jitter * n.jitter.At(uint64(instance), uint64(step)).ExpFloat64()
	}
	if n.NeighbourShare > 0 && n.active(instance, uint64(now)/uint64(n.Period)) {
		more += n.NeighbourSlowdown - 1
	}
	return sim.Duration(math.Round(float64(d) * more))
}

// active reports whether the instance's neighbour is active in a period.
func (n *Noise) active(instance int32, period uint64) bool {
	return n.neighbour.At(uint64(instance), period).Float64() < n.NeighbourShare
}

// Straggler lengthens every step of some instances by a factor, after other noise has lengthened it: a GPU that is
// throttled, a link that is degraded. It does not change the steps of other instances.
type Straggler struct {
	instances []int32 // IDs, in order
	slowdown  float64
	other     sim.Noise
}

// NewStraggler returns noise by which the steps of instances with these IDs take slowdown times as long. other is noise
// for all instances; nil: none.
func NewStraggler(instances []int32, slowdown float64, other sim.Noise) (*Straggler, error) {
	if !(slowdown >= 1) || slowdown > 100 {
		return nil, fmt.Errorf("policies: straggler_slowdown is %g, must be from 1 to 100", slowdown)
	}
	return &Straggler{slices.Sorted(slices.Values(instances)), slowdown, other}, nil
}

// Stretch implements sim.Noise.
func (s *Straggler) Stretch(instance int32, step int64, now sim.Time, d sim.Duration) sim.Duration {
	var more sim.Duration
	if s.other != nil {
		more = s.other.Stretch(instance, step, now, d)
	}
	if _, slow := slices.BinarySearch(s.instances, instance); slow {
		more += sim.Duration(math.Round(float64(d+more) * (s.slowdown - 1)))
	}
	return more
}
