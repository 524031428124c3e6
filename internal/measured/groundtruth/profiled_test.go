package groundtruth_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/measuredtest"
)

func TestAProfiledRunLeadsWithItsMeansAndKeepsTheRest(t *testing.T) {
	f, err := measuredtest.ReadText(t, measuredtest.ProfiledTable())
	run := measuredtest.OneRun(t, f, err)
	assert.Equal(t, "profiled closed loops", f.Schema)
	assert.Len(t, f.Notes, 2)
	assert.Equal(t, measured.Run{
		ID: "p1",
		Labels: measured.Labels{
			Source: "inferencex-profiling", Model: "gpt-oss-120b", Class: "moe-sliding-window", GPU: "h200-sxm", Engine: "vllm",
			Version: "0.22.0", Mode: "agg", Quality: "A", Precision: "mxfp4", Parallel: "tp1", Load: "8000/1000", Concurrency: 4,
		},
		Scenario: `model: gpt-oss-120b
pools:
  - gpu: h200-sxm
    tensor_parallel: 1
    efficiency: vllm@0.22.0
    version: 0.22
    max_num_seqs: 256
    max_num_batched_tokens: 8192
    max_model_len: 10240
    enable_prefix_caching: false
workload:
  closed_loop: {concurrency: 4}
  requests: 40
  prompt_tokens: {distribution: uniform, min: 6400, max: 8000}
  output_tokens: {distribution: uniform, min: 800, max: 1000}
`,
		Rows: []measured.Row{{ID: "p1", Request: -1, Values: []measured.Value{
			{Metric: measured.TTFT, Stat: measured.Mean, Name: "ttft", Measured: 300},
			{Metric: measured.TTFT, Stat: measured.P50, Name: "ttft_p50", Measured: 250},
			{Metric: measured.TTFT, Stat: measured.P99, Name: "ttft_p99", Measured: 900},
			{Metric: measured.TPOT, Stat: measured.Mean, Name: "tpot", Measured: 7},
			{Metric: measured.ITL, Stat: measured.Mean, Name: "itl", Measured: 6.5},
			{Metric: measured.ITL, Stat: measured.P90, Name: "itl_p90", Measured: 8},
			{Metric: measured.E2E, Stat: measured.Mean, Name: "e2e", Measured: 7000},
			{Metric: measured.OutputPerS, Stat: measured.Mean, Name: "output_tokens_per_s", Measured: 500},
			{Metric: measured.RequestsPerS, Stat: measured.Mean, Name: "requests_per_s", Measured: 0.5},
		}}},
		Occupied: measured.Occupancy{KVMax: 0.025, Requests: 40},
	}, run)
}

func TestAProfiledRunOfLongRequestsHasALongerLimit(t *testing.T) {
	f, err := measuredtest.ReadText(t, measuredtest.ProfiledTable("isl", "16000"))
	assert.Contains(t, measuredtest.OneRun(t, f, err).Scenario, "max_model_len: 17000")
	f, err = measuredtest.ReadText(t, measuredtest.ProfiledTable("model", "bigscience/bloom", "precision", "bf16", "isl",
		"512", "osl", "128"))
	assert.NotContains(t, measuredtest.OneRun(t, f, err).Scenario, "max_model_len",
		"the limit is beyond the model's context")
}

func TestAProfiledRunThatSpeculatesIsSkipped(t *testing.T) {
	f, err := measuredtest.ReadText(t, measuredtest.ProfiledTable("spec_method", "eagle3", "spec_accept_len", "2.3"))
	run := measuredtest.OneRun(t, f, err)
	assert.Equal(t, "speculative decoding (eagle3), whose accepted lengths were counted in the run itself", run.Skip)
	assert.Equal(t, "B", run.Labels.Quality)
	assert.Len(t, run.Rows[0].Values, 9)
}

// TestARowThatLeavesSomethingOpenIsSkippedAlone: the rest of the file is read, and what was measured is kept.
func TestARowThatLeavesSomethingOpenIsSkippedAlone(t *testing.T) {
	for _, c := range []struct{ column, value, why string }{
		{"num_prompts", "", "num_prompts is not stated"},
		{"tp", " ", "tp is not stated"},
		{"isl", "NaN", "isl is not stated"},
		{"length_dist", "zipf", `lengths "zipf", which are not modelled`},
		{"backend", "", "the engine is not stated"},
	} {
		sound := measuredtest.ProfiledTable()
		_, odd, _ := strings.Cut(measuredtest.ProfiledTable("id", "odd", c.column, c.value), "\n")
		f, err := measuredtest.ReadText(t, sound+odd)
		require.NoError(t, err)
		require.Len(t, f.Runs, 2)
		assert.Empty(t, f.Runs[0].Skip)
		assert.NotEmpty(t, f.Runs[0].Scenario)
		assert.Equal(t, c.why, f.Runs[1].Skip)
		assert.Empty(t, f.Runs[1].Scenario)
		assert.Len(t, f.Runs[1].Rows[0].Values, len(f.Runs[0].Rows[0].Values))
	}
}

func TestALatencyOfZeroWasNotMeasured(t *testing.T) {
	f, err := measuredtest.ReadText(t, measuredtest.ProfiledTable("itl_p90_ms", "0", "request_throughput", "0"))
	for _, v := range measuredtest.OneRun(t, f, err).Rows[0].Values {
		assert.NotContains(t, []string{"itl_p90", "requests_per_s"}, v.Name)
	}
}

func TestBadFieldsOfAProfiledRunAreNamed(t *testing.T) {
	for want, edits := range map[string][]string{
		`data:2: itl_p90_ms: "-1"; expected a latency in milliseconds above 0`: {"itl_p90_ms", "-1"},
		`data:2: output_throughput: "-3"; expected a rate per second above 0`: {"output_throughput",
			"-3"},
		`data:2: num_prompts: "0"; expected a whole number from 1 to 1e9`: {"num_prompts", "0"},
		`data:2: request_throughput: "x"; expected a number, or nothing`: {"request_throughput",
			"x"},
		`data:2: length_dist: "uniform_x"; expected "fixed", or "uniform_" and a share in (0, 1]`: {"length_dist",
			"uniform_x"},
	} {
		_, err := measuredtest.ReadText(t, measuredtest.ProfiledTable(edits...))
		assert.EqualError(t, err, want)
	}
}

func TestEverySharedProfiledRunIsRead(t *testing.T) {
	f := measuredtest.ReadShared(t, "A3_gptoss120b_h200_vllm022.csv")
	require.Len(t, f.Runs, 57)
	assert.Equal(t, 57, measuredtest.CountRows(t, f))
	assert.Equal(t, map[string]int{"": 47, "speculative decoding (eagle3), whose accepted lengths were counted in the " +
		"run itself": 10}, measuredtest.SkipReasons(f))
	for _, run := range f.Runs {
		assert.Len(t, run.Rows[0].Values, 22, run.ID) // five statistics of four latencies, and two rates
	}
	measuredtest.BuildAll(t, f)
}
