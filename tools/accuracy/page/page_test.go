package page

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	builtin "github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/internal/calibration"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/validation"
	"github.com/decodesim/decodesim/tools/accuracy/catalog"
)

// handRun is a run whose TPOT is off by so many percent, and its TTFT by ten times that; the first is that of the whole
// run, others are of single requests. Other statistics are off by far more, and TTFT of engines but vLLM is not
// trusted.
func handRun(id, source, engine, model string, percents ...float64) []validation.Prediction {
	run := &measured.Run{ID: id, Labels: measured.Labels{
		Source: source, Engine: engine, Model: model, GPU: "h100-sxm", Class: "dense-gqa", Precision: "bf16", Parallel: "tp1",
		Load: "1024/1024", Concurrency: 8, Quality: "A",
	}}
	for i := range percents {
		request := -1
		if i > 0 {
			request = i - 1 // what follows the run is single requests
		}
		run.Rows = append(run.Rows, measured.Row{ID: fmt.Sprint(id, "#", i), Request: request, Values: []measured.Value{
			measured.Lead(measured.TPOT, measured.Mean, 10), measured.Lead(measured.TTFT, measured.Mean, 100),
			measured.Other(measured.TPOT, measured.P99, 10),
		}})
	}
	var out []validation.Prediction
	for i := range run.Rows {
		row := &run.Rows[i]
		for j := range row.Values {
			v := &row.Values[j]
			off := []float64{percents[i], 10 * percents[i], 900}[j]
			p := validation.Prediction{Run: run, Row: row, Value: v, Predicted: v.Measured * (1 + off/100)}
			if engine != "vllm" && v.Metric == measured.TTFT {
				p.Skip = "not to be trusted"
			}
			out = append(out, p)
		}
	}
	return out
}

// handAccuracy is a page of few runs.
func handAccuracy(t *testing.T) *Accuracy {
	t.Helper()
	runs := func(by float64) []validation.Prediction {
		var all []validation.Prediction
		for i, percent := range []float64{1, -2, 3} {
			all = append(all, handRun(fmt.Sprint("a", i), "inferencex", "vllm", "llama-3.1-8b", by*percent)...)
		}
		all = append(all, handRun("b", "nvidia_gap", "sglang", "qwen3-32b", by*-20)...)
		all = append(all, handRun("c", "inference-perf experiments", "vllm", "llama-3.1-8b", by*5)...)
		return append(all, handRun("d", "request timings", "vllm", "llama-3.1-8b", by, 7*by, -9*by)...)
	}
	prior, err := builtin.EfficienciesOf("prior")
	require.NoError(t, err)
	a := &Accuracy{
		Method: calibration.Method{Parameters: calibration.Parameters(), Prior: prior.Default, Stiffness: 0.1,
			OwnStiffness: 0.01, Rounds: 3},
		Unfitted: handRun("e", "token-position", "vllm", "minimax-m2.5", 50),
		Excluded: []Excluded{{"A", "speculative decoding", 7}, {"A", "two pools", 3}},
		Prompts:  []ColdPrompt{{"llama-3.1-8b, 1 × h100-sxm", 8192, 200, 150}},
		Seventy:  []AnchorStep{{"in bf16", 2, 1, 1024, 20.8, 28.1}, {"in fp8", 4, 1, 1024, 5.3, 11.9}},
		Targets: []Target{{Model: "gpt-oss-120b", TokensPerS: 713, Layers: 36,
			Steps: []AnchorStep{{"tp4", 4, 1, 1024, 0.166, 2.8}},
			Best:  &handRun("best", "inferencex", "tensorrt-llm", "gpt-oss-120b", 0)[0]}},
	}
	for i, name := range headlineHeldOut() {
		a.HeldOut = append(a.HeldOut, catalog.HeldOut{Name: name, Predictions: runs(float64(i + 1))})
	}
	a.Replays = []Replay{{Run: "d", Under: catalog.InSample, Predictions: handRun("d", "request timings", "vllm",
		"llama-3.1-8b", 1, 7, -9)}}
	return a
}

func page(t *testing.T, a *Accuracy) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Write(&b, a, "accuracy"))
	return b.String()
}

// lineOf returns the cells of the first line of a table that begins so.
func lineOf(t *testing.T, page, start string) []string {
	t.Helper()
	_, rest, found := strings.Cut(page, "\n| "+start+" | ")
	require.True(t, found, start)
	line, _, _ := strings.Cut(rest, "\n")
	return strings.Split(strings.TrimSuffix(line, " |"), " | ")
}

func TestThePageSaysTheErrors(t *testing.T) {
	text := page(t, handAccuracy(t))
	// |1 −2 3 −20|: median 2.5, p90 at position 2.7: 3 + 0.7·17; signed −20 −2 1 3: −0.5.
	assert.Equal(t, []string{"TPOT", "4", "2", "2.5 / 14.9 (−0.5)", "5.0 / 29.8 (−1.0)", "7.5 / 44.7 (−1.5)",
		"10.0 / 59.6 (−2.0)",
		"12.5 / 74.5 (−2.5)", "15.0 / 89.4 (−3.0)", "17.5 / 104 (−3.5)", "20.0 / 119 (−4.0)"},
		lineOf(t, text, "A, all engines"))
	assert.Equal(t, []string{"TPOT", "3", "1", "2.0 / 2.8 (+1.0)"}, lineOf(t, text, "A, vLLM")[:4])
	assert.Equal(t, []string{"TPOT", "1", "1", "20.0 / 20.0 (−20.0)"}, lineOf(t, text, "A, SGLang")[:4])
	assert.Equal(t, []string{"TPOT", "0", "0", "–"}, lineOf(t, text, "A, TensorRT-LLM")[:4])
	assert.Equal(t, []string{"TPOT", "1", "1", "1.0 / 1.0 (+1.0)"}, lineOf(t, text, "D, traces")[:4],
		"single requests do not count")
	assert.Equal(t, []string{"in sample", "+1.0", "8.0", "+10.0", "80.0", "–"}, lineOf(t, text, "d"),
		"of requests, the median of 7 and 9")
	assert.Equal(t, []string{"3", "1", "2.0 / 2.8 (+1.0)", "6.0 / 8.4 (+3.0)", "20.0 / 28.0 (+10.0)",
		"60.0 / 84.0 (+30.0)"}, lineOf(t, text, "vllm"))
	assert.Contains(t, strings.Join(strings.Fields(text), " "), "half are within 7.5 % (nine in ten within 44.7 %)")
	assert.Equal(t, []string{"A", "minimax-m2.5 · vllm", "TPOT", "1", "50.0 / 50.0 (+50.0)"}, lineOf(t, text, "E"))
}

func TestThePageSaysHowFullServersAre(t *testing.T) {
	a := handAccuracy(t)
	assert.NotContains(t, page(t, a), "How full servers are")
	few := Occupied{Clients: 32, Requests: 320, Simulated: measured.Occupancy{KVMean: 0.12, KVMax: 0.13, RunningMax: 32,
		WaitingMax: 30}}
	for _, m := range []measured.Occupancy{{KVMean: 0.10, KVMax: 0.2, RunningMax: 32, WaitingMax: 28},
		{KVMean: 0.2, KVMax: 0.3, RunningMax: 30, WaitingMax: 29}} {
		few.Add(m)
	}
	a.Occupied = []Occupied{{Clients: 64, Requests: 64}, few}
	text := page(t, a)
	_, text, _ = strings.Cut(text, "## How full servers are")
	assert.Equal(t, []string{"320", "2", "15.0 %", "12.0 %", "25.0 %", "13.0 %", "31", "32", "28", "30"},
		lineOf(t, text, "32"))
	assert.Less(t, strings.Index(text, "| 32 |"), strings.Index(text, "| 64 |"))
}

func TestThePageCountsWhatIsLeftOut(t *testing.T) {
	text := page(t, handAccuracy(t))
	_, data, _ := strings.Cut(text, "## The data")
	assert.Equal(t, []string{"4", "2", "10"}, lineOf(t, data, "A")[1:])
	assert.Equal(t, []string{"0", "0", "1"}, lineOf(t, data, "E")[1:])
	assert.Contains(t, text, "| A | speculative decoding | 7 |\n| A | two pools | 3 |\n")
	assert.Contains(t, text, "| A | TTFT: not to be trusted | 1 |\n")
}

// TestThePageSaysHowSeparatePoolsDo: quality B by label, quality C in one line, and neither among those on single
// servers.
func TestThePageSaysHowSeparatePoolsDo(t *testing.T) {
	a := handAccuracy(t)
	for _, r := range []struct {
		engine, quality string
		percent         float64
	}{{"vllm", "B", 10}, {"vllm", "B", -30}, {"sglang", "B", 50}, {"vllm", "C", 80}} {
		run := handRun(fmt.Sprint("pd", r.percent), "inferencex", r.engine, "deepseek-r1", r.percent)
		run[0].Run.Labels.Mode, run[0].Run.Labels.Quality = "disagg", r.quality
		a.Unfitted = append(a.Unfitted, run...)
	}
	single := handRun("one", "inferencex", "vllm", "deepseek-r1", 5)
	single[0].Run.Labels.Mode, single[0].Run.Labels.Quality = "agg", "B"
	a.Unfitted = append(a.Unfitted, single...)
	a.ExcludedDisaggregated = []Excluded{{"A", "the parallel layout is not known", 6}}
	text := page(t, a)
	_, of, _ := strings.Cut(text, "## Prefill and decode in separate pools")
	assert.Equal(t, []string{"3", "2", "30.0 / 46.0 (+10.0)", "200 / 280 (−100)"}, lineOf(t, of, "all"),
		"TTFT of SGLang is not trusted")
	assert.Equal(t, []string{"2", "1", "20.0 / 28.0 (−10.0)", "200 / 280 (−100)"}, lineOf(t, of, "vllm"))
	assert.Equal(t, []string{"1", "1", "50.0 / 50.0 (+50.0)", "–"}, lineOf(t, of, "deepseek-r1 · h100-sxm · sglang"))
	assert.Equal(t, []string{"1", "1", "80.0 / 80.0 (+80.0)", "800 / 800 (+800)"}, lineOf(t, of, "all of quality C"))
	assert.Contains(t, of, "Of the 10 disaggregated rows, these are not simulated:")
	assert.Equal(t, []string{"6"}, lineOf(t, of, "the parallel layout is not known"))
	assert.Contains(t, text, "| A | B | all, on single servers | TPOT | 1 |")
	assert.Contains(t, text, "| A | B | all, in separate pools | TPOT | 3 |")
	assert.NotContains(t, page(t, handAccuracy(t)), "## Prefill and decode in separate pools", "without such data")
}

func TestAnchorsSayWhatTheyWouldTake(t *testing.T) {
	a := handAccuracy(t)
	text := page(t, a)
	assert.Equal(t, []string{"1", "20.8", "28.1", "yes"}, lineOf(t, text, "in bf16"))
	assert.Equal(t, []string{"1", "5.30", "11.9", "no"}, lineOf(t, text, "in fp8"))
	assert.Equal(t, []string{"0.166", "2.80", "77.8", "2.00"}, lineOf(t, text, "tp4"))
	words := strings.Join(strings.Fields(text), " ")
	assert.Contains(t, words, "**gpt-oss-120b at 713 tokens/s to one user** is 1.40 ms per token")
	assert.Contains(t, words, "is 10.0 ms (gpt-oss-120b · h100-sxm · tensorrt-llm · bf16 · tp1, 1024/1024 tokens, 8 "+
		"clients), 7.13 times as long")
	a.Targets[0].Best = nil
	assert.Contains(t, page(t, a), "Without speculation nothing was measured of it.")
	for _, ms := range []float64{20, 25, 30} {
		assert.True(t, (&AnchorStep{StepMS: ms}).NearSeventy(), ms)
	}
	for _, ms := range []float64{19.9, 30.1} {
		assert.False(t, (&AnchorStep{StepMS: ms}).NearSeventy(), ms)
	}
}

func TestThePageIsTheSameEveryTime(t *testing.T) {
	first := page(t, handAccuracy(t))
	assert.Equal(t, first, page(t, handAccuracy(t)))
	assert.NotRegexp(t, regexp.MustCompile(`NaN|[+-]Inf|%!|20\d\d-\d\d-\d\d`), first)
	for line := range strings.Lines(first) {
		if strings.HasPrefix(line, "|") {
			assert.NotContains(t, line, "|  |", "an empty cell")
		}
	}
}

// TestThePageOfNothingHasNoNumbers: without data every cell is a dash.
func TestThePageOfNothingHasNoNumbers(t *testing.T) {
	a := handAccuracy(t)
	a.HeldOut, a.Unfitted = nil, nil
	a.Replays, a.Prompts = nil, nil
	assert.Equal(t, []string{"TPOT", "0", "0", "–", "–", "–", "–", "–", "–", "–", "–"},
		lineOf(t, page(t, a), "A, all engines"))
}

// TestPublishedFiguresAreSummedUpByKindAndSource: rows of quality C are in no error, and every row that is left out is
// counted.
func TestPublishedFiguresAreSummedUpByKindAndSource(t *testing.T) {
	f := &measured.File{Path: "figures.csv", Schema: "figures"}
	var predictions []validation.Prediction
	for i, r := range []struct {
		source, quality string
		percent         float64
		skip            string
	}{
		{"one", "A", 10, ""}, {"one", "B", -20, ""}, {"two", "A", 30, ""}, {"two", "C", 500, ""},
		{"two", "A", 0, "tp is not stated"},
	} {
		run := measured.Run{ID: fmt.Sprint(i), Skip: r.skip, Labels: measured.Labels{Source: r.source, Quality: r.quality,
			Kind: "offline_throughput", Own: r.source, GPU: "mi300x", Model: "opt-13b"}}
		run.Rows = []measured.Row{{ID: run.ID, Request: -1, Values: []measured.Value{measured.Lead(measured.OutputPerS,
			measured.Mean, 100)}}}
		f.Runs = append(f.Runs, run)
		predictions = append(predictions, validation.Prediction{Run: &run, Row: &run.Rows[0], Value: &run.Rows[0].Values[0],
			Predicted: 100 + r.percent, Skip: r.skip})
	}
	a := handAccuracy(t)
	assert.NotContains(t, page(t, a), "Published figures")
	a.Published = validation.Score(f, predictions)
	text := page(t, a)
	assert.Equal(t, []string{"offline throughput", "output tokens/s", "3", "2", "20.0 / 28.0 (+10.0)"},
		lineOf(t, text, "**all**"))
	assert.Equal(t, []string{"offline throughput", "output tokens/s", "2", "1", "15.0 / 19.0 (−5.0)"},
		lineOf(t, text, "one"))
	assert.Equal(t, []string{"1"}, lineOf(t, text, "tp is not stated"))
	assert.Contains(t, strings.Join(strings.Fields(text), " "), "4 of 5 rows are predicted")
	_, never, _ := strings.Cut(text, "What was never measured")
	_, only, _ := strings.Cut(never, "GPUs that are compared with measurements, but not fitted to:** ")
	assert.True(t, strings.HasPrefix(only, "mi300x."), only[:40])
}

func TestWhatErrsMostComesFirst(t *testing.T) {
	a := &Accuracy{}
	heldOut := catalog.HeldOut{Name: catalog.DeploymentOut}
	for i, percent := range []float64{5, -30, 20} {
		for j := range worstRuns {
			heldOut.Predictions = append(heldOut.Predictions, handRun(fmt.Sprint(i, j), "inferencex", "vllm",
				fmt.Sprint("model-", i),
				percent)...)
		}
	}
	heldOut.Predictions = append(heldOut.Predictions, handRun("few", "inferencex", "vllm", "model-of-one-run", 80)...)
	a.HeldOut = []catalog.HeldOut{heldOut}
	m := &markdown{}
	a.worstTable(m, allOf(ofData("A"), leads(measured.TPOT)))
	order := regexp.MustCompile(`model-\S+`).FindAllString(m.buf.String(), -1)
	assert.Equal(t, []string{"model-1", "model-2", "model-0"}, order)
	n, between, within := a.spreadsOf(allOf(ofData("A"), leads(measured.TPOT)))
	assert.Equal(t, 4, n)
	assert.InDelta(t, 25, between.MedianPct, 1e-9, "of 5, 30, 20 and 80")
	assert.InDelta(t, 0, within.MedianPct, 1e-9)
}

func TestFiguresLeaveOutSingleRequests(t *testing.T) {
	a := handAccuracy(t)
	v := a.Scored(catalog.InSample)
	assert.Equal(t, validation.Counts{Rows: 6, Simulated: 6, Values: 18, Compared: 17}, v.Counts)
	assert.Equal(t, 5, a.Scored(catalog.InSample, "vllm").Counts.Rows)
	figures, err := Figures(a)
	require.NoError(t, err)
	again, err := Figures(a)
	require.NoError(t, err)
	assert.Equal(t, figures, again)
	require.Len(t, figures, 2)
	assert.Contains(t, string(figures[0].SVG), "6 rows")
	assert.Contains(t, string(figures[1].SVG), "6 rows")
	require.False(t, math.IsNaN(v.Metrics[0].All.MedianPct))
}

// TestServersAreComparedAtTheirRateAndByTheirRequests of two, one of which would not bear its rate with slower steps.
func TestServersAreComparedAtTheirRateAndByTheirRequests(t *testing.T) {
	a := handAccuracy(t)
	m := &markdown{}
	a.servers(m)
	assert.Empty(t, m.buf.String(), "no servers")
	a.Servers = Servers{
		{Name: "one", AtRate: 20, InFlight: 5, Rate: -4, Bears: 30, Quicker: -10, Slower: 12, Margin: 9},
		{Name: "other", AtRate: -50, InFlight: -10, Rate: 8, Bears: -2, Quicker: -40, Slower: math.Inf(1), Margin: 2},
	}
	a.servers(m)
	text := m.buf.String()
	assert.Equal(t, []string{"2", "35.0 / 47.0 (−15.0)"}, lineOf(t, text, "mean TPOT at their rate"))
	assert.Equal(t, []string{"2", "7.5 / 9.5 (−2.5)"},
		lineOf(t, text, "mean TPOT with as many requests in flight as they had"))
	assert.Equal(t, []string{"2", "6.0 / 7.6 (+2.0)"},
		lineOf(t, text, "rate with as many requests in flight as they had"))
	said := strings.Join(strings.Fields(text), " ")
	assert.Contains(t, said, "every step 7 % shorter, TPOT at the rate would be 25.0 % shorter in the median, and were "+
		"it 7 % longer, 12.0 % longer, and 1 of 2 servers would not bear their rate")
	assert.Contains(t, said, "within 5.50 % in the median, and within 2.70 % for nine of ten servers")
	assert.Equal(t, []string{"+20.0", "+5.0", "−4.0", "+30.0", "9.00"}, lineOf(t, text, "one"))
	assert.Less(t, strings.Index(text, "| other |"), strings.Index(text, "| one |"), "the worst first")
	a.Servers[0].Slower = math.Inf(1)
	m = &markdown{}
	a.servers(m)
	assert.Contains(t, strings.Join(strings.Fields(m.buf.String()), " "),
		"were it 7 % longer, longer without limit, for 2 of 2 servers would not bear their rate")
}
