package groundtruth

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/datafile"
	"github.com/decodesim/decodesim/internal/measured/names"
	"github.com/decodesim/decodesim/internal/measured/setup"
)

// stages and experiments are tables of open-loop runs of one vLLM server each: stages of Poisson arrivals back to back,
// a row for each stage and one for all of them. Its columns restate what inference-perf reported, with its counting of
// tokens put right; what it reported itself stands in columns raw_…, which are not read.
var (
	stages = datafile.Schema{
		Name: "inference-perf stages",
		About: "open-loop stages of inference-perf (CSV with id, experiment, model, system, tp, profile, stage, " +
			"rate_rps, output_len, ttft_mean_ms, tpot_mean_ms)",
		Columns: stagesColumns("experiment"),
		Read:    func(s *datafile.Source, f *measured.File) error { return readStages(s, f, "experiment") },
	}
	experiments = datafile.Schema{
		Name:    "inference-perf experiments",
		About:   "the same by numbered experiments (exp_id in place of experiment)",
		Columns: stagesColumns("exp_id"),
		Read:    func(s *datafile.Source, f *measured.File) error { return readStages(s, f, "exp_id") },
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
	"arrivals are Poisson at the rate of each stage; the tool rescaled the gaps so that a stage lasts exactly as long " +
		"as asked",
	"a stage begins when the one before has lasted its time; the tool waited for its last answers, seconds more",
	"prompts have their mean length where the file counts them and else the nominal one (counted ones " +
		"are 4 to 5 % longer)",
	"where requests failed, latencies are those of the rest",
	"requests say nothing of how tokens are chosen (inference-perf 0.4.0, apis/completion.py), and vLLM does as the " +
		"generation_config.json of the checkpoint says",
	"KV blocks that a run offloads to the memory of the host are not modelled",
}

func readStages(s *datafile.Source, f *measured.File, key string) error {
	f.Notes = append(f.Notes, stagesNotes...)
	for _, rows := range groups(s.Table, key, setupColumns...) {
		run := stagesRun(rows)
		run.Labels.Source = f.Schema
		if err := datafile.Keep(f, run, rows...); err != nil {
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
func groups(t *datafile.Table, key string, more ...string) [][]*datafile.Record {
	var list [][]*datafile.Record
	place := map[string]int{}
	for i := range t.Rows {
		r := t.Record(i)
		name := r.Text(key)
		for _, column := range more {
			name += "\n" + r.Text(column)
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
func stagesRun(rows []*datafile.Record) measured.Run {
	r := rows[0]
	tensor, ranks := r.Count("tp", 1), r.CountOr("dp", 1)
	run := measured.Run{ID: strings.TrimSuffix(r.Text("id"), "-s"+r.Text("stage")), Labels: measured.Labels{
		Engine: names.EngineOf(r.Text("backend")), Version: r.Text("backend_version"), Mode: "agg",
		Quality: stagesQuality(rows),
		Load:    r.Text("profile"), Parallel: names.LayoutOf(tensor, ranks, false),
	}}
	p := setup.Scenario{TensorParallel: tensor, DataParallel: ranks}
	unknown := deployed(&run.Labels, &p, r.Text("model"), r.Text("system"), r.Text("precision"))
	load, unstated := stagesOf(rows)
	for _, r := range rows {
		run.Rows = append(run.Rows, stageRow(r, load))
	}
	run.Skip = cmp.Or(unknown, engineUnknown(run.Labels.Engine), stagesSkip(r), unstated)
	if run.Skip != "" {
		return run
	}
	stagesPool(&p, r)
	if run.Labels.Engine == "vllm" {
		p.Sampling = samplingOf(r.Text("model"), run.Labels.Version)
	}
	arriveInStages(&p, load)
	shared := setup.Prefix{
		Groups: r.CountOr("prompt_groups", 0), PerGroup: r.CountOr("prompts_per_group", 0),
		Tokens: r.CountOr("system_prompt_len", 0),
	}
	p.Lengths(p.RepeatPrompts(shared, promptLength(rows)), r.Count("output_len", 1), 1)
	if on, stated := r.Flag("prefix_caching"); stated {
		p.CachePrefixes(on)
	}
	p.Version = run.Labels.Version
	run.Scenario = p.Text()
	return run
}

// stagesPool adds the engine's arguments.
func stagesPool(p *setup.Scenario, r *datafile.Record) {
	p.Argument("max_num_seqs", r.CountOr("max_num_seqs", 0))
	p.Argument("max_num_batched_tokens", r.CountOr("max_num_batched_tokens", 0))
	p.Argument("max_model_len", r.CountOr("max_model_len", 0))
	if share, ok := r.Optional("gpu_mem_util"); ok {
		p.Argument("gpu_memory_utilization", share)
	}
	p.Argument("block_size", r.CountOr("block_size", 0))
	p.Argument("num_gpu_blocks", r.CountOr("kv_blocks_gpu", 0))
}

// promptLength is that of the prompts as the server saw them, where a row says so: random text that the client joins
// and the server splits anew is longer than asked for.
func promptLength(rows []*datafile.Record) int {
	for _, r := range rows {
		if mean, ok := r.Optional("prompt_len_mean"); ok && mean >= 1 {
			return int(math.Round(mean))
		}
	}
	r := rows[0]
	return r.CountOr("system_prompt_len", 0) + r.Count("question_len", 1)
}

// stageRow reads what was measured of the requests of a stage; stage −1 is all of them.
func stageRow(r *datafile.Record, load []stage) measured.Row {
	row := measured.Row{ID: r.Text("id"), Request: -1}
	if i := r.Count("stage", -1); i >= 0 && i < len(load) {
		row.FromS, row.ToS = load[i].fromS, load[i].fromS+load[i].durationS
	}
	for _, m := range []measured.Metric{measured.TTFT, measured.TPOT, measured.E2E} {
		column := func(s measured.Stat) string { return m.String() + "_" + s.String() + "_ms" }
		row.Values = r.Latency(row.Values, measured.Lead(m, measured.Mean, 0), column(measured.Mean))
		for _, s := range []measured.Stat{measured.P50, measured.P90, measured.P95, measured.P99} {
			row.Values = r.Latency(row.Values, measured.Other(m, s, 0), column(s))
		}
	}
	row.Values = r.Reported(row.Values, measured.Lead(measured.OutputPerS, measured.Mean, 0), "output_throughput_tok_s",
		"output tokens per second above 0")
	row.Values = r.Reported(row.Values, measured.Lead(measured.RequestsPerS, measured.Mean, 0), "request_throughput_rps",
		"requests per second above 0")
	if strings.Contains(r.Text("flags"), "ttft_p99_cold_start") {
		skipValue(&row, measured.TTFT, measured.P99, "p99 of TTFT is that of a cold start (flag ttft_p99_cold_start)")
	}
	return row
}

// skipValue takes a value out of the comparison.
func skipValue(row *measured.Row, m measured.Metric, s measured.Stat, why string) {
	for i := range row.Values {
		if v := &row.Values[i]; v.Metric == m && v.Stat == s {
			v.Skip = why
		}
	}
}

// stagesQuality is that of the worst row: C where most requests failed, B where the load was close to what the server
// bears, and small errors of speed become large ones of waiting.
func stagesQuality(rows []*datafile.Record) string {
	quality := "A"
	for _, r := range rows {
		own := r.Text("quality")
		overload, _ := r.Flag("overload")
		switch flags := r.Text("flags"); {
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
func stagesSkip(r *datafile.Record) string {
	chunked, stated := r.Flag("chunked_prefill")
	switch {
	case stated && !chunked:
		return "prefill in one piece, which is not modelled"
	case !poissonLike(r.Text("arrival")):
		return fmt.Sprintf("arrivals %q, which are not modelled", r.Text("arrival"))
	}
	return ""
}

// poissonLike reports whether gaps are exponential. The tool's "constant" is too: it says that the rate is.
func poissonLike(arrival string) bool {
	return arrival == "" || arrival == "constant" || strings.HasPrefix(arrival, "poisson")
}
