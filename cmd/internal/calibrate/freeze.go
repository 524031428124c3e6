package calibrate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/decodesim/decodesim/cmd/internal/measured"
	"github.com/decodesim/decodesim/cmd/internal/study"
	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/hardware"
)

// Plan says what is fitted to what.
type Plan struct {
	Above      configs.Options // above the scenario of every run
	Parameters []Parameter
	Groups     func(*measured.Labels) []string // of a run, from all runs to its own; nil: all runs are one
	Prior      *hardware.Efficiency            // nil: what the scenario of a run says
	Stiffness  float64                         // see Fit
	Even       bool                            // a deployment of n runs weighs √n, not n
	Told       func(round, done int)           // progress; nil: nobody
}

// Rounds of simulating and fitting. What is priced anew after the first differs little; after the third, hardly.
const rounds = 3

// To fits to measured runs. Skipped says of each run why it was not fitted to, by its place; empty: it was.
func (p *Plan) To(ctx context.Context, runs []measured.Run) (f *Fit, skipped []string, err error) {
	var with study.Efficiencies
	for round := range rounds {
		next := &Fit{Parameters: p.Parameters, Stiffness: p.Stiffness}
		if f != nil {
			next.steps = f.steps
		}
		if skipped, err = p.freeze(ctx, runs, with, next, round); err != nil {
			return nil, nil, err
		}
		if len(next.Runs) == 0 {
			return nil, skipped, nil
		}
		if f != nil && len(next.Groups) != len(f.Groups) {
			return nil, nil, errors.New("calibrate: other runs complete under the fitted efficiencies than under the prior ones")
		}
		f = next
		if err := f.solve(ctx); err != nil {
			return nil, nil, err
		}
		fitted := map[*measured.Run]hardware.Efficiency{}
		for _, r := range f.Runs {
			fitted[r.Frozen.Run] = f.Efficiency(r)
		}
		with = func(run *measured.Run, d *hardware.Deployment) hardware.Efficiency {
			if e, ok := fitted[run]; ok {
				return e
			}
			return d.Efficiency
		}
	}
	f.linearize(f.steps)
	return f, skipped, nil
}

// freeze simulates the runs and puts those that can be fitted to into f.
func (p *Plan) freeze(ctx context.Context, runs []measured.Run, with study.Efficiencies, f *Fit, round int) ([]string, error) {
	frozen, skipped := make([]*study.Frozen, len(runs)), make([]string, len(runs))
	priors := make([]hardware.Efficiency, len(runs))
	done := 0
	study.Each(len(runs), func(i int) {
		priced := func(run *measured.Run, d *hardware.Deployment) hardware.Efficiency {
			if priors[i] = d.Efficiency; p.Prior != nil {
				priors[i] = *p.Prior
			}
			if with != nil {
				return with(run, d)
			}
			return priors[i]
		}
		frozen[i], skipped[i] = study.Freeze(ctx, &runs[i], p.Above, priced, leading)
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for i, x := range frozen {
		switch done++; {
		case skipped[i] != "":
		case len(x.Values) == 0:
			skipped[i] = "no measured TTFT, TPOT, E2E or throughput of the whole run"
		default:
			f.add(&Run{Frozen: x, Prior: priors[i], Weight: 1}, p.groups(&x.Run.Labels))
		}
	}
	if p.Told != nil {
		p.Told(round, done)
	}
	if p.Even {
		f.even()
	}
	return skipped, nil
}

func (p *Plan) groups(l *measured.Labels) []string {
	if p.Groups == nil {
		return []string{"all"}
	}
	return p.Groups(l)
}

// leading picks the values that the data lead with, of many requests together.
func leading(row *measured.Row, v *measured.Value) bool {
	return row.Request < 0 && v.Name == v.Metric.String() && v.Metric != measured.RequestsPerS
}

// add adds a run, and its groups if they are new.
func (f *Fit) add(r *Run, groups []string) {
	for i, name := range groups {
		name = fmt.Sprintf("%d %s", i, name) // groups of different levels are different
		g := slices.Index(f.Groups, name)
		if g < 0 {
			g = len(f.Groups)
			f.Groups = append(f.Groups, name)
		}
		r.groups = append(r.groups, g)
	}
	r.hasTPOT = slices.ContainsFunc(r.Values, func(v study.FrozenValue) bool { return v.Value.Metric == measured.TPOT })
	f.Runs = append(f.Runs, r)
}

// even makes a deployment of n runs weigh √n: runs of one deployment err together.
func (f *Fit) even() {
	n := map[string]float64{}
	for _, r := range f.Runs {
		n[r.Run.Labels.Deployment()]++
	}
	for _, r := range f.Runs {
		r.Weight = 1 / math.Sqrt(n[r.Run.Labels.Deployment()])
	}
}
