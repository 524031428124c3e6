package vllmargs

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
)

// folder stands for the files around a command line.
type folder map[string]string

func (f folder) read(path string) ([]byte, error) {
	if text, ok := f[path]; ok {
		return []byte(text), nil
	}
	return nil, errors.New("no such file")
}

func read(text, gpu string, files folder) (*Import, error) {
	return Read(text, Options{GPU: gpu, ReadFile: files.read})
}

// keys returns the lines of a scenario from the model to the workload, without comments, each without indent.
func keys(text []byte) string {
	var all []string
	_, rest, _ := strings.Cut(string(text), "\nmodel: ")
	for line := range strings.Lines("model: " + rest) {
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimSpace(line)
		if line == "workload:" {
			break
		} else if line != "" && line != "pools:" && line != "- name: serve" {
			all = append(all, line)
		}
	}
	return strings.Join(all, "\n")
}

func TestFlagsBecomeKeys(t *testing.T) {
	files := folder{
		"vllm.yaml": "model: Qwen/Qwen3-8B\nmax-num-seqs: 32\ntensor_parallel_size: 2\ncompilation-config: " +
			"{cudagraph_capture_sizes: [1, 2]}\nport: 80\n",
		"trt.yml": "kv_cache_config:\n  dtype: fp8\n  enable_block_reuse: false\n  free_gpu_memory_fraction: " +
			"0.8\nenable_attention_dp: true\nstream_interval: 10\nmoe_config: {backend: TRTLLM}\n",
		"m/config.json": `{}`,
	}
	for _, c := range [][2]string{
		{"vllm serve meta-llama/Llama-3.1-70B-Instruct --tensor-parallel-size 4 --max-num-seqs 256 --kv-cache-dtype fp8",
			"llama-3.1-70b kv_cache: fp8|tensor_parallel: 4|vllm-v1|max_num_seqs: 256"},
		{"vllm serve llama-3.1-8b -tp=2 -pp 2 --max_num_batched_tokens=8K --max-model-len 32k",
			"llama-3.1-8b |tensor_parallel: 2|pipeline_parallel: 2|vllm-v1|max_num_batched_tokens: 8192|max_model_len: 32000"},
		{"vllm serve llama-3.1-8b --no-enable-prefix-caching --enable-chunked-prefill=False --async-scheduling true",
			"llama-3.1-8b ||vllm-v1|enable_prefix_caching: false|enable_chunked_prefill: false|async_scheduling: true"},
		{"vllm serve llama-3.1-8b -q fp8 --gpu-memory-util .9 --enforce-eager --block-size 32",
			"llama-3.1-8b weights: fp8||vllm-v1|gpu_memory_utilization: 0.9|enforce_eager: true|block_size: 32"},
		{"vllm serve llama-3.1-8b --max-model-len auto --scheduling-policy priority --num-gpu-blocks-override 9000",
			"llama-3.1-8b ||vllm-v1|scheduling_policy: priority|num_gpu_blocks: 9000"},
		{"vllm serve llama-3.1-8b -dp 2", "llama-3.1-8b |replicas: 2|vllm-v1"},
		{"vllm serve openai/gpt-oss-120b -dp 2 -tp 4 --enable-expert-parallel",
			"gpt-oss-120b |tensor_parallel: 4|data_parallel: 2|expert_parallel: true|vllm-v1"},
		{"vllm serve llama-3.1-8b --cudagraph-capture-sizes 1 2 4 --port 80",
			"llama-3.1-8b ||vllm-v1|cudagraph_capture_sizes: [1, 2, 4]"},
		{"vllm serve llama-3.1-8b --cuda-graph-sizes 8", "llama-3.1-8b ||vllm-v1|cudagraph_capture_sizes: [1, 2, 4, 8]"},
		{`vllm serve llama-3.1-8b --compilation-config '{"cudagraph_mode": "NONE", "pass_config": {}}'`,
			"llama-3.1-8b ||vllm-v1|enforce_eager: true"},
		{`vllm serve llama-3.1-8b -O3 -O.cudagraph_capture_sizes [1,8]`,
			"llama-3.1-8b ||vllm-v1|cudagraph_capture_sizes: [1, 8]"},
		{"vllm serve Qwen/Qwen2.5-7B-Instruct-AWQ -q awq_marlin", "qwen2.5-7b weights: int4||vllm-v1"},
		{"vllm serve nvidia/DeepSeek-R1-0528-NVFP4 -q modelopt_fp4", "deepseek-r1 weights: nvfp4|kv_cache: fp8||vllm-v1"},
		{"vllm serve deepseek-ai/DeepSeek-R1 -q fp8 --kv-cache-dtype auto", "deepseek-r1 ||vllm-v1"},
		{"vllm serve /hub/models--Qwen--Qwen3-8B/snapshots/0a1b/", "qwen3-8b ||vllm-v1"},
		{"vllm serve m", "m/config.json ||vllm-v1"},
		{"vllm serve --config vllm.yaml --max-num-seqs 64",
			"qwen3-8b |tensor_parallel: 2|vllm-v1|cudagraph_capture_sizes: [1, 2]|max_num_seqs: 64"},
		{"VLLM_USE_V1=0 vllm serve llama-3.1-8b --swap-space 8 --preemption-mode swap",
			"llama-3.1-8b ||vllm-v0|swap_space: 8|preemption_mode: swap"},
		{"vllm serve llama-3.1-8b --swap-space 8", "llama-3.1-8b ||vllm-v1"},
		{"sglang serve --model-path deepseek-ai/DeepSeek-R1 --tp 8 --dp 4 --enable-dp-attention --ep 8",
			"deepseek-r1 |tensor_parallel: 2|data_parallel: 4|expert_parallel: true|sglang"},
		{"sglang serve --model-path deepseek-ai/DeepSeek-R1 --tp 8 --dp 4 --enable-dp-attention --max-running-requests 512",
			"deepseek-r1 |tensor_parallel: 2|data_parallel: 4|sglang|max_running_requests: 128"},
		{"sglang serve --model deepseek-ai/DeepSeek-R1 --tp 8 --attn-dp-size 4 --dp 2 --cuda-graph-backend-decode disabled",
			"deepseek-r1 |replicas: 2|tensor_parallel: 2|data_parallel: 4|sglang|disable_cuda_graph: true"},
		{"sglang serve --model-path deepseek-ai/DeepSeek-R1 --tp 8 --dp 2 --load-balance-method round_robin",
			"deepseek-r1 |replicas: 2|tensor_parallel: 8|sglang|router: round-robin"},
		{"sglang serve --model qwen3-8b --mem-fraction 0.8 --chunked-prefill-size -1 --max-prefill-tokens 4096 " +
			"--disable-radix-cache",
			"qwen3-8b ||sglang|mem_fraction_static: 0.8|chunked_prefill_size: -1|max_prefill_tokens: 4096|radix_cache: false"},
		{"sglang serve --model qwen3-8b --max-total-tokens 1000 --page-size 16 --disable-overlap-schedule --cuda-graph-bs " +
			"1 2 --schedule-policy lpm --disaggregation-decode-enable-radix-cache",
			"qwen3-8b ||sglang|page_size: 16|overlap_schedule: false|cuda_graph_bs: [1, 2]|schedule_policy: " +
				"lpm|radix_cache: true|num_gpu_blocks: 62"},
		{"sglang serve --model qwen3-8b --disable-radix-cache --schedule-policy lpm", "qwen3-8b ||sglang|radix_cache: false"},
		{"trtllm-serve deepseek-ai/DeepSeek-R1 --tp_size=8 --ep_size 8 --max_num_tokens 20000 " +
			"--extra_llm_api_options=trt.yml",
			"deepseek-r1 kv_cache: fp8|tensor_parallel: 1|data_parallel: 8|expert_parallel: true|tensorrt-llm|max_num_tokens: " +
				"20000|enable_block_reuse: false|free_gpu_memory_fraction: 0.8|stream:|stream_interval: 10"},
		{"trtllm-serve llama-3.1-8b --max_batch_size 64 --kv_cache_free_gpu_memory_fraction 0.85 --max_seq_len 4096",
			"llama-3.1-8b ||tensorrt-llm|max_batch_size: 64|free_gpu_memory_fraction: 0.85|max_seq_len: 4096"},
	} {
		text, want := c[0], c[1]
		i, err := read(text, "h200", files)
		require.NoError(t, err, text)
		got := strings.NewReplacer("model: ", "", "engine: ", "", "gpu: h200-sxm", "").Replace(keys(i.Text))
		assert.Equal(t, strings.FieldsFunc(strings.Replace(want, " ", "|", 1), bar),
			strings.FieldsFunc(strings.ReplaceAll(got, "\n", "|"), bar), text)
	}
}

func bar(r rune) bool { return r == '|' }

// TestPlacedExpertsAreImported, with copies of them, by vLLM's flags and SGLang's.
func TestPlacedExpertsAreImported(t *testing.T) {
	for _, c := range []struct{ text, says string }{
		{"vllm serve openai/gpt-oss-120b -tp 8 -ep --enable-eplb --eplb-config.num_redundant_experts 8", "8"},
		{`vllm serve openai/gpt-oss-120b -tp 8 -ep --enable-eplb --eplb-config '{"num_redundant_experts": 16}'`, "16"},
		{"sglang serve --model-path openai/gpt-oss-120b --tp 8 --ep 8 --enable-eplb --ep-num-redundant-experts 24", "24"},
	} {
		i, err := read(c.text, "h200", folder{})
		require.NoError(t, err, c.text)
		got := keys(i.Text)
		for _, key := range []string{"expert_parallel: true", "enable_eplb: true", "num_redundant_experts: " + c.says} {
			assert.Contains(t, got, key, c.text)
		}
	}
	_, err := read(`vllm serve openai/gpt-oss-120b -tp 8 --eplb-config '{"num_redundant_experts": 1.5}'`, "h200", folder{})
	require.ErrorContains(t, err, "expected num_redundant_experts from 0")
}

// TestImportedScenariosLoad: what is written is what configs reads, whatever the flags.
func TestImportedScenariosLoad(t *testing.T) {
	i, err := Read("vllm serve Qwen/Qwen3-235B-A22B-Instruct-2507-FP8 -tp 4 -dp 2 --enable-expert-parallel "+
		"--max-num-seqs 128 --max-model-len 8k", Options{
		GPU: "NVIDIA H200", Load: Load{Rate: 2.5, Prompt: 700}, ReadFile: folder{}.read,
	})
	require.NoError(t, err)
	wrong, err := i.Check()
	require.NoError(t, err)
	require.False(t, wrong)
	s, err := configs.Read("x", i.Text, configs.Options{})
	require.NoError(t, err)
	p := s.Pools[0]
	assert.Equal(t, []any{"qwen3-235b-a22b", "fp8", "h200-sxm", 4, 2, true, 128, 8000, 2.5, 700.0, 128.0}, []any{
		s.Model.Config, s.Weights, p.GPU.From, p.TensorParallel, p.DataParallel, p.ExpertParallel,
		p.MaxNumSeqs, p.MaxModelLen,
		s.Workload.Arrivals.Rate, s.Workload.PromptTokens.Mean, s.Workload.OutputTokens.Mean,
	})
	assert.Equal(t, []string{"-tp 4", "-dp 2", "--enable-expert-parallel", "--max-num-seqs 128", "--max-model-len 8k"},
		i.Taken)
}

func TestWhatIsNoKeyIsNamed(t *testing.T) {
	i, err := read(
		`VLLM_LOGGING_LEVEL=DEBUG HF_TOKEN=hf_secret vllm serve llama-3.1-8b --max-num-seqs 8 --port 80 --api-key sk-secret --max_num_seqs 16 \
		--speculative-config '{"method": "eagle"}' --enable-lora --lora-modules a=b c=d --stream-interval 1 --foo 7 --tensor-paralel-size 2 $EXTRA`, "h100", nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"--max_num_seqs 16", "--enable-lora"}, i.Taken)
	assert.Equal(t, []string{"--port --api-key: the HTTP server", "--stream-interval: as without it"}, i.Idle)
	assert.Equal(t, []string{
		"--speculative-config: " + speculative,
		"--lora-modules: the adapters by name; workload.adapters says how many requests have",
		"VLLM_LOGGING_LEVEL: variables of the environment are not read, except VLLM_USE_V1",
	}, i.Differs)
	assert.Equal(t, []string{
		"--foo: no flag of vllm-v1 that decodesim knows",
		"--tensor-paralel-size: no flag of vllm-v1 that decodesim knows; did you mean --tensor-parallel-size?",
		"$EXTRA: a variable without a value; give it with --var NAME=VALUE",
	}, i.Unknown)
	assert.Equal(t, []string{"--max_num_seqs is given 2 times; the last counts: --max_num_seqs 16"}, i.Notes)
	for _, line := range slices.Concat(i.Idle, i.Differs, i.Unknown, i.Notes) {
		assert.Contains(t, string(i.Text), "#   "+line+"\n")
	}
	assert.NotContains(t, string(i.Text), "secret")
}

// TestPartsOfOneFlagAreReadTogether: a level behind an object leaves the object's sizes alone, and what is given twice
// is named.
func TestPartsOfOneFlagAreReadTogether(t *testing.T) {
	const object = `vllm serve llama-3.1-8b --compilation-config '{"cudagraph_capture_sizes":[1,2,4,8]}' `
	for _, level := range []string{"-O3", "-O 2", "-O=1", "--compilation-config 3"} {
		i, err := read(object+level, "h100", nil)
		require.NoError(t, err)
		assert.Contains(t, keys(i.Text), "cudagraph_capture_sizes: [1, 2, 4, 8]", level)
		require.Len(t, i.Notes, 1, level)
		assert.Contains(t, i.Notes[0], " are one flag, given more than once: both are read", level)
	}
	for _, c := range [][2]string{
		{object + `--compilation-config '{"cudagraph_mode":"NONE"}'`,
			"--compilation-config is given 2 times; the last counts: --compilation-config {\"cudagraph_mode\":\"NONE\"}"},
		{"vllm serve llama-3.1-8b -O3 -O2", "-O is given 2 times; the last counts: -O 2"},
		{"vllm serve llama-3.1-8b --api-key secret1 --api-key secret2", "--api-key is given 2 times; the last counts"},
		{"vllm serve llama-3.1-8b --max-num-seqs 8 --port 1 --max-num-seqs 8",
			"--max-num-seqs is given 2 times; the last counts: --max-num-seqs 8"},
		{"docker run vllm/vllm-openai:v0.6.3 --model llama-3.1-8b",
			"vllm/vllm-openai:v0.6.3 is older than vLLM 0.8, the first whose default is V1 (unverified): the engine is vllm-v0"},
		{"sglang serve --model qwen3-8b --enable-hierarchical-cache --hicache-size 64",
			"--hicache-size 64 is in gigabytes, its key in GiB: 59.6"},
	} {
		text, want := c[0], c[1]
		i, err := read(text, "h100", nil)
		require.NoError(t, err, text)
		assert.Equal(t, []string{want}, i.Notes, text)
	}
}

// TestTheCacheInHostMemoryHasASwitchAndASize, each of which says nothing alone.
func TestTheCacheInHostMemoryHasASwitchAndASize(t *testing.T) {
	const serve = "sglang serve --model qwen3-8b "
	i, err := read(serve+"--hicache-size 64 --enable-hierarchical-cache --hicache-ratio 2", "h100", nil)
	require.NoError(t, err)
	assert.Contains(t, keys(i.Text), "\nhicache_size: 59.6")
	assert.Equal(t, []string{"--enable-hierarchical-cache --hicache-size 64"}, i.Taken)
	assert.Equal(t, []string{"--hicache-ratio: --hicache-size counts"}, i.Idle)
	assert.Empty(t, i.Differs)
	wrong, err := i.Check()
	require.NoError(t, err, "%v", wrong)
	for flags, differs := range map[string]bool{"--enable-hierarchical-cache": true,
		"--enable-hierarchical-cache --hicache-ratio 2 --hicache-size 0": true,
		"--hicache-size 64": false, "--hicache-ratio 2": false, "--enable-hierarchical-cache=false --hicache-size 3": false} {
		i, err := read(serve+flags, "h100", nil)
		require.NoError(t, err)
		assert.NotContains(t, keys(i.Text), "hicache_size", flags)
		assert.Equal(t, differs, len(i.Differs) > 0, flags)
	}
	_, err = read(serve+"--enable-hierarchical-cache --hicache-size x", "h100", nil)
	assert.ErrorContains(t, err, "--hicache-size x: expected a number above 0")
}

// TestTheEngineIsThatOfTheProgram: --engine chooses among its versions only.
func TestTheEngineIsThatOfTheProgram(t *testing.T) {
	engine := func(text, engine string) (*Import, error) {
		return Read(text, Options{GPU: "h100", Engine: engine, ReadFile: folder{}.read})
	}
	_, err := engine("vllm serve llama-3.1-8b", "sglang")
	assert.EqualError(t, err, "--engine sglang: the command line starts vLLM; expected no --engine, or vllm-v1 or vllm-v0")
	_, err = engine("trtllm-serve llama-3.1-8b", "vllm-v1")
	assert.EqualError(t, err, "--engine vllm-v1: the command line starts TensorRT-LLM; expected no --engine, or "+
		"tensorrt-llm")
	i, err := engine("VLLM_USE_V1=0 vllm serve llama-3.1-8b", "vllm-v1")
	require.NoError(t, err)
	assert.Contains(t, keys(i.Text), "engine: vllm-v1")
	assert.Equal(t, []string{"--engine vllm-v1 counts; the command line by itself says vllm-v0"}, i.Notes)
	i, err = engine("vllm serve llama-3.1-8b", "vllm-v1")
	require.NoError(t, err)
	assert.Empty(t, i.Notes)
}

func TestAnotherEngineLacksWhatItLacks(t *testing.T) {
	i, err := read("VLLM_USE_V1=0 vllm serve llama-3.1-8b --async-scheduling", "h100", nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"--async-scheduling: the engine vllm-v0 of scenarios has no async_scheduling"}, i.Differs)
}

func TestMistakesAreNamed(t *testing.T) {
	for _, c := range [][2]string{
		{"", "the command line is empty; expected \"vllm serve MODEL …\""},
		{"ls -la", `"ls -la" starts no server that is known; expected "vllm serve`},
		{"vllm serve a\nvllm serve b", "the text starts 2 servers; expected one"},
		{"sglang serve --model qwen3-8b --disaggregation-mode prefill\nsglang serve --model qwen3-8b",
			"the text starts 2 servers"},
		{"sglang serve --model qwen3-8b --disaggregation-mode prefill\n" +
			"sglang serve --model qwen3-14b --disaggregation-mode decode",
			"one server has qwen3-8b and the other qwen3-14b; expected one model"},
		{"sglang serve --model qwen3-8b --disaggregation-mode prefill --kv-cache-dtype fp8_e4m3\n" +
			"sglang serve --model qwen3-8b --disaggregation-mode decode",
			"one server has --kv-cache-dtype fp8_e4m3 and the other no flag for kv_cache; expected the same number formats"},
		{"sglang serve --model qwen3-8b --disaggregation-mode both", "expected prefill, decode or null"},
		{"trtllm-serve disaggregated -c x", "separate pools for prefill and decode are not modelled"},
		{"vllm serve", "the command line names no model; expected one"},
		{"vllm serve --port 80", "the command line names no model; expected one"},
		{"vllm serve llama-3.1-8b b/c",
			`"llama-3.1-8b" and "b/c": two models, or a word that belongs to no flag; expected one model`},
		{"vllm serve a --model b", `"b" and "a": two models`},
		{"vllm serve foo/llama-3.1-9b",
			`model foo/llama-3.1-9b is not in the catalog; did you mean "llama-3.1-8b"? (decodesim list models); or give the path`},
		{"vllm serve $MODEL -tp 2",
			"the model is $MODEL, and the variable MODEL has no value; give it with --var MODEL=VALUE"},
		{"vllm serve llama-3.1-8b 'x", "line 1: the quote ' of 'x has no end; expected another '"},
		{"vllm serve \"a\n\n b", "line 1: the quote \" of \"a b has no end"},
		{"vllm serve m --max-num-seqs", "--max-num-seqs has no value; expected one behind it"},
		{"vllm serve m --max-num-seqs --port 1", "--max-num-seqs has no value"},
		{"vllm serve m --max-num-seqs=", "--max-num-seqs has no value"},
		{"vllm serve m -tp -2", "-tp -2: expected a whole number from 1 to 1024"},
		{"vllm serve m -tp two", "-tp two: expected a whole number from 1 to 1024"},
		{"vllm serve m --max-num-seqs $CONC",
			"--max-num-seqs $CONC: the variable CONC has no value; expected a whole number from 1 to 1048576: give it with " +
				"--var CONC=VALUE"},
		{"vllm serve m --max-model-len 1.5",
			"--max-model-len 1.5: expected a whole number from 1 to 1073741824, or one such as 32k (32000) or 32K (32768)"},
		{"vllm serve m --gpu-memory-utilization 90", "--gpu-memory-utilization 90: expected a number above 0 and at most 1"},
		{"vllm serve m --gpu-memory-utilization NaN", "expected a number above 0 and at most 1"},
		{"vllm serve m --enforce-eager=maybe", "--enforce-eager maybe: expected true or false"},
		{"vllm serve m --kv-cache-dtype fp7", "--kv-cache-dtype fp7: expected one of auto, fp8,"},
		{"vllm serve m -q fp9", "-q fp9: expected one of fp8,"},
		{"vllm serve m --dtype fp8", "--dtype fp8: expected one of auto, bfloat16"},
		{"vllm serve m --speculative-config {x", `--speculative-config {x: expected a JSON object`},
		{"vllm serve m --compilation-config []", `--compilation-config []: expected a JSON object`},
		{"vllm serve m --cudagraph-capture-sizes 0", "--cudagraph-capture-sizes 0: expected numbers of rows from 1 to 8192"},
		{"vllm serve m --scheduling-policy lifo", "--scheduling-policy lifo: expected one of fcfs, priority"},
		{"vllm serve m --stream-interval often", "--stream-interval often: expected a whole number"},
		{"vllm serve m --config bad.yaml", "--config bad.yaml: expected a YAML file of settings"},
		{"sglang serve --model m --tp 8 --dp 3 --enable-dp-attention",
			"--dp 3 with --enable-dp-attention: expected a number of ranks that divides tensor parallelism, 8"},
		{"sglang serve --model m --tp 2 --ep 4", "--ep 4: expected a number that divides tensor parallelism, 2"},
		{"sglang serve --model m --max-total-tokens 8 --page-size 16", "--max-total-tokens 8: expected from 16 to"},
		{"sglang serve --model m --load-balance-method x", "--load-balance-method x: expected one of auto, round_robin"},
		{"vllm serve m \xff", "the text is not UTF-8"},
		{strings.Repeat("a", textMax+1), "the text has 1048577 bytes; expected the command line of one server"},
	} {
		text, want := c[0], c[1]
		_, err := read(text, "h100", folder{"m/config.json": "{}", "bad.yaml": "- a"})
		require.Error(t, err, text)
		assert.Contains(t, err.Error(), want, text)
	}
	_, err := read("vllm serve llama-3.1-8b", "", nil)
	assert.ErrorContains(t, err, "a command line does not say on which GPU it runs; expected --gpu with one of a10,")
	_, err = read("vllm serve llama-3.1-8b", "h1000", nil)
	assert.ErrorContains(t, err, `--gpu h1000: GPU h1000 is not in the catalog; did you mean`)
	_, err = Read("vllm serve m", Options{GPU: "h100", ModelConfig: "no.json", ReadFile: folder{}.read})
	assert.ErrorContains(t, err,
		`--model-config "no.json" cannot be read: no such file; expected a HuggingFace config.json`)
}

// TestWhatConfigsRefusesIsTheFlags: the error of a key is reported as one of its flag.
func TestWhatConfigsRefusesIsTheFlags(t *testing.T) {
	for _, c := range [][2]string{
		{"vllm serve llama-3.1-8b -tp 3",
			"-tp 3: 3 does not divide the 32 attention heads of llama-3.1-8b; 1, 2, 4, 8, 16, 32 would do"},
		{"vllm serve llama-3.1-8b --max-model-len 320k",
			"--max-model-len 320k: 320000 is longer than the context of llama-3.1-8b"},
		{"vllm serve llama-3.1-8b --enable-expert-parallel",
			"--enable-expert-parallel: true, but llama-3.1-8b has no experts"},
		{"vllm serve llama-3.1-8b --max-num-batched-tokens 4 --max-num-seqs 8",
			"--max-num-batched-tokens 4: 4 is below max_num_seqs, 8"},
	} {
		text, want := c[0], c[1]
		i, err := read(text, "h100", nil)
		require.NoError(t, err, text)
		wrong, err := i.Check()
		assert.True(t, wrong, text)
		assert.ErrorContains(t, err, want, text)
	}
	i, err := read("vllm serve llama-3.1-70b", "h100", nil)
	require.NoError(t, err)
	wrong, err := i.Check()
	assert.False(t, wrong, "no flag is to blame for a model that does not fit")
	assert.ErrorContains(t, err, "llama-3.1-70b does not fit on 1 × h100-sxm")
}

// A number before the GPU is how many there are: replicas share them.
func TestANumberBeforeTheGPUIsHowManyThereAre(t *testing.T) {
	for gpu, says := range map[string]string{"8xH100": "", "4 x H100": "", "6xH100": "--gpu 6xH100 says 6 GPUs",
		"h10": `did you mean "h100"?`} {
		out, err := read("vllm serve Qwen/Qwen3-32B -tp 4", gpu, nil)
		if says != "" {
			require.ErrorContains(t, err, says)
			require.NotContains(t, err.Error(), "valid names")
			continue
		}
		require.NoError(t, err)
		assert.Contains(t, string(out.Text), "gpu: h100-sxm")
		assert.Equal(t, gpu == "8xH100", strings.Contains(string(out.Text), "replicas: 2 "), gpu)
	}
}

// TestARemarkMovesNoCursor: a flag is named as it can be printed, on the terminal and in the scenario.
func TestARemarkMovesNoCursor(t *testing.T) {
	lines := grouped([]Remark{{"--odd\x1b[2J", "no flag"}, {"--turned\u202e", "no flag"}})
	assert.Equal(t, []string{`--odd\x1b[2J --turned\u202e: no flag`}, lines)
}

// TestAServerWithAdaptersHasTheirSlots: the flags about LoRA adapters are keys of the pool, and without --enable-lora
// they say nothing, as in vLLM.
func TestAServerWithAdaptersHasTheirSlots(t *testing.T) {
	i, err := read("vllm serve llama-3.1-8b --enable-lora --max-loras 8 --max-lora-rank 64 --max-cpu-loras 32 "+
		"--lora-dtype auto --lora-target-modules q_proj v_proj --lora-modules sql=org/sql-lora", "h100", nil)
	require.NoError(t, err)
	s, err := configs.Read("x", i.Text, configs.Options{})
	require.NoError(t, err)
	p := &s.Pools[0]
	assert.Equal(t, []any{true, 8, 64, 32, "auto", []string{"q_proj", "v_proj"}},
		[]any{p.EnableLoRA, p.MaxLoRAs, p.MaxLoRARank, p.MaxCPULoRAs, p.LoRADtype, p.LoRATargetModules})

	i, err = read("vllm serve llama-3.1-8b --max-loras 8", "h100", nil)
	require.NoError(t, err)
	assert.Empty(t, i.Taken)
	assert.Equal(t, []string{"--max-loras: no LoRA adapters without --enable-lora"}, i.Idle)
}
