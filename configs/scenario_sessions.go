package configs

import "github.com/decodesim/decodesim/workloads/sessions"

// Sessions makes the workload one of conversations: arrivals are those of sessions, the clients of a closed loop lead one
// after the other, and a prompt is all that was said before and what prompt_tokens says.
type Sessions struct {
	Turns      *Lengths `yaml:"turns"`
	ThinkTimeS *Span    `yaml:"think_time_s"`
}

// Span is a law of times. See sessions.Span for the laws.
type Span struct {
	Distribution string  `yaml:"distribution" names:"spans" doc:"law of the seconds"`
	Mean         float64 `yaml:"mean" required:"seconds" doc:"seconds"`
	CV           float64 `yaml:"cv,omitempty"`
}

// sessionLoop returns the loop of a workload that has sessions; a prompt and its limit have context tokens at most.
func (w *Workload) SessionSource(context int64) sessions.SessionLoop {
	l := sessions.SessionLoop{
		Mix: w.laws(nil), ContextMax: context, Requests: w.Requests, DurationS: w.DurationS, Patience: w.patience(),
	}
	if w.Sessions.Turns != nil {
		l.Turns = w.Sessions.Turns.law()
	}
	if think := w.Sessions.ThinkTimeS; think != nil {
		l.Think = sessions.Span{Distribution: think.Distribution, MeanS: think.Mean, CV: think.CV}
	}
	if w.Arrivals != nil {
		l.Arrivals = w.Arrivals.law()
	}
	if c := w.ClosedLoop; c != nil {
		l.Concurrency, l.PauseS, l.RampS = int64(c.Concurrency), c.ThinkTimeS, c.RampS
	}
	return l
}
