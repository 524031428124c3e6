package run

import (
	"time"

	"github.com/decodesim/decodesim/sim"
)

const (
	progressEvery = 200 * time.Millisecond
	clockEvery    = 1 << 12 // requests that end between looks at the clock
)

// following returns what the recorder of a run calls for every request that ends: it keeps the row and reports
// progress. nil: neither is asked for.
func following(rows *rows, report func(Progress), expected float64) func(*sim.Request, sim.Time, sim.Outcome) {
	if report == nil {
		if rows == nil {
			return nil
		}
		return rows.add
	}
	p, reported := Progress{}, time.Now()
	return func(r *sim.Request, at sim.Time, o sim.Outcome) {
		if rows != nil {
			rows.add(r, at, o)
		}
		p.Ended++
		if p.Ended%clockEvery != 0 || time.Since(reported) < progressEvery {
			return
		}
		reported, p.SimulatedS = time.Now(), at.Seconds()
		if expected > 0 {
			p.Share = min(1, float64(p.Ended)/expected)
		}
		report(p)
	}
}
