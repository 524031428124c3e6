package longform_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/measured/measuredtest"
)

// mlperf is a row of a system of 8 GPUs whose division its summary leaves out.
func mlperf(edits ...string) []string {
	return append([]string{"source", "MLPerf Inference v5.1", "engine", "tensorrt-llm", "model", "llama-2-70b", "gpus",
		"8", "tp", "", "kv_cache", "", "isl", "dataset", "osl", "290", "offered_rps", "80"}, edits...)
}

func TestASystemThatDoesNotSayItsReplicasHasTheFewestGPUsEach(t *testing.T) {
	for _, c := range []struct {
		gpu, model, weights string
		want                []string
	}{
		// What rows state that do: TP2 on H100 and H100 NVL, one GPU on H200 and GB200, TP4 of 405B, 8 ranks of R1.
		{"h100-sxm", "llama-2-70b", "fp8", []string{"tensor_parallel: 2\n", "replicas: 4\n"}},
		{"h100-nvl", "llama-2-70b", "fp8", []string{"tensor_parallel: 2\n", "replicas: 4\n"}},
		{"h200-sxm", "llama-2-70b", "fp8", []string{"tensor_parallel: 1\n", "replicas: 8\n"}},
		{"gb200", "llama-2-70b", "nvfp4", []string{"tensor_parallel: 1\n", "replicas: 8\n"}},
		{"gb200", "llama-3.1-405b", "nvfp4", []string{"tensor_parallel: 4\n", "replicas: 2\n"}},
		{"h200-sxm", "llama-3.1-405b", "fp8", []string{"tensor_parallel: 8\n"}},
		{"gb200", "deepseek-r1", "nvfp4", []string{"tensor_parallel: 1\n", "data_parallel: 8\n", "expert_parallel: true\n"}},
	} {
		run := oneRun(t, mlperf("gpu", c.gpu, "model", c.model, "weights", c.weights)...)
		require.Empty(t, run.Skip, "%s on %s", c.model, c.gpu)
		for _, want := range c.want {
			assert.Contains(t, run.Scenario, want, "%s on %s", c.model, c.gpu)
		}
	}
	assert.Equal(t, "tp is not stated", oneRun(t, mlperf("source", "me", "isl", "300")...).Skip)
	assert.Equal(t, "tp is not stated", oneRun(t, mlperf("gpu", "l4", "gpus", "2")...).Skip, "70 GB do not fit")
}

func TestWeightsThatRunsStartedFromAreNotThoseTheyRanIn(t *testing.T) {
	for _, c := range []struct{ gpu, weights, want string }{
		{"b200-sxm", "fp16", "nvfp4"}, {"b300-sxm", "fp32", "nvfp4"}, {"l40s", "", "fp8"}, {"h100-sxm", "fp16", "fp8"},
		{"rtx-pro-6000-server", "{'unet': 'fp8'; 'vae': 'fp32'}", "nvfp4"}, {"b200-sxm", "fp8", "fp8"},
		{"rtx-pro-6000-server", "fp8", "nvfp4"},
	} {
		run := oneRun(t, mlperf("gpu", c.gpu, "weights", c.weights)...)
		require.Empty(t, run.Skip, c.gpu)
		assert.Contains(t, run.Scenario, "weights: "+c.want+"\nkv_cache: fp8\n", c.gpu)
		assert.Equal(t, c.want, run.Labels.Precision, "which runs are fitted together by")
	}
	assert.Contains(t, oneRun(t, mlperf("engine", "vllm", "weights", "")...).Skip, "weights: the type they ran in")
}

// TestMixtralsPromptsAreAsLongAsAnH200HasTimeFor: what a token takes one H100 follows from its output tokens/s with
// prompts of 128 and of 2,048 tokens, and 128 of output; eight H200 yield 62,108 with outputs of 145.9.
func TestMixtralsPromptsAreAsLongAsAnH200HasTimeFor(t *testing.T) {
	const short, long, outputs = 15962.49, 1892.81, 128.0
	read := (outputs/long - outputs/short) / (2048 - 128)
	written := 1/short - read*128/outputs
	leaves := (8*145.9/62108.4 - 145.9*written) / read
	assert.InDelta(t, 457, leaves, 1)
	run := oneRun(t, mlperf("gpu", "h200-sxm", "model", "mixtral-8x7b", "weights", "fp8", "osl", "145.9")...)
	require.Empty(t, run.Skip)
	assert.Contains(t, run.Scenario, "prompt_tokens: {distribution: fixed, mean: 460}\n")
}

func TestALargeSystemIsSimulatedInPart(t *testing.T) {
	run := oneRun(t, mlperf("gpu", "gb200", "gpus", "72", "tp", "1", "offered_rps", "3600", "weights", "nvfp4", "metric",
		"output_tokens_per_s", "unit", "tok/s", "per", "system")...)
	require.Empty(t, run.Skip)
	assert.Contains(t, run.Scenario, "replicas: 8\n")
	assert.Contains(t, run.Scenario, "rate: 400}\n  requests: 240299\n", "a ninth of 88 passes over 24,576")
	assert.InEpsilon(t, 9000.0, run.Rows[0].Values[0].Unit.Of(1000), 1e-12, "8 of 72 replicas yield a ninth")
	run = oneRun(t, mlperf("gpu", "gb200", "gpus", "72", "tp", "1", "kind", "offline_throughput", "arrivals", "all at t=0",
		"offered_rps", "", "weights", "nvfp4", "metric", "output_tokens_per_s", "unit", "tok/s", "per", "gpu")...)
	require.Empty(t, run.Skip)
	assert.NotContains(t, run.Scenario, "replicas")
	assert.Contains(t, run.Scenario, "requests: 24576\n", "a dataset for each")
	assert.InEpsilon(t, 1000.0, run.Rows[0].Values[0].Unit.Of(1000), 1e-12)
}

// TestAServerOfABenchmarkGetsWholePassesOverItsDataset: LoadGen ends with the pass that passes ten minutes.
func TestAServerOfABenchmarkGetsWholePassesOverItsDataset(t *testing.T) {
	for _, c := range []struct{ source, model, rate, want string }{
		{"MLPerf Inference v5.1", "llama-3.1-405b", "0.31", "8313"}, // 186 come in ten minutes
		{"MLPerf Inference v5.1", "deepseek-r1", "5.02", "4388"},    // 3,012
		{"MLPerf Inference v5.1", "llama-2-70b", "40.96", "24576"},  // exactly one pass
		{"MLPerf Inference v4.1", "llama-2-70b", "40.97", "49152"},  // a request more begins another
		{"MLPerf Inference v5.1", "llama-3.1-8b", "1000", "250000"}, // the most that is simulated
		{"me", "llama-2-70b", "40.97", "24582"},                     // no dataset is known
	} {
		run := oneRun(t, mlperf("source", c.source, "model", c.model, "offered_rps", c.rate, "gpu", "h200-sxm", "tp", "8",
			"weights", "fp8", "isl", map[bool]string{true: "300", false: "dataset"}[c.source == "me"])...)
		require.Empty(t, run.Skip, c.model)
		assert.Contains(t, run.Scenario, "rate: "+c.rate+"}\n  requests: "+c.want+"\n", c.model)
	}
}

func TestNoMoreSequencesRunThanAStepHasTokens(t *testing.T) {
	run := oneRun(t, mlperf("gpu", "gb200", "tp", "4", "concurrency_or_batch", "2048", "notes", "max_num_tokens 1024",
		"weights", "nvfp4")...)
	require.Empty(t, run.Skip)
	assert.Contains(t, run.Scenario, "max_batch_size: 1024\n")
}

func TestAModelThatWasRunBeyondItsContextHasThatOfTheRun(t *testing.T) {
	run := oneRun(t, "model", "gptj-6b", "isl", "2048", "osl", "128")
	require.Empty(t, run.Skip)
	assert.Contains(t, run.Scenario, "model: {config: gptj-6b, override: {context: 2176}}\n")
	assert.Equal(t, "gptj-6b", run.Labels.Model)
	assert.Contains(t, oneRun(t, "model", "gptj-6b", "isl", "1920", "osl", "128").Scenario, "model: gptj-6b\n")
}

func TestReleasesOfVLLMBeforeV1AreScheduledAsV0(t *testing.T) {
	for version, want := range map[string]string{"0.6.x": "engine: vllm-v0\n", "vLLM 0.5.2": "engine: vllm-v0\n",
		"0.7.3 (Apr)": "engine: vllm-v0\n", "0.10.0": "version: 0.22\n", "": "version: 0.22\n"} {
		run := oneRun(t, "version", version)
		require.Empty(t, run.Skip, version)
		assert.Contains(t, run.Scenario, want, version)
	}
}

func TestAttentionDPThatMayBeOnIsOn(t *testing.T) {
	const may = "MoE: attention DP may be on kv fraction 0.95 or 0.90"
	run := oneRun(t, "model", "qwen3-30b-a3b", "gpu", "rtx-pro-6000-server", "gpus", "8", "tp", "4", "pp", "2",
		"notes", may)
	require.Empty(t, run.Skip)
	assert.Contains(t, run.Scenario, "tensor_parallel: 1\n")
	assert.Contains(t, run.Scenario, "data_parallel: 4\n")
	assert.Contains(t, run.Scenario, "expert_parallel: true\n")
	assert.Contains(t, run.Scenario, "pipeline_parallel: 2\n")
	run = oneRun(t, "gpus", "4", "tp", "4", "notes", may)
	require.Empty(t, run.Skip)
	assert.Contains(t, run.Scenario, "tensor_parallel: 4\n", "a dense model has no experts to share")
}

func TestASummaryThatNamesTensorRTIsOfTheReleaseThatNeedsIt(t *testing.T) {
	for written, want := range map[string]string{"TensorRT 10.11.0.33; CUDA 12.9": "1.0",
		"TensorRT 9.3.0; CUDA 12.2": "0.9", "TensorRT 10.14; CUDA 13.1; cuDNN 9.17; T": "1.2",
		"TensorRT 77.1": "TensorRT 77.1", "vLLM 0.10.0": "vLLM 0.10.0"} {
		f, err := measuredtest.ReadText(t, table(mlperf("gpu", "h200-sxm", "weights", "fp8", "version", written)...))
		run := measuredtest.OneRun(t, f, err)
		require.Empty(t, run.Skip)
		assert.Equal(t, want, run.Labels.Version, written)
		said := strings.Contains(strings.Join(f.Notes, "\n"), "(unverified): 0.9 (9.3), 0.11 (10.2), ")
		assert.Equal(t, want != written, said, "%s: %q", written, f.Notes)
	}
	run := oneRun(t, mlperf("source", "me", "tp", "1", "isl", "300", "version", "TensorRT 10.14")...)
	assert.Equal(t, "TensorRT 10.14", run.Labels.Version, "whatever others write")
}
