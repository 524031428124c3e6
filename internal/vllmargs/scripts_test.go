package vllmargs

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
)

// script is what a public benchmark's launch script sets its server up with, in its own words, variables included.
type script struct {
	ID    string `json:"engine_args_id"`
	Path  string `json:"script"`
	Flags map[string]any
}

// publishedScripts are the launch scripts beside the measurements (InferenceX).
func publishedScripts(t *testing.T) []script {
	path := filepath.Join(cmp.Or(os.Getenv("DECODESIM_SHARED"), filepath.Join("..", "..", "..", "shared")), "groundtruth",
		"A_engine_args.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Skipf("no launch scripts at %s; set DECODESIM_SHARED to the folder that has them", path)
	}
	var all []script
	require.NoError(t, json.Unmarshal(data, &all))
	require.NotEmpty(t, all)
	return all
}

// text is a flag's value as the script has it: the first of several; ok: there is one.
func (s *script) text(flag string) (value string, ok bool) {
	value, ok = s.Flags[flag].(string)
	value, _, _ = strings.Cut(value, " | ")
	return value, ok
}

func (s *script) on(flag string) bool { on, _ := s.Flags[flag].(bool); return on }

func (s *script) has(prefixes ...string) bool {
	for flag := range s.Flags {
		for _, p := range prefixes {
			if strings.HasPrefix(flag, p) {
				return true
			}
		}
	}
	return false
}

// model returns the checkpoint and the GPU that the name of the script stands for.
func (s *script) model(t *testing.T) (model, gpu string) {
	parts := strings.Split(strings.TrimSuffix(filepath.Base(s.Path), ".sh"), "_")
	name, ok := map[string]string{
		"minimaxm2.5": "MiniMaxAI/MiniMax-M2.5", "kimik2.5": "moonshotai/Kimi-K2.5", "qwen3.5": "Qwen/Qwen3.5-397B-A17B",
		"glm5": "zai-org/GLM-5",
		"dsr1": "deepseek-ai/DeepSeek-R1-0528", "gptoss": "openai/gpt-oss-120b", "70b": "meta-llama/Llama-3.3-70B-Instruct",
	}[parts[0]]
	require.True(t, ok, s.Path)
	if parts[1] == "bf16" || parts[0] == "gptoss" {
		return name, parts[2]
	}
	return name + "-" + strings.ToUpper(parts[1]), parts[2]
}

// command writes the script's server out again. Settings of TensorRT-LLM stand in a file that the script writes.
func (s *script) command(model string) string {
	var b, file strings.Builder
	add := func(flag, written string) {
		if v, ok := s.text(flag); ok {
			b.WriteString(" \\\n  " + written + " " + v)
		}
	}
	set := func(flag, key string) {
		if v, ok := s.text(flag); ok {
			file.WriteString(key + ": " + v + "\n")
		}
	}
	when := func(flag, text string, to *strings.Builder) {
		if s.on(flag) {
			to.WriteString(text)
		}
	}
	switch {
	case s.has("trt_"):
		b.WriteString("mpirun -n 1 --oversubscribe trtllm-serve " + model +
			" --port=$PORT --backend=pytorch --tp_size=$TP --extra_llm_api_options=$EXTRA_CONFIG_FILE")
		add("trt_max_num_tokens", "--max_num_tokens")
		when("expert_parallel_flag", " --ep_size=$EP_SIZE", &b)
		when("dp_attention_flag", "enable_attention_dp: true\n", &file)
		set("stream_interval", "stream_interval")
		set("batch_wait_timeout_iters", "batch_wait_timeout_iters")
		file.WriteString("kv_cache_config:\n")
		set("kv_cache_dtype", "  dtype")
		set("trt_free_mem_fraction", "  free_gpu_memory_fraction")
		set("trt_block_reuse", "  enable_block_reuse")
	case s.has("chunked_prefill_size", "mem_fraction", "max_running", "cuda_graph_max", "moe_backend"):
		b.WriteString("PYTHONNOUSERSITE=1 python3 -m sglang.launch_server --model-path=" + model +
			" --host=0.0.0.0 --port=$PORT --tensor-parallel-size=$TP")
		for _, flag := range []string{"kv_cache_dtype", "chunked_prefill_size", "max_prefill_tokens", "mem_fraction_static",
			"max_running_requests",
			"cuda_graph_max_bs", "attention_backend", "stream_interval"} {
			add(flag, "--"+strings.ReplaceAll(flag, "_", "-"))
		}
		add("moe_backend", "--moe-runner-backend")
		add("spec_num_steps", "--speculative-num-steps")
		add("spec_draft_tokens", "--speculative-num-draft-tokens")
		when("prefix_caching_off", " --disable-radix-cache", &b)
		when("expert_parallel_flag", " --ep-size $EP_SIZE", &b)
	default:
		b.WriteString("vllm serve " + model + " --host 0.0.0.0 --port $PORT --tensor-parallel-size $TP")
		for _, flag := range []string{"kv_cache_dtype", "max_num_batched_tokens", "max_num_seqs", "stream_interval"} {
			add(flag, "--"+strings.ReplaceAll(flag, "_", "-"))
		}
		add("gpu_mem", "--gpu-memory-utilization")
		when("prefix_caching_off", " --no-enable-prefix-caching", &b)
		when("async_scheduling", " --async-scheduling", &b)
		when("expert_parallel_flag", " --enable-expert-parallel", &b)
	}
	return "set -x\nEXTRA_CONFIG_FILE=\"it's.yml\"\ncat << EOF > $EXTRA_CONFIG_FILE\n" + file.String() + "EOF\n" +
		b.String() + " > $SERVER_LOG 2>&1 &\n\nSERVER_PID=$!\n"
}

// want returns what the limits of the script must have become.
func (s *script) want() map[string]string {
	values := strings.NewReplacer(`"$((ISL * 2 ))"`, "2048", `"`, "", "$CONC", "64", "$CHUNKED_PREFILL_SIZE", "16384",
		"$MAX_PREFILL_TOKENS", "16384",
		"$MEM_FRAC_STATIC", "0.82", "$MAX_RUNNING_REQUESTS", "128", "$MAX_NUM_TOKENS", "20000", "$MAX_MODEL_LEN", "10240",
		"$KV_CACHE_FREE_MEM_FRACTION", "0.8")
	keys := map[string]string{
		"max_num_batched_tokens": "max_num_batched_tokens", "max_num_seqs": "max_num_seqs",
		"gpu_mem":              "gpu_memory_utilization",
		"chunked_prefill_size": "chunked_prefill_size", "max_prefill_tokens": "max_prefill_tokens",
		"mem_fraction_static":  "mem_fraction_static",
		"max_running_requests": "max_running_requests", "trt_max_num_tokens": "max_num_tokens",
		"trt_free_mem_fraction": "free_gpu_memory_fraction",
		"trt_block_reuse":       "enable_block_reuse",
	}
	want := map[string]string{}
	for flag := range s.Flags {
		if v, ok := s.text(flag); ok && keys[flag] != "" {
			want[keys[flag]] = strings.TrimSuffix(values.Replace(v), "0")
		}
	}
	return want
}

// TestPublishedLaunchScriptsAreImported: each becomes a scenario that runs, every limit with its value, no flag
// unknown.
func TestPublishedLaunchScriptsAreImported(t *testing.T) {
	vars := []string{"CONC=64", "ISL=1024", "TP=8", "EP_SIZE=8", "CHUNKED_PREFILL_SIZE=16384", "MAX_PREFILL_TOKENS=16384",
		"MEM_FRAC_STATIC=0.82",
		"MAX_RUNNING_REQUESTS=128", "CUDA_GRAPH_MAX_BATCH_SIZE=128", "MAX_NUM_TOKENS=20000", "MAX_MODEL_LEN=10240",
		"KV_CACHE_FREE_MEM_FRACTION=0.8"}
	engines := map[string]int{}
	for _, s := range publishedScripts(t) {
		model, gpu := s.model(t)
		text := s.command(model)
		i, err := Read(text, Options{GPU: gpu, Vars: vars, ReadFile: folder{}.read})
		require.NoError(t, err, "%s %s\n%s", s.ID, s.Path, text)
		assert.Empty(t, i.Unknown, "%s\n%s", s.ID, text)
		wrong, err := i.Check()
		require.NoError(t, err, "%s %v\n%s", s.ID, wrong, i.Text)
		got := "\n" + keys(i.Text) + "\n"
		for key, value := range s.want() {
			assert.Regexp(t, "\n"+key+": "+value+"0?\n", got, "%s\n%s", s.ID, text)
		}
		sc, err := configs.Read("x", i.Text, configs.Options{})
		require.NoError(t, err)
		engines[sc.Pools[0].Engine]++
		if kv, ok := s.text("kv_cache_dtype"); ok && kv != "auto" {
			assert.Equal(t, "fp8", sc.KVCache, s.ID)
		}
		if s.on("prefix_caching_off") && !s.has("trt_") {
			assert.False(t, sc.Pools[0].EnablePrefixCaching, s.ID)
		}
	}
	assert.Len(t, engines, 3, "%v", engines)
}
