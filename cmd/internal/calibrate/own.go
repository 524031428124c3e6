package calibrate

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/decodesim/decodesim/cmd/internal/measured"
	"github.com/decodesim/decodesim/cmd/internal/study"
	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/hardware"
)

// Calibration is the efficiency of one GPU under one engine, fitted to a user's own measurements from what was known.
type Calibration struct {
	Efficiency hardware.Efficiency
	Prior      hardware.Efficiency
	Constants  []Constant
	Skipped    map[string]int // runs that were not fitted to, by reason
	Impossible []string       // ids of runs that beat the bound
	Runs       int

	Before, InSample, LeftOut []Residual // LeftOut: each run predicted from the others alone; nil: of one run
}

// Constant is a fitted constant, before and after.
type Constant struct {
	Name          string
	Prior, Fitted float64
	Known         float64 // share of what is known of it that the data say, 0 to 1
}

// ownStiffness weighs the prior against runs of one deployment, which err together: what is left between them is about a
// third of what is between deployments, a tenth of it when squared.
const ownStiffness = 0.01

// Own fits to all runs of the files that can be simulated; they must be of one GPU and engine.
func Own(ctx context.Context, files []*measured.File, above configs.Options, told func(round, done int)) (*Calibration, error) {
	var runs []measured.Run
	for _, f := range files {
		runs = append(runs, f.Runs...)
	}
	if err := alike(runs); err != nil {
		return nil, err
	}
	p := Plan{Above: above, Parameters: Parameters(), Stiffness: ownStiffness, Told: told}
	f, skipped, err := p.To(ctx, runs)
	if err != nil {
		return nil, err
	}
	if f == nil {
		return nil, fmt.Errorf("none of the %d runs can be fitted to; the first, %q: %s", len(runs), runs[0].ID, skipped[0])
	}
	c := &Calibration{Prior: f.Runs[0].Prior, Runs: len(f.Runs), Skipped: map[string]int{}}
	for _, why := range skipped {
		if why != "" {
			c.Skipped[why]++
		}
	}
	for _, r := range f.Impossible() {
		c.Impossible = append(c.Impossible, r.Run.ID)
	}
	c.Efficiency = Rounded(f.Efficiency(f.Runs[0]))
	for i, share := range f.Known() {
		p := &f.Parameters[i]
		if p.value(c.Prior) > 0 {
			c.Constants = append(c.Constants, Constant{p.Name, p.value(c.Prior), p.value(c.Efficiency), share})
		}
	}
	c.Before = f.collect(func(r *Run) []float64 { return r.residuals(r.Prior) })
	c.InSample = f.collect(func(r *Run) []float64 { return r.residuals(c.Efficiency) })
	if len(f.Runs) > 1 {
		c.LeftOut = f.LeaveOut(func(r *Run) string { return r.Run.ID })
	}
	c.Efficiency.Source = c.source()
	return c, nil
}

// alike refuses runs of several GPUs or engines, whose efficiencies are not the same.
func alike(runs []measured.Run) error {
	var first *measured.Labels
	for i := range runs {
		l := &runs[i].Labels
		switch {
		case runs[i].Skip != "":
		case first == nil:
			first = l
		case first.GPU != l.GPU || first.Engine != l.Engine:
			return fmt.Errorf("the data are of %s on %s and of %s on %s, such as run %q; expected one GPU and engine at a time",
				first.Engine, first.GPU, l.Engine, l.GPU, runs[i].ID)
		}
	}
	return nil
}

// source says what the file rests on.
func (c *Calibration) source() string {
	s := fmt.Sprintf("decodesim calibrate: %d runs; TPOT %s in sample", c.Runs, inWords(c.InSample))
	if c.LeftOut != nil {
		s += ", " + inWords(c.LeftOut) + " on runs left out"
	}
	return s
}

func inWords(residuals []Residual) string {
	e := ErrorsOf(residuals, measured.TPOT)
	if e.N == 0 {
		return "not measured"
	}
	return fmt.Sprintf("within %.1f %%", e.MedianPct)
}

// ErrorsOf sums up the errors of a metric.
func ErrorsOf(residuals []Residual, m measured.Metric) study.Errors {
	var percents []float64
	for _, r := range residuals {
		if r.Value.Value.Metric == m {
			percents = append(percents, 100*r.Error)
		}
	}
	return study.ErrorsOf(percents)
}

// Head is the comment above the constants in the file.
func (c *Calibration) Head() string {
	var unknown []string
	for _, k := range c.Constants {
		if k.Known < Decided {
			unknown = append(unknown, k.Name)
		}
	}
	if len(unknown) == 0 {
		return "What was measured of one GPU and engine."
	}
	return "What was measured of one GPU and engine. The data do not tell " + strings.Join(unknown, ", ") + ": they are as before."
}

// Decided is the share above which the data, and not the prior, say what a constant is.
const Decided = 0.5

// Change is how much a constant moved, in percent.
func (k *Constant) Change() float64 { return 100 * math.Expm1(math.Log(k.Fitted/k.Prior)) }
