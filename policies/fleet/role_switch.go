package fleet

import (
	"fmt"

	"github.com/decodesim/decodesim/sim"
)

var _ sim.Controller = (*RoleSwitch)(nil)

// RoleSwitch moves GPUs between a prefill pool and a decode pool when one of them starves while the other has room:
// one instance at a time, the one with the fewest requests, never the last, and none while another instance starts or
// drains.
//
// The prefill pool starves when more than Queue requests per instance wait there. The decode pool starves then too,
// and also when more than High of its KV cache is allocated. The prefill pool has room when no request waits and an
// instance is idle; the decode pool has room when no request waits and one instance fewer would use at most Low of its
// KV cache.
type RoleSwitch struct{ a RoleSwitchArguments }

// RoleSwitchArguments configure RoleSwitch.
type RoleSwitchArguments struct {
	Prefill, Decode int // pools
	Interval        sim.Duration
	Delay           sim.Duration // from an instance's end in one role to the beginning of its cold start in the other
	Queue           float64      // waiting requests per instance
	High, Low       float64      // shares of the KV cache of the decode pool
}

// NewRoleSwitch returns the controller, or an error that names the argument out of range.
func NewRoleSwitch(a RoleSwitchArguments) (*RoleSwitch, error) {
	switch {
	case a.Prefill == a.Decode:
		return nil, fmt.Errorf("policies: role_switch: prefill and decode are both pool %d, must be two", a.Prefill)
	case a.Interval < sim.Millisecond:
		return nil, fmt.Errorf("policies: role_switch: interval_s is %g, must be at least 0.001", a.Interval.Seconds())
	case a.Delay < 0:
		return nil, fmt.Errorf("policies: role_switch: delay_s is %g, must not be negative", a.Delay.Seconds())
	case !(a.Queue >= 0) || a.Queue > 1e6:
		return nil, fmt.Errorf("policies: role_switch: queue is %g, must be from 0 to 1e6", a.Queue)
	case !(a.Low >= 0) || !(a.Low < a.High) || a.High > 1:
		return nil, fmt.Errorf("policies: role_switch: low is %g and high %g, must be shares from 0 to 1 in this order",
			a.Low, a.High)
	}
	return &RoleSwitch{a}, nil
}

// Control implements sim.Controller.
func (s *RoleSwitch) Control(now sim.Time, c *sim.Cluster) sim.Time {
	p, d := c.PoolState(s.a.Prefill, now), c.PoolState(s.a.Decode, now)
	prefill, decode := c.Pool(s.a.Prefill), c.Pool(s.a.Decode)
	if p.Starting+p.Draining+d.Starting+d.Draining == 0 {
		switch {
		case s.crowded(&p) && s.roomy(&d, decode):
			s.move(c, decode, prefill)
		case (s.crowded(&d) || float64(d.KVUsed) > s.a.High*float64(d.KVTotal)) && p.Waiting == 0:
			if in := leastNeeded(prefill); in != nil && in.Load() == 0 {
				s.move(c, prefill, decode)
			}
		}
	}
	return now.Add(s.a.Interval)
}

// crowded reports whether more than Queue requests per instance wait.
func (s *RoleSwitch) crowded(o *sim.Observation) bool {
	return o.Waiting > 0 && float64(o.Waiting) > s.a.Queue*float64(o.Live)
}

// roomy reports whether the decode pool has room.
func (s *RoleSwitch) roomy(o *sim.Observation, p *sim.Pool) bool {
	return o.Waiting == 0 && float64(o.KVUsed) <= s.a.Low*float64(int64(o.Live-1)*p.KVBlocks)
}

// move switches the least needed instance of from, if to has a place for it.
func (s *RoleSwitch) move(c *sim.Cluster, from, to *sim.Pool) {
	in := leastNeeded(from)
	if in == nil || to.Len() == to.Replicas() {
		return
	}
	c.Switch(in, to, s.a.Delay)
}
