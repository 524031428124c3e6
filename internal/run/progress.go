package run

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/decodesim/decodesim/sim"
)

const (
	progressEvery = 200 * time.Millisecond
	clockEvery    = 1 << 8 // requests that end between looks at the clock
)

// following returns what the recorder of a run calls for every request that ends: it keeps the row and reports
// progress. It is safe for concurrent use if it keeps no rows.
// nil: neither is asked for.
func following(rows *rows, report func(Progress), expected float64) func(*sim.Request, sim.Time, sim.Outcome) {
	if report == nil {
		if rows == nil {
			return nil
		}
		return rows.add
	}
	var ended atomic.Int64
	var mu sync.Mutex
	reported := time.Now()
	return func(r *sim.Request, at sim.Time, o sim.Outcome) {
		if rows != nil {
			rows.add(r, at, o)
		}
		n := ended.Add(1)
		if n%clockEvery != 0 {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if time.Since(reported) < progressEvery {
			return
		}
		reported = time.Now()
		p := Progress{Ended: n, SimulatedS: at.Seconds()}
		if expected > 0 {
			p.Share = min(1, float64(n)/expected)
		}
		report(p)
	}
}
