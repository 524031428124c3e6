package metrics_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
	"github.com/decodesim/decodesim/workloads/sessions"
)

// crowded is a scenario in which everything happens to tokens: classes, chunked prompts, preemptions, deadlines.
const crowded = `model: llama-3.1-8b
pools: [{name: serve, gpu: h100-sxm, replicas: 2, num_gpu_blocks: 500, max_model_len: 2000, max_num_batched_tokens: 512}]
workload:
  arrivals: {process: poisson, rate: 30}
  prompt_tokens: {distribution: lognormal, mean: 300, cv: 1}
  output_tokens: {distribution: lognormal, mean: 80, cv: 1}
  timeout_s: 60
  classes: [{name: x, share: 0.3}, {name: y, share: 0.7}]
  requests: 400
slo: {rules: ['ttft p95 <= 1s', 'itl p99 <= 100ms']}
`

// whole simulates a scenario and records what change asks for beside the usual.
func whole(t *testing.T, text string, change func(*metrics.Full, *sim.Config), set ...string) (*metrics.Full,
	*metrics.Summary, *sim.Cluster) {
	file := filepath.Join(t.TempDir(), "whole.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	s, err := configs.Load(file, configs.Options{Set: set})
	require.NoError(t, err)
	b, err := build.New(s)
	require.NoError(t, err)
	f := &metrics.Full{}
	f.SLO, f.Rules = b.SLO, b.Rules
	f.Warmup, f.Thinks = b.Warmup, b.Thinks()
	f.Ingress, f.Egress = b.Config.Ingress, b.Config.Egress
	f.Attribution, f.Windows = new(metrics.Attribution), metrics.NewWindows(b.Windows())
	if change != nil {
		change(f, &b.Config)
	}
	f.SeparateClasses(b.Classes())
	b.FollowTasks(f, func(*sessions.Task) {})
	if b.Config.Sink == nil {
		b.Config.Sink = f
	}
	c, err := sim.New(b.Config)
	require.NoError(t, err)
	f.Watch(c)
	c.Run()
	if n, ok := b.TasksBegun(); ok {
		f.TasksBegun(n)
	}
	return f, f.Summary(b.Describe("v", c.Totals().Arrived)), c
}

// sum adds the parts of a gap.
func sum(p metrics.Parts) float64 {
	return p.Weights + p.KV + p.Compute + p.Communication + p.Overhead + p.Prefill + p.Speculation + p.Copying +
		p.Pipeline + p.Queueing + p.Recomputing + p.KVTransfer
}

// TestWhatGapsAreMadeOfSumsToThem, whatever held tokens up, and their number is that of all gaps.
func TestWhatGapsAreMadeOfSumsToThem(t *testing.T) {
	for name, c := range map[string]struct {
		set  []string
		some func(metrics.Parts) float64
	}{
		"prompts in the same steps": {nil, func(p metrics.Parts) float64 { return p.Prefill }},
		"preemptions": {[]string{"pools.serve.num_gpu_blocks=130"},
			func(p metrics.Parts) float64 { return p.Queueing + p.Recomputing }},
		"prompts in steps of their own": {[]string{"pools.serve.engine=vllm-v0", "pools.serve.max_num_batched_tokens=2048"},
			func(p metrics.Parts) float64 { return p.Prefill }},
		"drafts": {[]string{"speculation={method: ngram, num_speculative_tokens: 3, acceptance: {process: iid, rate: 0.6}}"},
			func(p metrics.Parts) float64 { return p.Speculation }},
	} {
		f, s, _ := whole(t, crowded, nil, c.set...)
		require.NotZero(t, f.Attribution.N(), name)
		gaps := f.Attribution.Gaps()
		require.Len(t, gaps, 6, name)
		for _, g := range gaps {
			assert.InEpsilon(t, g.GapS, sum(g.Parts), 1e-9, "%s: %s", name, g.At)
		}
		assert.EqualValues(t, s.Latency.ITLChunk.N, f.Attribution.N(), name)
		assert.InEpsilon(t, s.Latency.ITLChunk.Mean, gaps[0].GapS, 1e-6, name)
		assert.InEpsilon(t, s.Latency.ITLChunk.P99, gaps[4].GapS, 0.05, "%s: the mean of all about as long", name)
		assert.Positive(t, c.some(gaps[0].Parts), name)
	}
}

// TestClassesAddUpToTheRun: requests, tokens and gaps.
func TestClassesAddUpToTheRun(t *testing.T) {
	for _, set := range [][]string{nil, {"pools.serve.num_gpu_blocks=130"}, {"workload.timeout_s=0.4"},
		{"pools.serve.engine=vllm-v0", "pools.serve.max_num_batched_tokens=2048"},
		{"speculation={method: ngram, num_speculative_tokens: 3, acceptance: {process: iid, rate: 0.6}}"}} {
		_, s, _ := whole(t, crowded, nil, set...)
		require.Len(t, s.Classes, 2)
		var requests, completed, output, ttft, itl int64
		mean := 0.0
		for _, k := range s.Classes {
			requests += k.Requests.Arrived
			completed += k.Requests.Completed
			output += k.Tokens.Output
			ttft += int64(k.Latency.TTFT.N)
			itl += int64(k.Latency.ITL.N)
			mean += k.Latency.ITL.Mean * float64(k.Latency.ITL.N)
		}
		assert.EqualValues(t, 400, requests)
		assert.Equal(t, s.Requests.Completed, completed)
		assert.Equal(t, s.Tokens.Output, output)
		assert.EqualValues(t, s.Latency.TTFT.N, ttft)
		assert.EqualValues(t, s.Latency.ITL.N, itl)
		assert.InEpsilon(t, s.Latency.ITL.Mean, mean/float64(itl), 1e-9)
		assert.Equal(t, s.Requests.Arrived,
			s.Requests.Completed+s.Requests.Rejected+s.Requests.Failed+s.Requests.Unfinished)
	}
}

// TestShardsAreOneRecorder: replicas that have nothing to do with each other may be recorded by several at once.
func TestShardsAreOneRecorder(t *testing.T) {
	all, one, _ := whole(t, crowded, func(f *metrics.Full, _ *sim.Config) { f.Series = metrics.NewSeries() },
		"router=round-robin", "pools.serve.replicas=4")
	atOnce := func(n int, do func(int)) {
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() { do(i) })
		}
		all.Wait()
	}
	f, several, _ := whole(t, crowded, func(f *metrics.Full, c *sim.Config) {
		f.Series = metrics.NewSeries()
		c.Unordered, c.Cores, c.Each = true, 3, atOnce
	}, "router=round-robin", "pools.serve.replicas=4")
	assert.Equal(t, one, several)
	assert.NotZero(t, f.Attribution.N())
	assert.Equal(t, all.Series.Slots(), f.Series.Slots())
	assert.Equal(t, all.Attained, f.Attained)
	assert.Equal(t, all.Waited.Counts(), f.Waited.Counts())
}

// TestChunksAreWhatAnEngineCollects: with k tokens a chunk, an output of n tokens has ⌈(n − 1)/k⌉ chunks after its
// first token, the gaps between which span the time from the first token to the last one.
func TestChunksAreWhatAnEngineCollects(t *testing.T) {
	for _, k := range []int32{1, 4, 10, 1000} {
		for _, set := range [][]string{nil, {"pools.serve.num_gpu_blocks=130"},
			{"speculation={method: ngram, num_speculative_tokens: 3, acceptance: {process: iid, rate: 0.6}}"}} {
			chunks, span, tokens := int64(0), sim.Duration(0), int64(0)
			f, s, _ := whole(t, crowded, func(f *metrics.Full, c *sim.Config) {
				f.Stream, f.SampleEvery, c.TraceEvery = metrics.NewChunks(k), 100, 1
				f.Stream.Windows = f.Windows
				f.Rows = func(r *sim.Request, at sim.Time, o sim.Outcome) {
					if o == sim.Completed {
						chunks += int64((r.Emitted - 1 + k - 1) / k)
						tokens += int64(r.Emitted - 1)
						span += at.Sub(r.First)
					}
				}
			}, set...)
			require.EqualValues(t, 400, s.Requests.Completed)
			gaps := f.Stream.Gaps()
			if set == nil || len(set) == 1 && k > 10 {
				assert.EqualValues(t, chunks, gaps.N(), "%d tokens a chunk", k)
			}
			assert.EqualValues(t, tokens, f.Stream.TokenGaps().N(), "%d tokens a chunk", k)
			assert.InEpsilon(t, span.Seconds(), gaps.MeanS()*float64(gaps.N()), 1e-6, "%d tokens a chunk", k)
		}
	}
}

// TestEnergyIsPowerOverTime: where everything draws the same, it is that times the time, in the building's meter; and
// the phases add up.
func TestEnergyIsPowerOverTime(t *testing.T) {
	described := func(c *sim.Cluster, p metrics.Power) *metrics.Energy {
		return metrics.EnergyOf(c, &metrics.Description{Grid: metrics.Grid{PUE: 1.5, GCO2: 400, USD: 0.2, Reported: true},
			Pools: []metrics.PoolDescription{{Power: p}}}, 400)
	}
	_, _, c := whole(t, crowded, nil)
	seconds := 2 * c.Now().Seconds() // two replicas
	e := described(c, metrics.Power{IdleW: 300, PrefillW: 300, DecodeW: 300, PeakW: 300, HostW: 50})
	assert.InEpsilon(t, 1.5*350*seconds/3.6e6, e.KWh, 1e-9)
	assert.InEpsilon(t, 1.5*350*2, e.MeanW, 1e-9)
	assert.InEpsilon(t, 600, e.TDPW, 1e-9)
	assert.InEpsilon(t, e.KWh, e.ByPhase.Idle+e.ByPhase.Prefill+e.ByPhase.Decode+e.ByPhase.Host, 1e-9)
	assert.InEpsilon(t, e.KWh*3.6e6/400, e.JPerRequest, 1e-9)
	assert.InEpsilon(t, e.KWh*3.6e6/float64(c.Totals().OutputTokens), e.JPerOutputToken, 1e-9)
	assert.InEpsilon(t, e.KWh*400, e.GCO2, 1e-9)
	assert.InEpsilon(t, e.MeanW/1000*0.2, e.USDPerHour, 1e-9)
	assert.InEpsilon(t, e.USDPerHour*c.Now().Seconds()/3600*1e6/float64(c.Totals().OutputTokens), e.USDPerMillion, 1e-9)
	less := described(c, metrics.Power{IdleW: 100, PrefillW: 300, DecodeW: 200, PeakW: 300})
	assert.Less(t, less.KWh, e.KWh)
	assert.Positive(t, less.ByPhase.Decode)
	assert.Nil(t, described(c, metrics.Power{}), "the power of an accelerator is unknown")
	assert.Nil(t, metrics.EnergyOf(c, &metrics.Description{}, 400), "nor asked for")
}

// TestWhatIsWaitedForInVainIsCounted beside the queue, which has only requests with a token: clients that give up
// after 0.4 s have waited that long.
func TestWhatIsWaitedForInVainIsCounted(t *testing.T) {
	_, s, _ := whole(t, crowded, nil, "workload.timeout_s=0.4", "pools.serve.max_num_seqs=4",
		"workload.arrivals.rate=300")
	require.NotNil(t, s.Latency.Unanswered)
	assert.Positive(t, s.Latency.Unanswered.N)
	assert.EqualValues(t, 400, s.Latency.Unanswered.N+s.Latency.TTFT.N)
	assert.InEpsilon(t, 0.4, s.Latency.Unanswered.Mean, 1e-9)
	assert.InEpsilon(t, 0.4, s.Latency.Unanswered.Max, 1e-9)
	assert.Less(t, s.Latency.Queue.Max, 0.4)
	_, s, _ = whole(t, crowded, nil)
	assert.Nil(t, s.Latency.Unanswered, "all had a token")
}

// agents is a scenario of tasks.
const agents = `model: llama-3.1-8b
pools: [{gpu: h100-sxm}]
workload:
  arrivals: {process: poisson, rate: 1}
  agents: {turns: {distribution: fixed, mean: 4}, tool_time_s: {distribution: fixed, mean: 2},
    tool_tokens: {distribution: fixed, mean: 100}, tasks: 20}
  prompt_tokens: {distribution: fixed, mean: 500}
  output_tokens: {distribution: fixed, mean: 50}
slo: {rules: ['task p95 <= 300s']}
`

// TestATaskIsWhatItsTimeWentTo: four turns and three tools of 2 s.
func TestATaskIsWhatItsTimeWentTo(t *testing.T) {
	f, s, _ := whole(t, agents, nil)
	require.NotNil(t, s.Tasks)
	assert.EqualValues(t, 20, s.Tasks.Completed)
	assert.EqualValues(t, 20, s.Tasks.Begun)
	assert.Zero(t, s.Tasks.Unfinished)
	assert.InEpsilon(t, 4, s.Tasks.Requests, 1e-12)
	assert.InEpsilon(t, 1, s.Tasks.Agents, 1e-12)
	assert.InEpsilon(t, 6, s.Tasks.Parts.Tools, 1e-9)
	p := s.Tasks.Parts
	assert.InEpsilon(t, f.Tasks.Time.MeanS(), p.Waiting+p.Prompts+p.Generation+p.Tools, 1e-6)
	assert.InEpsilon(t, 4*49*s.Latency.ITL.Mean, p.Generation, 0.05)
	_, cut, _ := whole(t, agents, nil, "workload.duration_s=12")
	assert.Positive(t, cut.Tasks.Unfinished)
	assert.Equal(t, cut.Tasks.Begun, cut.Tasks.Completed+cut.Tasks.Failed+cut.Tasks.Full+cut.Tasks.Unfinished)
}

// TestTransfersAreCounted: each request of separate pools is transferred once, with its prompt.
func TestTransfersAreCounted(t *testing.T) {
	_, s, _ := whole(t, `model: llama-3.1-8b
pools:
  - {name: prefill, role: prefill, gpu: h100-sxm, kv_link: nic-400g}
  - {name: decode, role: decode, gpu: h100-sxm}
workload:
  arrivals: {process: poisson, rate: 5}
  prompt_tokens: {distribution: fixed, mean: 300}
  output_tokens: {distribution: fixed, mean: 40}
  requests: 100
`, nil)
	require.NotNil(t, s.Transfers)
	assert.EqualValues(t, 100, s.Transfers.N)
	assert.EqualValues(t, 100*300, s.Transfers.Tokens)
	require.Len(t, s.Pools, 2)
	assert.Equal(t, [2]int64{0, 100}, [2]int64{s.Pools[0].Received, s.Pools[1].Received})
}

// TestTiersAddUpToAllHits: what was cached of the prompts of agents was in the GPU, in host memory or on drives.
func TestTiersAddUpToAllHits(t *testing.T) {
	_, s, _ := whole(t, agents, nil, "pools.serve.num_gpu_blocks=300", "pools.serve.kv_offloading_size=0.01",
		"pools.serve.kv_tiers={nvme: {size_gib: 1, read_bps: 1e11}}")
	tiers, sum := s.Pools[0].KVTiers, 0.0
	require.Len(t, tiers, 3)
	for _, tier := range tiers {
		sum += tier.HitRate
	}
	assert.Positive(t, tiers[2].HitRate)
	assert.InDelta(t, *s.Pools[0].PrefixHitRate, sum, 1e-12)
	assert.InDelta(t, tiers[1].HitRate+tiers[2].HitRate, s.Pools[0].HostHitRate, 1e-12)
	_, s, _ = whole(t, agents, nil)
	assert.Empty(t, s.Pools[0].KVTiers)
}

// TestATimelineIsSpacedByTheSpanOfItsRun, 2048 samples of it, but no closer than a millisecond; without a span of which
// the clock has an end it begins there.
func TestATimelineIsSpacedByTheSpanOfItsRun(t *testing.T) {
	_, _, c := whole(t, crowded, nil)
	for spanS, every := range map[float64]sim.Duration{
		0: sim.Millisecond, -1: sim.Millisecond, 2.048: sim.Millisecond, 0.1: sim.Millisecond, 2048: sim.Second,
		sim.HorizonS / 2: sim.Seconds(sim.HorizonS / 4096), sim.HorizonS: sim.Millisecond,
	} {
		assert.Equal(t, c.Now().Add(every), metrics.NewTimeline(spanS).Observe(c, c.Now()), "%v s", spanS)
	}
}
