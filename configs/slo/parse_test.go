package slo_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/configs/slo"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

func TestRulesReadAsContractsWriteThem(t *testing.T) {
	for text, want := range map[string]string{
		"ttft p95 <= 1s":                                      "ttft p95 <= 1s",
		"TTFT P95 ≤ 1 s":                                      "ttft p95 <= 1s",
		"p95 ttft<=1000ms":                                    "ttft p95 <= 1s",
		"ttft_p95 =< 1000000us":                               "ttft p95 <= 1s",
		"itl p99.9 < 62.5ms":                                  "itl p99.9 < 62.5ms",
		"request itl p95 <= 50ms":                             "tpot p95 <= 50ms",
		"tpot mean<=40ms ; e2e max <= 30s":                    "tpot mean <= 40ms|e2e max <= 30s",
		"queue median <= 200 µs":                              "queue p50 <= 200µs",
		"ttft p95<=1s, itl p95<=50ms":                         "ttft p95 <= 1s|itl p95 <= 50ms",
		"ttft p95<=1s and itl p95<=50ms":                      "ttft p95 <= 1s|itl p95 <= 50ms",
		"90% of requests: ttft <= 500ms and tpot <= 40ms":     "90% of requests: ttft <= 500ms and tpot <= 40ms",
		"99.9 % OF all requests: e2e < 30s & queue <= 1e-1s,": "99.9% of requests: e2e < 30s and queue <= 100ms",
	} {
		rules, err := slo.Parse(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, lines(rules), text)
	}
}

func lines(rules metrics.Rules) string {
	var all []string
	for i := range rules {
		all = append(all, rules[i].String())
	}
	return strings.Join(all, "|")
}

func TestARuleIsItsLimits(t *testing.T) {
	rules, err := slo.Parse("itl p99.9 < 62.5ms, 90% of requests: ttft <= 500ms and tpot <= 40ms")
	require.NoError(t, err)
	assert.Equal(t, metrics.Rules{
		{Terms: []metrics.Term{{Metric: metrics.RuleITL, At: 99.9, Below: true, Limit: 62500 * sim.Microsecond}}},
		{Share: 0.9, Terms: []metrics.Term{
			{Metric: metrics.RuleTTFT, Limit: 500 * sim.Millisecond}, {Metric: metrics.RuleTPOT, Limit: 40 * sim.Millisecond},
		}},
	}, rules)
}

// TestRulesAreWrittenAsTheyAreRead: the text of a rule is read back to the same rule.
func TestRulesAreWrittenAsTheyAreRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r metrics.Rule
		term := func() metrics.Term {
			return metrics.Term{
				Metric: metrics.Metric(rapid.IntRange(0, int(metrics.NumRuleMetrics)-1).Draw(t, "metric")),
				Below:  rapid.Bool().Draw(t, "below"),
				Limit:  sim.Duration(rapid.Int64Range(1, 1e9).Draw(t, "limit")) * sim.Microsecond / 10,
			}
		}
		if rapid.Bool().Draw(t, "about requests") {
			r.Share = float64(rapid.IntRange(10, 1000).Draw(t, "share")) / 1000
			for range rapid.IntRange(1, 3).Draw(t, "terms") {
				one := term()
				if one.Metric == metrics.RuleITL || one.Metric == metrics.RuleTask {
					one.Metric = metrics.RuleTPOT
				}
				r.Terms = append(r.Terms, one)
			}
		} else {
			r.Terms = []metrics.Term{term()}
			r.Terms[0].At = rapid.SampledFrom([]metrics.Statistic{1, 50, 95, 99.5, 99.9, metrics.Mean, metrics.Max}).
				Draw(t, "statistic")
		}
		rules, err := slo.Parse(r.String())
		require.NoError(t, err)
		require.Equal(t, metrics.Rules{r}, rules)
	})
}

func TestWhatIsNoRuleSaysWhatWouldBe(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    `has no rule; expected one such as "ttft p95 <= 1s"`,
		"ttfb p95 <= 1s":                      `"ttfb p95 <= 1s": latency "ttfb" not found; did you mean "ttft"?`,
		"tpott p95 <= 1s":                     `"tpott p95 <= 1s": latency "tpott" not found; did you mean "tpot"?`,
		"90% of requests: task <= 90s":        `task is of several requests; expected a rule of its own, such as "task p90 <= 90s"`,
		"p95 <= 1s":                           `names no latency; valid latencies: "ttft", `,
		"ttft p95 <= 1":                       "1 has no unit; expected s, ms or µs, such as 1ms",
		"ttft p95 <= 1,000ms":                 "1 has no unit",
		"ttft p95 <= 1h":                      `"h" is not a unit of time; expected s, ms or µs`,
		"ttft p95 <= fast":                    `"fast" is not a time`,
		"ttft p95 <= 0ms":                     "0ms is out of range; expected a time above 0 and at most 1e+06s",
		"ttft p95 >= 1s":                      "expected a latency, <= and a limit",
		"ttft p95 1s":                         "expected a latency, <= and a limit",
		"ttft p99.99 <= 1s":                   "p99.99 is out of range; expected p1 to p99.9, mean or max",
		"ttft p50 p95 <= 1s":                  "p95 beside p50; expected one statistic",
		"ttft <= 1s":                          "ttft of which statistic? Expected ttft p95, say, mean or max",
		"90% ttft <= 1s":                      `expected a share of the requests such as "90% of requests: ttft <= 500ms"`,
		"0% of requests: ttft <= 1s":          "0% of requests is out of range; expected 1% to 100%",
		"90% of requests: ttft p95 <= 1s":     "ttft p95 is of all requests; expected ttft of a single one, without p95",
		"90% of requests: itl <= 40ms":        "itl is pooled over the gaps of all requests; expected tpot",
		"90% of requests: ttft<=1s, tpot<=1s": `tpot of which statistic? Expected tpot p95, say, mean or max; or, in a rule`,
	} {
		_, err := slo.Parse(text)
		assert.ErrorContains(t, err, want, text)
	}
}
