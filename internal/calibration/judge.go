package calibration

import (
	"gonum.org/v1/gonum/mat"

	"github.com/decodesim/decodesim/internal/measured"
)

// Known returns, for each parameter of the scaling that all runs share, the share of what is known of it that comes
// from the data: near 1 they decide it, near 0 it rests on the prior alone.
func (f *Fit) Known() []float64 {
	h := mat.NewSymDense(len(f.steps), nil)
	f.curvature(h, f.steps)
	var chol mat.Cholesky
	known := make([]float64, len(f.Parameters))
	if !chol.Factorize(h) {
		return known
	}
	var inverse mat.SymDense
	if err := chol.InverseTo(&inverse); err != nil {
		return known
	}
	for p := range known {
		known[p] = max(0, 1-float64(2*f.penalty(p)*inverse.At(p, p)))
	}
	return known
}

// Impossible returns the runs that beat the bound.
func (f *Fit) Impossible() []*Run {
	var out []*Run
	for _, r := range f.Runs {
		if r.beatsBound() != nil {
			out = append(out, r)
		}
	}
	return out
}

// beatsBound returns a measured TPOT or step below the least mean step that the data sheet allows; nil: there is none.
// Such a run speculates, or is not what it says it is.
func (r *Run) beatsBound() *measured.Value {
	for i := range r.Values {
		if v := r.Values[i].Value; (v.Metric == measured.TPOT || v.Metric == measured.Duration) && v.Measured < r.FloorMS {
			return v
		}
	}
	return nil
}
