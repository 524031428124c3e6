package load

import (
	"context"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/sim/metrics"
)

// Replay runs a deployment under all of its workload, from the first request to the last and with nothing left out, and
// returns what its users felt.
func Replay(ctx context.Context, s *configs.Scenario, version string) (summary *metrics.Summary, err error) {
	err = Replayed(ctx, s, version, nil, func(_ *build.Built, r *run.Result) { summary = r.Summary })
	return summary, err
}

// Replayed is Replay, and shows the run with its timeline to see. The run has an observer, if there is one to make of
// what was built.
func Replayed(ctx context.Context, s *configs.Scenario, version string, observe func(*build.Built) run.Observer,
	see func(*build.Built, *run.Result)) error {
	whole := s.Clone()
	whole.Workload.WarmupS = 0
	b, err := build.NewUntil(ctx, whole)
	if err != nil {
		return err
	}
	defer b.Close()
	o := run.Options{Version: version, Timeline: true}
	if observe != nil {
		o.Observers = []run.Observer{observe(b)}
	}
	r, err := run.Simulate(ctx, b, o)
	if err != nil {
		return err
	}
	see(b, r)
	return nil
}
