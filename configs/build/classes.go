package build

import (
	"fmt"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
	"github.com/decodesim/decodesim/workloads/sessions"
)

// turns is a source whose requests are turns of sessions, or of tasks.
type turns interface {
	source
	Turns() float64  // of a session, in the mean
	PauseS() float64 // beside answers, that goes with a turn in the mean
}

var (
	_ turns = (*sessions.Sessions)(nil)
	_ turns = (*sessions.Agents)(nil)
	_ turns = (*sessions.Recorded)(nil)
)

// Classes returns the service classes with their limits, in the order of sim.Request.Class; nil: there are none.
func (b *Built) Classes() []metrics.Class {
	var classes []metrics.Class
	for i := range b.Scenario.Workload.Classes {
		c := &b.Scenario.Workload.Classes[i]
		classes = append(classes, metrics.Class{
			Name: c.Name, SLO: classLimits(b.Scenario, c), Rules: classRules(b.Scenario, c),
		})
	}
	return classes
}

// ttftLimits returns by class when the first token of a request is due after its arrival, 0: never; of the scenario,
// where there are no classes.
func ttftLimits(s *configs.Scenario) []sim.Duration {
	if len(s.Workload.Classes) == 0 {
		return []sim.Duration{milliseconds(s.SLO.TTFTMS)}
	}
	var limits []sim.Duration
	for i := range s.Workload.Classes {
		limits = append(limits, classLimits(s, &s.Workload.Classes[i]).TTFT)
	}
	return limits
}

// TurnsMean returns how many turns a session or a task has on average; 0: requests stand alone.
func (b *Built) TurnsMean() float64 {
	if s, ok := b.source.(turns); ok {
		return s.Turns()
	}
	return 0
}

// PauseS returns how long the user of a session reads, thinks and writes in all, on average, or the tools of a task
// run; 0: requests stand alone.
func (b *Built) PauseS() float64 {
	if s, ok := b.source.(turns); ok {
		return s.PauseS() * s.Turns()
	}
	return 0
}

// noteTasks says which tasks of agents did not end as they were meant to.
func (b *Built) noteTasks() (notes []string) {
	s, ok := b.tasks()
	if !ok {
		return nil
	}
	e := s.Early()
	if e.Full > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d tasks ended without a result: with its history a prompt would be longer "+
			"than max_model_len, %d tokens; task times leave them out", e.Full, s.Begun(),
			b.Replicas[b.tightest()].MaxModelLen))
	}
	if e.Lost > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d tasks ended without a result: a turn was rejected or failed; task times "+
			"leave them out", e.Lost, s.Begun()))
	}
	return notes
}

// noteSessions says which sessions ended before their users meant them to.
func (b *Built) noteSessions() (notes []string) {
	s, ok := b.source.(*sessions.Sessions)
	if !ok {
		return nil
	}
	e := s.Early()
	if e.Full > 0 {
		notes = append(
			notes, fmt.Sprintf(
				"%d of %d sessions ended early, and %d turns were not asked: with its history a prompt would be longer "+
					"than max_model_len, %d tokens", e.Full, s.Begun(), e.FullTurns, b.Replicas[b.tightest()].MaxModelLen))
	}
	if e.Lost > 0 {
		notes = append(
			notes, fmt.Sprintf(
				"%d of %d sessions ended early, and %d turns were not asked: a turn before was rejected or failed",
				e.Lost, s.Begun(), e.LostTurns))
	}
	return notes
}
