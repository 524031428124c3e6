package longform

import (
	"cmp"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/datafile"
)

// Schema is the table of one value a row.
func Schema() datafile.Schema {
	return datafile.Schema{
		Name: "decodesim/measurements/v1",
		About: "measurements, one value a row (CSV with gpu, metric, value, unit, per, and of id, kind, model, engine, " +
			"gpus, tp, pp, dp, ep, weights, kv_cache, isl, osl, concurrency_or_batch, arrivals, offered_rps, spec what is " +
			"known)",
		Columns: []string{"gpu", "metric", "value", "unit", "per"},
		Read:    read,
	}
}

// Kinds of measurement.
const (
	offline    = "offline_throughput"
	server     = "server"
	oneStream  = "single_stream"
	decodeStep = "decode_step"
	prefill    = "prefill"
	collective = "collective"
	kernel     = "kernel"
	speedup    = "speedup" // which is read and not predicted
)

var kinds = []string{offline, server, oneStream, decodeStep, prefill, collective, kernel}

// Kinds returns those that a run of such a table may have.
func Kinds() []string { return append(slices.Clone(kinds), speedup) }

// row is one line of the table while it is read.
type row struct {
	*datafile.Record
	kind   string
	metric metric
	counts map[string]int // requests by source and lengths, of the rows that state it
	took   *assumptions
}

// assumptions are what was taken for something that rows leave open.
type assumptions struct {
	requests, counts, dataset, operations, older bool
	ranIn, fewest, replicas, longer, inHouse     bool
	offloaded, attention, perHead, release       bool
	kernels, between                             bool
}

func read(s *datafile.Source, f *measured.File) error {
	if err := s.Table.OneRowPerID(); err != nil {
		return err
	}
	counts, err := statedCounts(s.Table)
	if err != nil {
		return err
	}
	ids := s.RunIDs(len(s.Table.Rows))
	var took assumptions
	seen := map[same]int{}
	for i := range s.Table.Rows {
		r := row{Record: s.Table.Record(i), counts: counts, took: &took}
		run := r.run(cmp.Or(r.Text("id"), ids[i]))
		if err := r.Err; err != nil {
			return err
		}
		add(f, seen, run)
	}
	if note := unreadNote(s.Table); note != "" {
		f.Notes = append(f.Notes, note)
	}
	f.Notes = append(f.Notes, took.notes()...)
	return nil
}

// same tells runs apart: rows with equal setups and labels are of one.
type same struct {
	scenario string
	labels   measured.Labels
}

// add adds a run, or its row to the run of an earlier row that is the same.
func add(f *measured.File, seen map[same]int, run measured.Run) {
	if run.Skip == "" && run.Priced == nil {
		key := same{run.Scenario, run.Labels}
		if at, ok := seen[key]; ok {
			f.Runs[at].Rows = append(f.Runs[at].Rows, run.Rows...)
			return
		}
		seen[key] = len(f.Runs)
	}
	f.Runs = append(f.Runs, run)
}

// run reads a row.
func (r *row) run(id string) measured.Run {
	run := measured.Run{ID: id, Labels: measured.Labels{
		Source: cmp.Or(r.Text("source"), "measurements"), Version: r.release(), Quality: r.Text("quality"),
		Own: r.Text("deployment"), Mode: "agg",
	}}
	r.readKind()
	run.Labels.Kind = r.kind
	var skip string
	r.metric, skip = r.readMetric()
	value := measured.Value{Metric: r.metric.of, Stat: r.metric.stat, Name: r.metric.name, Measured: r.value()}
	value.Unit.Name = r.Text("unit")
	if r.Err != nil {
		return run
	}
	if skip == "" || r.kind == speedup {
		skip = r.describe(&run, &value)
	}
	run.Skip = skip
	if skip != "" {
		run.Scenario, run.Priced = "", nil
		r.label(&run.Labels)
	}
	run.Rows = []measured.Row{{ID: id, Request: -1, Values: []measured.Value{value}}}
	return run
}

// value is what was measured, which has to be there.
func (r *row) value() float64 {
	x, ok := r.Optional("value")
	if !ok || x <= 0 {
		r.Fail("value", "a number above 0")
	}
	return x
}

// readKind reads what was measured, or infers it from the arrivals and the metric.
func (r *row) readKind() {
	r.kind = r.Text("kind")
	metric, arrivals := r.Text("metric"), r.Text("arrivals")
	switch {
	case r.kind == speedup: // of one system over another, which no simulation of one run has
	case r.kind != "" && !slices.Contains(kinds, r.kind):
		r.Fail("kind", "one of "+strings.Join(kinds, ", ")+", or nothing")
	case r.kind != "":
	case strings.HasPrefix(metric, "allreduce_"), strings.HasPrefix(metric, "alltoall_"):
		r.kind = collective
	case strings.HasPrefix(metric, "gemm_"), strings.HasPrefix(metric, "hbm_"):
		r.kind = kernel
	case metric == "input_tokens_per_s", metric == "first_token_latency", arrivals == "one request":
		r.kind = prefill
	case metric == "batch_latency", metric == "step_time", arrivals == staticBatch, arrivals == "":
		r.kind = decodeStep
	case strings.HasPrefix(arrivals, atOnce):
		r.kind = offline
	default:
		r.kind = server
	}
	if r.Text("offered_rps") != "" && r.Text("kind") == "" {
		r.kind = server
	}
}

// describe fills in what a run is set up with, or says why it cannot be modelled.
func (r *row) describe(run *measured.Run, v *measured.Value) (skip string) {
	switch r.kind {
	case speedup:
		return "a ratio of two systems, of which a row describes one"
	case collective, kernel:
		return r.operation(run, v)
	}
	d, skip := r.deployment(&run.Labels)
	if skip != "" {
		return skip
	}
	l, skip := r.load(&d)
	if skip != "" {
		return skip
	}
	run.Labels.Load, run.Labels.Concurrency = l.name(), l.clients
	if l.steps {
		return r.step(run, v, &d, &l)
	}
	r.limitStep(&l, &d)
	l.write(&d)
	r.lengthen(&l, &d)
	d.Version = run.Labels.Version
	run.Scenario = d.Text()
	return r.perWhat(v, &d, l.batch, l.prompt)
}

// notes say what was assumed for rows that are modelled.
func (a *assumptions) notes() (said []string) {
	for _, x := range []struct {
		taken bool
		note  string
	}{
		{a.requests, "a server whose requests are not counted gets those of 600 s, one of MLPerf whole passes over its " +
			"dataset that take as long, at most 250,000"},
		{a.replicas, "of a server of more than 8 replicas 8 are simulated, with their share of the rate"},
		{a.counts, "a list whose requests are not counted has the number of another row of its source with the same " +
			"lengths"},
		{a.operations, "a kernel is priced as the part of a step that it is, with what the row's engine achieves, or what " +
			"all engines have in common; a product by itself achieves what those that we timed on an H100 do, and a " +
			"collective takes what tables of them say, which built-in efficiencies do not count in steps"},
		{a.older, "NCCL before 2.20 takes 10 µs longer on Hopper than the release that tables are of"},
		{a.kernels, "an all-to-all whose engine names no kernels, as \"deepep low-latency\" does, is priced by those that " +
			"engines take for decodes: between domains the low-latency ones, within one the quickest of all"},
		{a.dataset, datasetNote},
		{a.inHouse, "DeepSeek's own engine is priced as SGLang, which runs its kernels, with two batches that take turns"},
		{a.offloaded, "weights that the memory of the host holds are priced as if the GPU held them: fetching them passes " +
			"while it reads prompts"},
		{a.perHead, "before 0.10, TensorRT-LLM reads the cache anew for every query head that shares keys and values with " +
			"others, except, since 0.8, those of groups of 8 heads of 128"},
		{a.between, "before 0.14, vLLM plans a step only when the one before has ended, unless it is asked not to; so does " +
			"TensorRT-LLM before 0.20, as we remember it (unverified)"},
		{a.longer, "a model that was run with longer sequences than its context has the context of the run"},
		{a.attention, "models of experts of which a table says that attention DP may be on had it on, with the experts " +
			"shared, as the other rows of that table and the next one for the same GPUs do"},
		{a.ranIn, ranInNote},
		{a.fewest, fewestNote},
		{a.release, releaseNote()},
	} {
		if x.taken {
			said = append(said, x.note)
		}
	}
	return said
}
