package hardware_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
	"github.com/decodesim/decodesim/internal/soak"
	"github.com/decodesim/decodesim/sim"
)

// No step of any deployment in the catalogs is shorter than max(bytes / peak bandwidth, FLOPs / peak FLOP/s), and the
// bound that a step reports is that number less what rounding to picoseconds per context token takes.
func TestNoStepBeatsItsBound(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	steps := 0
	every := soak.Cases(20, 1)
	if soak.Brief() {
		every = 120
	}
	visited, unfit := everyDeployment(t, every, func(d hardware.Deployment) {
		if random.IntN(2) == 0 {
			d.Efficiency = randomEfficiency(random)
			decorate(random, &d)
		}
		r := hardware.NewRoofline(d, 4)
		for range 3 {
			b := randomBatch(random, min(d.Model.ContextMax, 1<<18))
			g := price(r, b)
			if message := boundBroken(&d, b, &g); message != "" {
				require.Fail(t, message, "%s, weights %v, cache %s, on %d × %s, %+v, %+v", d.Model.Name,
					d.Model.Precision.Weights[llm.Attention], d.KVDtype, d.Parallel.Tensor, d.GPU.Name, d.Efficiency, b)
			}
			steps++
		}
	})
	t.Logf("%d deployments fit, at the least power-of-two tensor-parallel size, and %d do not; %d steps priced",
		visited, unfit, steps)
	assert.Greater(t, visited*every, 10_000, "the catalogs are not empty")
}

// boundBroken says how a segment breaks the law of the bound; empty: it keeps it.
func boundBroken(d *hardware.Deployment, b batch, g *sim.Segment) string {
	memoryS, computeS := whole(twin(d, b))
	ideal := max(memoryS, computeS) * 1e12
	s := b.shape(d)
	rounding := 4 + float64(s.DecodeCtx+s.Capped[0].Ctx+s.Capped[1].Ctx) // 1 ps per context token of each window
	first, bound := float64(g.First), float64(g.Bound.A)
	switch {
	case first < ideal*(1-1e-12):
		return "the step is shorter than its bound"
	case g.Bound.A > g.First:
		return "the reported bound is above the step"
	case bound > ideal*(1+1e-12):
		return "the reported bound is above the true one"
	case bound < ideal*(1-1e-9)-rounding:
		return "the reported bound is below the true one by more than rounding"
	case math.Abs(memoryS-computeS)*1e12 > rounding && g.ComputeBound != (computeS > memoryS):
		return "the bound is the wrong one of the two"
	case g.Steps < 1:
		return "a segment has no step"
	}
	return partsBroken(g)
}

// partsBroken says how the parts fail to make up the segment.
func partsBroken(g *sim.Segment) string {
	var sum sim.Affine
	for _, p := range g.Part {
		if p.A < 0 || p.At(min(g.Steps, 1<<20)-1) < 0 {
			return "a part is negative"
		}
		sum.A += p.A
		sum.B += p.B
	}
	last := min(g.Steps, 1<<20) - 1
	switch {
	case sum.A != g.First || sum.B != g.Growth:
		return "the parts do not sum to the step"
	case g.Bound.At(last) > g.Step(last):
		return "the reported bound overtakes the step within the segment"
	}
	return ""
}

// A prompt beyond its window multiplies the window alone: each of 8,192 tokens sees 4,096, whatever came before.
func TestBoundOfAPromptBeyondItsWindow(t *testing.T) {
	d := deployment(t, "mistral-7b-v0.1", "h100-sxm", 1)
	b := batch{chunks: []chunk{{20_000, 8192}}}
	_, computeS := whole(twin(&d, b))
	g := price(hardware.NewRoofline(d, 1), b)
	assert.True(t, g.ComputeBound)
	assert.InEpsilon(t, computeS, g.Bound.A.Seconds(), 1e-6)
}

// Reading the weights alone bounds a step: 70.6 GB in fp8 with a bf16 head at 3.35 TB/s is 21 ms.
func TestBoundOf70BOnOneH100(t *testing.T) {
	d := deployment(t, "llama-3.1-70b", "h100-sxm", 1)
	var err error
	d.Model, err = d.Model.WithWeights("fp8")
	require.NoError(t, err)
	g := hardware.NewRoofline(d, 1).Step(1, 1)
	assert.InDelta(t, 21e-3, g.Bound.A.Seconds(), 0.15e-3)
	assert.False(t, g.ComputeBound)
	assert.Less(t, float64(g.First-g.Bound.A), 1e-3*float64(g.Bound.A), "the textbook engine is at its bound")
}

// A decode of Llama 3.1 8B in bf16 reads 15.0 GB of weights and 131,072 bytes per token of context: 4.48 ms and 39 ns.
func TestBoundOf8BOnOneH100(t *testing.T) {
	d := deployment(t, "llama-3.1-8b", "h100-sxm", 1)
	r := hardware.NewRoofline(d, 1)
	empty, full := r.Step(1, 1), r.Step(1, 32769)
	assert.InDelta(t, 4.48e-3, empty.Bound.A.Seconds(), 0.01e-3)
	assert.InDelta(t, 32768*131072/3.35e12, (full.Bound.A - empty.Bound.A).Seconds(), 1e-6)
}

// TestABoundEndsWhereTheOtherOvertakes: reading takes 100, 101 and so on, and multiplying 90, 93 and so on, which is as
// long in the sixth step, 105, and longer in the seventh. What never overtakes, or is greater already, ends nothing.
func TestABoundEndsWhereTheOtherOvertakes(t *testing.T) {
	reading := sim.Affine{A: 100, B: 1}
	for _, c := range []struct {
		flops   sim.Affine
		compute bool
		steps   int
	}{
		{sim.Affine{A: 90, B: 3}, false, 6}, {sim.Affine{A: 89, B: 3}, false, 6}, {sim.Affine{A: 91, B: 3}, false, 5},
		{sim.Affine{A: 100, B: 2}, false, 1}, {sim.Affine{A: 90, B: 1}, false, math.MaxInt32},
		{sim.Affine{A: 90}, false, math.MaxInt32}, {sim.Affine{A: 101, B: 1}, true, math.MaxInt32},
		{sim.Affine{A: 110}, true, 11}, {sim.Affine{A: 101, B: 9}, true, math.MaxInt32},
	} {
		g := hardware.Bound(reading, c.flops)
		want := reading
		if c.compute {
			want = c.flops
		}
		assert.Equal(t, sim.Segment{Bound: want, ComputeBound: c.compute, Steps: c.steps}, g)
		for i := range min(g.Steps, 20) {
			assert.Equal(t, max(reading.At(i), c.flops.At(i)), g.Bound.At(i))
		}
	}
}

// TestAStepWaitsForItsHost, which takes 100, until it is as long itself: 90, 93, 96 and 99, and no longer in the fifth.
// What it waits for is overhead.
func TestAStepWaitsForItsHost(t *testing.T) {
	for _, c := range []struct {
		first, growth sim.Duration
		steps, want   int
	}{{90, 3, 50, 4}, {90, 5, 50, 3}, {90, 3, 2, 2}, {90, 0, 50, 50}, {99, 2, 50, 1}} {
		g := sim.Segment{First: c.first, Growth: c.growth, Steps: c.steps}
		g.Part[sim.KV], g.Part[sim.Overhead] = sim.Affine{A: c.first - 7, B: c.growth}, sim.Affine{A: 7}
		got := hardware.Wait(100, g)
		want := sim.Segment{First: 100, Steps: c.want, Part: g.Part}
		want.Part[sim.Overhead] = sim.Affine{A: 7 + 100 - c.first, B: -c.growth}
		assert.Equal(t, want, got)
		assert.LessOrEqual(t, g.Step(got.Steps-1), got.First)
		assert.Empty(t, partsBroken(&got))
	}
}

// TestTheBoundOfDraftsThatChooseIsExact: where an index chooses fewer tokens than the context of every row has, a
// sequence reads them once, for what its rows choose may be the same, and each row multiplies them: as many fewer of
// the 2,048 as rows come after it, for a bound does not ask whether its context is longer.
func TestTheBoundOfDraftsThatChooseIsExact(t *testing.T) {
	d := deployment(t, "deepseek-v3.2", "h200-sxm", 8)
	d.Speculation = &hardware.Speculation{Tokens: 3}
	for n, memoryBound := range map[int]bool{1: true, 2000: false} {
		b := drafted{drafts: 3}
		for i := range n {
			b.decodes = append(b.decodes, 2100+i%3)
		}
		var g sim.Segment
		hardware.NewRoofline(d, 1).Price([]sim.Shape{b.shape(&d)}, &g)
		memoryS, computeS := b.least(&d)
		computeS -= float64(n*(3+2+1)*61*128/8*2*(2*512+64)) / d.GPU.FLOPS.BF16.Value
		require.Equal(t, memoryBound, memoryS > computeS)
		assert.InEpsilon(t, max(memoryS, computeS)*1e12, float64(g.Bound.A), 1e-9, "%d sequences", n)
	}
}
