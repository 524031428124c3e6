package load

import (
	"math"
	"strconv"

	"github.com/decodesim/decodesim/configs"
)

// At makes the workload of s, which is one of this load, offer it at a mean rate. Where it may be as long as one likes
// it has so many requests; a trace and a day are offered whole, for their shape is what they are there for.
func (l *Load) At(s *configs.Scenario, rate float64, requests int64) {
	w := &s.Workload
	w.WarmupS, rate = 0, written(rate)
	if l.Kind == Trace {
		trace := *w.Trace
		trace.Speed, trace.Rate = 1, rate
		w.Trace = &trace
		return
	}
	w.ScaleRates(rate / l.RatePerS)
	if w.Arrivals != nil {
		w.Arrivals.Rate = rate
	}
	if w.Lengths != nil && w.Distinct == 0 {
		recorded := *w.Lengths
		recorded.Repeat = true
		w.Lengths = &recorded
	}
	w.Requests, w.DurationS = max(requests, l.least(rate)), 0
	if w.Agents != nil && w.Agents.Tasks > 0 {
		agents := *w.Agents
		agents.Tasks = 0
		w.Agents = &agents
	}
	if l.Kind == Day || l.Varies {
		least := float64(w.Requests) / (rate * l.Turns)
		w.Requests, w.DurationS = 0, l.SpanS
		if period := period(w); period > 0 { // whole periods, at least so many requests
			w.DurationS = period * math.Ceil(max(l.SpanS, least)/period-1e-9)
		}
	}
}

// period returns the longest period of the arrivals; 0: none repeats.
func period(w *configs.Workload) (s float64) {
	for _, a := range w.Processes() {
		s = max(s, a.PeriodS)
	}
	return s
}

// written returns a rate as a file has it: nine digits, for what is behind them is the noise of computing it.
func written(rate float64) float64 {
	x, err := strconv.ParseFloat(strconv.FormatFloat(rate, 'g', 9, 64), 64)
	if err != nil {
		return rate
	}
	return x
}

// warmShare is the part of a run's requests that fill an empty deployment and are not measured: a quarter.
const warmShare = 4

// Unmeasured returns how many of the first requests fill the empty deployment and are not measured. Of a trace or a day
// everything is: its beginning is part of its shape.
func (l *Load) Unmeasured(requests int64) int64 {
	if l.Kind == Trace || l.Kind == Day || l.Varies {
		return 0
	}
	return requests / warmShare
}
