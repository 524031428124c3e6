package hardware_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
	"github.com/decodesim/decodesim/sim"
)

// step prices a batch in seconds.
func step(d hardware.Deployment, b batch) float64 {
	return price(hardware.NewRoofline(d, 0), b).First.Seconds()
}

// Eight data-parallel ranks of DeepSeek-V3 read an eighth of the experts and of the cache each, and all of the
// attention; 58 MoE layers dispatch and combine the tokens of all ranks.
func TestDataParallelRanksShareExpertsAndBatch(t *testing.T) {
	d := deployment(t, "deepseek-v3", "h200-sxm", 1)
	d.Efficiency.CollectiveS = 10e-6
	ranks := d
	ranks.Parallel.Data = 8
	require.NoError(t, ranks.Validate())
	const n, context = 64, 1000
	single, shared := hardware.NewRoofline(d, 0), hardware.NewRoofline(ranks, 0)
	of := func(r *hardware.Roofline, n int, name string) hardware.PartCost {
		for _, p := range r.Parts(n, context) {
			if p.Name == name {
				return p
			}
		}
		return hardware.PartCost{}
	}
	assert.InEpsilon(t, of(single, n, "experts").Bytes/8, of(shared, n, "experts").Bytes, 1e-12)
	assert.InEpsilon(t, of(single, n, "KV cache, attention").Bytes/8, of(shared, n, "KV cache, attention").Bytes, 1e-12)
	assert.InEpsilon(t, of(single, n, "attention projections").Bytes, of(shared, n, "attention projections").Bytes, 1e-12)
	assert.InEpsilon(t, of(single, n/8, "attention projections").FLOPs, of(shared, n, "attention projections").FLOPs,
		1e-12)
	want := 2 * 58 * (10e-6*(1+0.15*3) + n*7168*2*7.0/8/ranks.GPU.ScaleUpBps.Value)
	talk := of(shared, n, hardware.DispatchPart).TimeS + of(shared, n, hardware.CombinePart).TimeS
	assert.InEpsilon(t, want, talk, 1e-12)

	assert.Equal(t, hardware.Share{Sequences: 2, Rows: 2, Tokens: 9}, shared.Share(9),
		"the busiest of eight ranks has two of nine")
	one, all := batch{chunks: []chunk{{0, 4000}}}, batch{}
	for range 8 {
		all.chunks = append(all.chunks, chunk{0, 500})
	}
	assert.Greater(t, step(ranks, one), 2*step(ranks, all), "a chunk is on one rank")
}

// Ranks that gather their tokens hold those of the others in every step, and what experts yield for them; ranks that
// send them to their experts do not.
func TestGatheredTokensTakeMemory(t *testing.T) {
	d := deployment(t, "deepseek-v3", "h200-sxm", 1)
	d.Parallel.Expert, d.Parallel.Data = true, 8
	activations := func(way hardware.AllToAll) float64 {
		d.Parallel.AllToAll = way
		m, err := d.Memory(0.92, 4096, 256, 16)
		require.NoError(t, err)
		return m.Activations
	}
	assert.InDelta(t, 4096*7*2*7168*2, activations(hardware.AllGather)-activations(hardware.Normal), 1)
	assert.Equal(t, activations(hardware.AllGather), activations(hardware.AutoAllToAll), "eight GPUs and eight experts")
}

// Each rank has a cache of its own beside its share of the experts, and the replica counts the blocks of all.
func TestDataParallelRanksHaveACacheEach(t *testing.T) {
	d := deployment(t, "deepseek-v3", "h200-sxm", 8)
	d.KVDtype = "fp8"
	tensor, err := d.Memory(0.92, 2048, 256, 16)
	require.NoError(t, err)
	d.Parallel = hardware.Parallel{Tensor: 1, Pipeline: 1, Data: 8, Expert: true}
	ranks, err := d.Memory(0.92, 2048, 256, 16)
	require.NoError(t, err)
	assert.Equal(t, tensor.BlockBytes, ranks.BlockBytes, "each GPU holds the latent of what it attends to")
	assert.Equal(t, int64(ranks.KV/ranks.BlockBytes)*8, ranks.Blocks)
	assert.Greater(t, ranks.Blocks, 4*tensor.Blocks, "eight caches of different sequences")
	experts := float64(d.Model.Params()[llm.RoutedExperts]) * d.Model.WeightBits(llm.RoutedExperts) / 8
	assert.Greater(t, ranks.Weights, experts/8)
	assert.Less(t, ranks.Weights, experts/8+40e9)
}

// Whole experts leave the fullest GPU with more than slices do where they do not divide: 22 of 128 on six GPUs.
func TestWholeExpertsDoNotDivideEvenly(t *testing.T) {
	d := deployment(t, "gpt-oss-120b", "h200-sxm", 1)
	d.Parallel.Data = 6
	slices := hardware.NewRoofline(d, 0).Parts(600, 10)
	d.Parallel.Expert = true
	whole := hardware.NewRoofline(d, 0).Parts(600, 10)
	for i := range slices {
		if slices[i].Name == "experts" {
			assert.InEpsilon(t, slices[i].Bytes*6*22/128, whole[i].Bytes, 1e-12)
			assert.InEpsilon(t, slices[i].FLOPs*6*22/128, whole[i].FLOPs, 1e-12)
		}
	}
}

// What cannot share experts is refused.
func TestImpossibleRanksAreRefused(t *testing.T) {
	d := deployment(t, "llama-3.1-8b", "h100-sxm", 1)
	d.Parallel.Data = 2
	assert.ErrorContains(t, d.Validate(),
		"data_parallel 2, but llama-3.1-8b has no experts that ranks would share; accepted: 1, with 2 times the replicas")
	d = deployment(t, "mixtral-8x7b", "h100-sxm", 4)
	d.Parallel.Data, d.Parallel.Expert = 4, true
	assert.ErrorContains(t, d.Validate(), "expert_parallel true over 16 GPUs, but mixtral-8x7b has 8 experts")
	d.Parallel.Data = -1
	assert.ErrorContains(t, d.Validate(), "data_parallel -1; expected 1 or more")
}

// Quantising activations costs where the GPU multiplies in the weights' type, and nowhere else: an A100 widens fp8
// weights, and kernels widen int4 and mxfp4.
func TestOnlyQuantizedProductsQuantizeActivations(t *testing.T) {
	for _, c := range []struct {
		gpu, weights string
		slower       float64
	}{
		{"h100-sxm", "bf16", 1}, {"h100-sxm", "fp8", 2}, {"a100-sxm-80gb", "fp8", 1}, {"a100-sxm-80gb", "int8",
			2}, {"h100-sxm", "int4", 1},
		{"b200-sxm", "nvfp4", 2}, {"h100-sxm", "nvfp4", 1}, {"b200-sxm", "mxfp4", 1},
	} {
		d := deployment(t, "llama-3.1-8b", c.gpu, 1)
		var err error
		d.Model, err = d.Model.WithWeights(c.weights)
		require.NoError(t, err)
		before := hardware.NewRoofline(d, 0).Parts(8, 10)
		d.Efficiency.QuantizedCompute = 0.5
		after := hardware.NewRoofline(d, 0).Parts(8, 10)
		for i := range before {
			slower := 1.0
			if before[i].Name == "attention projections" || before[i].Name == "feed-forward" {
				slower = c.slower
			}
			assert.InDelta(t, slower*before[i].ComputeS, after[i].ComputeS, 1e-15, "%s of %s on %s", before[i].Name,
				c.weights, c.gpu)
			assert.Equal(t, before[i].ComputePeakS, after[i].ComputePeakS)
		}
	}
}

func TestLayersThatQuantizeActivationsTakeLonger(t *testing.T) {
	for _, c := range []struct {
		gpu, weights string
		more         float64 // µs, of 32 layers
	}{{"h100-sxm", "bf16", 0}, {"h100-sxm", "fp8", 320}, {"a100-sxm-80gb", "fp8", 0}, {"b200-sxm", "nvfp4",
		320}, {"b200-sxm", "int4", 0}} {
		d := deployment(t, "llama-3.1-8b", c.gpu, 1)
		var err error
		d.Model, err = d.Model.WithWeights(c.weights)
		require.NoError(t, err)
		slow := d
		slow.Efficiency.QuantizedLayerS = 10e-6
		assert.InDelta(t, c.more*1e-6, step(slow, alike(4, 100))-step(d, alike(4, 100)), 1e-11, "%s on %s", c.weights, c.gpu)
	}
}

// In a step with prompts, decodes read the cache k_mix times as long; alone they do not.
func TestMixedStepsReadTheCacheSlower(t *testing.T) {
	d := deployment(t, "llama-3.1-8b", "h100-sxm", 1)
	slow := d
	slow.Efficiency.MixedKV = 2
	decodes := alike(20, 10_000)
	assert.Equal(t, step(d, decodes), step(slow, decodes))
	mixed := decodes
	mixed.chunks = []chunk{{0, 100}}
	reading := 20 * 10_000 * 131_072 / 3.35e12
	assert.InDelta(t, reading, step(slow, mixed)-step(d, mixed), 1e-6)
	a, b := price(hardware.NewRoofline(d, 0), mixed), price(hardware.NewRoofline(slow, 0), mixed)
	assert.Equal(t, a.Bound, b.Bound)
	assert.Equal(t, a.Part[sim.Compute], b.Part[sim.Compute])
}

// Graphs are captured for 1, 2, 4, every 8th and every 16th number of rows.
func TestCaptureSizes(t *testing.T) {
	assert.Equal(t, []int{1, 2, 4, 8, 16, 24}, hardware.CaptureSizes(31))
	assert.Equal(t, []int{1, 2}, hardware.CaptureSizes(3))
	sizes := hardware.CaptureSizes(512)
	assert.Len(t, sizes, 3+31+17)
	assert.Equal(t, []int{240, 248, 256, 272}, sizes[32:36])
	assert.Equal(t, 512, sizes[len(sizes)-1])
}

// 25 decodes are multiplied as 32 rows, but attend and yield tokens as 25.
func TestGraphsPadTheLinearLayers(t *testing.T) {
	d := deployment(t, "llama-3.1-8b", "h100-sxm", 1)
	d.Efficiency.Overlap = 1
	exact := d
	d.Launch.Graphs = hardware.CaptureSizes(64)
	linear := 2 * float64(d.Model.Params()[llm.Attention]+d.Model.Params()[llm.DenseFFN]) / d.GPU.FLOPS.BF16.Value
	assert.InDelta(t, 7*linear, step(d, alike(25, 100))-step(exact, alike(25, 100)), 1e-9)
	assert.Equal(t, step(exact, alike(32, 100)), step(d, alike(32, 100)))
	assert.Equal(t, step(exact, alike(65, 100)), step(d, alike(65, 100)), "above the largest graph nothing is padded")
	mixed := batch{decodes: []int{100, 100}, chunks: []chunk{{0, 31}}}
	assert.InDelta(t, 7*linear, step(d, mixed)-step(exact, mixed), 1e-9, "33 rows run as 40")
	r := hardware.NewRoofline(d, 64)
	assert.Equal(t, hardware.Share{Sequences: 25, Rows: 32, Padding: 7, Tokens: 32}, r.Share(25))
	assert.True(t, r.Share(65).Eager)
	a, b := r.Step(25, 100), hardware.NewRoofline(exact, 64).Step(25, 100)
	assert.Equal(t, a.Bound, b.Bound, "padding need not be multiplied")

	d.Launch.Graphs = []int{4, 4}
	assert.ErrorContains(t, d.Validate(),
		"cudagraph_capture_sizes [4 4]: 4 after 4; expected rising numbers from 1 to 65536")
}

// Without a graph a step lasts at least what launching its 32 layers takes.
func TestEagerStepsWaitForTheHost(t *testing.T) {
	d := deployment(t, "llama-3.1-8b", "h100-sxm", 1)
	d.Efficiency.EagerLayerS = 1e-3
	graph := step(d, alike(1, 1))
	assert.Less(t, graph, 5e-3)
	d.Launch.Eager = true
	assert.InDelta(t, 32e-3, step(d, alike(1, 1)), 1e-12)
	d.Efficiency.StepS = 2e-3
	assert.InDelta(t, 34e-3, step(d, alike(1, 1)), 1e-12)
	long := alike(16, 100_000)
	d.Launch.Eager = false
	gpu := step(d, long)
	d.Launch.Eager = true
	assert.Equal(t, gpu, step(d, long), "the GPU takes longer")
	d.Launch = hardware.Launch{Graphs: []int{1, 2, 4}}
	assert.InDelta(t, 34e-3, step(d, alike(5, 1)), 1e-12, "no graph holds five rows")
	assert.InDelta(t, graph+2e-3, step(d, alike(1, 1)), 1e-9)
}

// A synchronous host adds its time to a step; an asynchronous one hides the shorter of the two, until contexts have
// grown so far that the GPU is the longer.
func TestTheHostIsHiddenOrNot(t *testing.T) {
	d := deployment(t, "llama-3.1-8b", "h100-sxm", 1)
	b := alike(8, 1000)
	gpu := step(d, b)
	d.Efficiency.StepS = 6e-3
	require.Less(t, gpu, 6e-3)
	assert.InDelta(t, gpu+6e-3, step(d, b), 1e-9)
	d.Launch.Async = true
	r := hardware.NewRoofline(d, 8)
	g := price(r, b)
	assert.Equal(t, sim.Seconds(6e-3), g.First)
	assert.Zero(t, g.Growth)
	assert.Empty(t, partsBroken(&g))
	perStep := 8 * 131_072 / 3.35e12
	assert.InEpsilon(t, (6e-3-gpu)/perStep, float64(g.Steps), 0.01)
	assert.Equal(t, g.First, price(r, b.after(g.Steps-1)).First)
	assert.Greater(t, price(r, b.after(g.Steps)).First, g.First)
	assert.InDelta(t, 6e-3-gpu, g.Part[sim.Overhead].A.Seconds(), 1e-9)
}

// An element of the cache takes what its format takes, scales included.
func TestCacheFormats(t *testing.T) {
	d := deployment(t, "llama-3.1-8b", "h100-sxm", 1)
	bits := []float64{16, 8, 8, 4.5, 4.25, 4.5}
	for i, dtype := range hardware.KVDtypes() {
		d.KVDtype = dtype
		require.NoError(t, d.Validate())
		once, _ := d.KVBytesPerToken()
		assert.InEpsilon(t, 131_072*bits[i]/16, once, 1e-12, dtype)
	}
	d.KVDtype = "int3"
	assert.ErrorContains(t, d.Validate(), `kv_cache "int3" not known; valid values: bf16 fp8 int8 int4 mxfp4 nvfp4`)
}

// Two stages halve the batch that each layer sees, transfer it once, and are as slow as the larger of them: 31 of 61
// layers. A single sequence passes through all layers.
func TestStagesPassOnMicrobatches(t *testing.T) {
	d := deployment(t, "deepseek-v3", "h200-sxm", 8)
	two := d
	two.Parallel.Pipeline = 2
	transfer := func(rows float64) float64 { return rows * 7168 * 2 / d.GPU.NICBps.Value }
	stretched := func(rows int) float64 { // logits are gathered once, after the last stage
		logits := float64(rows) * 129280 * 2 * 7 / 8 / d.GPU.ScaleUpBps.Value
		return (step(d, alike(rows, 500))-logits)*62/61 + logits
	}
	assert.InDelta(t, stretched(32)+transfer(32), step(two, alike(64, 500)), 1e-7)
	assert.InDelta(t, stretched(1)+transfer(1), step(two, alike(1, 500)), 1e-7)
	prompt := batch{chunks: []chunk{{0, 1000}}}
	assert.InDelta(t, step(d, prompt)*62/61+transfer(1000), step(two, prompt), 1e-7)
}

// A weight of 16 bits takes 9 when two of four are kept: 8 of values and 1 of index; and it is multiplied at twice the
// rate. The head stays as it is.
func TestSparseWeights(t *testing.T) {
	d := deployment(t, "llama-3.1-8b", "h100-sxm", 1)
	sparse := d
	var err error
	sparse.Model, err = d.Model.WithSparsity("2:4")
	require.NoError(t, err)
	require.NoError(t, sparse.Validate())
	before, after := hardware.NewRoofline(d, 0).Parts(8, 10), hardware.NewRoofline(sparse, 0).Parts(8, 10)
	for i := range before {
		switch before[i].Name {
		case "attention projections", "feed-forward":
			assert.InEpsilon(t, before[i].Bytes*9/16, after[i].Bytes, 1e-4, before[i].Name) // norms stay
			assert.InEpsilon(t, before[i].ComputeS/2, after[i].ComputeS, 1e-12)
		default:
			assert.Equal(t, before[i], after[i])
		}
	}
	again, err := sparse.Model.WithSparsity("2:4")
	require.NoError(t, err)
	assert.Equal(t, sparse.Model, again)
	_, err = d.Model.WithSparsity("1:4")
	assert.ErrorContains(t, err, `weight_sparsity "1:4" not known; valid values: 2:4`)
	sparse.GPU = gpu(t, "tpu-v6e")
	assert.ErrorContains(t, sparse.Validate(), `weight_sparsity 2:4, but gpu "tpu-v6e" has no known unit for it in bf16`)
}

// Scores that pass through memory take 8 bytes per pair, head and layer, in prompts and decodes; they belong to the
// cache.
func TestMaterializedScores(t *testing.T) {
	d := deployment(t, "llama-3.1-8b", "h100-sxm", 1)
	d.Efficiency.KVBandwidth = 0.5
	d.Efficiency.Overlap = 1
	naive := d
	naive.Materialized = true
	for _, b := range []batch{alike(4, 5000), {chunks: []chunk{{1000, 2000}}}} {
		s := b.shape(&d)
		scores := float64(s.DecodeCtx+s.PrefillPairs) * 8 * 32 * 32 / (0.5 * 3.35e12)
		a, z := price(hardware.NewRoofline(d, 0), b), price(hardware.NewRoofline(naive, 0), b)
		assert.InDelta(t, scores, (z.First - a.First).Seconds(), 1e-7)
		assert.InDelta(t, scores, (z.Part[sim.KV].A - a.Part[sim.KV].A).Seconds(), 1e-7)
	}
}

// A kernel that decodes head by head reads what a group of heads shares once for each of them, at the speed of the L2
// cache; what prompts read and heads without groups stay as they are, and so does the least that a step takes.
func TestDecodingHeadByHead(t *testing.T) {
	b := alike(64, 3000)
	for model, again := range map[string]float64{"mistral-7b-v0.1": 64 * 3000 * 32 * 32 * 2 * 128 * 2 / 4.5e12,
		"llama-2-7b": 0} {
		d := deployment(t, model, "h200-sxm", 1)
		d.Efficiency.KVBandwidth, d.Efficiency.AttentionCompute = 0.9, 1
		d.Efficiency.Overlap = 1
		perHead := d
		perHead.PerHead = true
		a, z := price(hardware.NewRoofline(d, 0), b), price(hardware.NewRoofline(perHead, 0), b)
		want := max(again, a.Part[sim.KV].A.Seconds())
		assert.InEpsilon(t, want, z.Part[sim.KV].A.Seconds(), 1e-5, model)
		assert.InDelta(t, want-a.Part[sim.KV].A.Seconds(), (z.First - a.First).Seconds(), 1e-6, model)
		assert.Equal(t, a.Bound, z.Bound, model)
		prompt := batch{chunks: []chunk{{1000, 2000}}}
		assert.Equal(t, price(hardware.NewRoofline(d, 0), prompt), price(hardware.NewRoofline(perHead, 0), prompt), model)
	}
}

// The constants of an engine are checked one by one.
func TestEfficiencyRanges(t *testing.T) {
	e := efficiency(t, "vllm-v1")
	require.NoError(t, e.Validate())
	for _, c := range []struct {
		spoil func(e *hardware.Efficiency)
		want  string
	}{
		{func(e *hardware.Efficiency) { e.QuantizedCompute = 1.5 },
			"quantized_compute: 1.5 is out of range; expected a share in (0, 1]"},
		{func(e *hardware.Efficiency) { e.MoERows = -1 }, "moe_rows: -1 is out of range; expected rows in [0, 1e6]"},
		{func(e *hardware.Efficiency) { e.MixedKV = 0.5 }, "mixed_kv: 0.5 is out of range; expected a factor in [1, 1000]"},
		{func(e *hardware.Efficiency) { e.EagerLayerS = -1 },
			"eager_layer_s: -1 is out of range; expected seconds in [0, 3600]"},
		{func(e *hardware.Efficiency) { e.Link = math.NaN() }, "link: NaN is out of range; expected a share in (0, 1]"},
	} {
		spoilt := e
		c.spoil(&spoilt)
		require.EqualError(t, spoilt.Validate(), c.want)
	}
}

// A step with prompts takes more of each layer, and one of decodes alone what it took.
func TestPromptsAreLaunchedBesideGraphs(t *testing.T) {
	d := deployment(t, "llama-3.1-8b", "h100-sxm", 1)
	prompt := batch{chunks: []chunk{{0, 100}}}
	decodes, prompts := step(d, alike(8, 100)), step(d, prompt)
	d.Efficiency.PromptLayerS = 40e-6
	assert.Equal(t, decodes, step(d, alike(8, 100)))
	assert.InDelta(t, prompts+32*40e-6, step(d, prompt), 1e-11)
}
