package workloads

import (
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
)

// thoughts draws how long users think, by session and turn.
type thoughts struct {
	law   span
	draws *rng.Keyed
}

func newThoughts(c Span, seed uint64) (h thoughts, err error) {
	h.draws = rng.NewKeyed(seed, "workloads.session-thoughts")
	h.law, err = newSpan("sessions.think_time_s", c)
	return h, err
}

// after returns the time that the user of a session thinks before a turn.
func (h *thoughts) after(session, turn uint64) sim.Duration {
	return h.law.draw(h.draws.At(session, turn))
}

// keyedPatience is patience whose cancellations are drawn by session and turn.
type keyedPatience struct {
	patience
	keys *rng.Keyed
}

func newKeyedPatience(p Patience, seed uint64) (k keyedPatience, err error) {
	k.keys = rng.NewKeyed(seed, "workloads.session-cancellations")
	k.patience, err = newPatience(p, seed)
	return k, err
}

// markTurn sets the deadline of r, a turn of a session.
func (k *keyedPatience) markTurn(r *sim.Request, session, turn uint64) {
	if k.draws != nil {
		k.draws = k.keys.At(session, turn)
	}
	k.mark(r)
}
