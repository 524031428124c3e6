package measured

import (
	"cmp"
	"fmt"
	"math"
	"strings"
)

// stages and experiments are tables of open-loop runs of one vLLM server each: stages of Poisson arrivals back to back,
// a row for each stage and one for all of them. Its columns restate what inference-perf reported, with its counting of
// tokens put right; what it reported itself stands in columns raw_…, which are not read.
var (
	stages = schema{
		name:    "inference-perf stages",
		about:   "open-loop stages of inference-perf (CSV with id, experiment, model, system, tp, profile, stage, rate_rps, output_len, ttft_mean_ms, tpot_mean_ms)",
		columns: stagesColumns("experiment"),
		read:    func(s *source, f *File) error { return readStages(s, f, "experiment") },
	}
	experiments = schema{
		name:    "inference-perf experiments",
		about:   "the same by numbered experiments (exp_id in place of experiment)",
		columns: stagesColumns("exp_id"),
		read:    func(s *source, f *File) error { return readStages(s, f, "exp_id") },
	}
)

func stagesColumns(key string) []string {
	return []string{
		"id", key, "model", "system", "tp", "profile", "stage", "rate_rps", "duration_s",
		"system_prompt_len", "question_len", "output_len", "ttft_mean_ms", "tpot_mean_ms",
	}
}

// stagesNotes are what is assumed of every run.
var stagesNotes = []string{
	"arrivals are Poisson at the rate of each stage; the tool rescaled the gaps so that a stage lasts exactly as long as asked",
	"a stage begins when the one before has lasted its time; the tool waited for its last answers, seconds more",
	"prompts have their mean length where the file counts them and else the nominal one (counted ones are 4 to 5 % longer)",
	"where requests failed, latencies are those of the rest",
	"KV blocks that a run offloads to the memory of the host are not modelled",
}

func readStages(s *source, f *File, key string) error {
	f.Notes = append(f.Notes, stagesNotes...)
	for _, rows := range s.table.groups(key, setupColumns...) {
		run := stagesRun(rows)
		run.Labels.Source = f.Schema
		if err := f.keep(run, rows...); err != nil {
			return err
		}
	}
	return nil
}

// setupColumns are what rows of one run have in common.
var setupColumns = []string{
	"model", "system", "tp", "dp", "backend", "precision", "max_model_len", "max_num_batched_tokens", "max_num_seqs",
	"gpu_mem_util", "kv_blocks_gpu", "prefix_caching", "profile", "output_len",
}

// groups returns the rows with equal fields in these columns, in the order of their first ones.
func (t *table) groups(key string, more ...string) [][]*record {
	var list [][]*record
	place := map[string]int{}
	for i := range t.rows {
		r := t.record(i)
		name := r.text(key)
		for _, column := range more {
			name += "\n" + r.text(column)
		}
		at, ok := place[name]
		if !ok {
			at = len(list)
			place[name] = at
			list = append(list, nil)
		}
		list[at] = append(list[at], r)
	}
	return list
}

// stagesRun reads the rows of one run.
func stagesRun(rows []*record) Run {
	r := rows[0]
	tensor, ranks := r.count("tp", 1), r.given("dp", 1)
	run := Run{ID: strings.TrimSuffix(r.text("id"), "-s"+r.text("stage")), Labels: Labels{
		Engine: engineOf(r.text("backend")), Version: r.text("backend_version"), Mode: "agg", Quality: stagesQuality(rows),
		Load: r.text("profile"), Parallel: layoutOf(tensor, ranks, false),
	}}
	p := setup{tensor: tensor, data: ranks}
	unknown := deployed(&run.Labels, &p, r.text("model"), r.text("system"), r.text("precision"))
	load, unstated := stagesOf(rows)
	for _, r := range rows {
		run.Rows = append(run.Rows, stageRow(r, load))
	}
	if run.Skip = cmp.Or(unknown, engineUnknown(run.Labels.Engine), stagesSkip(r), unstated); run.Skip != "" {
		return run
	}
	stagesPool(&p, r)
	p.stages(load)
	shared := prefix{r.given("prompt_groups", 0), r.given("prompts_per_group", 0), r.given("system_prompt_len", 0)}
	p.lengths(p.repeat(shared, promptLength(rows)), r.count("output_len", 1), 1)
	if on, stated := r.flag("prefix_caching"); stated {
		p.cachePrefixes(on)
	}
	run.Scenario = p.text()
	return run
}

// given returns a whole number above 0; an empty field, or 0, is otherwise.
func (r *record) given(column string, otherwise int) int {
	if _, stated := r.optional(column); !stated {
		return otherwise
	}
	return cmp.Or(r.count(column, 0), otherwise)
}

// stagesPool adds the engine's arguments.
func stagesPool(p *setup, r *record) {
	p.arg("max_num_seqs", r.given("max_num_seqs", 0))
	p.arg("max_num_batched_tokens", r.given("max_num_batched_tokens", 0))
	p.arg("max_model_len", r.given("max_model_len", 0))
	if share, ok := r.optional("gpu_mem_util"); ok {
		p.arg("gpu_memory_utilization", share)
	}
	p.arg("block_size", r.given("block_size", 0))
	p.arg("num_gpu_blocks", r.given("kv_blocks_gpu", 0))
}

// promptLength is that of the prompts as the server saw them, where a row says so: random text that the client joins and
// the server splits anew is longer than asked for.
func promptLength(rows []*record) int {
	for _, r := range rows {
		if mean, ok := r.optional("prompt_len_mean"); ok && mean >= 1 {
			return int(math.Round(mean))
		}
	}
	r := rows[0]
	return r.given("system_prompt_len", 0) + r.count("question_len", 1)
}

// stageRow reads what was measured of the requests of a stage; stage −1 is all of them.
func stageRow(r *record, load []stage) Row {
	row := Row{ID: r.text("id"), Request: -1}
	if i := r.count("stage", -1); i >= 0 && i < len(load) {
		row.FromS, row.ToS = load[i].fromS, load[i].fromS+load[i].durationS
	}
	for _, m := range []Metric{TTFT, TPOT, E2E} {
		column := func(s Stat) string { return m.String() + "_" + s.String() + "_ms" }
		row.Values = r.latency(row.Values, Lead(m, Mean, 0), column(Mean))
		for _, s := range []Stat{P50, P90, P95, P99} {
			row.Values = r.latency(row.Values, Other(m, s, 0), column(s))
		}
	}
	row.Values = r.reported(row.Values, Lead(OutputPerS, Mean, 0), "output_throughput_tok_s", "output tokens per second above 0")
	row.Values = r.reported(row.Values, Lead(RequestsPerS, Mean, 0), "request_throughput_rps", "requests per second above 0")
	if strings.Contains(r.text("flags"), "ttft_p99_cold_start") {
		row.skip(TTFT, P99, "p99 of TTFT is that of a cold start (flag ttft_p99_cold_start)")
	}
	return row
}

// skip takes a value out of the comparison.
func (row *Row) skip(m Metric, s Stat, why string) {
	for i := range row.Values {
		if v := &row.Values[i]; v.Metric == m && v.Stat == s {
			v.Skip = why
		}
	}
}

// stagesQuality is that of the worst row: C where most requests failed, B where the load was close to what the server
// bears, and small errors of speed become large ones of waiting.
func stagesQuality(rows []*record) string {
	quality := "A"
	for _, r := range rows {
		own := r.text("quality")
		overload, _ := r.flag("overload")
		switch flags := r.text("flags"); {
		case overload || strings.Contains(flags, "overload"):
			own = "C"
		case strings.Contains(flags, "near_saturation"):
			own = max(own, "B")
		}
		quality = max(quality, own)
	}
	return quality
}

// stagesSkip says why a load is not simulated.
func stagesSkip(r *record) string {
	chunked, stated := r.flag("chunked_prefill")
	switch {
	case stated && !chunked:
		return "prefill in one piece, which is not modelled"
	case !poissonLike(r.text("arrival")):
		return fmt.Sprintf("arrivals %q, which are not modelled", r.text("arrival"))
	}
	return ""
}

// poissonLike reports whether gaps are exponential. The tool's "constant" is too: it says that the rate is.
func poissonLike(arrival string) bool {
	return arrival == "" || arrival == "constant" || strings.HasPrefix(arrival, "poisson")
}
