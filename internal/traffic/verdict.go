package traffic

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/progress"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/internal/stats"
	"github.com/decodesim/decodesim/sim/metrics"
	"github.com/decodesim/decodesim/workloads/traces"
)

// Verdict is what a deployment does under the trace and under the fit.
type Verdict struct {
	Scenario string       `json:"scenario"` // the deployment
	Replicas int          `json:"replicas"` // of its first pool
	Seeds    int          `json:"seeds"`    // of the fit
	Rows     []VerdictRow `json:"rows"`
}

// VerdictRow is one number of both simulations.
type VerdictRow struct {
	Metric string       `json:"metric"`
	Unit   string       `json:"unit"`
	Trace  stats.Number `json:"trace"`
	Fit    stats.Number `json:"fit"` // the median over the seeds
	Low    stats.Number `json:"fit_min"`
	High   stats.Number `json:"fit_max"`
}

// Deployment is what both simulations run on.
type Deployment struct {
	Scenario string
	Options  configs.Options
	Given    bool // the user named it: its replicas are kept
}

// seedsOfFit is under how many seeds the fit is simulated.
const seedsOfFit = 3

// queueMaxS is how long nine requests in ten may wait: closer to saturation, small differences of the load make large
// ones of latencies.
const queueMaxS = 0.1

// replicasMax is how many replicas are tried before a load counts as one that no deployment is given for.
const replicasMax = 256

// FitTo fits a workload to the trace at path and judges it on a deployment. A say that is not nil hears how far
// the simulations are.
func FitTo(ctx context.Context, path string, o traces.Options, d Deployment, say Say) (*Fit, error) {
	s, err := Describe(path, o)
	if err != nil {
		return nil, err
	}
	f, err := NewFit(s, 1)
	if err != nil {
		return nil, err
	}
	return f, f.Judge(ctx, d, path, o, say)
}

// Judge simulates the trace and the fit on a deployment. Unless the user named it, it gets replicas until the trace
// waits no longer than a tenth of a second at the 90th percentile.
func (f *Fit) Judge(ctx context.Context, d Deployment, path string, o traces.Options, say Say) error {
	s, err := configs.Load(d.Scenario, d.Options)
	if err != nil {
		return err
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	replay := configs.Workload{Trace: &configs.Trace{File: absolute, Speed: 1, Limit: o.Limit, StartS: o.StartS,
		EndS: o.EndS, SkipEmpty: o.SkipEmpty}}
	v := &Verdict{Scenario: s.Name, Replicas: s.Pools[0].Replicas, Seeds: seedsOfFit}
	under := fmt.Sprintf("the trace on %s", s.Name)
	recorded, err := simulate(ctx, s, replay, v.Replicas, s.Seed, say.about(under))
	for err == nil && !d.Given && recorded.Latency.Queue.P90 > queueMaxS && v.Replicas < replicasMax {
		v.Replicas *= 2
		recorded, err = simulate(ctx, s, replay, v.Replicas, s.Seed, say.about(fmt.Sprintf("%s × %d", under, v.Replicas)))
	}
	if err != nil {
		return err
	}
	var fitted []*metrics.Summary
	for seed := range uint64(seedsOfFit) {
		again, err := simulate(ctx, s, f.block, v.Replicas, s.Seed+seed,
			say.about(fmt.Sprintf("the fit, seed %d of %d", seed+1, seedsOfFit)))
		if err != nil {
			return err
		}
		fitted = append(fitted, again)
	}
	v.Rows = rowsOf(recorded, fitted)
	f.Verdict = v
	f.Fitted, err = f.sample(ctx, s)
	return err
}

// about reports how many requests of a simulation have ended.
func (say Say) about(what string) func(done, of float64) {
	return func(done, of float64) {
		if say != nil {
			say(progress.Work{What: what, Done: done, Of: of, Unit: "request"})
		}
	}
}

// simulate runs a deployment under another workload.
func simulate(ctx context.Context, s *configs.Scenario, w configs.Workload, replicas int, seed uint64,
	say func(done, of float64)) (*metrics.Summary, error) {
	b, err := built(ctx, s, w, replicas, seed)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	r, err := run.Simulate(ctx, b, run.Options{Progress: func(p run.Progress) { say(float64(p.Ended), b.Requests) }})
	if err != nil {
		return nil, err
	}
	return r.Summary, nil
}

// built is a deployment under another workload, read as if a user had written it.
func built(ctx context.Context, s *configs.Scenario, w configs.Workload, replicas int,
	seed uint64) (*build.Built, error) {
	c := s.Clone()
	c.Workload, c.Seed, c.Pools[0].Replicas = w, seed, replicas
	c.Output.Intervals = false
	read, err := configs.Read(s.Name, c.YAML(), configs.Options{})
	if err != nil {
		return nil, err
	}
	return build.NewUntil(ctx, read)
}

// sample describes requests of the fit.
func (f *Fit) sample(ctx context.Context, s *configs.Scenario) (*Summary, error) {
	b, err := built(ctx, s, f.block, 1, s.Seed)
	if err != nil {
		return nil, err
	}
	r := NewRecord(true, b.Config.Contents)
	r.Read(b.Config.Source, 0)
	return r.Summary("fit"), b.SourceErr()
}

// rowsOf sets the results side by side.
func rowsOf(recorded *metrics.Summary, fitted []*metrics.Summary) []VerdictRow {
	var rows []VerdictRow
	add := func(name, unit string, of func(*metrics.Summary) float64) {
		var all []float64
		for _, s := range fitted {
			all = append(all, of(s))
		}
		slices.Sort(all)
		rows = append(rows, VerdictRow{name, unit, stats.Number(of(recorded)), stats.Number(all[len(all)/2]),
			stats.Number(all[0]), stats.Number(all[len(all)-1])})
	}
	for _, m := range []struct {
		name string
		of   func(*metrics.Summary) *metrics.Quantiles
	}{
		{"TTFT", func(s *metrics.Summary) *metrics.Quantiles { return &s.Latency.TTFT }},
		{"ITL", func(s *metrics.Summary) *metrics.Quantiles { return &s.Latency.ITL }},
		{"E2E", func(s *metrics.Summary) *metrics.Quantiles { return &s.Latency.E2E }},
	} {
		for _, q := range []struct {
			name string
			of   func(*metrics.Quantiles) float64
		}{
			{"p50", func(q *metrics.Quantiles) float64 { return q.P50 }},
			{"p90", func(q *metrics.Quantiles) float64 { return q.P90 }},
			{"p99", func(q *metrics.Quantiles) float64 { return q.P99 }},
		} {
			add(fmt.Sprintf("%s %s", m.name, q.name), "s", func(s *metrics.Summary) float64 { return q.of(m.of(s)) })
		}
	}
	add("output tokens/s", "tokens/s", func(s *metrics.Summary) float64 { return s.Throughput.OutputTokensPerS })
	add("batch", "sequences", func(s *metrics.Summary) float64 { return float64(s.Pools[0].BatchMean) })
	add("cached", "share", func(s *metrics.Summary) float64 {
		return float64(s.Tokens.PromptCached) / float64(max(1, s.Tokens.Prompt))
	})
	return rows
}
