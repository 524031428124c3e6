package build

import (
	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/sim"
)

// coldStart returns how long the replica takes until it serves:
//
//	cold_start_s + weights of a GPU / weights_load_bps
//
// Requests that come before wait, and their TTFT has it.
func (r *Replica) coldStart(p *configs.Pool) sim.Duration {
	s := p.ColdStartS
	if p.WeightsLoadBps > 0 {
		s += r.Memory.Weights / p.WeightsLoadBps
	}
	return sim.Seconds(s)
}
