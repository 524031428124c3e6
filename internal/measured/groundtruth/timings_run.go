package groundtruth

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/datafile"
	"github.com/decodesim/decodesim/internal/measured/names"
	"github.com/decodesim/decodesim/internal/measured/setup"
)

// timingReader turns lines of timings into runs.
type timingReader struct {
	source   *datafile.Source
	runs     []datafile.Object
	requests []datafile.Object
}

// read adds the named runs.
func (t *timingReader) read(f *measured.File, named []string) error {
	for _, name := range named {
		run := measured.Run{ID: name, Skip: "no line says how the run was set up"}
		requests := t.of(name)
		if i := slices.IndexFunc(t.runs, func(o datafile.Object) bool { return o.Text("run") == name }); i >= 0 {
			var err error
			run, err = t.run(t.runs[i], requests)
			if err != nil {
				return err
			}
		}
		for _, o := range requests {
			run.Rows = append(run.Rows, requestRow(name, o))
			if o.Origin.Err != nil {
				return o.Origin.Err
			}
		}
		run.Labels.Source = f.Schema
		f.Runs = append(f.Runs, run)
	}
	return nil
}

// of returns the requests of a run.
func (t *timingReader) of(run string) []datafile.Object {
	var all []datafile.Object
	for _, o := range t.requests {
		if o.Text("run") == run {
			all = append(all, o)
		}
	}
	return all
}

// run reads how a run was set up, and its row of means and quantiles.
func (t *timingReader) run(o datafile.Object, requests []datafile.Object) (measured.Run, error) {
	tensor, ranks := o.Count("tp", 1, 1), o.Count("dp", 1, 1)
	run := measured.Run{ID: o.Text("run"), Rows: summaryRows(o), Labels: measured.Labels{
		Engine: names.EngineOf(o.Text("backend")), Version: o.Text("backend_version"), Mode: "agg", Quality: "A",
		Load:     strings.TrimSuffix(path.Base(o.Text("workload")), ".jsonl"),
		Parallel: names.LayoutOf(tensor, ranks, o.Flag("expert_parallel")),
	}}
	p := setup.Scenario{TensorParallel: tensor, DataParallel: ranks, ExpertParallel: o.Flag("expert_parallel")}
	unknown := deployed(&run.Labels, &p, o.Text("model"), timingGPU(o), catalog.PrecisionInName(o.Text("model")))
	trace, missing, err := traceOf(t.source, o, requests)
	if err != nil {
		return run, err
	}
	run.Skip = cmp.Or(unknown, engineUnknown(run.Labels.Engine), missing)
	if run.Skip == "" {
		t.pool(&p, o)
		p.AddWorkload("trace: {file: %q, limit: %d}", trace.path, o.Count("num_requests", 1, trace.requests))
		p.Version = run.Labels.Version
		run.Scenario = p.Text()
	}
	return run, o.Origin.Err
}

// pool adds the engine's arguments.
func (t *timingReader) pool(p *setup.Scenario, o datafile.Object) {
	if strings.HasPrefix(o.Text("kv_cache_dtype"), "fp8") {
		p.KVCache = "fp8"
	}
	for _, key := range []string{"max_num_seqs", "max_num_batched_tokens", "max_model_len"} {
		p.Argument(key, o.Count(key, 1, 0))
	}
	cache := o.Sub("kv_cache")
	if share, ok := cache.Positive("gpu_memory_utilization"); ok {
		p.Argument("gpu_memory_utilization", share)
	}
	p.Argument("block_size", cache.Count("block_size", 1, 0))
	p.Argument("num_gpu_blocks", t.blocks(o))
	p.CachePrefixes(o.Flag("prefix_caching") || cache.Flag("enable_prefix_caching"))
}

// blocks returns the KV blocks of a run, by its own line or by another of the same deployment; 0: unknown.
func (t *timingReader) blocks(o datafile.Object) int {
	const key = "num_gpu_blocks"
	if n := o.Sub("kv_cache").Count(key, 1, 0); n > 0 {
		return n
	}
	for _, other := range t.runs {
		if n := other.Sub("kv_cache").Count(key, 1, 0); n > 0 && sameDeployment(o, other) {
			return n
		}
	}
	return 0
}

// sameDeployment reports whether two runs have the same number of KV blocks: all that takes memory is equal, also the
// batch, whose graphs and logits do.
func sameDeployment(a, b datafile.Object) bool {
	for _, key := range []string{
		"system", "model", "tp", "dp", "expert_parallel", "dtype", "kv_cache_dtype", "max_model_len",
		"max_num_batched_tokens", "max_num_seqs",
		"backend", "backend_version",
	} {
		if fmt.Sprint(a.Fields[key]) != fmt.Sprint(b.Fields[key]) {
			return false
		}
	}
	return true
}

// requestRow reads one request. Without a first token it failed, and has no latencies; without a last one, it failed
// later.
func requestRow(run string, o datafile.Object) measured.Row {
	i := o.Count("i", 0, -1)
	if i < 0 {
		o.Fail("i", o.Fields["i"], "the number of the request in its run, from 0")
	}
	row := measured.Row{ID: fmt.Sprintf("%s#%d", run, i), Request: i}
	if _, ok := o.Optional("first_token_s"); !ok {
		return row
	}
	queued := since(o, "queued_s", 0)
	token := since(o, "first_token_s", queued)
	if token == queued {
		o.Fail("first_token_s", o.Fields["first_token_s"], fmt.Sprintf("seconds later than queued_s, %g", queued))
	}
	row.Values = append(row.Values, measured.Lead(measured.TTFT, measured.Mean, 1e3*(token-queued)))
	if _, ok := o.Optional("last_token_s"); !ok {
		return row
	}
	last := since(o, "last_token_s", token)
	if n := o.Count("output_tokens", 1, 1); n > 1 && last > token {
		row.Values = append(row.Values, measured.Lead(measured.TPOT, measured.Mean, 1e3*(last-token)/float64(n-1)))
	}
	row.Values = append(row.Values, measured.Lead(measured.E2E, measured.Mean, 1e3*(last-queued)))
	return row
}

// since returns an instant that must be there and not before another.
func since(o datafile.Object, key string, earliest float64) float64 {
	x, ok := o.Optional(key)
	if !ok || x < earliest {
		o.Fail(key, o.Fields[key], fmt.Sprintf("seconds, %g or later", earliest))
	}
	return x
}

// summaryRows is the row of a whole run: means and quantiles over its requests.
func summaryRows(o datafile.Object) []measured.Row {
	row := measured.Row{ID: o.Text("run"), Request: -1}
	summary := o.Sub("summary_ms")
	for _, m := range []measured.Metric{measured.TTFT, measured.TPOT, measured.E2E} {
		of := summary.Sub(m.String())
		for s := range measured.NumStats {
			ms, ok := of.Positive(s.String())
			switch {
			case ok && s == measured.Mean:
				row.Values = append(row.Values, measured.Lead(m, s, ms))
			case ok:
				row.Values = append(row.Values, measured.Other(m, s, ms))
			}
		}
	}
	if row.Values == nil {
		return nil
	}
	return []measured.Row{row}
}

// timingGPU names the GPU as its driver does, which tells variants apart, or else as the run does.
func timingGPU(o datafile.Object) string {
	if device := o.Sub("hardware").Text("device_name"); device != "" {
		if _, unknown := names.CatalogGPU(device); unknown == "" {
			return device
		}
	}
	return o.Text("system")
}
