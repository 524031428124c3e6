package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// CaptionOf returns the caption of a run of the model.
func CaptionOf(s *metrics.Summary, model string) text.Caption {
	return text.Caption{Scenario: s.Scenario, Model: model, Hardware: Hardware(s.Pools), Seed: &s.Seed}
}

// Hardware counts the GPUs of each kind, in the order of the pools.
func Hardware(pools []metrics.PoolResult) string {
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
			parts = append(parts, fmt.Sprintf("%s × %s in the mean", text.Significant(n), kind))
			continue
		}
		parts = append(parts, fmt.Sprintf("%s × %s", text.Short(n), kind))
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
