package report

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

func caption() text.Caption {
	seed := uint64(1)
	return text.Caption{Scenario: "chat-70b", Model: "llama-3.1-70b", Hardware: "8 × h100-sxm", Seed: &seed}
}

// curveOf returns the distribution of the samples.
func curveOf(name string, samples []float64) Curve {
	slices.Sort(samples)
	n, sum := len(samples), 0.0
	c := Curve{Name: name}
	for i, x := range samples {
		sum += x
		c.Points = append(c.Points, Point{x, float64(i+1) / float64(n)})
	}
	q := func(p float64) float64 { return samples[max(0, int(math.Ceil(p*float64(n)))-1)] }
	c.Quantiles = metrics.Quantiles{N: int64(n), Mean: sum / float64(n), P50: q(.5), P90: q(.9), P95: q(.95), P99: q(.99),
		P999: q(.999), Max: samples[n-1]}
	return c
}

// lognormal returns the distribution of n log-normal samples.
func lognormal(name string, median, sigma float64, n int) Curve {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	samples := make([]float64, n)
	for i := range samples {
		samples[i] = median * math.Exp(sigma*r.NormFloat64())
	}
	return curveOf(name, samples)
}

// many returns as many distributions as have colours of their own, and two more, around times of that many units.
func many(unit float64) []Curve {
	var curves []Curve
	for i, name := range []string{"vllm-v0", "sarathi", "vllm-v1", "sglang", "tensorrt-llm", "orca", "static", "decode-priority", "textbook",
		"max_num_batched_tokens=1024 and so on"} {
		curves = append(curves, lognormal(name, unit*(0.011+0.002*float64(i)), 0.2+0.11*float64(i), 3000))
	}
	return curves
}

// bursts returns gaps of which two of three are 0.
func bursts(n int) Curve {
	c := make([]float64, n)
	for i := range c {
		if i%3 == 0 {
			c[i] = 0.04 + 0.00001*float64(i)
		}
	}
	return curveOf("bursts", c)
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
			{Name: "prefill", Live: 1 + i/300, Starting: i / 290 % 2, Running: m.Running / 20, Waiting: m.Waiting, KVUsed: m.KVUsed / 20, KVTotal: m.KVTotal},
			{Name: "decode", Live: 4, Running: m.Running, Moving: m.Arrived % 5, KVUsed: m.KVUsed, KVTotal: m.KVTotal},
			{Name: "serve-the-rest-with-a-long-name", Live: 2, Running: 3, KVUsed: m.KVUsed / 2, KVTotal: m.KVTotal},
		}
	}
	return samples
}

// batches prices decode steps of a toy 70B model on four H100.
func batches(n int) (Roofline, []BatchPoint) {
	r := Roofline{GPU: "h100-sxm × 4", DType: "bf16", BandwidthBps: 4 * 3.35e12, PeakFLOPS: 4 * 989.4e12}
	var points []BatchPoint
	for i := range n {
		b := 1 << i
		bytes, flop := 140e9+float64(b)*30e6, float64(b)*140e9
		memory, compute := bytes/r.BandwidthBps, flop/r.PeakFLOPS
		step := (memory+compute)/0.8 + 0.002
		r.Points = append(r.Points, RooflinePoint{"batch " + strconv.Itoa(b), flop / bytes, flop / step})
		points = append(points, BatchPoint{b, step, max(memory, compute), compute > memory})
	}
	return r, points
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
			TPOT:     metrics.Quantiles{N: 4990, Mean: .0149, P50: .0148, P90: .0161, P95: .0165, P99: .0171, P999: .02, Max: .0222},
			E2E:      metrics.Quantiles{N: 4990, Mean: 3.91, P50: 3.456, P90: 7.1, P95: 8.8, P99: 12.34, P999: 20, Max: 23.4},
			Queue:    metrics.Quantiles{N: 4996, Mean: .0021, P99: .01, P999: .9, Max: 1.2},
		},
		ByPosition: []metrics.Octave{
			{From: 1, To: 2, Requests: 500, N: 500, Mean: .0141, P50: .014, P99: .03},
			{From: 2, To: 4, Requests: 498, N: 990, Mean: .0141, P50: .014, P99: .03},
		},
		Throughput: metrics.Throughput{RequestsPerS: 7.9, OutputTokensPerS: 3150.4, OutputTokensPerSPerGPU: 393.8},
		Load:       metrics.Load{OfferedPerS: 8.02, ServedPerS: 7.96},
		SLO:        &metrics.SLO{TTFTS: 1, TPOTS: .05, Attainment: .9731, GoodputPerS: 7.69},
		Gaps: []metrics.Gap{
			{At: "mean", GapS: .0149, Parts: metrics.Parts{Weights: .0099, KV: .0025, Compute: .00002, Overhead: .0015, Prefill: .00088, Queueing: .0001}},
			{At: "p50", GapS: .0142, Parts: metrics.Parts{Weights: .0101, KV: .0026, Compute: .00002, Overhead: .00148}},
			{At: "p90", GapS: .0171, Parts: metrics.Parts{Weights: .0101, KV: .0026, Compute: .00002, Overhead: .00148, Prefill: .0029}},
			{At: "p95", GapS: .018, Parts: metrics.Parts{Weights: .0101, KV: .0026, Compute: .00002, Overhead: .00148, Prefill: .0038}},
			{At: "p99", GapS: .0314, Parts: metrics.Parts{Weights: .0101, KV: .0027, Compute: .00003, Overhead: .00148, Prefill: .01309, Queueing: .004}},
			{At: "p999", GapS: .1, Parts: metrics.Parts{Weights: .0101, KV: .0027, Compute: .00003, Overhead: .00148, Prefill: .03569, Queueing: .05}},
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
