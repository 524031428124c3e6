package fleet

import (
	"slices"

	"github.com/decodesim/decodesim/sim"
)

var _ sim.Controller = (*Drains)(nil)

// drainPatience is for how long a drain that must wait is put off.
const drainPatience = 5 * sim.Second

// Drain makes an instance of a pool take no more requests from an instant on.
type Drain struct {
	Pool     int
	Instance int // of the pool, from 0
	At       sim.Time
	Down     sim.Duration // from the end of the instance to the cold start of its replacement; negative: no replacement
}

// Drains drains instances as a list says, as for maintenance. The last instance that takes requests is not drained: the
// drain is tried again after drainPatience, as is an eviction that a Kubernetes disruption budget refuses.
type Drains struct{ list []Drain }

// NewDrains returns the drains of a list in pools of so many instances, or an error that names the first impossible
// one.
func NewDrains(list []Drain, instances []int) (*Drains, error) {
	for i, d := range list {
		if err := within("drain", i, d.Pool, d.Instance, d.At, instances); err != nil {
			return nil, err
		}
	}
	return &Drains{slices.Clone(list)}, nil
}

// Control implements sim.Controller.
func (p *Drains) Control(now sim.Time, c *sim.Cluster) sim.Time {
	next, remaining := sim.Forever, p.list[:0]
	for _, d := range p.list {
		if d.At <= now {
			pool := c.Pool(d.Pool)
			in := pool.Replica(d.Instance)
			switch {
			case in.Live() && pool.Len() == 1:
				d.At = now.Add(drainPatience)
			case d.Down >= 0:
				c.Switch(in, pool, d.Down)
				continue
			default:
				c.Drain(in)
				continue
			}
		}
		remaining, next = append(remaining, d), min(next, d.At)
	}
	p.list = remaining
	return next
}
