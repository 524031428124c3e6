package calibration

import (
	"slices"
	"strings"

	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/run"
)

// WithoutAny returns for each run the efficiency that a fit without the runs that share any of its keys gives it, such
// as those of its GPU and those of its model, as Without does for one key.
func (f *Fit) WithoutAny(keys ...func(*Run) string) map[*measured.Run]hardware.Efficiency {
	of := func(r *Run) []string {
		var all []string
		for _, key := range keys {
			all = append(all, key(r))
		}
		return all
	}
	names := make([]string, len(f.Runs))
	for i, r := range f.Runs {
		names[i] = strings.Join(of(r), "\n")
	}
	folds := slices.Compact(slices.Sorted(slices.Values(names)))
	steps := make([][]float64, len(folds))
	run.Each(len(folds), func(k int) {
		out := strings.Split(folds[k], "\n")
		weights := make([]float64, len(f.Runs))
		for i, r := range f.Runs {
			shares := false
			for j, own := range of(r) {
				shares = shares || own == out[j]
			}
			if !shares {
				weights[i] = r.Weight
			}
		}
		steps[k] = f.relax(weights)
	})
	with := map[*measured.Run]hardware.Efficiency{}
	for i, r := range f.Runs {
		k, _ := slices.BinarySearch(folds, names[i])
		with[r.Run] = f.efficiency(r.Prior, r.groups, steps[k])
	}
	return with
}
