package catalog

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/calibration"
	"github.com/decodesim/decodesim/internal/freeze"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/names"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/internal/validation"
)

// Trial fits once to batches that a store keeps, so that another form of step prices is judged in seconds, and writes
// its errors: in sample, with tenths of the deployments, GPUs and models left out, and of runs that nothing is fitted
// to. They are those of frozen batches, close to those of new simulations and good to compare forms by.
func Trial(ctx context.Context, w io.Writer, files []*measured.File, unfitted []measured.Run,
	store *freeze.Store, prior []string) error {
	start := time.Now()
	c, err := fitCatalog(ctx, files, func(p *calibration.Plan) {
		p.Rounds, p.Freeze, p.Start = 1, store.Freeze, store.Start
		e := *p.Prior
		p.Prior = &e
		for _, assignment := range prior {
			key, text, _ := strings.Cut(assignment, "=")
			if value, err := strconv.ParseFloat(text, 64); err == nil {
				set(p.Prior, key, value)
			}
		}
	})
	if err != nil {
		return err
	}
	store.Start = c.Ended()
	fmt.Fprintf(w, "%d runs fitted to in %.0f s\n", len(c.Runs), time.Since(start).Seconds())
	gpu := func(r *calibration.Run) string { return r.Run.Labels.GPU }
	model := func(r *calibration.Run) string { return names.ShapeOf(r.Run.Labels.Model) }
	columns := [][]calibration.Residual{
		c.LeaveOut(func(*calibration.Run) string { return "none" }), // replaced below: nothing is left out
		c.LeaveOut(tenth), c.LeaveOut(gpu), c.LeaveOut(model),
	}
	columns[0] = c.InSampleResiduals()
	fmt.Fprintf(w, "folds after %.0f s\n", time.Since(start).Seconds())
	table(w, columns)
	sets := Sets(c.Efficiencies())
	table(w, [][]calibration.Residual{unseen(ctx, sets, unfitted, store)})
	if err := pools(ctx, w, sets, unfitted); err != nil {
		return err
	}
	for _, set := range sets {
		fmt.Fprintf(w, "%s: %s\n", set.Name, constantsLine(&set.Default))
		for i := range set.GPUs {
			fmt.Fprintf(w, "  %s: %s\n", set.GPUs[i].GPU, constantsLine(&set.GPUs[i].Efficiency))
		}
	}
	fmt.Fprintf(w, "in all %.0f s\n", time.Since(start).Seconds())
	return nil
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
		if p.Skip == "" {
			for _, of := range []string{"all", p.Run.Labels.Engine, p.Run.Labels.Engine + " " + p.Run.Labels.Model + " " + p.Run.Labels.GPU} {
				k := "pools | " + of + " | " + p.Value.Name
				errors[k] = append(errors[k], 100*p.Error())
			}
		}
	}
	for _, k := range slices.Sorted(maps.Keys(errors)) {
		e := validation.ErrorsOf(errors[k])
		fmt.Fprintf(w, "%-62s %5d  %6.1f /%6.1f (%+6.1f)\n", k, len(errors[k]), e.MedianPct, e.P90Pct, median(errors[k]))
	}
	return nil
}

func constantsLine(e *hardware.Efficiency) string {
	var s []string
	for _, p := range calibration.Parameters() {
		s = append(s, fmt.Sprintf("%s %.3g", p.Name, p.Of(e)))
	}
	return strings.Join(s, ", ")
}

// set sets a constant by its key.
func set(e *hardware.Efficiency, key string, value float64) {
	to := reflect.ValueOf(e).Elem()
	for i := range to.NumField() {
		if name, _, _ := strings.Cut(to.Type().Field(i).Tag.Get("yaml"), ","); name == key {
			to.Field(i).SetFloat(value)
		}
	}
}

// tenth deals deployments to ten folds.
func tenth(r *calibration.Run) string {
	h := fnv.New32()
	_, _ = h.Write([]byte(r.Run.Labels.Deployment()))
	return fmt.Sprint(h.Sum32() % 10)
}

// unseen predicts runs that nothing is fitted to, on what is built in.
func unseen(ctx context.Context, sets Sets, runs []measured.Run, store *freeze.Store) []calibration.Residual {
	parts := make([][]calibration.Residual, len(runs))
	run.Each(len(runs), func(i int) {
		r := &runs[i]
		if r.Skip != "" || r.Priced != nil {
			return
		}
		under := func(run *measured.Run, d *hardware.Deployment) hardware.Efficiency {
			return sets.On(run.Labels.Engine, d)
		}
		f, skip := store.Freeze(ctx, r, configs.Options{}, under, calibration.Leading)
		if skip != "" {
			return
		}
		out := make([]float64, len(f.Values))
		f.Predict(sets.On(r.Labels.Engine, &f.Deployment), out)
		for j := range out {
			parts[i] = append(parts[i], calibration.Residual{Run: &calibration.Run{Frozen: f}, Value: &f.Values[j],
				Error: f.Values[j].Value.Unit.Of(out[j])/f.Values[j].Value.Measured - 1})
		}
	})
	return slices.Concat(parts...)
}

// table writes the errors of residuals by data, engine and metric.
func table(w io.Writer, columns [][]calibration.Residual) {
	keys := func(r *calibration.Residual) []string {
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
	errors := map[string][][]float64{}
	for i, column := range columns {
		for j := range column {
			for _, k := range keys(&column[j]) {
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
			fmt.Fprintf(w, "  %6.1f /%6.1f (%+6.1f)", e.MedianPct, e.P90Pct, median(percents))
		}
		fmt.Fprintln(w)
	}
}

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

func median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}
