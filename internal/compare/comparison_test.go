package compare

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/soak"
	"github.com/decodesim/decodesim/internal/stats"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// trialOf returns a run whose requests, one a second, wait for their first token as ttftS says and then 20 ms per
// token.
func trialOf(ttftS []float64) Trial {
	t := Trial{Summary: &metrics.Summary{Pools: []metrics.PoolResult{{Replicas: 1}}}}
	for i, wait := range ttftS {
		ttft := sim.Seconds(wait)
		t.Requests = append(t.Requests, Served{
			Arrival: sim.Time(0).Add(sim.Seconds(float64(i))), TTFT: ttft, E2E: ttft + sim.Seconds(0.2), Prompt: 10, Output: 11,
		})
		t.Summary.Latency.TTFT.Mean += wait / float64(len(ttftS))
	}
	return t
}

// compared is a Comparison of trials under one seed.
func compared(trials ...Trial) *Comparison {
	c := &Comparison{Seeds: []uint64{1}, Scenarios: make([]Candidate, len(trials))}
	c.Add(trials)
	c.Close()
	return c
}

func itemOf(t *testing.T, c *Comparison, metric string) *Item {
	for i := range c.Metrics {
		if c.Metrics[i].Metric == metric {
			return &c.Metrics[i]
		}
	}
	t.Fatalf("no metric %s", metric)
	return nil
}

// correlated returns n samples around mean, neighbours of which correlate by phi, as those of a queue do.
func correlated(r *rand.Rand, n int, mean, phi float64) []float64 {
	out, x := make([]float64, n), r.NormFloat64()
	for i := range out {
		x = phi*x + math.Sqrt(1-phi*phi)*r.NormFloat64()
		out[i] = mean + x
	}
	return out
}

// TestIntervalsHoldTheTruthAsOftenAsTheySay: of correlated samples too, of which an interval that took them for
// independent would hold it in half of the cases.
func TestIntervalsHoldTheTruthAsOftenAsTheySay(t *testing.T) {
	const runs, n, truth = 400, 5000, 0.1
	ttftMean := &comparedMetrics(false)[0]
	require.Equal(t, "latency.ttft_s.mean", ttftMean.metric)
	for _, phi := range []float64{0.8, 0}[:soak.Part(2)] {
		covered, naive := 0, 0
		for seed := range uint64(runs) {
			r := rand.New(rand.NewPCG(seed, 7))
			first, other := correlated(r, n, 20, phi), correlated(r, n, 20+truth, phi)
			separate := make([]float64, n)
			for i := range separate {
				separate[i] = other[i] - first[i]
			}
			a, b := trialOf(first), trialOf(other)
			p := pair(&a, &b)
			interval := p.interval(ttftMean)
			require.NotNil(t, interval)
			require.Equal(t, batchesMax, interval.N)
			if interval.Low <= truth && truth <= interval.High {
				covered++
			}
			if i := stats.IntervalAround(mean(separate), separate); i.Low <= truth && truth <= i.High {
				naive++
			}
		}
		assert.InDelta(t, stats.Confidence, float64(covered)/runs, 0.035, "correlation %v", phi)
		if phi > 0 {
			assert.Less(t, float64(naive)/runs, 0.7)
		}
	}
}

// TestWhatBothShareCancels: a load that both runs see moves each far more than they differ.
func TestWhatBothShareCancels(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	first := correlated(r, 2000, 20, 0.95)
	other := make([]float64, len(first))
	for i := range first {
		other[i] = first[i] + 0.05 + 0.01*r.NormFloat64()
	}
	d := itemOf(t, compared(trialOf(first), trialOf(other)), "latency.ttft_s.mean").Differences[1]
	assert.InDelta(t, 0.05, float64(d.Mean), 0.002)
	assert.True(t, d.Interval.Significant)
	assert.Less(t, d.Interval.High-d.Interval.Low, 0.005)
}

func TestTheSameRunTwiceDiffersInNothing(t *testing.T) {
	a := trialOf(correlated(rand.New(rand.NewPCG(3, 3)), 1500, 9, 0.5))
	c := compared(a, a)
	assert.Equal(t, SameRequests, c.Requests)
	for _, item := range c.Metrics {
		d := item.Differences[1]
		assert.Zero(t, d.Mean, item.Metric)
		if d.Interval != nil {
			assert.Equal(t, stats.Interval{N: d.Interval.N}, *d.Interval, item.Metric)
		}
	}
}

// TestAnIntervalNeedsEnoughRequests: of each statistic the number that it takes, ten times.
func TestAnIntervalNeedsEnoughRequests(t *testing.T) {
	for metric, least := range map[string]int{"latency.ttft_s.mean": 100, "latency.ttft_s.p50": 200,
		"latency.ttft_s.p99": 1000} {
		for n, want := range map[int]bool{least - 1: false, least: true} {
			samples := correlated(rand.New(rand.NewPCG(4, 4)), n, 9, 0)
			got := itemOf(t, compared(trialOf(samples), trialOf(samples)), metric).Differences[1].Interval
			assert.Equal(t, want, got != nil, "%s of %d", metric, n)
		}
	}
}

func TestTheIntervalOfAHandfulIsTheTextbooks(t *testing.T) {
	i := stats.IntervalAround(3, []float64{1, 2, 3, 4, 5}) // s² = 2.5, t(0.975, 4) = 2.776445
	assert.InDelta(t, 3-2.776445*math.Sqrt(2.5/5), i.Low, 1e-6)
	assert.InDelta(t, 3+2.776445*math.Sqrt(2.5/5), i.High, 1e-6)
	assert.True(t, i.Significant)
	assert.False(t, stats.IntervalAround(0.1, []float64{-1, 1, 0.2, 0.2}).Significant)
	assert.Nil(t, stats.IntervalAround(math.NaN(), []float64{1, math.NaN()}))
}

func TestSeedsGiveEveryMetricAnInterval(t *testing.T) {
	c := &Comparison{Seeds: []uint64{1, 2, 3}, Scenarios: make([]Candidate, 2)}
	// each seed is another world; the second scenario is 2 slower in each, about
	for seed, load := range []float64{1, 5, 9} {
		a, b := trialOf([]float64{9, 9}), trialOf([]float64{9, 9})
		a.Summary.Latency.ITL.P99, b.Summary.Latency.ITL.P99 = load, load+2+0.1*float64(seed-1)
		c.Add([]Trial{a, b})
	}
	c.Close()
	item := itemOf(t, c, "latency.itl_s.p99")
	assert.Equal(t, IntervalsBySeeds, c.Intervals)
	assert.InDelta(t, 5, float64(item.Values[0]), 1e-9)
	assert.InDelta(t, 7, float64(item.Values[1]), 1e-9)
	d := item.Differences[1]
	assert.InDelta(t, 0.4, float64(d.Relative), 1e-9)
	assert.InDelta(t, 2+4.302653*0.1/math.Sqrt(3), d.Interval.High, 1e-6) // t(0.975, 2)
	assert.True(t, d.Interval.Significant)
}

func TestOtherRequestsAreReported(t *testing.T) {
	samples := correlated(rand.New(rand.NewPCG(5, 5)), 2000, 9, 0)
	base := trialOf(samples)
	for want, change := range map[Likeness]func(*Trial){
		SameRequests: func(*Trial) {},
		SameLengths:  func(b *Trial) { b.Requests[7].Arrival++ },
		NotTheSame: func(b *Trial) {
			for i := range 200 {
				b.Requests[i].Output++
			}
		},
	} {
		b := trialOf(samples)
		change(&b)
		c := compared(base, b)
		assert.Equal(t, want, c.Requests)
		assert.Equal(t, want == NotTheSame, itemOf(t, c, "latency.ttft_s.mean").Differences[1].Interval == nil)
	}
	short := trialOf(samples[:1500])
	assert.Equal(t, SameLengths, compared(base, short).Requests, "fewer of the same")
}

// TestTurnsArePairedWhateverTheirOrder: who asks next in a conversation depends on the answers.
func TestTurnsArePairedWhateverTheirOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	a := trialOf(correlated(r, 2000, 9, 0.5))
	for i := range a.Requests {
		a.Requests[i].Prompt, a.Requests[i].Output = 1+r.Int32N(1000), 1+r.Int32N(1000)
	}
	b := a
	b.Requests = make([]Served, len(a.Requests))
	for i, j := range r.Perm(len(a.Requests)) {
		b.Requests[j] = a.Requests[i]
		b.Requests[j].TTFT += sim.Seconds(0.5)
	}
	b.Requests = b.Requests[:1950]
	p := pair(&a, &b)
	assert.Equal(t, SameLengths, p.likeness())
	require.Len(t, p.both, 1950)
	interval := p.interval(&comparedMetrics(false)[0])
	assert.InDelta(t, 0.5, interval.Low, 0.02) // two or three have the lengths of another
	assert.InDelta(t, 0.5, interval.High, 0.02)
	for i := range b.Requests[:120] {
		b.Requests[i].Prompt += 1000
	}
	assert.Equal(t, NotTheSame, likenessOf(&a, &b))
}

func likenessOf(a, b *Trial) Likeness {
	p := pair(a, b)
	return p.likeness()
}

func TestOnlyWhatBothCompletedIsPaired(t *testing.T) {
	samples := correlated(rand.New(rand.NewPCG(6, 6)), 2000, 9, 0)
	a, b := trialOf(samples), trialOf(samples)
	b.Requests[3].E2E, b.Requests[3].TTFT, b.Requests[3].Output = -1, -1, 0
	a.WarmupS = 10
	assert.Equal(t, SameRequests, compared(a, b).Requests)
	p := pair(&a, &b)
	assert.Len(t, p.both, 1990, "those before the warm-up are left out of both")
	b.Requests[30].E2E = -1
	c := &Comparison{Seeds: []uint64{1}, Scenarios: []Candidate{{Name: "one"}, {Name: "two"}}}
	c.Add([]Trial{a, b})
	c.Close()
	assert.Equal(t, []string{"two: intervals are of the 1,989 of 1,990 requests that both it and one completed"}, c.Notes)
}

func TestWhatNobodyMeasuredIsNull(t *testing.T) {
	text, err := json.Marshal([]stats.Number{stats.Number(math.NaN()), stats.Number(math.Inf(1)), 0.25})
	require.NoError(t, err)
	assert.Equal(t, "[null,null,0.25]", string(text))
	c := compared(trialOf([]float64{1, 2}), trialOf([]float64{1, 2}))
	for _, item := range c.Metrics {
		assert.NotContains(t, item.Metric, "slo.", "no scenario has an SLO")
		assert.NotContains(t, item.Metric, "cost.")
	}
}

// TestAClassIsPairedByItself: an interval of one class says nothing of the other, and a run without it has no value.
func TestAClassIsPairedByItself(t *testing.T) {
	samples := correlated(rand.New(rand.NewPCG(9, 9)), 3000, 9, 0)
	a, b := trialOf(samples), trialOf(samples)
	for i := range samples {
		a.Requests[i].Class = []string{"fast", "slow", "slow"}[i%3]
		b.Requests[i].Class = a.Requests[i].Class
		if b.Requests[i].Class == "slow" {
			b.Requests[i].TTFT += sim.Seconds(2)
		}
	}
	a.Summary.Classes = []metrics.ClassResult{{Name: "fast", SLO: &metrics.SLO{Attainment: .5, GoodputPerS: 3},
		Requests: metrics.Requests{Rejected: 1}}, {Name: "slow", SLO: &metrics.SLO{E2ES: 9}}}
	a.Summary.Classes[1].Latency.TTFT = metrics.Quantiles{N: 2000, Mean: 9}
	b.Summary.Classes = []metrics.ClassResult{a.Summary.Classes[0], a.Summary.Classes[1]}
	b.Summary.Classes[1].Latency.TTFT.Mean = 11
	c := compared(a, b)
	slow := itemOf(t, c, "classes.slow.latency.ttft_s.mean")
	assert.Equal(t, "slow", slow.Class)
	assert.Equal(t, []stats.Number{9, 11}, slow.Values)
	assert.InDelta(t, 2, slow.Differences[1].Interval.Low, 1e-6)
	assert.InDelta(t, 2, slow.Differences[1].Interval.High, 1e-6)
	assert.Equal(t, []stats.Number{.5, .5}, itemOf(t, c, "classes.fast.slo.attainment").Values)
	for _, item := range c.Metrics {
		assert.NotEqual(t, "classes.slow.slo.attainment", item.Metric, "none was completed")
		assert.NotEqual(t, "classes.fast.latency.ttft_s.mean", item.Metric, "nothing was measured")
	}
	b.Summary.Classes = nil
	dropped := itemOf(t, compared(a, b), "classes.slow.latency.ttft_s.mean")
	assert.True(t, math.IsNaN(float64(dropped.Values[1])))
	assert.Nil(t, dropped.Differences[1].Interval)
}

// TestBusyTimeCountsReplicasThatHaveStopped: of a pool that changes, the number that it had on average.
func TestBusyTimeCountsReplicasThatHaveStopped(t *testing.T) {
	s := &metrics.Summary{Pools: []metrics.PoolResult{{Utilization: 0.5, Replicas: 2},
		{Utilization: 0.9, ReplicasMean: 2}}}
	assert.InEpsilon(t, 0.7, busy(s), 1e-12)
}

// TestAMedianGapOfZeroIsExplained, and no other is.
func TestAMedianGapOfZeroIsExplained(t *testing.T) {
	for _, p50 := range []float64{0, 0.004} {
		c := &Comparison{Seeds: []uint64{1}, Scenarios: []Candidate{{Name: "without"}, {Name: "drafts"}}}
		without, drafts := summary(), summary()
		without.Latency.ITL.P50, drafts.Latency.ITL.P50, drafts.Latency.ITLChunk.P50 = 0.02, p50, 0.02
		drafts.Latency.ITL.N, drafts.Latency.ITLChunk.N = 9, 4 // chunks of two tokens
		c.Add([]Trial{{Summary: without}, {Summary: drafts}})
		c.Close()
		assert.Equal(t, p50 == 0, slices.ContainsFunc(c.Notes, func(note string) bool {
			return strings.HasPrefix(note, "ITL, tokens: the tokens of one chunk come at once, 0 ms apart")
		}), "%v: %q", p50, c.Notes)
	}
}
