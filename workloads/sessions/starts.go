package sessions

import (
	"fmt"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/heap"
	"github.com/decodesim/decodesim/workloads/arrivals"
)

// starts says when sessions begin.
type starts interface {
	when() sim.Time                // of the next; Forever: none is known
	take() sim.Time                // begins the next
	ended(begun, at sim.Time) bool // a session that began at begun has ended; false: err says why no more can begin
	err() error                    // why no more can begin, or nil
}

// arriving is sessions that begin at the arrivals of a process.
type arriving struct {
	timeline arrivals.Timeline
	next     sim.Time
	fault    error
}

func newArriving(p *arrivals.Process, durationS float64) *arriving {
	a := &arriving{timeline: arrivals.NewTimeline(p, durationS)}
	a.take()
	return a
}

func (a *arriving) when() sim.Time { return a.next }

func (a *arriving) take() sim.Time {
	begun := a.next
	var next [1]sim.Time
	n, s := a.timeline.Fill(next[:])
	a.next = next[0]
	if n == 0 {
		a.next = sim.Forever
		if a.timeline.Overrun(s) {
			a.fault = fmt.Errorf("workloads: a session would begin after %g s; accepted: arrivals within %g s",
				s, sim.HorizonS)
		}
	}
	return begun
}

func (a *arriving) ended(sim.Time, sim.Time) bool { return true }

func (a *arriving) err() error { return a.fault }

// end is the instant before which a workload sends.
type end struct {
	at    sim.Time
	timed bool // the workload ends then, not the clock
}

// newEnd returns the end of a workload that lasts so many seconds; 0: the end of the clock.
func newEnd(durationS float64) end {
	if durationS > 0 {
		return end{sim.Time(sim.Seconds(durationS)), true}
	}
	return end{at: sim.Time(sim.Seconds(sim.HorizonS))}
}

const (
	concurrencyMax = 1 << 24
	stallMax       = 1_000_000 // ends in a row at which time has not passed
)

// words are how errors name what clients do.
type words struct{ all, sent, next, kind, owner, key string }

var (
	requestWords = words{all: "requests", sent: "they were sent", next: "a request would be sent"}
	sessionWords = words{"sessions", "they began", "a session would begin", "sessions", "a workload with sessions", ""}
	taskWords    = words{"tasks", "they began", "a task would begin", "agents", "a workload of agents", "agents.tasks"}
)

// clients is a fixed number of clients, each of which sends again some time after what it sent has ended.
type clients struct {
	words   words
	due     heap.Heap[sim.Time, struct{}]
	pause   sim.Duration // between two sessions
	end     end
	stalled int
	fault   error
}

// newClients returns clients that start evenly spread over the ramp; those that would start at the end never do.
func newClients(w words, concurrency int64, rampS float64, end end) *clients {
	l := &clients{words: w, end: end}
	for i := range concurrency {
		if at := sim.Time(sim.Seconds(rampS * float64(i) / float64(concurrency))); at < end.at {
			l.due.Push(at, 0, struct{}{})
		}
	}
	return l
}

func (l *clients) when() sim.Time {
	if len(l.due) == 0 {
		return sim.Forever
	}
	return l.due[0].Key
}

func (l *clients) take() sim.Time { return l.due.Pop().Key }

func (l *clients) ended(begun, at sim.Time) bool {
	l.goOn(begun, at, at.Add(l.pause))
	return l.fault == nil
}

func (l *clients) err() error { return l.fault }

// goOn lets a client send at next, after what it sent at begun has ended at the instant at. Where everything is
// rejected and clients do not wait, next is never later than begun: then time stands still, which is an error in the
// long run.
func (l *clients) goOn(begun, at, next sim.Time) {
	l.stalled++
	if next > begun {
		l.stalled = 0
	}
	if l.stalled == stallMax {
		l.fail("the last %d %s ended at the instant %s, at %v; accepted: requests that can be served, "+
			"a think_time_s above 0, or at most %d requests", stallMax, l.words.all, l.words.sent, at, stallMax)
		return
	}
	if next < l.end.at {
		l.due.Push(next, 0, struct{}{})
	} else if !l.end.timed {
		l.fail("%s after %g s; accepted: a run within %g s", l.words.next, next.Seconds(), sim.HorizonS)
	}
}

// fail lets no client send any more.
func (l *clients) fail(text string, args ...any) {
	l.fault, l.due = fmt.Errorf("workloads: closed_loop: "+text, args...), nil
}
