package compare

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/describe"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// Race is scenarios that will serve the same requests.
type Race struct {
	Variants   []variant
	Scenarios  []*configs.Scenario // resolved, under the first seed
	Models     []string
	seeds      []uint64
	Comparison *Comparison
	Itl, Ttft  []metrics.Hist     // by variant, over the seeds
	Timed      bool               // Run keeps the timelines
	Timelines  [][]metrics.Sample // by variant, under the first seed; nil: not kept
}

// result is one run of one variant.
type result struct {
	trial     Trial
	itl, ttft *metrics.Hist
	timeline  []metrics.Sample // nil: not asked for
	err       error
}

// Plan is what to compare: several scenarios, or one with changes.
type Plan struct {
	Sources []string // names or paths
	Engines []string // that each run the one source; nil: its own
	With    []string // changes of the one source, each a variant of it beside itself
	Set     []string // over every scenario
	Env     []string // as of os.Environ
	Seed    *uint64  // nil: that of the first scenario
	Seeds   int      // under how many, from the first on
	Version string   // of the program
}

// NewRace reads and builds every scenario once, so that no run starts if one cannot be. The notes are for people.
func NewRace(ctx context.Context, q Plan) (r *Race, notes []string, err error) {
	all, err := q.variants()
	if err != nil {
		return nil, nil, err
	}
	r = &Race{Variants: all}
	for i := range all {
		s, err := all[i].load(q.Seed)
		if err != nil {
			return nil, nil, err
		}
		if q.Seeds > 1 && s.Workload.Trace != nil {
			return nil, nil, fmt.Errorf(
				"--seeds %d: the requests of %s come from a trace, and are the same under every seed; expected 1", q.Seeds,
				all[i].label)
		}
		if i > 0 && s.Seed != r.Scenarios[0].Seed {
			notes = append(notes, fmt.Sprintf("seed %d of %s gives way to %d, that of %s", s.Seed, all[i].label,
				r.Scenarios[0].Seed, all[0].label))
		}
		for _, left := range s.Notes() {
			notes = append(notes, all[i].label+": "+left)
		}
		r.Scenarios = append(r.Scenarios, s)
	}
	nameDistinctly(all, r.Scenarios)
	for i := range q.Seeds {
		r.seeds = append(r.seeds, r.Scenarios[0].Seed+uint64(i))
	}
	trace := func(s *configs.Scenario) bool { return s.Workload.Trace != nil }
	r.Comparison = &Comparison{Version: q.Version, Seeds: r.seeds, Seedable: !slices.ContainsFunc(r.Scenarios, trace)}
	for i := range all {
		if err := r.enter(ctx, i); err != nil {
			return nil, nil, err
		}
	}
	r.Comparison.Diff = diffOf(r.Scenarios)
	return r, once(notes), nil
}

// enter builds a variant to see that it can be, and notes what it is.
func (r *Race) enter(ctx context.Context, i int) error {
	b, err := r.build(ctx, i, r.seeds[0])
	if err != nil {
		return err
	}
	defer b.Close()
	r.Scenarios[i] = b.Scenario
	r.Models = append(r.Models, b.Deployment.Model.Name)
	r.Comparison.Scenarios = append(r.Comparison.Scenarios, Candidate{
		Name: r.Variants[i].Name, Source: r.Variants[i].source,
		Is: b.Deployment.Model.Name + " · " + describe.Pools(b.Scenario),
	})
	return nil
}

func (r *Race) build(ctx context.Context, i int, seed uint64) (*build.Built, error) {
	s, err := r.Variants[i].load(&seed)
	if err != nil {
		return nil, err
	}
	b, err := build.NewUntil(ctx, s)
	return b, r.Variants[i].named(err)
}

// Names returns the names of the scenarios, no two of them alike.
func (r *Race) Names() []string {
	names := make([]string, len(r.Variants))
	for i := range names {
		names[i] = r.Variants[i].Name
	}
	return names
}

// Runs returns how many runs Run makes.
func (r *Race) Runs() int { return len(r.Variants) * len(r.seeds) }

// Run runs every variant under every seed, over all cores, some seeds at a time: their requests are kept no longer than
// it takes to pair them. progress, unless it is nil, is called with how many runs are done; one under way counts in
// part.
func (r *Race) Run(ctx context.Context, progress func(done float64)) error {
	n := len(r.Variants)
	r.Itl, r.Ttft = make([]metrics.Hist, n), make([]metrics.Hist, n)
	together := (runtime.GOMAXPROCS(0) + n - 1) / n
	for from := 0; from < len(r.seeds); from += together {
		seeds := r.seeds[from:min(from+together, len(r.seeds))]
		results := make([]result, n*len(seeds))
		shares := run.NewShares(progress, from*n)
		run.Each(len(results), func(k int) {
			results[k] = r.result(ctx, k%n, seeds[k/n], shares.Of(k))
			shares.Ended(k)
		})
		if err := r.take(ctx, results); err != nil {
			return err
		}
	}
	r.Comparison.Close()
	return nil
}

// take adds the results of some seeds to the comparison, in order.
func (r *Race) take(ctx context.Context, results []result) error {
	n := len(r.Variants)
	if err := ctx.Err(); err != nil {
		return err
	}
	for k := range results {
		if err := results[k].err; errors.As(err, new(run.TooLarge)) {
			return err
		} else if err != nil {
			return run.Failure{Err: fmt.Errorf("%s: %w", r.Variants[k%n].label, err)}
		}
	}
	if r.Timed && r.Timelines == nil {
		for i := range n {
			r.Timelines = append(r.Timelines, results[i].timeline)
		}
	}
	for k := 0; k < len(results); k += n {
		trials := make([]Trial, n)
		for i := range trials {
			trials[i] = results[k+i].trial
			r.Itl[i].Merge(results[k+i].itl)
			r.Ttft[i].Merge(results[k+i].ttft)
		}
		r.Comparison.Add(trials)
	}
	return nil
}

// result runs a variant once.
func (r *Race) result(ctx context.Context, i int, seed uint64, progress func(run.Progress)) result {
	if err := ctx.Err(); err != nil {
		return result{err: err}
	}
	b, err := r.build(ctx, i, seed)
	if err != nil {
		return result{err: err}
	}
	defer b.Close()
	ran, err := run.Simulate(ctx, b, run.Options{Version: r.Comparison.Version, Rows: -1, Progress: progress,
		Timeline: r.Timed && seed == r.seeds[0]})
	if err != nil {
		return result{err: err}
	}
	return result{
		trial: Trial{Summary: ran.Summary, Requests: served(ran.Rows), WarmupS: b.Warmup.Seconds()},
		itl:   ran.Recorder.ChunkGaps(), ttft: &ran.Recorder.TTFT, timeline: ran.Timeline,
	}
}

// served returns the requests of a run by ID.
func served(rows []run.Row) []Served {
	all := make([]Served, len(rows))
	for i := range rows {
		row := &rows[i]
		q := Served{Arrival: row.Arrival, TTFT: row.TTFT, Queue: row.Queue, E2E: row.E2E, Prompt: row.PromptTokens,
			Class: row.Class}
		if row.Outcome == sim.Completed.String() {
			q.Output = row.OutputTokens
		}
		all[row.ID] = q
	}
	return all
}

// diffOf returns the keys that the scenarios do not agree on, as resolved. They all have names and one seed.
func diffOf(scenarios []*configs.Scenario) []KeyDiff {
	diff := []KeyDiff{}
	seen := map[string]int{"name": -1, "seed": -1}
	for i, s := range scenarios {
		for _, v := range s.Values() {
			at, ok := seen[v.Key]
			if !ok {
				at, seen[v.Key] = len(diff), len(diff)
				diff = append(diff, KeyDiff{Key: v.Key, Values: make([]string, len(scenarios))})
			}
			if at >= 0 {
				diff[at].Values[i] = v.Text
			}
		}
	}
	remaining := diff[:0]
	for _, d := range diff {
		for _, v := range d.Values {
			if v != d.Values[0] {
				remaining = append(remaining, d)
				break
			}
		}
	}
	return remaining
}

// SameSLO reports whether one limit holds for all, which is then drawn.
func (r *Race) SameSLO() bool {
	for _, s := range r.Scenarios {
		if !reflect.DeepEqual(s.SLO, r.Scenarios[0].SLO) {
			return false
		}
	}
	return true
}
