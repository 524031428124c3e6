package metrics

import (
	"math"

	"github.com/decodesim/decodesim/sim"
)

// load follows how the system keeps up while requests arrive. It looks whenever a request ends, keeps a few dozen
// looks, evenly spread over the arrivals, and so needs no more memory for a longer run.
type load struct {
	cluster *sim.Cluster
	pool    *sim.Pool
	start   sim.Time // the first request is sent
	arrived int64    // as of the latest look at which there were new arrivals
	last    sim.Time // the latest arrival is at or before it
	served  int64    // requests that had ended before that look
	ended   int64
	looks   [looksMax]look
	n       int
	every   int64 // arrivals between looks that are kept
}

// look is what waits after so many arrivals.
type look struct{ arrived, waiting int64 }

const looksMax = 64

// done notes the end of a request. Whatever arrived since the end before arrived before this one.
func (l *load) done(r *sim.Request, at sim.Time) {
	l.start = min(l.start, r.Arrival)
	if l.cluster == nil {
		return
	}
	if n := l.cluster.Totals().Arrived; n > l.arrived {
		l.arrived, l.last, l.served = n, max(l.last, r.Arrival), l.ended
		if n >= l.next() {
			l.keep(n)
		}
	}
	l.last = max(l.last, r.Arrival)
	l.ended++
}

func (l *load) next() int64 {
	if l.n == 0 {
		return 1
	}
	return l.looks[l.n-1].arrived + l.every
}

func (l *load) keep(arrived int64) {
	if l.n == looksMax {
		for i := range looksMax / 2 {
			l.looks[i] = l.looks[2*i+1]
		}
		l.n, l.every = looksMax/2, 2*l.every
	}
	waiting := 0
	for i := range l.pool.Len() {
		waiting += l.pool.Instance(i).Queued()
	}
	l.looks[l.n] = look{arrived, int64(waiting)}
	l.n, l.every = l.n+1, max(1, l.every)
}

// rates returns what was offered and served, in requests/s from the first arrival to the last; 0 without such a span.
// Requests that are still under way at the horizon may have arrived at any time up to it.
func (l *load) rates() (offered, served float64) {
	t := l.cluster.Totals()
	if t.Arrived > l.arrived {
		l.served = l.ended
	}
	end := l.last
	if t.Arrived > t.Ended {
		end = l.cluster.Now()
	}
	if t.Arrived < 2 || end <= l.start {
		return 0, 0
	}
	span := end.Sub(l.start).Seconds()
	return float64(t.Arrived-1) / span, float64(l.served) / span
}

// lagging is the share of the arrivals by which a queue must grow, and service fall behind, to be called unstable.
const lagging = 0.05

// growing reports whether the queue still grows as requests arrive: over the second half of the arrivals by more than
// lagging of them, and by more than three standard deviations of a Poisson count, which a stable queue may show by
// chance. Requests in a batch do not count: filling an empty system is no lag.
func (l *load) growing() bool {
	offered, served := l.rates()
	if l.n == 0 || served >= (1-lagging)*offered {
		return false
	}
	last, half := l.looks[l.n-1], look{} // without a look halfway, as when all arrived before any ended, the empty system
	for _, earlier := range l.looks[:l.n-1] {
		if 2*earlier.arrived >= last.arrived {
			half = earlier
			break
		}
	}
	more, arrivals := float64(last.waiting-half.waiting), float64(last.arrived-half.arrived)
	return more > lagging*arrivals && more > 3*math.Sqrt(arrivals)
}
