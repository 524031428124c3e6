package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim/metrics"
)

// engines runs a scenario under engines and returns the summary of each.
func engines(t *testing.T, names string, args ...string) map[string]*metrics.Summary {
	c, _ := comparison(t, append([]string{"--engines", names}, args...)...)
	runs := map[string]*metrics.Summary{}
	for i := range c.Scenarios {
		runs[c.Scenarios[i].Name] = &c.Scenarios[i].Summary
	}
	return runs
}

// TestPromptsFirstTradeITLForTTFT: Agrawal et al., "Taming Throughput-Latency Tradeoff in LLM Inference with
// Sarathi-Serve", OSDI 2024: an engine that runs prompts first stalls decodes, and chunked prompts that join them do
// not, for which they wait longer. Directions only.
func TestPromptsFirstTradeITLForTTFT(t *testing.T) {
	for _, scenario := range []string{"chat-8b", "chat-70b"} {
		run := engines(t, "vllm-v0,sarathi", scenario)
		first, chunked := run["vllm-v0"], run["sarathi"]
		assert.Greater(t, first.Latency.ITL.P99, 3*chunked.Latency.ITL.P99, scenario)
		assert.Less(t, first.Latency.TTFT.P50, chunked.Latency.TTFT.P50, scenario)
		assert.Greater(t, first.Tail.Share.Paused, 0.9, "its slowest gaps are decodes held while prompts ran alone")
		assert.Zero(t, chunked.Tail.Share.Paused)
		assert.Greater(t, chunked.Tail.Share.Mixed, 0.9)
	}
}

// TestWholeBatchesWasteSlots: Yu et al., "Orca: A Distributed Serving System for Transformer-Based Generative Models",
// OSDI 2022: batches that form and end as a whole compute rows that have ended, and make the next ones wait. Directions
// only.
func TestWholeBatchesWasteSlots(t *testing.T) {
	run := engines(t, "static,orca", "chat-8b")
	assert.Greater(t, run["static"].Pools[0].FinishedRows, 0.2)
	assert.Zero(t, run["orca"].Pools[0].FinishedRows)
	assert.Less(t, run["static"].Throughput.OutputTokensPerS, 0.7*run["orca"].Throughput.OutputTokensPerS)
	assert.Greater(t, run["static"].Latency.Queue.Mean, 10*run["orca"].Latency.Queue.Mean)
}

// TestReservedMemoryHoldsFewer: Kwon et al., "Efficient Memory Management for Large Language Model Serving with
// PagedAttention", SOSP 2023: what is reserved for output that never comes serves nobody. Directions only.
func TestReservedMemoryHoldsFewer(t *testing.T) {
	small := []string{"chat-8b", "--set", "pools.serve.gpu=l40s", "--set", "pools.serve.max_model_len=8192", "--set",
		"workload.arrivals.rate=8",
		"--set", "workload.max_tokens=4096", "--set", "workload.requests=2000"}
	run := engines(t, "orca,vllm-v0", small...)
	assert.Greater(t, run["orca"].Latency.Queue.Mean, 2*run["vllm-v0"].Latency.Queue.Mean)
	assert.Less(t, run["orca"].Pools[0].BatchMean, run["vllm-v0"].Pools[0].BatchMean)
}

// TestWhoNeverEvictsQueues: TensorRT-LLM's documentation of GUARANTEED_NO_EVICT: a request starts once all of it fits,
// and is never paused. Directions only.
func TestWhoNeverEvictsQueues(t *testing.T) {
	run := engines(t, "tensorrt-llm,vllm-v1", "chat-8b", "--set", "pools.serve.num_gpu_blocks=2500", "--set",
		"pools.serve.block_size=32",
		"--set", "pools.serve.max_model_len=8192", "--set", "pools.serve.efficiency=vllm")
	assert.Zero(t, run["tensorrt-llm"].Requests.Preemptions)
	assert.Positive(t, run["vllm-v1"].Requests.Preemptions)
	assert.Greater(t, run["tensorrt-llm"].Latency.Queue.Mean, 1.5*run["vllm-v1"].Latency.Queue.Mean)
}

// TestClassesAreComparedByThemselves: their limits are theirs alone here, and who is served first gains what others
// lose.
func TestClassesAreComparedByThemselves(t *testing.T) {
	c, _ := comparison(t, "two-classes-8b", "--with", "pools.serve.queue_order=fcfs")
	for _, m := range c.Metrics {
		assert.NotContains(t, []string{"slo.attainment", "slo.goodput_per_s"}, m.Metric)
	}
	for _, name := range []string{"slo.attainment", "slo.goodput_per_s"} {
		met := c.Metrics[c.at(t, "classes.interactive."+name)].Values
		assert.Less(t, *met[1], 0.6**met[0], name)
	}
	for class, slower := range map[string]bool{"interactive": true, "batch": false} {
		for _, name := range []string{"latency.ttft_s.mean", "latency.ttft_s.p99"} {
			d := c.Metrics[c.at(t, "classes."+class+"."+name)].Differences[1]
			require.NotNil(t, d.Interval, class)
			assert.True(t, d.Interval.Significant, class)
			assert.Equal(t, slower, *d.Mean > 0, "%s %s", class, name)
		}
	}
}
