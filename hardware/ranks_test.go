package hardware_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/sim"
)

// ranked draws a deployment of several data-parallel ranks and a batch for each of them, some of which may be empty.
func ranked(t *testing.T, random *rand.Rand, decodeOnly bool) (d hardware.Deployment, batches []batch) {
	for d.Parallel.Data < 2 {
		d = randomDeployment(t, random, someGPUs, []string{"gpt-oss-120b", "deepseek-v3.2", "qwen3.5-35b-a3b"})
	}
	for range d.Parallel.Data {
		b := randomBatch(random, min(d.Model.ContextMax, 1<<16))
		if decodeOnly {
			b.chunks, b.ends = nil, 0
		}
		if random.IntN(4) == 0 {
			b = batch{}
		}
		batches = append(batches, b)
	}
	batches[0] = alike(1+random.IntN(9), 1+random.IntN(1000))
	return d, batches
}

func priceRanks(r *hardware.Roofline, d *hardware.Deployment, batches []batch) (g sim.Segment) {
	var shapes []sim.Shape
	for _, b := range batches {
		shapes = append(shapes, b.shape(d))
	}
	r.Price(shapes, &g)
	return g
}

// Ranks with equal batches step as long as one batch of which each has an even share, within what rounding up takes.
func TestEqualRanksShareEvenly(t *testing.T) {
	random := rand.New(rand.NewPCG(41, 42))
	for range 200 {
		d, batches := ranked(t, random, false)
		var all batch
		for i := range batches {
			batches[i] = batches[0]
			all.decodes = append(all.decodes, batches[0].decodes...)
		}
		r := hardware.NewRoofline(d, 0)
		together, each := price(r, all), priceRanks(r, &d, batches)
		require.Equal(t, together.First, each.First, "%+v, %+v", d.Parallel, batches[0])
		require.Equal(t, together.Growth, each.Growth)
	}
}

// The slowest rank decides: a sequence more on any rank never shortens the step, and no rank alone with as many empty
// ones takes longer than all. Graphs are left out: they pad ranks that decode alone, and none beside a prompt that fits
// no graph.
func TestTheSlowestRankDecides(t *testing.T) {
	random := rand.New(rand.NewPCG(43, 44))
	for range 200 {
		d, batches := ranked(t, random, false)
		if chunked(&d) || d.Parallel.Pipeline > 1 || len(d.Launch.Graphs) > 0 {
			continue
		}
		r := hardware.NewRoofline(d, 0)
		first := priceRanks(r, &d, batches).First
		for i, b := range batches {
			single := make([]batch, len(batches))
			single[i] = b
			if b.rows() > 0 && len(b.chunks) == 0 {
				assert.LessOrEqual(t, priceRanks(r, &d, single).First, first, "rank %d: %+v %+v", i, d.Parallel, batches)
			}
		}
		more := append([]batch{}, batches...)
		i := random.IntN(len(more))
		more[i].decodes = append(append([]int{}, more[i].decodes...), 1+random.IntN(1000))
		assert.GreaterOrEqual(t, priceRanks(r, &d, more).First, first, "a sequence on rank %d: %+v", i, d.Parallel)
	}
}

// A segment of ranks is the prices of its steps one by one, and ends where another rank becomes the slowest.
func TestSegmentsOfRanksAreTheirSteps(t *testing.T) {
	random := rand.New(rand.NewPCG(45, 46))
	ended := 0
	for range 300 {
		d, batches := ranked(t, random, true)
		r := hardware.NewRoofline(d, 0)
		g := priceRanks(r, &d, batches)
		require.Positive(t, g.Steps)
		n := min(g.Steps, d.Model.ContextMax/4)
		for _, b := range batches {
			n = min(n, crossing(&d, b))
		}
		if g.Steps < 1<<20 {
			ended++
		}
		for _, i := range []int{1, n / 3, n - 1} {
			if i < 1 || i >= n {
				continue
			}
			var later []batch
			for _, b := range batches {
				later = append(later, b.after(i))
			}
			require.Equal(t, g.Step(i), priceRanks(r, &d, later).First, "step %d: %s, %+v", i, d.Model.Name, d.Parallel)
		}
	}
	require.Greater(t, ended, 20, "segments that end")
}

// Experts compute the tokens of all ranks, whichever have them: where half of the ranks have less and the others as
// much more, the weights that are read and the tokens that are sent take as long as where all have the same. The KV
// caches are those of the ranks with more.
func TestExpertsComputeTheTokensOfAllRanks(t *testing.T) {
	const ranks, mean = 16, 128
	d := deployment(t, "deepseek-v3.2", "h200-sxm", 1)
	d.Parallel.Data, d.Parallel.Expert, d.Launch.Graphs = ranks, true, nil
	r := hardware.NewRoofline(d, 0)
	step := func(less, more int) sim.Segment {
		batches := make([]batch, ranks)
		for i := range batches {
			batches[i] = alike([]int{less, more}[i%2], 1000)
		}
		return priceRanks(r, &d, batches)
	}
	even := step(mean, mean)
	for _, less := range []int{1, 8, 64, 127} {
		uneven := step(less, 2*mean-less)
		assert.Equal(t, even.Part[sim.Weights], uneven.Part[sim.Weights], less)
		assert.Equal(t, even.Part[sim.Communication], uneven.Part[sim.Communication], less)
		assert.Greater(t, uneven.Part[sim.KV].A, even.Part[sim.KV].A, less)
	}
}

// TestASegmentEndsWhereAnotherRankIsTheSlowest: 100, 102, 104, 106 and 108 beside 90, 95, 100, 105 and 110, where the
// fifth step is another's; beside 94, 97, 100, 103, 106, 109 and 112 and so on it is the seventh, since the sixth, 110
// beside 109, is not, and of equal ones the seventh is that of either. The order of ranks does not matter.
func TestASegmentEndsWhereAnotherRankIsTheSlowest(t *testing.T) {
	segment := func(first, growth sim.Duration, steps int) sim.Segment {
		return sim.Segment{First: first, Growth: growth, Steps: steps}
	}
	for _, c := range []struct{ g, h, want sim.Segment }{
		{segment(100, 2, 50), segment(90, 5, 50), segment(100, 2, 4)},
		{segment(100, 2, 50), segment(94, 3, 50), segment(100, 2, 6)},
		{segment(100, 2, 3), segment(90, 5, 50), segment(100, 2, 3)},
		{segment(100, 2, 50), segment(90, 2, 50), segment(100, 2, 50)},
		{segment(100, 2, 50), segment(90, 1, 40), segment(100, 2, 40)},
		{segment(100, 2, 50), segment(100, 3, 50), segment(100, 3, 50)},
		{segment(100, 2, 50), segment(99, 3, 50), segment(100, 2, 1)},
	} {
		assert.Equal(t, c.want, hardware.Slower(c.g, c.h))
		assert.Equal(t, c.want, hardware.Slower(c.h, c.g))
		for i := range c.want.Steps {
			assert.GreaterOrEqual(t, c.want.Step(i), max(c.g.Step(i), c.h.Step(i)), "step %d", i)
		}
	}
}

// Ranks with equal batches of decodes and prompts, as many tokens of either among others, step as long as one batch of
// which each has an even share; a rank whose tokens are all of prompts, or half of them, is not left out.
func TestRanksWithPromptsShareEvenly(t *testing.T) {
	d := deployment(t, "deepseek-v3.2", "h200-sxm", 1)
	d.Parallel.Data, d.Parallel.Expert = 16, true
	r := hardware.NewRoofline(d, 0)
	for _, tokens := range []int{1, 7, 8, 9, 500} {
		var all batch
		one := alike(8, 1000)
		one.chunks, one.ends = []chunk{{200, tokens}}, 1
		batches := make([]batch, d.Parallel.Data)
		for i := range batches {
			batches[i] = one
			all.decodes, all.chunks = append(all.decodes, one.decodes...), append(all.chunks, one.chunks...)
			all.ends++
		}
		together, each := price(r, all), priceRanks(r, &d, batches)
		assert.Equal(t, together.First, each.First, "%d tokens", tokens)
		assert.Equal(t, together.Part, each.Part, "%d tokens", tokens)
	}
}

// A rank that decodes alone takes the time of layers with prompts where any rank has some: the one with the longest
// contexts decides, whether a token of another is decoded or is a prompt.
func TestPromptsOfARankAreThoseOfAll(t *testing.T) {
	d := deployment(t, "deepseek-v3.2", "h200-sxm", 1)
	d.Parallel = hardware.Parallel{Tensor: 1, Pipeline: 1, Data: 4, Expert: true, AllToAll: hardware.AllGather}
	d.Efficiency.PromptLayerS = 10e-6
	r := hardware.NewRoofline(d, 0)
	one, long := batch{decodes: []int{1}}, alike(64, 100_000)
	decodes := priceRanks(r, &d, []batch{long, one, one, one}).First.Seconds()
	prompt := batch{chunks: []chunk{{0, 1}}, ends: 1}
	for _, batches := range [][]batch{{long, prompt, one, one}, {prompt, long, one, one}, {one, one, long, prompt}} {
		assert.InDelta(t, decodes+61*10e-6, priceRanks(r, &d, batches).First.Seconds(), 1e-10)
	}
}
