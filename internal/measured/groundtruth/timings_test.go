package groundtruth_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/formats"
	"github.com/decodesim/decodesim/internal/measured/measuredtest"
)

const (
	traceText = `{"i":0,"arrival_s":0.5,"input_tokens":30,"output_tokens":5,"block16_input":[0]}
{"i":1,"arrival_s":0.75,"input_tokens":40,"output_tokens":1,"block16_input":[0,1]}
`
	runText = `{"run":"R","system":"rtx4090","model":"meta-llama/Llama-3.1-8B","backend":"vllm","backend_version":"0.19.0","tp":1,"dp":1,` +
		`"expert_parallel":false,"max_num_seqs":256,"max_num_batched_tokens":2048,"max_model_len":4096,"dtype":"bfloat16","kv_cache_dtype":"auto",` +
		`"kv_cache":{"num_gpu_blocks":2588,"block_size":16,"gpu_memory_utilization":0.9},"hardware":{"device_name":"NVIDIA GeForce RTX 4090"},` +
		`"workload":"traces/t.jsonl","num_requests":2,"summary_ms":{"ttft":{"mean":150,"p50":140,"p99":200},"e2e":{"mean":400}}}
`
	requestText = `{"run":"R","i":0,"input_tokens":30,"output_tokens":5,"queued_s":0,"first_token_s":0.125,"last_token_s":0.625}
{"run":"R","i":1,"input_tokens":40,"output_tokens":1,"queued_s":0.25,"first_token_s":0.5,"last_token_s":0.5}
`
	seriesText = "run,t,prompt_throughput,running,waiting\nR,1,100,2,0\nR,2,100,1,0\n"
)

// folder writes files by name, and returns their folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

// timed reads one of four files that belong together, after a change to their texts.
func timed(t *testing.T, name string, change ...string) (*measured.File, error) {
	t.Helper()
	r := strings.NewReplacer(change...)
	return formats.Read(filepath.Join(folder(t, map[string]string{
		"a.jsonl": r.Replace(runText), "b.jsonl": r.Replace(requestText), "c.csv": r.Replace(seriesText),
		"traces/t.jsonl": traceText,
	}), name), "")
}

func TestAnyFileOfTimingsFindsTheOthers(t *testing.T) {
	for _, name := range []string{"a.jsonl", "b.jsonl", "c.csv"} {
		f, err := timed(t, name)
		require.NoError(t, err, name)
		assert.Equal(t, "request timings", f.Schema)
		require.Len(t, f.Runs, 1, name)
		run := f.Runs[0]
		assert.Equal(t, measured.Labels{
			Source: "request timings", Model: "llama-3.1-8b", Class: "dense-gqa", GPU: "rtx-4090", Engine: "vllm",
			Version: "0.19.0", Mode: "agg",
			Quality: "A", Precision: "bf16", Parallel: "tp1", Load: "t",
		}, run.Labels)
		assert.Equal(t, []measured.Row{
			{ID: "R", Request: -1, Values: []measured.Value{measured.Lead(measured.TTFT, measured.Mean, 150),
				measured.Other(measured.TTFT, measured.P50, 140), measured.Other(measured.TTFT, measured.P99, 200),
				measured.Lead(measured.E2E, measured.Mean, 400)}},
			{ID: "R#0", Request: 0, Values: []measured.Value{measured.Lead(measured.TTFT, measured.Mean, 125),
				measured.Lead(measured.TPOT, measured.Mean, 125), measured.Lead(measured.E2E, measured.Mean, 625)}},
			{ID: "R#1", Request: 1, Values: []measured.Value{measured.Lead(measured.TTFT, measured.Mean, 250),
				measured.Lead(measured.E2E, measured.Mean, 250)}},
		}, run.Rows, name)
		assert.Equal(t, name == "c.csv", strings.Contains(strings.Join(f.Notes, "\n"), "2 samples per second"))
	}
}

func TestTimingsAreSetUpAsTheyRan(t *testing.T) {
	f, err := timed(t, "b.jsonl")
	require.NoError(t, err)
	s := loaded(t, f.Runs[0])
	p := s.Pools[0]
	assert.Equal(t, []int{256, 2048, 4096, 16}, []int{p.MaxNumSeqs, p.MaxNumBatchedTokens, p.MaxModelLen, p.BlockSize})
	assert.EqualValues(t, 2588, p.NumGPUBlocks)
	assert.Equal(t, filepath.Join(filepath.Dir(f.Path), "traces", "t.jsonl"), s.Workload.Trace.File)
	assert.EqualValues(t, 2, s.Workload.Trace.Limit)
	for _, latency := range []string{"150", "140", "0.125", "0.625"} {
		assert.NotContains(t, strings.ReplaceAll(f.Runs[0].Scenario, s.Workload.Trace.File, ""), latency)
	}
}

func TestTimingsOfParallelRanks(t *testing.T) {
	f, err := timed(t, "a.jsonl", `"dp":1`, `"dp":2`, `"expert_parallel":false`, `"expert_parallel":true`,
		"meta-llama/Llama-3.1-8B", "Qwen/Qwen3-30B-A3B-Instruct-2507", `"kv_cache_dtype":"auto"`,
		`"kv_cache_dtype":"fp8_e4m3"`)
	require.NoError(t, err)
	assert.Equal(t, "tp1-dp2-ep", f.Runs[0].Labels.Parallel)
	for _, line := range []string{"model: qwen3-30b-a3b\n", "kv_cache: fp8\n", "data_parallel: 2\n",
		"expert_parallel: true\n"} {
		assert.Contains(t, f.Runs[0].Scenario, line)
	}
}

// TestDtypeSaysNothingOfWeights: it is what the engine computes in.
func TestDtypeSaysNothingOfWeights(t *testing.T) {
	for model, want := range map[string]string{
		"meta-llama/Llama-3.1-8B":                            "model: llama-3.1-8b\npools",
		"RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8":            "model: llama-3.1-8b\nweights: fp8\n",
		"hugging-quants/Meta-Llama-3.1-8B-Instruct-AWQ-INT4": "model: llama-3.1-8b\nweights: int4\n",
		"openai/gpt-oss-20b":                                 "model: gpt-oss-20b\npools",
	} {
		f, err := timed(t, "a.jsonl", "meta-llama/Llama-3.1-8B", model)
		require.NoError(t, err)
		assert.Contains(t, f.Runs[0].Scenario, want, model)
	}
}

func TestTheDriverTellsVariantsOfAGPUApart(t *testing.T) {
	for device, want := range map[string]string{
		"NVIDIA RTX PRO 6000 Blackwell Workstation Edition": "rtx-pro-6000-ws",
		"NVIDIA RTX PRO 6000 Blackwell Server Edition":      "rtx-pro-6000-server",
		"unheard of": "rtx-4090",
	} {
		f, err := timed(t, "a.jsonl", "NVIDIA GeForce RTX 4090", device)
		require.NoError(t, err)
		assert.Equal(t, want, f.Runs[0].Labels.GPU)
	}
}

func TestBlocksAreThoseOfTheSameDeployment(t *testing.T) {
	less := strings.NewReplacer(`"run":"R"`, `"run":"S"`,
		`{"num_gpu_blocks":2588,"block_size":16,"gpu_memory_utilization":0.9}`, "null")
	second := less.Replace(runText)
	f, err := timed(t, "a.jsonl", runText, runText+second)
	require.NoError(t, err)
	require.Len(t, f.Runs, 2)
	assert.Contains(t, f.Runs[1].Scenario, "num_gpu_blocks: 2588")
	for _, other := range [][2]string{{`"tp":1`, `"tp":2`}, {`"max_num_seqs":256`, `"max_num_seqs":128`}} {
		f, err = timed(t, "a.jsonl", runText, runText+strings.Replace(second, other[0], other[1], 1))
		require.NoError(t, err)
		assert.NotContains(t, f.Runs[1].Scenario, "num_gpu_blocks", other[1])
	}
}

func TestTimingsWithoutTheirCompanions(t *testing.T) {
	for _, name := range []string{"b.jsonl", "c.csv"} {
		dir := folder(t, map[string]string{"b.jsonl": requestText, "c.csv": seriesText})
		_, err := formats.Read(filepath.Join(dir, name), "")
		require.ErrorContains(t, err, name+": no file beside it says how its runs were set up; expected JSON lines with "+
			"run, model, system, workload, such as D_runs.jsonl")
	}
	f, err := formats.Read(filepath.Join(folder(t, map[string]string{"a.jsonl": runText}), "a.jsonl"), "")
	require.NoError(t, err)
	assert.Equal(t, "its trace traces/t.jsonl is neither beside the data nor in the folder of shared data", f.Runs[0].Skip)
	assert.Len(t, f.Runs[0].Rows, 1)
}

func TestCompanionsMayLieInTheSharedFolder(t *testing.T) {
	common := folder(t, map[string]string{
		"groundtruth/runs.jsonl":     runText + strings.Replace(runText, `"run":"R"`, `"run":"other"`, 1),
		"traces/t.jsonl":             traceText,
		"groundtruth/requests.jsonl": strings.ReplaceAll(requestText, "0.125", "0.1"),
	})
	f, err := formats.Read(filepath.Join(folder(t, map[string]string{"mine.jsonl": requestText}), "mine.jsonl"), common)
	require.NoError(t, err)
	require.Len(t, f.Runs, 1, "only the runs that the given file is about")
	assert.Equal(t, filepath.Join(common, "traces", "t.jsonl"), loaded(t, f.Runs[0]).Workload.Trace.File)
	require.Len(t, f.Runs[0].Rows, 3, "and only its own requests")
	assert.Equal(t, measured.Lead(measured.TTFT, measured.Mean, 125), f.Runs[0].Rows[1].Values[0])
}

func TestRequestsOfAnUnknownRunAreKept(t *testing.T) {
	f, err := timed(t, "b.jsonl", `{"run":"R","i":0`, `{"run":"Q","i":0`)
	require.NoError(t, err)
	require.Len(t, f.Runs, 2)
	assert.Equal(t, "no line says how the run was set up", f.Runs[0].Skip)
	assert.Equal(t, "Q#0", f.Runs[0].Rows[0].ID)
	assert.Empty(t, f.Runs[1].Skip)
}

func TestAFailedRequestHasNoLatencies(t *testing.T) {
	f, err := timed(t, "b.jsonl", `"first_token_s":0.5,"last_token_s":0.5`, `"first_token_s":null,"last_token_s":null`)
	require.NoError(t, err)
	assert.Equal(t, measured.Row{ID: "R#1", Request: 1}, f.Runs[0].Rows[2])
}

func TestARequestThatEndedEarlyHasATTFT(t *testing.T) {
	f, err := timed(t, "b.jsonl", `"last_token_s":0.625`, `"last_token_s":null`)
	require.NoError(t, err)
	assert.Equal(t, measured.Row{ID: "R#0", Request: 0, Values: []measured.Value{measured.Lead(measured.TTFT,
		measured.Mean, 125)}}, f.Runs[0].Rows[1])
}

func TestBadTimingsAreRefusedByLine(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{`"first_token_s":0.5`, `"first_token_s":0.25`,
			`b.jsonl:2: first_token_s: 0.25; expected seconds later than queued_s, 0.25`},
		{`"first_token_s":0.5`, `"first_token_s":0.2`, `b.jsonl:2: first_token_s: 0.2; expected seconds, 0.25 or later`},
		{`"last_token_s":0.625`, `"last_token_s":0.1`, `b.jsonl:1: last_token_s: 0.1; expected seconds, 0.125 or later`},
		{`"queued_s":0,`, `"queued_s":"now",`, `b.jsonl:1: queued_s: "now"; expected a number`},
		{`"i":1`, `"i":2`, `b.jsonl:2: i: 2; expected less than the 2 requests of`},
		{`"i":1`, `"i":0.5`, `b.jsonl:2: i: 0.5; expected a whole number from 0`},
		{`"input_tokens":40`, `"input_tokens":41`, `b.jsonl:2: input_tokens: 41; expected 40, as request 1 of`},
		{`"output_tokens":5`, `"output_tokens":6`, `b.jsonl:1: output_tokens: 6; expected 5, as request 0 of`},
		{`"tp":1`, `"tp":0`, `a.jsonl:1: tp: 0; expected a whole number from 1`},
		{`"expert_parallel":false`, `"expert_parallel":"no"`, `a.jsonl:1: expert_parallel: "no"; expected true or false`},
		{`"num_gpu_blocks":2588`, `"num_gpu_blocks":-1`,
			`a.jsonl:1: kv_cache.num_gpu_blocks: -1; expected a whole number from 1`},
		{`"mean":150`, `"mean":-1`, `a.jsonl:1: summary_ms.ttft.mean: -1; expected a number above 0`},
		{`"traces/t.jsonl"`, `""`, `a.jsonl:1: workload: ""; expected the path of a trace`},
		{`{"run":"R","i":1`, `{"run":"","i":1`, `b.jsonl:2: run: ""; expected the name of a run`},
		{`"i":1,`, `"i":1;`, `b.jsonl:2: not JSON`},
	} {
		_, err := timed(t, "a.jsonl", c.from, c.to)
		require.ErrorContains(t, err, c.want, c.to)
	}
}

func TestMeasuredTimings(t *testing.T) {
	var first *measured.File
	for _, name := range []string{"D_runs.jsonl", "D_requests.jsonl", "D_timeseries.csv"} {
		f := measuredtest.ReadShared(t, name)
		counted, skips := extent(f)
		assert.Equal(t, "4 runs, 1204 rows, 3660 values", counted, name)
		assert.Empty(t, skips)
		if first == nil {
			first = f
		}
		assert.Equal(t, first.Runs, f.Runs, name)
	}
	blocks := 0
	for _, run := range first.Runs {
		if run.Labels.GPU == "rtx-4090" {
			loaded(t, run)
		}
		if strings.Contains(run.Scenario, "num_gpu_blocks: 2588\n") {
			assert.Equal(t, "D-RTX4090-Llama-3.1-8B", run.ID, "the first run had half the batch")
			blocks++
		}
	}
	assert.Equal(t, 1, blocks)
}
