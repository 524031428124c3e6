package build

import (
	"github.com/decodesim/decodesim/sim/metrics"
	"github.com/decodesim/decodesim/workloads/sessions"
)

// TaskSink hears of tasks of agents as they end.
type TaskSink interface{ Task(t *metrics.Task) }

// FollowTasks has m hear of the tasks of the run, and then each, unless it is nil. Without agents neither hears of any.
func (b *Built) FollowTasks(m TaskSink, each func(t *sessions.Task)) {
	report := func(t *sessions.Task) {
		m.Task(&metrics.Task{
			Class: t.Class, Ending: endingOf(t.Outcome), Begun: t.Begun, Ended: t.Ended, Agents: t.Agents,
			Requests: t.Requests, Waiting: t.Spent.Waiting, Prompts: t.Spent.Prompts, Generation: t.Spent.Generation,
			Tools: t.Spent.Tools,
		})
		if each != nil {
			each(t)
		}
	}
	switch s := b.source.(type) {
	case *sessions.Agents:
		s.Report = report
	case *sessions.Recorded:
		s.Report = report
	}
}

// tasked is a source whose requests are turns of tasks.
type tasked interface {
	Begun() int64
	Early() sessions.Ended
}

var (
	_ tasked = (*sessions.Agents)(nil)
	_ tasked = (*sessions.Recorded)(nil)
)

// tasks returns the tasks of the workload; false: it has none. Conversations are counted as tasks are, and are none.
func (b *Built) tasks() (tasked, bool) {
	if _, talks := b.source.(*sessions.Sessions); talks {
		return nil, false
	}
	s, ok := b.source.(tasked)
	return s, ok
}

func endingOf(o sessions.TaskOutcome) metrics.Ending {
	return [...]metrics.Ending{
		sessions.TaskCompleted: metrics.TaskCompleted, sessions.TaskFull: metrics.TaskFull,
		sessions.TaskUnfinished: metrics.TaskUnfinished, sessions.TaskFailed: metrics.TaskFailed,
	}[o]
}

// TasksBegun returns how many tasks of agents have begun; false: there are no agents.
func (b *Built) TasksBegun() (n int64, ok bool) {
	s, ok := b.tasks()
	if !ok {
		return 0, false
	}
	return s.Begun(), true
}

// Thinks reports whether users wait for the end of reasoning before they have something to read, or a rule asks when
// that is.
func (b *Built) Thinks() bool {
	if b.Scenario.Workload.Reasons() || asks(b.Rules, metrics.RuleTTFO) {
		return true
	}
	for _, c := range b.Classes() {
		if asks(c.Rules, metrics.RuleTTFO) {
			return true
		}
	}
	return false
}

// asks reports whether some rule is about a metric.
func asks(rules metrics.Rules, m metrics.Metric) bool {
	for i := range rules {
		for _, t := range rules[i].Terms {
			if t.Metric == m {
				return true
			}
		}
	}
	return false
}
