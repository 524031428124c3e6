package metrics

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/sim"
)

func rule(m Metric, at Statistic, limit sim.Duration) Rule {
	return Rule{Terms: []Term{{Metric: m, At: at, Limit: limit}}}
}

// TestVerdictsAreThoseOfASortedList: a twin that sorts every latency, with an endless one for each request that was not
// served, and takes the nearest rank.
func TestVerdictsAreThoseOfASortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := sim.Duration(rapid.Int64Range(1e6, 1e12).Draw(t, "limit"))
		p := rapid.SampledFrom([]Statistic{1, 50, 90, 95, 99, 99.9}).Draw(t, "percentile")
		share := rapid.SampledFrom([]float64{0.5, 0.9, 1}).Draw(t, "share")
		m := Recorder{Rules: Rules{
			rule(RuleTTFT, p, limit), rule(RuleE2E, p, limit), rule(RuleTPOT, Max, limit), rule(RuleQueue, Mean, limit),
			{Share: share, Terms: []Term{{Metric: RuleE2E, Limit: 3 * limit}, {Metric: RuleTTFT, Limit: limit}}},
		}}
		var ttft, e2e, tpot []float64
		var queue float64
		n := rapid.IntRange(1, 300).Draw(t, "requests")
		good, firsts := 0, 0
		for range n {
			a := sim.Duration(rapid.Int64Range(1e6, 1e12).Draw(t, "to the first token"))
			b := sim.Duration(rapid.Int64Range(1e6, 1e12).Draw(t, "after it"))
			r := &sim.Request{Output: 3}
			switch rapid.IntRange(0, 9).Draw(t, "outcome") {
			case 0:
				m.Done(r, 0, sim.Rejected)
				ttft, e2e, tpot = append(ttft, math.Inf(1)), append(e2e, math.Inf(1)), append(tpot, math.Inf(1))
				continue
			case 1:
				r.Record = sim.Record{Admitted: sim.Time(a / 2), First: sim.Time(a), Emitted: 1}
				m.First(r)
				m.Done(r, sim.Time(a+b), sim.Failed)
				ttft, e2e, tpot = append(ttft, a.Seconds()), append(e2e, math.Inf(1)), append(tpot, math.Inf(1))
			default:
				r.Record = sim.Record{Admitted: sim.Time(a / 2), First: sim.Time(a), Emitted: 3}
				m.First(r)
				m.Done(r, sim.Time(a+b), sim.Completed)
				ttft, e2e = append(ttft, a.Seconds()), append(e2e, (a+b).Seconds())
				tpot = append(tpot, (b / 2).Seconds())
				if a <= limit && a+b <= 3*limit {
					good++
				}
			}
			queue += (a / 2).Seconds()
			firsts++
		}
		got := m.Verdicts()
		rank := func(list []float64, p Statistic) float64 {
			slices.Sort(list)
			i := 1
			for float64(i)*1000 < float64(p)*10*float64(len(list)) {
				i++
			}
			return list[i-1]
		}
		same := func(want float64, i int) {
			if math.IsInf(want, 1) {
				require.Equal(t, want, got[i].Value, "%v", got[i])
			} else {
				require.InEpsilon(t, want, got[i].Value, 1e-3, "%v", got[i])
			}
			require.Equal(t, got[i].Value <= limit.Seconds(), got[i].Met, "%v", got[i])
		}
		same(rank(ttft, p), 0)
		same(rank(e2e, p), 1)
		same(rank(tpot, 100), 2)
		if firsts > 0 {
			same(queue/float64(firsts), 3)
		}
		require.Equal(t, float64(good)/float64(n), got[4].Value)
		require.Equal(t, float64(good) >= share*float64(n)-1e-9, got[4].Met)
	})
}

// TestShardsJudgeAsOneRecorder, whichever shard a request ends in.
func TestShardsJudgeAsOneRecorder(t *testing.T) {
	rules := Rules{{Share: 0.5, Terms: []Term{{Metric: RuleE2E, Limit: 9}}}, rule(RuleTTFT, 50, sim.Second),
		rule(RuleTTFO, 50, sim.Second)}
	whole, parts := Recorder{Rules: rules, Thinks: true}, Recorder{Rules: rules, Thinks: true}
	for i := range 7 {
		shard := parts.Shard().(*Recorder)
		for _, m := range []*Recorder{&whole, shard} {
			r := &sim.Request{Record: sim.Record{First: 3, Emitted: int32(i % 2)}}
			if i%2 == 1 {
				m.First(r)
			}
			m.Done(r, sim.Time(5+i), []sim.Outcome{sim.Failed, sim.Completed}[i%2])
		}
		parts.Merge(shard)
	}
	assert.Equal(t, whole.Verdicts(), parts.Verdicts())
	assert.Equal(t, 2.0/7, whole.Verdicts()[0].Value)
	assert.Equal(t, math.Inf(1), parts.Verdicts()[2].Value, "four of seven had nothing to read")
}

func TestARuleWithoutMeasurementsIsNotKeptButByGaps(t *testing.T) {
	m := Recorder{Rules: Rules{rule(RuleTTFT, 95, 1), rule(RuleITL, 95, 1), {Share: 1, Terms: []Term{{Limit: 1}}}}}
	for _, v := range m.Verdicts() {
		assert.False(t, v.Met, v.Rule)
		assert.True(t, math.IsNaN(v.Value), v.Rule)
	}
	r := &sim.Request{Record: sim.Record{First: 1, Emitted: 1}}
	m.First(r)
	m.Done(r, 1, sim.Completed)
	for _, v := range m.Verdicts() {
		assert.True(t, v.Met, v.Rule)
	}
}

func TestVerdictsSayHowFarFromTheLimit(t *testing.T) {
	r := rule(RuleTTFT, 95, sim.Second)
	data, err := json.Marshal(r.Judge(0.75))
	require.NoError(t, err)
	assert.JSONEq(t, `{"rule":"ttft p95 <= 1s","value":0.75,"limit":1,"unit":"s","met":true,"margin":0.25}`, string(data))
	data, err = json.Marshal(r.Judge(math.Inf(1)))
	require.NoError(t, err)
	assert.JSONEq(t, `{"rule":"ttft p95 <= 1s","value":null,"limit":1,"unit":"s","met":false,"margin":null}`, string(data))
	r.Terms[0].Below = true
	assert.False(t, r.Judge(1).Met, "< is not <=")
	r = Rule{Share: 0.9, Terms: r.Terms}
	v := r.Judge(0.95)
	assert.True(t, v.Met && v.Share)
	assert.InDelta(t, 0.05, v.Margin, 1e-12)
}

// TestWhatNothingWasMeasuredOfIsSaid: requests of the warm-up alone tell of no limit, and neither do none.
func TestWhatNothingWasMeasuredOfIsSaid(t *testing.T) {
	m := Recorder{Warmup: 10, SLO: Limits{E2E: 5}, Rules: Rules{rule(RuleE2E, 95, 5)}}
	for _, why := range []string{"no request arrived", "no request was measured from its arrival to its completion"} {
		o := m.slo(7)
		assert.Equal(t, why, o.Unmeasured)
		assert.True(t, math.IsNaN(o.Attainment) && math.IsNaN(o.GoodputPerS))
		assert.Equal(t, why, m.Verdicts()[0].Unmeasured)
		assert.Nil(t, m.Verdicts()[0].Written().Met, "it is unknown")
		m.Done(&sim.Request{Arrival: 9}, 9, sim.Rejected)
	}
	m.Done(&sim.Request{Arrival: 10}, 10, sim.Rejected)
	o := m.slo(7)
	assert.Empty(t, o.Unmeasured)
	assert.Equal(t, []float64{0, 0}, []float64{o.Attainment, o.GoodputPerS})
	share := Rule{Share: 0.9, Terms: []Term{{Metric: RuleTTFT, Limit: 5}}}
	assert.Equal(t, "share of requests", share.Judge(1).Written().Unit)
	assert.Equal(t, "s", m.Verdicts()[0].Written().Unit)
	assert.Nil(t, new(Recorder).slo(7), "there are no limits")
	assert.Nil(t, SplitOf(nil, nil, 0), "there is no rent to divide")
}

// TestARuleOnTasksIsUnknownWithoutTasks: where requests were measured, but no task that began after the warm-up has
// ended, other rules are judged, and that on tasks is not called missed.
func TestARuleOnTasksIsUnknownWithoutTasks(t *testing.T) {
	m := Recorder{Warmup: 10, Rules: Rules{rule(RuleTask, 95, 7), rule(RuleE2E, Max, 7)}}
	r := &sim.Request{Arrival: 12}
	r.First, r.Emitted = 14, 1
	m.Done(r, 16, sim.Completed)
	m.Task(&Task{Begun: 9, Ended: 16})
	m.Task(&Task{Begun: 11, Ended: 16, Ending: TaskUnfinished})
	v := m.Verdicts()
	assert.Equal(t, "no task was measured from its beginning to its end", v[0].Unmeasured)
	assert.False(t, v[0].Broken())
	assert.Nil(t, v[0].Written().Met, "it is unknown")
	assert.True(t, *v[1].Written().Met)
	m.Task(&Task{Begun: 11, Ended: 16, Ending: TaskFailed})
	require.Empty(t, m.Verdicts()[0].Unmeasured)
	assert.True(t, m.Verdicts()[0].Broken(), "what has failed is longer than any limit")
}

// TestARunIsMeasuredIfARequestHasEnded, however it ended.
func TestARunIsMeasuredIfARequestHasEnded(t *testing.T) {
	for _, c := range []struct {
		requests Requests
		n        int64 // of latencies
		want     bool
	}{{Requests{}, 0, false}, {Requests{Unfinished: 3}, 0, false}, {Requests{Rejected: 1}, 0, true},
		{Requests{Failed: 1}, 0, true}, {Requests{}, 1, true}} {
		s := Summary{Requests: c.requests, Latency: Latency{E2E: Quantiles{N: c.n}}}
		assert.Equal(t, c.want, s.Measured(), "%+v", c)
		k := ClassResult{Requests: s.Requests, Latency: s.Latency}
		assert.Equal(t, c.want, k.Measured(), "%+v", c)
	}
	o := OverTime{WidthS: 10}
	assert.True(t, o.IsRule(&AlertResult{OverS: 10}), "over a single window, at once")
	assert.False(t, o.IsRule(&AlertResult{OverS: 20}))
	assert.False(t, o.IsRule(&AlertResult{OverS: 10, ForS: 10}))
}
