package catalog

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/decodesim/decodesim/internal/calibration"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/validation"
)

// table writes the errors of residuals by data, engine and metric.
func table(w io.Writer, columns [][]calibration.Residual) {
	errors := map[string][][]float64{}
	for i, column := range columns {
		for j := range column {
			for _, k := range groupsOf(&column[j]) {
				if errors[k] == nil {
					errors[k] = make([][]float64, len(columns))
				}
				errors[k][i] = append(errors[k][i], 100*column[j].Error)
			}
		}
	}
	var order []string
	for k := range errors {
		order = append(order, k)
	}
	slices.Sort(order)
	for _, k := range order {
		fmt.Fprintf(w, "%-62s %5d", k, len(errors[k][0]))
		for _, percents := range errors[k] {
			e := validation.ErrorsOf(percents)
			fmt.Fprintf(w, "  %6.1f /%6.1f (%+6.1f)", e.MedianPct, e.P90Pct, e.BiasPct)
		}
		fmt.Fprintln(w)
	}
}

// clients names how many there are.
func clients(n int) string {
	switch {
	case n <= 4:
		return "1-4"
	case n <= 16:
		return "5-16"
	case n <= 64:
		return "17-64"
	}
	return "65+"
}

// groupsOf names the lines of the table that a residual is in.
func groupsOf(r *calibration.Residual) []string {
	l := &r.Run.Run.Labels
	source := l.Source
	if l.Quality != "A" && l.Quality != "" {
		source += " " + l.Quality
	}
	all := []string{source + " | " + l.Kind}
	switch l.Source {
	case "inferencex", "nvidia_gap":
		all = []string{"A " + l.Quality, "A " + l.Quality + " | " + l.Engine, "A " + l.Quality + " | class " + l.Class,
			"A " + l.Quality + " | " + l.GPU, "A " + l.Quality + " | clients " + clients(l.Concurrency)}
	case "steps, one rank", "steps, one of several ranks":
		all = []string{"H | " + l.Kind, "H | " + l.Kind + " | " + l.Source, "H | " + l.Kind + " | " + l.Own}
	}
	for i := range all {
		all[i] += " | " + r.Value.Value.Name
	}
	return all
}

// pools writes the errors of disaggregated runs, which are simulated, for their batches depend on prices.
func pools(ctx context.Context, w io.Writer, sets Sets, unfitted []measured.Run) error {
	runs := slices.DeleteFunc(slices.Clone(unfitted), func(r measured.Run) bool {
		return r.Labels.Mode != "disagg" || r.Labels.Quality != "B"
	})
	predictions, err := sets.Predict(ctx, runs)
	if err != nil {
		return err
	}
	errors := map[string][]float64{}
	for _, p := range predictions {
		if l := &p.Run.Labels; p.Skip == "" {
			for _, of := range []string{"all", l.Engine, l.Engine + " " + l.Model + " " + l.GPU} {
				k := "pools | " + of + " | " + p.Value.Name
				errors[k] = append(errors[k], 100*p.Error())
			}
		}
	}
	for _, k := range slices.Sorted(maps.Keys(errors)) {
		e := validation.ErrorsOf(errors[k])
		fmt.Fprintf(w, "%-62s %5d  %6.1f /%6.1f (%+6.1f)\n", k, len(errors[k]), e.MedianPct, e.P90Pct, e.BiasPct)
	}
	return nil
}
