package calibration

import (
	"context"
	"math"
	"slices"
	"strconv"

	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/freeze"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/run"
)

// Residual is how a fit that may have seen a value misses it.
type Residual struct {
	Run   *Run
	Value *freeze.FrozenValue
	Error float64 // predicted / measured − 1
}

// collect gathers residuals of the runs that are fitted to.
func (f *Fit) collect(of func(*Run) []float64) []Residual {
	parts := make([][]float64, len(f.Runs))
	run.Each(len(f.Runs), func(i int) {
		if f.Runs[i].Weight > 0 {
			parts[i] = of(f.Runs[i])
		}
	})
	var out []Residual
	for i, r := range f.Runs {
		for j, d := range parts[i] {
			out = append(out, Residual{r, &r.Values[j], math.Expm1(d)})
		}
	}
	return out
}

// weighed returns the number of runs that are fitted to.
func (f *Fit) weighed() int {
	n := 0
	for _, r := range f.Runs {
		if r.Weight > 0 {
			n++
		}
	}
	return n
}

// Refit fits to a few runs of one deployment anew, from what is known of each without them.
func (f *Fit) Refit(ctx context.Context, runs []*Run, prior Efficiencies) (*Fit, error) {
	again := &Fit{Parameters: f.Parameters, Groups: []string{"0 all"}, Stiffness: ownStiffness}
	for _, r := range runs {
		again.Runs = append(again.Runs, &Run{Frozen: r.Frozen, Prior: prior[r.Run], Weight: ownWeight(r.Run),
			groups: []int{0}, hasTPOT: r.hasTPOT, terms: ownTerms})
	}
	return again, again.solve(ctx)
}

// Without returns for each run the efficiency that a fit without the runs of the same key gives it. The fit is taken
// from the slopes of the whole one.
func (f *Fit) Without(key func(*Run) string) map[*measured.Run]hardware.Efficiency {
	var keys []string
	for _, r := range f.Runs {
		keys = append(keys, key(r))
	}
	folds := slices.Compact(slices.Sorted(slices.Values(keys)))
	steps := make([][]float64, len(folds))
	run.Each(len(folds), func(k int) {
		weights := make([]float64, len(f.Runs))
		for i, r := range f.Runs {
			if keys[i] != folds[k] {
				weights[i] = r.Weight
			}
		}
		steps[k] = f.relax(weights)
	})
	with := map[*measured.Run]hardware.Efficiency{}
	for i, r := range f.Runs {
		k, _ := slices.BinarySearch(folds, keys[i])
		with[r.Run] = f.efficiency(r.Prior, r.groups, steps[k])
	}
	return with
}

// LeaveOut returns the residuals of every run under a fit without the runs of the same key: each is predicted from
// others alone.
func (f *Fit) LeaveOut(key func(*Run) string) []Residual {
	with := f.Without(key)
	return f.collect(func(r *Run) []float64 { return r.residuals(with[r.Run]) })
}

// InSampleResiduals returns the residuals of every run under the fit.
func (f *Fit) InSampleResiduals() []Residual { return f.collect(f.Residuals) }

// LeaveOneOut returns the residuals of every run under a fit to all others. Few runs are fitted to anew, for each of
// them may be the only one to tell something; of many, none changes much, and the slopes will do.
func (f *Fit) LeaveOneOut(ctx context.Context) ([]Residual, error) {
	const few = 60
	if len(f.Runs) > few {
		return f.LeaveOut(func(r *Run) string { return strconv.Itoa(slices.Index(f.Runs, r)) }), nil
	}
	with := Efficiencies{}
	for i, r := range f.Runs {
		others := &Fit{Parameters: f.Parameters, Groups: f.Groups, Stiffness: f.Stiffness, Stiffer: f.Stiffer,
			HostStiffer: f.HostStiffer, level: f.level}
		others.Runs = slices.Delete(slices.Clone(f.Runs), i, i+1)
		others.steps = slices.Clone(f.steps)
		if err := others.solve(ctx); err != nil {
			return nil, err
		}
		with[r.Run] = others.Efficiency(r)
	}
	return f.collect(func(r *Run) []float64 { return r.residuals(with[r.Run]) }), nil
}
