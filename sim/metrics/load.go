package metrics

import (
	"math"

	"github.com/decodesim/decodesim/sim"
)

// load follows how the system keeps up while requests arrive. It looks now and then when one is about to, keeps a few
// dozen looks, evenly spread over the arrivals, and so needs no more memory for a longer run.
type load struct {
	cluster *sim.Cluster
	start   sim.Time // the first request is sent
	last    sim.Time // the latest arrival of those that have ended
	looks   [looksMax]look
	n       int
	every   int64 // arrivals between looks that are kept
}

// look is what waits after so many arrivals.
type look struct{ arrived, waiting int64 }

const looksMax = 64

// watch follows c.
func (l *load) watch(c *sim.Cluster) {
	l.cluster, l.start = c, sim.Forever
	c.ObserveArrivals(1, func(c *sim.Cluster) int64 {
		l.keep(c.Totals().Arrived)
		return l.next()
	})
}

// done notes the end of a request.
func (l *load) done(r *sim.Request) {
	l.start, l.last = min(l.start, r.Arrival), max(l.last, r.Arrival)
}

func (l *load) next() int64 { return l.looks[l.n-1].arrived + l.every }

func (l *load) keep(arrived int64) {
	if l.n == looksMax {
		for i := range looksMax / 2 {
			l.looks[i] = l.looks[2*i+1]
		}
		l.n, l.every = looksMax/2, 2*l.every
	}
	waiting := 0
	for i := range l.cluster.Pools() {
		p := l.cluster.Pool(i)
		waiting += p.AtGate()
		for j := range p.Replicas() {
			waiting += p.Replica(j).Queued() + p.Replica(j).Incoming()
		}
	}
	l.looks[l.n] = look{arrived, int64(waiting)}
	l.n, l.every = l.n+1, max(1, l.every)
}

// rates returns what was offered and served, in requests/s from the first arrival to the last; 0 without such a span.
// Requests that are still under way at the horizon may have arrived at any time up to it.
func (l *load) rates() (offered, served float64) {
	t := l.cluster.Totals()
	end := l.last
	if t.Arrived > t.Ended {
		end = l.cluster.Now()
	}
	if t.Arrived < 2 || end <= l.start {
		return 0, 0
	}
	span := end.Sub(l.start).Seconds()
	return float64(t.Arrived-1) / span, float64(t.EndedBefore) / span
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
