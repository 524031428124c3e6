package measured

import "cmp"

// profiled is a table of closed loops on vLLM servers that were profiled while they ran, one run a row: means and
// percentiles of all latencies, throughputs, and the acceptance of drafts where there were any. The server's arguments
// are not in the table.
var profiled = schema{
	name:    "profiled closed loops",
	about:   "profiled closed loops (CSV with id, model, run_kind, concurrency, num_prompts, ttft_mean_ms, itl_mean_ms, kv_max, spec_accept_len)",
	columns: profiledColumns,
	read:    readProfiled,
}

var profiledColumns = []string{
	"id", "model", "system", "backend", "tp", "precision", "isl", "osl", "length_dist", "concurrency", "num_prompts", "run_kind",
	"spec_method", "ttft_mean_ms", "itl_mean_ms", "kv_max", "spec_accept_len",
}

// The arguments of the servers, as published with the runs. Longer requests than max_model_len admits were run with a
// higher one, models of a shorter context with theirs.
const (
	profiledSeqs     = 256
	profiledTokens   = 8192
	profiledModelLen = 10240
)

// counted is what keeps a run with drafts from being predicted: how many were accepted is a measurement of that very run.
const counted = "whose accepted lengths were counted in the run itself"

func readProfiled(s *source, f *File) error {
	f.Notes = append(f.Notes,
		"server arguments are those published for the runs: max_num_seqs 256, max_num_batched_tokens 8192, max_model_len 10240, no prefix caching",
		"warm-up requests are not simulated: without prefix caching they leave nothing behind on a server that is idle again")
	return f.eachID(s.table, profiledRun)
}

func profiledRun(r *record) Run {
	prompt, output, clients := r.count("isl", 1), r.count("osl", 1), r.count("concurrency", 1)
	tensor := r.count("tp", 1)
	run := Run{ID: r.text("id"), Labels: Labels{
		Source: "inferencex-profiling", Engine: engineOf(r.text("backend")), Version: r.text("backend_version"), Mode: "agg", Quality: "A",
		Parallel: layoutOf(tensor, 1, false), Load: r.text("isl") + "/" + r.text("osl"), Concurrency: clients,
	}}
	row := Row{ID: run.ID, Request: -1}
	row.Values = r.rates(r.stats(row.Values, Mean, TTFT, TPOT, ITL, E2E))
	run.Rows, run.Occupied = []Row{row}, r.occupied()
	p := setup{tensor: tensor}
	unknown := deployed(&run.Labels, &p, r.text("model"), r.text("system"), r.text("precision"))
	if run.Skip = cmp.Or(speculativeWith(r.text("spec_method"), counted), unknown, engineUnknown(run.Labels.Engine), tooLong(p.model, prompt+output)); run.Skip != "" {
		run.Labels.Quality = "B"
		return run
	}
	p.arg("max_num_seqs", profiledSeqs)
	p.arg("max_num_batched_tokens", profiledTokens)
	if tooLong(p.model, profiledModelLen) == "" {
		p.arg("max_model_len", max(profiledModelLen, prompt+output))
	}
	p.arg("enable_prefix_caching", false)
	p.closed(clients, r.count("num_prompts", 1))
	p.lengths(prompt, output, r.lengthShare("length_dist"))
	run.Scenario = p.text()
	return run
}

// occupied reads how full the server was.
func (r *record) occupied() (o Occupancy) {
	for _, c := range []struct {
		column string
		to     *float64
		whole  float64 // of which the column counts
	}{{"kv_mean", &o.KVMean, 100}, {"kv_max", &o.KVMax, 100}, {"running_max", &o.RunningMax, 1}, {"waiting_max", &o.WaitingMax, 1}} {
		if x, ok := r.optional(c.column); ok {
			*c.to, o.Requests = x/c.whole, r.count("num_prompts", 1)
		}
	}
	return o
}
