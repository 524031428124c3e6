package measured

import "cmp"

// positions is a table of closed loops of fixed lengths over a grid of prompt lengths and clients, one run a row: medians
// and 99th percentiles. Their servers ran with the arguments that the engine chose.
var positions = schema{
	name:  "decode by position",
	about: "decode by position (CSV with id, model, parallel, attn_dp, isl, concurrency, completed, ttft_median_ms, ttft_p99_ms)",
	columns: []string{
		"id", "model", "system", "gpus_total", "backend", "tp", "ep", "attn_dp", "precision", "spec_method", "isl", "osl",
		"concurrency", "num_prompts", "completed", "ttft_median_ms", "ttft_p99_ms", "tpot_median_ms", "e2e_median_ms",
	},
	read: readPositions,
}

func readPositions(s *source, f *File) error {
	f.Notes = append(f.Notes,
		"server arguments are not stated: the engine's own defaults for the GPU are assumed, in the version that is modelled",
		"warm-up requests are not simulated: prompts are random, and the one that warmed up is one of the measured at most")
	return f.eachID(s.table, positionRun)
}

// positionRun reads a row. Nothing but the layout is known of the server, so the quality is B.
func positionRun(r *record) Run {
	prompt, output := r.count("isl", 1), r.count("osl", 1)
	clients, requests := r.count("concurrency", 1), r.count("num_prompts", 1)
	run := Run{ID: r.text("id"), Labels: Labels{
		Source: "token-position", Engine: engineOf(r.text("backend")), Version: r.text("backend_version"), Mode: "agg", Quality: "B",
		Parallel: r.text("parallel"), Load: r.text("isl") + "/" + r.text("osl"), Concurrency: clients,
	}}
	row := Row{ID: run.ID, Request: -1}
	row.Values = r.rates(r.stats(row.Values, P50, TTFT, TPOT, ITL, E2E))
	run.Rows = []Row{row}
	p := setup{}
	unknown := deployed(&run.Labels, &p, r.text("model"), r.text("system"), r.text("precision"))
	misplaced := positionLayout(r, &p)
	if misplaced == "" {
		run.Labels.Parallel = layoutOf(p.tensor, p.data, p.expert)
	}
	run.Skip = cmp.Or(speculative(r.text("spec_method")), unknown, engineUnknown(run.Labels.Engine), misplaced,
		tooLong(p.model, prompt+output), failed(float64(requests-r.count("completed", 0)), float64(requests)))
	if run.Skip != "" {
		return run
	}
	p.closed(clients, requests)
	p.lengths(prompt, output, r.lengthShare("length_dist"))
	run.Scenario = p.text()
	return run
}

// positionLayout fills in how the model was split. tp counts the GPUs of an attention rank here, attn_dp the ranks; a
// table where tp counts all GPUs, as other tables do, is understood too.
func positionLayout(r *record, p *setup) (unknown string) {
	gpus := r.count("gpus_total", 1)
	p.tensor, p.data, p.expert = r.count("tp", 1), r.count("attn_dp", 1), expertParallel(r)
	if p.tensor == gpus && p.data > 1 && gpus%p.data == 0 {
		p.tensor = gpus / p.data
	}
	if p.tensor*p.data != gpus {
		return contradiction
	}
	return ""
}

// contradiction is why a row is skipped whose columns name different numbers of GPUs.
const contradiction = "the parallel layout contradicts itself"
