package traces

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/decodesim/decodesim/workloads/sourcetest"
	"github.com/stretchr/testify/require"
)

// shared returns the folder of measured data, which is not part of this repository.
func shared(t testing.TB) string {
	dir := os.Getenv("DECODESIM_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared")
	}
	dir = filepath.Join(dir, "workloads")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no traces in %s; set DECODESIM_SHARED to the folder that has them", dir)
	}
	return dir
}

// TestRealTracesAgreeWithTheirStatistics compares with the figures that come with the traces, which are rounded to a
// tenth.
func TestRealTracesAgreeWithTheirStatistics(t *testing.T) {
	dir := shared(t)
	text, err := os.ReadFile(filepath.Join(dir, "stats.json"))
	require.NoError(t, err)
	var stats map[string]struct {
		Requests   int64    `json:"requests"`
		DurationS  *float64 `json:"duration_s"`
		PromptMean float64  `json:"input_mean"`
		OutputMean float64  `json:"output_mean"`
	}
	require.NoError(t, json.Unmarshal(text, &stats))
	for file, requests := range map[string]int64{
		"azure2023_conv.csv.gz":                 19366,
		"azure2023_code.csv.gz":                 8819,
		"mooncake_fast25_conversation.jsonl.gz": 12031,
		"mooncake_fast25_synthetic.jsonl.gz":    3993,
		"servegen_reason_r1_30min.csv.gz":       37002,
		"D_sharegpt_llama31_300.jsonl":          300,
		"D_sharegpt_qwen3_300.jsonl":            300,
	} {
		t.Run(file, func(t *testing.T) {
			tr, err := Open(filepath.Join(dir, file), Options{})
			require.NoError(t, err)
			defer tr.Close()
			name := file[:len(file)-len(filepath.Ext(file))]
			want, s := stats[name[:len(name)-len(filepath.Ext(name))]], tr.Stats()
			require.Equal(t, requests, want.Requests)
			require.Equal(t, requests, s.Requests)
			require.Zero(t, s.Skipped)
			require.InDelta(t, *want.DurationS, s.DurationS, 0.06)
			require.InDelta(t, want.PromptMean, s.PromptMean, 0.06)
			require.InDelta(t, want.OutputMean, s.OutputMean, 0.06)
			require.Len(t, sourcetest.Drain(tr), int(requests))
			require.NoError(t, tr.Err())
		})
	}
	p, err := ReadPairs(filepath.Join(dir, "arxiv_summarization_lengths.csv.gz"), nil)
	require.NoError(t, err)
	want := stats["arxiv_summarization_lengths"]
	prompt, output := p.Means()
	require.EqualValues(t, want.Requests, p.Len())
	require.InDelta(t, want.PromptMean, prompt, 0.06)
	require.InDelta(t, want.OutputMean, output, 0.06)
}
