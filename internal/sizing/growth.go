package sizing

import (
	"math"

	"github.com/decodesim/decodesim/internal/load"
	"github.com/decodesim/decodesim/internal/steady"
	"github.com/decodesim/decodesim/sim"
)

// growth observes the requests under way after half of the arrivals and near their end. A rate is sustained only if
// they do not grow in between: whatever share of the requests was in time, a longer run would have fewer.
type growth struct {
	marks [2]int64 // arrivals
	at    [2]sim.Time
	under [2]int64
	seen  int
}

// newGrowth returns the observer of a run of so many requests; nil: its shape decides how many are under way, as that
// of a trace.
func newGrowth(l *load.Load, requests int64) *growth {
	switch {
	case requests < 8 || l.Kind == load.Trace || l.Kind == load.Day || l.Varies:
		return nil
	case l.Kind == load.Sessions: // the last tenth comes when no session begins any more
		return &growth{marks: [2]int64{requests / 2, requests * 9 / 10}}
	}
	return &growth{marks: [2]int64{requests / 2, requests - 1}}
}

// watch lets k observe a run.
func (k *growth) watch(c *sim.Cluster) {
	if k == nil {
		return
	}
	next := func(arrived int64) int64 {
		for _, m := range k.marks {
			if m > arrived {
				return m
			}
		}
		return math.MaxInt64
	}
	c.ObserveArrivals(next, func(c *sim.Cluster, _ int64) {
		t := c.Totals()
		if k.seen < len(k.at) {
			k.at[k.seen], k.under[k.seen] = c.Now(), t.Arrived-t.Ended
			k.seen++
		}
	})
}

// hinderedMax is how many times as long sessions may take to send what they would send if every answer came at once.
const hinderedMax = 1 / 0.9

// sustained reports whether the requests under way do not grow, and whether sessions send about what they would send
// if every answer came at once, which takes them so long: they send less where a deployment is too slow for them, or
// where a run ends before they are all there. Sessions of the same seed are compared: by chance a run has many or few.
func (k *growth) sustained(unhindered sim.Duration) bool {
	if k == nil || k.seen < len(k.at) {
		return true
	}
	d := steady.Drift{Arrived: k.marks[1] - k.marks[0], Growth: k.under[1] - k.under[0]}
	if d.Drifts() {
		return false
	}
	return unhindered == 0 || k.at[1].Sub(k.at[0]).Seconds() <= hinderedMax*unhindered.Seconds()
}
