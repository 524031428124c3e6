package catalog

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/calibration"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/names"
	"github.com/decodesim/decodesim/internal/validation"
)

// HeldOut is predictions of runs of the catalog, and what was held out of the fit that made each.
type HeldOut struct {
	Name        string
	Predictions []validation.Prediction
}

// The names of what HeldOut returns, in its order.
const (
	InSample      = "in sample"
	DeploymentOut = "deployment left out"
	PairOut       = "pair left out"
	GPUOut        = "GPU left out"
	ModelOut      = "model left out"
	BothOut       = "GPU and model left out"
	ExperimentOut = "experiment left out"
	AfterPoints   = "after a few points"
)

// HeldOut simulates the runs of the catalog again under the efficiencies that are built in; under fits to all but the
// deployment, the model on the GPU, the GPU, the model, or either of the run; to all but its experiment, for
// experiments under open load; and, of deployments with enough runs, to all other deployments and then to
// CalibrationPoints of its own.
func (c *Catalog) HeldOut(ctx context.Context) ([]HeldOut, error) {
	deployment := func(r *calibration.Run) string { return r.Run.Labels.Deployment() }
	gpu := func(r *calibration.Run) string { return catalog.Chip(r.Run.Labels.GPU) }
	model := func(r *calibration.Run) string { return names.ShapeOf(r.Run.Labels.Model) }
	byDeployment := c.Without(deployment)
	points, err := c.points(ctx, byDeployment)
	if err != nil {
		return nil, err
	}
	out := []HeldOut{}
	for _, h := range []struct {
		name string
		with calibration.Efficiencies
	}{
		{InSample, c.inSample()},
		{DeploymentOut, byDeployment},
		{PairOut, c.Without(func(r *calibration.Run) string { return model(r) + " " + gpu(r) })},
		{GPUOut, c.Without(gpu)},
		{ModelOut, c.Without(model)},
		{BothOut, c.WithoutAny(gpu, model)},
		{ExperimentOut, c.experiments()},
		{AfterPoints, points},
	} {
		predictions, err := c.simulate(ctx, h.with)
		if err != nil {
			return nil, err
		}
		out = append(out, HeldOut{h.name, predictions})
	}
	return out, nil
}

// inSample is what is built in, with the digits that its files keep.
func (c *Catalog) inSample() calibration.Efficiencies {
	with, sets := calibration.Efficiencies{}, Sets(c.Efficiencies())
	for _, r := range c.Runs {
		with[r.Run] = sets.On(&r.Run.Labels, &r.Deployment)
	}
	return with
}

// experiments leaves out each run under open load in turn.
func (c *Catalog) experiments() calibration.Efficiencies {
	with := c.Without(func(r *calibration.Run) string {
		if r.Run.Labels.Concurrency == 0 {
			return r.Run.ID
		}
		return ""
	})
	for _, r := range c.Runs {
		if r.Run.Labels.Concurrency > 0 {
			delete(with, r.Run)
		}
	}
	return with
}

// simulate predicts the runs that have an efficiency.
func (c *Catalog) simulate(ctx context.Context, with calibration.Efficiencies) ([]validation.Prediction, error) {
	var runs []measured.Run
	var of []hardware.Efficiency
	for _, r := range c.Runs {
		if e, ok := with[r.Run]; ok {
			runs, of = append(runs, *r.Run), append(of, e)
		}
	}
	place := map[*measured.Run]int{}
	for i := range runs {
		place[&runs[i]] = i
	}
	return validation.Predict(ctx, runs, func(run *measured.Run, _ *hardware.Deployment) hardware.Efficiency {
		return of[place[run]]
	}, nil)
}

// CalibrationPoints is how many runs of a deployment a user is taken to have measured.
const CalibrationPoints = 5

// points fits to a few runs of each deployment, from what the others say, and returns the efficiency for its other
// runs.
func (c *Catalog) points(ctx context.Context, prior calibration.Efficiencies) (calibration.Efficiencies, error) {
	with := calibration.Efficiencies{}
	for _, runs := range c.deployments() {
		if len(runs) < 2*CalibrationPoints {
			continue
		}
		runs = spread(runs)
		f, err := c.Refit(ctx, runs[:CalibrationPoints], prior)
		if err != nil {
			return nil, err
		}
		for _, r := range runs[CalibrationPoints:] {
			with[r.Run] = f.EfficiencyOf(prior[r.Run], "all")
		}
	}
	return with, nil
}

// deployments returns the runs of each deployment, in the order of the data.
func (c *Catalog) deployments() [][]*calibration.Run {
	var all [][]*calibration.Run
	place := map[string]int{}
	for _, r := range c.Runs {
		name := r.Run.Labels.Deployment()
		i, ok := place[name]
		if !ok {
			i = len(all)
			place[name] = i
			all = append(all, nil)
		}
		all[i] = append(all[i], r)
	}
	return all
}

// spread puts first the runs that a user would choose to measure: CalibrationPoints of them, evenly over lengths and
// clients.
func spread(runs []*calibration.Run) []*calibration.Run {
	runs = slices.Clone(runs)
	slices.SortStableFunc(runs, func(a, b *calibration.Run) int {
		x, y := &a.Run.Labels, &b.Run.Labels
		return cmp.Or(cmp.Compare(x.Load, y.Load), cmp.Compare(x.Concurrency, y.Concurrency))
	})
	var chosen, rest []*calibration.Run
	for i, r := range runs {
		if i == 0 || i*CalibrationPoints/len(runs) != (i-1)*CalibrationPoints/len(runs) {
			chosen = append(chosen, r)
		} else {
			rest = append(rest, r)
		}
	}
	return append(chosen, rest...)
}

// Sets is what is built in: efficiencies by engine, and in them by GPU and by model.
type Sets []catalog.Efficiencies

// On returns what is built in for a deployment under the engine and the version that labels say.
func (s Sets) On(l *measured.Labels, d *hardware.Deployment) hardware.Efficiency {
	set := s.under(l.Engine).Under(l.Version)
	e, _ := set.On(&d.GPU, &d.Model)
	return e
}

// under returns the set of an engine, or that for unknown ones.
func (s Sets) under(engine string) *catalog.Efficiencies {
	for _, name := range []string{engine, unknownEngine} {
		if i := slices.IndexFunc(s, func(e catalog.Efficiencies) bool { return e.Name == name }); i >= 0 {
			return &s[i]
		}
	}
	panic(fmt.Sprintf("calibrate: no efficiencies for engine %q, and none for an unknown one", engine))
}

// unknownEngine is the set for engines that nobody measured.
const unknownEngine = "global"

// Predict simulates runs under what is built in, whatever they were fitted to.
func (s Sets) Predict(ctx context.Context, runs []measured.Run) ([]validation.Prediction, error) {
	return validation.Predict(ctx, runs, func(run *measured.Run, d *hardware.Deployment) hardware.Efficiency {
		return s.On(&run.Labels, d)
	}, nil)
}

// PredictAfter simulates a run under efficiencies fitted to that very run, from what is built in, as Own
// does. Nil: it cannot be fitted to.
func (s Sets) PredictAfter(ctx context.Context, run measured.Run) ([]validation.Prediction, error) {
	l := &run.Labels
	set := s.under(l.Engine).Under(l.Version)
	from, _ := set.For(l.GPU, l.Model, l.Precision)
	e, ok, err := calibration.OwnRun(ctx, run, from)
	if err != nil || !ok {
		return nil, err
	}
	return validation.Predict(ctx, []measured.Run{run}, func(*measured.Run,
		*hardware.Deployment) hardware.Efficiency {
		return e
	}, nil)
}

// Method returns how the catalog was fitted.
func (c *Catalog) Method() calibration.Method { return c.Fit.Method(c.prior) }
