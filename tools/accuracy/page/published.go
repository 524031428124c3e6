package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/validation"
	fit "github.com/decodesim/decodesim/tools/accuracy/catalog"
)

// published are the errors on figures that vendors, projects and benchmark bodies have published.
func (a *Accuracy) published(m *markdown) {
	if a.Published == nil {
		return
	}
	m.heading(2, "Published figures")
	m.para("Data G: tables and pages beyond those of A, a value a row. Fitted to are throughputs of lists of requests, "+
		"of quality A and on one replica without pipeline stages; each is predicted here without its deployment in the "+
		"fit. All others, servers and single steps among them, are predicted by what is built in. "+
		"%s of %s rows are predicted. Rows of quality C (secondary, read off a figure, or flagged) are left out of the "+
		"table. A list is simulated with its finite number of requests, for filling and draining the batch is in "+
		"what was measured; a "+
		"system of more than eight replicas with eight of them; what counts per GPU is divided by the GPUs. What summaries "+
		"of MLPerf leave out (how GPUs are divided, the type that weights ran in) is taken from those that state it, the "+
		"release of TensorRT-LLM is the newest that needs the TensorRT they name, and prompts are the mean of the dataset, "+
		"both as we remember it; those of Mixtral-8x7B are as long as the rate of an H100 on TensorRT-LLM's own page "+
		"leaves an H200 time for, which was chosen by looking at a row of each. "+
		"A server whose prompts are a dataset that the row only names "+
		"is of a kind of its own, whatever it is off by: how long they are and how unevenly is not stated. Those of MLPerf "+
		"get whole passes over their dataset and ten minutes of requests at least, as its load generator sends them "+
		"(mlcommons-loadgen 6.0.17), and run close to what they bear, for their rate is raised until TPOT or TTFT is just "+
		"below the limit: the p99 of TPOT of 59 of 102 rows is above four fifths of what the same generator's mlperf.conf "+
		"allows, and none is above it. Where the predicted capacity is wrong, as it is for lists of the same systems, "+
		"TPOT is wrong many times over. TTFT is whether a queue grows.",
		count(a.Published.Counts.Simulated), count(a.Published.Counts.Rows))
	kindTable(m, a.Published, "source")
	a.servers(m)
	m.para("Left out, by reason:")
	reasons(m, a.Published)
}

// logs are the errors on steps, kernels and collectives.
func (a *Accuracy) logs(m *markdown) {
	if len(a.Logs) == 0 {
		return
	}
	m.heading(2, "Steps, kernels and collectives")
	m.para("Data H: logs of single engine steps, tables of kernels and collectives by shape, and newer servers. " +
		"A sample of the steps is fitted to, so that errors of steps are in sample here; with their deployment left out " +
		"they are in the first table. Nothing else of them is fitted to, but collectives by themselves take what " +
		"tables made of these very measurements say, here and among the published figures, and the fitted " +
		"efficiencies do not count those tables in a step. A step is priced by the batch that the log states, its " +
		"sequences taken " +
		"alike; a kernel " +
		"as the part that it is of a step. Of several attention ranks one is logged: the others are taken to " +
		"decode just as much. Errors of kernels are of a shape each, few of which a server spends its time in.")
	for _, v := range a.Logs {
		m.para("%s, %s of %s rows:", v.Data, count(v.Counts.Simulated), count(v.Counts.Rows))
		kindTable(m, v, "of")
		if len(v.Skips) > 0 {
			reasons(m, v)
		}
		switch v.Data {
		case engineSteps:
			m.para("%s", logged)
		case servers:
			m.para("%s", served)
		}
	}
}

// Tables of logs by what they are called.
const (
	engineSteps = "engine steps"
	servers     = "servers"
)

// served says what runs of servers in H_serving were taken for, and what that changed.
const served = "" +
	"Images of vLLM that name no release and are of 2025 plan a step only when the one before has ended, as releases " +
	"before 0.14 do (by their date; unverified). Under the constants of 28 November 2026, mean TPOT was 32 and 46 % off " +
	"without that in the median and nine times in ten, and 23 and 38 % with it, E2E 28 and 38 %, and 20 and 31 %; TTFT, " +
	"which is short by what a gateway and the process that hands on tokens take, has a step less to hide that: 53 and " +
	"73 %, and 66 and 80 %. Of 71 rows 48 are of Llama-4-Scout in fp8 on four H100, whose steps come out too short at " +
	"any load: by 16 to 27 % of plain vLLM, and by 20 to 45 % behind LMCache, whose own work is in no price. What takes " +
	"those 2 to 8 ms a step the source of that time does not say (0.8.5 and 0.9.0.1). The lists of blocks that chunked " +
	"attention needs are made on the host for each step, which takes 0.2 to 0.7 ms for 12 to 104 sequences (that code " +
	"of v1/attention/backends/flash_attn.py by itself, timed). Attention is launched outside of the CUDA graphs, but so " +
	"is that of Llama-3.1-70B on two A100, which is 6 % too long. The router and the shared expert are products of " +
	"their own, and priced so. What is left is the kernel for experts that are quantised by channel (CUTLASS's, " +
	"grouped_mm_c3x.cu), which no table has: another one of CUTLASS takes 2.4 ms for 128 tokens and the experts of " +
	"Mixtral-8x7B in fp8 on an H100 under vLLM 0.24, where one for blocks takes 0.55 (H_moe)."

// logged says what of the errors of single steps no price can know, as measured on the rows of H_steps.
const logged = "" +
	"What no price of a batch can know: the five steps of its own deployment that are most like a step, in " +
	"tokens of prompts, sequences and context, say what it takes within 0.4 % in the median and 3.2 % nine " +
	"times in ten (decodes), within 2.6 and 26 % (with prompts beside them) and within 3.4 and 20 % (prompts " +
	"alone); of a sample that has as few of each deployment as the first table, within 0.5 and 15 %, 3.9 and " +
	"41 %, and 3.3 and 24 %. Nothing that was tried on batches alone, regression trees among it, stays within " +
	"15 % nine times in ten of steps with prompts. With constants fitted to 60 steps of a deployment by " +
	"themselves, in a trial, these prices were 2.4 and 11 % off for its other decodes, and 5.0 and 22 % and " +
	"5.2 and 25 % for the others with prompts; what they are off beyond that with a deployment left out is " +
	"what differs between deployments. " +
	"Three causes have a name. A log counts a part of the time of a step in the one before it, for the next " +
	"step is launched before the engine looks at what the last has yielded: in a trial, runs of steps with " +
	"prompts with the decode step before them were 5.7 % off in the median and 21 % nine times in ten, where " +
	"the 1,228 steps with prompts of the same 618 runs, one by one, were 7.0 and 42 % off; a request feels the " +
	"sum. It is so on one GPU alone, where the process of the engine launches kernels itself: a decode of " +
	"Qwen3-32B before a step with prompts is logged 4 to 5 ms longer if that is in graphs and 10 to 11 if it is " +
	"not, on two and eight GPUs 1 ms or less. A step of DeepSeek-V4 in which some sequence completes a block " +
	"of 128 tokens takes 6.1 ms more, " +
	"whatever the layout: under a load 16.7 % of its decode steps do, and of n sequences 1 − (127/128)ⁿ " +
	"complete one in a step, 16.6 % of these; no price counts it, for it is of one release. Decodes of " +
	"Qwen3-32B on one or two GPUs take 5 to 20 % longer than predicted for 17 to 32 sequences of uneven " +
	"lengths, and as long for few or even ones: where the attention kernel has but one pass of its blocks for a " +
	"batch, the longest sequence decides (inferred: no log has the lengths)."

// kindTable writes a line for each source, kind and metric of which something is predicted.
func kindTable(m *markdown, v *validation.Validation, source string) {
	rows := [][]string{{source, "kind", "metric", "n", "deployments", "error"}}
	several := slices.ContainsFunc(v.Kinds, func(k validation.KindErrors) bool { return k.Source != "" })
	for i := range v.Kinds {
		k := &v.Kinds[i]
		if k.Errors.N == 0 {
			continue
		}
		name := k.Source
		if several && name == "" {
			name = "**all**"
		}
		rows = append(rows, []string{cmp.Or(name, "all"), strings.ReplaceAll(k.Kind, "_", " "),
			validation.MetricName(k.Metric), fmt.Sprint(k.Errors.N), fmt.Sprint(k.Deployments), cell(k.Errors)})
	}
	m.table(3, rows)
}

// reasonsListed is how many reasons a table has; the others are summed up.
const reasonsListed = 25

// reasons writes why rows are left out.
func reasons(m *markdown, v *validation.Validation) {
	rows := [][]string{{"reason", "rows"}}
	others, n := 0, 0
	for _, s := range v.Skips {
		switch {
		case s.Rows == 0:
		case len(rows) <= reasonsListed:
			reason, _, _ := strings.Cut(s.Reason, "; did you mean") // which is for users
			rows = append(rows, []string{reason, fmt.Sprint(s.Rows)})
		default:
			others, n = others+1, n+s.Rows
		}
	}
	if others > 0 {
		rows = append(rows, []string{fmt.Sprintf("%d reasons more", others), fmt.Sprint(n)})
	}
	m.table(1, rows)
}

// count writes a number with its thousands apart.
func count(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// spreadTable says how far deployments are off as a whole, and runs within one.
func (a *Accuracy) spreadTable(m *markdown) {
	rows := [][]string{{"data A, deployment left out", "metric", "deployments", "between", "within"}}
	for _, engine := range []string{"", "vllm", "sglang", "tensorrt-llm"} {
		for _, metric := range []measured.Metric{measured.TPOT, measured.TTFT} {
			keep := allOf(ofData("A"), leads(metric))
			if engine != "" {
				keep = allOf(keep, under(engine))
			}
			n, between, within := a.spreadsOf(keep)
			rows = append(rows, []string{cmp.Or(engine, "all engines"), validation.MetricName(metric.String()), fmt.Sprint(n),
				spreadCell(between), spreadCell(within)})
		}
	}
	m.table(2, rows)
	m.para("Between: what the median run of a deployment is off by. Within: what its runs are off from that. Median and " +
		"90th percentile of absolute errors in percent. A calibration on a few points takes away what is between.")
}

// unmeasured lists what no data are of.
func (a *Accuracy) unmeasured(m *markdown) {
	m.heading(2, "What was never measured")
	fitted, scored := map[string]int{}, map[string]int{}
	for _, p := range a.predictionsOf(fit.InSample) {
		if l := &p.Run.Labels; p.Row.Request < 0 && leads(measured.TPOT)(&p) {
			fitted[l.GPU]++
			fitted[l.Model]++
		}
	}
	for _, v := range append([]*validation.Validation{a.Published}, a.Logs...) {
		if v == nil {
			continue
		}
		for i := range v.Rows {
			if r := &v.Rows[i]; r.Skipped == "" {
				scored[r.Labels.GPU]++
				scored[r.Labels.Model]++
			}
		}
	}
	for i := range a.Unfitted {
		if p := &a.Unfitted[i]; p.Skip == "" && leads(measured.TPOT)(p) {
			scored[p.Run.Labels.GPU]++
			scored[p.Run.Labels.Model]++
		}
	}
	var items []string
	for _, of := range []struct {
		name string
		all  []string
	}{{"GPUs", catalog.GPUNames()}, {"Models", catalog.ModelNames()}} {
		var only, never []string
		for _, name := range of.all {
			switch {
			case fitted[name] > 0:
			case scored[name] > 0:
				only = append(only, name)
			default:
				never = append(never, name)
			}
		}
		items = append(items, "**"+of.name+" that are compared with measurements, but not fitted to:** "+listed(only)+".",
			"**"+of.name+" of the catalogue of which there is no measurement at all:** "+listed(never)+".")
	}
	items = append(items,
		"**Speculation.** No run that drafts is fitted to or compared, but for the acceptance lengths themselves.",
		"**Fleets.** Routers, autoscaling, failures, and caches that several replicas share: no measured run has them.",
		"**Prefix caching under load,** beyond the repeated prompts of C and the sessions of D.")
	m.items(items...)
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
