package longform_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/measuredtest"
)

// table is a table of one server row; edits are pairs of column and value.
func table(edits ...string) string {
	return measuredtest.TableOf([]string{
		"id", "r1", "kind", "server", "model", "llama-3.1-8b", "gpu", "h100-sxm", "gpus", "1", "engine", "vllm", "tp", "1",
		"pp", "", "dp", "", "ep", "", "weights", "fp8", "kv_cache", "fp8", "isl", "1000", "osl", "100",
		"concurrency_or_batch", "", "arrivals", "poisson", "offered_rps", "4", "spec", "", "metric", "tpot_mean",
		"value", "9", "unit", "ms", "per", "request", "quality", "A", "source", "me", "deployment", "", "notes", "",
		"version", "",
	}, edits)
}

func oneRun(t *testing.T, edits ...string) measured.Run {
	f, err := measuredtest.ReadText(t, table(edits...))
	return measuredtest.OneRun(t, f, err)
}

func TestEveryKindOfArrivals(t *testing.T) {
	for _, c := range []struct{ kind, arrivals, batch, workload string }{
		{"server", "poisson", "", "arrivals: {process: poisson, rate: 4}\n  requests: 2400"},
		{"server", "poisson; 77 requests", "", "arrivals: {process: poisson, rate: 4}\n  requests: 77"},
		{"server", "Closed-loop 8", "", "closed_loop: {concurrency: 8}\n  requests: 80"},
		{"server", "closed loop 8", "", "closed_loop: {concurrency: 8}\n  requests: 80"},
		{"server", "closed loop; 500 prompts", "16", "closed_loop: {concurrency: 16}\n  requests: 500"},
		{"offline_throughput", "all at t=0; 3000 requests", "", "closed_loop: {concurrency: 3000}\n  requests: 3000"},
		{"decode_step", "one static batch", "32", "closed_loop: {concurrency: 32}\n  requests: 32"},
		{"single_stream", "", "", "closed_loop: {concurrency: 1}\n  requests: 10"},
	} {
		rate := ""
		if strings.HasPrefix(c.arrivals, "poisson") {
			rate = "4"
		}
		run := oneRun(t, "kind", c.kind, "arrivals", c.arrivals, "concurrency_or_batch", c.batch, "offered_rps", rate)
		require.Empty(t, run.Skip, c.arrivals)
		assert.Contains(t, run.Scenario, "workload:\n  "+c.workload+"\n", c.arrivals)
		assert.Contains(t, run.Scenario, "prompt_tokens: {distribution: fixed, mean: 1000}\n", c.arrivals)
	}
}

func TestUnitsAndWhatAValueIsPer(t *testing.T) {
	for _, c := range []struct {
		metric, unit, per string
		canonical, want   float64 // in milliseconds or per second of the system
	}{
		{"tpot_mean", "ms", "request", 9, 9}, {"tpot", "ms", "token", 9, 9}, {"ttft_p99", "s", "request", 250, 0.25},
		{"e2e_mean", "us", "request", 2, 2000}, {"itl_avg", "ms", "token", 7, 7},
		{"output_tokens_per_s", "tok/s", "system", 800, 800}, {"output_tokens_per_s", "tok/s", "gpu", 800, 100},
		{"output_tokens_per_s", "tok/s", "node of 8", 800, 800}, {"requests_per_s", "req/s", "replica", 8, 4},
		{"tokens_per_s_user", "tok/s", "user", 20, 50},
	} {
		run := oneRun(t, "metric", c.metric, "unit", c.unit, "per", c.per, "gpus", "8", "tp", "4")
		require.Empty(t, run.Skip, c.metric)
		v := run.Rows[0].Values[0]
		assert.InEpsilon(t, c.want, v.Unit.Of(c.canonical), 1e-12, "%s per %s", c.metric, c.per)
		assert.InEpsilon(t, 9.0, v.Measured, 1e-12, "the value is as measured")
		v.Measured = c.want
		plain := v.Canonical()
		assert.InEpsilon(t, c.canonical, plain.Measured, 1e-12, "a fit takes it in milliseconds or per second")
		assert.Contains(t, run.Scenario, "replicas: 2", "8 GPUs are two replicas of 4")
	}
}

// A list of prompts of which one token each is asked is one full step of prompts after another, on a server that
// decodes nothing; and where more is asked, requests.
func TestAListOfPromptsIsStepsOfPromptsAlone(t *testing.T) {
	list := func(osl string) measured.Run {
		return oneRun(t, "kind", "prefill", "model", "deepseek-r1", "gpu", "h200-sxm", "gpus", "8", "tp", "8", "isl", "4096",
			"arrivals", "all at t=0; 512 prompts", "offered_rps", "", "osl", osl, "metric", "input_tokens_per_s", "unit",
			"tok/s", "per", "node of 8")
	}
	run := list("1")
	require.Empty(t, run.Skip)
	require.NotNil(t, run.Priced)
	assert.Equal(t, measured.Step{Prefills: 2, ChunkTokens: 4096, Separate: true}, *run.Priced.Step)
	assert.InEpsilon(t, 8192/0.5, run.Rows[0].Values[0].Unit.Of(0.5), 1e-12, "8,192 tokens of the node in half a second")
	assert.Nil(t, list("2").Priced)
}

// Weights that are fetched from the host leave a GPU that could not hold them room; a cache that is offloaded does not.
func TestWeightsInTheMemoryOfTheHostAreNoObstacle(t *testing.T) {
	for notes, want := range map[string]bool{
		"2 ranks per prefill instance with weight offload to CPU memory": true,
		"4 instances of 2 GPUs; expert weights half offloaded":           true,
		"CPU KV offload on": false, "weights in fp8; KV offload on": false, "": false,
	} {
		run := oneRun(t, "kind", "prefill", "model", "deepseek-r1", "gpu", "gb200", "gpus", "2", "dp", "2", "ep", "2",
			"weights", "nvfp4", "isl", "2000", "osl", "1", "arrivals", "", "offered_rps", "", "metric", "input_tokens_per_s",
			"unit", "tok/s", "per", "gpu", "notes", notes)
		require.Empty(t, run.Skip)
		assert.Equal(t, want, strings.Contains(run.Scenario, "{from: gb200, memory_bytes: "), notes)
	}
}

func TestPromptsOfRequestsCountAsInputTokens(t *testing.T) {
	run := oneRun(t, "kind", "prefill", "arrivals", "all at t=0; 512 prompts", "offered_rps", "", "osl", "9", "metric",
		"input_tokens_per_s", "unit", "tok/s", "per", "gpu", "gpus", "2", "tp", "2")
	require.Empty(t, run.Skip)
	v := run.Rows[0].Values[0]
	assert.Equal(t, measured.RequestsPerS, v.Metric)
	assert.InEpsilon(t, 3*1000/2.0, v.Unit.Of(3), 1e-12, "3 requests/s of 1,000 tokens on 2 GPUs")
}

func TestAStepWithDraftsYieldsWhatTheRowSays(t *testing.T) {
	edits := []string{"kind", "decode_step", "model", "deepseek-v3", "gpu", "b200-sxm", "gpus", "8", "tp", "8", "arrivals",
		"", "offered_rps", "", "concurrency_or_batch", "4", "isl", "4000", "osl", "100", "spec", "mtp3 (accept 2.5)"}
	run := oneRun(t, append(edits, "metric", "output_tokens_per_s", "unit", "tok/s", "per", "system")...)
	require.Empty(t, run.Skip)
	assert.Equal(t, &measured.Step{Decodes: 4, DecodeContext: 4050, Drafts: 3}, run.Priced.Step)
	assert.InEpsilon(t, 4*2.5/0.02, run.Rows[0].Values[0].Unit.Of(0.02), 1e-12)
	run = oneRun(t, append(edits, "metric", "tpot_mean", "unit", "ms", "per", "request")...)
	assert.InEpsilon(t, 20/2.5, run.Rows[0].Values[0].Unit.Of(0.02), 1e-12)
}

func TestRowsOfOneRunAreOneSimulation(t *testing.T) {
	head, row, _ := strings.Cut(table(), "\n")
	other := strings.NewReplacer("r1,", "r2,", "tpot_mean", "ttft_p99").Replace(row)
	third := strings.NewReplacer("r1,", "r3,", ",1000,", ",2000,").Replace(row)
	f, err := measuredtest.ReadText(t, head+"\n"+row+third+other)
	require.NoError(t, err)
	require.Len(t, f.Runs, 2)
	assert.Equal(t, []string{"r1", "r2"}, []string{f.Runs[0].Rows[0].ID, f.Runs[0].Rows[1].ID})
	assert.Equal(t, "r3", f.Runs[1].Rows[0].ID)
	assert.Equal(t, 3, measuredtest.CountRows(t, f))
	measuredtest.BuildAll(t, f)
}

func TestAStepCountsTheSequencesOfEveryRank(t *testing.T) {
	run := oneRun(t, "kind", "decode_step", "model", "deepseek-v3", "engine", "sglang", "gpus", "16", "dp", "16",
		"ep", "16",
		"arrivals", "", "offered_rps", "", "concurrency_or_batch", "2", "isl", "4000", "osl", "100", "metric",
		"output_tokens_per_s", "unit", "tok/s", "per", "gpu")
	require.Empty(t, run.Skip)
	assert.Equal(t, &measured.Step{Decodes: 32, DecodeContext: 4050, Separate: true}, run.Priced.Step)
	assert.InEpsilon(t, 2/0.020, run.Rows[0].Values[0].Unit.Of(0.020), 1e-12, "2 tokens of a GPU in a step of 20 ms")
	run = oneRun(t, "kind", "prefill", "arrivals", "", "offered_rps", "", "isl", "2048", "osl", "", "metric",
		"input_tokens_per_s", "unit", "tok/s", "per", "gpu", "concurrency_or_batch", "")
	require.Empty(t, run.Skip)
	assert.Equal(t, &measured.Step{Prefills: 4, ChunkTokens: 2048}, run.Priced.Step, "8,192 tokens")
	assert.InEpsilon(t, 8192/0.5, run.Rows[0].Values[0].Unit.Of(0.5), 1e-12)
}

// SGLang takes fewer sequences with drafts by itself than a batch that was measured has.
func TestAServerOfAMeasuredStepTakesItsBatch(t *testing.T) {
	edits := []string{"kind", "decode_step", "engine", "sglang", "arrivals", "", "offered_rps", "",
		"concurrency_or_batch", "96", "isl", "4000", "osl", "100", "metric", "step_time", "unit", "ms", "per", "step"}
	run := oneRun(t, append(edits, "model", "deepseek-v3", "gpu", "h200", "gpus", "8", "tp", "8",
		"spec", "mtp1 (accept 1.8)")...)
	require.Empty(t, run.Skip)
	assert.Contains(t, run.Scenario, "max_running_requests: 96\n")
	assert.NotContains(t, oneRun(t, edits...).Scenario, "max_running_requests", "nothing drafts")
}

// SGLang over 16 data-parallel ranks or more is given the memory that its own reserve would not leave.
func TestWideRanksOfSGLangHaveRoom(t *testing.T) {
	const given = "mem_fraction_static: 0.85"
	edits := []string{"kind", "decode_step", "model", "deepseek-r1", "engine", "sglang", "metric", "output_tokens_per_s",
		"unit", "tok/s", "per", "node of 8", "arrivals", "", "offered_rps", "", "concurrency_or_batch", "256", "tp", "1",
		"dp", "72", "ep", "72", "gpus", "72"}
	run := oneRun(t, edits...)
	require.Empty(t, run.Skip)
	assert.Contains(t, run.Scenario, given)
	assert.Equal(t, 256*72, run.Priced.Step.Decodes)
	run = oneRun(t, append(edits, "dp", "8", "ep", "8", "gpus", "8")...)
	require.Empty(t, run.Skip)
	assert.NotContains(t, run.Scenario, given)
}

func TestCollectivesAndKernelsKeepTheirShape(t *testing.T) {
	run := oneRun(t, "kind", "collective", "engine", "nccl-tests", "gpus", "8", "concurrency_or_batch", "1048576",
		"metric",
		"allreduce_busbw", "unit", "GB/s", "per", "gpu")
	require.Empty(t, run.Skip)
	reduce := measured.Kernel{Op: measured.AllReduce, GPU: "h100-sxm", GPUs: 8, Bytes: 1 << 20, NCCL: true}
	assert.Equal(t, &reduce, run.Priced.Kernel)
	assert.InEpsilon(t, 1048576*1.75/1e-5/1e9, run.Rows[0].Values[0].Unit.Of(1e-5), 1e-12)
	run = oneRun(t, "kind", "collective", "engine", "nccl-tests all_reduce_perf", "gpus", "16", "concurrency_or_batch",
		"1048576", "metric", "allreduce_busbw", "unit", "GB/s", "per", "gpu", "version", "2.18.5", "notes", "EFA 4x100G")
	reduce.GPUs, reduce.LaunchS, reduce.NetworkBps = 16, 10e-6, 6.25e9
	assert.Equal(t, &reduce, run.Priced.Kernel, "an older release, and four adapters of a host")
	run = oneRun(t, "kind", "collective", "model", `"deepseek-v3 shape (hidden 7168, top-8, 256 experts)"`, "metric",
		"alltoall_combine_time", "unit", "us", "gpus", "16", "engine", "tensorrt-llm NVLinkOneSided", "weights", "bf16",
		"concurrency_or_batch", "64", "notes", "tokens per rank; perfectly balanced router")
	assert.Equal(t, &measured.Kernel{Op: measured.Combine, GPU: "h100-sxm", GPUs: 16, Rows: 64,
		Dtype: "bf16", Way: "one-sided", Balanced: true, Width: 1, Hidden: 7168, TopK: 8, Experts: 256}, run.Priced.Kernel)
	run = oneRun(t, "kind", "collective", "model", "deepseek-v3 shape (hidden 7168; top-8; 256 experts)", "metric",
		"alltoall_dispatch_time", "unit", "us", "gpus", "16")
	assert.Contains(t, run.Skip, `model: expected the layer as "hidden 7168, top-8, 256 experts"`)
	run = oneRun(t, "kind", "kernel", "metric", "gemm_tflops", "unit", "TFLOPS", "notes", "m=64 n=128 k=256", "weights",
		"fp16")
	require.Empty(t, run.Skip)
	assert.Equal(t, &measured.Kernel{Op: measured.Product, GPU: "h100-sxm", Engine: "vllm", GPUs: 1, Dtype: "bf16",
		Rows:  64,
		Width: 128, Hidden: 256}, run.Priced.Kernel)
}

func TestRowsThatCannotBeModelledSayWhy(t *testing.T) {
	for _, c := range []struct {
		why   string
		edits []string
	}{
		{"tp is not stated", []string{"tp", "", "gpus", "8"}},
		{`tp "64 cores" is no number of GPUs`, []string{"tp", "64 cores"}},
		{"8 GPUs are no multiple of the 3 of a replica", []string{"tp", "3", "gpus", "8"}},
		{`isl "sharegpt" is no number of tokens`, []string{"isl", "sharegpt"}},
		{"isl: a dataset whose prompts are not known", []string{"isl", "dataset"}},
		{"osl is not stated", []string{"osl", "?"}},
		{"the model is not stated", []string{"model", ""}}, {"the GPU is not stated", []string{"gpu", ""}},
		{"GPU h21z is not in the catalog", []string{"gpu", "h21z"}},
		{"a hosted API, whose chips, batch and drafts are not stated", []string{"engine", "hosted API"}},
		{"weights in fp32 are not modelled", []string{"weights", "fp32"}},
		{"unknown whether it speculates", []string{"spec", "unknown"}},
		{"speculative decoding (mtp3) without its drafts and tokens per step", []string{"spec", "mtp3"}},
		{"how many requests there were is not stated", []string{"kind", "offline_throughput", "arrivals", "all at t=0",
			"offered_rps", ""}},
		{"arrivals \"multi-turn trace\" are not modelled", []string{"arrivals", "multi-turn trace"}},
		{"metric ttft_men is not predicted; did you mean \"ttft_mean\"?", []string{"metric", "ttft_men"}},
		{`per "gpu" is not what a latency is of; it is request, user, batch, step, token`, []string{"per", "gpu"}},
		{`per "gpu" is not what a latency is of; it is request, user, batch, step`,
			[]string{"metric", "ttft_median", "per", "gpu"}},
		{`per "card" is not what a latency is of; it is request, user, batch, step`, []string{"kind", "decode_step",
			"arrivals", "", "offered_rps", "", "concurrency_or_batch", "8", "metric", "step_time", "per", "card"}},
		{`engine vLLM 0.11 is not modelled; did you mean "vllm", and "0.11" as its version?`,
			[]string{"engine", "vLLM 0.11"}},
		{`engine trtllm==1.1.0 is not modelled`, []string{"engine", "trtllm==1.1.0"}},
		{`per "card" is not predicted`, []string{"metric", "output_tokens_per_s", "unit", "tok/s", "per", "card"}},
		{"prefill and decode on separate pools", []string{"per", "gpu (prefill+decode)"}},
		{"prefill and decode on separate pools", []string{"deployment", "llama-8b|h100|pd-tp4-tp4"}},
		{"a ratio of two systems", []string{"kind", "speedup"}},
		{"a ratio of two systems", []string{"kind", "speedup", "metric", "speedup_vs_no_spec", "unit", "x"}},
	} {
		run := oneRun(t, c.edits...)
		assert.Contains(t, run.Skip, c.why)
		assert.Empty(t, run.Scenario)
		assert.Nil(t, run.Priced)
		assert.Len(t, run.Rows[0].Values, 1, "the value is still reported")
	}
}

func TestBadValuesNameLineAndColumn(t *testing.T) {
	for _, c := range []struct{ column, value, want string }{
		{"value", "fast", "a number, or nothing"}, {"value", "", "a number above 0"}, {"value", "-3", "a number above 0"},
		{"unit", "tok/s", "one of ms, s, us, µs for tpot_mean"}, {"tp", "0", "a whole number from 1 to 1e12, or nothing"},
		{"gpus", "eight", "a whole number from 1 to 1e12, or nothing"}, {"isl", "-5", "tokens from 1 to 1e9"},
		{"offered_rps", "-1", "requests/s above 0, up to 1e9"}, {"offered_rps", "four", "a number, or nothing"},
		{"kind", "serving", "one of offline_throughput, server, single_stream, decode_step, prefill, collective, " +
			"kernel, or nothing"},
		{"spec", "mtp1 (accept 3)", "tokens per step from 1 to 2, one more than the drafts"},
		{"metric", "", "what was measured, such as ttft_mean, tpot_mean or output_tokens_per_s"},
	} {
		_, err := measuredtest.ReadText(t, table(c.column, c.value))
		assert.EqualError(t, err, fmt.Sprintf("data:2: %s: %q; expected %s", c.column, c.value, c.want), c.column)
	}
}

// TestAMisspeltColumnIsNamed: what it states would else be left out in silence.
func TestAMisspeltColumnIsNamed(t *testing.T) {
	head, row, _ := strings.Cut(table(), "\n")
	f, err := measuredtest.ReadText(t, strings.Replace(head, "concurrency_or_batch", "concurrency", 1)+",headline,mood\n"+
		strings.TrimSpace(row)+",1,good\n")
	require.NoError(t, err)
	assert.Contains(t, f.Notes, `columns that are not read: "concurrency" (did you mean "concurrency_or_batch"?), "mood"`)
	f, err = measuredtest.ReadText(t, table())
	require.NoError(t, err)
	for _, note := range f.Notes {
		assert.NotContains(t, note, "not read")
	}
}

func TestAKindMayBeAbsent(t *testing.T) {
	for _, c := range []struct{ metric, unit, arrivals, rate, kind string }{
		{"tpot_mean", "ms", "poisson", "4", "server"}, {"tpot_mean", "ms", "closed loop 4", "", "server"},
		{"output_tokens_per_s", "tok/s", "all at t=0; 9 requests", "", "offline_throughput"},
		{"batch_latency", "s", "one static batch", "", "decode_step"}, {"input_tokens_per_s", "tok/s", "", "", "prefill"},
		{"allreduce_time", "us", "", "", "collective"}, {"gemm_time", "us", "", "", "kernel"},
	} {
		run := oneRun(t, "kind", "", "metric", c.metric, "unit", c.unit, "arrivals", c.arrivals, "offered_rps", c.rate)
		assert.Equal(t, c.kind, run.Labels.Kind, c.metric)
	}
}

// TestDraftsYieldWhatTheRowSays: 3 drafts each accepted with probability r yield 1 + r + r² + r³ tokens.
func TestDraftsYieldWhatTheRowSays(t *testing.T) {
	run := oneRun(t, "model", "deepseek-r1", "gpus", "8", "tp", "8", "spec", "mtp3 (accept 2.0-2.4)")
	require.Empty(t, run.Skip)
	_, text, _ := strings.Cut(run.Scenario, "speculation: {method: mtp, num_speculative_tokens: 3, acceptance: ")
	var rate float64
	_, err := fmt.Sscanf(text, "{process: iid, rate: %f}}", &rate)
	require.NoError(t, err)
	assert.InDelta(t, 2.2, 1+rate+rate*rate+rate*rate*rate, 1e-4)
}

// TestPublishedResultsAreReadWhole: every row of the published results is a prediction or says why not, and keeps its
// id.
func TestPublishedResultsAreReadWhole(t *testing.T) {
	f := measuredtest.ReadShared(t, "G_published_results.csv")
	assert.Equal(t, 1833, measuredtest.CountRows(t, f))
	modelled := map[string]int{}
	for _, run := range f.Runs {
		if run.Skip == "" {
			modelled[run.Labels.Kind] += len(run.Rows)
		}
	}
	for kind, least := range map[string]int{"offline_throughput": 580, "server": 70, "decode_step": 90, "prefill": 20,
		"collective": 130, "kernel": 25} {
		assert.GreaterOrEqual(t, modelled[kind], least, kind)
	}
}

func TestALayoutMayStandAmongTheNotes(t *testing.T) {
	run := oneRun(t, "tp", "", "gpus", "8", "notes", "one instance per GPU (TP1 x n) by design")
	require.Empty(t, run.Skip)
	assert.Contains(t, run.Scenario, "tensor_parallel: 1\n")
	assert.Contains(t, run.Scenario, "replicas: 8\n")
}

func TestNotesSayWhatOverlaps(t *testing.T) {
	for notes, want := range map[string]string{
		"TBO": "batch_overlap: two-batch", "72 ranks; two-batch overlap; redundant experts": "batch_overlap: two-batch",
		"FP8 MLA; swapAB; SBO; NVLink 900 GB/s": "batch_overlap: single-batch", "no MTP; no TBO": "", "SBOM": "",
	} {
		run := oneRun(t, "model", "deepseek-r1", "gpu", "h200-sxm", "gpus", "16", "dp", "16", "ep", "16", "notes", notes)
		require.Empty(t, run.Skip, notes)
		if want == "" {
			assert.NotContains(t, run.Scenario, "batch_overlap", notes)
		} else {
			assert.Contains(t, run.Scenario, want, notes)
		}
	}
	assert.NotContains(t, oneRun(t, "notes", "TBO").Scenario, "batch_overlap", "one rank has nothing to overlap")
}

func TestDeepSeeksOwnEngineIsPricedAsSGLang(t *testing.T) {
	f, err := measuredtest.ReadText(t, table("kind", "decode_step", "model", "deepseek-v3", "gpu", "h800", "gpus", "128",
		"engine", "deepseek in-house", "dp", "128", "ep", "128", "isl", "4096", "osl", "", "concurrency_or_batch", "128",
		"arrivals", "", "offered_rps", "", "metric", "output_tokens_per_s", "unit", "tok/s", "per", "node of 8"))
	run := measuredtest.OneRun(t, f, err)
	require.Empty(t, run.Skip)
	assert.Contains(t, run.Scenario, "gpu: h800-sxm\n")
	assert.Contains(t, run.Scenario, "engine: sglang\n")
	assert.Contains(t, f.Notes,
		"DeepSeek's own engine is priced as SGLang, which runs its kernels, with two batches that take turns")
	assert.Contains(t, run.Scenario, "batch_overlap: two-batch", "it always does")
	for notes, want := range map[string]string{"no TBO": "", "SBO": "batch_overlap: single-batch"} {
		said := oneRun(t, "model", "deepseek-v3", "gpu", "h800", "gpus", "128", "engine", "deepseek in-house", "dp", "128",
			"ep", "128", "notes", notes)
		require.Empty(t, said.Skip)
		assert.Equal(t, want != "", strings.Contains(said.Scenario, "batch_overlap"), "unless the notes say something else")
		assert.Contains(t, said.Scenario, want)
	}
}

func TestARepositorysNameSaysThePrecision(t *testing.T) {
	run := oneRun(t, "model", "nvidia/Llama-3.1-8B-Instruct-FP8", "weights", "")
	require.Empty(t, run.Skip)
	assert.Contains(t, run.Scenario, "model: llama-3.1-8b\nweights: fp8\n")
	run = oneRun(t, "model", "own/config.json", "weights", "")
	require.Empty(t, run.Skip)
	assert.Contains(t, run.Scenario, "model: own/config.json\n")
	assert.NotContains(t, run.Scenario, "weights:")
}

func TestFitsTakeRequestsAlone(t *testing.T) {
	f, err := measuredtest.ReadText(t, table("metric", "ttft_mean", "unit", "s", "value", "0.2"))
	require.NoError(t, err)
	runs := measured.Fittable(f.Runs)
	assert.InEpsilon(t, 200, runs[0].Rows[0].Values[0].Measured, 1e-12)
	assert.InEpsilon(t, 0.2, f.Runs[0].Rows[0].Values[0].Measured, 1e-12, "those of the file stay as they are")
	f, err = measuredtest.ReadText(t, table("kind", "kernel", "metric", "gemm_time", "unit", "us", "notes",
		"m=64 n=128 k=256"))
	require.NoError(t, err)
	assert.Contains(t, measured.Fittable(f.Runs)[0].Skip, "to which nothing is fitted")
}

// A median is a p50 and an average a mean, as tools call them.
func TestStatisticsHaveTheNamesOfTools(t *testing.T) {
	for written, want := range map[string]string{"tpot_median": "tpot_p50", "ttft_median": "ttft_p50", "e2e_avg": "e2e",
		"itl_mean": "itl"} {
		v := oneRun(t, "metric", written).Rows[0].Values[0]
		assert.Equal(t, want, v.Name, written)
	}
}
