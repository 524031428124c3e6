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
