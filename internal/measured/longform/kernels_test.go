package longform_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Before 0.8, TensorRT-LLM reads keys and values that heads share once for each, and before 0.10 it does so but for
// groups of 8 heads of 128.
func TestEarlyKernelsReadTheCachePerHead(t *testing.T) {
	for _, c := range []struct {
		engine, version, model string
		perHead                bool
	}{
		{"tensorrt-llm", "0.6.1", "llama-2-70b", true}, {"tensorrt-llm", "v0.9.0", "llama-2-70b", false},
		{"tensorrt-llm", "0.9.0", "mistral-7b-v0.1", true}, {"tensorrt-llm", "0.9.0", "falcon-180b", true},
		{"tensorrt-llm", "0.9.0", "llama-2-7b", false}, {"tensorrt-llm", "0.14", "mistral-7b-v0.1", false},
		{"tensorrt-llm", "0.20", "falcon-180b", false}, {"vllm", "0.6.1", "llama-2-70b", false},
	} {
		run := oneRun(t, "engine", c.engine, "version", c.version, "model", c.model, "gpu", "h200-sxm", "gpus", "8",
			"tp", "8", "weights", "fp8")
		require.Empty(t, run.Skip, "%+v", c)
		if c.perHead {
			assert.Contains(t, run.Scenario, "attention: flash-per-head\n", "%+v", c)
		} else {
			assert.NotContains(t, run.Scenario, "per-head", "%+v", c)
		}
	}
}

// Prompts of SGLang whose ranks share whole experts reach them by DeepEP's normal kernels; what else there is does not.
func TestPromptsOfSGLangReachExpertsByDeepEP(t *testing.T) {
	const given = "all_to_all: normal\n"
	edits := []string{"kind", "prefill", "model", "deepseek-r1", "engine", "sglang", "metric", "input_tokens_per_s",
		"unit", "tok/s", "per", "gpu", "arrivals", "", "offered_rps", "", "concurrency_or_batch", "", "isl", "2000",
		"osl", "1", "tp", "1", "dp", "4", "ep", "4", "gpus", "4", "gpu", "gb200"}
	run := oneRun(t, edits...)
	require.Empty(t, run.Skip)
	assert.Contains(t, run.Scenario, given)
	for _, other := range [][]string{{"engine", "vllm"}, {"ep", "1"}, {"tp", "4", "dp", "1"}} {
		run = oneRun(t, append(edits, other...)...)
		require.Empty(t, run.Skip, other)
		assert.NotContains(t, run.Scenario, given, other)
	}
}
