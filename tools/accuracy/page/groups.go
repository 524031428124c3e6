package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/validation"
	"github.com/decodesim/decodesim/tools/accuracy/catalog"
)

// groups are the errors of data A by label.
func (a *Accuracy) groups(m *markdown) {
	m.heading(2, "By engine, GPU, model and precision")
	m.para("Data A, mean TPOT and mean TTFT.")
	for _, d := range []struct {
		name string
		of   func(*measured.Labels) string
	}{
		{"engine", func(l *measured.Labels) string { return l.Engine }},
		{"GPU", func(l *measured.Labels) string { return l.GPU }},
		{"model class", func(l *measured.Labels) string { return l.Class }},
		{"model", func(l *measured.Labels) string { return l.Model }},
		{"precision", func(l *measured.Labels) string { return l.Precision }},
	} {
		a.groupTable(m, d.name, func(p *validation.Prediction) (string, int) { return d.of(&p.Run.Labels), 0 })
	}
	a.groupTable(m, "clients", func(p *validation.Prediction) (string, int) { return clientsOf(p.Run.Labels.Concurrency) })
	a.groupTable(m, "engine, clients", func(p *validation.Prediction) (string, int) {
		clients, order := clientsOf(p.Run.Labels.Concurrency)
		return p.Run.Labels.Engine + ", " + clients, clientsGroups*slices.Index([]string{"sglang", "tensorrt-llm", "vllm"},
			p.Run.Labels.Engine) + order
	})
}

// groupTable writes a line for each value of a label.
func (a *Accuracy) groupTable(m *markdown, name string, of func(*validation.Prediction) (string, int)) {
	rows := [][]string{{name, "n", "deployments", "TPOT in sample", "TPOT deployment left out", "TTFT in sample",
		"TTFT deployment left out"}}
	tpot, ttft := allOf(ofData("A"), leads(measured.TPOT)), allOf(ofData("A"), leads(measured.TTFT))
	for _, g := range groupBy(a.predictionsOf(catalog.InSample), tpot, of) {
		in := func(p *validation.Prediction) bool { n, _ := of(p); return n == g.name }
		e := errorsIn(g.predictions, tpot)
		row := []string{g.name, fmt.Sprint(e.N), fmt.Sprint(e.deployments), cell(e.Errors)}
		row = append(row, cell(errorsIn(a.predictionsOf(catalog.DeploymentOut), allOf(tpot, in)).Errors))
		for _, h := range []string{catalog.InSample, catalog.DeploymentOut} {
			row = append(row, cell(errorsIn(a.predictionsOf(h), allOf(ttft, in)).Errors))
		}
		rows = append(rows, row)
	}
	m.table(1, rows)
}

// clientsGroups is how many groups clientsOf makes.
const clientsGroups = 4

// clientsOf groups numbers of clients.
func clientsOf(n int) (name string, order int) {
	switch {
	case n <= 4:
		return "1 to 4", 0
	case n <= 16:
		return "5 to 16", 1
	case n <= 64:
		return "17 to 64", 2
	}
	return "65 and more", 3
}

// replays are the errors on runs whose every request was measured.
func (a *Accuracy) replays(m *markdown) {
	m.heading(2, "Request by request")
	m.para("Data D replays traces whose every request was timed. Errors in percent: of the run's mean, and of single " +
		"requests the median " +
		"of the absolute error. \"GPU left out\" is what a GPU of which only the catalogue entry is known gets. \"In " +
		"sample\" is what the " +
		"program carries, fitted to all data, these runs among them. \"Calibrated on this run\" is what `decodesim " +
		"calibrate` makes of " +
		"the means of the very run that it predicts: in sample too.")
	rows := [][]string{{"run", "efficiencies", "mean TPOT", "TPOT per request", "mean TTFT", "TTFT per request",
		"mean E2E"}}
	for i := range a.Replays {
		r := &a.Replays[i]
		row := []string{r.Run, r.Under}
		for _, metric := range []measured.Metric{measured.TPOT, measured.TTFT, measured.E2E} {
			row = append(row, biasDigits(errorsIn(r.Predictions, leads(metric)).BiasPct))
			if metric != measured.E2E {
				single := func(p *validation.Prediction) bool { return p.Row.Request >= 0 && p.Value.Name == metric.String() }
				row = append(row, errorDigits(errorsIn(r.Predictions, single).MedianPct))
			}
		}
		rows = append(rows, row)
	}
	m.table(2, rows)
}

// wrong lists what errs most, and why.
func (a *Accuracy) wrong(m *markdown) {
	m.heading(2, "Where it is wrong, and why")
	_, between, within := a.spreadsOf(allOf(ofData("A"), leads(measured.TPOT)))
	m.para("Runs of one deployment err together. Of mean TPOT in data A, left out, the median deployment errs by %s %% "+
		"in the median of its runs, and the median run by %s %% around the median of its deployment. What differs between "+
		"deployments is kernels, settings and versions that no label names: a few points of one's own help more than a "+
		"term of the model would.", errorDigits(between.MedianPct), errorDigits(within.MedianPct))
	a.spreadTable(m)
	m.para("The deployments of data A, of at least %d runs, whose mean TPOT errs most when they are left out, with the "+
		"median signed error in percent:", worstRuns)
	a.worstTable(m, allOf(ofData("A"), leads(measured.TPOT)))
	m.para("Of mean TTFT:")
	a.worstTable(m, allOf(ofData("A"), leads(measured.TTFT)))
	m.para("The stages of C under open load whose mean TTFT errs most when their run is left out:")
	a.worstStages(m)
	m.items(causes()...)
}

// spreadsOf returns how far predictions are off between deployments and within one: of the median run of each, and of
// the runs around it, in percent.
func (a *Accuracy) spreadsOf(keep cut) (deployments int, between, within validation.Errors) {
	var medians, around []float64
	for _, g := range groupBy(a.predictionsOf(catalog.DeploymentOut), keep, byDeployment) {
		own := errorsIn(g.predictions, keep).BiasPct
		medians = append(medians, own)
		for i := range g.predictions {
			around = append(around, 100*g.predictions[i].Error()-own)
		}
	}
	return len(medians), validation.ErrorsOf(medians), validation.ErrorsOf(around)
}

// causes are the known reasons of what errs most.
func causes() []string {
	return []string{
		"**Near saturation, TTFT cannot be predicted.** Where the load is close to what a server bears, waiting grows as " +
			"1/(1 − load): a step that is some percent too long makes a queue that does not drain, and a TTFT many times too " +
			"long, without limit where a whole GPU is left out. Mixtral-8x7B on two H100 at 20 requests/s is such a case. The " +
			"TPOT of the same stages, beside it in the table, errs by far less.",
		"**Open load on an H100 that the fit has not seen (data C).** Four fifths of what TTFT and TPOT are off by there " +
			"is the same for all runs of a deployment, and nearly so for all deployments. Without them, in a trial, the fit " +
			"takes 20 ms for what passes outside the engine before a first token, where theirs, whose clients are beside " +
			"the server, is 7 ms: 13 ms of a TTFT of 53 in the median, half of what it is off by, and no property of a GPU. " +
			"And it takes 0.82 of the bandwidth and 0.68 of the FLOP/s, where H100 has 0.93 and 0.80: those 12 % are what " +
			"TPOT is off by.",
		"**Llama-3.1-8B under SGLang.** With 512 clients on four GPUs and on eight TTFT grows with the length of the " +
			"output, to ten times what is predicted. Its ten rows have the rates, within 7 %, of one process that hands on " +
			"29 µs a token, 31 ns for each token that the request had before, and 8 µs for one of its prompt: a tenth of the " +
			"clients are always waiting for what the engine has long done. SGLang 0.5.6.post2 copies all tokens of a request " +
			"with each new one unless stream_output is set (srt/managers/tokenizer_manager.py, lines 1541 and 1555). It is " +
			"not modelled: the three times are those of these rows alone, and what else runs in that process is not known.",
		"**Prompts that a server holds back.** A script of DeepSeek-R1 under TensorRT-LLM has prompts wait for others for " +
			"40 steps (batch_wait_timeout_iters) under loads that it does not say, and no group of rows shows which.",
		"**Attention data parallelism.** TensorRT-LLM can hold prompts back until every rank has one, or until every so " +
			"many steps (attention_dp_config). No row says whether it did, and those of several ranks are simulated as if: " +
			"without that their TTFT was up to three times as long as predicted and, with long prompts, TPOT two thirds. For " +
			"how many steps, and how many tokens such ranks take in one, was chosen by looking at these rows: of them the " +
			"errors above are not of data unseen.",
		"**DeepSeek-R1.** Of all models its deployments differ most from one another: under TensorRT-LLM on eight B200 in " +
			"fp8 a token takes a third longer with experts apart than without, which is mostly the release (1.1 and 1.2); " +
			"under SGLang in fp8 a prompt of 8192 tokens takes 3.2 s on four B300 and 0.6 s on four B200, with four " +
			"clients, and no label says why. It is not the GPU: Qwen3.5-397B-A17B, of quality C, takes 0.29 s in bf16 on " +
			"four B300 of the same week under the same release. No other model of quality A was measured under SGLang on " +
			"a B300, so that there the fit blames its experts: others are predicted to read long prompts up to three times " +
			"as slowly as those rows say.",
		"**Waves that stay in lock step (data E).** Prompts and outputs of fixed lengths, sent by all clients at once: in " +
			"the measured runs each wave of prompts is prefilled together, each waiting for the last, and then decoded " +
			"together undisturbed. Simulated clients drift apart, so that their TTFT is a fraction of the measured one and, " +
			"for long prompts, their TPOT several times. The servers, whose arguments are not stated, also yield about half " +
			"of what is predicted from servers of the same GPU in data A.",
		"**Stacks of 2023 that launch every kernel by itself (data F).** The host decides their decode steps, and one " +
			"constant per layer stands for it, whatever the model.",
		"**Speculation.** Rows with drafts do not say how many were accepted, or say it of the very run: they are " +
			"excluded, not approximated.",
	}
}

// How much of the worst is shown, and of how many runs a deployment must be.
const (
	worstListed = 8
	worstRuns   = 3
)

// worstTable lists the deployments with the greatest median errors.
func (a *Accuracy) worstTable(m *markdown, keep cut) {
	out := groupBy(a.predictionsOf(catalog.DeploymentOut), keep, byDeployment)
	out = slices.DeleteFunc(out, func(g named) bool { return len(g.predictions) < worstRuns })
	bias := func(g *named) float64 { return errorsIn(g.predictions, keep).BiasPct }
	slices.SortStableFunc(out, func(a, b named) int { return cmp.Compare(math.Abs(bias(&b)), math.Abs(bias(&a))) })
	rows := [][]string{{"deployment", "n", "in sample", "left out"}}
	for _, g := range out[:min(worstListed, len(out))] {
		in := errorsIn(a.predictionsOf(catalog.InSample),
			allOf(keep, func(p *validation.Prediction) bool { return deploymentName(&p.Run.Labels) == g.name }))
		rows = append(rows, []string{g.name, fmt.Sprint(len(g.predictions)), biasDigits(in.BiasPct), biasDigits(bias(&g))})
	}
	m.table(1, rows)
}

// worstStages lists the rows of C whose TTFT errs most.
func (a *Accuracy) worstStages(m *markdown) {
	var found []*validation.Prediction
	predictions, keep := a.predictionsOf(catalog.ExperimentOut), allOf(ofData("C"), leads(measured.TTFT))
	for i := range predictions {
		if p := &predictions[i]; p.Skip == "" && keep(p) && !wholeRuns(p) {
			found = append(found, p)
		}
	}
	slices.SortStableFunc(found, func(a, b *validation.Prediction) int {
		return cmp.Compare(math.Abs(b.Error()),
			math.Abs(a.Error()))
	})
	rows := [][]string{{"stage", "deployment", "load", "TTFT", "TPOT"}}
	for _, p := range found[:min(worstListed, len(found))] {
		same := func(q *validation.Prediction) bool { return q.Row == p.Row }
		tpot := errorsIn(predictions, allOf(same, leads(measured.TPOT)))
		rows = append(rows, []string{p.Row.ID, deploymentName(&p.Run.Labels), p.Run.Labels.Load, biasDigits(100 * p.Error()),
			biasDigits(tpot.BiasPct)})
	}
	m.table(3, rows)
}

// unfitted are the errors on what is kept from every fit.
func (a *Accuracy) unfitted(m *markdown) {
	m.heading(2, "Runs that nothing was fitted to")
	m.para("B is some of the runs of C as another collector counted them, E and the rows of quality B and C say too " +
		"little of how they were run (server arguments, versions, flags of their collectors). Predicted with what the " +
		"program carries:")
	rows := [][]string{{"data", "quality", "model and engine", "metric", "n", "error"}}
	whole := func(p *validation.Prediction) bool { return leads(p.Value.Metric)(p) }
	for _, g := range groupBy(a.Unfitted, whole, func(p *validation.Prediction) (string,
		int) {
		return strings.Join(unfittedName(&p.Run.Labels), " "), 0
	}) {
		name := unfittedName(&g.predictions[0].Run.Labels)
		for _, metric := range []measured.Metric{measured.TPOT, measured.TTFT, measured.E2E} {
			if e := errorsIn(g.predictions, leads(metric)); e.N > 0 {
				rows = append(rows, append(slices.Clone(name), validation.MetricName(metric.String()), fmt.Sprint(e.N),
					cell(e.Errors)))
			}
		}
	}
	m.table(4, rows)
}

// unfittedName is data, quality and, where they tell, model and engine.
func unfittedName(l *measured.Labels) []string {
	of := "all, on single servers"
	switch {
	case l.Mode == "disagg":
		of = "all, in separate pools"
	case DataSet(l) == "B":
		of = "all"
	case DataSet(l) == "E":
		of = l.Model + " · " + l.Engine
	}
	return []string{DataSet(l), l.Quality, of}
}
