package hardware_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/hardware"
)

// Launching layers without a graph takes the host a time of their own, and with prompts in graphs a share of it. The
// longer of that and the GPU counts.
func TestAStepWithPromptsWaitsForItsLaunch(t *testing.T) {
	d := deployment(t, "llama-3.1-8b", "h100-sxm", 1)
	d.Launch.Graphs = []int{8, 64}
	d.Efficiency.LayerS = 10e-6
	prompt := func(tokens int) batch { return batch{chunks: []chunk{{0, tokens}}} }
	short, beyond, long := prompt(20), prompt(100), prompt(8000)
	free := []float64{step(d, short), step(d, beyond), step(d, long)}
	require.Less(t, free[0], 32*50*10e-6)
	d.Efficiency.PromptLaunch, d.Efficiency.EagerLayerS = .5, 1e-3
	assert.InDelta(t, 32*.5e-3, step(d, short), 1e-12)
	assert.InDelta(t, 32*1e-3, step(d, beyond), 1e-12)
	assert.Equal(t, free[2], step(d, long), "the GPU takes longer")
	decodes := alike(8, 100)
	assert.Equal(t, step(d, decodes), step(with(d, func(e *hardware.Efficiency) { e.PromptLaunch = 0 }), decodes),
		"decodes are in a graph")
	d.Efficiency.PromptLaunch = 2
	assert.InDelta(t, 32*2e-3, step(d, beyond), 1e-12, "more rows are never launched sooner")
	d.Efficiency.LaunchOverlap = 2
	gpu := step(with(d, func(e *hardware.Efficiency) { e.PromptLaunch, e.EagerLayerS = 0, 0 }), beyond)
	assert.InDelta(t, math.Hypot(gpu, 32*2e-3), step(d, beyond), 1e-9, "as smoothly as memory and arithmetic")
}

// Between ranks, what experts add to a layer is launched half as long again, with the kernels that bring tokens to them
// and back; where ranks are tensor-parallel, so are the all-reduces of every layer.
func TestExchangesAreLaunched(t *testing.T) {
	d := deployment(t, "deepseek-r1", "h200-sxm", 1)
	d.Parallel.Data, d.Parallel.Expert, d.Launch.Eager = 8, true, true
	d.Efficiency.LaunchOverlap = 2
	d.Efficiency.EagerLayerS, d.Efficiency.EagerLaunch, d.Efficiency.MoELayerS = 1e-3, 10, 50e-6
	assert.InDelta(t, 61e-3+1.5*58*10*50e-6, step(d, alike(8, 100)), 1e-11)
	d.Parallel.Data, d.Parallel.Tensor = 4, 2
	assert.InDelta(t, 1.8*61e-3+1.5*58*10*50e-6, step(d, alike(8, 100)), 1e-11)
	d.Parallel.Data, d.Parallel.Tensor = 1, 8
	assert.InDelta(t, 61e-3+58*10*50e-6, step(d, alike(8, 100)), 1e-12, "one rank")
}

// What experts and latents add to a layer in a graph, they add so many times to launching it without.
func TestExpertsAreLaunchedLonger(t *testing.T) {
	d := deployment(t, "deepseek-r1", "h200-sxm", 8)
	d.Launch.Eager = true
	d.Efficiency.EagerLayerS, d.Efficiency.EagerLaunch = 0, 0
	decodes := alike(1, 100)
	gpu := step(d, decodes)
	d.Efficiency.LayerS, d.Efficiency.EagerLayerS = d.Efficiency.LayerS+1e-6, 2e-3
	assert.InDelta(t, 61*2e-3, step(d, decodes), 1e-12)
	d.Efficiency.EagerLaunch = 10
	longer := step(d, decodes) - 61*2e-3
	d.Efficiency.LayerS = 0
	assert.InDelta(t, 61*2e-3+longer, step(d, decodes), 1e-12, "a plain layer is not in it")
	d.Efficiency.MoELayerS += 5e-6
	assert.InDelta(t, 61*2e-3+longer+10*58*5e-6, step(d, decodes), 1e-12)
	assert.Less(t, gpu, 61*2e-3)
}

// Quantising activations is launched longer with prompts, and not for decodes.
func TestQuantisingIsLaunchedWithPrompts(t *testing.T) {
	d := deployment(t, "llama-3.1-8b", "h100-sxm", 1)
	var err error
	d.Model, err = d.Model.WithWeights("fp8")
	require.NoError(t, err)
	d.Launch.Eager = true
	d.Efficiency.EagerLayerS, d.Efficiency.EagerLaunch, d.Efficiency.QuantizedLayerS = 1e-3, 10, 20e-6
	assert.InDelta(t, 32e-3, step(d, alike(1, 100)), 1e-12)
	assert.InDelta(t, 32e-3+32*10*20e-6, step(d, batch{chunks: []chunk{{0, 20}}}), 1e-12)
}

func with(d hardware.Deployment, change func(*hardware.Efficiency)) hardware.Deployment {
	change(&d.Efficiency)
	return d
}

// What the host takes for each sequence hides behind the GPU of an asynchronous engine, and adds to that of another. It
// is not taken again for each draft.
func TestSequencesArePreparedBesideTheGPU(t *testing.T) {
	d := deployment(t, "llama-3.1-8b", "h100-sxm", 1)
	b := alike(16, 100)
	gpu := step(d, b)
	d.Efficiency.SequenceHostS = 100e-6
	assert.InDelta(t, gpu+16*100e-6, step(d, b), 1e-9)
	d.Launch.Async = true
	assert.InDelta(t, gpu, step(d, b), 1e-12)
	d.Efficiency.SequenceHostS = 2e-3
	assert.InDelta(t, 32e-3, step(d, b), 1e-12)
}

// Ranks wait for one another in every step.
func TestRanksWaitForOneAnother(t *testing.T) {
	d := deployment(t, "deepseek-r1", "h200-sxm", 1)
	d.Parallel.Data, d.Parallel.Expert = 8, true
	before := step(d, alike(8, 100))
	d.Efficiency.RankS = 1e-3
	assert.InDelta(t, before+1e-3, step(d, alike(8, 100)), 1e-9)
	d.Efficiency.RankS, d.Parallel.Data = 0, 2
	before = step(d, alike(8, 100))
	d.Efficiency.RankS = 1e-3
	assert.InDelta(t, before+1e-3/3, step(d, alike(8, 100)), 1e-9, "less between two GPUs")
}
