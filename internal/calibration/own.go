package calibration

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/validation"
)

// ownStiffness weighs the prior against runs of one deployment, which err together: what is left between them is much
// less than what is between deployments. Of 0.0003 to 0.3 it predicts the other runs of a deployment best after five of
// them.
const ownStiffness = 0.001

// ownTerms are those of a fit to one deployment. Of a few runs of it a TTFT that queues or frontends decide would have
// the constants of steps explain it: counted as among many deployments, in a trial, TPOT of the other runs after five
// was 3.3 % off in the median and 12.8 nine times in ten, and TTFT 8.8 and 34.5; so it is 3.0 and 11.2, and 9.2 and
// 36.3. Either half of the deployments chooses the same.
var ownTerms = terms{stepScale: manyTerms.stepScale, ttftScale: 0.1, ttftWeight: 0.1}

// ownStepWeight is what a single step weighs beside the mean of a run, for it is one step.
const ownStepWeight = 0.3

// ownWeight is what a run weighs in a fit to its deployment.
func ownWeight(run *measured.Run) float64 {
	if run.Priced != nil {
		return ownStepWeight
	}
	return 1
}

// Own fits to all runs of the files that can be simulated; they must be of one GPU and engine.
func Own(ctx context.Context, files []*measured.File, above configs.Options,
	progress func(round, done int)) (*Calibration,
	error) {
	var runs []measured.Run
	for _, f := range files {
		runs = append(runs, measured.Fittable(f.Runs)...)
	}
	if err := alike(runs); err != nil {
		return nil, err
	}
	p := Plan{Above: above, Parameters: Parameters(), Stiffness: ownStiffness, Possible: true, Within: true,
		Progress: progress, Prior: amongModels(runs, above)}
	f, skipped, err := p.To(ctx, runs)
	if err != nil {
		return nil, err
	}
	if err := fitting(f, runs, skipped); err != nil {
		return nil, err
	}
	return p.judge(ctx, runs, f)
}

// amongModels returns what runs of several models start from, of whose constants each has its own: the geometric mean
// over models, for a user's file has one of each. Nil: all start from the same, or from what has different sources.
func amongModels(runs []measured.Run, above configs.Options) *hardware.Efficiency {
	var all []hardware.Efficiency
	seen := map[string]bool{}
	for i := range runs {
		r := &runs[i]
		of := r.Labels.Model + " " + r.Labels.Precision
		if r.Skip != "" || seen[of] {
			continue
		}
		seen[of] = true
		if b, skip := validation.Build(context.Background(), r, above, nil); skip == "" {
			all = append(all, b.Deployment.Efficiency)
			b.Close()
		}
	}
	if len(all) < 2 || slices.ContainsFunc(all, func(e hardware.Efficiency) bool { return e.Source != all[0].Source }) {
		return nil
	}
	mean := all[0]
	parameters := Parameters()
	for i := range parameters {
		p, sum := &parameters[i], 0.0
		for _, e := range all {
			sum += math.Log(p.value(e))
		}
		if p.value(mean) > 0 {
			*p.at(&mean) = math.Exp(sum / float64(len(all)))
		}
	}
	return &mean
}

// OwnRun returns the efficiency fitted to a single run from what was known, as Own would. Not ok: it cannot be fitted
// to.
func OwnRun(ctx context.Context, run measured.Run, prior hardware.Efficiency) (e hardware.Efficiency, ok bool,
	err error) {
	p := Plan{Parameters: Parameters(), Prior: &prior, Stiffness: ownStiffness, Possible: true, Within: true}
	f, _, err := p.To(ctx, []measured.Run{run})
	if err != nil || f == nil {
		return prior, false, err
	}
	return f.rounded(prior, f.Efficiency(f.Runs[0])), true, nil
}

// alike refuses runs of several GPUs or engines, whose efficiencies are not the same.
func alike(runs []measured.Run) error {
	var first *measured.Run
	for i := range runs {
		r := &runs[i]
		switch {
		case r.Skip != "":
		case first == nil:
			first = r
		case first.Labels.GPU != r.Labels.GPU || first.Labels.Engine != r.Labels.Engine:
			return fmt.Errorf("run %q is of %s and run %q of %s; expected one GPU and one engine: calibrate each by itself",
				first.ID, software(&first.Labels), r.ID, software(&r.Labels))
		}
	}
	return nil
}

func software(l *measured.Labels) string { return l.Engine + " on " + l.GPU }

// fitting refuses a fit to nothing, or from several priors.
func fitting(f *Fit, runs []measured.Run, skipped []string) error {
	switch {
	case len(runs) == 0:
		return errors.New("the data hold no run; expected one at least")
	case f == nil:
		return fmt.Errorf("no run of %d can be fitted to; the first, %q: %s", len(runs), runs[0].ID, skipped[0])
	}
	first := f.Runs[0]
	if f.weighed() == 0 {
		return fmt.Errorf("every run that can be simulated beats the bound of the data sheet: %q measured a TPOT of %.3g "+
			"ms, and %s takes %.3g ms at least; expected runs without speculation, on the GPU and of the model that the data "+
			"say",
			first.Run.ID, first.beatsBound().Measured, first.Run.Labels.GPU, first.FloorMS)
	}
	for _, r := range f.Runs {
		if r.Prior != first.Prior {
			return fmt.Errorf("runs %q and %q start from different efficiencies, of %q and %q; expected one for all: "+
				"calibrate each by itself",
				first.Run.ID, r.Run.ID, first.Prior.Source, r.Prior.Source)
		}
	}
	return nil
}

// judge simulates the runs once more, under the constants as their file will have them, and sums up what came of the
// fit.
func (p *Plan) judge(ctx context.Context, runs []measured.Run, f *Fit) (*Calibration, error) {
	prior := f.Runs[0].Prior
	c := &Calibration{Schema: SchemaCalibration, Prior: prior, Efficiency: f.rounded(prior, f.Efficiency(f.Runs[0]))}
	with := Efficiencies{}
	for _, r := range f.Runs {
		with[r.Run] = c.Efficiency
	}
	last, skipped, err := p.freeze(ctx, runs, with, rounds)
	if err != nil {
		return nil, err
	}
	last.follow(f)
	last.linearize(last.steps)
	c.constants(last)
	c.skips(skipped)
	for _, r := range last.Impossible() {
		c.TooFast = append(c.TooFast, TooFast{r.Run.ID, r.beatsBound().Measured, r.FloorMS})
	}
	after, out := last.collect((*Run).simulated), []Residual(nil)
	c.Runs = last.weighed()
	if c.Runs > 1 {
		out, err = last.LeaveOneOut(ctx)
		if err != nil {
			return nil, err
		}
	}
	c.Errors = errorsBy(f.before, after, out)
	c.Efficiency.Source = c.source()
	return c, nil
}

// rounded returns e with as many digits as a fit deserves. What was not fitted is the prior, digit by digit.
func (f *Fit) rounded(prior, e hardware.Efficiency) hardware.Efficiency {
	out := Rounded(e)
	for i := range f.Parameters {
		if p := &f.Parameters[i]; p.value(e) == p.value(prior) {
			*p.at(&out) = p.value(prior)
		}
	}
	return out
}
