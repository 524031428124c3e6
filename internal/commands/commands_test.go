package commands

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/internal/soak"
	"github.com/decodesim/decodesim/internal/vllmargs"
)

const load = `workload:
  arrivals: {process: poisson, rate: 1}
  prompt_tokens: {distribution: fixed, mean: 64}
  output_tokens: {distribution: fixed, mean: 16}
  requests: 10
`

// drawn is a random scenario of what a command line can say.
type drawn struct {
	*rand.Rand
	lines []string
}

func (d *drawn) say(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

// maybe says a key of the pool every other time.
func (d *drawn) maybe(format string, args ...any) {
	if d.IntN(2) == 0 {
		d.say("    "+format, args...)
	}
}

func pick[T any](d *drawn, from ...T) T { return from[d.IntN(len(from))] }

// scenario draws the text of a scenario.
func scenario(seed uint64) string {
	d := &drawn{Rand: rand.New(rand.NewPCG(seed, 0))}
	engine := pick(d, "vllm-v1", "vllm-v1", "vllm-v0", "sglang", "tensorrt-llm")
	sparse := d.IntN(2) == 0
	model := pick(d, "llama-3.1-8b", "llama-3.1-70b", "qwen3-32b", "qwen3-8b")
	if sparse {
		model = pick(d, "gpt-oss-120b", "qwen3-30b-a3b", "deepseek-r1", "qwen3-235b-a22b")
	}
	d.say("model: %s", model)
	if engine != "tensorrt-llm" && d.IntN(3) == 0 {
		d.say("weights: fp8")
	}
	if d.IntN(3) == 0 {
		formats := map[string][]string{"sglang": {"fp8", "bf16", "nvfp4"}, "tensorrt-llm": {"fp8", "nvfp4"}}[engine]
		if formats == nil {
			formats = []string{"fp8", "bf16", "nvfp4", "int8", "int4"}
		}
		d.say("kv_cache: %s", pick(d, formats...))
	}
	d.say("pools:\n  - name: serve\n    gpu: b200-sxm\n    engine: %s", engine)
	tensor := pick(d, 1, 2, 4)
	if ranks := pick(d, 1, 2, 4); sparse && ranks > 1 && engine != "vllm-v0" {
		d.say("    data_parallel: %d", ranks)
		if engine == "tensorrt-llm" {
			tensor = 1
		}
		if experts := d.IntN(2) == 0; experts {
			d.say("    expert_parallel: true")
			if engine != "tensorrt-llm" {
				d.maybe("all_to_all: %s", pick(d, "low-latency", "normal"))
			}
		}
	}
	d.say("    tensor_parallel: %d", tensor)
	d.maybe("pipeline_parallel: 2")
	d.limits(engine)
	if d.IntN(3) == 0 {
		d.say("stream: {stream_interval: %d}", 2+d.IntN(20))
	}
	return strings.Join(d.lines, "\n") + "\n" + load
}

// limits draws the arguments of an engine.
func (d *drawn) limits(engine string) {
	d.maybe("max_num_seqs: %d", 1+d.IntN(600))
	d.maybe("max_num_batched_tokens: %d", 1024+d.IntN(9000))
	d.maybe("max_model_len: %d", 512+d.IntN(8000))
	d.maybe("gpu_memory_utilization: %.3g", 0.7+0.25*d.Float64())
	d.maybe("block_size: %d", pick(d, 16, 32, 64))
	d.maybe("enable_prefix_caching: %t", d.IntN(2) == 0)
	d.maybe("cudagraph_capture_sizes: [1, 2, %d]", 4+d.IntN(100))
	switch engine {
	case "vllm-v1":
		d.maybe("async_scheduling: %t", d.IntN(2) == 0)
		d.maybe("long_prefill_token_threshold: %d", 1+d.IntN(900))
		d.maybe("scheduler_reserve_full_isl: %t", d.IntN(2) == 0)
		d.maybe("watermark: 0.01")
		d.maybe("queue_order: priority")
		d.maybe("kv_offloading_size: %d", 1+d.IntN(100))
	case "vllm-v0":
		d.maybe("enforce_eager: true")
		d.maybe("swap_space: %d", 1+d.IntN(20))
		d.maybe("preemption_mode: swap")
	case "sglang":
		d.maybe("enforce_eager: true")
		d.maybe("async_scheduling: %t", d.IntN(2) == 0)
		d.maybe("schedule_policy: %s", pick(d, "dfs-weight", "priority"))
		d.maybe("schedule_conservativeness: %.2g", 0.3+d.Float64())
		d.maybe("enable_mixed_chunk: true")
		if body := strings.Join(d.lines, "\n"); !strings.Contains(body, "data_parallel") &&
			!strings.Contains(body, "async_scheduling: false") && !strings.Contains(body, "role:") {
			d.maybe("scheduler_recv_interval: %d", 2+d.IntN(40))
		}
		d.maybe("max_prefill_tokens: %d", 9000+d.IntN(9000))
		d.maybe("num_gpu_blocks: %d", 3000+d.IntN(3000))
	case "tensorrt-llm":
		d.maybe("async_scheduling: %t", d.IntN(2) == 0)
		chunks := d.IntN(2) == 0
		d.maybe("enable_chunked_prefill: %t", chunks)
		d.maybe("capacity_scheduler_policy: MAX_UTILIZATION")
		if !chunks {
			d.maybe("batch_wait_timeout_iters: %d", 1+d.IntN(40))
		}
		d.maybe("num_gpu_blocks: %d", 3000+d.IntN(3000))
	}
}

// unread is for command lines that name no file.
func unread(string) ([]byte, error) { return nil, errors.New("no such file") }

// imported reads the script of a scenario back.
func imported(t *testing.T, s *configs.Scenario) *vllmargs.Import {
	lines, err := Lines(s)
	require.NoError(t, err)
	i, err := vllmargs.Read(strings.Join(lines, "\n"), vllmargs.Options{GPU: s.Pools[0].GPU.From, ReadFile: unread})
	require.NoError(t, err, strings.Join(lines, "\n"))
	return i
}

// TestWhatIsExportedIsImported: the script of a random deployment, read back, is that deployment.
func TestWhatIsExportedIsImported(t *testing.T) {
	read, by := 0, map[string]int{}
	for seed := range uint64(soak.Part(1000)) {
		text := scenario(seed)
		want, err := configs.Read("scenario", []byte(text), configs.Options{})
		if err != nil {
			continue // such as a page that the attention does not take
		}
		read++
		by[want.Pools[0].Engine]++
		i := imported(t, want)
		require.Empty(t, i.Unknown, text)
		require.Empty(t, i.Differs, text)
		got, err := configs.Read("scenario", i.Text, configs.Options{})
		require.NoError(t, err, "%s\n%s", text, i.Text)
		require.Equal(t, want.Pools, got.Pools, "seed %d\n%s\n%s", seed, text, i.Text)
		for _, pair := range [][2]any{{want.Model, got.Model}, {want.KVCache, got.KVCache}, {want.Stream, got.Stream},
			{catalog.WeightsOf(want.Model.Config, want.Weights), got.Weights}} {
			require.Equal(t, pair[0], pair[1], "seed %d\n%s\n%s", seed, text, i.Text)
		}
	}
	assert.Greater(t, read, soak.Least(500))
	assert.Len(t, by, 4, "every engine: %v", by)
}

// uncomment makes the block of speculation that an import writes a part of the scenario.
func uncomment(text string) string {
	return regexp.MustCompile(`(?m)^# (speculation:|  (?:method|draft_model|num_speculative_tokens|acceptance):)`).
		ReplaceAllString(text, "$1")
}

// TestDraftsAreExportedAndImported: uncommented, what is read back drafts as many tokens in the same way, and runs.
func TestDraftsAreExportedAndImported(t *testing.T) {
	for _, engine := range []string{"vllm-v1", "sglang", "tensorrt-llm"} {
		for _, method := range []string{"draft", "eagle", "mtp", "ngram"} {
			for _, tokens := range []int{1, 3, 9} {
				model, draft := "qwen3-32b", ""
				switch method {
				case "mtp":
					model = "deepseek-r1"
				case "draft":
					draft = ", draft_model: qwen3-0.6b"
				}
				want, err := configs.Read("scenario", []byte(fmt.Sprintf(`model: %s
pools: [{name: serve, gpu: b200-sxm, tensor_parallel: 8, engine: %s}]
speculation: {method: %s, num_speculative_tokens: %d%s, acceptance: {process: iid, rate: 0.6}}
`, model, engine, method, tokens, draft)+load), configs.Options{})
				require.NoError(t, err)
				i := imported(t, want)
				require.NotEmpty(t, i.Differs, "acceptance is for the user to say")
				got, err := configs.Read("scenario", []byte(uncomment(string(i.Text))), configs.Options{})
				require.NoError(t, err, string(i.Text))
				assert.Equal(t, method, got.Speculation.Method, string(i.Text))
				assert.Equal(t, tokens, got.Speculation.Tokens)
				assert.Equal(t, want.Speculation.DraftModel, got.Speculation.DraftModel)
				_, err = build.New(got)
				require.NoError(t, err, string(i.Text))
			}
		}
	}
}

// TestPoolsOfBothRolesAreImportedTogether: the number of replicas and the links between pools are what no line says.
func TestPoolsOfBothRolesAreImportedTogether(t *testing.T) {
	for _, engine := range []string{"vllm-v1", "sglang"} {
		want, err := configs.Read("scenario", []byte(`model: llama-3.1-70b
weights: fp8
kv_cache: fp8
pools:
  - {name: prefill, role: prefill, gpu: h100-sxm, tensor_parallel: 2, max_num_seqs: 32, engine: `+engine+`}
  - {name: decode, role: decode, gpu: h100-sxm, tensor_parallel: 4, max_num_seqs: 300, engine: `+engine+`}
speculation: {method: eagle, num_speculative_tokens: 2, acceptance: {process: iid, rate: 0.7}}
`+load), configs.Options{})
		require.NoError(t, err)
		i := imported(t, want)
		require.Empty(t, i.Unknown)
		got, err := configs.Read("scenario", []byte(uncomment(string(i.Text))), configs.Options{})
		require.NoError(t, err, string(i.Text))
		assert.Equal(t, want.Pools, got.Pools, string(i.Text))
		assert.Equal(t, want.Speculation.Tokens, got.Speculation.Tokens)
		_, err = build.New(got)
		require.NoError(t, err)
	}
}

// TestEachBuiltInScenarioIsStarted, or says why nothing does.
func TestEachBuiltInScenarioIsStarted(t *testing.T) {
	for _, name := range configs.ScenarioNames() {
		s, err := configs.Load(name, configs.Options{})
		require.NoError(t, err)
		b, err := build.New(s)
		require.NoError(t, err)
		all, err := Of(b.Scenario)
		b.Close()
		require.NoError(t, err)
		require.Len(t, all, len(s.Pools))
		for _, c := range all {
			script := strings.Join(c.Lines(), "\n")
			require.True(t, len(c.Words) > 0 || strings.Contains(script, "no server "), script)
			if len(c.Words) > 0 {
				_, err := vllmargs.Read(script, vllmargs.Options{GPU: c.GPU, ReadFile: unread})
				require.NoError(t, err, script)
			}
		}
	}
}

// TestWhatNoArgumentSaysIsRemarked and not left out in silence.
func TestWhatNoArgumentSaysIsRemarked(t *testing.T) {
	const pool = "pools: [{name: a, gpu: h100-sxm, tensor_parallel: 4, %s}]\n"
	for _, c := range []struct{ head, pool, want string }{
		{"", "engine: orca", "engine orca stands for a policy: no server has its rules"},
		{"", "queue_order: shortest-job", "scheduling_policy shortest-job is a what-if: no server orders its queue so"},
		{"weights: int4\n", "replicas: 1", "weights int4: name a checkpoint in that format"},
		{"kv_cache: mxfp4\n", "replicas: 1", "kv_cache mxfp4: the engine has no such cache"},
		{"router: round-robin\n", "replicas: 3", "start it once per replica, behind a router: round-robin"},
		{"", "attention: materialized", "attention materialized is a what-if"},
		{"", "engine: tensorrt-llm, enforce_eager: true",
			"enforce_eager: how trtllm-serve leaves out CUDA graphs is not written"},
		{"", "kv_offloading_size: 10, kv_load: sync",
			"kv_load sync: it is for the KV connector to say, such as LMCache's"},
		{"", "engine: sglang, hicache_size: 10", "hicache_size 10 GiB is rounded to whole gigabytes"},
	} {
		s, err := configs.Read("scenario", []byte("model: llama-3.1-70b\n"+c.head+fmt.Sprintf(pool, c.pool)+load),
			configs.Options{})
		require.NoError(t, err, c.pool)
		all, err := Of(s)
		require.NoError(t, err)
		assert.Contains(t, all[0].Remarks, c.want)
	}
}

// TestMachinesWithoutTheServerGetNoCommand: nobody starts vLLM on a wafer, and on a TPU it is a plugin's.
func TestMachinesWithoutTheServerGetNoCommand(t *testing.T) {
	for gpu, want := range map[string]string{
		"cerebras-wse-3": "of kind wafer, on which no server of vllm-v1 runs", "groq-lpu": "of kind lpu, on which no server",
		"tpu-v6e": "of kind tpu: the engine runs there by its maker's plugin", "trainium2": "of kind trainium: the engine",
	} {
		s, err := configs.Read("scenario", []byte("model: llama-3.1-8b\npools: [{gpu: "+gpu+"}]\n"+load), configs.Options{})
		require.NoError(t, err)
		all, err := Of(s)
		require.NoError(t, err)
		require.NotEmpty(t, all[0].Remarks)
		assert.Contains(t, all[0].Remarks[0], want)
		assert.Equal(t, strings.Contains(want, "no server"), len(all[0].Words) == 0, gpu)
	}
}

// TestAScenarioNeedNotBeBuilt: a recurrent state is never cached unless somebody asks for it, as in a run.
func TestAScenarioNeedNotBeBuilt(t *testing.T) {
	for set, want := range map[string]string{"seed=1": "--no-enable-prefix-caching",
		"pools.serve.enable_prefix_caching=false": "--no-enable-prefix-caching"} {
		s, err := configs.Load("mtp-coding-397b", configs.Options{Set: []string{set}})
		require.NoError(t, err)
		b, err := build.New(s)
		require.NoError(t, err)
		b.Close()
		for _, of := range []*configs.Scenario{s, b.Scenario} {
			all, err := Of(of)
			require.NoError(t, err)
			assert.Contains(t, all[0].Words, want)
		}
	}
}

func TestAScriptIsQuotedForAShell(t *testing.T) {
	for word, want := range map[string]string{
		"--tp-size": "--tp-size", "a b": "'a b'", `{"a":"b"}`: `'{"a":"b"}'`, "it's": `'it'\''s'`, "": "''",
	} {
		assert.Equal(t, want, quote(word))
	}
}

// TestSlotsOfAdaptersAreExportedAndImported: with all that they are limited by.
func TestSlotsOfAdaptersAreExportedAndImported(t *testing.T) {
	text := "model: llama-3.1-8b\npools:\n  - {gpu: h100-sxm, engine: vllm-v1, enable_lora: true, max_loras: 8, " +
		"max_lora_rank: 64,\n     max_cpu_loras: 32, lora_target_modules: [q_proj, v_proj]}\n" + load
	want, err := configs.Read("scenario", []byte(text), configs.Options{})
	require.NoError(t, err)
	i := imported(t, want)
	require.Empty(t, i.Unknown)
	require.Empty(t, i.Differs)
	got, err := configs.Read("scenario", i.Text, configs.Options{})
	require.NoError(t, err)
	require.True(t, got.Pools[0].EnableLoRA)
	require.Equal(t, want.Pools, got.Pools)
}
