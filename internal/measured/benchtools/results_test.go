package benchtools_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/formats"
	"github.com/decodesim/decodesim/internal/measured/measuredtest"
)

// result is the only run of a result file.
func result(t *testing.T, name string, edits ...string) measured.Run {
	f, err := measuredtest.ReadResult(t, name, edits...)
	return measuredtest.OneRun(t, f, err)
}

// skipped is a value that is not compared.
func skipped(v measured.Value, why string) measured.Value {
	v.Skip = why
	return v
}

func TestAResultAtARateIsAnOpenLoop(t *testing.T) {
	r := result(t, "vllm_rate.json")
	assert.Equal(t, measuredtest.Workload(
		"arrivals: {process: gamma, rate: 4, cv: 2}", "requests: 200",
		"prompt_tokens: {distribution: fixed, mean: 512}", "output_tokens: {distribution: fixed, mean: 128}"), r.Over)
	assert.Equal(t, measured.Labels{Source: "vllm bench serve", Model: "llama-3.1-8b", Load: "512/128"}, r.Labels)
	assert.Equal(t, []measured.Value{
		measured.Lead(measured.TTFT, measured.Mean, 41.5), measured.Other(measured.TTFT, measured.P50, 36.2),
		measured.Other(measured.TTFT, measured.P99, 92.7),
		measured.Lead(measured.TPOT, measured.Mean, 7.6), measured.Other(measured.TPOT, measured.P50, 7.5),
		measured.Other(measured.TPOT, measured.P99, 8.9),
		measured.Lead(measured.ITL, measured.Mean, 7.61), measured.Other(measured.ITL, measured.P50, 7.2),
		measured.Other(measured.ITL, measured.P99, 24),
		measured.Lead(measured.OutputPerS, measured.Mean, 467.6), measured.Lead(measured.RequestsPerS, measured.Mean, 3.65),
	}, r.Rows[0].Values)
	assert.Empty(t, r.Skip)
	assert.Empty(t, r.Scenario)
}

func TestBurstinessOfOneIsPoisson(t *testing.T) {
	for _, edit := range []string{`"burstiness": 1.0`, `"burstiness": null`} {
		r := result(t, "vllm_rate.json", `"burstiness": 0.25`, edit)
		assert.Contains(t, r.Over, "{process: poisson, rate: 4}", edit)
	}
}

func TestALimitUnderARateIsSimulatedOnlyWhereItDidNotBind(t *testing.T) {
	loose := result(t, "vllm_rate.json", `"max_concurrency": null`, `"max_concurrency": 64`)
	assert.Empty(t, loose.Skip)
	assert.Contains(t, loose.Over, "arrivals:")
	const why = "a limit of concurrency was reached under a request rate, which no workload has"
	tight := result(t, "vllm_rate.json", `"max_concurrency": null`, `"max_concurrency": 12`)
	assert.Equal(t, why, tight.Skip)
	// Without the peak the mean decides: (198·41.5 + 25146·7.6)/1000/54.2 = 3.7 requests under way.
	older := []string{`"max_concurrent_requests": 12, `, ``, `"max_concurrency": null`}
	assert.Equal(t, why, result(t, "vllm_rate.json", append(older, `"max_concurrency": 3`)...).Skip)
	assert.Empty(t, result(t, "vllm_rate.json", append(older, `"max_concurrency": 4`)...).Skip)
}

func TestAResultThatCannotBeSimulatedKeepsItsValues(t *testing.T) {
	for _, c := range []struct{ old, new, why string }{
		{`"label": null`, `"ramp_up_strategy": "linear", "ramp_up_start_rps": 1, "ramp_up_end_rps": 9`,
			"the request rate ramps up, which no workload does"},
		{`"completed": 198`, `"completed": 189`, "more than one request in 20 failed"},
		{`"completed": 198`, `"completed": 0`, "no request completed"},
	} {
		r := result(t, "vllm_rate.json", c.old, c.new)
		assert.Equal(t, c.why, r.Skip)
		assert.Len(t, r.Rows[0].Values, 11)
	}
	assert.Empty(t, result(t, "vllm_rate.json", `"completed": 198`, `"completed": 190`).Skip)
}

func TestDetailedResultsTellEachLength(t *testing.T) {
	f, err := measuredtest.ReadResult(t, "vllm_detailed.jsonl")
	require.NoError(t, err)
	require.Len(t, f.Runs, 2)
	assert.Equal(t, measuredtest.Workload(
		"closed_loop: {concurrency: 2}", "lengths: {values: [[80, 3], [120, 3], [80, 3], [120, 4]]}"), f.Runs[0].Over)
	values := f.Runs[0].Rows[0].Values
	assert.Equal(t, []string{"ttft", "ttft_p50", "ttft_p99", "tpot", "tpot_p50", "tpot_p99", "itl", "itl_p50", "itl_p99",
		"e2e", "e2e_p50",
		"e2e_p99", "output_tokens_per_s", "requests_per_s"}, namesOf(values))
	assert.InDelta(t, (30+40+50+70)/4.0, values[9].Measured, 1e-9, "TTFT and gaps, from seconds")
	assert.InDelta(t, 45, values[10].Measured, 1e-9)
	assert.InDelta(t, 50+0.97*20, values[11].Measured, 1e-9)
	assert.Equal(t, "data-1", f.Runs[0].ID)
}

func TestDetailedResultsTellWhatEachRequestSaw(t *testing.T) {
	f, err := measuredtest.ReadResult(t, "vllm_detailed.jsonl", `"itls": [[0.01, 0.01]`, `"itls": [[0.02, 0.04]`,
		`"ttfts": [0.02, `, `"ttfts": [0, `)
	require.NoError(t, err)
	rows := f.Runs[0].Rows
	require.Len(t, rows, 5)
	for i, want := range [][2]float64{{10, 30}, {20, 10}, {30, 10}, {40, 10}} {
		row := rows[i+1]
		assert.Equal(t, []string{"ttft", "tpot"}, namesOf(row.Values))
		assert.InDeltaSlice(t, want[:], []float64{row.Values[0].Measured, row.Values[1].Measured}, 1e-9)
		assert.Equal(t, i, row.Request)
		assert.Empty(t, row.Values[0].Skip)
	}
	chunks := f.Runs[1].Rows
	assert.Equal(t, []string{"tpot"}, namesOf(chunks[1].Values), "no first token")
	assert.InDelta(t, 10, chunks[1].Values[0].Measured, 1e-9, "two gaps for ten tokens")
}

func TestRequestsAtARateAreNotComparedOneByOne(t *testing.T) {
	f, err := measuredtest.ReadResult(t, "vllm_detailed.jsonl", `"request_rate": "inf"`, `"request_rate": 3`,
		`"max_concurrency": 2`, `"max_concurrency": null`)
	require.NoError(t, err)
	assert.Equal(t, measuredtest.Workload("arrivals: {process: poisson, rate: 3}",
		"lengths: {values: [[80, 3], [120, 3], [80, 3], [120, 4]]}"), f.Runs[0].Over)
	assert.Empty(t, f.Runs[0].Rows[0].Values[0].Skip)
	for _, row := range f.Runs[0].Rows[1:] {
		for _, v := range row.Values {
			assert.Equal(t, "the instants at which a rate sent the requests are not in the file", v.Skip)
		}
	}
}

func TestDetailsThatCannotBeAreRefused(t *testing.T) {
	for _, c := range []struct{ old, new, message string }{
		{`"input_lens": [80, `, `"input_lens": [80.5, `,
			`data:1: input_lens[0]: 80.5; expected a whole number of tokens up to 1e9`},
		{`"output_lens": [3, 3, 3, 4]`, `"output_lens": [3, 3, 3, 4e9]`,
			`data:1: output_lens[3]: 4000000000; expected a whole number of tokens up to 1e9`},
		{`"output_lens": [3, 3, 3, 4]`, `"output_lens": [3, 3, 3]`,
			`data:1: output_lens: 3; expected the number of input_lens, 4`},
		{`"ttfts": [0.01, `, `"ttfts": ["soon", `, `data:1: ttfts[0]: "soon"; expected a number`},
		{`"itls": [[0.01, 0.01], [0.01, 0.01], `, `"itls": [[0.01, 0.01], [0.01, "x"], `,
			`data:1: itls[1][1]: "x"; expected seconds`},
	} {
		_, err := measuredtest.ReadResult(t, "vllm_detailed.jsonl", c.old, c.new)
		assert.EqualError(t, err, c.message)
	}
	f, err := measuredtest.ReadResult(t, "vllm_detailed.jsonl", `"ttfts"`, `"other"`)
	require.NoError(t, err)
	assert.Len(t, f.Runs[0].Rows, 1, "without their times there are no rows of requests")
}

func namesOf(values []measured.Value) []string {
	var names []string
	for _, v := range values {
		names = append(names, v.Name)
	}
	return names
}

func TestWithoutRateAndLimitEveryRequestStartsAtOnce(t *testing.T) {
	f, err := measuredtest.ReadResult(t, "vllm_detailed.jsonl")
	require.NoError(t, err)
	r := f.Runs[1]
	assert.Contains(t, r.Over, "closed_loop: {concurrency: 3}\n  lengths: {values: [[100, 11], [100, 11], [100, 11]]}\n")
	assert.Equal(t, 3, r.Labels.Concurrency)
	assert.Equal(t, skipped(measured.Lead(measured.ITL, measured.Mean, 50), "gaps are between chunks of several tokens"),
		r.Rows[0].Values[2], "2 gaps for 11 tokens")
	f, err = measuredtest.ReadResult(t, "vllm_detailed.jsonl", `"max_concurrency": 2`, `"max_concurrency": null`,
		`"request_rate": "inf", `, ``)
	assert.Nil(t, f)
	assert.EqualError(t, err, `data:1: request_rate: missing; expected requests/s, or "inf", or max_concurrency beside it`)
}

func TestRequestsThatFailedHaveNoLengths(t *testing.T) {
	f, err := measuredtest.ReadResult(t, "vllm_detailed.jsonl", `"output_lens": [3, 3, 3, 4]`,
		`"output_lens": [3, 3, 0, 4]`)
	require.NoError(t, err)
	assert.Contains(t, f.Runs[0].Over, "lengths: {values: [[80, 3], [120, 3], [120, 4]]}")
	rows := f.Runs[0].Rows
	require.Len(t, rows, 4)
	assert.Equal(t, []string{"data-1#0", "data-1#1", "data-1#3"}, []string{rows[1].ID, rows[2].ID, rows[3].ID},
		"as the file counts")
	assert.Equal(t, []int{-1, 0, 1, 2}, []int{rows[0].Request, rows[1].Request, rows[2].Request, rows[3].Request},
		"as the simulation does")
	assert.InDelta(t, 40, rows[3].Values[0].Measured, 1e-9)
	assert.InDelta(t, (30+40+70)/3.0, f.Runs[0].Rows[0].Values[9].Measured, 1e-9)
}

func TestAReportHasARunPerBenchmark(t *testing.T) {
	f, err := measuredtest.ReadResult(t, "guidellm.json")
	require.NoError(t, err)
	require.Len(t, f.Runs, 3)
	assert.Equal(t, measuredtest.Workload(
		"closed_loop: {concurrency: 16}", "requests: 160",
		"prompt_tokens: {distribution: fixed, mean: 256}", "output_tokens: {distribution: fixed, mean: 128}"), f.Runs[0].Over)
	assert.Equal(t, []measured.Value{
		measured.Lead(measured.TTFT, measured.Mean, 60), measured.Other(measured.TTFT, measured.P50, 50),
		measured.Other(measured.TTFT, measured.P99, 90),
		measured.Lead(measured.TPOT, measured.Mean, 12.1), measured.Other(measured.TPOT, measured.P50, 12),
		measured.Other(measured.TPOT, measured.P99, 12.9),
		measured.Lead(measured.E2E, measured.Mean, 1600), measured.Other(measured.E2E, measured.P50, 1590),
		measured.Other(measured.E2E, measured.P90, 1650), measured.Other(measured.E2E, measured.P99, 1690),
		measured.Other(measured.E2E, measured.Max, 1700),
		measured.Lead(measured.OutputPerS, measured.Mean, 1270), measured.Lead(measured.RequestsPerS, measured.Mean, 9.9),
	}, f.Runs[0].Rows[0].Values)
	assert.Contains(t, f.Runs[1].Over, "arrivals: {process: poisson, rate: 5}\n  duration_s: 30\n  prompt_tokens:")
	assert.Equal(t, []measured.Value{
		measured.Lead(measured.TTFT, measured.Mean, 45), measured.Lead(measured.ITL, measured.Mean, 11.4),
		skipped(measured.Other(measured.TPOT, measured.P50, 11.5), "percentiles over requests weighted by their tokens"),
		measured.Lead(measured.E2E, measured.Mean, 1500),
	}, f.Runs[1].Rows[0].Values, "weighted by tokens, which differ")
	assert.Equal(t, "more than one request in 20 failed", f.Runs[2].Skip)
	assert.Contains(t, f.Runs[2].Over, "closed_loop: {concurrency: 64}")
	assert.Equal(t, "llama-3.1-8b", f.Runs[2].Labels.Model)
}

func TestStrategiesOfAReportAreLoads(t *testing.T) {
	const streams = `"type_": "concurrent", "streams": 16`
	for _, c := range []struct{ strategy, line string }{
		{`"type_": "synchronous"`, "closed_loop: {concurrency: 1}"},
		{`"type_": "constant", "rate": 2.5`, "arrivals: {process: constant, rate: 2.5}"},
		{`"type_": "throughput"`, "closed_loop: {concurrency: 160}"},
		{`"type_": "throughput", "max_concurrency": 20`, "closed_loop: {concurrency: 20}"},
	} {
		f, err := measuredtest.ReadResult(t, "guidellm.json", streams, c.strategy)
		require.NoError(t, err)
		assert.Contains(t, f.Runs[0].Over, c.line)
		assert.Empty(t, f.Runs[0].Skip)
	}
	f, err := measuredtest.ReadResult(t, "guidellm.json", streams,
		`"type_": "constant", "rate": 9.9, "max_concurrency": 16`)
	require.NoError(t, err)
	assert.Equal(t, "a limit of concurrency was reached under a request rate, which no workload has", f.Runs[0].Skip)
	f, err = measuredtest.ReadResult(t, "guidellm.json", streams, `"type_": "replay"`)
	require.NoError(t, err)
	assert.Equal(t, "strategy replay is not read", f.Runs[0].Skip)
	_, err = measuredtest.ReadResult(t, "guidellm.json", `"poisson", "rate": 5.0`, `"poisson", "rate": -5`)
	assert.EqualError(t, err, "data:1: benchmarks[1].config.strategy.rate: -5; expected requests/s above 0")
	_, err = measuredtest.ReadResult(t, "guidellm.json", streams, `"streams": 16`)
	assert.EqualError(t, err, "data:1: benchmarks[0].config.strategy.type_: missing; expected the strategy: "+
		"synchronous, concurrent, constant, poisson or throughput")
}

func TestASummaryOfAStageIsInSeconds(t *testing.T) {
	r := result(t, "inference_perf_stage.json")
	assert.Equal(t, measuredtest.Workload(
		"arrivals: {process: poisson, rate: 4}", "requests: 240",
		"prompt_tokens: {distribution: fixed, mean: 512}", "output_tokens: {distribution: fixed, mean: 128}"), r.Over)
	assert.Equal(t, []measured.Value{
		measured.Lead(measured.TTFT, measured.Mean, 44), measured.Other(measured.TTFT, measured.P50, 41),
		measured.Other(measured.TTFT, measured.P90, 60), measured.Other(measured.TTFT, measured.P99, 90),
		measured.Lead(measured.E2E, measured.Mean, 1314), measured.Other(measured.E2E, measured.P50, 1310),
		measured.Other(measured.E2E, measured.P90, 1400), measured.Other(measured.E2E, measured.P99, 1480),
		measured.Other(measured.E2E, measured.Max, 1500),
		measured.Lead(measured.TPOT, measured.Mean, 10), measured.Other(measured.TPOT, measured.P50, 9.9),
		measured.Other(measured.TPOT, measured.P99, 10.8),
		measured.Lead(measured.ITL, measured.Mean, 10), measured.Other(measured.ITL, measured.P50, 9.8),
		measured.Other(measured.ITL, measured.P99, 30),
		measured.Lead(measured.OutputPerS, measured.Mean, 512), measured.Lead(measured.RequestsPerS, measured.Mean, 4),
	}, rounded(r.Rows[0].Values))
}

// rounded takes the last bits off values that were converted.
func rounded(values []measured.Value) []measured.Value {
	for i, v := range values {
		values[i].Measured = float64(int64(v.Measured*1e6+0.5)) / 1e6
	}
	return values
}

// halved is a stage whose client stamped every token twice: (1.314 − 0.044)/(2·128 + 1) s.
var halved = []string{
	`"time_per_output_token": {"mean": 0.01,`, `"time_per_output_token": {"mean": 0.00494,`,
	`"inter_token_latency": {"mean": 0.01,`, `"inter_token_latency": {"mean": 0.00494,`,
}

func TestTimesPerTokenThatAreHalvedAreNotCompared(t *testing.T) {
	r := result(t, "inference_perf_stage.json", halved...)
	for _, v := range r.Rows[0].Values {
		want := ""
		if v.Metric == measured.TPOT || v.Metric == measured.ITL {
			want = "each token has two time stamps, which halves times per token"
		}
		assert.Equal(t, want, v.Skip, v.Name)
	}
	r = result(t, "inference_perf_stage.json", `"output_len": {"mean": 128.0`, `"output_len": {"mean": 90.0`)
	assert.Contains(t, rounded(r.Rows[0].Values), skipped(measured.Lead(measured.TPOT, measured.Mean, 10),
		"times per token do not agree with request_latency, time_to_first_token and output_len"))
	r = result(t, "inference_perf_stage.json", `"request_latency": {"mean": 1.314,`, `"request_latency": {`,
		`"p50": 1.31, "p90"`, `"p90"`)
	assert.Contains(t, rounded(r.Rows[0].Values), skipped(measured.Lead(measured.ITL, measured.Mean, 10),
		"times per token cannot be checked without request_latency and time_to_first_token"))
}

func TestSettingsBesideASummaryTellWhatItLacks(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "inference_perf_stage.json"))
	require.NoError(t, err)
	content := strings.Replace(string(text), `"requested_rate": 4.0, "achieved_rate": 3.99`, `"schedule": null`, 1)
	_, err = measuredtest.ReadText(t, content)
	assert.EqualError(t, err, "data:1: load_summary.requested_rate: missing; expected requests/s, concurrency, or "+
		"config.yaml with load.stages beside the file")

	for i := 0; i < len(halved); i += 2 {
		content = strings.Replace(content, halved[i], halved[i+1], 1)
	}
	settings := "load:\n  type: constant\n  stages:\n  - {rate: 2, duration: 60}\n  - {rate: 6, duration: 20}\n" +
		"server: {model_name: meta-llama/Llama-3.1-8B}\ndata: {type: shared_prefix, shared_prefix: {output_len: 128}}\n"
	f, err := measuredtest.ReadText(t, content, "config.yaml", settings)
	r := measuredtest.OneRun(t, f, err)
	assert.Contains(t, r.Over, "arrivals: {process: piecewise, points: [{at_s: 0, rate: 2}, {at_s: 60, rate: 2}, {at_s: "+
		"60, rate: 6}, {at_s: 80, rate: 6}]}\n")
	assert.Equal(t, "llama-3.1-8b", r.Labels.Model)
	assert.Contains(t, rounded(r.Rows[0].Values), measured.Lead(measured.TPOT, measured.Mean, 10),
		"(1314 − 44)/127: the server emitted 128 tokens")

	_, err = measuredtest.ReadText(t, content, "config.yaml", "load:\n  stages:\n  - {rate: 2}\n")
	assert.EqualError(t, err, "config.yaml:1: load.stages[0].duration: missing; expected seconds above 0")
}

func TestEveryResultRunsOnAScenario(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.json*"))
	require.NoError(t, err)
	require.Len(t, files, 7)
	for _, path := range files {
		f, err := formats.Read(path, "")
		require.NoError(t, err)
		assert.ErrorContains(t, f.Whole(), "expected that deployment as --scenario", path)
		require.NoError(t, f.On("chat-8b"))
		assert.NoError(t, f.Whole())
		for _, r := range f.Runs {
			s, err := configs.Read(r.ID, []byte(r.Scenario), configs.Options{})
			require.NoError(t, err, r.Scenario)
			_, err = build.New(s)
			require.NoError(t, err, r.Scenario)
			require.NoError(t, r.Label(s))
			assert.Equal(t, "h100-sxm vllm bf16 tp1", strings.TrimPrefix(r.Labels.Deployment(), r.Labels.Model+" "))
		}
	}
}

func TestFilesThatAreNoDataAreRefusedWithTheirLine(t *testing.T) {
	for _, c := range []struct{ content, message string }{
		{"{\"completed\": 1,\n\"total_input_tokens\": ,}",
			"data:2: not JSON: invalid character ',' looking for beginning of value"},
		{"{\"a\": 1}\n{\"a\": 2}\n[3]\n", "data:3: value 1 is not a mapping; expected JSON objects"},
		{"{\"a\": 1", "data:1: not JSON: unexpected EOF"},
	} {
		_, err := measuredtest.ReadText(t, c.content)
		assert.EqualError(t, err, c.message)
	}
	_, err := measuredtest.ReadText(t, `{"a": 1}`)
	assert.ErrorContains(t, err, "closed-loop sweeps (CSV with ")
	_, err = measuredtest.ReadResult(t, "vllm_detailed.jsonl", `"total_input_tokens": 300`, `"total_input_tokens": "many"`)
	assert.EqualError(t, err, `data:2: total_input_tokens: "many"; expected tokens above 0`)
}
