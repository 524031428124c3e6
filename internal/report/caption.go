package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/sim/metrics"
)

// Caption names the run on everything that shows it.
type Caption struct {
	Scenario string
	Model    string  // catalog name; empty: not said
	Hardware string  // such as "8 × h100-sxm"; empty: not said
	Seed     *uint64 // nil: nothing random is shown
}

// CaptionOf returns the caption of a run of the model.
func CaptionOf(s *metrics.Summary, model string) Caption {
	return Caption{s.Scenario, model, hardwareOf(s.Pools), &s.Seed}
}

func (c Caption) String() string {
	var parts []string
	for _, part := range []string{c.Scenario, c.Model, c.Hardware} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if c.Seed != nil {
		parts = append(parts, fmt.Sprintf("seed %d", *c.Seed))
	}
	return strings.Join(parts, " · ")
}

// hardwareOf counts the GPUs of each kind, in the order of the pools.
func hardwareOf(pools []metrics.PoolResult) string {
	var kinds, parts []string
	for _, p := range pools {
		if !slices.Contains(kinds, p.GPU) {
			kinds = append(kinds, p.GPU)
		}
	}
	for _, kind := range kinds {
		n, changes := 0.0, false
		for i := range pools {
			if p := &pools[i]; p.GPU == kind {
				n += gpusMean(p)
				changes = changes || p.ReplicasMean > 0
			}
		}
		if changes {
			parts = append(parts, fmt.Sprintf("%s × %s in the mean", Significant(n), kind))
			continue
		}
		parts = append(parts, fmt.Sprintf("%.0f × %s", n, kind))
	}
	return strings.Join(parts, " + ")
}

// gpusMean returns how many GPUs a pool had, in the mean where its replicas come and go.
func gpusMean(p *metrics.PoolResult) float64 {
	if p.ReplicasMean == 0 {
		return float64(p.GPUs)
	}
	return p.GPUsMean
}
