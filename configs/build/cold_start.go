package build

import (
	"fmt"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/sim"
)

// coldStart returns how long a replica that is started takes until it serves:
//
//	cold_start_s + weights of a GPU / weights_load_bps
//
// Requests that wait for it have that in their TTFT. The replicas of the beginning are up when the run begins, unless
// the pool starts cold.
func (r *Replica) coldStart(p *configs.Pool) sim.Duration {
	s := p.ColdStartS
	if p.WeightsLoadBps > 0 {
		s += r.Memory.Weights / p.WeightsLoadBps
	}
	return sim.Seconds(s)
}

// noteColdStarts warns of cold starts that never happen.
func noteColdStarts(s *configs.Scenario) (notes []string) {
	starts := len(s.Autoscale) + len(s.Failures) + len(s.RandomFailures) + len(s.Drain)
	if starts > 0 || s.RoleSwitch != nil {
		return nil
	}
	for i := range s.Pools {
		p := &s.Pools[i]
		if (p.ColdStartS > 0 || p.WeightsLoadBps > 0) && !p.StartsCold {
			notes = append(notes, fmt.Sprintf("cold_start_s and weights_load_bps of pool %s have no effect: nothing starts "+
				"replicas during the run, and those of the beginning are up; starts_cold: true starts them cold", p.Name))
		}
	}
	return notes
}
