package logs

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/datafile"
	"github.com/decodesim/decodesim/internal/measured/names"
	"github.com/decodesim/decodesim/internal/measured/setup"
)

// readSteps reads steps of vLLM. Early ones compile and tune kernels, which takes up to a hundred times as long as the
// step: one is left out that takes more than stepOutlier times the median of the steps of its deployment with about as
// many prompt tokens and decodes, whatever is predicted of it.
func readSteps(s *datafile.Source, f *measured.File) error {
	usual := usualSteps(s.Table)
	return datafile.Each(f, s.Table, func(r *datafile.Record) measured.Run {
		run := stepRun(r)
		if run.Skip == "" && r.Number("step_ms") > stepOutlier*usual[stepKind(r)] {
			run.Skip = fmt.Sprintf("more than %d times as long as such steps of its deployment: kernels were compiled in it",
				stepOutlier)
		}
		return run
	})
}

const stepOutlier = 3

// stepKind names what a step is about as long as.
func stepKind(r *datafile.Record) string {
	octave := func(column string) int { return bits.Len(uint(r.Number(column))) }
	return fmt.Sprint(r.Text("deployment_id"), " ", octave("prefill_tokens"), " ", octave("decode_requests"), " ",
		octave("kv_tokens"))
}

// usualSteps returns the median time of each kind of step.
func usualSteps(t *datafile.Table) map[string]float64 {
	all := map[string][]float64{}
	for i := range t.Rows {
		r := t.Record(i)
		all[stepKind(r)] = append(all[stepKind(r)], r.Number("step_ms"))
	}
	usual := map[string]float64{}
	for kind, ms := range all {
		slices.Sort(ms)
		usual[kind] = measured.Quantile(ms, 0.5)
	}
	return usual
}

// stepRun reads a step. Only rank 0 of several attention ranks is logged, and the step waits for the others: they are
// taken to decode as many sequences, and to have no prompts: those that are logged are all its own.
func stepRun(r *datafile.Record) measured.Run {
	prefills, decodes := r.Count("prefill_requests", 0), r.Count("decode_requests", 0)
	kind := "decode step"
	switch {
	case prefills > 0 && decodes > 0:
		kind = "mixed step"
	case prefills > 0:
		kind = "prefill step"
	}
	ranks := max(1, r.Count("dp", 1))
	source := "steps, one rank"
	if ranks > 1 {
		source = "steps, one of several ranks"
	}
	run := one(rowID(r), source, kind, measured.Value{Metric: measured.Duration, Name: "step_time",
		Measured: r.Number("step_ms"), Unit: measured.Unit{Name: "ms", Factor: 1e3}})
	l := &run.Labels
	l.Own, l.Quality = r.Text("deployment_id"), "A"
	l.Engine, l.Version = r.Text("engine"), r.Text("version")
	p := setup.Scenario{Engine: l.Engine, TensorParallel: r.Count("tp", 1), DataParallel: ranks,
		ExpertParallel: r.Count("ep", 1) > 1}
	p.Model, run.Skip = names.CatalogModel(r.Text("model"))
	if run.Skip != "" {
		return run
	}
	p.GPU, run.Skip = names.CatalogGPU(r.Text("gpu"))
	l.Model, l.GPU, l.Class = p.Model, p.GPU, names.ClassOf(p.Model)
	l.Precision = catalog.PrecisionOf(p.Model, r.Text("weights"))
	l.Parallel = names.LayoutOf(p.TensorParallel, ranks, p.ExpertParallel)
	p.Weights = catalog.WeightsOf(p.Model, r.Text("weights"))
	p.KVCache = r.Text("kv_cache")
	p.Argument("max_num_batched_tokens", 8192) // the log says 2048, and its steps have up to 8192
	p.ClosedLoop(1, 1)
	p.Lengths(1, 1, 1)
	p.Version = run.Labels.Version
	run.Scenario = p.Text()
	step := &measured.Step{Prefills: prefills, OneRank: ranks > 1 && prefills > 0}
	if decodes > 0 {
		step.Decodes = decodes * ranks
		step.DecodeContext = max(1, r.Count("kv_tokens", 0)/decodes)
	}
	if prefills > 0 {
		step.ChunkTokens = max(1, r.Count("prefill_tokens", 1)/prefills)
		step.ChunkContext = r.Count("prefill_kv_tokens", 0) / prefills
	}
	run.Priced = &measured.Priced{Step: step}
	return run
}
