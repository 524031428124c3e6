package page

import (
	"fmt"
	"io"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/internal/validation"
	"github.com/decodesim/decodesim/tools/accuracy/catalog"
)

// NamedFigure is a plot beside the page.
type NamedFigure struct {
	Name string
	plot.Figure
}

// Figures draws predictions against measurements, of deployments that were left out of the fit.
func Figures(a *Accuracy) ([]NamedFigure, error) {
	var out []NamedFigure
	for _, metric := range []string{"tpot", "ttft"} {
		v := a.Scored(catalog.DeploymentOut)
		c := text.Caption{Scenario: "each run predicted from other deployments", Model: "all engines",
			Hardware: text.Counted(v.Counts.Simulated, "row")}
		drawn, err := validation.Parity(c, v, metric)
		if err != nil {
			return nil, err
		}
		out = append(out, NamedFigure{metric, drawn})
	}
	return out, nil
}

// Write writes the page; name is how the files of its figures begin.
func Write(w io.Writer, a *Accuracy, name string) error {
	m := &markdown{}
	m.heading(1, "How accurate it is")
	a.claim(m)
	a.headline(m)
	m.figure("Mean TPOT of deployments left out of the fit, predicted against measured", name+"_tpot.svg")
	m.figure("Mean TTFT of deployments left out of the fit, predicted against measured", name+"_ttft.svg")
	a.noise(m)
	a.groups(m)
	a.engines(m)
	a.occupied(m)
	a.replays(m)
	a.prompts(m)
	a.wrong(m)
	a.disaggregated(m)
	a.unfitted(m)
	a.published(m)
	a.logs(m)
	a.anchors(m)
	a.how(m)
	a.dataSets(m)
	a.exclusions(m)
	caveats(m)
	a.unmeasured(m)
	_, err := w.Write(m.buf.Bytes())
	return err
}

// claim says in a paragraph what may be expected.
func (a *Accuracy) claim(m *markdown) {
	closed, first, vllm := allOf(ofData("A"), leads(measured.TPOT)), allOf(ofData("A"),
		leads(measured.TTFT)), allOf(ofData("A"), under("vllm"))
	within := func(heldOut string, keep cut) string {
		e := errorsIn(a.predictionsOf(heldOut), keep)
		return fmt.Sprintf("%s %% (nine in ten within %s %%)", errorDigits(e.MedianPct), errorDigits(e.P90Pct))
	}
	whole := errorsIn(a.predictionsOf(catalog.DeploymentOut), closed)
	m.para("Of %d mean TPOTs measured on %d deployments under three engines (data A), each predicted without having "+
		"seen its deployment, half are within %s; of as many mean TTFTs, within %s. For vLLM alone it is %s, and %s. On a "+
		"GPU that the fit has not seen, TPOT is within %s; of a model that it has not seen, within %s. After a calibration "+
		"on %d points of the deployment, the others are within %s. Trust differences between two simulations more than "+
		"either.",
		whole.N, whole.deployments, within(catalog.DeploymentOut, closed), within(catalog.DeploymentOut, first),
		within(catalog.DeploymentOut, allOf(vllm, leads(measured.TPOT))),
		within(catalog.DeploymentOut, allOf(vllm, leads(measured.TTFT))), within(catalog.GPUOut, closed),
		within(catalog.ModelOut, closed),
		catalog.CalibrationPoints, within(catalog.AfterPoints, closed))
	m.para("This page, its figures and the constants that the program carries are written by `make calibrate` from " +
		"measured data beside the repository, always the same bytes. Every number below is of a simulation of the run as " +
		"it was made (clients, lengths, engine arguments, repeated prompts), compared with the statistic that was " +
		"measured, nearly always a mean over requests. Letters stand for sets of data, which the table near the end of the " +
		"page describes.")
}

// headlineHeldOut are the columns of the first table.
func headlineHeldOut() []string {
	return []string{
		catalog.InSample, catalog.ExperimentOut, catalog.DeploymentOut, catalog.PairOut, catalog.GPUOut, catalog.ModelOut,
		catalog.BothOut, catalog.AfterPoints,
	}
}

// headline is the table of errors by data set and by what was left out.
func (a *Accuracy) headline(m *markdown) {
	m.heading(2, "Errors")
	m.para("In each cell: median and 90th percentile of the absolute error, and in brackets the median of the signed "+
		"one (+: predicted too long), all in percent of the measurement. Left out: the run, all runs of its deployment "+
		"(model, GPU, engine, precision and parallelism), all of the model on the GPU (pair), of the GPU, of the model, or "+
		"of either are kept from the fit that predicts it. After %d points: fitted to %d runs spread over the load of a "+
		"deployment, from what the other deployments say; of "+
		"deployments with at least twice as many, errors of the other runs.",
		catalog.CalibrationPoints, catalog.CalibrationPoints)
	rows := [][]string{{"data", "metric", "n", "deployments"}}
	for _, h := range headlineHeldOut() {
		rows[0] = append(rows[0], columnOf(h))
	}
	closed, open, both := ofData("A"), ofData("C"), []measured.Metric{measured.TPOT, measured.TTFT}
	for _, r := range []struct {
		name    string
		keep    cut
		metrics []measured.Metric
	}{
		{"A, all engines", closed, both},
		{"A, vLLM", allOf(closed, under("vllm")), both},
		{"A, SGLang", allOf(closed, under("sglang")), both},
		{"A, TensorRT-LLM", allOf(closed, under("tensorrt-llm")), both},
		{"A3, one deployment", ofData("A3"), []measured.Metric{measured.TPOT, measured.TTFT, measured.E2E}},
		{"C, open loop", open, []measured.Metric{measured.TPOT, measured.TTFT, measured.E2E}},
		{"C, whole runs", allOf(open, wholeRuns), []measured.Metric{measured.TPOT, measured.TTFT, measured.E2E}},
		{"D, traces", ofData("D"), []measured.Metric{measured.TPOT, measured.TTFT, measured.E2E}},
		{"F, single steps", ofData("F"), both},
	} {
		for _, metric := range r.metrics {
			rows = append(rows, a.headlineRow(r.name, validation.MetricName(metric.String()), allOf(r.keep, leads(metric))))
		}
	}
	rows = append(rows, a.headlineRow("G, lists of requests", "output tokens/s",
		allOf(ofData("G"), leads(measured.OutputPerS))))
	for _, kind := range []string{"decode step", "mixed step", "prefill step"} {
		rows = append(rows, a.headlineRow("H, single steps", kind, allOf(ofData("H"), ofKind(kind))))
	}
	m.table(2, rows)
	m.para("H is the steps of the sample that is fitted to; errors of all that are in the logs are below. C counts " +
		"stages and whole runs as its rows do. F is single steps of stacks of 2023: its TTFT is a step that " +
		"prefills a batch, its TPOT a step that decodes one. G is the published throughputs that are fitted to; errors of " +
		"all published figures are below.")
}

func (a *Accuracy) headlineRow(name, metric string, keep cut) []string {
	e := errorsIn(a.predictionsOf(catalog.InSample), keep)
	row := []string{name, metric, fmt.Sprint(e.N), fmt.Sprint(e.deployments)}
	for _, h := range headlineHeldOut() {
		row = append(row, cell(errorsIn(a.predictionsOf(h), keep).Errors))
	}
	return row
}

// columnOf names what is held out at the head of a column.
func columnOf(heldOut string) string {
	switch heldOut {
	case catalog.ExperimentOut:
		return "run left out"
	case catalog.AfterPoints:
		return fmt.Sprintf("after %d points", catalog.CalibrationPoints)
	}
	return heldOut
}

// cell is errors in a table: median / p90 (bias).
func cell(e validation.Errors) string {
	if e.N == 0 {
		return "–"
	}
	return fmt.Sprintf("%s / %s (%s)", errorDigits(e.MedianPct), errorDigits(e.P90Pct), biasDigits(e.BiasPct))
}

// noise says how far any error can fall.
func (a *Accuracy) noise(m *markdown) {
	m.heading(2, "How small an error can be")
	m.para("The same software measured again, within the same data (NOISE.md beside them): TPOT differs by 0.3 to 0.6 " +
		"%% in the median, and one pair in ten of the same version by 8 %% or more; TTFT by 3 %% in the median and 14 %% " +
		"one time in ten; two runs of one trace on an RTX 4090 (data D) by 6 %% in TPOT and 13 %% in TTFT. Versions of an " +
		"engine a few months apart differ by 6 %% in TPOT and 11 %% in TTFT in the median, 15 %% and 33 %% one time in " +
		"ten. Efficiencies here are of an engine's minor release where three deployments or more were measured, and else " +
		"of several together, so that much below 5 %% of TPOT a fit would only describe its own data.")
	m.para("On the experiments of C, the least errors that other simulators publish are 6.8 %% (E2E), 18 %% (TTFT) and " +
		"7.1 %% (TPOT) in the median.")
	m.heading(2, "Layers that no server ran")
	m.para("Constants are fitted to what clients of servers saw. Whether they mean what their names say can be asked of " +
		"a GPU alone: `tools/kernels/layers.py` timed 209 batches of one dense bf16 layer in PyTorch on an H100, of four " +
		"models and of what one of 2 to 8 GPUs has of them, in CUDA graphs, which no fit sees. The constants of vLLM price " +
		"decodes of 1 to 512 sequences within 6 %% in the median and 12 %% nine times in ten, and prompts of 128 to 8,192 " +
		"tokens, without what launching them takes, within 8 and 18 %% (a test holds them to that). Prompts come out " +
		"short, for what kernels between products move is in no price: priced by its bytes these errors get smaller, and " +
		"those of servers, of deployments left out, stay as they are.")
	m.para("`tools/kernels/tiles.py` timed the attention of 635 batches of chunks there: 128 to 8,192 tokens after up " +
		"to 122,880, of 8 to 32 heads. Where a kernel does not divide the keys, a chunk takes what its longest tile takes: " +
		"of 8 heads after 122,880 tokens, 128 tokens take 1.38 ms and 1,024 take 1.45 in cuDNN's, 3.42 and 3.39 in " +
		"FlashAttention 2, which takes 0.25 and 1.70 where it divides them. Priced in proportion to pairs of query and " +
		"key, with one constant for a kernel, 250 batches of heads of 128 that take longer than 40 µs are 22 and 83 %% " +
		"off in cuDNN's and 37 and 78 %% in FlashAttention 2, in the median and nine times in ten; with the longest tile " +
		"as a floor, 9 and 29 %% and 5 and 41 %%. Prices have that floor where engines have such kernels: on B200, B300, " +
		"GB200 and GB300 (`hardware/attention.go`).")
}
