package plot

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

func TestRulesStandWhereTheirLimitAndShareMeet(t *testing.T) {
	rules := metrics.Rules{
		{Terms: []metrics.Term{{Metric: metrics.RuleTTFT, At: 95, Limit: sim.Second}}},
		{Terms: []metrics.Term{{Metric: metrics.RuleTTFT, At: metrics.Max, Limit: 2 * sim.Second}}},
		{Terms: []metrics.Term{{Metric: metrics.RuleTTFT, At: metrics.Mean, Limit: sim.Second}}},
		{Terms: []metrics.Term{{Metric: metrics.RuleITL, At: 99, Limit: 50 * sim.Millisecond}}},
		{Share: 0.9, Terms: []metrics.Term{
			{Metric: metrics.RuleTPOT, Limit: 1}, {Metric: metrics.RuleTTFT, Limit: sim.Second},
		}},
	}
	assert.Equal(t, []Rule{{0.95, 1, "p95 ≤ 1 s"}, {1, 2, "max ≤ 2 s"}, {0.9, 1, "90 % ≤ 1 s"}},
		RulesOn(rules, metrics.RuleTTFT), "a mean has no place on a distribution")
	assert.Equal(t, []Rule{{0.99, 0.05, "p99 ≤ 50 ms"}}, RulesOn(rules, metrics.RuleITL))
	assert.Empty(t, RulesOn(rules, metrics.RuleE2E))
}
