package sizing

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// TestLimitsAndTheSameRuleAreOneSLO: a share of requests within limits, the rule that says so, and, of one latency, its
// percentile. A run ends early by each, and all must find the same capacity.
func TestLimitsAndTheSameRuleAreOneSLO(t *testing.T) {
	const load = "budget: {gpus: 2}\nrate: {min: 1, max: 200}\nrequests: 2000\nseeds: 2\n"
	capacity := func(slo string) float64 {
		a := size(t, studyOf(t, chat, load+slo))
		require.NotNil(t, a.Best, slo)
		return a.Best.CapacityPerS
	}
	both := capacity("slo: {ttft_ms: 300, tpot_ms: 20}\nattainment: 0.9\n")
	assert.Equal(t, both, capacity("slo: ['90% of requests: ttft <= 300ms and tpot <= 20ms']\n"))
	one := capacity("slo: {ttft_ms: 300}\nattainment: 0.9\n")
	assert.InEpsilon(t, one, capacity("slo: [ttft p90 <= 300ms]\n"), 0.011, "the histogram is exact to 0.1 %")
	assert.Greater(t, one, both)
}

// TestEveryRuleMustHold: the capacity under two rules is the lesser one of each alone, and the answer names the rule
// that breaks.
func TestEveryRuleMustHold(t *testing.T) {
	const load = "budget: {gpus: 1}\nrate: {min: 1, max: 200}\nrequests: 2000\nseeds: 1\n"
	best := func(slo string) *Finalist {
		a := size(t, studyOf(t, chat, load+"slo: "+slo+"\n"))
		require.NotNil(t, a.Best, slo)
		return a.Best
	}
	queue := best("[ttft p99 <= 2s]")
	gaps := best("[ttft p99 <= 2s, itl p95 <= 15ms]")
	loose := best("[ttft p99 <= 2s, itl p95 <= 10s]")
	assert.Equal(t, queue.CapacityPerS, loose.CapacityPerS)
	assert.Less(t, gaps.CapacityPerS, 0.9*queue.CapacityPerS)
	require.Len(t, gaps.Rules, 2)
	for _, v := range gaps.Rules {
		assert.True(t, v.Met, v.Rule)
	}
	assert.True(t, gaps.Limit.Rules[0].Met)
	assert.False(t, gaps.Limit.Rules[1].Met)
	assert.Contains(t, limitWords(gaps, new(Sizing)), `it breaks "itl p95 <= 15ms" (`)
}

// TestARunThatEndsEarlyBreaksARule: what broken says early, the verdict of the whole run says too.
func TestARunThatEndsEarlyBreaksARule(t *testing.T) {
	rules := metrics.Rules{
		{Terms: []metrics.Term{{Metric: metrics.RuleTTFT, At: 95, Limit: sim.Second}}},
		{Terms: []metrics.Term{{Metric: metrics.RuleE2E, At: metrics.Max, Limit: 2 * sim.Second}}},
		{Terms: []metrics.Term{{Metric: metrics.RuleITL, At: 95, Limit: 1}}},
		{Share: 0.5, Terms: []metrics.Term{{Metric: metrics.RuleE2E, Limit: sim.Second}}},
	}
	for slow, want := range map[int]int{0: 0, 5: 0, 6: 1, 60: 2} { // of 100 requests: rules that break
		j := &judge{began: sim.Forever}
		j.demand(&objective{share: 0.9, rules: rules}, 100, true)
		ended := false
		for i := range 100 {
			took := sim.Time(sim.Second / 2)
			if i < slow {
				took = sim.Time(sim.Second * 3 / 2)
			}
			r := &sim.Request{Record: sim.Record{First: took, Emitted: 1}}
			j.First(r)
			j.Done(r, took, sim.Completed)
			ended = ended || j.broken()
		}
		broke := 0
		for _, v := range j.Verdicts()[:len(rules)] {
			if !v.Met {
				broke++
			}
		}
		assert.Equal(t, want, broke, "%d slow ones", slow)
		assert.Equal(t, want > 0, ended, "%d slow ones", slow)
	}
}

func TestSizeRefusesWhatItCannotJudge(t *testing.T) {
	s := studyOf(t, chat, "budget: {gpus: 1}\nrate: {at: 1}\n", "slo.ttft_ms=null", "slo.itl_p99_ms=50")
	_, _, err := Search(context.Background(), s, Options{})
	require.ErrorContains(t, err,
		"50 is judged on traced requests, in run --view alone; expected a rule such as slo.rules")
	s = studyOf(t, chat, "budget: {gpus: 1}\nrate: {at: 1}\nslo: [itl p95 <= 50ms]\n")
	_, _, err = Search(context.Background(), s, Options{})
	require.ErrorContains(t, err, "slo: neither ttft_ms nor e2e_ms is given, here or in the scenario, nor a rule on ttft")
}

// TestChunksBreakARuleOnGaps: an engine that sends eight tokens together has gaps eight times as long, and a limit on
// them is met at the same capacity only if it is as much higher.
func TestChunksBreakARuleOnGaps(t *testing.T) {
	capacity := func(rule string, set ...string) float64 {
		a := size(t, studyOf(t, chat,
			"budget: {gpus: 1}\nrate: {min: 1, max: 200}\nrequests: 1000\nseeds: 1\nslo: [ttft p99 <= 2s, "+rule+"]\n", set...))
		if a.Best == nil {
			return 0
		}
		return a.Best.CapacityPerS
	}
	const chunks = "stream.stream_interval=8"
	single := capacity("itl mean <= 15ms")
	require.Positive(t, single)
	assert.Zero(t, capacity("itl mean <= 15ms", chunks))
	assert.InEpsilon(t, single, capacity("itl mean <= 110ms", chunks), 0.2, "the last chunk is a short one")
}
