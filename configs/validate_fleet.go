package configs

import (
	"fmt"

	"github.com/decodesim/decodesim/policies/fleet"
)

// checkFleet refuses what no fleet could do.
func (s *Scenario) checkFleet(c *checker) {
	s.checkWays(c)
	s.Admission.check(c)
	s.checkAutoscale(c)
	s.checkRoleSwitch(c)
	s.checkOutages(c)
	s.checkEnergy(c)
	s.checkPurchases(c)
}

// checkWays refuses ways that cannot be chosen between.
func (s *Scenario) checkWays(c *checker) {
	serves, prefills := s.PoolsOf(RoleServe), s.PoolsOf(RolePrefill)
	decodes, encodes := s.PoolsOf(RoleDecode), s.PoolsOf(RoleEncode)
	if len(decodes) > 1 {
		c.fail(fmt.Sprintf("pools[%d].role", decodes[1]),
			"%q is that of pools[%d] already: a request would have to choose its decode pool before it "+
				"is read; expected one", RoleDecode, decodes[0])
	}
	if ways := len(serves) + len(prefills); len(encodes) > 1 || len(encodes) == 1 && ways > 1 {
		c.fail(fmt.Sprintf("pools[%d].role", encodes[0]),
			"%q in front of several pools; expected one pool of role %s, in front of one of role %s or %s",
			RoleEncode, RoleEncode, RoleServe, RolePrefill)
	}
	for _, i := range prefills {
		if at := fmt.Sprintf("pools[%d].kv_transfer", i); len(encodes) > 0 && s.Pools[i].KVTransfer == TransferPush {
			c.fail(at, "%q behind a pool of role %s: room would be reserved before there is anything to read; expected %q",
				TransferPush, RoleEncode, transferPull)
		}
	}
	d := s.Disaggregation
	if d == nil {
		return
	}
	const local, share = "disaggregation.local_below_tokens", "disaggregation.serve_share"
	switch {
	case d.LocalBelowTokens > 0 && (len(prefills) != 1 || len(serves) > 0):
		c.fail(local, "%d, beside %d pools of role %s and %d of role %s; expected one of role %s and one of role %s alone",
			d.LocalBelowTokens, len(prefills),
			RolePrefill, len(serves), RoleServe, RolePrefill, RoleDecode)
	case d.ServeShare > 0 && (len(prefills) == 0 || len(serves) == 0):
		c.fail(share, "%g, but all requests go the same way; expected pools of role %s beside those of role %s and %s",
			d.ServeShare, RoleServe,
			RolePrefill, RoleDecode)
	case d.ServeShare == 1:
		c.fail(share, "1 leaves nothing to the prefill pool; expected a share below 1")
	}
}

// check refuses limits that are none, and those of which only half is said.
func (a *Admission) check(c *checker) {
	if a == nil {
		return
	}
	const path = "admission."
	for _, of := range []struct {
		key, beside  string
		there, needs bool
	}{
		{"burst", "rate_per_s", a.Burst != 0, a.RatePerS != 0},
		{"token_burst", "tokens_per_s", a.TokenBurst != 0, a.TokensPerS != 0},
	} {
		switch {
		case of.needs && !of.there && !c.origins.given(path+of.key):
			c.fail(path+of.key, "missing beside %s; expected a whole number of at least 1", of.beside)
		case !of.needs && of.there:
			c.fail(path+of.key, "has no effect without %s; expected both or none", of.beside)
		}
	}
	if a.ShedPriorityAbove != 0 && a.ShedLimit == 0 {
		c.fail(path+"shed_priority_above", "%d has no effect without shed_limit; expected both or none", a.ShedPriorityAbove)
	}
}

// OnTTFT is the signal of first tokens that come late.
const OnTTFT = "ttft"

// checkAutoscale refuses targets that cannot be reached; what is left is for policies to judge.
func (s *Scenario) checkAutoscale(c *checker) {
	for i := range s.Autoscale {
		a, path := &s.Autoscale[i], fmt.Sprintf("autoscale[%d].", i)
		pool := s.checkPool(c, path, a.Pool)
		c.named(path+"on", a.On, fleet.AutoscaleSignals())
		if pool == nil || c.err != nil {
			return
		}
		for j := range i {
			if s.Autoscale[j].Pool == a.Pool {
				c.fail(path+"pool", "%q is that of autoscale[%d] already; expected another", a.Pool, j)
			}
		}
		c.whole(path+"min_replicas", int64(a.MinReplicas), 0, int64(pool.ReplicasLimit()))
		a.checkTarget(c, path, pool)
		if a.On == OnTTFT {
			s.checkTTFT(c, path, pool)
		}
	}
}

// checkTarget requires what the signal goes by.
func (a *Autoscale) checkTarget(c *checker, path string, pool *Pool) {
	if a.On == "schedule" {
		if c.origins.given(path + "target") {
			c.fail(path+"target", "%g has no effect on a schedule; accepted: null", a.Target)
		}
		if len(a.Schedule) == 0 {
			c.fail(path+"schedule", "missing; expected rows such as [{at_s: 0, replicas: 1}, {at_s: 3600, replicas: 4}]")
		}
		for i, row := range a.Schedule {
			at := fmt.Sprintf("%sschedule[%d].replicas", path, i)
			c.whole(at, int64(row.Replicas), int64(a.MinReplicas), int64(pool.ReplicasLimit()))
		}
		return
	}
	if len(a.Schedule) > 0 {
		c.fail(path+"schedule", "has no effect on %s; expected on: schedule", a.On)
	}
	high := 1e6
	if a.On == "kv" || a.On == OnTTFT {
		high = 1
	}
	if a.Target == 0 && !c.origins.given(path+"target") {
		c.fail(path+"target", "missing; expected a number above 0 and at most %g", high)
	}
	c.above(path+"target", a.Target, 0, high)
	if a.On == OnTTFT && a.Target == 1 {
		c.fail(path+"target", "1 lets all first tokens be late; expected a share below 1")
	}
}

// checkTTFT requires first tokens, and when they are due.
func (s *Scenario) checkTTFT(c *checker, path string, p *Pool) {
	first := p.Role == RoleServe || p.Role == RolePrefill && p.FirstToken == FirstAtPrefill || p.Role == RoleDecode &&
		s.FirstTokenAtDecode()
	if !first {
		c.fail(path+"on", "%q, but pool %q emits no first tokens; expected another signal", OnTTFT, p.Name)
	}
	if s.SLO.TTFTMS == 0 {
		c.fail(path+"on", "%q, but nothing says when first tokens are due; expected slo.ttft_ms", OnTTFT)
	}
}

// checkPool returns the pool of that name, which must be there.
func (s *Scenario) checkPool(c *checker, path, name string) *Pool {
	var names []string
	for i := range s.Pools {
		if s.Pools[i].Name == name {
			return &s.Pools[i]
		}
		names = append(names, s.Pools[i].Name)
	}
	c.named(path+"pool", name, names)
	return nil
}

// checkRoleSwitch requires two pools that can exchange replicas.
func (s *Scenario) checkRoleSwitch(c *checker) {
	w, prefills, decodes := s.RoleSwitch, s.PoolsOf(RolePrefill), s.PoolsOf(RoleDecode)
	if w == nil {
		return
	}
	if len(prefills) != 1 || len(decodes) != 1 {
		c.fail("role_switch", "switches between a prefill and a decode pool; expected one pool of each role")
		return
	}
	p, d := &s.Pools[prefills[0]], &s.Pools[decodes[0]]
	switch {
	case !p.GPU.Same(&d.GPU) || p.GPUs() != d.GPUs():
		c.fail("role_switch", "a replica of pool %q takes %d × %s, one of pool %q %d × %s; expected the same GPUs", p.Name,
			p.GPUs(), p.GPU, d.Name, d.GPUs(), d.GPU.Beside(&p.GPU))
	case p.ReplicasLimit() == p.Replicas && d.ReplicasLimit() == d.Replicas:
		c.fail("role_switch", "has no room for a switch; expected replicas_max above replicas of pool %q or %q", p.Name,
			d.Name)
	}
	if w.Low >= w.High {
		c.fail("role_switch.low", "%g is not below high, %g; expected a smaller share", w.Low, w.High)
	}
}

// checkOutages refuses replicas that cannot go down.
func (s *Scenario) checkOutages(c *checker) {
	for i := range s.Failures {
		f, path := &s.Failures[i], fmt.Sprintf("failures[%d].", i)
		s.checkOutage(c, path, f.Pool, f.Replica, f.AtS, f.DownS)
	}
	for i := range s.Drain {
		d := &s.Drain[i]
		s.checkOutage(c, fmt.Sprintf("drain[%d].", i), d.Pool, d.Replica, d.AtS, d.DownS)
	}
	for i := range s.RandomFailures {
		f, path := &s.RandomFailures[i], fmt.Sprintf("random_failures[%d].", i)
		s.checkPool(c, path, f.Pool)
		for j := range i {
			if s.RandomFailures[j].Pool == f.Pool {
				c.fail(path+"pool", "%q is that of random_failures[%d] already; expected another", f.Pool, j)
			}
		}
	}
}

func (s *Scenario) checkOutage(c *checker, path, name string, replica int, atS, downS float64) {
	if p := s.checkPool(c, path, name); p != nil {
		c.whole(path+"replica", int64(replica), 0, int64(p.ReplicasLimit()-1))
	}
}
