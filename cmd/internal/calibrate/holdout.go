package calibrate

import (
	"math"

	"github.com/decodesim/decodesim/cmd/internal/study"
)

// Residual is how a fit that may have seen a value misses it.
type Residual struct {
	Run   *Run
	Value *study.FrozenValue
	Error float64 // predicted / measured − 1
}

// InSample returns the residuals of all runs under the fit that was made of them.
func (f *Fit) InSample() []Residual {
	return f.collect(func(r *Run) []float64 { return f.Residuals(r) })
}

func (f *Fit) collect(of func(*Run) []float64) []Residual {
	parts := make([][]float64, len(f.Runs))
	study.Each(len(f.Runs), func(i int) { parts[i] = of(f.Runs[i]) })
	var out []Residual
	for i, r := range f.Runs {
		for j, d := range parts[i] {
			out = append(out, Residual{r, &r.Values[j], math.Expm1(d)})
		}
	}
	return out
}

// LeaveOut returns the residuals of every run under a fit without the runs of the same key: each is predicted from others
// alone.
func (f *Fit) LeaveOut(key func(*Run) string) []Residual {
	with := f.Without(key)
	return f.collect(func(r *Run) []float64 { return r.residuals(with[r.Run]) })
}
