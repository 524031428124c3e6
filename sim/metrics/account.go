package metrics

import "github.com/decodesim/decodesim/sim"

// account sums what the steps were made of that tokens waited for: Σ over steps of tokens × time. Divided by the
// tokens it is the mean step that a token waits for.
type account struct {
	tokens  int64
	compute int64 // tokens whose step was compute-bound
	bound   Uint128
	paused  Uint128 // Σ tokens × time from the token before to the step
	part    [sim.NumParts]Uint128
}

// add counts n steps of g that emitted w tokens each, as if all were as long as the first.
func (a *account) add(g *sim.Segment, n int, w uint64) {
	tokens := uint64(n) * w
	a.tokens += int64(tokens)
	if g.ComputeBound {
		a.compute += int64(tokens)
	}
	a.bound.AddProduct(uint64(g.Bound.A), tokens)
	a.part[sim.Weights].AddProduct(uint64(g.Part[sim.Weights].A), tokens)
	a.part[sim.KV].AddProduct(uint64(g.Part[sim.KV].A), tokens)
	a.part[sim.Compute].AddProduct(uint64(g.Part[sim.Compute].A), tokens)
	a.part[sim.Communication].AddProduct(uint64(g.Part[sim.Communication].A), tokens)
	a.part[sim.Overhead].AddProduct(uint64(g.Part[sim.Overhead].A), tokens)
}

// grow counts by how much the steps i of a run of n are longer than the first: Σ w·i·B.
func (a *account) grow(g *sim.Segment, n int, w uint64) {
	pairs := uint64(n) * uint64(n-1) / 2 * w
	a.bound.AddProduct(uint64(g.Bound.B), pairs)
	for p := range a.part {
		switch b := g.Part[p].B; {
		case b > 0:
			a.part[p].AddProduct(uint64(b), pairs)
		case b < 0: // the wait for the host shrinks while the rest of the step grows
			a.part[p].SubProduct(uint64(-b), pairs)
		}
	}
}

// step returns Σ tokens × step.
func (a *account) step() float64 {
	var sum Uint128
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
