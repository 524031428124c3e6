package build

import (
	"fmt"
	"slices"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/sim/metrics"
)

// describePool returns what a summary says of a pool beside its measurements: prices and power of a replica.
func describePool(p *configs.Pool, r *Replica, e *configs.Energy) metrics.PoolDescription {
	gpus := float64(p.GPUs())
	return metrics.PoolDescription{
		Role: p.Role, GPU: p.GPU.Name(), GPUs: p.GPUs(), Replicas: p.Replicas,
		USDPerHour: r.Deployment.GPU.Price.USDPerHour * gpus,
		Reserved:   metrics.Purchase{Replicas: p.ReservedReplicas, USDPerHour: gpus * p.ReservedPricePerHour},
		Spot:       metrics.Purchase{Replicas: p.SpotReplicas, USDPerHour: gpus * p.SpotPricePerHour},
		Power:      powerOf(e, r.Deployment.GPU.TDPW.Value*gpus, gpus),
	}
}

// powerOf returns what a replica with accelerators of tdpW in all draws; the zero Power: nobody asked, or states it.
func powerOf(e *configs.Energy, tdpW, gpus float64) metrics.Power {
	if e == nil || tdpW == 0 {
		return metrics.Power{}
	}
	return metrics.Power{IdleW: e.Idle * tdpW, PrefillW: e.Prefill * tdpW, DecodeW: e.Decode * tdpW, PeakW: tdpW,
		HostW: e.HostW * gpus}
}

func gridOf(e *configs.Energy) metrics.Grid {
	if e == nil {
		return metrics.Grid{}
	}
	return metrics.Grid{Reported: true, PUE: e.PUE, GCO2: e.GridGCO2, USD: e.USDKWh, Model: powerModel(e)}
}

// powerModel says what accelerators are taken to draw, and by what evidence.
func powerModel(e *configs.Energy) string {
	usual, evidence := configs.DefaultEnergy(), configs.EnergyEvidence
	if e.Idle != usual.Idle || e.Decode != usual.Decode || e.Prefill != usual.Prefill {
		evidence = "as the scenario says"
	}
	return fmt.Sprintf("%.3g %% of tdp_w while idle, %.3g %% in steps with prompts, %.3g %% in decodes that wait to "+
		"100 %% in decodes at their bound; %s", 100*e.Idle, 100*e.Prefill, 100*e.Decode, evidence)
}

// noteEnergy says whose power nobody states, where it is asked for.
func noteEnergy(e *configs.Energy, replicas []*Replica) (notes []string) {
	if e == nil {
		return nil
	}
	for _, r := range replicas {
		note := fmt.Sprintf("no energy: no source states the power of gpu %s; expected gpu: {from: %s, tdp_w: …}",
			r.Deployment.GPU.Name, r.Deployment.GPU.Name)
		if !r.Deployment.GPU.TDPW.Known() && !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	return notes
}
