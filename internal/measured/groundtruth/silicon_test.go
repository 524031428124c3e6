package groundtruth_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/measuredtest"
	"github.com/decodesim/decodesim/internal/measured/names"
	"github.com/decodesim/decodesim/internal/soak"
)

// siliconTable is a table of one row; edits are pairs of a column and its other value.
func siliconTable(edits ...string) string {
	return measuredtest.TableOf([]string{
		"id", "a", "quality", "A", "source", "inferencex", "model", "openai/gpt-oss-120b", "arch", "moe", "system",
		"h200_sxm",
		"backend", "vllm", "backend_version", "0.19.0", "image", "", "measured_date", "",
		"precision", "fp4", "gemm_quant", "", "mode", "agg", "isl", "1000",
		"osl", "500",
		"length_dist", "uniform_0.8", "concurrency", "4", "num_prompts", "40", "layout", "tp4-ep4-dp1", "layout_confidence",
		"high",
		"tp", "4", "ep", "4", "attn_tp", "1", "attn_dp", "4", "spec_method", "none", "engine_args_id", "s",
		"ttft_mean_ms", "100.5", "tpot_mean_ms", "7", "flags", "",
	}, edits)
}

const siliconScripts = `[{"engine_args_id": "s", "flags": {"max_num_batched_tokens": "\"$((ISL * 2 ))\"", "max_num_seqs": "$CONC",
  "gpu_mem": "0.90", "kv_cache_dtype": "fp8_e4m3"}}, {"engine_args_id": "odd", "flags": {"max_num_seqs": "$SEQS | 512", "kv_cache_dtype": "auto"}}]`

// TestTheVersionIsTheEngines: an image of Dynamo says its own, and rows before 2026 may say none.
func TestTheVersionIsTheEngines(t *testing.T) {
	const runtime = "nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:"
	for _, c := range []struct{ backend, version, image, date, want string }{
		{"trtllm", "1.2.0rc6.post2", "nvcr.io/nvidia/tensorrt-llm/release:1.2.0rc6.post2", "2026-02-01", "1.2.0rc6.post2"},
		{"trtllm", "0.8.1.post1", runtime + "0.8.1.post1", "2026-01-20", "1.2"},
		{"trtllm", "0.5.1-rc0.pre3", runtime + "0.5.1-rc0.pre3", "2025-12-02", "1.1"},
		{"trtllm", "1.3.0rc1", runtime + "0.9.0", "2026-03-01", "1.3.0rc1"},
		{"trtllm", "", "", "2025-11-20", "1.1"},
		{"trtllm", "", "", "2026-04-20", ""},
		{"trtllm", "gpt-oss-dev", "nvcr.io/nvidia/tensorrt-llm/release:gpt-oss-dev", "2025-12-02", "1.1"},
		{"vllm", "", "", "2025-11-20", "0.10"},
		{"sglang", "", "", "2025-11-20", ""},
	} {
		f, err := measuredtest.ReadText(t, siliconTable("backend", c.backend, "backend_version", c.version, "image", c.image,
			"measured_date", c.date), "engine_args.json", siliconScripts)
		require.NoError(t, err)
		assert.Equal(t, c.want, f.Runs[0].Labels.Version, c)
	}
}

func TestASweepIsSimulatedAsItsRowAndItsScriptSay(t *testing.T) {
	f, err := measuredtest.ReadText(t, siliconTable(), "engine_args.json", siliconScripts)
	run := measuredtest.OneRun(t, f, err)
	assert.Equal(t, "closed-loop sweeps", f.Schema)
	assert.Equal(t, measured.Run{
		ID: "a",
		Labels: measured.Labels{
			Source: "inferencex", Model: "gpt-oss-120b", Class: "moe", GPU: "h200-sxm", Engine: "vllm", Version: "0.19.0",
			Mode:    "agg",
			Quality: "A", Precision: "mxfp4", Parallel: "tp1-dp4-ep", Load: "1000/500", Concurrency: 4,
		},
		Scenario: `model: gpt-oss-120b
kv_cache: fp8
pools:
  - gpu: h200-sxm
    tensor_parallel: 1
    data_parallel: 4
    expert_parallel: true
    efficiency: vllm@0.19.0
    version: 0.22
    max_num_batched_tokens: 2000
    max_num_seqs: 4
    gpu_memory_utilization: 0.90
workload:
  closed_loop: {concurrency: 4}
  requests: 40
  prompt_tokens: {distribution: uniform, min: 800, max: 1000}
  output_tokens: {distribution: uniform, min: 400, max: 500}
`,
		Rows: []measured.Row{{ID: "a", Request: -1, Values: []measured.Value{measured.Lead(measured.TTFT, measured.Mean,
			100.5), measured.Lead(measured.TPOT, measured.Mean, 7)}}},
	}, run)
}

func TestASweepWithoutScriptTakesTheDefaultsOfTheEngine(t *testing.T) {
	f, err := measuredtest.ReadText(t, siliconTable("engine_args_id", "", "num_prompts", "", "length_dist",
		"fixed_nominal",
		"attn_tp", "4", "attn_dp", "1", "ep", "1"), "engine_args.json", siliconScripts)
	assert.Equal(t, withoutScript, measuredtest.OneRun(t, f, err).Scenario)
}

const withoutScript = `model: gpt-oss-120b
pools:
  - gpu: h200-sxm
    tensor_parallel: 4
    efficiency: vllm@0.19.0
    version: 0.22
workload:
  closed_loop: {concurrency: 4}
  requests: 40
  prompt_tokens: {distribution: fixed, mean: 1000}
  output_tokens: {distribution: fixed, mean: 500}
`

func TestOlderVersionsPlanOneStepAtATime(t *testing.T) {
	for version, asynchronous := range map[string]bool{"0.10.2": false, "v0.12.0": false, "0.13.9": false, "0.14.0": true,
		"1.0": true, "nightly-5b8c": true} {
		f, err := measuredtest.ReadText(t, siliconTable("backend_version", version, "engine_args_id", ""))
		assert.Equal(t, !asynchronous, strings.Contains(measuredtest.OneRun(t, f, err).Scenario, "async_scheduling: false"),
			version)
	}
	f, err := measuredtest.ReadText(t, siliconTable("backend_version", "0.10.2", "backend", "sglang", "engine_args_id",
		""))
	assert.NotContains(t, measuredtest.OneRun(t, f, err).Scenario, "overlap_schedule", "a version of another engine")
}

func TestTheUndocumentedSourceRanWithASmallBudget(t *testing.T) {
	gap := []string{"source", "nvidia_gap", "engine_args_id", "", "num_prompts", "", "length_dist", "fixed_nominal",
		"attn_tp", "4", "attn_dp", "1", "ep", "1"}
	f, err := measuredtest.ReadText(t, siliconTable(gap...))
	budget := strings.Replace(withoutScript, "workload:\n", "    max_num_batched_tokens: 2048\nworkload:\n", 1)
	assert.Equal(t, budget, measuredtest.OneRun(t, f, err).Scenario)
	f, err = measuredtest.ReadText(t, siliconTable(append(gap, "backend", "sglang")...))
	assert.NotContains(t, measuredtest.OneRun(t, f, err).Scenario, "chunked_prefill_size", "an argument of vLLM")
}

// TestTheUndocumentedSourceChoosesAsTheCheckpointAsks under vLLM, and the source whose client asks for the likeliest
// token does not.
func TestTheUndocumentedSourceChoosesAsTheCheckpointAsks(t *testing.T) {
	for _, c := range []struct{ source, backend, version, model, decoding string }{
		{"nvidia_gap", "vllm", "0.12.0", "Qwen/Qwen3-32B", "decoding: {sampling: top-p-sorted}\n"},
		{"nvidia_gap", "vllm", "0.18.0", "Qwen/Qwen3-32B", "decoding: {sampling: top-p}\n"},
		{"nvidia_gap", "vllm", "0.12.0", "openai/gpt-oss-120b", ""},
		{"nvidia_gap", "sglang", "0.5.1.post1", "Qwen/Qwen3-32B", ""},
		{"inferencex", "vllm", "0.12.0", "Qwen/Qwen3-32B", ""},
	} {
		f, err := measuredtest.ReadText(t, siliconTable("source", c.source, "backend", c.backend, "model", c.model,
			"backend_version", c.version, "precision", "", "engine_args_id", ""))
		text := measuredtest.OneRun(t, f, err).Scenario
		if c.decoding == "" {
			assert.NotContains(t, text, "decoding", "%+v", c)
		} else {
			assert.Contains(t, text, c.decoding, "%+v", c)
		}
	}
}

func TestVariablesOfAScriptThatAreNotKnownAreLeftOut(t *testing.T) {
	f, err := measuredtest.ReadText(t, siliconTable("engine_args_id", "odd"), "engine_args.json", siliconScripts)
	text := measuredtest.OneRun(t, f, err).Scenario
	assert.NotContains(t, text, "max_num_seqs")
	assert.NotContains(t, text, "kv_cache")
}

func TestSweepsBeyondTheModelKeepTheirValuesAndSayWhy(t *testing.T) {
	for _, c := range []struct {
		edits []string
		why   string
	}{
		{[]string{"mode", "disagg", "spec_method", "mtp", "attn_tp", "", "concurrency", "", "ep", "", "tp", ""},
			"speculative decoding (mtp), whose accepted lengths are not stated"},
		{[]string{"mode", "Disagg"}, "the parallel layout is not known"},
		{[]string{"mode", "static"}, "mode static, which is not modelled"},
		{[]string{"mode", ""}, "unknown whether prefill and decode share a pool"},
		{[]string{"length_dist", "zipf"}, `lengths "zipf", which are not modelled`},
		{[]string{"isl", ""}, "isl is not stated"},
		{[]string{"spec_method", "mtp"}, "speculative decoding (mtp), whose accepted lengths are not stated"},
		{[]string{"spec_method", "unknown"}, "unknown whether it speculates"},
		{[]string{"concurrency", ""}, "the number of clients is not stated"},
		{[]string{"backend", "lmdeploy"}, "engine lmdeploy is not modelled"},
		{[]string{"model", "x/unheard-of"}, "model x/unheard-of is not in the catalog"},
		{[]string{"system", "abacus"}, "GPU abacus is not in the catalog"},
		{[]string{"precision", "fp2"}, "weights in fp2 are not modelled"},
		{[]string{"attn_tp", ""}, "the parallel layout is not known"},
		{[]string{"layout_confidence", "unknown"}, "the parallel layout is not known"},
		{[]string{"tp", "8"}, "the parallel layout contradicts itself"},
		{[]string{"isl", "200000"}, "prompt and output are longer than the context of the model"},
	} {
		f, err := measuredtest.ReadText(t, siliconTable(c.edits...))
		run := measuredtest.OneRun(t, f, err)
		assert.Equal(t, c.why, run.Skip)
		assert.Empty(t, run.Scenario)
		assert.Len(t, run.Rows[0].Values, 2)
	}
}

func TestAColdTTFTIsNotCompared(t *testing.T) {
	f, err := measuredtest.ReadText(t, siliconTable("flags", "ttft_cold_start|ttft_low_trust"))
	values := measuredtest.OneRun(t, f, err).Rows[0].Values
	assert.Equal(t, "TTFT is not to be trusted (flag ttft_low_trust)", values[0].Skip)
	assert.Empty(t, values[1].Skip)
}

func TestBadFieldsOfASweepAreNamed(t *testing.T) {
	for want, edits := range map[string][]string{
		`data:2: tpot_mean_ms: "fast"; expected a number, or nothing`:            {"tpot_mean_ms", "fast"},
		`data:2: ttft_mean_ms: "-1"; expected a latency in milliseconds above 0`: {"ttft_mean_ms", "-1"},
		`data:2: concurrency: "0"; expected a whole number from 1 to 1e9`:        {"concurrency", "0"},
		`data:2: num_prompts: "2.5"; expected a whole number from 1 to 1e9`:      {"num_prompts", "2.5"},
		`data:2: length_dist: "uniform_1.2"; expected "fixed", or "uniform_" and a share in (0, 1]`: {"length_dist",
			"uniform_1.2"},
		`data:2: attn_tp: "-4"; expected a whole number from 1 to 1e9`: {"attn_tp", "-4"},
	} {
		_, err := measuredtest.ReadText(t, siliconTable(edits...))
		assert.EqualError(t, err, want)
	}
}

// TestEverySharedSweepIsARun pins what becomes of the rows.
func TestEverySharedSweepIsARun(t *testing.T) {
	f := measuredtest.ReadShared(t, "A_aic_silicon.csv")
	require.Len(t, f.Runs, 2140)
	assert.Equal(t, 2140, measuredtest.CountRows(t, f))
	assert.Equal(t, map[string]int{
		"": 1686,
		"speculative decoding (mtp), whose accepted lengths are not stated":   224,
		"unknown whether it speculates":                                       108,
		"the parallel layout is not known":                                    64,
		"the parallel layout is not to be trusted (flag ep_field_unreliable)": 45,
		"the number of clients is not stated":                                 13,
	}, measuredtest.SkipReasons(f))
	withheld, exact := map[string]int{}, 0
	for _, run := range f.Runs {
		require.Len(t, run.Rows[0].Values, 2)
		withheld[run.Rows[0].Values[0].Skip]++
		if run.Labels.Quality == "A" && run.Skip == "" {
			exact++
		}
		if run.Skip == "" {
			assert.Equal(t, names.ClassOf(run.Labels.Model), run.Labels.Class, run.ID)
		}
	}
	assert.Equal(t, 1152, exact, "rows of quality A, which are all to be simulated")
	assert.Equal(t, map[string]int{
		"": 1991,
		"TTFT is not to be trusted (flag ttft_low_trust)": 149,
	}, withheld)
	measuredtest.BuildAll(t, f)
}

// TestNoRunOfSiliconDraftsOrHasAdaptersOrTiers: errors to expect are of these runs, and the line that says them says of
// a scenario that has such parts that none of the runs had (internal/expected).
func TestNoRunOfSiliconDraftsOrHasAdaptersOrTiers(t *testing.T) {
	soak.TakesLong(t)
	f, runs := measuredtest.ReadShared(t, "A_aic_silicon.csv"), 0
	for _, run := range f.Runs {
		if run.Skip != "" {
			continue
		}
		runs++
		s, err := configs.Read(run.ID, []byte(run.Scenario), configs.Options{})
		require.NoError(t, err)
		require.False(t, s.Speculation.On(), run.ID)
		for _, p := range s.Pools {
			require.False(t, p.EnableLoRA || p.KVTiers != nil || p.KVOffloadingSize > 0, run.ID)
		}
	}
	require.Greater(t, runs, 1000)
}
