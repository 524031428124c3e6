package hardware_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
	"github.com/decodesim/decodesim/sim"
)

// scaled returns q times a factor.
func scaled(q hardware.Quantity, factor float64) hardware.Quantity {
	q.Value *= factor
	return q
}

// better are improvements that money buys.
var better = map[string]func(g *hardware.GPU, factor float64){
	"bandwidth": func(g *hardware.GPU, by float64) { g.BandwidthBps = scaled(g.BandwidthBps, by) },
	"compute": func(g *hardware.GPU, by float64) {
		for _, q := range []*hardware.Quantity{&g.FLOPS.BF16, &g.FLOPS.FP8, &g.FLOPS.INT8, &g.FLOPS.FP4} {
			*q = scaled(*q, by)
		}
	},
	"links": func(g *hardware.GPU, by float64) {
		for _, q := range []*hardware.Quantity{&g.ScaleUpBps, &g.PCIeBps, &g.NICBps} {
			*q = scaled(*q, by)
		}
	},
}

// randomDeployment draws from the catalogs until something fits, and then perhaps splits it further.
func randomDeployment(t *testing.T, r *rand.Rand, gpus, models []string) hardware.Deployment {
	for {
		d := hardware.Deployment{GPU: gpu(t, gpus[r.IntN(len(gpus))]), Model: model(t, models[r.IntN(len(models))]),
			Efficiency: randomEfficiency(r)}
		d.KVDtype = hardware.KVDtypes()[r.IntN(len(hardware.KVDtypes()))]
		if dtypes := llm.Dtypes(); r.IntN(2) == 0 {
			d.Model, _ = d.Model.WithWeights(dtypes[r.IntN(len(dtypes))])
		}
		if !fitting(&d) {
			continue
		}
		wider := d
		wider.Parallel.Tensor *= 1 << r.IntN(3)
		if wider.Validate() == nil {
			d = wider
		}
		decorate(r, &d)
		return d
	}
}

// A few of each: what differs is the kind of attention, of experts and of links.
var (
	someGPUs   = []string{"h100-sxm", "rtx-4090", "b200-sxm", "mi300x", "l4", "a100-sxm-80gb"}
	someModels = []string{"llama-3.1-8b", "llama-3.1-70b", "gpt-oss-120b", "gemma-3-27b", "llama-4-scout",
		"deepseek-v3.2", "qwen3.5-35b-a3b", "mistral-7b-v0.1", "deepseek-v4-flash", "glm-5.2", "kimi-k3", "minimax-m3",
		"gemma-4-26b-a4b", "nemotron-3-super-120b-a12b", "step-3.7-flash"}
)

// More bandwidth, FLOP/s or link bandwidth never lengthens a step, now or later in its segment, beyond the picosecond
// that a sum of floats may round differently.
func TestBetterHardwareIsNeverSlower(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for range 300 {
		d := randomDeployment(t, random, someGPUs, someModels)
		b := randomBatch(random, min(d.Model.ContextMax, 1<<18))
		before := price(hardware.NewRoofline(d, 0), b)
		for name, improve := range better {
			faster := d
			improve(&faster.GPU, 1+random.Float64())
			after := price(hardware.NewRoofline(faster, 0), b)
			assert.LessOrEqual(t, after.First, before.First+1, "%s: %s on %s, %+v", name, d.Model.Name, d.GPU.Name, b)
			assert.LessOrEqual(t, after.Growth, before.Growth, "%s: %s on %s, %+v", name, d.Model.Name, d.GPU.Name, b)
			assert.LessOrEqual(t, after.Bound.A, before.Bound.A+1, "%s: %s on %s, %+v", name, d.Model.Name, d.GPU.Name, b)
		}
	}
}

// Sharing every layer with more GPUs never raises the bound, although it may lengthen the step: they must talk.
func TestMoreGPUsNeverRaiseTheBound(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	for range 300 {
		d := randomDeployment(t, random, someGPUs, someModels)
		b := randomBatch(random, min(d.Model.ContextMax, 1<<18))
		before := price(hardware.NewRoofline(d, 0), b)
		wider := d
		wider.Parallel.Tensor *= 2
		if wider.Validate() != nil {
			continue
		}
		after := price(hardware.NewRoofline(wider, 0), b)
		assert.LessOrEqual(t, after.Bound.A, before.Bound.A+1, "%s on %s, tensor parallel %d, %+v", d.Model.Name,
			d.GPU.Name, d.Parallel.Tensor, b)
	}
}

// Another sequence, another token of context or another token of prompt never shortens a step. Chunked windows are left
// out of the second: at the end of a chunk they start anew. Ranks and microbatches share evenly, so there the mean must
// not fall: what is added is as long as the longest.
func TestMoreWorkIsNeverFaster(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	for range 300 {
		d := randomDeployment(t, random, someGPUs, someModels)
		contextMax := min(d.Model.ContextMax, 1<<18)
		b := randomBatch(random, contextMax-1)
		r := hardware.NewRoofline(d, len(b.decodes)/2) // one side of the table and the other
		first := price(r, b).First

		more, context, extra := b, 1+random.IntN(contextMax), chunk{0, 1 + random.IntN(100)}
		if d.Parallel.Ranks()*d.Parallel.Pipeline > 1 {
			if chunked(&d) {
				continue
			}
			context = slices.Max(append(b.decodes, 1))
			for _, c := range b.chunks {
				extra = chunk{max(extra.computed, c.computed), max(extra.tokens, c.tokens)}
			}
		}
		more.decodes = append(append([]int{}, b.decodes...), context)
		assert.GreaterOrEqual(t, price(r, more).First, first, "a sequence: %s on %s, %+v", d.Model.Name, d.GPU.Name, b)
		more = b
		more.chunks = append(append([]chunk{}, b.chunks...), extra)
		more.ends += min(1, b.ends)
		if d.Parallel.Ranks() == 1 || d.Launch.Graphs == nil { // beyond the largest graph other ranks are padded no more
			assert.GreaterOrEqual(t, price(r, more).First, first, "a chunk: %s on %s, %+v", d.Model.Name, d.GPU.Name, b)
		}
		if len(b.decodes) > 0 && len(b.chunks) == 0 && !chunked(&d) {
			assert.GreaterOrEqual(t, price(r, b.after(1)).First, first, "a token: %s on %s, %+v", d.Model.Name, d.GPU.Name, b)
		}
	}
}

func chunked(d *hardware.Deployment) bool {
	for _, w := range d.Windows() {
		if w.Chunked {
			return true
		}
	}
	return false
}

// A segment is the prices of its steps one by one, to the picosecond: contexts grow, and windows until one of them is
// full or starts anew, which is where an instance ends a run.
func TestSegmentsAreTheirSteps(t *testing.T) {
	random := rand.New(rand.NewPCG(13, 14))
	steps := 0
	for range 300 {
		d := randomDeployment(t, random, someGPUs, someModels)
		b := randomBatch(random, min(d.Model.ContextMax, 1<<17)/2)
		b.chunks = nil
		if len(b.decodes) == 0 {
			continue
		}
		r := hardware.NewRoofline(d, 64)
		g := price(r, b)
		n := min(g.Steps, crossing(&d, b), d.Model.ContextMax/2)
		for _, i := range []int{0, 1, n / 3, n - 1} {
			if i >= n {
				continue
			}
			single := price(r, b.after(i))
			assert.Equal(t, g.Step(i), single.First, "step %d: %s, %+v", i, d.Model.Name, b)
			assert.Equal(t, g.Bound.At(i), single.Bound.A, "bound of step %d: %s, %+v", i, d.Model.Name, b)
			for p := range g.Part {
				assert.Equal(t, g.Part[p].At(i), single.Part[p].A, "%s of step %d: %s, %+v", sim.Part(p), i, d.Model.Name, b)
			}
			if i == 0 || single.Bound.A > 0 && memoryEqualsCompute(&d, b.after(i)) {
				continue
			}
			assert.Equal(t, g.ComputeBound, single.ComputeBound, "limit of step %d: %s, %+v", i, d.Model.Name, b)
			steps++
		}
	}
	t.Logf("%d later steps compared", steps)
}

// A segment ends with the last step that its bound is right for. All 128 heads of DeepSeek's latent attention on one
// GPU multiply longer than they read, so long contexts turn a step that begins with reading weights.
func TestSegmentsEndWhereTheOtherResourceOvertakes(t *testing.T) {
	d := deployment(t, "deepseek-r1", "h200-sxm", 1)
	d.KVDtype = "fp8"
	r := hardware.NewRoofline(d, 64)
	for _, n := range []int{16, 32, 64} {
		b := alike(n, 1000)
		g := price(r, b)
		require.False(t, g.ComputeBound)
		require.Less(t, g.Steps, 1<<20, "batch %d", n)
		assert.False(t, price(r, b.after(g.Steps-1)).ComputeBound, "batch %d", n)
		assert.True(t, price(r, b.after(g.Steps)).ComputeBound, "batch %d", n)
	}
}

// memoryEqualsCompute reports whether which of the two binds is a matter of rounding.
func memoryEqualsCompute(d *hardware.Deployment, b batch) bool {
	memoryS, computeS := whole(twin(d, b))
	s := b.shape(d)
	gap := max(memoryS-computeS, computeS-memoryS) * 1e12
	return gap <= 4+float64(s.DecodeCtx+s.Capped[0].Ctx+s.Capped[1].Ctx)
}

// crossing returns after how many steps a window of b stops growing as it did.
func crossing(d *hardware.Deployment, b batch) int {
	n := 1 << 30
	for _, w := range d.Windows() {
		for _, context := range b.decodes {
			if v := seen(w, context); w.Chunked || v < int(w.Tokens) {
				n = min(n, int(w.Tokens)-v+1)
			}
		}
	}
	return n
}
