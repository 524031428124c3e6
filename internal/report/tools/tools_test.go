package tools

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/measured/formats"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
	"github.com/decodesim/decodesim/sim/metrics/views"
)

// three are a request of five tokens in three chunks, one of a single token, and one whose client cancelled it.
func three() []views.Record {
	many, one, cancelled := views.Example(), views.Example(), views.Example()
	one.ID, one.Chunks, one.Send = 1, many.Chunks[:1], sim.Time(20*sim.Millisecond)
	one.Steps = one.Chunks
	cancelled.ID, cancelled.Outcome = 2, sim.Failed
	return []views.Record{many, one, cancelled}
}

func result(records []views.Record, load Load) *Result {
	run := &views.Run{Full: &metrics.Full{}, Records: records, Every: 1, DurationS: .5}
	for _, r := range records {
		if r.Outcome != sim.Completed {
			run.Counts.Failed++
			continue
		}
		run.Counts.Completed++
		run.Counts.Prompt += int64(r.Prompt)
		run.Counts.Output += int64(r.Tokens())
	}
	return &Result{Run: run, Load: load, Model: "llama-3.1-8b", Scenario: "s", Seed: 3, Version: "test"}
}

// written returns the files of all tools by name.
func written(t *testing.T, r *Result) map[string]string {
	files := map[string]string{}
	for _, tool := range views.Tools() {
		list := Files(tool.Name, r)
		assert.Equal(t, tool.Schema, len(list) > 0, tool.Name)
		for _, f := range list {
			var text bytes.Buffer
			require.NoError(t, f.Write(&text), f.Name)
			files[f.Name] = text.String()
		}
	}
	return files
}

func TestListsHaveAPlaceForEveryRequest(t *testing.T) {
	files := written(t, result(three(), Load{Process: "poisson", RatePerS: 4}))
	var vllm struct {
		Inputs  []int       `json:"input_lens"`
		Outputs []int       `json:"output_lens"`
		TTFTs   []float64   `json:"ttfts"`
		ITLs    [][]float64 `json:"itls"`
		Errors  []string    `json:"errors"`
		Failed  int         `json:"failed"`
		Prompts int         `json:"num_prompts"`
		Origin  origin      `json:"decodesim"`
	}
	require.NoError(t, json.Unmarshal([]byte(files["vllm_bench.json"]), &vllm))
	assert.Equal(t, []int{1, 1, 1}, vllm.Inputs)
	assert.Equal(t, []int{5, 1, 0}, vllm.Outputs)
	assert.InDeltaSlice(t, []float64{.1, .08, 0}, vllm.TTFTs, 1e-12)
	assert.Equal(t, [][]float64{{.04, .04}, {}, {}}, vllm.ITLs)
	assert.Equal(t, []string{"", "", "failed"}, vllm.Errors)
	assert.Equal(t, []int{1, 3}, []int{vllm.Failed, vllm.Prompts})
	assert.Equal(t, origin{"test", "s", 3, true, "poisson", 1, 3}, vllm.Origin)

	records := strings.Split(strings.TrimSpace(files["profile_export.jsonl"]), "\n")
	require.Len(t, records, 3)
	assert.Contains(t, records[0], `"inter_chunk_latency":{"unit":"ms","value":[40,40]}`)
	assert.Contains(t, records[0], `"request_start_ns":0`)
	assert.Contains(t, records[0], `"request_end_ns":180000000`)
	assert.NotContains(t, records[1], `"inter_token_latency"`)
	assert.Contains(t, records[2], `"error":{"message":"failed"`)

	var guide struct {
		Benchmarks []struct {
			Requests struct {
				Successful []map[string]any
				Errored    []map[string]any
			}
			Metrics map[string]any
		}
	}
	require.NoError(t, json.Unmarshal([]byte(files["benchmarks.json"]), &guide))
	requests := guide.Benchmarks[0].Requests
	require.Len(t, requests.Successful, 2)
	require.Len(t, requests.Errored, 1)
	assert.Equal(t, 36.0, requests.Successful[0]["time_per_output_token_ms"])
	assert.Nil(t, requests.Successful[1]["inter_token_latency_ms"], "a single token")

	var perf []struct {
		End      float64 `json:"end_time"`
		Computed struct {
			Gaps []float64 `json:"inter_token_latencies"`
			ITL  *float64  `json:"inter_token_latency"`
		} `json:"computed_metrics"`
	}
	require.NoError(t, json.Unmarshal([]byte(files["per_request_lifecycle_metrics.json"]), &perf))
	require.Len(t, perf, 2)
	assert.Equal(t, []float64{.04, .04}, perf[0].Computed.Gaps)
	assert.InDelta(t, .18, perf[0].End, 1e-12)
	assert.Nil(t, perf[1].Computed.ITL)
}

// TestLoadsAreReadBack: what the readers of measured runs take from each file is how the requests were sent.
func TestLoadsAreReadBack(t *testing.T) {
	records := three()[:2]
	for _, c := range []struct {
		load Load
		want map[string]string // by file: the workload's first line, or why none is like it
	}{
		{Load{Process: "gamma", RatePerS: 4, CV: 2}, map[string]string{
			"vllm_bench.json": "gamma, rate: 4, cv: 2", "profile_export_aiperf.json": "gamma, rate: 4, cv: 2",
			"benchmarks.json": "strategy trace is not read", "stage_0_lifecycle_metrics.json": "poisson, rate: 4",
		}},
		{Load{Process: "constant", RatePerS: 4, Seconds: 30}, map[string]string{
			"profile_export_aiperf.json": "constant, rate: 4", "benchmarks.json": "constant, rate: 4}\n  duration_s: 30",
		}},
		{Load{RatePerS: 4}, map[string]string{
			"profile_export_aiperf.json": "it replays a trace", "benchmarks.json": "strategy trace is not read",
		}},
		{Load{Clients: 1}, map[string]string{
			"vllm_bench.json": "concurrency: 1", "profile_export_aiperf.json": "concurrency: 1",
			"benchmarks.json":                "concurrency: 1",
			"stage_0_lifecycle_metrics.json": "concurrency: 1",
		}},
	} {
		dir := t.TempDir()
		for name, text := range written(t, result(records, c.load)) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		for name, want := range c.want {
			f, err := formats.Read(filepath.Join(dir, name), "")
			require.NoError(t, err, name)
			assert.Contains(t, f.Runs[0].Over+f.Runs[0].Skip, want, "%s of %+v", name, c.load)
			assert.Equal(t, "llama-3.1-8b", f.Runs[0].Labels.Model)
		}
	}
}

// TestARunWithoutAnswersIsStillAFile: nothing is divided by nothing.
func TestARunWithoutAnswersIsStillAFile(t *testing.T) {
	for _, records := range [][]views.Record{nil, three()[2:]} {
		for name, text := range written(t, result(records, Load{Process: "poisson", RatePerS: 1})) {
			if strings.HasSuffix(name, ".json") {
				assert.True(t, json.Valid([]byte(text)), name)
			}
			assert.NotContains(t, text, "NaN", name)
		}
	}
}

func TestInstantsCountFromTheEpoch(t *testing.T) {
	assert.Equal(t, "1970-01-01T00:00:00.000000", stamp(0))
	assert.Equal(t, "1970-01-03T01:02:03.250000", stamp(2*86400+3600+2*60+3.25))
}
