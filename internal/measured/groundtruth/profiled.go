package groundtruth

import (
	"cmp"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/datafile"
	"github.com/decodesim/decodesim/internal/measured/names"
	"github.com/decodesim/decodesim/internal/measured/setup"
)

// profiled is a table of closed loops on vLLM servers that were profiled while they ran, one run a row: means and
// percentiles of all latencies, throughputs, and the acceptance of drafts where there were any. The server's arguments
// are not in the table.
var profiled = datafile.Schema{
	Name: "profiled closed loops",
	About: "profiled closed loops (CSV with id, model, run_kind, concurrency, num_prompts, ttft_mean_ms, itl_mean_ms, " +
		"kv_max, spec_accept_len)",
	Columns: profiledColumns,
	Read:    readProfiled,
}

var profiledColumns = []string{
	"id", "model", "system", "backend", "tp", "precision", "isl", "osl", "length_dist", "concurrency", "num_prompts",
	"run_kind",
	"spec_method", "ttft_mean_ms", "itl_mean_ms", "kv_max", "spec_accept_len",
}

// The arguments of the servers, as published with the runs. Longer requests than max_model_len admits were run with a
// higher one, models of a shorter context with theirs.
const (
	profiledSeqs     = 256
	profiledTokens   = 8192
	profiledModelLen = 10240
)

// counted is what keeps a run with drafts from being predicted: how many were accepted is a measurement of that very
// run.
const counted = "whose accepted lengths were counted in the run itself"

func readProfiled(s *datafile.Source, f *measured.File) error {
	f.Notes = append(f.Notes,
		"server arguments are those published for the runs: max_num_seqs 256, max_num_batched_tokens 8192, max_model_len "+
			"10240, no prefix caching",
		"warm-up requests are not simulated: without prefix caching they leave nothing behind on a server that is idle again")
	return datafile.EachID(f, s.Table, profiledRun)
}

func profiledRun(r *datafile.Record) measured.Run {
	prompt, output, clients := r.Count("isl", 1), r.Count("osl", 1), r.Count("concurrency", 1)
	tensor := r.Count("tp", 1)
	run := measured.Run{ID: r.Text("id"), Labels: measured.Labels{
		Source: "inferencex-profiling", Engine: names.EngineOf(r.Text("backend")), Version: r.Text("backend_version"),
		Mode: "agg", Quality: "A",
		Parallel: names.LayoutOf(tensor, 1, false), Load: r.Text("isl") + "/" + r.Text("osl"), Concurrency: clients,
	}}
	row := measured.Row{ID: run.ID, Request: -1}
	row.Values = rates(r, stats(r, row.Values, measured.Mean, measured.TTFT, measured.TPOT, measured.ITL, measured.E2E))
	run.Rows, run.Occupied = []measured.Row{row}, occupancyOf(r)
	p := setup.Scenario{TensorParallel: tensor}
	unknown := deployed(&run.Labels, &p, r.Text("model"), r.Text("system"), r.Text("precision"))
	run.Skip = cmp.Or(speculativeWith(r.Text("spec_method"), counted), unknown, engineUnknown(run.Labels.Engine),
		tooLong(p.Model, prompt+output))
	if run.Skip != "" {
		run.Labels.Quality = "B"
		return run
	}
	p.Argument("max_num_seqs", profiledSeqs)
	p.Argument("max_num_batched_tokens", profiledTokens)
	if tooLong(p.Model, profiledModelLen) == "" {
		p.Argument("max_model_len", max(profiledModelLen, prompt+output))
	}
	p.Argument("enable_prefix_caching", false)
	p.ClosedLoop(clients, r.Count("num_prompts", 1))
	p.Lengths(prompt, output, lengthShare(r, "length_dist"))
	p.Version = run.Labels.Version
	run.Scenario = p.Text()
	return run
}

// occupancyOf reads how full the server was.
func occupancyOf(r *datafile.Record) (o measured.Occupancy) {
	for _, c := range []struct {
		column string
		to     *float64
		whole  float64 // of which the column counts
	}{{"kv_mean", &o.KVMean, 100}, {"kv_max", &o.KVMax, 100}, {"running_max", &o.RunningMax, 1},
		{"waiting_max", &o.WaitingMax, 1}} {
		if x, ok := r.Optional(c.column); ok {
			*c.to, o.Requests = x/c.whole, r.Count("num_prompts", 1)
		}
	}
	return o
}
