package requests

import (
	"cmp"
	"math/rand/v2"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
	"github.com/decodesim/decodesim/workloads/check"
)

// Patience says when clients cancel: after a time-out that all share, or at random. The zero Patience waits for ever.
type Patience struct {
	TimeoutS     float64 // seconds after sending; 0: never
	CancelShare  float64 // probability that a client cancels at random, 0 to 1
	CancelAfterS float64 // seconds after sending, mean
	CancelLaw    string  // "exponential" (also "") or "fixed"
}

// Deadlines sets when clients cancel.
type Deadlines struct {
	patience Patience
	draws    *rand.Rand // two draws per request; nil: no client cancels at random
}

// NewDeadlines returns the deadlines that p describes in the run with the given seed.
func NewDeadlines(p Patience, seed uint64) (Deadlines, error) {
	err := cmp.Or(
		check.Within("timeout_s", p.TimeoutS, 0, sim.HorizonS),
		check.Within("cancel_share", p.CancelShare, 0, 1),
		check.Within("cancel_after_s", p.CancelAfterS, 0, sim.HorizonS),
		check.Absent("cancel_after_s", "cancel_share 0", p.CancelShare == 0 && p.CancelAfterS != 0, p.CancelAfterS),
		check.OneOf("cancel_law", p.CancelLaw, []string{"", "exponential", "fixed"}),
	)
	if err != nil || p.CancelShare == 0 {
		return Deadlines{patience: p}, err
	}
	err = check.Above("cancel_after_s", p.CancelAfterS, 0, sim.HorizonS)
	return Deadlines{p, rng.Stream(seed, "workloads.cancellations")}, err
}

// Mark sets the deadline of r: the earlier of the time-out and the cancellation, at least a picosecond after its
// arrival, for 0 means none.
func (d *Deadlines) Mark(r *sim.Request) {
	if d.patience.TimeoutS > 0 || d.draws != nil {
		d.patience.set(r, d.draws)
	}
}

// set sets the deadline of r with two draws; no draws: only the time-out counts.
func (p *Patience) set(r *sim.Request, draws *rand.Rand) {
	waitS := p.TimeoutS
	if draws != nil {
		cancels, afterS := draws.Float64() < p.CancelShare, draws.ExpFloat64()*p.CancelAfterS
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

// KeyedDeadlines are deadlines whose cancellations are drawn by session and turn.
type KeyedDeadlines struct {
	deadlines Deadlines
	draws     *rng.Keyed
}

// NewKeyedDeadlines returns the deadlines of turns that p describes in the run with the given seed.
func NewKeyedDeadlines(p Patience, seed uint64) (k KeyedDeadlines, err error) {
	k.draws = rng.NewKeyed(seed, "workloads.session-cancellations")
	k.deadlines, err = NewDeadlines(p, seed)
	return k, err
}

// Mark sets the deadline of r, a turn of a session.
func (k *KeyedDeadlines) Mark(r *sim.Request, session, turn uint64) {
	if k.deadlines.draws != nil {
		k.deadlines.draws = k.draws.At(session, turn)
	}
	k.deadlines.Mark(r)
}
