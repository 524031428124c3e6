package build

import (
	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/slo"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// classLimits returns what a request of a class must keep to be good, by the SLO of the class or else by the
// scenario's; nil: there are no classes.
func classLimits(s *configs.Scenario, c *configs.Class) metrics.Limits {
	if c == nil || c.SLO == nil {
		return Limits(s.SLO.TTFTMS, s.SLO.TPOTMS, s.SLO.E2EMS, s.SLO.Rules)
	}
	return Limits(c.SLO.TTFTMS, c.SLO.TPOTMS, c.SLO.E2EMS, c.SLO.Rules)
}

// classRules returns the rules of the class, or else the scenario's.
func classRules(s *configs.Scenario, c *configs.Class) metrics.Rules {
	if c == nil || c.SLO == nil {
		return s.SLO.Rules.Rules()
	}
	return c.SLO.Rules.Rules()
}

// Limits returns what a request must keep to be good, from limits in milliseconds, 0 being none. Without any, the first
// rule about requests says it.
func Limits(ttftMS, tpotMS, e2eMS float64, lines slo.Lines) metrics.Limits {
	l := metrics.Limits{TTFT: milliseconds(ttftMS), TPOT: milliseconds(tpotMS), E2E: milliseconds(e2eMS)}
	if l != (metrics.Limits{}) {
		return l
	}
	for _, r := range lines.Rules() {
		if r.Share > 0 {
			return r.Limits()
		}
	}
	return l
}

func milliseconds(ms float64) sim.Duration { return sim.Seconds(ms / 1e3) }
