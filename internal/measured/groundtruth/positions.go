package groundtruth

import (
	"cmp"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/datafile"
	"github.com/decodesim/decodesim/internal/measured/names"
	"github.com/decodesim/decodesim/internal/measured/setup"
)

// positions is a table of closed loops of fixed lengths over a grid of prompt lengths and clients, one run a row:
// medians and 99th percentiles. Their servers ran with the arguments that the engine chose.
var positions = datafile.Schema{
	Name: "decode by position",
	About: "decode by position (CSV with id, model, parallel, attn_dp, isl, concurrency, completed, ttft_median_ms, " +
		"ttft_p99_ms)",
	Columns: []string{
		"id", "model", "system", "gpus_total", "backend", "tp", "ep", "attn_dp", "precision", "spec_method", "isl", "osl",
		"concurrency", "num_prompts", "completed", "ttft_median_ms", "ttft_p99_ms", "tpot_median_ms", "e2e_median_ms",
	},
	Read: readPositions,
}

func readPositions(s *datafile.Source, f *measured.File) error {
	f.Notes = append(f.Notes,
		"server arguments are not stated: the engine's own defaults for the GPU are assumed, in the version that is modelled",
		"warm-up requests are not simulated: prompts are random, and the one that warmed up is one of the measured at most")
	return datafile.EachID(f, s.Table, positionRun)
}

// positionRun reads a row. Nothing but the layout is known of the server, so the quality is B.
func positionRun(r *datafile.Record) measured.Run {
	prompt, output := r.Count("isl", 1), r.Count("osl", 1)
	clients, requests := r.Count("concurrency", 1), r.Count("num_prompts", 1)
	run := measured.Run{ID: r.Text("id"), Labels: measured.Labels{
		Source: "token-position", Engine: names.EngineOf(r.Text("backend")), Version: r.Text("backend_version"), Mode: "agg",
		Quality:  "B",
		Parallel: r.Text("parallel"), Load: r.Text("isl") + "/" + r.Text("osl"), Concurrency: clients,
	}}
	row := measured.Row{ID: run.ID, Request: -1}
	row.Values = rates(r, stats(r, row.Values, measured.P50, measured.TTFT, measured.TPOT, measured.ITL, measured.E2E))
	run.Rows = []measured.Row{row}
	p := setup.Scenario{}
	unknown := deployed(&run.Labels, &p, r.Text("model"), r.Text("system"), r.Text("precision"))
	misplaced := positionLayout(r, &p)
	if misplaced == "" {
		run.Labels.Parallel = names.LayoutOf(p.TensorParallel, p.DataParallel, p.ExpertParallel)
	}
	run.Skip = cmp.Or(speculative(r.Text("spec_method")), unknown, engineUnknown(run.Labels.Engine), misplaced,
		tooLong(p.Model, prompt+output), setup.TooManyFailed(float64(requests-r.Count("completed", 0)), float64(requests)))
	if run.Skip != "" {
		return run
	}
	p.ClosedLoop(clients, requests)
	p.Lengths(prompt, output, lengthShare(r, "length_dist"))
	p.Version = run.Labels.Version
	run.Scenario = p.Text()
	return run
}

// positionLayout fills in how the model was split. tp counts the GPUs of an attention rank here, attn_dp the ranks; a
// table where tp counts all GPUs, as other tables do, is understood too.
func positionLayout(r *datafile.Record, p *setup.Scenario) (unknown string) {
	gpus := r.Count("gpus_total", 1)
	p.TensorParallel, p.DataParallel, p.ExpertParallel = r.Count("tp", 1), r.Count("attn_dp", 1), expertParallel(r)
	if p.TensorParallel == gpus && p.DataParallel > 1 && gpus%p.DataParallel == 0 {
		p.TensorParallel = gpus / p.DataParallel
	}
	if p.TensorParallel*p.DataParallel != gpus {
		return contradiction
	}
	return ""
}

// contradiction is why a row is skipped whose columns name different numbers of GPUs.
const contradiction = "the parallel layout contradicts itself"
