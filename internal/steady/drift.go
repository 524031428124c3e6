package steady

import (
	"math"

	"github.com/decodesim/decodesim/sim/metrics"
)

// Drift is what the backlog grew by over the second half of the arrivals.
type Drift struct {
	Arrived, Growth int64 // requests
}

// DriftOf returns what the requests under way grew by while the later half of the slots went by.
func DriftOf(slots []metrics.Slot) (d Drift) {
	for _, v := range slots[len(slots)/2:] {
		d.Arrived += v.Arrived
		d.Growth += v.Arrived - v.Ended
	}
	return d
}

// driftShare is the share of the arrivals by which a backlog must grow to be said to drift.
const driftShare = 0.05

// Drifts reports whether the backlog grows: by more than a share of the arrivals, and by more than three standard
// deviations of what chance would add to it if the servers were just fast enough, √(2·arrivals): the arrivals and the
// ends vary as Poisson counts do. A backlog that drifts grows with the run, so no rate is sustained.
func (d Drift) Drifts() bool {
	growth, arrived := float64(d.Growth), float64(d.Arrived)
	return growth > driftShare*arrived && growth > 3*math.Sqrt(2*arrived)
}
