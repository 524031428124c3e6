package load

import (
	"fmt"
	"math"

	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim"
)

// How many times as long as a session a run of sessions lasts: before it has lasted once they are not all there, and
// the first quarter of its requests, which is not measured, ends after one and a half. No run has more requests than
// sessionRequestsMax.
const sessionsLong, sessionRequestsMax = 6, 1_000_000

// least returns how many requests a run must have at a rate; 0: any number will do.
func (l *Load) least(rate float64) int64 {
	return int64(min(sessionRequestsMax, math.Ceil(sessionsLong*l.SessionS*rate*l.Turns)))
}

// Until returns when the last session of a run of so many requests begins; of other loads, and while nobody knows how
// long sessions take, the end of all time.
func (l *Load) Until(requests int64, rate float64) sim.Time {
	if l.SessionS == 0 {
		return sim.Forever
	}
	return sim.Time(0).Add(sim.Seconds(min(sim.HorizonS, float64(requests)/(rate*l.Turns))))
}

// Unhindered returns how long the requests after the first so many, up to the last of so many, take to be sent where
// every answer comes at once: no deployment has them sent sooner. 0: they do not wait for answers, or are fewer.
func Unhindered(source sim.Source, first, last int64) sim.Duration {
	asks, ok := source.(sim.Follower)
	if !ok {
		return 0
	}
	var from sim.Time
	var r sim.Request
	for n := int64(1); n <= last; n++ {
		r = sim.Request{}
		if !source.Next(&r) {
			return 0
		}
		if n == first {
			from = r.Arrival
		}
		r.Emitted = r.Output
		asks.Done(r.Arrival, &r)
	}
	return r.Arrival.Sub(from)
}

// Last says how long the answers of a session take, e2eS each, so that runs at a higher load last long enough: there
// they may take twice as long.
func (l *Load) Last(e2eS float64) {
	if l.Kind == Sessions {
		l.SessionS = l.PauseS + float64(2*l.Turns*e2eS)
	}
}

// Lasts says how long runs of sessions are; empty: this is no load of sessions.
func (l *Load) Lasts(rate float64) string {
	if l.SessionS == 0 {
		return ""
	}
	n := l.least(rate)
	said := fmt.Sprintf("a session takes up to %s, so a run lasts at least %d times as long, %s requests at %s "+
		"%s, and is measured until its last session begins", text.Duration(l.SessionS), sessionsLong, text.Count(n),
		text.Significant(rate), l.Unit())
	if n == sessionRequestsMax {
		said += "; that is the most requests a run may have, and fewer than it takes: the answer depends on its length"
	}
	return said
}
