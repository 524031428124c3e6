package metrics

import (
	"math"

	"github.com/decodesim/decodesim/sim"
)

// load records whether the system keeps up while requests arrive. It observes the queues at some arrivals, and keeps a
// few dozen observations that are evenly spread over all arrivals, so that a longer run needs no more memory.
type load struct {
	cluster *sim.Cluster
	start   sim.Time // the first request is sent
	last    sim.Time // the latest arrival of a request that has ended
	depths  [depthsMax]depth
	n       int
	schedule
}

// schedule is when observations are due: after how many arrivals.
type schedule struct {
	scheduled int   // observations that are kept, if all that were due have been made
	every     int64 // arrivals between two of them
}

// depth is the number of requests that wait after so many arrivals.
type depth struct{ arrived, waiting int64 }

const depthsMax = 64

// watch observes c.
func (l *load) watch(c *sim.Cluster) {
	l.cluster, l.start = c, sim.Forever
	l.every = 1
	c.ObserveArrivals(l.next, func(_ *sim.Cluster, arrived int64) { l.record(arrived) })
}

// done records the end of a request.
func (l *load) done(r *sim.Request) {
	l.start, l.last = min(l.start, r.Arrival), max(l.last, r.Arrival)
}

// next returns after how many arrivals an observation is due that follows the one after so many.
func (s *schedule) next(arrived int64) int64 {
	if arrived > 0 {
		if s.scheduled == depthsMax {
			s.scheduled, s.every = depthsMax/2, 2*s.every
		}
		s.scheduled++
	}
	return arrived + s.every
}

// record observes the queues after so many arrivals. Of a full list of observations every other one is dropped.
func (l *load) record(arrived int64) {
	if l.n == depthsMax {
		for i := range depthsMax / 2 {
			l.depths[i] = l.depths[2*i+1]
		}
		l.n = depthsMax / 2
	}
	waiting := 0
	for i := range l.cluster.Pools() {
		waiting += l.cluster.Pool(i).Waiting()
	}
	l.depths[l.n] = depth{arrived, int64(waiting)}
	l.n++
}

// rates returns the offered and the served rate, in requests/s from the first arrival to the last; 0 if there is no
// such span. Requests that are under way at the horizon may have arrived at any time up to it.
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

// growing reports whether the queue still grows at the end of the arrivals.
func (l *load) growing() bool {
	offered, served := l.rates()
	return grows(offered, served, l.depths[:l.n])
}

// grows reports whether a queue of these lengths does: over the second half of the arrivals by more than the share
// lagging of them, and by more than three standard deviations of a Poisson count, by which a stable queue may grow by
// chance. Running requests do not count: filling an empty system is no lag.
func grows(offered, served float64, depths []depth) bool {
	if len(depths) == 0 || served >= (1-lagging)*offered {
		return false
	}
	// Without an observation halfway, as when all requests arrived before any ended, half is the empty system.
	last, half := depths[len(depths)-1], depth{}
	for _, earlier := range depths[:len(depths)-1] {
		if 2*earlier.arrived >= last.arrived {
			half = earlier
			break
		}
	}
	more, arrivals := float64(last.waiting-half.waiting), float64(last.arrived-half.arrived)
	return more > lagging*arrivals && more > 3*math.Sqrt(arrivals)
}
