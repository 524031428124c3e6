package fleet

import "github.com/decodesim/decodesim/sim"

var (
	_ sim.Controller = (*Controllers)(nil)
	_ sim.Activator  = (*Controllers)(nil)
)

// Controllers are several controllers as one. Those that are due at one instant act in the order of the list.
type Controllers struct {
	list []sim.Controller
	next []sim.Time // when each is due
}

// NewControllers returns the controllers of a list as one: nil for none, and a single one as it is.
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
	for i, controller := range a.list {
		if a.next[i] <= now {
			a.next[i] = controller.Control(now, c)
		}
		earliest = min(earliest, a.next[i])
	}
	return earliest
}

// Activate implements sim.Activator: the controllers that are Activators act in the order of the list.
func (a *Controllers) Activate(now sim.Time, p *sim.Pool, c *sim.Cluster) {
	for _, controller := range a.list {
		if activator, ok := controller.(sim.Activator); ok {
			activator.Activate(now, p, c)
		}
	}
}
