package hardware_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
	"github.com/decodesim/decodesim/sim"
)

// What a step is said to be made of is what it is: the times add up to its price, the bytes and FLOPs at peak to its
// bound, each within the rounding to integers.
func TestExplainedPartsAreTheStep(t *testing.T) {
	random := rand.New(rand.NewPCG(17, 18))
	for range 300 {
		d := randomDeployment(t, random, someGPUs, someModels)
		r := hardware.NewRoofline(d, 8)
		n, context := 1+random.IntN(32), 1+random.IntN(min(d.Model.ContextMax, 1<<16))
		g, shape := r.Step(n, context), r.Shape(n, context)
		var step, memory, compute float64
		for _, p := range r.Parts(n, context) {
			step += p.TimeS * 1e12
			memory += p.MemoryPeakS * 1e12
			compute += p.ComputePeakS * 1e12
			assert.GreaterOrEqual(t, p.TimeS*(1+1e-12), max(p.MemoryPeakS, p.ComputePeakS), "%s of %s", p.Name, d.Model.Name)
		}
		rounding := roundingPS(shape) + float64(n) // of the overhead per sequence
		assert.InDelta(t, step, float64(g.First), rounding+1e-12*step, d.Model.Name)
		assert.InDelta(t, max(memory, compute), float64(g.Bound.A), rounding+1e-12*step, d.Model.Name)
		assert.Equal(t, alike(n, context).shape(&d), shape)
	}
}

// alike is n decodes of one context.
func alike(n, context int) (b batch) {
	for range n {
		b.decodes = append(b.decodes, context)
	}
	return b
}

// Of E experts, rows that pick k each at random are expected to touch E·(1 − (1 − k/E)^rows): a few for one row, all
// for many.
func TestExpertsReadAreThoseTouched(t *testing.T) {
	d := deployment(t, "mixtral-8x7b", "h200-sxm", 2)
	r := hardware.NewRoofline(d, 1)
	assert.InDelta(t, 2, r.ExpertsRead(1), 1e-12)
	assert.InDelta(t, 8*(1-math.Pow(0.75, 4)), r.ExpertsRead(4), 1e-12)
	assert.InDelta(t, 8, r.ExpertsRead(256), 1e-9)
	d.Routing = hardware.Routing{Balanced: true, Redundant: 2} // which are read as well
	assert.InDelta(t, 10, hardware.NewRoofline(d, 1).ExpertsRead(1<<12), 1e-6)
	assert.Zero(t, hardware.NewRoofline(deployment(t, "llama-3.1-8b", "h100-sxm", 1), 1).ExpertsRead(4))
}

// The parts of sim sum to the step by kind as the explained ones do: communication and overhead are the same numbers.
func TestPartsOfASegmentAreTheExplainedOnes(t *testing.T) {
	d := deployment(t, "llama-3.1-70b", "h100-sxm", 4)
	d.Efficiency = efficiency(t, "vllm-v1")
	r := hardware.NewRoofline(d, 64)
	g := r.Step(64, 2000)
	var kinds [sim.NumParts]float64
	for _, p := range r.Parts(64, 2000) {
		switch p.Kind {
		case sim.Weights, sim.KV:
			kinds[p.Kind] += p.MemoryS
			kinds[sim.Compute] += p.TimeS - p.MemoryS
		default:
			kinds[p.Kind] += p.TimeS
		}
	}
	for kind, seconds := range kinds {
		assert.InDelta(t, seconds, g.Part[kind].A.Seconds(), 1e-6, sim.Part(kind))
	}
}

// A decode of Llama 3.1 8B multiplies each of 32 query heads with keys and with values of 128 elements for each token
// of its context, two FLOPs each, in each of 32 layers; it reads 128 KiB a token. Of two GPUs each has half.
func TestAttentionIsOfTheContext(t *testing.T) {
	for _, tensor := range []int{1, 2} {
		d := deployment(t, "llama-3.1-8b", "h100-sxm", tensor)
		for _, p := range hardware.NewRoofline(d, 1).Parts(3, 1000) {
			if p.Kind == sim.KV {
				assert.InEpsilon(t, 3*1000*2*2*32*128*32/float64(tensor), p.FLOPs, 1e-12)
				assert.InEpsilon(t, 3*1000*(128<<10)/float64(tensor), p.Bytes, 1e-12)
			}
		}
	}
}

// Attention to entries is called compressed if they stand for more than a token each.
func TestAttentionToEntriesIsCompressed(t *testing.T) {
	for ratio, want := range map[int]string{1: "attention", 2: "compressed attention"} {
		d := deployment(t, "deepseek-v4-flash", "h200-sxm", 1)
		run := d.Model.Layers[0]
		run.Mixer.Attention.Compression.Ratio = ratio
		d.Model.Layers = []llm.LayerRun{run}
		require.NoError(t, d.Model.Validate())
		var names []string
		for _, p := range hardware.NewRoofline(d, 1).Parts(1, 1000) {
			if p.Kind == sim.KV {
				names = append(names, p.Name)
			}
		}
		assert.ElementsMatch(t, []string{"KV cache, windowed attention", "KV cache, " + want}, names)
	}
}

// Attention is called windowed where it spans a window, of one token too, and not where it sees the whole context.
func TestAttentionIsNamedByWhatItSees(t *testing.T) {
	d := deployment(t, "gemma-3-27b", "h200-sxm", 1)
	d.Model.Layers = slices.Clone(d.Model.Layers)
	for i := range d.Model.Layers {
		if a := &d.Model.Layers[i].Mixer.Attention; a.Window > 0 {
			a.Window = 1
		}
	}
	var names []string
	for _, p := range hardware.NewRoofline(d, 1).Parts(1, 1000) {
		if p.Kind == sim.KV {
			names = append(names, p.Name)
		}
	}
	assert.ElementsMatch(t, []string{"KV cache, attention", "KV cache, windowed attention"}, names)
}

// TestTheLeastOfAChunkIsItsTiles: on Blackwell one of 148 multiprocessors multiplies 256 rows with all keys of a layer,
// or with those of its window, of which gpt-oss has 128 in every other layer. Chunks of more rows than all of them have
// at once, 8 heads of 4,736 tokens, take more. GPUs whose kernels divide the keys have no least.
func TestTheLeastOfAChunkIsItsTiles(t *testing.T) {
	const context, tile = 65536, 256 * 2 / (0.8 * 2.25e15 / 148) // seconds, by keys and by elements of key and value
	for name, want := range map[string]float64{
		"llama-3.1-70b": 80 * context * (128 + 128) * tile,
		"gpt-oss-120b":  18 * (context + 128) * (64 + 64) * tile,
	} {
		floor := func(gpu string) (leastS float64, tokens int) {
			d := deployment(t, name, gpu, 8)
			d.Efficiency.Link, d.Efficiency.AttentionCompute = 0.9, 0.8
			return hardware.NewRoofline(d, 1).ChunkFloor(context)
		}
		leastS, tokens := floor("b200-sxm")
		assert.InEpsilon(t, want, leastS, 1e-9, name)
		assert.InDelta(t, 4736, tokens, 1, name)
		leastS, tokens = floor("h100-sxm")
		assert.Zero(t, leastS, name)
		assert.Zero(t, tokens, name)
	}
}

// TestDraftsLieBehindTheContext: a step that verifies drafts attends to them and to all before them, and computes each
// of them beside the token of its sequence.
func TestDraftsLieBehindTheContext(t *testing.T) {
	random := rand.New(rand.NewPCG(81, 3))
	for range 100 {
		d := randomDeployment(t, random, someGPUs, someModels)
		n, context, drafts := 1+random.IntN(32), 1+random.IntN(1<<16), random.IntN(6)
		want := alike(n, context+drafts).shape(&d)
		want.Drafts, want.DecodeTokens, want.Outputs = int64(n*drafts), int64(n+n*drafts), n+n*drafts
		assert.Equal(t, want, hardware.NewRoofline(d, 1).DraftShape(n, context, drafts), d.Model.Name)
	}
}
