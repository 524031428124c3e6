package metrics

import "github.com/decodesim/decodesim/sim"

// account sums what the steps that tokens waited for were made of, a token-step at a time: Σ over steps of tokens ×
// time. Dividing by the tokens gives the mean step that a token waits for.
type account struct {
	tokens  int64
	compute int64 // tokens whose step was bound by compute
	bound   Uint128
	held    Uint128 // Σ tokens × time between the token before and the step
	part    [sim.NumParts]Uint128
}

// add counts n steps of g that emitted w tokens each, as if all were like the first.
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

// grow counts what each of those steps is longer than the one before: Σ w·i·B over the steps i.
func (a *account) grow(g *sim.Segment, n int, w uint64) {
	pairs := uint64(n) * uint64(n-1) / 2 * w
	a.bound.AddProduct(uint64(g.Bound.B), pairs)
	for p := range a.part {
		switch b := g.Part[p].B; {
		case b > 0:
			a.part[p].AddProduct(uint64(b), pairs)
		case b < 0: // the wait for a host, while the rest of the step grows
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

// hold counts so many tokens that had to wait before their step began.
func (a *account) hold(wait sim.Duration, tokens int) {
	a.held.AddProduct(uint64(wait), uint64(tokens))
}
