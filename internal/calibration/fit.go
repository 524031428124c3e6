package calibration

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/floats"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/freeze"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/run"
)

// Fit is efficiencies fitted to frozen runs. That of a run is its prior, scaled by what the runs of each of its groups
// have in common, such as all of them, those of its engine, or those of its GPU under that engine. A penalty holds each
// scaling to one: a group of few or uninformative runs stays close to the groups above it.
type Fit struct {
	Parameters []Parameter
	Groups     []string // those of all levels
	Runs       []*Run
	Stiffness  float64   // what a scaling one sigma from one costs, in residuals of a run
	Stiffer    []float64 // by how much, level by level; those that are not in it by nothing

	HostStiffer []float64 // and by how much more for what the host takes to prepare and to launch steps

	level  []int      // of each group
	steps  []float64  // logarithms of the scalings, group by group
	before []Residual // of the first simulation, under the priors

	at       []float64   // where residuals and slopes were taken
	residual [][]float64 // of each run, by value
	slopes   [][]float64 // of each run: value by value, by parameter
}

// Run is a frozen run in a fit. Of weight 0 it is not fitted to.
type Run struct {
	*freeze.Frozen
	Prior  hardware.Efficiency
	Weight float64

	groups  []int
	hasTPOT bool
	terms   terms
	flat    []bool // by parameter, whether no value depends on it; nil: not known yet
}

// terms are how residuals count in a loss. A residual is the logarithm of predicted over measured. Beyond its scale it
// counts less than by its square, for some rows no efficiency explains. TTFT counts less than TPOT: scheduling and
// clients decide it more than steps do.
type terms struct{ stepScale, ttftScale, ttftWeight float64 }

// manyTerms are those of a fit to many deployments.
var manyTerms = terms{stepScale: 0.15, ttftScale: 0.3, ttftWeight: 0.2}

// term returns the weight and the scale of a value's residual. Where there is a TPOT, E2E and throughput follow from it
// and from TTFT: they are predicted, but not fitted to.
func (r *Run) term(j int) (weight, scale float64) {
	switch m := r.Values[j].Value.Metric; {
	case m == measured.TTFT:
		return r.Weight * r.terms.ttftWeight, r.terms.ttftScale
	case m != measured.TPOT && r.hasTPOT:
		return 0, r.terms.stepScale
	}
	return r.Weight, r.terms.stepScale
}

// Efficiency returns what the fit gives a run.
func (f *Fit) Efficiency(r *Run) hardware.Efficiency {
	return f.efficiency(r.Prior, r.groups, f.steps)
}

// EfficiencyOf returns what the fit makes of a prior for the runs of groups, one of each level from the first on. One
// that has no runs changes nothing.
func (f *Fit) EfficiencyOf(prior hardware.Efficiency, groups ...string) hardware.Efficiency {
	var named []Group
	for level, name := range groups {
		named = append(named, Group{level, name})
	}
	return f.efficiency(prior, f.placesOf(named), f.steps)
}

// Group is the runs of a name at a level.
type Group struct {
	Level int
	Name  string
}

// Scales returns by what the constants of runs in groups differ from those of runs in others instead, or in none, but
// for what rounds to nothing. Groups without runs change nothing.
func (f *Fit) Scales(in []Group, instead ...Group) (out []catalog.Scale) {
	sum := f.sum(f.placesOf(in), f.steps)
	floats.Sub(sum, f.sum(f.placesOf(instead), f.steps))
	for p, step := range sum {
		times, _ := strconv.ParseFloat(digits(math.Exp(step)), 64)
		if times != 1 {
			out = append(out, catalog.Scale{Constant: f.Parameters[p].Name, Times: times})
		}
	}
	return out
}

// placesOf returns the places of the groups that have runs.
func (f *Fit) placesOf(groups []Group) (at []int) {
	for _, g := range groups {
		if i := slices.Index(f.Groups, groupName(g.Level, g.Name)); i >= 0 {
			at = append(at, i)
		}
	}
	return at
}

func (f *Fit) efficiency(prior hardware.Efficiency, groups []int, x []float64) hardware.Efficiency {
	return scale(f.Parameters, prior, f.sum(groups, x))
}

// sum returns the steps of all groups together, by parameter.
func (f *Fit) sum(groups []int, x []float64) []float64 {
	n := len(f.Parameters)
	sum := make([]float64, n)
	for _, g := range groups {
		for p := range sum {
			sum[p] += x[g*n+p]
		}
	}
	return sum
}

// Residuals returns the logarithms of predicted over measured of a run, value by value.
func (f *Fit) Residuals(r *Run) []float64 { return r.residuals(f.Efficiency(r)) }

func (r *Run) residuals(e hardware.Efficiency) []float64 {
	out := make([]float64, len(r.Values))
	r.Predict(e, out)
	for j := range out {
		out[j] = math.Log(out[j] / r.Values[j].Value.Measured)
	}
	return out
}

// simulated returns the residuals of the simulation that was frozen.
func (r *Run) simulated() []float64 {
	out := make([]float64, len(r.Values))
	for j := range out {
		out[j] = math.Log(r.Values[j].Predicted / r.Values[j].Value.Measured)
	}
	return out
}

// loss is what the fit minimises: pseudo-Huber losses of the residuals, and the penalty.
func (f *Fit) loss(x []float64) float64 {
	losses := make([]float64, len(f.Runs))
	run.Each(len(f.Runs), func(i int) {
		r := f.Runs[i]
		if r.Weight == 0 {
			return
		}
		for j, d := range r.residuals(f.efficiency(r.Prior, r.groups, x)) {
			w, c := r.term(j)
			losses[i] += float64(w * 2 * c * c * (math.Sqrt(1+d*d/(c*c)) - 1))
		}
	})
	sum := 0.0
	for _, l := range losses { // in order: the same sum every time
		sum += l
	}
	for i, s := range x {
		sum += float64(f.penalty(i) * s * s)
	}
	return sum
}

// penalty is the cost of a squared step.
func (f *Fit) penalty(i int) float64 {
	p, group := &f.Parameters[i%len(f.Parameters)], i/len(f.Parameters)
	stiff := f.Stiffness
	if group < len(f.level) {
		stiff *= at(f.Stiffer, f.level[group])
		if p.ofHost() {
			stiff *= at(f.HostStiffer, f.level[group])
		}
	}
	return stiff / (p.Sigma * p.Sigma)
}

// at is the factor of a level; 1: it has none.
func at(factors []float64, level int) float64 {
	if level < len(factors) {
		return factors[level]
	}
	return 1
}

// solve minimises the loss from the present steps by Newton's method, with the curvature that residuals linear in the
// steps would have.
func (f *Fit) solve(ctx context.Context) error {
	if len(f.steps) == 0 {
		f.steps = make([]float64, len(f.Groups)*len(f.Parameters))
	}
	weights := make([]float64, len(f.Runs))
	for i, r := range f.Runs {
		weights[i] = r.Weight
	}
	least := f.loss(f.steps)
	for still, i := 0, 0; i < newtonMax && still < 2; i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		f.linearize(f.steps)
		b := f.normal(f.steps, weights)
		down := slices.Clone(b.right)
		step, ok := b.solve()
		if !ok {
			return errors.New("no fit: its curvature is not that of a minimum")
		}
		x, loss := f.along(step, floats.Dot(down, step), least)
		if !(least-loss > 1e-9+float64(1e-7*math.Abs(least))) {
			still++
		} else {
			still = 0
		}
		if loss < least {
			f.steps, least = x, loss
		}
	}
	return ctx.Err()
}

// newtonMax is how many steps of Newton's method are taken at most.
const newtonMax = 40

// along returns the steps after a step, or the greatest half, quarter and so on of it that lowers the loss by a part of
// what the slope down along it promises; and the loss there.
func (f *Fit) along(step []float64, slope, loss float64) (x []float64, to float64) {
	for share := 1.0; ; share /= 2 {
		x = slices.Clone(f.steps)
		floats.AddScaled(x, share, step)
		to = f.loss(x)
		if to <= loss-float64(1e-4*share*slope) || share < 1e-6 {
			return x, to
		}
	}
}

// Method is how a fit was made, in numbers.
type Method struct {
	Parameters              []Parameter
	Prior                   hardware.Efficiency
	Stiffness, OwnStiffness float64
	Stiffer, HostStiffer    []float64
	StepScale, TTFTScale    float64
	TTFTWeight              float64
	OwnTTFTScale            float64
	OwnTTFTWeight           float64
	Rounds                  int
}

// Method returns how a fit from a prior was made.
func (f *Fit) Method(prior hardware.Efficiency) Method {
	return Method{
		Parameters: f.Parameters, Prior: prior, Stiffness: f.Stiffness, Stiffer: f.Stiffer,
		OwnStiffness: ownStiffness,
		HostStiffer:  f.HostStiffer,
		StepScale:    manyTerms.stepScale, TTFTScale: manyTerms.ttftScale, TTFTWeight: manyTerms.ttftWeight,
		OwnTTFTScale: ownTerms.ttftScale, OwnTTFTWeight: ownTerms.ttftWeight, Rounds: rounds,
	}
}

// PriorValue is where a parameter starts from.
func (m *Method) PriorValue(p *Parameter) float64 { return p.value(m.Prior) }
