package sim_test

import (
	"github.com/decodesim/decodesim/sim"
)

// fleetScenario is what a scenario has beyond one pool that stays as it is.
type fleetScenario struct {
	pools      []scenario // beyond the first
	uncached   bool       // the pool has no prefix caching
	sizeMax    int
	maxNumSeqs int
	recomputes bool // the last token of a prompt
	loads      bool // as vLLM's KV connectors do
	routes     []sim.Route
	byLength   int32 // of prompts, from which on the second route is taken; 0: routes in turn
	refusal    int32 // every so many-th request; 0: none
	egress     sim.Duration
	script     []action
	startsCold bool         // the instances of the beginning
	activates  bool         // the controller starts an instance for the first request at a gate
	activation sim.Duration // from then to its cold start
}

// split returns the route of r.
func (sc *fleetScenario) split(r *sim.Request) int {
	switch {
	case len(sc.routes) < 2:
		return 0
	case sc.byLength > 0:
		return min(1, int(r.Prompt/sc.byLength))
	}
	return int(r.ID) % len(sc.routes)
}

// refuses reports whether r may not enter.
func (sc *fleetScenario) refuses(r *sim.Request) bool {
	return sc.refusal > 0 && r.ID%sc.refusal == sc.refusal-1
}

// extend turns the configuration of a pool into that of the fleet.
func (sc *scenario) extend(c *sim.Config) {
	for i := range sc.pools {
		c.Pools = append(c.Pools, sc.pools[i].pool(c.Contents != nil))
	}
	c.Routes, c.Egress = sc.routes, sc.egress
	if len(sc.routes) > 1 {
		c.Splitter = splitter{sc}
	}
	if sc.refusal > 0 {
		c.Admission = admission{sc}
	}
	if len(sc.script) > 0 {
		c.Controller = &controller{script: sc.script}
		if sc.activates {
			c.Controller = &activator{controller{script: sc.script}, sc.activation}
		}
	}
}

type splitter struct{ sc *scenario }

func (s splitter) Split(_ sim.Time, r *sim.Request, _ *sim.Cluster) int { return s.sc.split(r) }

type admission struct{ sc *scenario }

func (a admission) Admit(_ sim.Time, r *sim.Request, _ *sim.Cluster) bool { return !a.sc.refuses(r) }

// controller does what a script says.
type controller struct{ script []action }

func (s *controller) Control(now sim.Time, c *sim.Cluster) sim.Time {
	for len(s.script) > 0 && s.script[0].at <= now {
		s.act(s.script[0], c)
		s.script = s.script[1:]
	}
	if len(s.script) == 0 {
		return sim.Forever
	}
	return s.script[0].at
}

// activator starts an instance for the first request that waits for one, too.
type activator struct {
	controller
	after sim.Duration
}

func (s *activator) Activate(_ sim.Time, p *sim.Pool, c *sim.Cluster) {
	for i := range p.Replicas() {
		if in := p.Replica(i); in.Live() || in.Starting() {
			return
		}
	}
	c.Start(p, s.after)
}

func (s *controller) act(a action, c *sim.Cluster) {
	var in *sim.Instance
	for i := range c.Pools() {
		for j := range c.Pool(i).Replicas() {
			if x := c.Pool(i).Replica(j); int(x.ID) == a.instance {
				in = x
			}
		}
	}
	switch {
	case a.what == "start":
		c.Start(c.Pool(a.pool), a.after)
	case !in.Live() && !in.Starting() && !in.Draining():
	case a.what == "fail":
		c.Fail(in, a.retry)
	case in.Draining():
	case a.what == "drain":
		c.Drain(in)
	case a.what == "switch":
		c.Switch(in, c.Pool(a.pool), a.after)
	}
}
