package calibration

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/freeze"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/internal/validation"
)

// chooser returns a prior with what is chosen by the engine.
type chooser = func(prior hardware.Efficiency, engine string) hardware.Efficiency

// Plan says what is fitted to what.
type Plan struct {
	Above      configs.Options // above the scenario of every run
	Parameters []Parameter
	Groups     func(*measured.Labels) []string // of a run, from all runs to its own; nil: all runs are one
	Prior      *hardware.Efficiency            // nil: what the scenario of a run says
	Choose     chooser                         // sets what is chosen by the engine and not fitted; nil: nothing
	Stiffness  float64                         // see Fit
	Stiffer    []float64                       // see Fit
	Even       bool                            // a deployment of n runs weighs √n, not n
	Possible   bool                            // runs that beat the bound are not fitted to
	Within     bool                            // the runs are of one deployment, and their TTFT counts as ownTerms say
	Progress   func(round, done int)           // progress; nil: nobody

	HostStiffer []float64 // see Fit

	Weigh  func(*measured.Run) float64 // of a run, beside others of its deployment; nil: 1
	Freeze Freezer                     // what simulates a run; nil: freeze.Freeze
	Rounds int                         // of simulating and fitting; 0: those that a catalogue takes
	Start  Start                       // where the first fit starts
}

// Start is scalings of groups, by the name of the group and of the parameter; those of a fit end with it.
type Start map[string]map[string]float64

// Ended returns where the fit ended.
func (f *Fit) Ended() Start {
	start, n := Start{}, len(f.Parameters)
	for g, name := range f.Groups {
		start[name] = map[string]float64{}
		for p := range f.Parameters {
			start[name][f.Parameters[p].Name] = f.steps[g*n+p]
		}
	}
	return start
}

func (f *Fit) startAt(start Start) {
	n := len(f.Parameters)
	for g, name := range f.Groups {
		for p := range f.Parameters {
			f.steps[g*n+p] = start[name][f.Parameters[p].Name]
		}
	}
}

// Freezer simulates a run and keeps its batches.
type Freezer = func(context.Context, *measured.Run, configs.Options, validation.Efficiencies,
	func(*measured.Row, *measured.Value) bool) (*freeze.Frozen, string)

// rounds of simulating and fitting. What is priced anew after the first differs little; after the third, hardly.
const rounds = 3

// OwnRounds is how many times Own simulates every run: to fit to it, and once more under what was fitted.
const OwnRounds = rounds + 1

// Efficiencies is the efficiency of runs; those that are not in it are not predicted.
type Efficiencies map[*measured.Run]hardware.Efficiency

// To fits to measured runs. Skipped says of each run why it was not fitted to, by its place; empty: it was. Where none
// can be simulated there is no fit: nil.
func (p *Plan) To(ctx context.Context, runs []measured.Run) (f *Fit, skipped []string, err error) {
	var with Efficiencies
	for round := range cmp.Or(p.Rounds, rounds) {
		next, why, err := p.freeze(ctx, runs, with, round)
		if err != nil || len(next.Runs) == 0 {
			return nil, why, err
		}
		next.follow(f)
		if f == nil {
			next.startAt(p.Start)
		}
		if err := next.solve(ctx); err != nil {
			return nil, nil, err
		}
		f, skipped, with = next, why, next.efficiencies()
	}
	f.linearize(f.steps)
	return f, skipped, nil
}

// freeze simulates the runs, under the efficiencies that are given or else their priors, and returns a fit to those
// that can be fitted to, which is still to be solved.
func (p *Plan) freeze(ctx context.Context, runs []measured.Run, with Efficiencies, round int) (*Fit, []string, error) {
	frozen, skipped := make([]*Run, len(runs)), make([]string, len(runs))
	steps := &freeze.Steps{}
	var mu sync.Mutex
	done := 0
	run.Each(len(runs), func(i int) {
		frozen[i], skipped[i] = p.freezeOne(ctx, &runs[i], with, steps)
		mu.Lock()
		defer mu.Unlock()
		done++
		if p.Progress != nil {
			p.Progress(round, done)
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	f := &Fit{Parameters: p.Parameters, Stiffness: p.Stiffness, Stiffer: p.Stiffer, HostStiffer: p.HostStiffer}
	for i, r := range frozen {
		if skipped[i] == "" {
			f.add(r, p.groups(&r.Run.Labels))
		}
	}
	if p.Even {
		f.even()
	}
	return f, skipped, nil
}

func (p *Plan) freezeOne(ctx context.Context, run *measured.Run, with Efficiencies, steps *freeze.Steps) (*Run,
	string) {
	r := &Run{Weight: 1, terms: manyTerms}
	if p.Within {
		r.Weight, r.terms = ownWeight(run), ownTerms
	}
	if p.Weigh != nil {
		r.Weight = p.Weigh(run)
	}
	under := func(run *measured.Run, d *hardware.Deployment) hardware.Efficiency {
		r.Prior = d.Efficiency
		if p.Prior != nil {
			r.Prior = *p.Prior
		}
		if p.Choose != nil {
			r.Prior = p.Choose(r.Prior, run.Labels.Engine)
		}
		if e, ok := with[run]; ok {
			return e
		}
		return r.Prior
	}
	var frozen *freeze.Frozen
	var skip string
	switch {
	case run.Priced != nil && run.Priced.Step != nil:
		frozen, skip = steps.Step(run, p.Above, under)
	case p.Freeze != nil:
		frozen, skip = p.Freeze(ctx, run, p.Above, under, Leading)
	default:
		frozen, skip = freeze.Freeze(ctx, run, p.Above, under, Leading)
	}
	switch {
	case skip != "":
		return nil, skip
	case len(frozen.Values) == 0:
		return nil, "no measured TTFT, TPOT, E2E or throughput of the whole run"
	}
	r.Frozen = frozen
	if (p.Possible || run.Priced != nil) && r.beatsBound() != nil {
		r.Weight = 0
	}
	return r, ""
}

func (p *Plan) groups(l *measured.Labels) []string {
	if p.Groups == nil {
		return []string{"all"}
	}
	return p.Groups(l)
}

// Leading picks the values that the data lead with, of many requests together.
func Leading(row *measured.Row, v *measured.Value) bool {
	return row.Request < 0 && v.Name == v.Metric.String() && v.Metric != measured.RequestsPerS
}

// add adds a run, and its groups if they are new. One without a name is none.
func (f *Fit) add(r *Run, groups []string) {
	for i, name := range groups {
		if name == "" {
			continue
		}
		name = groupName(i, name)
		g := slices.Index(f.Groups, name)
		if g < 0 {
			g = len(f.Groups)
			f.Groups, f.level = append(f.Groups, name), append(f.level, i)
		}
		r.groups = append(r.groups, g)
	}
	r.hasTPOT = slices.ContainsFunc(r.Values, func(v freeze.FrozenValue) bool { return v.Value.Metric == measured.TPOT })
	f.Runs = append(f.Runs, r)
}

// groupName tells groups of different levels apart.
func groupName(level int, name string) string { return fmt.Sprintf("%d %s", level, name) }

// even makes a deployment of runs that weigh n weigh √n: runs of one deployment err together.
func (f *Fit) even() {
	n := map[string]float64{}
	for _, r := range f.Runs {
		n[r.Run.Labels.Deployment()] += r.Weight
	}
	for _, r := range f.Runs {
		if r.Weight == 0 {
			continue
		}
		r.Weight /= math.Sqrt(n[r.Run.Labels.Deployment()])
	}
}

// follow starts where another fit ended, nil: at the priors. Other runs may complete under its efficiencies, and so
// make other groups.
func (f *Fit) follow(last *Fit) {
	n := len(f.Parameters)
	f.steps = make([]float64, len(f.Groups)*n)
	if last == nil {
		f.before = f.collect((*Run).simulated)
		return
	}
	f.before = last.before
	for g, name := range f.Groups {
		if h := slices.Index(last.Groups, name); h >= 0 {
			copy(f.steps[g*n:(g+1)*n], last.steps[h*n:])
		}
	}
}

// efficiencies returns what the fit gives each run.
func (f *Fit) efficiencies() Efficiencies {
	with := Efficiencies{}
	for _, r := range f.Runs {
		with[r.Run] = f.Efficiency(r)
	}
	return with
}
