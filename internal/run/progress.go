package run

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/decodesim/decodesim/sim"
)

const (
	progressEvery = 200 * time.Millisecond
	betweenMax    = 1 << 9 // arrivals and ends between looks at the clock, at most
)

// follower is who hears of a run's requests as it goes: it keeps their rows, and reports how far the run is. It is safe
// for concurrent use if it keeps no rows.
type follower struct {
	rows     *rows          // nil: none are kept
	report   func(Progress) // nil: to nobody
	expected float64        // requests; 0: unknown

	events, ended, at atomic.Int64 // arrivals and ends, ends, and the instant of the last

	mu       sync.Mutex
	every    atomic.Int64 // events between looks at the clock
	looked   time.Time
	reported time.Time
	before   int64   // events before replicas were last said to be built
	built    float64 // share of the replicas that were built before the first request went to one; 0: none were
}

func newFollower(rows *rows, report func(Progress), expected float64) *follower {
	f := &follower{rows: rows, report: report, expected: expected, looked: time.Now(), reported: time.Now()}
	f.every.Store(1)
	return f
}

// done returns what the recorder of the run calls for every request that ends; nil: nobody wants to hear of them.
func (f *follower) done() func(*sim.Request, sim.Time, sim.Outcome) {
	if f.report == nil {
		if f.rows == nil {
			return nil
		}
		return f.rows.add
	}
	return func(r *sim.Request, at sim.Time, o sim.Outcome) {
		if f.rows != nil {
			f.rows.add(r, at, o)
		}
		f.ended.Add(1)
		f.at.Store(int64(at))
	}
}

// follow has the run say whenever a request arrives or ends, where somebody wants to know how far it is.
func (f *follower) follow(config *sim.Config) {
	if f.report == nil {
		return
	}
	stop := config.Cancelled
	config.Cancelled = func() bool {
		f.event()
		return stop != nil && stop()
	}
	config.Building = f.building
}

// event counts an arrival or an end, and reports now and then. A request that has arrived counts half until it ends:
// the first end may be long in coming, where a router asks many replicas for each arrival.
func (f *follower) event() {
	n := f.events.Add(1)
	if n%f.every.Load() != 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	f.pace(now.Sub(f.looked))
	f.looked = now
	if now.Sub(f.reported) < progressEvery {
		return
	}
	f.reported = now
	f.report(f.progress(n))
}

// progress returns how far the run is after n arrivals and ends.
func (f *follower) progress(n int64) Progress {
	p := Progress{Ended: f.ended.Load(), SimulatedS: sim.Time(f.at.Load()).Seconds()}
	p.Done = max(float64(p.Ended), float64(n)/2)
	if f.expected > 0 {
		p.Share = min(1, p.Done/f.expected)
	}
	if f.built > 0 { // how long the requests will take beside it is not known: as long, perhaps
		p.Share = (f.built + p.Share) / 2
	}
	return p
}

// building reports how many replicas are built, where all are at once: before the first event or by one. Where requests
// arrive between, these say how far the run is.
func (f *follower) building(built, of int) (stop bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, n := time.Now(), f.events.Load()
	atOnce := n == f.before
	f.before = n
	if built == of { // what comes now says nothing of replicas
		if f.built > 0 {
			f.built = 1
			f.report(f.progress(n))
		}
		return false
	}
	if !atOnce || now.Sub(f.reported) < progressEvery {
		return false
	}
	f.reported = now
	if n <= 1 {
		f.built = max(f.built, float64(built)/float64(of))
	}
	p := f.progress(n)
	p.Built, p.Replicas = built, of
	f.report(p)
	return false
}

// pace has the clock looked at less often where looks are close together, and more often where they are far apart.
func (f *follower) pace(since time.Duration) {
	switch every := f.every.Load(); {
	case since < progressEvery/8 && every < betweenMax:
		f.every.Store(2 * every)
	case since > progressEvery && every > 1:
		f.every.Store(every / 2)
	}
}
