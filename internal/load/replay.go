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
func Replay(ctx context.Context, s *configs.Scenario, version string) (*metrics.Summary, error) {
	whole := s.Clone()
	whole.Workload.WarmupS = 0
	b, err := build.New(whole)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	r, err := run.Simulate(ctx, b, run.Options{Version: version})
	if err != nil {
		return nil, err
	}
	return r.Summary, nil
}
