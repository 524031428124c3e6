package sizing

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/load"
	"github.com/decodesim/decodesim/internal/soak"
)

// TestTheSmallestNumberIsTheOneThatAScanFinds, however far off the guess is.
func TestTheSmallestNumberIsTheOneThatAScanFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.IntRange(1, 20).Draw(t, "low")
		high := low + rapid.IntRange(0, 500).Draw(t, "high")
		first := rapid.IntRange(low, high+1).Draw(t, "first that does")
		asked := map[int]bool{}
		n, err := smallest(low, rapid.IntRange(-3, high+9).Draw(t, "guess"), high, func(n int) (bool, error) {
			if n < low || n > high || asked[n] {
				t.Fatalf("asked for %d", n)
			}
			asked[n] = true
			return n >= first, nil
		})
		require.NoError(t, err)
		want := first
		if first > high {
			want = 0
		}
		assert.Equal(t, want, n)
	})
}

const twoPools = "search: {topology: [disaggregated], tensor_parallel: [1, 2], prefill_tensor_parallel: [1, 2]}\n" +
	"requests: 1000\nseeds: 2\n"

// TestTheCheapestPairOfPoolsIsTheOneThatBruteForceFinds: no split of fewer GPUs than the search by halves says sustains
// the rate under all seeds.
func TestTheCheapestPairOfPoolsIsTheOneThatBruteForceFinds(t *testing.T) {
	for _, at := range []float64{25, 60} {
		z := preparedFor(t, chat, twoPools, fmt.Sprint("rate.at=", at))
		_, err := z.cheapest()
		require.NoError(t, err)
		found := z.families[0].best
		require.NotNil(t, found)
		for gpus := 2; gpus < found.is.GPUs; gpus++ {
			for _, s := range z.pairs {
				for prefill := 1; prefill*s.gpus[0] < gpus; prefill++ {
					decode := (gpus - prefill*s.gpus[0]) / s.gpus[1]
					if decode == 0 {
						continue
					}
					ok, err := z.confirmed(z.deployment(s, prefill, decode), len(z.out.Seeds))
					require.NoError(t, err)
					assert.False(t, ok, "%dP%dD %s sustains it on %d GPUs", prefill, decode, s.series(), gpus)
				}
			}
		}
		ok, err := z.confirmed(found, len(z.out.Seeds))
		require.NoError(t, err)
		assert.True(t, ok)
	}
}

// TestTheAnswerLeadsItsKindOfGPU: of deployments that cost the same the answer goes by all seeds, capacities by one.
func TestTheAnswerLeadsItsKindOfGPU(t *testing.T) {
	of := func(gpu string, usd float64, capacity int) *family {
		d := &deployment{shape: &shape{}, is: Deployment{GPUs: 8, USDPerHour: usd}, capacity: capacity}
		return &family{gpus: []string{gpu}, best: d}
	}
	more, answer, other := of("a", 8, 9), of("a", 8, 7), of("b", 9, 9)
	for _, families := range [][]*family{{more, answer, other}, {answer, more, other}} {
		assert.Equal(t, []*family{answer, other}, leadersOf(families, answer.best))
		assert.Equal(t, []*family{more, other}, leadersOf(families, nil), "of one seed")
	}
}

const rowsStudy = "search: {topology: [colocated, disaggregated], tensor_parallel: [1, 2], max_num_seqs: [64, 256], " +
	"gpu: [h100-sxm, l40s], prefill_gpu: [h100-sxm, l40s]}\nrate: {at: 40}\nrequests: 800\nseeds: 2\n"

// TestEveryKindHasARow: the cheapest of each GPU and layout, the best of all among them, with what twice and three
// times the load needs.
func TestEveryKindHasARow(t *testing.T) {
	study := studyOf(t, chat, rowsStudy)
	a, best, err := Search(t.Context(), study, Options{Version: "test"})
	require.NoError(t, err)
	var kinds []string
	leaders := 0
	for i := range a.Rows {
		r := &a.Rows[i]
		kinds = append(kinds, r.GPU+" "+r.Topology+" "+r.Layout)
		if r.Name == "" {
			assert.NotEmpty(t, r.Why)
			continue
		}
		for _, v := range r.SLO {
			assert.True(t, v.Met, "%s: %s", r.Name, v.Rule)
		}
		assert.GreaterOrEqual(t, r.USDPerHour, a.Best.USDPerHour, r.Name)
		assert.True(t, r.CheapestOfGPU || r.Name != a.Best.Name || r.Topology != a.Best.Topology, "the answer leads its kind")
		assert.InDelta(t, r.USDPerHour/3600/(40*60)*1e6, r.USDPerMillionTokens, 0.1*r.USDPerMillionTokens, "60 tokens each")
		if x := r.Spending.split(); x.USDPerMillionInputTokens > 0 { // 60 output tokens to each prompt
			assert.InEpsilon(t, r.USDPerMillionTokens*(1-x.InputShare), x.USDPerMillionOutputTokens, 0.05, r.Name)
		}
		if r.CheapestOfGPU {
			leaders++
			assertMore(t, r)
		}
	}
	for _, kind := range []string{"h100-sxm colocated tp1", "h100-sxm colocated tp2", "l40s colocated tp1",
		"h100-sxm disaggregated tp1", "l40s disaggregated tp2"} {
		assert.Contains(t, kinds, kind)
	}
	assert.GreaterOrEqual(t, leaders, 2)
	assert.Positive(t, a.Best.Margin)
	assert.GreaterOrEqual(t, a.RooflineLimitPerS, a.Best.RooflineLimitPerS, "the highest of all")
	require.NotEmpty(t, a.Commands)
	assert.Contains(t, strings.Join(a.Commands, "\n"), "vllm serve")
	require.Len(t, a.Replay.SLO, 1)
	again, err := load.Replay(t.Context(), best, "test")
	require.NoError(t, err)
	assert.Equal(t, again.SLO.Attainment, a.Replay.SLO[0].Value)
	assert.NotEmpty(t, a.Frontier, "the rate is sustained")
	for _, p := range a.Splits {
		if p.Name == a.Best.Name {
			assert.InDelta(t, a.Best.BySeed[0], p.CapacityPerS, 1e-9, "a plot says what the table says")
		}
	}
}

const wide = `
model: deepseek-r1
pools: [{gpu: h200-sxm}]
workload:
  arrivals: {process: poisson, rate: 1}
  prompt_tokens: {distribution: lognormal, mean: 2000, cv: 1}
  output_tokens: {distribution: lognormal, mean: 800, cv: 1}
  requests: 1000
`

// TestPoolsThatAreTooSlowHideNoneThatAreNot: 64 ranks in lock step have the highest limit of all and miss the SLO
// however many there are, for one rank alone reads a prompt. Replicas of 16 ranks keep it. Answers take so long that
// some runs of 800 requests cannot say whether requests pile up, and are lengthened.
func TestPoolsThatAreTooSlowHideNoneThatAreNot(t *testing.T) {
	soak.TakesLong(t)
	a := size(t, studyOf(t, wide, "budget: {gpus: 96}\nrate: {at: 10}\nslo: [ttft p95 <= 2s, itl p95 <= 50ms]\n"+
		"search: {topology: [disaggregated], parallel: [dp16-ep, dp64-ep], max_num_seqs: [256], "+
		"max_num_batched_tokens: [8192]}\nrequests: 800\nseeds: 1\n"))
	require.NotNil(t, a.Best)
	assert.Equal(t, 16, a.Best.Pools[0].DataParallel)
	assert.Less(t, a.Best.GPUs, 96)
	assert.Contains(t, strings.Join(a.Notes, "; "), "answers take long: ")
}

// assertMore requires that more load takes more GPUs, and no more than in proportion but for one of each pool.
func assertMore(t *testing.T, r *Row) {
	t.Helper()
	require.Len(t, r.More, 2)
	before := r.GPUs
	for _, m := range r.More {
		require.NotNil(t, m.Needs, r.Name)
		assert.Greater(t, m.Needs.GPUs, before, r.Name)
		assert.LessOrEqual(t, m.Needs.GPUs, m.Times*r.GPUs+4, r.Name)
		before = m.Needs.GPUs
	}
}

// TestMoreLoadNeedsNoReplicaMore than is said: with one less, colocated, it is not sustained.
func TestMoreLoadNeedsNoReplicaMore(t *testing.T) {
	z := preparedFor(t, chat, "rate: {at: 40}\nrequests: 800\nseeds: 1\n")
	_, err := z.cheapest()
	require.NoError(t, err)
	d := z.families[0].best
	for i := range 2 {
		m, err := z.more(d, i)
		require.NoError(t, err)
		n := m.Needs.Pools[0].Replicas
		for replicas, want := range map[int]bool{n: true, n - 1: false} {
			x, err := z.simulate(z.deployment(d.shape, replicas), z.grid.last+1+i, 800, 1, verdict)
			require.NoError(t, err)
			assert.Equal(t, want, x.Carried, "%d replicas at %d ×", replicas, m.Times)
		}
	}
}

// TestAFailureSaysWhatBrokeAndWhatWasNotTried, whether a rate is asked for or the most is sought.
func TestAFailureSaysWhatBrokeAndWhatWasNotTried(t *testing.T) {
	for _, rate := range []string{"rate: {at: 30}\n", "rate: {min: 30, max: 60}\n"} {
		a := size(t, studyOf(t, chat, "budget: {gpus: 4}\nslo: {rules: ['ttft p90 <= 20ms', 'itl p95 <= 80ms']}\n"+
			"requests: 800\nseeds: 1\n"+rate))
		require.Nil(t, a.Best)
		f := a.Failure
		require.NotNil(t, f)
		assert.Equal(t, "ttft p90 <= 20ms", f.Broke)
		assert.InDelta(t, 30, f.RatePerS, 1e-9)
		assert.Less(t, f.Attainment, 1.0)
		assert.Contains(t, f.NotTried, "disaggregated deployments")
		assert.Contains(t, f.NotTried, "a larger budget")
		var b strings.Builder
		require.NoError(t, WriteText(&b, a))
		assert.Contains(t, b.String(), `"ttft p90 <= 20ms" breaks first: `)
		assert.Contains(t, b.String(), "not tried: disaggregated deployments; ")
	}
}

// TestWaitsAfterTheFirstTokenCount: a decode pool that cannot keep up lets each request wait once, which a percentile
// of pooled gaps does not show; the search does not take it for an answer.
func TestWaitsAfterTheFirstTokenCount(t *testing.T) {
	z := preparedFor(t, chat, "search: {topology: [disaggregated], max_num_seqs: [8]}\nrate: {at: 30}\nrequests: 2000\n"+
		"seeds: 1\nslo: {rules: ['ttft p95 <= 1s', 'itl p95 <= 50ms']}\n")
	d := z.deployment(z.shapes[0], 2, 1)
	x, err := z.simulate(d, z.grid.asked, 2000, 1, whole)
	require.NoError(t, err)
	for _, v := range x.Rules[:2] {
		assert.True(t, v.Met, "%s is kept with %g s", v.Rule, v.Value)
	}
	last := x.Verdicts[len(x.Verdicts)-1]
	assert.Equal(t, "gap at the KV transfer p95 <= 1 s", last.Rule)
	assert.False(t, last.Met)
	assert.False(t, x.Carried)
}

// TestColocatedSearchesHaveNoPrefillShares in their plot.
func TestColocatedSearchesHaveNoPrefillShares(t *testing.T) {
	s := toySizing()
	s.Splits = []SplitPoint{{Name: "4 × tp2", Topology: configs.Colocated, Series: "tp2", GPUs: 8, CapacityPerS: 9,
		GoodputPerSPerGPU: 1}}
	f, err := SplitsFigure(s)
	require.NoError(t, err)
	assert.NotContains(t, string(f.SVG), acrossSplits)
	assert.Contains(t, string(f.SVG), "Goodput per GPU by layout")
}
