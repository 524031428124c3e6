package rng

import "math/rand/v2"

// Keyed draws what belongs to a key, whichever keys were asked for before: for what must stay the same although the
// order in which it is drawn does not.
type Keyed struct {
	seed  uint64
	state *rand.PCG
	draws *rand.Rand
}

// NewKeyed returns the draws that belong to name in the run with the given seed.
func NewKeyed(seed uint64, name string) *Keyed {
	state := rand.NewPCG(0, 0)
	return &Keyed{Stream(seed, name).Uint64(), state, rand.New(state)}
}

// At returns the stream of the key (a, b), from its beginning. It is good until the next call.
func (k *Keyed) At(a, b uint64) *rand.Rand {
	high := mix(k.seed ^ mix(a))
	k.state.Seed(high, mix(high+b))
	return k.draws
}
