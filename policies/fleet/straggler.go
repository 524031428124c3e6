package fleet

import (
	"fmt"
	"math"
	"slices"

	"github.com/decodesim/decodesim/sim"
)

var _ sim.Noise = (*Straggler)(nil)

// Straggler makes every step of some instances last longer by a factor, over what other noise does to them: a GPU that
// is throttled, a link that is degraded. The others are as they were.
type Straggler struct {
	instances []int32 // IDs, in order
	slowdown  float64
	over      sim.Noise
}

// NewStraggler returns noise by which the instances with these IDs take slowdown times as long. over is noise of its
// own for all instances; nil: none.
func NewStraggler(instances []int32, slowdown float64, over sim.Noise) (*Straggler, error) {
	if !(slowdown >= 1) || slowdown > 100 {
		return nil, fmt.Errorf("policies: straggler_slowdown is %g, must be from 1 to 100", slowdown)
	}
	return &Straggler{slices.Sorted(slices.Values(instances)), slowdown, over}, nil
}

// Stretch implements sim.Noise.
func (s *Straggler) Stretch(instance int32, step int64, now sim.Time, d sim.Duration) sim.Duration {
	var more sim.Duration
	if s.over != nil {
		more = s.over.Stretch(instance, step, now, d)
	}
	if _, slow := slices.BinarySearch(s.instances, instance); slow {
		more += sim.Duration(math.Round(float64(d+more) * (s.slowdown - 1)))
	}
	return more
}
