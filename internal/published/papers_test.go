package published

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/sim/metrics"
)

// A claim is a direction that a paper found, with the load on which the two engines are compared here. Its size depends
// on code, kernels and drivers of its day: only the direction is asserted, the size is printed beside the paper's.
type claim struct {
	paper, found string // who says it, and how much
	better       string // the engines, and arguments of a pool
	worse        string
	scenario     string                        // with one %s for a pool's arguments and one %g for the rate
	measure      string                        // what is compared
	limit        func(s *metrics.Summary) bool // what a rate must keep to count; nil: the value below at the rate given
	value        func(s *metrics.Summary) float64
	rate         float64 // where to compare, or to start the search
}

// normalized is the mean E2E per output token: the latency of the papers on Orca and vLLM, over all requests at once.
func normalized(s *metrics.Summary) float64 {
	return s.Latency.E2E.Mean * float64(s.Requests.Completed) / float64(s.Tokens.Output)
}

func noSlowerThan(level float64) func(*metrics.Summary) bool {
	return func(s *metrics.Summary) bool { return normalized(s) <= level }
}

// mistral is the load of Sarathi-Serve's chat experiments on a Mistral-7B: prompts of 1730 tokens in the median and
// 5696 at p90, outputs of 415 and 834 (Table 2), as lognormal laws.
const mistral = `
model: mistral-7b-v0.1
pools: [{gpu: a100-sxm-80gb, max_model_len: 16384, %s}]
workload:
  arrivals: {process: poisson, rate: %g}
  prompt_tokens: {distribution: lognormal, mean: 2665, cv: 1.17, max: 8192}
  output_tokens: {distribution: lognormal, mean: 481, cv: 0.59, max: 4096}
  requests: 600
`

// claims are of Orca (Yu et al., OSDI '22), vLLM (Kwon et al., SOSP '23) and Sarathi-Serve (Agrawal et al., OSDI '24).
var claims = []claim{
	{
		paper: "Orca, OSDI '22, abstract", found: "36.9 × the throughput at the same latency (GPT-3 175B on 16 A100)",
		better: "engine: orca, max_batch_size: 128", worse: "engine: static, max_batch_size: 128",
		measure: "requests/s at 100 ms of E2E per output token",
		scenario: `
model: opt-13b
pools: [{gpu: a100-sxm-40gb, max_model_len: 2048, %s}]
workload:
  arrivals: {process: poisson, rate: %g}
  prompt_tokens: {distribution: uniform, min: 32, max: 512}
  output_tokens: {distribution: uniform, min: 1, max: 128}
  requests: 600
`, limit: noSlowerThan(.1), rate: 1,
	},
	{
		paper:  "vLLM, SOSP '23, §6.2",
		found:  "2.7 to 8 × the request rate of Orca (Max) at similar latency (OPT-13B, ShareGPT, one A100)",
		better: "engine: vllm-v0", worse: "engine: orca, reserve: max-model-len",
		measure: "requests/s at 200 ms of E2E per output token",
		scenario: `
model: opt-13b
pools: [{gpu: a100-sxm-40gb, max_model_len: 2048, %s}]
workload:
  arrivals: {process: poisson, rate: %g}
  prompt_tokens: {distribution: lognormal, mean: 161, cv: 1.3, max: 1024}
  output_tokens: {distribution: lognormal, mean: 338, cv: 0.9, max: 1024}
  requests: 600
`, limit: noSlowerThan(.2), rate: .5,
	},
	{
		paper: "Sarathi-Serve, OSDI '24, abstract", found: "2.6 × the capacity of vLLM (Mistral-7B on one A100)",
		better: "engine: sarathi, chunk_size: 512", worse: "engine: vllm-v0",
		measure: "requests/s with p99 ITL ≤ 100 ms and a median queue ≤ 2 s", scenario: mistral,
		limit: func(s *metrics.Summary) bool { return s.Latency.ITL.P99 <= .1 && s.Latency.Queue.P50 <= 2 }, rate: .25,
	},
	{
		paper: "Sarathi-Serve, OSDI '24, §3 and Fig. 1", found: "prompts that run first stall decodes for seconds",
		better: "engine: sarathi, chunk_size: 512", worse: "engine: vllm-v0",
		measure: "p99 ITL at 1 request/s, ms", scenario: mistral, rate: 1,
		value: func(s *metrics.Summary) float64 { return s.Latency.ITL.P99 * 1e3 },
	},
	{
		paper: "Sarathi-Serve, OSDI '24, §5.4", found: "the first token is the price: chunks make prompts slower",
		better: "engine: vllm-v0", worse: "engine: sarathi, chunk_size: 512",
		measure: "mean TTFT at 1 request/s, ms", scenario: mistral, rate: 1,
		value: func(s *metrics.Summary) float64 { return s.Latency.TTFT.Mean * 1e3 },
	},
}

func (c *claim) run(t *testing.T, pool string, rate float64) *metrics.Summary {
	t.Helper()
	s, err := configs.Read("paper.yaml", fmt.Appendf(nil, c.scenario, pool, rate), configs.Options{})
	require.NoError(t, err)
	b, err := build.New(s)
	require.NoError(t, err)
	defer b.Close()
	r, err := run.Simulate(context.Background(), b, run.Options{})
	require.NoError(t, err)
	return r.Summary
}

// capacity returns the highest rate at which the claim's limit is kept, within 2 %.
func (c *claim) capacity(t *testing.T, pool string) float64 {
	t.Helper()
	low, high := 0.0, c.rate
	for c.limit(c.run(t, pool, high)) {
		low, high = high, 2*high
	}
	for low == 0 || high/low > 1.02 {
		if low == 0 && high < c.rate/1000 {
			return 0
		}
		mid := (low + high) / 2
		if c.limit(c.run(t, pool, mid)) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// TestEnginesDifferAsThePapersFound in direction. docs/papers.md is what it prints.
func TestEnginesDifferAsThePapersFound(t *testing.T) {
	var page bytes.Buffer
	page.WriteString(papersHead)
	for i := range claims {
		c := &claims[i]
		var good, bad, times float64
		if c.limit != nil {
			good, bad = c.capacity(t, c.better), c.capacity(t, c.worse)
			times = good / bad
		} else {
			good, bad = c.value(c.run(t, c.better, c.rate)), c.value(c.run(t, c.worse, c.rate))
			times = bad / good
		}
		assert.Greater(t, times, 1.05, "%s: %s", c.paper, c.found)
		engine := func(pool string) string { return strings.TrimPrefix(pool, "engine: ") }
		fmt.Fprintf(&page, "| %s | %s | %s | %s | %.3g | %s | %.3g | %.2g × |\n", c.paper, c.found, c.measure,
			engine(c.better), good, engine(c.worse), bad, times)
	}
	checkPage(t, "papers.md", page.String())
}

const papersHead = `# What papers found, simulated

Each row compares two engines as a paper did: on a similar load and GPU, under today's efficiencies of kernels for both,
so that they differ in how they schedule and in nothing else. A test asserts the direction; the sizes are printed beside
the paper's, and need not agree: the papers' systems also differed in code, and their loads are known only roughly. The
papers' figures are quoted from memory of them and unverified.

| paper | found there | compared here | better | | other | | factor |
|---|---|---|---|--:|---|--:|--:|
`
