package longform_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/measuredtest"
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

// TestOlderReleasesPlanOneStepAtATime: the scheduler of vLLM's V0 engine has no such argument, and always does.
func TestOlderReleasesPlanOneStepAtATime(t *testing.T) {
	for _, c := range []struct{ engine, version, says string }{
		{"vllm", "0.6.1", ""}, {"vllm", "0.10.0", "async_scheduling: false\n"}, {"vllm", "0.15.1", ""},
		{"tensorrt-llm", "0.17", "overlap_scheduler: false\n"}, {"tensorrt-llm", "1.0", ""}, {"sglang", "0.5.6", ""},
	} {
		run := oneRun(t, "engine", c.engine, "version", c.version)
		require.Empty(t, run.Skip, "%+v", c)
		assert.Contains(t, run.Scenario, c.says, "%+v", c)
		assert.Equal(t, c.says != "", strings.Contains(run.Scenario, "scheduling: ") ||
			strings.Contains(run.Scenario, "overlap_scheduler"), "%+v", c)
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

// TestAnAllToAllIsOfALayerOrAModel: groups that routing is limited to are said of a layer, and a model has its own.
func TestAnAllToAllIsOfALayerOrAModel(t *testing.T) {
	sent := func(model, engine string) measured.Run {
		return oneRun(t, "kind", "collective", "model", model, "metric", "alltoall_dispatch_time", "unit", "us", "gpus",
			"32", "engine", engine, "weights", "", "concurrency_or_batch", "4096")
	}
	want := measured.Kernel{Op: measured.Dispatch, GPU: "h100-sxm", GPUs: 32, Rows: 4096, Dtype: "fp8", Way: "normal",
		Width: 1, Hidden: 7168, TopK: 8, Experts: 256}
	assert.Equal(t, &want, sent(`"hidden 7168, top-8, 256 experts"`, "deepep normal").Priced.Kernel)
	want.Groups, want.TopGroups = 8, 4
	assert.Equal(t, &want, sent(`"hidden 7168, top-8, 256 experts, 4 of 8 groups"`, "deepep normal").Priced.Kernel)
	assert.Equal(t, &want, sent("deepseek-ai/DeepSeek-R1", "deepep normal").Priced.Kernel)
	assert.Equal(t, "model: 9 of 8 groups of 256 experts",
		sent(`"hidden 7168, top-8, 256 experts, 9 of 8 groups"`, "deepep normal").Skip)
	assert.Contains(t, sent("llama-3.1-8b", "deepep normal").Skip, "or a model of experts")

	const note = "an all-to-all whose engine names no kernels"
	for engine, unnamed := range map[string]bool{"pplx": true, "deepep low-latency": false} {
		f, err := measuredtest.ReadText(t, table("kind", "collective", "model", "deepseek-r1", "metric",
			"alltoall_combine_time", "unit", "us", "gpus", "32", "engine", engine, "concurrency_or_batch", "128"))
		require.NoError(t, err)
		assert.Equal(t, unnamed, strings.Contains(strings.Join(f.Notes, "\n"), note), engine)
	}
}
