package build

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/soak"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// TestTheMeanNumberInTheSystemIsRateTimesStay is Little's law: L = λ·W, with L from samples of the system's state and W
// from the latencies of its clients, less the ingress before the system. L is a mean over at least 1,024 instants,
// which leaves it about 1 % of noise where nothing is saturated; 3 % is accepted.
func TestTheMeanNumberInTheSystemIsRateTimesStay(t *testing.T) {
	for name, set := range map[string][]string{
		"chat-70b":        nil,
		"chat-8b":         {"workload.arrivals.rate=40", "workload.requests=3000"},
		"code-completion": {"router=round-robin", "pools.serve.replicas=2"},
		"textbook-8b":     {"pools.serve.num_gpu_blocks=9000"},
	} {
		s, err := configs.Load(name, configs.Options{Set: set})
		require.NoError(t, err)
		b, err := New(s)
		require.NoError(t, err)
		f, line := &metrics.Full{}, metrics.NewTimeline(b.SpanS)
		b.Config.Sink, b.Config.Observe = f, line.Observe
		c, err := sim.New(b.Config)
		require.NoError(t, err)
		f.Watch(c)
		c.Run()
		samples := line.Samples(c)
		inside := 0.0
		for _, x := range samples[:len(samples)-1] {
			inside += float64(x.Running + x.Waiting)
		}
		mean := inside / float64(len(samples)-1)
		rate := float64(f.Recorded) / c.Now().Seconds()
		stay := f.E2E.MeanS() - b.Config.Ingress.Seconds()
		assert.InEpsilon(t, rate*stay, mean, 0.03, name)
	}
}

// own draws parts of the user's own: a model, a GPU and constants that are not the catalog's.
func own(t *rapid.T) (set []string) {
	for _, key := range []string{
		"model.override={context: 2048, tied_embeddings: true, weights: {dtype: fp8, classes: [attention, dense_ffn]}}",
		"model.override={layers: [{count: 3, mixer: a, ffn: f}, {count: 1, mixer: w, ffn: f}], ffns: [{name: f, " +
			"width: 512}], mixers: [{name: a, attention: {heads: 8, kv_heads: 2, key_dim: 64, value_dim: 64}}, " +
			"{name: w, attention: {heads: 8, kv_heads: 2, key_dim: 64, value_dim: 64, window: 1024}}]}",
		"pools.serve.gpu.bandwidth_bps=1e12", "pools.serve.gpu.memory_bytes=4e10", "pools.serve.gpu.flops.bf16=1e14",
		"pools.serve.gpu.price_per_hour=0.5", "pools.serve.efficiency.kv_bandwidth=0.3",
		"pools.serve.efficiency.step_s=0.001",
	} {
		if rapid.IntRange(0, 3).Draw(t, key) == 0 {
			set = append(set, key)
		}
	}
	return set
}

// byClass is a scenario of two classes, each with arrivals of its own.
const byClass = `model: llama-3.1-8b
pools: [{gpu: h100-sxm}]
workload:
  classes:
    - {name: a, arrivals: {process: weibull, rate: %d, cv: 3}}
    - {name: b, arrivals: {process: sinusoid, rate: 3, amplitude: 1, period_s: 9}, priority: 3,
       prompt_tokens: {distribution: fixed, mean: 900}}
  prompt_tokens: {distribution: lognormal, mean: 300, cv: 1}
  output_tokens: {distribution: lognormal, mean: 100, cv: 1}
  requests: 200
`

// streams draws how the requests come: as one stream, from clients that differ, or by class. It returns the scenario
// and what is set of it.
func streams(t *rapid.T) (file string, set []string) {
	rate := rapid.IntRange(1, 200).Draw(t, "rate")
	set = []string{fmt.Sprintf("workload.arrivals.rate=%d", rate)}
	switch rapid.SampledFrom([]string{"one", "one", "clients", "classes", "closed"}).Draw(t, "streams") {
	case "clients":
		set = append(set, fmt.Sprintf("workload.clients={count: %d, rate_skew: 1.5, cv_spread: 1, prompt_spread: 2}",
			rapid.IntRange(1, 30).Draw(t, "clients")))
	case "classes":
		if err := os.WriteFile("by-class.yaml", fmt.Appendf(nil, byClass, rate), 0o600); err != nil {
			t.Fatal(err)
		}
		return "by-class.yaml", nil
	case "closed":
		set = []string{"workload.arrivals=null", "workload.closed_loop.concurrency=20"}
	}
	return "chat.yaml", set
}

// TestEveryRequestEndsOnce draws scenarios with every way to end: completion, rejection, cancellation, the horizon.
func TestEveryRequestEndsOnce(t *testing.T) {
	inDir(t, `model: llama-3.1-8b
pools: [{gpu: h100-sxm}]
workload:
  arrivals: {process: gamma, rate: 10, cv: 2}
  prompt_tokens: {distribution: lognormal, mean: 300, cv: 1}
  output_tokens: {distribution: lognormal, mean: 100, cv: 1}
  requests: 200
`)
	rapid.Check(t, func(t *rapid.T) {
		file, set := streams(t)
		set = append(set,
			fmt.Sprintf("pools.serve.replicas=%d", rapid.IntRange(1, 3).Draw(t, "replicas")),
			fmt.Sprintf("pools.serve.num_gpu_blocks=%d", rapid.SampledFrom([]int{40, 100, 1000, 9000}).Draw(t, "blocks")),
			fmt.Sprintf("pools.serve.max_num_seqs=%d", rapid.SampledFrom([]int{1, 4, 64, 256}).Draw(t, "sequences")),
			rapid.SampledFrom([]string{"router=least-loaded", "router=round-robin"}).Draw(t, "router"),
		)
		if rapid.Bool().Draw(t, "patience") {
			set = append(set, "workload.timeout_s=3", "workload.cancel.probability=0.2", "workload.cancel.after_s=1")
		}
		if rapid.Bool().Draw(t, "horizon") {
			set = append(set, fmt.Sprintf("workload.duration_s=%d", rapid.IntRange(1, 20).Draw(t, "duration")))
		}
		set = append(set, own(t)...)
		seed := rapid.Uint64().Draw(t, "seed")
		s, err := configs.Load(file, configs.Options{Set: set, Seed: &seed})
		if err != nil {
			t.Fatal(err)
		}
		f, summary := simulate(t, s)
		r := summary.Requests
		require.Equal(t, r.Arrived, r.Completed+r.Rejected+r.Failed+r.Unfinished)
		require.Equal(t, f.Recorded, r.Completed)
		require.Equal(t, summary.Tokens.Output, f.Output(),
			"every token is reported once, and without warm-up all are recorded")
		require.Equal(t, f.Output(), f.TTFT.N()+f.ITL.N(), "a token is a first one or ends a gap")
		if s.Workload.DurationS == 0 {
			require.Zero(t, r.Unfinished)
			require.EqualValues(t, 200, r.Arrived)
		}
		require.LessOrEqual(t, summary.Bound.FractionOfBound, 1.0)
		for _, p := range summary.Pools {
			require.LessOrEqual(t, p.Utilization, 1+1e-9)
			require.LessOrEqual(t, p.KVPeakFraction, 1.0)
		}
	})
}

// growing is how the warning of an unstable queue begins.
const growing = "the queue is still growing: "

func warned(s *metrics.Summary, about string) bool {
	for _, w := range s.Warnings {
		if strings.HasPrefix(w, about) {
			return true
		}
	}
	return false
}

// TestAGrowingQueueDiffersFromABusyOne: 30 requests/s are more than chat-8b can serve in the long run, 19 are not.
func TestAGrowingQueueDiffersFromABusyOne(t *testing.T) {
	soak.TakesLong(t)
	run := func(seed uint64, set ...string) *metrics.Summary {
		s, err := configs.Load("chat-8b", configs.Options{Seed: &seed, Set: set})
		require.NoError(t, err)
		_, summary := simulate(t, s)
		return summary
	}
	for seed := range uint64(soak.Part(8)) {
		assert.False(t, warned(run(seed, "workload.arrivals.rate=19"), growing), "busy, seed %d", seed)
		assert.False(t, warned(run(seed, "workload.arrivals.rate=14", "workload.requests=50"), growing),
			"a short run, seed %d", seed)
		s := run(seed, "workload.arrivals.rate=30")
		assert.True(t, warned(s, growing), "overloaded, seed %d", seed)
		assert.InDelta(t, 30, s.Load.OfferedPerS, 1.8)
		assert.Less(t, s.Load.ServedPerS, 27.0)
		assert.True(t, warned(run(seed, "workload.arrivals.rate=30", "workload.requests=null", "workload.duration_s=120"),
			growing), "cut at a horizon, seed %d", seed)
	}
	// Long answers fill an empty system for as long as requests come; nobody waits, and no queue grows.
	filling := run(1, "workload.arrivals.rate=8", "workload.requests=150", "workload.output_tokens.mean=2000")
	assert.Less(t, filling.Load.ServedPerS, 0.7*filling.Load.OfferedPerS)
	assert.False(t, warned(filling, growing))
	// A closed loop offers what it is served.
	closed := run(1, "workload.arrivals=null", "workload.closed_loop.concurrency=3000")
	assert.False(t, warned(closed, growing))
	assert.Zero(t, closed.Load)
}

// TestARecordedTraceIsServedWhole replays an hour of the Azure conversation trace of 2023.
func TestARecordedTraceIsServedWhole(t *testing.T) {
	shared := os.Getenv("DECODESIM_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "shared")
	}
	trace, err := filepath.Abs(filepath.Join(shared, "workloads", "azure2023_conv.csv.gz"))
	require.NoError(t, err)
	if _, err := os.Stat(trace); err != nil {
		t.Skip("no recorded trace: set DECODESIM_SHARED to the data folder")
	}
	inDir(t, "model: llama-3.1-8b\npools: [{gpu: h100-sxm}]\nworkload: {trace: {file: x.csv}}\n")
	s, err := configs.Load("chat.yaml", configs.Options{Set: []string{"workload.trace.file=" + trace}})
	require.NoError(t, err)
	_, summary := simulate(t, s)
	assert.Equal(t, metrics.Requests{Arrived: 19366, Completed: 19366}, summary.Requests)
	assert.InDelta(t, 1154.7, float64(summary.Tokens.Prompt)/19366, 0.1)
	assert.InDelta(t, 211.1, float64(summary.Tokens.Output)/19366, 0.1)
	assert.False(t, warned(summary, growing))
}
