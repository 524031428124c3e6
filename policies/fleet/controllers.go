package fleet

import "github.com/decodesim/decodesim/sim"

var _ sim.Controller = (*Controllers)(nil)

// Controllers are several controllers as one: at one instant they act in order, each only when its own time has come.
type Controllers struct {
	list []sim.Controller
	next []sim.Time
}

// NewControllers returns one controller for those of a list: nil for none, the only one itself.
func NewControllers(list ...sim.Controller) sim.Controller {
	switch len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	}
	return &Controllers{list, make([]sim.Time, len(list))}
}

// Control implements sim.Controller.
func (a *Controllers) Control(now sim.Time, c *sim.Cluster) sim.Time {
	earliest := sim.Forever
	for i, one := range a.list {
		if a.next[i] <= now {
			a.next[i] = one.Control(now, c)
		}
		earliest = min(earliest, a.next[i])
	}
	return earliest
}
