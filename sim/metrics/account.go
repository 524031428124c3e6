package metrics

import (
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/clock"
)

// account sums what the steps were made of that tokens waited for: Σ over steps of tokens × time. Divided by the
// tokens it is the mean step that a token waits for. Sums are named by package clock and not, as elsewhere, by sim: the
// compiler inlines the methods of a package where that is imported.
type account struct {
	tokens  int64
	compute int64 // tokens whose step was compute-bound
	bound   clock.Uint128
	paused  clock.Uint128 // Σ tokens × time from the token before to the step
	part    partSums
}

// add counts n steps of g that emitted w tokens each and consisted of parts in all.
func (a *account) add(g *sim.Segment, n int, parts *sim.Parts, w uint64) {
	tokens := int64(n) * int64(w)
	a.tokens += tokens
	if g.ComputeBound {
		a.compute += tokens
	}
	k := sim.Duration(n)
	a.bound.AddProduct(uint64(k*g.Bound.A+k*(k-1)/2*g.Bound.B), w)
	a.part.add(parts, w)
}

// partSums is Σ time by part of a step.
type partSums [sim.NumParts]clock.Uint128

// add adds parts, w times. It is no loop, because it is done for every segment.
func (s *partSums) add(parts *sim.Parts, w uint64) {
	s[sim.Weights].AddProduct(uint64(parts[sim.Weights]), w)
	s[sim.KV].AddProduct(uint64(parts[sim.KV]), w)
	s[sim.Compute].AddProduct(uint64(parts[sim.Compute]), w)
	s[sim.Communication].AddProduct(uint64(parts[sim.Communication]), w)
	s[sim.Overhead].AddProduct(uint64(parts[sim.Overhead]), w)
}

// step returns Σ tokens × step.
func (a *account) step() float64 {
	var sum clock.Uint128
	for _, p := range a.part {
		sum.Add(p)
	}
	return sum.Float()
}

// pause counts tokens that prefill-only steps delayed before their own step began.
func (a *account) pause(wait sim.Duration, tokens int) {
	a.paused.AddProduct(uint64(wait), uint64(tokens))
}

// Bound returns the mean step of the tokens so far, and its bound.
func (m *Recorder) Bound() Bound {
	a := &m.account
	if a.tokens == 0 {
		return Bound{}
	}
	step, tokens := a.step(), float64(a.tokens)
	b := Bound{
		ITLFloorS: a.bound.Float() / tokens * 1e-12, StepS: step / tokens * 1e-12,
		FractionOfBound: a.bound.Float() / step, Limit: "memory",
		Share: Share{
			Weights: a.part[sim.Weights].Float() / step, KV: a.part[sim.KV].Float() / step,
			Compute: a.part[sim.Compute].Float() / step, Communication: a.part[sim.Communication].Float() / step,
			Overhead: a.part[sim.Overhead].Float() / step,
		},
		PausedS: a.paused.Float() / tokens * 1e-12,
	}
	if 2*a.compute > a.tokens {
		b.Limit = "compute"
	}
	return b
}
