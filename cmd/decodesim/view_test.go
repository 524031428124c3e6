package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/explain"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/formats"
	"github.com/decodesim/decodesim/internal/results"
	"github.com/decodesim/decodesim/internal/soak"
	"github.com/decodesim/decodesim/sim/metrics"
)

// viewFiles are what the four tools with a schema leave.
var viewFiles = []string{
	"benchmarks.json", "config.yaml", "per_request_lifecycle_metrics.json", "profile_export.jsonl",
	"profile_export_aiperf.json",
	"stage_0_lifecycle_metrics.json", "views.json", "vllm_bench.json",
}

// viewedRun runs small in the terms of the four tools and returns its summary.
func viewedRun(t *testing.T, text string, args ...string) (s metrics.Summary) {
	inDir(t, text)
	status, _, errOut := try(append([]string{"run", "chat.yaml", "--out", "out", "--view", "vllm,aiperf", "--view",
		"guidellm", "--view", "inference-perf"}, args...)...)
	require.Equal(t, exitOK, status, errOut)
	require.Subset(t, entries(t, "out"), viewFiles)
	decode(t, filepath.Join("out", "summary.json"), &s)
	return s
}

func decode(t *testing.T, path string, into any) {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, into), path)
}

// readBack reads a file of a tool as validate does.
func readBack(t *testing.T, name string) measured.Run {
	f, err := formats.Read(filepath.Join("out", name), "")
	require.NoError(t, err, name)
	require.Len(t, f.Runs, 1, name)
	require.NoError(t, f.On("chat.yaml"), name)
	assert.Empty(t, f.Runs[0].Skip, name)
	assert.Equal(t, "llama-3.1-8b", f.Runs[0].Labels.Model, name)
	return f.Runs[0]
}

// TestScriptsReadASimulatedRunAsAMeasuredOne: what the readers of measured runs find in the files of each tool is what
// the summary says, by the tool's own formulas.
func TestScriptsReadASimulatedRunAsAMeasuredOne(t *testing.T) {
	soak.TakesLong(t)
	s := viewedRun(t, small)
	l := &s.Latency
	for _, c := range []struct {
		file, load string
		values     map[string]float64
	}{
		{"vllm_bench.json", "arrivals: {process: poisson, rate: 20}", map[string]float64{
			"ttft": l.TTFT.Mean, "ttft_p50": l.TTFT.P50, "ttft_p99": l.TTFT.P99, "tpot": l.TPOT.Mean, "tpot_p99": l.TPOT.P99,
			"itl": l.ITL.Mean, "itl_p50": l.ITL.P50, "itl_p99": l.ITL.P99, "e2e": l.E2E.Mean, "e2e_p90": l.E2E.P90,
		}},
		{"profile_export_aiperf.json", "arrivals: {process: poisson, rate: 20}", map[string]float64{
			"ttft": l.TTFT.Mean, "ttft_max": l.TTFT.Max, "tpot": l.TPOT.Mean, "tpot_p90": l.TPOT.P90, "e2e": l.E2E.Mean,
			"e2e_max": l.E2E.Max,
		}},
		{"benchmarks.json", "arrivals: {process: poisson, rate: 20}", map[string]float64{
			"ttft": l.TTFT.Mean, "ttft_p95": l.TTFT.P95, "itl": l.ITL.Mean, "e2e": l.E2E.Mean, "e2e_p99": l.E2E.P99,
		}},
		{"stage_0_lifecycle_metrics.json", "arrivals: {process: poisson, rate: 20}", map[string]float64{
			"tpot": l.TPOT.Mean, "tpot_p99": l.TPOT.P99, "itl": l.ITL.Mean, "itl_p99": l.ITL.P99, "e2e": l.E2E.Mean,
			"e2e_p90": l.E2E.P90,
		}},
	} {
		run := readBack(t, c.file)
		assert.Contains(t, run.Over, c.load, c.file)
		found := map[string]float64{}
		for _, v := range run.Rows[0].Values {
			found[v.Name] = v.Measured
			assert.True(t, v.Skip == "" || strings.Contains(v.Skip, "weighted"), "%s %s: %s", c.file, v.Name, v.Skip)
		}
		for name, seconds := range c.values {
			assert.InEpsilon(t, 1000*seconds, found[name], 0.03,
				"%s of %s: percentiles of 400 are linear here and nearest ranks there", name, c.file)
		}
		assert.InEpsilon(t, s.Throughput.RequestsPerS, found["requests_per_s"], 1e-9, c.file)
		assert.InEpsilon(t, s.Throughput.OutputTokensPerS, found["output_tokens_per_s"], 1e-9, c.file)
	}
}

// TestListsOfRequestsAreThoseOfTheRun: what vLLM's lists say of each request is what requests.csv says.
func TestListsOfRequestsAreThoseOfTheRun(t *testing.T) {
	viewedRun(t, small)
	run := readBack(t, "vllm_bench.json")
	text, err := os.ReadFile(filepath.Join("out", "requests.csv"))
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	require.Len(t, run.Rows, len(lines), "a row for the run and one for each request; a head and a line for each request")
	for i, row := range run.Rows[1:] {
		fields := strings.Split(lines[1+i], ",")
		for _, v := range row.Values {
			column := map[string]int{"ttft": 5, "tpot": 6}[v.Name]
			seconds, err := strconv.ParseFloat(fields[column], 64)
			require.NoError(t, err)
			assert.InDelta(t, 1000*seconds, v.Measured, 1e-6, "request %d: %s", i, v.Name)
		}
	}
	assert.Contains(t, run.Over, "lengths: {values: [[")

	var requests []struct {
		End      float64 `json:"end_time"`
		Computed struct {
			Gaps   []float64 `json:"inter_token_latencies"`
			Tokens int       `json:"output_tokens"`
		} `json:"computed_metrics"`
	}
	decode(t, filepath.Join("out", "per_request_lifecycle_metrics.json"), &requests)
	require.Len(t, requests, 400)
	for _, r := range requests {
		require.Len(t, r.Computed.Gaps, r.Computed.Tokens-1)
	}
	records, err := os.ReadFile(filepath.Join("out", "profile_export.jsonl"))
	require.NoError(t, err)
	assert.Equal(t, 400, strings.Count(string(records), "\n"))
}

func TestAClosedLoopIsReadBackAsOne(t *testing.T) {
	soak.TakesLong(t)
	closed := strings.Replace(small, "arrivals: {process: poisson, rate: 20}", "closed_loop: {concurrency: 6}", 1)
	viewedRun(t, closed)
	for _, name := range []string{"vllm_bench.json", "profile_export_aiperf.json", "benchmarks.json",
		"stage_0_lifecycle_metrics.json"} {
		assert.Contains(t, readBack(t, name).Over, "closed_loop: {concurrency: 6}", name)
	}
}

// TestViewsChangeNothing: a run is the same to the byte with views and without, and so are its files.
func TestViewsChangeNothing(t *testing.T) {
	viewedRun(t, small)
	status, _, errOut := try("run", "chat.yaml", "--out", "plain")
	require.Equal(t, exitOK, status, errOut)
	for _, name := range entries(t, "plain") {
		want, err := os.ReadFile(filepath.Join("plain", name))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join("out", name))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), name)
	}
	status, _, errOut = try("run", "chat.yaml", "--out", "again", "--view", "vllm,aiperf,guidellm,inference-perf")
	require.Equal(t, exitOK, status, errOut)
	for _, name := range viewFiles {
		want, err := os.ReadFile(filepath.Join("again", name))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join("out", name))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), name)
	}
}

// TestAStreamDelaysWhatClientsSee: an interval of ten makes gaps ten times as long and a tenth as many; a round trip is
// a part of TTFT and E2E and of no gap.
func TestAStreamDelaysWhatClientsSee(t *testing.T) {
	soak.TakesLong(t)
	plain := viewedRun(t, small)
	type document struct {
		TTFT  float64     `json:"mean_ttft_ms"`
		TPOT  float64     `json:"mean_tpot_ms"`
		ITL   float64     `json:"mean_itl_ms"`
		E2E   float64     `json:"mean_e2el_ms"`
		ITLs  [][]float64 `json:"itls"`
		Lens  []int       `json:"output_lens"`
		Rates float64     `json:"output_throughput"`
	}
	var d document
	viewedRun(t, small, "--set", "stream.stream_interval=10", "--set", "stream.rtt_ms=20")
	decode(t, filepath.Join("out", "vllm_bench.json"), &d)
	assert.InDelta(t, 1000*plain.Latency.TTFT.Mean+20, d.TTFT, .01)
	assert.InDelta(t, 1000*plain.Latency.E2E.Mean+20, d.E2E, .01)
	assert.InDelta(t, 1000*plain.Latency.TPOT.Mean, d.TPOT, .01)
	assert.InEpsilon(t, plain.Throughput.OutputTokensPerS*plain.DurationS/(plain.DurationS+.02), d.Rates, 1e-9)
	assert.Greater(t, d.ITL, 5000*plain.Latency.ITL.Mean)
	for i, gaps := range d.ITLs {
		assert.Len(t, gaps, (d.Lens[i]-1+9)/10, "one chunk at once, then of ten, and the rest")
	}
	var jittered document
	viewedRun(t, small, "--set", "stream.rtt_ms=20", "--set", "stream.rtt_jitter_ms=5", "--set", "stream.frame_s=0.001")
	decode(t, filepath.Join("out", "vllm_bench.json"), &jittered)
	assert.InDelta(t, 1000*plain.Latency.TTFT.Mean+20+5+1, jittered.TTFT, 1, "means of 400 draws")
	assert.InDelta(t, 1000*plain.Latency.ITL.Mean, jittered.ITL, .2,
		"what delays all chunks alike cancels, but for the ends")
}

func TestAViewIsATableInTheToolsWords(t *testing.T) {
	inDir(t, small)
	status, out, errOut := try("run", "chat.yaml", "--view", "llmperf", "--view", "prometheus,llmperf", "--set",
		"slo.itl_p99_ms=60")
	require.Equal(t, exitOK, status, errOut)
	assert.Equal(t, 1, strings.Count(out, "LLMPerf"))
	for _, words := range []string{"inter_token_latency_s ", "vllm:time_to_first_token_seconds",
		"Every request is followed token by token: 400.", "own p99 ITL ≤ 60 ms", "stalls > 200 ms"} {
		assert.Contains(t, out, words)
	}
	status, out, errOut = try("run", "chat.yaml", "--view", "vllm", "--json")
	require.Equal(t, exitOK, status, errOut)
	var x results.ViewsX
	require.NoError(t, json.Unmarshal([]byte(out), &x))
	assert.Equal(t, results.SchemaViews, x.Schema)
	assert.Equal(t, results.SampleX{Every: 1, Requests: 400, Of: 400}, x.Sample)
	assert.Equal(t, "vllm", x.Views[0].Tool)
}

// TestGoodputAgreesWithTheSummary: vLLM's rule is that of the summary.
func TestGoodputAgreesWithTheSummary(t *testing.T) {
	soak.TakesLong(t)
	s := viewedRun(t, small, "--set", "slo.tpot_ms=8")
	var d struct {
		Goodput float64 `json:"request_goodput"`
	}
	decode(t, filepath.Join("out", "vllm_bench.json"), &d)
	require.Less(t, s.SLO.Attainment, 1.0)
	assert.InEpsilon(t, s.SLO.GoodputPerS, d.Goodput, 1e-9)
	viewedRun(t, small, "--set", "slo.tpot_ms=8", "--set", "stream.frame_s=1e-12")
	var sampled struct {
		Goodput float64 `json:"request_goodput"`
	}
	decode(t, filepath.Join("out", "vllm_bench.json"), &sampled)
	assert.InEpsilon(t, s.SLO.GoodputPerS, sampled.Goodput, 0.01, "judged on what clients saw")
}

func TestMistakesOfViewsAreNamed(t *testing.T) {
	inDir(t, small)
	for line, want := range map[string]string{
		"run chat.yaml --view vlm --out out":        `--view "vlm" is unknown; valid names: vllm, sglang, aiperf, genai-perf, guidellm, inference-perf, llmperf, prometheus`,
		"run chat.yaml --view vllm, --out out":      `--view "" is unknown; valid names: vllm, `,
		"explain --metrics --batch 3":               `explain: --batch is of a step, and --metrics explains a request; expected `,
		"explain --metrics --set seed=3":            `explain: --set needs a SCENARIO; the example has none`,
		"run chat.yaml --set stream.rtt_ms=-1":      `--set stream.rtt_ms=-1: -1 is out of range; expected a number from 0 to 1e+06`,
		"run chat.yaml --set stream.stall_ms=0":     `--set stream.stall_ms=0: 0 is out of range; expected a number above 0 and at most 1e+09`,
		"run chat.yaml --set slo.itl_p99_ms=0":      `--set slo.itl_p99_ms=0: 0 is out of range; expected a number above 0`,
		"run chat.yaml --set stream.interval=10":    `--set stream.interval=10: no key "interval" in stream; valid keys: "stream_interval", "detokenize_s"`,
		"run chat.yaml --set stream.detokenize_s=x": `--set stream.detokenize_s=x: expected a number`,
	} {
		status, out, errOut := try(strings.Fields(line)...)
		assert.Equal(t, exitBadInput, status, line)
		assert.Empty(t, out, line)
		assert.Truef(t, strings.HasPrefix(errOut, "decodesim: "+want), "%s: %s", line, errOut)
	}
	assert.Equal(t, []string{"chat.yaml"}, entries(t, "."))
}

func TestMetricsAreExplainedForOneRequest(t *testing.T) {
	golden, err := filepath.Abs("testdata/what-does-each-tool-say-of-one-request.txt")
	require.NoError(t, err)
	status, out, errOut := try("explain", "--metrics")
	require.Equal(t, exitOK, status, errOut)
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(out), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), out)

	inDir(t, small)
	status, out, errOut = try("explain", "chat.yaml", "--metrics")
	require.Equal(t, exitOK, status, errOut)
	assert.Contains(t, out, "small · seed 1 · request ")
	status, out, errOut = try("explain", "chat.yaml", "--metrics", "--json")
	require.Equal(t, exitOK, status, errOut)
	var x struct{ Metrics []explain.DefinitionX }
	require.NoError(t, json.Unmarshal([]byte(out), &x))
	assert.Equal(t, "vllm", x.Metrics[0].Tool)
}
