package steady

import (
	"math"

	"github.com/decodesim/decodesim/sim/metrics"
)

// Drift is what the requests under way grew by over the second half of the arrivals.
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

// driftShare is the share of the arrivals by which the requests under way must grow to drift.
const driftShare = 0.05

// Drifts reports whether the requests under way grow: by more than a share of the arrivals, and by more than three
// standard deviations of what chance would add to them if the servers were just fast enough, √(2·arrivals): arrivals
// and ends vary as Poisson counts do. They would grow with the length of the run, so no rate is sustained.
func (d Drift) Drifts() bool {
	growth, arrived := float64(d.Growth), float64(d.Arrived)
	return growth > driftShare*arrived && growth > 3*math.Sqrt(2*arrived)
}
