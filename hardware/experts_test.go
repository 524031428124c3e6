package hardware_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/hardware"
)

// experts returns what a decode step of so many sequences says of its expert products.
func experts(t require.TestingT, d hardware.Deployment, rows int) hardware.PartCost {
	for _, p := range hardware.NewRoofline(d, 0).Parts(rows, 10) {
		if p.Name == "experts" {
			return p
		}
	}
	require.Fail(t, "no experts", d.Model.Name)
	return hardware.PartCost{}
}

// Mixtral sends two of every eight rows to an expert: 256 rows are 64 to each, where half of the loss of few is left.
func TestExpertsWithFewRowsMultiplyThemSlower(t *testing.T) {
	full := deployment(t, "mixtral-8x7b", "h200-sxm", 2)
	few := full
	few.Efficiency.MoERows = 64
	for _, c := range []struct {
		rows   int
		slower float64
	}{{1, 1 + 64.0/65}, {256, 1.5}, {768, 1.25}, {4 * 64 * 99, 1.01}} {
		before, after := experts(t, full, c.rows), experts(t, few, c.rows)
		assert.InEpsilon(t, c.slower, after.ComputeS/before.ComputeS, 1e-9, "%d rows", c.rows)
		before.ComputeS, before.TimeS = after.ComputeS, after.TimeS
		assert.Equal(t, before, after, "what is read, and the peak, stay")
	}
	assert.Equal(t, step(full, batch{}), step(few, batch{}), "nothing to multiply")
	dense := deployment(t, "llama-3.1-8b", "h100-sxm", 1)
	before := step(dense, alike(8, 100))
	dense.Efficiency.MoERows = 64
	assert.Equal(t, before, step(dense, alike(8, 100)), "there are no experts")
}

// Each of the k experts of a token moves its activations: all of the copies on every GPU that holds slices, an eighth
// of them on each of eight that hold whole experts.
func TestExpertsMoveTheirCopies(t *testing.T) {
	d := deployment(t, "deepseek-r1", "h200-sxm", 8)
	moves := func(d hardware.Deployment) float64 {
		before := step(d, alike(64, 100))
		d.Efficiency.MoECopyBytes = 10
		return step(d, alike(64, 100)) - before
	}
	sliced := 58 * 64 * 8 * 7168 * 10 / d.GPU.BandwidthBps.Value
	assert.InDelta(t, sliced, moves(d), 1e-9)
	d.Parallel.Expert = true
	assert.InDelta(t, sliced/8, moves(d), 1e-9)
	d = deployment(t, "llama-3.1-8b", "h100-sxm", 1)
	assert.Zero(t, moves(d), "there are no experts")
}

// Grouped products achieve what tables say, and not what was fitted to servers that mix prompts with decodes: of whole
// experts beyond a host, where all that is run is prompts, and on data-parallel ranks that decode only. The first holds
// for every format, the others for activations in fp8 or fp4.
func TestGroupedProductsOfExperts(t *testing.T) {
	share := func(gpu, weights string, change func(d *hardware.Deployment)) float64 {
		d := deployment(t, "deepseek-r1", gpu, 1)
		var err error
		d.Model, err = d.Model.WithWeights(weights)
		require.NoError(t, err)
		d.Efficiency = efficiency(t, "vllm-v1")
		d.Efficiency.MoECompute, d.Efficiency.ExpertImbalance, d.Efficiency.Compute = 0.1, 0, 1
		d.Efficiency.QuantizedCompute = 1
		change(&d)
		before := experts(t, d, 256*d.Parallel.Ranks())
		d.Efficiency.MoECopyBytes = 99
		assert.Equal(t, before, experts(t, d, 256*d.Parallel.Ranks()), "what is moved is a part of its own")
		return before.ComputePeakS / before.ComputeS
	}
	ranks := func(n int, phase hardware.Phase) func(d *hardware.Deployment) {
		return func(d *hardware.Deployment) { d.Parallel.Data, d.Parallel.Expert, d.Phase = n, true, phase }
	}
	prompts := func(d *hardware.Deployment) { d.Phase, d.Parallel.Tensor = hardware.PromptsOnly, 8 }
	sent := func(ranks func(d *hardware.Deployment)) func(d *hardware.Deployment) {
		return func(d *hardware.Deployment) {
			ranks(d)
			d.Parallel.AllToAll = hardware.Normal
		}
	}
	both, decodes, reads := hardware.BothPhases, hardware.DecodesOnly, hardware.PromptsOnly
	for _, c := range []struct {
		gpu, weights string
		change       func(d *hardware.Deployment)
		share        float64
	}{
		{"h100-sxm", "fp8", ranks(64, both), 0.62}, {"h100-sxm", "bf16", ranks(64, both), 0.62},
		{"h100-sxm", "fp8", ranks(8, decodes), 0.43}, {"h100-sxm", "bf16", ranks(8, decodes), 0.1},
		{"b200-sxm", "fp8", ranks(8, decodes), 0.21}, {"b200-sxm", "fp8", sent(ranks(8, decodes)), 0.62},
		{"h100-sxm", "fp8", ranks(8, both), 0.1},
		{"h100-sxm", "fp8", prompts, 0.36}, {"h100-sxm", "bf16", prompts, 0.1},
		{"h100-sxm", "fp8", ranks(8, reads), 0.43}, {"b200-sxm", "fp8", ranks(8, reads), 0.21},
		{"b200-sxm", "fp8", sent(ranks(8, reads)), 0.62}, {"b200-sxm", "fp8", ranks(16, reads), 0.62},
		{"b200-sxm", "fp8", prompts, 0.21}, {"mi300x", "fp8", prompts, 0.62},
		{"b200-sxm", "nvfp4", prompts, 0.34}, {"b200-sxm", "nvfp4", ranks(8, reads), 0.77},
		{"b200-sxm", "mxfp4", prompts, 0.1},
		{"h100-sxm", "fp8", func(d *hardware.Deployment) { d.Parallel.Tensor = 8 }, 0.1},
		{"h100-sxm", "fp8", func(d *hardware.Deployment) { d.Parallel.Tensor, d.Parallel.Expert = 8, true }, 0.1},
	} {
		got := share(c.gpu, c.weights, c.change)
		if c.share == 0.1 {
			assert.LessOrEqual(t, got, 0.1, "%+v", c)
			continue
		}
		assert.InEpsilon(t, c.share, got, 1e-9, "%+v", c)
	}
}

// Each of 8 ranks of B200 that read prompts moves every copy where an all-gather brings them; where an all-to-all does,
// it moves the eighth for its own experts: of 512 rows 58 · 8 · 512 · 7168 elements, of 12 and of 17 bytes.
func TestWhatAnAllGatherBringsIsMovedByEveryGPU(t *testing.T) {
	d := deployment(t, "deepseek-r1", "b200-sxm", 1)
	d.Efficiency = efficiency(t, "vllm-v1")
	d.Efficiency.ExpertImbalance, d.Efficiency.ExpertSkew = 0, 0
	d.Parallel.Data, d.Parallel.Expert, d.Phase = 8, true, hardware.PromptsOnly
	elements, bps := 58.0*8*512*7168, d.Efficiency.Bandwidth*d.GPU.BandwidthBps.Value
	assert.InEpsilon(t, elements*12/bps, partOf(d, 512, "expert activations").TimeS, 1e-6)
	d.Parallel.AllToAll = hardware.Normal
	assert.InEpsilon(t, elements*17/8/bps, partOf(d, 512, "expert activations").TimeS, 1e-6)
}

// A row more costs an expert time, and a row of more rows costs it less: between once and twice what it costs of many.
func TestRowsOfExpertsAreCheaperTogether(t *testing.T) {
	mixtral, fine := deployment(t, "mixtral-8x7b", "h200-sxm", 2), deployment(t, "gpt-oss-120b", "h100-sxm", 1)
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom([]hardware.Deployment{mixtral, fine}).Draw(t, "model")
		d.Efficiency.MoERows = rapid.Float64Range(0.1, 1e4).Draw(t, "moe_rows")
		n := rapid.IntRange(1, 20_000).Draw(t, "rows")
		m := n + rapid.IntRange(1, 20_000).Draw(t, "more")
		few, many, peak := experts(t, d, n).ComputeS, experts(t, d, m).ComputeS, experts(t, d, 1).ComputePeakS
		assert.Greater(t, many, few)
		assert.LessOrEqual(t, many/float64(m), few/float64(n)*(1+1e-12))
		assert.GreaterOrEqual(t, many, peak*float64(m)*(1-1e-12))
		assert.LessOrEqual(t, few, 2*peak*float64(n)*(1+1e-12))
	})
}
