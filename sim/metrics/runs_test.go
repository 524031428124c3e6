package metrics_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// these is a source of a few requests.
type these []sim.Request

func (s *these) Next(r *sim.Request) bool {
	if len(*s) == 0 {
		return false
	}
	*r, *s = (*s)[0], (*s)[1:]
	return true
}

// toy runs requests on one replica whose steps take 10 ms, and 30 ms with prompts.
func toy(t *testing.T, f *metrics.Full, until sim.Time, requests ...sim.Request) *sim.Cluster {
	source := these(requests)
	for i := range source {
		source[i].ID = int32(i)
	}
	c, err := sim.New(sim.Config{Source: &source, Sink: f, Until: until, Pools: []*sim.PoolSpec{{
		Name: "serve", Size: 1, BlockSize: 16, KVBlocks: 100, MaxModelLen: 200, Model: longer{},
		Router: new(routers.RoundRobin), Scheduler: &schedulers.Continuous{MaxNumSeqs: 8, MaxNumBatchedTokens: 64},
	}}})
	require.NoError(t, err)
	f.Watch(c)
	c.Run()
	return c
}

// TestPromptsHavePartOfARent: all of it where a run has nothing but prompts, none that is known where every decode came
// in a step with a prompt, and what steps took for them otherwise.
func TestPromptsHavePartOfARent(t *testing.T) {
	d := metrics.Description{Pools: []metrics.PoolDescription{{GPUs: 2}}}
	only := metrics.SplitOf(toy(t, &metrics.Full{}, 0, sim.Request{Prompt: 3, Output: 1}), &d, 7)
	require.NotNil(t, only)
	assert.InDelta(t, 1, only.InputShare, 1e-12)
	assert.InDelta(t, 0, only.USDPerMillionOutputTokens, 1e-12)
	assert.InEpsilon(t, 1e6*7*.030/3600/3, only.USDPerMillionInputTokens, 1e-9)
	after := sim.Time(sim.Millisecond)
	mixed := toy(t, &metrics.Full{}, 0, sim.Request{Prompt: 3, Output: 2},
		sim.Request{Prompt: 3, Output: 1, Arrival: after})
	require.EqualValues(t, 1, mixed.PoolTotals(0).Phases.MixedSteps)
	assert.Nil(t, metrics.SplitOf(mixed, &d, 7))
	assert.Nil(t, metrics.SplitOf(toy(t, &metrics.Full{}, 0), &d, 7), "nothing was computed")
	both := toy(t, &metrics.Full{}, 0, sim.Request{Prompt: 3, Output: 5})
	for _, gpus := range []int{0, 1, 8} {
		d.Pools[0].GPUs = gpus
		assert.InEpsilon(t, 30./(30+40), metrics.SplitOf(both, &d, 7).InputShare, 1e-9, "%d GPUs", gpus)
	}
}

// separate is two pools of which one has prompts.
const separate = `model: llama-3.1-8b
pools:
  - {name: prefill, role: prefill, gpu: h100-sxm, kv_link: nic-400g}
  - {name: decode, role: decode, gpu: h100-sxm, num_gpu_blocks: 60, max_model_len: 400}
workload:
  arrivals: {process: poisson, rate: 40}
  prompt_tokens: {distribution: fixed, mean: 300}
  output_tokens: {distribution: fixed, mean: 20}
  requests: 100
  warmup_s: 0.5
`

// watched is a recorder, and a list of the transfers that have arrived.
type watched struct {
	*metrics.Full
	transfers  []sim.Request
	withPrompt int64 // tokens of steps that had prompts
}

// listens makes w what the run tells of.
func (w *watched) listens(f *metrics.Full, c *sim.Config) { w.Full, c.Sink = f, w }

func (w *watched) Transferred(from, to *sim.Instance, r *sim.Request) {
	w.Full.Transferred(from, to, r)
	w.transfers = append(w.transfers, *r)
}

func (w *watched) Run(in *sim.Instance, start sim.Time, g *sim.Segment, n, tokens int) {
	w.Full.Run(in, start, g, n, tokens)
	if in.PromptChunks() > 0 && start.Add(g.First) >= w.Warmup {
		w.withPrompt += int64(n * tokens)
	}
}

// TestTransfersWaitForRoomAndTakeTheirTime: a request waits from the end of its prompt until there is room, and then is
// on its way; those that arrive after the warm-up are in the distributions.
func TestTransfersWaitForRoomAndTakeTheirTime(t *testing.T) {
	w, waited := &watched{}, 0
	_, s, c := whole(t, separate, w.listens)
	var wait, time metrics.Hist
	for i := range w.transfers {
		r := &w.transfers[i]
		if r.Transferred < w.Warmup {
			continue
		}
		away, before := r.Transferred.Sub(r.PendingTransfer), sim.Duration(0)
		if r.Allocated > r.PendingTransfer {
			before = r.Allocated.Sub(r.PendingTransfer)
			waited++
		}
		wait.One(before)
		time.One(away - before)
	}
	require.Len(t, w.transfers, 100)
	require.Positive(t, waited)
	require.Less(t, wait.N(), int64(100))
	assert.Equal(t, wait.Quantiles(), s.Transfers.Wait)
	assert.Equal(t, time.Quantiles(), s.Transfers.Time)
	busy := [2]float64{c.PoolTotals(0).BusyS, c.PoolTotals(1).BusyS}
	input := func(gpus int) float64 { // time of GPUs, of which those of the first pool have nothing but prompts
		d := metrics.Description{Pools: []metrics.PoolDescription{{GPUs: gpus}, {GPUs: 1}}}
		return metrics.SplitOf(c, &d, 7).InputShare * (float64(gpus)*busy[0] + busy[1])
	}
	assert.InEpsilon(t, 2*busy[0], input(3)-input(1), 1e-9)
}

// TestAStepWithAPromptHoldsUpItsTokens: those are the ones that a tail counts as mixed.
func TestAStepWithAPromptHoldsUpItsTokens(t *testing.T) {
	for _, set := range [][]string{nil, {"workload.arrivals.rate=4"}} {
		w := &watched{}
		whole(t, crowded, w.listens, set...)
		require.Positive(t, w.withPrompt)
		assert.Equal(t, w.withPrompt, w.Stalls[metrics.Mixed].N())
	}
}

// TestATimelineHasEveryPool, and the whole system is their sum.
func TestATimelineHasEveryPool(t *testing.T) {
	line := metrics.NewTimeline(0)
	_, _, c := whole(t, separate, func(_ *metrics.Full, config *sim.Config) { config.Observe = line.Observe })
	samples, moving, used := line.Samples(c), int64(0), [2]int64{}
	for _, s := range samples {
		require.Len(t, s.Pools, 2)
		sum := metrics.Sample{}
		for i, name := range []string{"prefill", "decode"} {
			p := s.Pools[i]
			require.Equal(t, name, p.Name)
			require.Equal(t, 1, p.Live)
			sum.Running, sum.Waiting = sum.Running+p.Running, sum.Waiting+p.Waiting
			sum.KVUsed, sum.KVTotal = sum.KVUsed+p.KVUsed, sum.KVTotal+p.KVTotal
			moving, used[i] = moving+p.Moving, max(used[i], p.KVUsed)
		}
		require.Equal(t, [4]int64{sum.Running, sum.Waiting, sum.KVUsed, sum.KVTotal},
			[4]int64{s.Running, s.Waiting, s.KVUsed, s.KVTotal})
	}
	assert.Positive(t, moving)
	assert.Positive(t, min(used[0], used[1]))
}

// TestATimelineOfNothingIsItsEnd, at which it has been observed or not.
func TestATimelineOfNothingIsItsEnd(t *testing.T) {
	c := toy(t, &metrics.Full{}, 0)
	line := metrics.NewTimeline(0)
	assert.Len(t, line.Samples(c), 1)
	line.Observe(c, c.Now())
	assert.Len(t, line.Samples(c), 1)
}

// TestASpanIsFromTheFirstRequestOn, though none of them has ended at the horizon: the first comes at 100 ms and has a
// token, and the run is cut off at 400 ms. Where all have ended it lasts until the last token.
func TestASpanIsFromTheFirstRequestOn(t *testing.T) {
	at := sim.Time(100 * sim.Millisecond)
	for until, want := range map[sim.Time]float64{sim.Time(400 * sim.Millisecond): .3, 0: .03 + 49*.01,
		sim.Time(sim.Second): .03 + 49*.01} {
		f := &metrics.Full{}
		toy(t, f, until, sim.Request{Prompt: 3, Output: 50, Arrival: at})
		assert.InDelta(t, want, f.Summary(metrics.Description{}).DurationS, 1e-9, "until %v", until)
	}
}

// TestRequestsThatComeTogetherHaveNoRate, and two that do not have one.
func TestRequestsThatComeTogetherHaveNoRate(t *testing.T) {
	for gap, want := range map[sim.Time]float64{0: 0, sim.Time(sim.Second / 2): 2} {
		f := &metrics.Full{}
		toy(t, f, 0, sim.Request{Prompt: 3, Output: 2}, sim.Request{Prompt: 3, Output: 2, Arrival: gap})
		load := f.Summary(metrics.Description{}).Load
		assert.Equal(t, want, load.OfferedPerS)
		assert.Equal(t, want, load.ServedPerS, "one had ended as the other came")
	}
}

// TestOneRequestIsEnoughForAWarning: that is rejected, for the reason that the description has.
func TestOneRequestIsEnoughForAWarning(t *testing.T) {
	f := &metrics.Full{}
	toy(t, f, 0, sim.Request{Prompt: 500, Output: 2}, sim.Request{Prompt: 3, Output: 2})
	for reason, want := range map[string]string{"": "longer than max_model_len, 200 tokens", "too long": "too long"} {
		s := f.Summary(metrics.Description{MaxModelLen: 200, RejectedFor: reason})
		assert.Equal(t, "1 of 2 requests were rejected: "+want, s.Warnings[0])
	}
	patience := sim.Time(5 * sim.Millisecond)
	f = &metrics.Full{}
	toy(t, f, 0, sim.Request{Prompt: 3, Output: 2, Deadline: patience}, sim.Request{Prompt: 3, Output: 2})
	s := f.Summary(metrics.Description{})
	require.NotNil(t, s.Latency.Unanswered)
	assert.EqualValues(t, 1, s.Latency.Unanswered.N)
	assert.Contains(t, strings.Join(s.Warnings, "; "), "1 of 2 requests failed, for their clients disconnected; ")
}

// TestOneRequestThatOnlyReasonsIsWarnedOf: its output ended before there was anything to read.
func TestOneRequestThatOnlyReasonsIsWarnedOf(t *testing.T) {
	f := &metrics.Full{}
	f.Thinks = true
	toy(t, f, 0, sim.Request{Prompt: 3, Output: 2, Reasoning: 2}, sim.Request{Prompt: 3, Output: 3, Reasoning: 2})
	assert.Contains(t, strings.Join(f.Summary(metrics.Description{}).Warnings, "; "),
		"1 of 2 measured requests were cut within their reasoning and showed nothing")
}

// TestAFleetThatStaysHasNoMean: eleven replicas that are always up, however long the run is.
func TestAFleetThatStaysHasNoMean(t *testing.T) {
	for s := sim.Duration(1); s < 2_000_000; s = 3*s + 1 {
		source := these{{Prompt: 3, Output: 2, Arrival: sim.Time(s * (sim.Second + 12_345_678_901))}}
		f := &metrics.Full{}
		c, err := sim.New(sim.Config{Source: &source, Sink: f, Pools: []*sim.PoolSpec{{
			Name: "serve", Size: 11, BlockSize: 16, KVBlocks: 100, MaxModelLen: 200, Model: longer{},
			Router: new(routers.RoundRobin), Scheduler: &schedulers.Continuous{MaxNumSeqs: 8, MaxNumBatchedTokens: 64},
		}}})
		require.NoError(t, err)
		f.Watch(c)
		c.Run()
		assert.Zero(t, f.Summary(metrics.Description{}).Pools[0].ReplicasMean, "after %d s", s)
	}
}

// TestAPoolHasTheBlocksOfItsRanks: a replica of two has twice the blocks of one without.
func TestAPoolHasTheBlocksOfItsRanks(t *testing.T) {
	_, one, _ := run(t, "model=mixtral-8x7b", "pools.serve.tensor_parallel=2", "pools.serve.num_gpu_blocks=1000")
	_, two, _ := run(t, "model=mixtral-8x7b", "pools.serve.tensor_parallel=2", "pools.serve.data_parallel=2",
		"pools.serve.num_gpu_blocks=1000")
	assert.Positive(t, one.Pools[0].KVBlocks)
	assert.Equal(t, 2*one.Pools[0].KVBlocks, two.Pools[0].KVBlocks)
}

// TestGasesOfAMillionTokens: those of the run, over its tokens; and what electricity costs.
func TestGasesOfAMillionTokens(t *testing.T) {
	_, s, c := whole(t, crowded, nil)
	require.NotNil(t, s.Gaps)
	e := metrics.EnergyOf(c, &metrics.Description{Grid: metrics.Grid{GCO2: 400, USD: .2, Reported: true},
		Pools: []metrics.PoolDescription{{Power: metrics.Power{IdleW: 300, PrefillW: 300, DecodeW: 300, PeakW: 300}}}}, 400)
	millions := float64(c.Totals().OutputTokens) / 1e6
	assert.InEpsilon(t, e.GCO2, millions*e.GCO2PerMillion, 1e-9)
	assert.InEpsilon(t, .2*e.KWh, millions*e.USDPerMillion, 1e-9)
}

// TestTheHitRateOfAPoolIsThatOfItsPrompts: later turns of a task have been cached but for what is new of them.
func TestTheHitRateOfAPoolIsThatOfItsPrompts(t *testing.T) {
	_, s, _ := whole(t, agents, nil)
	rate := s.Pools[0].PrefixHitRate
	require.NotNil(t, rate)
	assert.Greater(t, *rate, .3)
	assert.InEpsilon(t, float64(s.Tokens.PromptCached)/float64(s.Tokens.Prompt), *rate, 1e-12)
	assert.Zero(t, s.Pools[0].HostHitRate, "there is no host memory")
}

// TestRowsThatHaveEndedAreAShareOfAll: of a static batch of two, outputs of 10 and 4 tokens, nine steps decode the
// first and three the second, which is padding in the other six.
func TestRowsThatHaveEndedAreAShareOfAll(t *testing.T) {
	source := these{{Prompt: 3, Output: 10}, {ID: 1, Prompt: 3, Output: 4}}
	f := &metrics.Full{}
	c, err := sim.New(sim.Config{Source: &source, Sink: f, Pools: []*sim.PoolSpec{{
		Name: "serve", Size: 1, BlockSize: 16, KVBlocks: 100, MaxModelLen: 200, Model: longer{},
		Router: new(routers.RoundRobin), Scheduler: &schedulers.Static{MaxBatchSize: 2, MaxNumBatchedTokens: 64},
	}}})
	require.NoError(t, err)
	f.Watch(c)
	c.Run()
	assert.InDelta(t, 6./(6+9+3), f.Summary(metrics.Description{}).Pools[0].FinishedRows, 1e-12)
}
