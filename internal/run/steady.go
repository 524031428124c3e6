package run

import (
	"slices"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/steady"
	"github.com/decodesim/decodesim/workloads/arrivals"
)

// notStationary says why a run of s has no steady state; empty: it may have one.
func notStationary(s *configs.Scenario) string {
	w := &s.Workload
	switch {
	case w.Trace != nil:
		return "a trace is one recording, whose load rises and falls as it did"
	case slices.ContainsFunc(w.Processes(), func(a arrivals.Spec) bool {
		return a.Process == "piecewise" || a.Process == "sinusoid"
	}):
		return "the rate of arrivals rises and falls over the run"
	case len(s.Failures) > 0 || len(s.Drain) > 0:
		return "replicas fail or drain at instants of the run"
	}
	return ""
}

// steadyOf returns what is known of the load of a run beside what is recorded.
func steadyOf(b *build.Built) steady.Run {
	r := steady.Run{NotStationary: notStationary(b.Scenario)}
	if w := &b.Scenario.Workload; w.Waits() && w.Arrivals != nil {
		choices := float64(b.Scenario.Decoding.Choices().N)
		r.Sessions = steady.Sessions{
			LongRunPerS: b.RatePerS * choices, Turns: b.TurnsMean() * choices, BeginS: b.SpanS,
		}
	}
	return r
}
