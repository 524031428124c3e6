package groundtruth_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/measuredtest"
)

func positionTable(edits ...string) string {
	return measuredtest.TableOf([]string{
		"id", "e1", "model", "MiniMaxAI/MiniMax-M2.5", "system", "h200_sxm", "gpus_total", "8", "backend", "vllm",
		"backend_version", "nightly", "parallel", "dep8", "tp", "1", "ep", "8", "attn_dp", "8", "precision", "fp8",
		"spec_method", "none",
		"isl", "1024", "osl", "128", "length_dist", "fixed", "concurrency", "4", "num_prompts", "40", "completed", "40",
		"request_throughput", "1.5", "output_throughput", "190", "ttft_median_ms", "700", "ttft_p99_ms", "900",
		"tpot_median_ms", "15",
		"tpot_p99_ms", "17", "e2e_median_ms", "2600", "e2e_p99_ms", "2900",
	}, edits)
}

func TestARunByPositionLeadsWithItsMedians(t *testing.T) {
	f, err := measuredtest.ReadText(t, positionTable())
	run := measuredtest.OneRun(t, f, err)
	assert.Equal(t, "decode by position", f.Schema)
	assert.Equal(t, measured.Run{
		ID: "e1",
		Labels: measured.Labels{
			Source: "token-position", Model: "minimax-m2.5", Class: "moe-gqa", GPU: "h200-sxm", Engine: "vllm",
			Version: "nightly",
			Mode:    "agg", Quality: "B", Precision: "fp8", Parallel: "tp1-dp8-ep", Load: "1024/128", Concurrency: 4,
		},
		Scenario: `model: minimax-m2.5
pools:
  - gpu: h200-sxm
    tensor_parallel: 1
    data_parallel: 8
    expert_parallel: true
    version: 0.22
workload:
  closed_loop: {concurrency: 4}
  requests: 40
  prompt_tokens: {distribution: fixed, mean: 1024}
  output_tokens: {distribution: fixed, mean: 128}
`,
		Rows: []measured.Row{{ID: "e1", Request: -1, Values: []measured.Value{
			{Metric: measured.TTFT, Stat: measured.P50, Name: "ttft", Measured: 700},
			{Metric: measured.TTFT, Stat: measured.P99, Name: "ttft_p99", Measured: 900},
			{Metric: measured.TPOT, Stat: measured.P50, Name: "tpot", Measured: 15},
			{Metric: measured.TPOT, Stat: measured.P99, Name: "tpot_p99", Measured: 17},
			{Metric: measured.E2E, Stat: measured.P50, Name: "e2e", Measured: 2600},
			{Metric: measured.E2E, Stat: measured.P99, Name: "e2e_p99", Measured: 2900},
			{Metric: measured.OutputPerS, Stat: measured.Mean, Name: "output_tokens_per_s", Measured: 190},
			{Metric: measured.RequestsPerS, Stat: measured.Mean, Name: "requests_per_s", Measured: 1.5},
		}}},
	}, run)
}

func TestLayoutsByPositionCountTheGPUsOfAnAttentionRank(t *testing.T) {
	for layout, edits := range map[string][]string{
		"tp8":        {"tp", "8", "ep", "1", "attn_dp", "1"},
		"tp8-ep":     {"tp", "8", "ep", "8", "attn_dp", "1"},
		"tp2-dp4-ep": {"tp", "2", "ep", "8", "attn_dp", "4"},
		"tp1-dp8-ep": {"tp", "8", "ep", "8", "attn_dp", "8"}, // all GPUs counted, as other tables do
	} {
		f, err := measuredtest.ReadText(t, positionTable(edits...))
		run := measuredtest.OneRun(t, f, err)
		assert.Equal(t, layout, run.Labels.Parallel)
		assert.Empty(t, run.Skip)
	}
}

func TestRunsByPositionBeyondTheModelSayWhy(t *testing.T) {
	for why, edits := range map[string][]string{
		"speculative decoding (mtp), whose accepted lengths are not stated": {"spec_method", "mtp"},
		"the parallel layout contradicts itself":                            {"tp", "4", "attn_dp", "4"},
		"more than one request in 20 failed":                                {"completed", "37"},
		"prompt and output are longer than the context of the model":        {"isl", "300000"},
		"model z/z is not in the catalog":                                   {"model", "z/z"},
	} {
		f, err := measuredtest.ReadText(t, positionTable(edits...))
		run := measuredtest.OneRun(t, f, err)
		assert.Equal(t, why, run.Skip)
		assert.Empty(t, run.Scenario)
		assert.Len(t, run.Rows[0].Values, 8)
	}
}

func TestEverySharedRunByPositionIsRead(t *testing.T) {
	f := measuredtest.ReadShared(t, "E_token_position_h200.csv")
	require.Len(t, f.Runs, 96)
	assert.Equal(t, 96, measuredtest.CountRows(t, f))
	assert.Equal(t, map[string]int{"": 96}, measuredtest.SkipReasons(f))
	layouts := map[string]int{}
	for _, run := range f.Runs {
		layouts[run.Labels.Model+" "+run.Labels.Parallel]++
		assert.Len(t, run.Rows[0].Values, 8, run.ID)
	}
	assert.Equal(t, map[string]int{"minimax-m2.5 tp8-ep": 57, "minimax-m2.5 tp1-dp8-ep": 4, "qwen3.5-397b-a17b tp8": 35},
		layouts)
	measuredtest.BuildAll(t, f)
}
