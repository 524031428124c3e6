package configs

import (
	"github.com/decodesim/decodesim/workloads/lengths"
	"github.com/decodesim/decodesim/workloads/sessions"
)

// Sessions makes the workload one of conversations: arrivals are those of sessions, the clients of a closed loop lead
// one after the other, and a prompt is all that was said before and what prompt_tokens says.
type Sessions struct {
	Turns      *lengths.Spec  `yaml:"turns" unit:"turns" about:"law of the number of turns"`
	ThinkTimeS *sessions.Span `yaml:"think_time_s" about:"law of the time between an answer and the next turn; null: none"`
}

// sessionLoop returns the loop of a workload that has sessions; a prompt and its limit have context tokens at most.
func (w *Workload) SessionSource(context int64) sessions.SessionLoop {
	l := sessions.SessionLoop{
		Mix: w.laws(nil), ContextMax: context, Requests: w.Requests, DurationS: w.DurationS, Patience: w.patience(),
	}
	if w.Sessions.Turns != nil {
		l.Turns = *w.Sessions.Turns
	}
	if think := w.Sessions.ThinkTimeS; think != nil {
		l.Think = *think
	}
	if w.Arrivals != nil {
		l.Arrivals = *w.Arrivals
	}
	if c := w.ClosedLoop; c != nil {
		l.Concurrency, l.PauseS, l.RampS = int64(c.Concurrency), c.ThinkTimeS, c.RampS
	}
	return l
}
