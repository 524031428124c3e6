// Package decodesim simulates LLM decode serving: it says what the users of a deployment feel, and what it costs.
//
// A scenario is the name of a built-in one or the path of a YAML file; decodesim show prints one to copy. Run simulates
// it and returns the summary that the command decodesim run prints:
//
//	summary, err := decodesim.Run(ctx, "chat-8b", decodesim.Set("workload.arrivals.rate=20"))
//
// The module's other public packages are what a scenario is built from: sim is the simulator, hardware prices steps,
// policies route and schedule, workloads send requests, and sim/metrics defines every number of a summary.
package decodesim

import (
	"context"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/sim/metrics"
)

// Summary is the result of a run: latencies in seconds as their clients saw them, throughput, the bound and the cost.
type Summary = metrics.Summary

// Option changes a scenario before it is run.
type Option func(*configs.Options)

// Set overrides values of the scenario, each as KEY=VALUE, such as "pools.serve.replicas=3".
func Set(values ...string) Option {
	return func(o *configs.Options) { o.Set = append(o.Set, values...) }
}

// Seed takes the place of the scenario's seed.
func Seed(seed uint64) Option {
	return func(o *configs.Options) { o.Seed = &seed }
}

// Run simulates a scenario and returns its summary, which is a function of the scenario, the options and the version of
// this package. An error names the file, the key, its value and what would be accepted. When ctx is cancelled the run
// stops between two events, and the error is that of ctx.
func Run(ctx context.Context, scenario string, options ...Option) (*Summary, error) {
	var o configs.Options
	for _, option := range options {
		option(&o)
	}
	s, err := configs.Load(scenario, o)
	if err != nil {
		return nil, err
	}
	b, err := build.NewUntil(ctx, s)
	if err != nil {
		return nil, err
	}
	defer func() { b.Close() }()
	b, r, err := run.Precisely(ctx, b, func(b *build.Built) (*run.Result, error) {
		return run.Simulate(ctx, b, run.Options{})
	})
	if err != nil {
		return nil, err
	}
	return r.Summary, nil
}
