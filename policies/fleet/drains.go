package fleet

import (
	"slices"

	"github.com/decodesim/decodesim/sim"
)

var _ sim.Controller = (*Drains)(nil)

// drainPatience is how long a drain that must wait is put off.
const drainPatience = 5 * sim.Second

// Drain has an instance of a pool take no more requests from an instant on.
type Drain struct {
	Pool     int
	Instance int // of the pool, from 0
	At       sim.Time
	Down     sim.Duration // from its end to the cold start of what replaces it; negative: nothing does
}

// Drains drains instances as a list says, as for maintenance. The last that takes requests is not drained but looked
// at again after drainPatience, as an eviction is that a disruption budget refuses.
type Drains struct{ list []Drain }

// NewDrains returns the drains of a list in pools of so many instances, or says which makes no sense.
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
	next, kept := sim.Forever, p.list[:0]
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
		kept, next = append(kept, d), min(next, d.At)
	}
	p.list = kept
	return next
}
