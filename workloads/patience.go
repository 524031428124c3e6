package workloads

import (
	"math/rand/v2"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
)

// Patience says when clients hang up: after a time-out that all share, or earlier because they cancel. The zero
// Patience waits for ever.
type Patience struct {
	TimeoutS     float64 // seconds after sending; 0: never
	CancelShare  float64 // probability that a request is cancelled, 0 to 1
	CancelAfterS float64 // seconds after sending, mean
	CancelLaw    string  // "exponential" (also "") or "fixed"
}

// patience sets deadlines. Cancellations have a stream of their own with two draws per request.
type patience struct {
	Patience
	draws *rand.Rand // nil: nobody cancels
}

func newPatience(p Patience, seed uint64) (patience, error) {
	err := first(
		closed("timeout_s", p.TimeoutS, 0, sim.HorizonS),
		closed("cancel_share", p.CancelShare, 0, 1),
		closed("cancel_after_s", p.CancelAfterS, 0, sim.HorizonS),
		absent("cancel_after_s", "cancel_share 0", p.CancelShare == 0 && p.CancelAfterS != 0, p.CancelAfterS),
		oneOf("cancel_law", p.CancelLaw, []string{"", "exponential", "fixed"}),
	)
	if err != nil || p.CancelShare == 0 {
		return patience{Patience: p}, err
	}
	err = above("cancel_after_s", p.CancelAfterS, 0, sim.HorizonS)
	return patience{p, rng.Stream(seed, "workloads.cancellations")}, err
}

// mark sets the deadline of r, the earlier of its two, at least a picosecond after its arrival: 0 means none.
func (p *patience) mark(r *sim.Request) {
	if p.TimeoutS == 0 && p.draws == nil {
		return
	}
	p.set(r)
}

func (p *patience) set(r *sim.Request) {
	waitS := p.TimeoutS
	if p.draws != nil {
		cancels, afterS := p.draws.Float64() < p.CancelShare, p.draws.ExpFloat64()*p.CancelAfterS
		if p.CancelLaw == "fixed" {
			afterS = p.CancelAfterS
		}
		if cancels && afterS <= sim.HorizonS && (waitS == 0 || afterS < waitS) {
			waitS = max(afterS, 1e-12)
		}
	}
	if waitS > 0 {
		r.Deadline = r.Arrival.Add(max(1, sim.Seconds(waitS)))
	}
}
