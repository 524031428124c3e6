package metrics

import "github.com/decodesim/decodesim/sim"

// account sums what the steps that tokens waited for were made of, a token-step at a time: Σ over steps of tokens ×
// time. Dividing by the tokens gives the mean step that a token waits for.
type account struct {
	tokens  int64
	compute int64 // tokens whose step was bound by compute
	bound   Uint128
	part    [sim.NumParts]Uint128
}

// add counts n steps of g that emitted w tokens each.
func (a *account) add(g *sim.Segment, n int, w uint64) {
	a.tokens += int64(n) * int64(w)
	if g.ComputeBound {
		a.compute += int64(n) * int64(w)
	}
	addAffine(&a.bound, &g.Bound, n, w)
	for p := range a.part {
		addAffine(&a.part[p], &g.Part[p], n, w)
	}
}

func addAffine(s *Uint128, f *sim.Affine, n int, w uint64) {
	s.AddProduct(uint64(f.Sum(n)), w)
}

// step returns Σ tokens × step.
func (a *account) step() float64 {
	var sum Uint128
	for _, p := range a.part {
		sum.Add(p)
	}
	return sum.Float()
}
