package report

import (
	"math/rand/v2"

	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

func caption() text.Caption {
	seed := uint64(1)
	return text.Caption{Scenario: "chat-70b", Model: "llama-3.1-70b", Hardware: "8 × h100-sxm", Seed: &seed}
}

// timeline returns n samples of a system that fills up.
func timeline(n int, every sim.Duration) []metrics.Sample {
	r := rand.New(rand.NewPCG(3, 3))
	var samples []metrics.Sample
	m := metrics.Sample{KVTotal: 20000}
	for range n {
		samples = append(samples, m)
		m.At = m.At.Add(every)
		m.Arrived += int64(r.IntN(12))
		m.Running = max(0, min(256, m.Running+int64(r.IntN(9))-3))
		m.Waiting = max(0, m.Running-150)
		m.KVUsed = m.Running * 70
		m.Tokens += m.Running * 35
	}
	return samples
}

// fleetTimeline returns n samples of three pools, of which one grows.
func fleetTimeline(n int) []metrics.Sample {
	samples := timeline(n, sim.Second)
	for i := range samples {
		m := &samples[i]
		m.Pools = []metrics.PoolSample{
			{Name: "prefill", Live: 1 + i/300, Starting: i / 290 % 2, Running: m.Running / 20, Waiting: m.Waiting,
				KVUsed: m.KVUsed / 20, KVTotal: m.KVTotal},
			{Name: "decode", Live: 4, Running: m.Running, Moving: m.Arrived % 5, KVUsed: m.KVUsed, KVTotal: m.KVTotal},
			{Name: "serve-the-rest-with-a-long-name", Live: 2, Running: 3, KVUsed: m.KVUsed / 2, KVTotal: m.KVTotal},
		}
	}
	return samples
}

// summary is a run with something of everything.
func summary() *metrics.Summary {
	itl := metrics.Quantiles{N: 1275000, Mean: .0149, P50: .0142, P90: .0171, P95: .018, P99: .0314, P999: .1, Max: .41}
	return &metrics.Summary{
		Scenario: "chat-70b", Seed: 1, DurationS: 633,
		Requests: metrics.Requests{Arrived: 5000, Completed: 4990, Rejected: 4, Unfinished: 6, Preemptions: 12},
		Tokens:   metrics.Tokens{Prompt: 2560000, PromptCached: 51200, Output: 1280000},
		Latency: metrics.Latency{
			TTFT:     metrics.Quantiles{N: 4996, Mean: .0851, P50: .0712, P90: .14, P95: .171, P99: .29, P999: .5, Max: .6123},
			ITL:      itl,
			ITLChunk: itl,
			TPOT: metrics.Quantiles{N: 4990, Mean: .0149, P50: .0148, P90: .0161, P95: .0165, P99: .0171, P999: .02,
				Max: .0222},
			E2E:   metrics.Quantiles{N: 4990, Mean: 3.91, P50: 3.456, P90: 7.1, P95: 8.8, P99: 12.34, P999: 20, Max: 23.4},
			Queue: metrics.Quantiles{N: 4996, Mean: .0021, P99: .01, P999: .9, Max: 1.2},
		},
		ByPosition: []metrics.Octave{
			{From: 1, To: 2, Requests: 500, N: 500, Mean: .0141, P50: .014, P90: .016, P95: .02, P99: .03},
			{From: 2, To: 4, Requests: 498, N: 990, Mean: .0141, P50: .014, P90: .016, P95: .02, P99: .03},
		},
		Throughput: metrics.Throughput{RequestsPerS: 7.9, OutputTokensPerS: 3150.4, OutputTokensPerSPerGPU: 393.8},
		Load:       metrics.Load{OfferedPerS: 8.02, ServedPerS: 7.96},
		SLO:        &metrics.SLO{TTFTS: 1, TPOTS: .05, Attainment: .9731, GoodputPerS: 7.69},
		Gaps: []metrics.Gap{
			{At: "mean", GapS: .0149,
				Parts: metrics.Parts{Weights: .0099, KV: .0025, Compute: .00002, Overhead: .0015, Prefill: .00088,
					Queueing: .0001}},
			{At: "p50", GapS: .0142, Parts: metrics.Parts{Weights: .0101, KV: .0026, Compute: .00002, Overhead: .00148}},
			{At: "p90", GapS: .0171, Parts: metrics.Parts{Weights: .0101, KV: .0026, Compute: .00002, Overhead: .00148,
				Prefill: .0029}},
			{At: "p95", GapS: .018, Parts: metrics.Parts{Weights: .0101, KV: .0026, Compute: .00002, Overhead: .00148,
				Prefill: .0038}},
			{At: "p99", GapS: .0314, Parts: metrics.Parts{Weights: .0101, KV: .0027, Compute: .00003, Overhead: .00148,
				Prefill: .01309, Queueing: .004}},
			{At: "p999", GapS: .1, Parts: metrics.Parts{Weights: .0101, KV: .0027, Compute: .00003, Overhead: .00148,
				Prefill: .03569, Queueing: .05}},
		},
		Tail: &metrics.Tail{P99S: .0314, Share: metrics.TailShare{Mixed: .9, Preempted: .1}},
		Bound: metrics.Bound{ITLFloorS: .0089, StepS: .0141, FractionOfBound: .63, Limit: "memory",
			Share: metrics.Share{Weights: .71, KV: .18, Compute: .001, Overhead: .109}},
		Pools: []metrics.PoolResult{{Name: "serve", GPU: "h100-sxm", GPUs: 8, Replicas: 2, Utilization: .83,
			BatchMean: 41.23, KVPeakFraction: .37}},
		Cost:     &metrics.Cost{USDPerHour: 31.92, USDPerMillionOutputTokens: 2.815},
		Warnings: []string{"4 prompts are longer than the model's limit of 8192 tokens"},
	}
}
