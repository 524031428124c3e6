package workloads

import (
	"fmt"
	"math"

	"github.com/decodesim/decodesim/sim"
)

// starts says when sessions begin.
type starts interface {
	when() sim.Time                // of the next; Forever: none is known
	take()                         // it has begun
	ended(begun, at sim.Time) bool // one that began then has ended; false: err says why no more can begin
	err() error
}

// arriving is sessions that begin at the arrivals of a process.
type arriving struct {
	clock *clock
	next  sim.Time
	endS  float64
	timed bool // endS is the workload's own end, not the clock's
	fault error
}

func newArriving(c *clock, durationS float64) *arriving {
	a := &arriving{clock: c, endS: sim.HorizonS}
	if durationS > 0 {
		a.endS, a.timed = durationS, true
	}
	a.take()
	return a
}

func (a *arriving) when() sim.Time { return a.next }

func (a *arriving) take() {
	s := a.clock.next()
	if s < a.endS {
		// Rounding at the joint of two pieces of a rate must not turn time back.
		a.next = max(a.next, sim.Time(0).Add(sim.Seconds(s)))
		return
	}
	if a.next = sim.Forever; !a.timed && !math.IsInf(s, 1) {
		a.fault = fmt.Errorf("workloads: a session would begin after %g s; accepted: arrivals within %g s", s, sim.HorizonS)
	}
}

func (a *arriving) ended(sim.Time, sim.Time) bool { return true }

func (a *arriving) err() error { return a.fault }

// clients is a number of clients that lead one session after the other.
type clients struct {
	due     instants
	pause   sim.Duration
	end     sim.Time
	timed   bool // end is the workload's own, not the clock's
	stalled int
	fault   error
}

// newClients returns clients that start evenly spread over the ramp; those that would start at the end never do.
func newClients(concurrency int64, pauseS, rampS float64, end sim.Time, timed bool) *clients {
	l := &clients{pause: sim.Seconds(pauseS), end: end, timed: timed}
	for i := range concurrency {
		if at := sim.Time(sim.Seconds(rampS * float64(i) / float64(concurrency))); at < end {
			l.due.push(at)
		}
	}
	return l
}

func (l *clients) when() sim.Time { return l.due.first() }

func (l *clients) take() { l.due.pop() }

// ended lets the client pause and begin again. Sessions that end at the instant at which they began may do so for ever,
// where every request is rejected: then time stands still.
func (l *clients) ended(begun, at sim.Time) bool {
	next := at.Add(l.pause)
	if next > begun {
		l.stalled = 0
	} else if l.stalled++; l.stalled == stallMax {
		l.fault = fmt.Errorf("workloads: closed_loop: the last %d sessions ended at the instant they began, at %v; accepted: "+
			"requests that can be served, a think_time_s above 0, or at most %d requests", stallMax, at, stallMax)
		l.due = nil
		return false
	}
	if next < l.end {
		l.due.push(next)
	} else if !l.timed {
		l.fault = fmt.Errorf("workloads: closed_loop: a session would begin after %g s; accepted: a run within %g s",
			next.Seconds(), sim.HorizonS)
	}
	return l.fault == nil
}

func (l *clients) err() error { return l.fault }
