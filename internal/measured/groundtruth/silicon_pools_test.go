package groundtruth_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/measured/measuredtest"
)

// disaggregatedTable is a table of one row with a pool for prompts and one for outputs; edits are pairs of a column and
// its other value.
func disaggregatedTable(edits ...string) string {
	return measuredtest.TableOf([]string{
		"id", "a", "quality", "B", "source", "inferencex", "model", "deepseek-ai/DeepSeek-R1", "arch", "moe-mla", "system",
		"b200_sxm",
		"backend", "trtllm", "backend_version", "0.8.1", "precision", "fp8", "gemm_quant", "fp8", "mode", "disagg", "isl",
		"1024", "osl", "1024",
		"length_dist", "uniform_0.8", "concurrency", "4", "num_prompts", "40", "layout", "P1x8.ep8.dp1-D3x8.ep1.dp0-T32",
		"layout_confidence", "high",
		"p_workers", "1", "p_gpus_per_worker", "8", "p_ep", "8", "p_dp_attn", "1", "pool_gpus_prefill", "8",
		"d_workers", "3", "d_gpus_per_worker", "8", "d_ep", "1", "d_dp_attn", "0", "pool_gpus_decode", "24",
		"spec_method", "none", "recipe", "recipes/trtllm/b200-fp8/ctx1_gen3_tp8_batch1024_eplb0_mtp0_4.yaml",
		"engine_args_id", "",
		"ttft_mean_ms", "100.5", "tpot_mean_ms", "7", "flags", "",
	}, edits)
}

func TestPromptsAndOutputsInPoolsOfTheirOwn(t *testing.T) {
	f, err := measuredtest.ReadText(t, disaggregatedTable())
	run := measuredtest.OneRun(t, f, err)
	assert.Equal(t, "1P-tp1-dp8-ep/3D-tp8", run.Labels.Parallel)
	assert.Equal(t, "disagg", run.Labels.Mode)
	assert.Equal(t, `model: deepseek-r1
pools:
  - name: prefill
    role: prefill
    gpu: b200-sxm
    replicas: 1
    tensor_parallel: 1
    data_parallel: 8
    expert_parallel: true
    engine: tensorrt-llm
    efficiency: tensorrt-llm@0.8.1
    kv_transfer: pull
    first_token: decode
    kv_link: nic
    max_num_tokens: 8192
  - name: decode
    role: decode
    gpu: b200-sxm
    replicas: 3
    tensor_parallel: 8
    engine: tensorrt-llm
    efficiency: tensorrt-llm@0.8.1
    max_num_tokens: 8192
    max_batch_size: 1024
router: round-robin
workload:
  closed_loop: {concurrency: 4}
  requests: 40
  prompt_tokens: {distribution: uniform, min: 819, max: 1024}
  output_tokens: {distribution: uniform, min: 819, max: 1024}
`, run.Scenario)
	_, err = configs.Read(run.ID, []byte(run.Scenario), configs.Options{})
	assert.NoError(t, err)
}

func TestASweepSaysHowManySequencesADecodeWorkerTakes(t *testing.T) {
	table := disaggregatedTable("recipe", "", "group_id", "g", "concurrency", "10")
	last := strings.Split(disaggregatedTable("recipe", "", "group_id", "g", "concurrency", "60", "id", "b"), "\n")[1]
	f, err := measuredtest.ReadText(t, table+last+"\n")
	require.NoError(t, err)
	require.Len(t, f.Runs, 2)
	for i := range f.Runs {
		assert.Contains(t, f.Runs[i].Scenario, "max_batch_size: 16\n", "of the three workers of a sweep of 60 clients")
	}
	f, err = measuredtest.ReadText(t, disaggregatedTable("recipe", "", "source", "nvidia_gap"))
	assert.NotContains(t, measuredtest.OneRun(t, f, err).Scenario, "max_batch_size", "no recipes of InferenceX")
}

// TestPoolsKeepTheirCacheAsTheScriptsOfSingleServersDo: recipes of pools do not state its type.
func TestPoolsKeepTheirCacheAsTheScriptsOfSingleServersDo(t *testing.T) {
	row := func(edits ...string) string { return strings.Split(disaggregatedTable(edits...), "\n")[1] + "\n" }
	server := func(edits ...string) string {
		return row(append([]string{"id", "s", "mode", "agg", "system", "b300_sxm", "engine_args_id", "trt"}, edits...)...)
	}
	for _, c := range []struct {
		rows  string
		cache bool
	}{
		{"", false},
		{server(), true},
		{server("precision", "fp4"), false},
		{server("model", "openai/gpt-oss-120b"), false},
		{server("backend", "sglang"), false},
		{server("system", "h200_sxm"), false},
		{server("engine_args_id", "trt-odd"), false},
		{server() + server("id", "o", "engine_args_id", "trt-odd") + server("id", "p"), false},
		{server("engine_args_id", "trt-odd") + server("id", "p"), false},
	} {
		for source, ours := range map[string]bool{"inferencex": true, "nvidia_gap": false} {
			f, err := measuredtest.ReadText(t, disaggregatedTable("source", source)+c.rows, "engine_args.json", otherScripts)
			require.NoError(t, err)
			cache := strings.Contains(f.Runs[0].Scenario, "\nkv_cache: fp8\n")
			assert.Equal(t, c.cache && ours, cache, "%s beside %s", source, c.rows)
		}
	}
}

func TestEnginesAndRacksTransferKVInTheirOwnWay(t *testing.T) {
	f, err := measuredtest.ReadText(t, disaggregatedTable("backend", "sglang", "system", "gb200", "recipe",
		"recipes/gb200-fp8/1k1k/max-tpt.yaml"))
	text := measuredtest.OneRun(t, f, err).Scenario
	assert.Contains(t, text, "    kv_transfer: push\n    first_token: decode\n    kv_link: nvlink\n")
	assert.Equal(t, 2, strings.Count(text, "engine: sglang\n"))
	assert.NotContains(t, text, "max_", "nothing is known of the arguments of its servers")
	assert.Equal(t, 1, strings.Count(text, "    load_balance_method: follow_bootstrap_room\n"), "decode has one rank")
	assert.Equal(t, 1, strings.Count(text, "    all_to_all: normal\n"), "of prompts alone")
}

func TestLongPromptsOfPrefillWorkersRunWhole(t *testing.T) {
	f, err := measuredtest.ReadText(t, disaggregatedTable("isl", "15000", "osl", "500"))
	assert.Equal(t, 2, strings.Count(measuredtest.OneRun(t, f, err).Scenario, "    max_num_tokens: 15000\n"),
		"in both pools")
}

func TestPoolsThatAreNotKnownAreSkipped(t *testing.T) {
	for _, c := range []struct {
		edits []string
		why   string
	}{
		{[]string{"p_workers", ""}, "the parallel layout is not known"},
		{[]string{"d_gpus_per_worker", ""}, "the parallel layout is not known"},
		{[]string{"layout_confidence", "unknown"}, "the parallel layout is not known"},
		{[]string{"flags", "ep_field_unreliable|warmup_2xconc"},
			"the parallel layout is not to be trusted (flag ep_field_unreliable)"},
		{[]string{"pool_gpus_decode", "16"}, "the parallel layout contradicts itself"},
		{[]string{"p_ep", "16"}, "the parallel layout contradicts itself"},
		{[]string{"concurrency", ""}, "the number of clients is not stated"},
		{[]string{"spec_method", "mtp", "p_workers", ""},
			"speculative decoding (mtp), whose accepted lengths are not stated"},
	} {
		f, err := measuredtest.ReadText(t, disaggregatedTable(c.edits...))
		run := measuredtest.OneRun(t, f, err)
		assert.Equal(t, c.why, run.Skip)
		assert.Empty(t, run.Scenario)
		assert.Len(t, run.Rows[0].Values, 2)
	}
}
