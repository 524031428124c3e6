package fleet

import (
	"fmt"
	"math"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
)

// Noise lengthens steps at random. Jitter adds to each step an exponential share of its length: launches, clocks, a
// host that is busy elsewhere. A neighbour slows all steps down for whole periods, as who shares a host, a link or a
// power budget does. It never makes a step shorter than its price, so no step falls below its bound.
type Noise struct {
	Jitter            float64      // mean of what a step lasts longer, as a share of it; 0: none
	NeighbourShare    float64      // of the periods in which a neighbour is active; 0: none
	NeighbourSlowdown float64      // a step then lasts so many times as long, ≥ 1
	Period            sim.Duration // of the neighbour

	jitter, neighbour *rng.Keyed
}

var _ sim.Noise = (*Noise)(nil)

// NewNoise returns n with the draws of a seed, or says which value makes no sense.
func NewNoise(n Noise, seed uint64) (*Noise, error) {
	switch {
	case !(n.Jitter >= 0) || n.Jitter > 10:
		return nil, fmt.Errorf("policies: jitter is %g, must be from 0 to 10", n.Jitter)
	case !(n.NeighbourShare >= 0) || n.NeighbourShare > 1:
		return nil, fmt.Errorf("policies: neighbour_share is %g, must be from 0 to 1", n.NeighbourShare)
	case n.NeighbourShare > 0 && (!(n.NeighbourSlowdown >= 1) || n.NeighbourSlowdown > 100 || n.Period < 1):
		return nil, fmt.Errorf("policies: neighbour_slowdown is %g and neighbour_period_s %g, must be from 1 to 100 and above 0",
			n.NeighbourSlowdown, n.Period.Seconds())
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
	if n.NeighbourShare > 0 && n.neighbour.At(uint64(instance), uint64(now)/uint64(n.Period)).Float64() < n.NeighbourShare {
		more += n.NeighbourSlowdown - 1
	}
	return sim.Duration(math.Round(float64(d) * more))
}
