package metrics

import "github.com/decodesim/decodesim/sim"

// Power is what the accelerators of one replica draw, in watts, and what the rest of its server does. The zero Power is
// unknown.
type Power struct {
	IdleW    float64 // while no step runs
	PrefillW float64 // in steps with prompts
	DecodeW  float64 // in steps of decodes alone that are far from their bound
	PeakW    float64 // in steps of decodes alone that are at it: what the data sheets allow
	HostW    float64 // the rest of the server, at all times
}

// Grid is what power comes to. The zero Grid counts the accelerators alone.
type Grid struct {
	PUE      float64 // power of the building over that of the servers; 0: 1
	GCO2     float64 // of a kilowatt hour; 0: not asked for
	USD      float64 // of a kilowatt hour; 0: not asked for
	Reported bool    // energy is asked for
	Model    string  // what power is taken to be by phase, and by what evidence
}

// Phases is a number for each thing that a replica may be doing.
type Phases struct {
	Idle    float64 `json:"idle"`
	Prefill float64 `json:"prefill"` // steps with prompts
	Decode  float64 `json:"decode"`  // steps of decodes alone
	Host    float64 `json:"host,omitempty"`
}

// Energy is what a run drew, warm-up included, from the meter of the building.
type Energy struct {
	MeanW           float64 `json:"mean_w"`
	TDPW            float64 `json:"tdp_w"` // of the accelerators, as their data sheets allow it
	KWh             float64 `json:"kwh"`
	ByPhase         Phases  `json:"kwh_by_phase"`
	JPerOutputToken float64 `json:"j_per_output_token"` // all of it over the output tokens; idling too
	JPerRequest     float64 `json:"j_per_request"`      // that completed
	GCO2            float64 `json:"gco2,omitempty"`     // absent without grid_gco2_per_kwh
	GCO2PerMillion  float64 `json:"gco2_per_million_output_tokens,omitempty"`
	USDPerHour      float64 `json:"usd_per_hour,omitempty"` // of electricity; absent without usd_per_kwh
	USDPerMillion   float64 `json:"usd_per_million_output_tokens,omitempty"`
	Model           string  `json:"model"` // of power by phase, with its source
}

// Joules returns what a pool drew in its phases, without the building.
//
//	E = idle · (up − busy) + prefill · t_p + Σ (decode · t + (peak − decode) · bound) + host · up
//
// with times in seconds over all replicas: up, busy, t_p in steps with prompts. The sum is over steps of decodes
// alone: t is the length of a step and bound the least that the data sheet allows for it. A step that only waits
// draws decode, one at its bound draws peak.
func (p *Power) Joules(t *sim.PoolTotals) Phases {
	pure := max(0, t.BusyS-t.Phases.PrefillS)
	return Phases{
		Idle:    float64(p.IdleW * max(0, t.UpS-t.BusyS)),
		Prefill: float64(p.PrefillW * t.Phases.PrefillS),
		Decode:  float64(p.DecodeW*pure) + float64((p.PeakW-p.DecodeW)*min(pure, t.Phases.DecodeBoundS)),
		Host:    float64(p.HostW * t.UpS),
	}
}

// jPerKWh is the joules of a kilowatt hour.
const jPerKWh = 3.6e6

// EnergyOf returns what a run that has ended drew; nil: it is not asked for, or the power of an accelerator is unknown.
func EnergyOf(c *sim.Cluster, d *Description, completed int64) *Energy {
	if !d.Grid.Reported {
		return nil
	}
	e := &Energy{Model: d.Grid.Model}
	var all Phases
	for i := range d.Pools {
		p := &d.Pools[i]
		if p.Power == (Power{}) {
			return nil
		}
		t := c.PoolTotals(i)
		j := p.Power.Joules(&t)
		all.Idle, all.Prefill = all.Idle+j.Idle, all.Prefill+j.Prefill
		all.Decode, all.Host = all.Decode+j.Decode, all.Host+j.Host
		e.TDPW += float64(p.Power.PeakW * ratio(t.UpS, c.Now().Seconds()))
	}
	pue := max(1, d.Grid.PUE)
	sum := pue * (all.Idle + all.Prefill + all.Decode + all.Host)
	e.ByPhase = Phases{pue * all.Idle / jPerKWh, pue * all.Prefill / jPerKWh, pue * all.Decode / jPerKWh,
		pue * all.Host / jPerKWh}
	e.KWh = sum / jPerKWh
	e.MeanW = ratio(sum, c.Now().Seconds())
	tokens := float64(c.Totals().OutputTokens)
	e.JPerOutputToken, e.JPerRequest = ratio(sum, tokens), ratio(sum, float64(completed))
	e.GCO2 = e.KWh * d.Grid.GCO2
	e.GCO2PerMillion = ratio(1e6*e.GCO2, tokens)
	e.USDPerHour = e.MeanW / 1000 * d.Grid.USD
	e.USDPerMillion = ratio(1e6*e.KWh*d.Grid.USD, tokens)
	return e
}
