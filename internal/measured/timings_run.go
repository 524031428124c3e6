package measured

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
)

// timingReader turns lines of timings into runs.
type timingReader struct {
	source   *source
	runs     []object
	requests []object
}

// read adds the named runs.
func (t *timingReader) read(f *File, named []string) error {
	for _, name := range named {
		run := Run{ID: name, Skip: "no line says how the run was set up"}
		requests := t.of(name)
		if i := slices.IndexFunc(t.runs, func(o object) bool { return o.text("run") == name }); i >= 0 {
			var err error
			if run, err = t.run(t.runs[i], requests); err != nil {
				return err
			}
		}
		for _, o := range requests {
			run.Rows = append(run.Rows, requestRow(name, o))
			if o.origin.err != nil {
				return o.origin.err
			}
		}
		run.Labels.Source = f.Schema
		f.Runs = append(f.Runs, run)
	}
	return nil
}

// of returns the requests of a run.
func (t *timingReader) of(run string) []object {
	var all []object
	for _, o := range t.requests {
		if o.text("run") == run {
			all = append(all, o)
		}
	}
	return all
}

// run reads how a run was set up, and its row of means and quantiles.
func (t *timingReader) run(o object, requests []object) (Run, error) {
	tensor, ranks := o.count("tp", 1, 1), o.count("dp", 1, 1)
	run := Run{ID: o.text("run"), Rows: summaryRows(o), Labels: Labels{
		Engine: engineOf(o.text("backend")), Version: o.text("backend_version"), Mode: "agg", Quality: "A",
		Load:     strings.TrimSuffix(path.Base(o.text("workload")), ".jsonl"),
		Parallel: layoutOf(tensor, ranks, o.flag("expert_parallel")),
	}}
	p := setup{tensor: tensor, data: ranks, expert: o.flag("expert_parallel")}
	unknown := deployed(&run.Labels, &p, o.text("model"), timingGPU(o), precisionInName(o.text("model")))
	trace, missing, err := t.source.trace(o, requests)
	if err != nil {
		return run, err
	}
	if run.Skip = cmp.Or(unknown, engineUnknown(run.Labels.Engine), missing); run.Skip == "" {
		t.pool(&p, o)
		p.load("trace: {file: %q, limit: %d}", trace.path, o.count("num_requests", 1, trace.requests))
		run.Scenario = p.text()
	}
	return run, o.origin.err
}

// pool adds the engine's arguments.
func (t *timingReader) pool(p *setup, o object) {
	if strings.HasPrefix(o.text("kv_cache_dtype"), "fp8") {
		p.kvCache = "fp8"
	}
	for _, key := range []string{"max_num_seqs", "max_num_batched_tokens", "max_model_len"} {
		p.arg(key, o.count(key, 1, 0))
	}
	cache := o.sub("kv_cache")
	if share, ok := cache.above("gpu_memory_utilization"); ok {
		p.arg("gpu_memory_utilization", share)
	}
	p.arg("block_size", cache.count("block_size", 1, 0))
	p.arg("num_gpu_blocks", t.blocks(o))
	p.cachePrefixes(o.flag("prefix_caching") || cache.flag("enable_prefix_caching"))
}

// blocks returns the KV blocks of a run, by its own line or by another of the same deployment; 0: unknown.
func (t *timingReader) blocks(o object) int {
	const key = "num_gpu_blocks"
	if n := o.sub("kv_cache").count(key, 1, 0); n > 0 {
		return n
	}
	for _, other := range t.runs {
		if n := other.sub("kv_cache").count(key, 1, 0); n > 0 && sameDeployment(o, other) {
			return n
		}
	}
	return 0
}

// sameDeployment reports whether two runs have the same number of KV blocks: all that takes memory is equal, also the batch,
// whose graphs and logits do.
func sameDeployment(a, b object) bool {
	for _, key := range []string{
		"system", "model", "tp", "dp", "expert_parallel", "dtype", "kv_cache_dtype", "max_model_len", "max_num_batched_tokens", "max_num_seqs",
		"backend", "backend_version",
	} {
		if fmt.Sprint(a.fields[key]) != fmt.Sprint(b.fields[key]) {
			return false
		}
	}
	return true
}

// requestRow reads one request. Without a first token it failed, and has no latencies; without a last one, it failed later.
func requestRow(run string, o object) Row {
	i := o.count("i", 0, -1)
	if i < 0 {
		o.fail("i", o.fields["i"], "the number of the request in its run, from 0")
	}
	row := Row{ID: fmt.Sprintf("%s#%d", run, i), Request: i}
	if _, ok := o.optional("first_token_s"); !ok {
		return row
	}
	queued := o.since("queued_s", 0)
	token := o.since("first_token_s", queued)
	if token == queued {
		o.fail("first_token_s", o.fields["first_token_s"], fmt.Sprintf("seconds later than queued_s, %g", queued))
	}
	row.Values = append(row.Values, Lead(TTFT, Mean, 1e3*(token-queued)))
	if _, ok := o.optional("last_token_s"); !ok {
		return row
	}
	last := o.since("last_token_s", token)
	if n := o.count("output_tokens", 1, 1); n > 1 && last > token {
		row.Values = append(row.Values, Lead(TPOT, Mean, 1e3*(last-token)/float64(n-1)))
	}
	row.Values = append(row.Values, Lead(E2E, Mean, 1e3*(last-queued)))
	return row
}

// since returns an instant that must be there and not before another.
func (o object) since(key string, earliest float64) float64 {
	x, ok := o.optional(key)
	if !ok || x < earliest {
		o.fail(key, o.fields[key], fmt.Sprintf("seconds, %g or later", earliest))
	}
	return x
}

// summaryRows is the row of a whole run: means and quantiles over its requests.
func summaryRows(o object) []Row {
	row := Row{ID: o.text("run"), Request: -1}
	summary := o.sub("summary_ms")
	for _, m := range []Metric{TTFT, TPOT, E2E} {
		of := summary.sub(m.String())
		for s := range NumStats {
			ms, ok := of.above(s.String())
			switch {
			case ok && s == Mean:
				row.Values = append(row.Values, Lead(m, s, ms))
			case ok:
				row.Values = append(row.Values, Other(m, s, ms))
			}
		}
	}
	if row.Values == nil {
		return nil
	}
	return []Row{row}
}

// timingGPU names the GPU as its driver does, which tells variants apart, or else as the run does.
func timingGPU(o object) string {
	if device := o.sub("hardware").text("device_name"); device != "" {
		if _, unknown := catalogGPU(device); unknown == "" {
			return device
		}
	}
	return o.text("system")
}

// precisionInName returns the precision that a repository's name speaks of; empty: none. dtype does not say: it is what
// the engine computes in, whatever the weights are stored in.
func precisionInName(repository string) string {
	name := strings.ToLower(repository)
	for _, p := range []struct{ word, precision string }{
		{"nvfp4", "nvfp4"}, {"mxfp4", "mxfp4"}, {"fp4", "fp4"}, {"fp8", "fp8"}, {"w8a8", "int8"}, {"int8", "int8"},
		{"awq", "int4"}, {"gptq", "int4"}, {"int4", "int4"}, {"w4a16", "int4"},
	} {
		if strings.Contains(name, p.word) {
			return p.precision
		}
	}
	return ""
}

// count returns a whole number of at least least; absent or null: otherwise.
func (o object) count(key string, least, otherwise int) int {
	x, ok := o.optional(key)
	if !ok {
		return otherwise
	}
	if x != math.Trunc(x) || x < float64(least) || x > 1e9 {
		o.fail(key, o.fields[key], fmt.Sprintf("a whole number from %d to 1e9", least))
		return otherwise
	}
	return int(x)
}

// flag returns a truth value; absent or null: false.
func (o object) flag(key string) bool {
	value, ok := o.fields[key].(bool)
	if !ok && o.fields[key] != nil {
		o.fail(key, o.fields[key], "true or false")
	}
	return value
}
