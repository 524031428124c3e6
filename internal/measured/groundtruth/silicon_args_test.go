package groundtruth_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/measured/measuredtest"
)

const otherScripts = `[{"engine_args_id": "sg", "flags": {"chunked_prefill_size": "32768", "max_prefill_tokens": "16384",
    "max_running_requests": "$CONC", "mem_fraction_static": "0.82", "prefix_caching_off": true, "max_num_seqs": "7"}},
  {"engine_args_id": "sg-odd", "flags": {"chunked_prefill_size": "$CHUNKS", "max_running_requests": "256 | 512", "mem_fraction_static": "$SHARE"}},
  {"engine_args_id": "trt", "flags": {"trt_max_num_tokens": "20000", "trt_free_mem_fraction": "0.8", "trt_block_reuse": "false",
    "kv_cache_dtype": "fp8"}},
  {"engine_args_id": "trt-wait", "flags": {"batch_wait_timeout_iters": "20"}},
  {"engine_args_id": "trt-odd", "flags": {"trt_max_num_tokens": "$MAX_NUM_TOKENS", "trt_free_mem_fraction": "$SHARE"}}]`

// poolOf returns the lines of a scenario's pool behind its layout.
func poolOf(t *testing.T, text string) string {
	_, err := configs.Read("a", []byte(text), configs.Options{})
	require.NoError(t, err, text)
	_, pool, _ := strings.Cut(text, "    engine: ")
	pool, _, _ = strings.Cut(pool, "workload:")
	return strings.ReplaceAll(pool, "    ", "")
}

func TestOtherEnginesHaveTheArgumentsOfTheirScripts(t *testing.T) {
	for _, c := range []struct{ backend, script, pool string }{
		{"sglang", "sg", "sglang\nefficiency: sglang@0.19.0\nchunked_prefill_size: 8192\nmax_prefill_tokens: 16384\n" +
			"max_running_requests: 1\nmem_fraction_static: 0.82\nradix_cache: false\n"},
		{"sglang", "sg-odd", "sglang\nefficiency: sglang@0.19.0\nmem_fraction_static: 0.95\n"},
		{"sglang", "", "sglang\nefficiency: sglang@0.19.0\n"},
		{"trtllm", "trt", "tensorrt-llm\nefficiency: tensorrt-llm@0.19.0\nmax_num_tokens: 20000\n" +
			"free_gpu_memory_fraction: 0.8\nenable_block_reuse: false\nbatch_wait_timeout_iters: 50\n"},
		{"trtllm", "trt-odd", "tensorrt-llm\nefficiency: tensorrt-llm@0.19.0\nmax_num_tokens: 8192\n" +
			"batch_wait_timeout_iters: 50\n"},
		{"trtllm", "", "tensorrt-llm\nefficiency: tensorrt-llm@0.19.0\nmax_num_tokens: 8192\n" +
			"batch_wait_timeout_iters: 50\n"},
	} {
		f, err := measuredtest.ReadText(t, siliconTable("backend", c.backend, "engine_args_id", c.script), "engine_args.json",
			otherScripts)
		run := measuredtest.OneRun(t, f, err)
		assert.Equal(t, c.pool, poolOf(t, run.Scenario), "%s: the table has 4 attention ranks", c.script)
		assert.Empty(t, run.Rows[0].Values[0].Skip, "TTFT is compared")
		assert.Equal(t, c.script == "trt", strings.Contains(run.Scenario, "kv_cache: fp8"))
	}
}

// TestPromptsOfAttentionRanksWait, as scripts of InferenceX have them, and run together.
func TestPromptsOfAttentionRanksWait(t *testing.T) {
	for _, c := range []struct{ model, source, isl, ranks, want string }{
		{"deepseek-ai/DeepSeek-R1", "inferencex", "1024", "4", "max_num_tokens: 8192\nbatch_wait_timeout_iters: 60\n"},
		{"deepseek-ai/DeepSeek-R1", "inferencex", "8192", "4", "max_num_tokens: 8193\nbatch_wait_timeout_iters: 60\n"},
		{"openai/gpt-oss-120b", "inferencex", "1024", "4", "max_num_tokens: 8192\nbatch_wait_timeout_iters: 50\n"},
		{"deepseek-ai/DeepSeek-R1", "nvidia_gap", "1024", "4", "max_num_tokens: 8192\n"},
		{"deepseek-ai/DeepSeek-R1", "inferencex", "1024", "1", "max_num_tokens: 1028\n"},
	} {
		tp := map[bool]string{true: "1", false: "4"}[c.ranks == "4"]
		f, err := measuredtest.ReadText(t, siliconTable("backend", "trtllm", "precision", "fp8", "model", c.model, "source",
			c.source, "isl", c.isl, "tp", "4", "ep", "4", "attn_tp", tp, "attn_dp", c.ranks), "engine_args.json", otherScripts)
		pool := poolOf(t, measuredtest.OneRun(t, f, err).Scenario)
		assert.Equal(t, c.want, strings.SplitAfterN(pool, "\n", 3)[2], "%+v", c)
	}
}

// TestPromptsWaitWhereTheTTFTSaysSo: of the scripts that can have prompts wait, one says for which loads it does.
func TestPromptsWaitWhereTheTTFTSaysSo(t *testing.T) {
	for _, c := range []struct {
		model, isl, osl, tp, script string
		waits                       bool
	}{
		{"meta-llama/Llama-3.1-70B", "1024", "1024", "4", "trt-wait", true},
		{"meta-llama/Llama-3.1-70B", "1024", "1024", "4", "trt", false},
		{"meta-llama/Llama-3.1-70B", "1024", "1024", "8", "trt-wait", false},
		{"meta-llama/Llama-3.1-70B", "8192", "1024", "4", "trt-wait", false},
		{"meta-llama/Llama-3.1-70B", "1024", "8192", "4", "trt-wait", false},
		{"deepseek-ai/DeepSeek-R1", "1024", "1024", "4", "trt-wait", false},
	} {
		f, err := measuredtest.ReadText(t, siliconTable("backend", "trtllm", "backend_version", "1.1.0", "precision", "fp8",
			"model", c.model, "isl", c.isl, "osl", c.osl, "tp", c.tp, "ep", "1", "attn_tp", c.tp, "attn_dp", "1",
			"engine_args_id", c.script), "engine_args.json", otherScripts)
		pool := poolOf(t, measuredtest.OneRun(t, f, err).Scenario)
		assert.Equal(t, c.waits, strings.Contains(pool, "batch_wait_timeout_iters: 20\n"), "%+v", c)
	}
}

// TestScriptsForBlackwellLookForRequestsNowAndThen, more seldom from 16 clients on; no rank of several does.
func TestScriptsForBlackwellLookForRequestsNowAndThen(t *testing.T) {
	scripts := `[{"engine_args_id": "b", "flags": {"attention_backend": "trtllm_mla"}},
		{"engine_args_id": "h", "flags": {"attention_backend": "flashinfer"}}]`
	for _, c := range []struct{ script, clients, ranks, every string }{
		{"b", "8", "1", "10"}, {"b", "15", "1", "10"}, {"b", "16", "1", "30"}, {"b", "64", "4", ""}, {"h", "64", "1", ""},
	} {
		tensor := map[string]string{"1": "4", "4": "1"}[c.ranks]
		f, err := measuredtest.ReadText(t, siliconTable("backend", "sglang", "engine_args_id", c.script, "concurrency",
			c.clients, "num_prompts", "", "attn_tp", tensor, "attn_dp", c.ranks), "engine_args.json", scripts)
		pool := poolOf(t, measuredtest.OneRun(t, f, err).Scenario)
		_, every, _ := strings.Cut(pool, "scheduler_recv_interval: ")
		assert.Equal(t, c.every, strings.TrimSpace(every), "%+v", c)
	}
}

// TestLengthsUnderDynamosSGLangAreUneven, of the rows that say nothing of their servers, and of no others.
func TestLengthsUnderDynamosSGLangAreUneven(t *testing.T) {
	for _, c := range []struct {
		source, backend, version string
		uneven                   bool
	}{
		{"nvidia_gap", "sglang", "0.5.6.post2", true},
		{"nvidia_gap", "sglang", "0.5.1.post1", false},
		{"nvidia_gap", "vllm", "0.5.6.post2", false},
		{"inferencex", "sglang", "0.5.6.post2", false},
	} {
		f, err := measuredtest.ReadText(t, siliconTable("source", c.source, "backend", c.backend, "backend_version",
			c.version, "engine_args_id", "", "length_dist", "fixed_nominal"), "engine_args.json", otherScripts)
		scenario := measuredtest.OneRun(t, f, err).Scenario
		assert.Equal(t, c.uneven, strings.Contains(scenario, "prompt_tokens: {distribution: uniform, min: 800, max: 1000}\n"+
			"  output_tokens: {distribution: uniform, min: 250, max: 750}\n"), "%+v: %s", c, scenario)
		assert.Equal(t, c.uneven, strings.Contains(scenario, "uniform"), "%+v: %s", c, scenario)
	}
}

func TestArgumentsOfARankOfOneAreThoseOfTheServer(t *testing.T) {
	f, err := measuredtest.ReadText(t, siliconTable("backend", "sglang", "engine_args_id", "sg", "attn_tp", "4", "attn_dp",
		"1"), "engine_args.json", otherScripts)
	pool := poolOf(t, measuredtest.OneRun(t, f, err).Scenario)
	assert.Contains(t, pool, "chunked_prefill_size: 32768\n")
	assert.Contains(t, pool, "max_running_requests: 4\n")
}

func TestCheckpointsThatNVIDIAQuantisedAskForAnFP8Cache(t *testing.T) {
	for _, c := range []struct {
		backend, version, model, precision, scales, system string
		cache                                              bool
	}{
		{"vllm", "0.10.2", "meta-llama/Llama-3.1-70B", "fp8", "fp8", "h100_sxm", false}, // which does not look
		{"vllm", "0.10.2", "meta-llama/Llama-3.1-70B", "fp8", "fp8", "b200_sxm", true},
		{"vllm", "0.12.0", "meta-llama/Llama-3.1-70B", "fp8", "fp8", "h100_sxm", true},
		{"sglang", "0.5.9", "zai-org/GLM-5", "fp4", "nvfp4", "b200_sxm", true},
		{"sglang", "0.5.9", "zai-org/GLM-5", "fp8", "fp8", "h200_sxm", false}, // the publisher's own
		{"trtllm", "1.0.0rc3", "meta-llama/Llama-3.1-70B", "fp8", "fp8", "h100_sxm", true},
		{"trtllm", "1.0.0rc3", "meta-llama/Llama-3.1-70B", "fp8", "fp8_block", "h100_sxm", false},
		{"trtllm", "1.0.0rc3", "meta-llama/Llama-3.1-70B", "bf16", "", "h100_sxm", false},
		{"trtllm", "1.0.0rc3", "MiniMaxAI/MiniMax-M2.5", "fp8", "fp8", "h100_sxm", false}, // published so
	} {
		f, err := measuredtest.ReadText(t, siliconTable("model", c.model, "backend", c.backend, "backend_version", c.version,
			"precision", c.precision,
			"engine_args_id", "", "gemm_quant", c.scales, "system", c.system))
		assert.Equal(t, c.cache, strings.Contains(measuredtest.OneRun(t, f, err).Scenario, "kv_cache: fp8"), c)
	}
}
