package metrics

import "github.com/decodesim/decodesim/sim"

// Purchase is replicas of a pool that are paid at a price of their own.
type Purchase struct {
	Replicas   int
	USDPerHour float64 // of a replica
}

// USDPerHourAt returns the rent of a pool of which up replicas are up in the mean. Reserved replicas are paid whether
// they are up or not; of the others, those on demand are counted as up first, then spot ones.
func (p *PoolDescription) USDPerHourAt(up float64) float64 {
	reserved, onDemand, spot := p.rents(up)
	return reserved + onDemand + spot
}

// rents returns the rent of replicas that are reserved, on demand and spot.
func (p *PoolDescription) rents(up float64) (reservedUSD, onDemandUSD, spotUSD float64) {
	if p.Reserved.Replicas+p.Spot.Replicas == 0 {
		return 0, p.USDPerHour * up, 0
	}
	reserved, spot, all := float64(p.Reserved.Replicas), float64(p.Spot.Replicas), float64(p.Replicas)
	onDemand := max(0, min(all-reserved-spot, up-reserved)) + max(0, up-all)
	onSpot := max(0, min(spot, up-reserved-onDemand))
	return reserved * p.Reserved.USDPerHour, onDemand * p.USDPerHour, onSpot * p.Spot.USDPerHour
}

// Split is a rent divided between prompts and outputs by the time that the steps took for each. A step with both is
// charged to outputs for the mean length of a step of decodes alone in its pool, and to prompts for the remainder; idle
// time is charged as busy time.
type Split struct {
	InputShare                float64 `json:"input_share"`
	USDPerMillionInputTokens  float64 `json:"usd_per_million_input_tokens"`
	USDPerMillionOutputTokens float64 `json:"usd_per_million_output_tokens"`
}

// SplitOf divides the rent of a run that has ended; nil: there is none, nothing was computed, or no step of a pool
// shows what its decodes take alone.
func SplitOf(c *sim.Cluster, d *Description, usdPerHour float64) *Split {
	if usdPerHour <= 0 {
		return nil
	}
	input, busy := 0.0, 0.0 // time of GPUs
	for i := range d.Pools {
		t := c.PoolTotals(i)
		weight := max(1, float64(d.Pools[i].GPUs))
		prompts := t.Phases.PrefillS
		if t.Phases.MixedSteps > 0 {
			pure := t.Steps - t.Phases.PrefillSteps
			if pure <= 0 {
				return nil
			}
			each := (t.BusyS - t.Phases.PrefillS) / float64(pure)
			prompts = max(0, prompts-float64(each*float64(t.Phases.MixedSteps)))
		}
		input, busy = input+float64(weight*prompts), busy+float64(weight*t.BusyS)
	}
	all, nowS := c.Totals(), c.Now().Seconds()
	if all.OutputTokens == 0 {
		return nil
	}
	share := input / busy
	usd := 1e6 * usdPerHour / 3600 * nowS
	return &Split{share, share * usd / float64(all.PromptTokens), (1 - share) * usd / float64(all.OutputTokens)}
}

// cost returns the rent of the run; nil: some GPU has no price, or nothing was emitted.
func (f *Full) cost(d *Description, s *Summary, usdPerHour float64) *Cost {
	if usdPerHour <= 0 || f.Output() == 0 {
		return nil
	}
	x := &Cost{USDPerHour: usdPerHour,
		USDPerMillionOutputTokens: ratio(usdPerHour/3600*1e6, s.Throughput.OutputTokensPerS),
		Split:                     SplitOf(f.load.cluster, d, usdPerHour)}
	for i := range d.Pools {
		p := &d.Pools[i]
		up := ratio(f.load.cluster.PoolTotals(i).UpS, f.load.cluster.Now().Seconds())
		reserved, onDemand, spot := p.rents(up)
		x.ReservedUSDPerHour, x.SpotUSDPerHour = x.ReservedUSDPerHour+reserved, x.SpotUSDPerHour+spot
		x.IdleUSDPerHour += float64((reserved + onDemand + spot) * (1 - min(1, s.Pools[i].Utilization)))
	}
	x.PeakUSDPerHour = usdPerHour * peakShare(s.OverTime)
	return x
}

// peakShare is the share of a deployment that only its busiest window of time needs: arrivals of a window, in the mean
// over those in the busiest, less from 1. 0: there are no windows.
func peakShare(o *OverTime) float64 {
	if o == nil {
		return 0
	}
	var sum, most int64
	n := 0
	for i := range o.Windows {
		w := &o.Windows[i]
		if w.ToS-w.FromS < 0.999*o.WidthS || w.Arrived == 0 && i == len(o.Windows)-1 {
			continue // the last one is not whole
		}
		n, sum, most = n+1, sum+w.Arrived, max(most, w.Arrived)
	}
	if n < 2 || most == 0 {
		return 0
	}
	return 1 - float64(sum)/float64(n)/float64(most)
}
