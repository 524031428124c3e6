package build

import (
	"math"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// attainmentMin is the share of the requests that must keep the limits of an SLO, unless the scenario says another.
const attainmentMin = 0.9

// Windows returns the windows of time of a run, and what is judged in them.
func (b *Built) Windows() metrics.WindowArguments {
	a := metrics.WindowArguments{
		Width: sim.Seconds(b.windowS()), Egress: b.Config.Egress, Rules: b.Rules, Limits: b.OwnLimits(-1),
		Attainment: b.AttainmentMin(),
	}
	for _, alert := range b.Scenario.Alerts {
		over := a.Width
		if alert.OverS > 0 {
			over = sim.Seconds(alert.OverS)
		}
		a.Alerts = append(a.Alerts, metrics.Alert{
			Rule: alert.Rule.Rules()[0], Over: over, For: sim.Seconds(alert.ForS),
		})
	}
	return a
}

// ClassWindows returns the windows of each class, which are those of the run, with the SLO of the class.
func (b *Built) ClassWindows() []metrics.WindowArguments {
	var all []metrics.WindowArguments
	for i, c := range b.Classes() {
		all = append(all, metrics.WindowArguments{
			Width: sim.Seconds(b.windowS()), Egress: b.Config.Egress, Rules: c.Rules, Limits: b.OwnLimits(i),
			Attainment: b.AttainmentMin(), Alerts: []metrics.Alert{}, // alerts are of the whole run
		})
	}
	return all
}

// AttainmentMin returns the share of the requests that must keep the limits on single requests.
func (b *Built) AttainmentMin() float64 {
	if x := b.Scenario.SLO.Attainment; x > 0 {
		return x
	}
	return attainmentMin
}

// OwnLimits returns the limits on single requests of the i-th class, or else of the scenario, that no rule says; −1:
// those of the scenario.
func (b *Built) OwnLimits(class int) metrics.Limits {
	s := b.Scenario
	if class >= 0 {
		if o := s.Workload.Classes[class].SLO; o != nil {
			return Limits(o.TTFTMS, o.TPOTMS, o.E2EMS, nil)
		}
	}
	return Limits(s.SLO.TTFTMS, s.SLO.TPOTMS, s.SLO.E2EMS, nil)
}

const (
	windowsWanted  = 60  // of a run
	windowRequests = 100 // in each, so that a p99 is the worst of as many
	windowUnknownS = 10  // of a run of unknown length
)

// windowS returns the width of windows: what the scenario says, or a round width. Alerts last a whole number of them.
func (b *Built) windowS() float64 {
	if w := b.Scenario.SLO.WindowS; w > 0 {
		return w
	}
	width := float64(windowUnknownS)
	if b.SpanS > 0 && b.Requests > 0 && b.SpanS < sim.HorizonS {
		width = roundWindow(max(b.SpanS/windowsWanted, windowRequests*b.SpanS/b.Requests))
	}
	ms := int64(0) // the greatest common divisor of what alerts are over
	for _, a := range b.Scenario.Alerts {
		ms = divisor(ms, int64(math.Round(a.OverS*1e3)))
	}
	if overS := float64(ms) / 1e3; overS > 0 {
		return overS / math.Ceil(overS/width)
	}
	return width
}

func divisor(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// roundWindow returns the least width that people give to windows and is no less than s, or a number of days.
func roundWindow(s float64) float64 {
	for _, unit := range []float64{0.001, 0.01, 0.1, 1, 60} {
		for _, n := range []float64{1, 2, 5, 10, 15, 20, 30} {
			if n*unit >= s {
				return n * unit
			}
		}
	}
	for _, hours := range []float64{1, 2, 3, 6, 12} {
		if hours*3600 >= s {
			return hours * 3600
		}
	}
	return 86400 * math.Ceil(s/86400)
}
