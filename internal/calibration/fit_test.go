package calibration

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/internal/calibration/fittest"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/soak"
)

// catalogLike is a stiffness that leaves runs of few deployments near their prior, as the catalogue's does.
const catalogLike = 0.1

// someRuns is runs whose measurements scatter around a machine by a tenth.
func someRuns(t require.TestingT) []measured.Run {
	runs := []measured.Run{
		dense.Run(1, 200, 40), dense.Run(4, 3000, 40), dense.Run(16, 3000, 40), dense.Run(32, 200, 40),
		dense.Run(64, 1000, 40), dense.Run(8, 8000, 40),
	}
	fittest.Measure(t, runs, fittest.Truth(t))
	scatter(runs)
	return runs
}

func scatter(runs []measured.Run) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range runs {
		for j := range runs[i].Rows[0].Values {
			runs[i].Rows[0].Values[j].Measured *= math.Exp(0.1 * r.NormFloat64())
		}
	}
}

// inGroups puts every second run into a group of its own.
func inGroups(t *testing.T, runs []measured.Run) *Fit {
	for i := range runs {
		runs[i].Labels.Version = []string{"even", "odd"}[i%2]
	}
	p := Plan{Parameters: Parameters(), Stiffness: catalogLike,
		Groups: func(l *measured.Labels) []string { return []string{"all", l.Version} }}
	f, _, err := p.To(context.Background(), runs)
	require.NoError(t, err)
	require.Equal(t, []string{"0 all", "1 even", "1 odd"}, f.Groups)
	return f
}

// gradient of the loss.
func (f *Fit) gradient(grad, x []float64) {
	f.linearize(x)
	n := len(f.Parameters)
	for i, s := range x {
		grad[i] = 2 * f.penalty(i) * s
	}
	for i, r := range f.Runs {
		for j, d := range f.residual[i] {
			k := r.pull(j, d) * d
			for _, g := range r.groups {
				floats.AddScaled(grad[g*n:(g+1)*n], k, f.slopes[i][j*n:(j+1)*n])
			}
		}
	}
}

// TestTheGradientIsTheSlopeOfTheLoss: the gradient takes slopes over steps of 2 %, the check over a tenth of that.
func TestTheGradientIsTheSlopeOfTheLoss(t *testing.T) {
	f := inGroups(t, someRuns(t))
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 0))
		x := make([]float64, len(f.steps))
		for i := range x {
			x[i] = 0.2 * r.NormFloat64()
		}
		grad := make([]float64, len(x))
		f.gradient(grad, x)
		size := 0.0
		for _, g := range grad {
			size = max(size, math.Abs(g))
		}
		for i := range x {
			const h = 0.002
			up, down := slices.Clone(x), slices.Clone(x)
			up[i], down[i] = x[i]+h, x[i]-h
			assert.InDelta(t, (f.loss(up)-f.loss(down))/(2*h), grad[i], 0.015*size, "seed %d, step %d", seed, i)
		}
	}
}

func TestTheFitIsAMinimum(t *testing.T) {
	f := inGroups(t, someRuns(t))
	least := f.loss(f.steps)
	for i := range f.steps {
		for _, h := range []float64{-0.05, 0.05} {
			x := slices.Clone(f.steps)
			x[i] += h
			assert.GreaterOrEqual(t, f.loss(x), least*(1-1e-4), "step %d by %g", i, h)
		}
	}
}

// TestLimitsHoldNobodyUp: where a machine is faster than is believable, constants end at their limits, and the others
// still go where they are best. A search along each constant finds nothing that is better by more than 2 %.
func TestLimitsHoldNobodyUp(t *testing.T) {
	e := fittest.Truth(t)
	e.Bandwidth, e.Compute, e.KVBandwidth = .98, 1, 1
	e.LayerS, e.SequenceS, e.FirstTokenS = 20e-6, 2e-6, 10e-3
	runs := dense.Grid(1, 8, 64)
	fittest.Measure(t, runs, e)
	for i := range runs {
		for j := range runs[i].Rows[0].Values {
			runs[i].Rows[0].Values[j].Measured *= 0.85
		}
	}
	f := fitTo(t, runs, ownStiffness)
	fitted := f.Efficiency(f.Runs[0])
	assert.InDelta(t, 1, fitted.Compute, 0.005)
	assert.InDelta(t, 0.98, fitted.Bandwidth, 0.005)
	x, least := slices.Clone(f.steps), f.loss(f.steps)
	best := least
	for h := 0.2; h > 0.005; h /= 2 {
		for i := range x {
			for _, s := range []float64{-h, h} {
				y := slices.Clone(x)
				y[i] += s
				if l := f.loss(y); l < best {
					best, x = l, y
				}
			}
		}
	}
	assert.Greater(t, best, 0.98*least)
	var atLimit []string
	for _, p := range f.Parameters {
		if p.atLimit(p.value(fittest.PriorOf(t)), p.value(fitted)) {
			atLimit = append(atLimit, p.Name)
		}
	}
	assert.Equal(t, []string{"bandwidth", "compute", "kv_bandwidth"}, atLimit)
}

// TestLeavingOutIsRefitting: what is taken from slopes predicts the runs left out within 2 % of what a fit without them
// predicts.
func TestLeavingOutIsRefitting(t *testing.T) {
	soak.TakesLong(t)
	runs := dense.Grid(1, 8, 64)
	fittest.Measure(t, runs, fittest.Truth(t))
	scatter(runs)
	f := fitTo(t, runs, catalogLike)
	quick := f.Without(func(r *Run) string { return r.Run.ID })
	for i, left := range f.Runs {
		again := &Fit{Parameters: f.Parameters, Groups: f.Groups, Stiffness: f.Stiffness}
		for j, r := range f.Runs {
			if j != i {
				again.Runs = append(again.Runs, r)
			}
		}
		require.NoError(t, again.solve(context.Background()))
		want := left.residuals(again.Efficiency(left))
		assert.InDeltaSlice(t, want, left.residuals(quick[left.Run]), 0.02, left.Run.ID)
		assert.NotEqual(t, want, f.Residuals(left))
	}
}

func TestConstantsMoveWithinTheirLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(Parameters()).Draw(t, "parameter")
		prior := p.Low * math.Pow(p.High/p.Low, rapid.Float64Range(-0.2, 1.2).Draw(t, "prior, between the limits"))
		step, more := rapid.Float64Range(-5, 5).Draw(t, "step"), rapid.Float64Range(0, 1).Draw(t, "more")
		at, further := p.moved(prior, step), p.moved(prior, step+more)
		assert.LessOrEqual(t, at, further*(1+1e-12), "further up is not down")
		assert.LessOrEqual(t, further, at*math.Exp(more)*(1+1e-9), "no jumps")
		assert.GreaterOrEqual(t, at, min(prior, p.Low))
		assert.LessOrEqual(t, at, max(prior, p.High))
		assert.InEpsilon(t, prior, p.moved(prior, 1e-12), 1e-9)
		if inner := math.Log(p.High/prior) - bend; step > 0 && step < inner || step < 0 &&
			-step < math.Log(prior/p.Low)-bend {
			assert.InEpsilon(t, prior*math.Exp(step), at, 1e-9, "far from a limit nothing is held back")
		}
	})
}

func TestStepsFollowTheirGroups(t *testing.T) {
	p := Parameters()[:2]
	last := &Fit{Parameters: p, Groups: []string{"0 all", "1 a", "1 b"}, steps: []float64{1, 2, 3, 4, 5, 6}}
	next := &Fit{Parameters: p, Groups: []string{"0 all", "1 b", "1 c"}}
	next.follow(last)
	assert.Equal(t, []float64{1, 2, 5, 6, 0, 0}, next.steps)
}

func TestADeploymentOfManyRunsWeighsTheirRoot(t *testing.T) {
	runs := someRuns(t)[:5]
	runs[4].Labels.Model = "another"
	p := Plan{Parameters: Parameters(), Stiffness: catalogLike, Even: true}
	f, _, err := p.To(context.Background(), runs)
	require.NoError(t, err)
	var weights []float64
	for _, r := range f.Runs {
		weights = append(weights, r.Weight)
	}
	assert.Equal(t, []float64{0.5, 0.5, 0.5, 0.5, 1}, weights)
}

// TestE2EIsNotFittedToBesideTPOT: it says the same twice.
func TestE2EIsNotFittedToBesideTPOT(t *testing.T) {
	soak.TakesLong(t)
	with := func(e2e float64) *Calibration {
		runs := someRuns(t)
		for i := range runs {
			runs[i].Rows[0].Values = append(runs[i].Rows[0].Values, measured.Lead(measured.E2E, measured.Mean, e2e))
		}
		return own(t, runs)
	}
	a, b := with(1000), with(2000)
	assert.Equal(t, a.Constants, b.Constants)
	assert.NotEqual(t, errorsOf(t, a, measured.E2E), errorsOf(t, b, measured.E2E))
	runs := someRuns(t)
	for i := range runs {
		runs[i].Rows[0].Values = []measured.Value{measured.Lead(measured.E2E, measured.Mean, 1)}
	}
	fittest.Measure(t, runs, fittest.Truth(t))
	c := own(t, runs)
	assert.Less(t, errorsOf(t, c, measured.E2E).InSample.MedianPct, 3.0, "alone it is")
}

// TestALevelThatIsStifferSaysLess: of what two levels could say of the same runs, the softer one says most, and the
// efficiency is the prior times what both say.
func TestALevelThatIsStifferSaysLess(t *testing.T) {
	runs := dense.Grid(1, 8)
	fittest.Measure(t, runs, fittest.Truth(t))
	prior := fittest.PriorOf(t)
	moved := func(stiffer ...float64) (above, model float64) {
		p := Plan{Parameters: Parameters(), Prior: &prior, Stiffness: 0.1, Stiffer: stiffer,
			Groups: func(*measured.Labels) []string { return []string{"all", "model"} }}
		f, _, err := p.To(context.Background(), runs)
		require.NoError(t, err)
		e := f.EfficiencyOf(prior, "all")
		for _, s := range f.Scales([]Group{{1, "model"}}) {
			require.True(t, e.Scale(s.Constant, s.Times))
			if s.Constant == "layer_s" {
				model = math.Abs(math.Log(s.Times))
			}
		}
		assert.InEpsilon(t, f.Efficiency(f.Runs[0]).LayerS, e.LayerS, 0.006, "the digits of a scale are three")
		assert.Empty(t, f.Scales([]Group{{1, "another"}}))
		assert.Empty(t, f.Scales([]Group{{1, "model"}, {0, "all"}}, Group{0, "all"}, Group{1, "model"}), "instead of itself")
		return math.Abs(math.Log(f.EfficiencyOf(prior, "all").LayerS / prior.LayerS)), model
	}
	above, model := moved()
	assert.InEpsilon(t, above, model, 0.05, "levels of one stiffness share alike")
	above, model = moved(1, 10)
	assert.Less(t, model, above/5)
	assert.Positive(t, model)
}

// TestWhatTheHostTakesMayBeStiffer: at a level that is stiffer for it, it moves less.
func TestWhatTheHostTakesMayBeStiffer(t *testing.T) {
	f := &Fit{Parameters: Parameters(), Stiffness: 0.1, Stiffer: []float64{1, 3}, HostStiffer: []float64{1, 10},
		level: []int{0, 1, 2}}
	at := func(group int, name string) float64 {
		p := slices.IndexFunc(f.Parameters, func(p Parameter) bool { return p.Name == name })
		require.GreaterOrEqual(t, p, 0, name)
		s := f.Parameters[p].Sigma
		return f.penalty(group*len(f.Parameters)+p) * s * s
	}
	for _, p := range f.Parameters {
		want := 0.3
		switch p.Name {
		case "eager_layer_s", "eager_launch", "prompt_launch", "step_s", "sequence_host_s":
			want = 3
		}
		assert.InEpsilon(t, want, at(1, p.Name), 1e-12, p.Name)
		assert.InEpsilon(t, 0.1, at(0, p.Name), 1e-12, p.Name)
		assert.InEpsilon(t, 0.1, at(2, p.Name), 1e-12, "a level without a factor: %s", p.Name)
	}
}
