package catalog

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/calibration"
	"github.com/decodesim/decodesim/internal/freeze"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/names"
	"github.com/decodesim/decodesim/internal/run"
)

// Trial fits once to batches that a store keeps, so that another form of step prices is judged in seconds, and writes
// its errors: in sample, with tenths of the deployments, GPUs and models left out, after a few points of a deployment,
// and of runs that nothing is fitted to. They are those of frozen batches, close to those of new simulations and good
// to compare forms by.
func Trial(ctx context.Context, w io.Writer, files []*measured.File, unfitted []measured.Run,
	store *freeze.Store, prior []string) error {
	start := time.Now()
	var wrong error
	c, err := fitCatalog(ctx, files, func(p *calibration.Plan) {
		p.Rounds, p.Freeze, p.Start = 1, store.Freeze, store.Start
		changed := *p.Prior
		p.Prior = &changed
		wrong = setAll(p.Prior, prior)
	})
	if err := cmp.Or(wrong, err); err != nil {
		return err
	}
	store.Start = c.Ended()
	fmt.Fprintf(w, "%d runs fitted to in %.0f s\n", len(c.Runs), time.Since(start).Seconds())
	gpu := func(r *calibration.Run) string { return catalog.Chip(r.Run.Labels.GPU) }
	model := func(r *calibration.Run) string { return names.ShapeOf(r.Run.Labels.Model) }
	columns := [][]calibration.Residual{c.InSampleResiduals(), c.LeaveOut(tenth), c.LeaveOut(gpu), c.LeaveOut(model)}
	fmt.Fprintf(w, "folds after %.0f s\n", time.Since(start).Seconds())
	table(w, columns)
	after, err := c.afterPoints(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "after %d points of a deployment, %.0f s\n", CalibrationPoints, time.Since(start).Seconds())
	table(w, [][]calibration.Residual{after})
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

// constantsLine writes what is fitted.
func constantsLine(e *hardware.Efficiency) string {
	var s []string
	for _, p := range calibration.Parameters() {
		s = append(s, fmt.Sprintf("%s %.3g", p.Name, p.Of(e)))
	}
	return strings.Join(s, ", ")
}

// setAll sets constants as KEY=VALUE says, by the keys of efficiency files.
func setAll(e *hardware.Efficiency, assignments []string) error {
	for _, assignment := range assignments {
		key, text, _ := strings.Cut(assignment, "=")
		value, err := strconv.ParseFloat(text, 64)
		if err != nil || !set(e, key, value) {
			return fmt.Errorf("--prior %q; expected KEY=VALUE of a constant, such as layer_s=4e-5", assignment)
		}
	}
	return e.Validate()
}

// set sets a constant by its key; false: there is none.
func set(e *hardware.Efficiency, key string, value float64) bool {
	to := reflect.ValueOf(e).Elem()
	for i := range to.NumField() {
		name, _, _ := strings.Cut(to.Type().Field(i).Tag.Get("yaml"), ",")
		if name == key && to.Field(i).CanFloat() {
			to.Field(i).SetFloat(value)
			return true
		}
	}
	return false
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
			return sets.On(&run.Labels, d)
		}
		f, skip := store.Freeze(ctx, r, configs.Options{}, under, calibration.Leading)
		if skip != "" {
			return
		}
		out := make([]float64, len(f.Values))
		f.Predict(sets.On(&r.Labels, &f.Deployment), out)
		for j := range out {
			parts[i] = append(parts[i], calibration.Residual{Run: &calibration.Run{Frozen: f}, Value: &f.Values[j],
				Error: f.Values[j].Value.Unit.Of(out[j])/f.Values[j].Value.Measured - 1})
		}
	})
	return slices.Concat(parts...)
}

// afterPoints returns the errors of the other runs of deployments of which a few are fitted to.
func (c *Catalog) afterPoints(ctx context.Context) ([]calibration.Residual, error) {
	with, err := c.points(ctx, c.Without(func(r *calibration.Run) string { return r.Run.Labels.Deployment() }))
	if err != nil {
		return nil, err
	}
	var all []calibration.Residual
	for _, r := range c.Runs {
		e, ok := with[r.Run]
		if !ok || r.Weight == 0 {
			continue
		}
		out := make([]float64, len(r.Values))
		r.Predict(e, out)
		for j := range out {
			all = append(all, calibration.Residual{Run: r, Value: &r.Values[j],
				Error: out[j]/r.Values[j].Value.Measured - 1}) // in its unit, as the fit took it
		}
	}
	return all, nil
}
