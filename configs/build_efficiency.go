package configs

import (
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/sim"
)

// SetEfficiency prices the run with e instead of what the scenario says, as a fit does over and over.
func (b *Built) SetEfficiency(e hardware.Efficiency) {
	b.Deployment.Efficiency = e
	b.Model = hardware.NewRoofline(b.Deployment, min(b.Scenario.Pools[0].MaxNumSeqs, tableMax))
	b.Config.Pool.Model = b.Model
	b.Config.Ingress = sim.Seconds(e.FirstTokenS)
}
