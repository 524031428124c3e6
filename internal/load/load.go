package load

import (
	"cmp"
	"fmt"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/workloads/arrivals"
)

// Kind is how the rate of a load is varied.
type Kind uint8

// The kinds.
const (
	Steady   Kind = iota // a process whose rate is the same all the time: by that rate
	Sessions             // by the rate of sessions, or of tasks of agents
	Day                  // a rate that rises and falls, as piecewise and sinusoid: by a factor on all rates
	Trace                // by rescaling its time
)

// Load is what the workload of a scenario offers. Rates are in its Unit.
type Load struct {
	Kind     Kind
	RatePerS float64 // the mean, as the scenario has it
	PeakPerS float64 // the highest rate of a day; 0: of other loads
	Turns    float64 // requests of a session, in the mean; 1: requests stand alone
	SpanS    float64 // of a day or a trace, as the scenario has it; 0: as long as one likes
	PauseS   float64 // of a session: the time in which its user reads, thinks and writes
	SessionS float64 // of a session, answers included, at most about; 0: unknown, or there are none
	Varies   bool    // sessions begin at a rate that rises and falls, as requests of a day come

	process string
	agents  bool // sessions are tasks of agents
}

// Of returns the load of a scenario that has been built. A closed loop has none: its rate is a result.
func Of(b *build.Built) (*Load, error) {
	w := &b.Scenario.Workload
	l := &Load{RatePerS: b.RatePerS, Turns: max(1, b.TurnsMean())}
	switch {
	case w.Trace != nil:
		l.Kind, l.SpanS = Trace, b.SpanS
	case w.ClosedLoop != nil:
		return nil, fmt.Errorf("scenario %q has a closed loop, whose rate is a result; expected workload.arrivals or "+
			"workload.trace", b.Scenario.Name)
	case w.Waits():
		l.Kind, l.agents = Sessions, w.Agents != nil
		l.RatePerS /= l.Turns
		l.PauseS = b.PauseS()
		l.Varies = varies(w)
		if l.Varies {
			l.SpanS = cmp.Or(lasts(w), b.SpanS)
		}
	case w.Mixed():
		l.mix(b)
	case w.Arrivals.Process == "piecewise" || w.Arrivals.Process == "sinusoid":
		l.Kind = Day
		if err := l.day(w); err != nil {
			return nil, err
		}
	}
	if w.Arrivals != nil && !w.Mixed() {
		l.process = w.Arrivals.Process
	}
	if l.RatePerS == 0 {
		return nil, fmt.Errorf("scenario %q has requests that arrive at one instant; expected a rate that can be varied",
			b.Scenario.Name)
	}
	return l, nil
}

// mix takes the rates of several streams: those of a day, if the rate of one of them rises and falls.
func (l *Load) mix(b *build.Built) {
	w, m := &b.Scenario.Workload, b.Mixed()
	l.process = "mixed"
	if w.Clients != nil {
		l.process = "clients' " + w.Arrivals.Process
	}
	if varies(w) {
		l.Kind, l.PeakPerS = Day, m.PeakRate()
		l.SpanS = cmp.Or(w.DurationS, m.SpanS())
	}
}

// varies reports whether the rate of some stream rises and falls.
func varies(w *configs.Workload) bool {
	for _, a := range w.Processes() {
		if a.Process == "piecewise" || a.Process == "sinusoid" {
			return true
		}
	}
	return false
}

// day takes the mean and the peak of a rate that rises and falls, and how long it lasts.
func (l *Load) day(w *configs.Workload) error {
	a := w.Arrivals
	plain := *a
	if a.Process == "piecewise" {
		plain.Rate = 0
	}
	p, err := arrivals.New(plain, 0)
	if err != nil {
		return err
	}
	mean := p.MeanRate(0)
	l.RatePerS, l.PeakPerS = mean, a.Rate*(1+a.Amplitude)
	if a.Rate > 0 {
		l.RatePerS = a.Rate
	}
	if len(a.Points) > 0 {
		highest := 0.0
		for _, p := range a.Points {
			highest = max(highest, p.Rate)
		}
		l.PeakPerS = highest * l.RatePerS / mean
	}
	l.SpanS = cmp.Or(lasts(w), float64(w.Requests)/l.RatePerS)
	return nil
}

// lasts returns how long a rate that rises and falls is followed, in seconds: for as long as the scenario says, for a
// period, or up to the last of its points; 0: nothing says how long.
func lasts(w *configs.Workload) float64 {
	points := w.Arrivals.Points
	if len(points) == 0 {
		return cmp.Or(w.DurationS, w.Arrivals.PeriodS)
	}
	return cmp.Or(w.DurationS, w.Arrivals.PeriodS, points[len(points)-1].AtS)
}

// Unit is what rates of the load are of.
func (l *Load) Unit() string {
	switch {
	case l.agents:
		return "tasks/s"
	case l.Kind == Sessions:
		return "sessions/s"
	}
	return "requests/s"
}

// Words says what a rate of the load is of its shape; empty: there is no more to say than the rate.
func (l *Load) Words(rate float64) string {
	switch factor := text.Significant(rate / l.RatePerS); l.Kind {
	case Day:
		return fmt.Sprintf("%s × this day, whose peak is then %s %s", factor,
			text.Significant(l.PeakPerS*rate/l.RatePerS), l.Unit())
	case Trace:
		return fmt.Sprintf("the trace replayed at %s times its pace", factor)
	}
	return ""
}

// Covers says what an interval over seeds covers of the load and what it does not.
func (l *Load) Covers() string {
	switch l.Kind {
	case Trace:
		return "a trace is one recording: every seed replays the same requests, so no interval is given; " +
			"another day may differ"
	case Day:
		return "intervals over seeds cover chance within this day, not days of another shape"
	case Sessions:
		of := "sessions"
		if l.agents {
			of = "tasks"
		}
		return "rates are of " + of + ", and the SLO is judged by request; intervals over seeds cover " + l.process +
			" " + of + " of these laws, not burstier traffic"
	}
	return "intervals over seeds cover " + l.process + " arrivals of these lengths, not burstier traffic"
}
