package hardware_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
	"github.com/decodesim/decodesim/sim"
)

// adapted returns a deployment with slots for adapters of all modules.
func adapted(t testing.TB, model, gpu string, tensor, slots, rank int) hardware.Deployment {
	d := deployment(t, model, gpu, tensor)
	d.LoRA = hardware.LoRA{Slots: slots, RankMax: rank, Modules: llm.AdapterModules(), HostLinkBps: 64e9, StorageBps: 2e9}
	require.NoError(t, d.Validate())
	return d
}

// The adapter of an 8B Llama has 2·r·81,920 bytes for each of its 32 layers: q 4,096 + 4,096, k and v 4,096 + 1,024, o
// 4,096 + 4,096, gate and up 4,096 + 14,336, down 14,336 + 4,096. A slot has as much, and the LM head and the
// embedding of 128,256 tokens twice. With two GPUs each has all of A and half of B where columns are divided, and half
// of A and all of B where rows are.
func TestAnAdapterHasTheBytesOfItsMatrices(t *testing.T) {
	const layers, rank = 32, 16
	d := adapted(t, "llama-3.1-8b", "h100-sxm", 1, 8, rank)
	gpu, whole := d.AdapterBytes(rank)
	require.Equal(t, [2]float64{83_886_080, 83_886_080}, [2]float64{gpu, whole})
	require.Equal(t, 8*(83_886_080.0+2*rank*2*(4096+128_256)), d.SlotBytes())

	d = adapted(t, "llama-3.1-8b", "h100-sxm", 2, 8, rank)
	gpu, whole = d.AdapterBytes(rank)
	half := 4096 + 2048 + 2*(4096+512) + 2048 + 4096 + 2*(4096+7168) + 7168 + 4096
	require.Equal(t, [2]float64{float64(2 * rank * layers * half), 83_886_080}, [2]float64{gpu, whole})
	host, storage := d.CopyTimes(rank)
	require.Equal(t, sim.SecondsUp(gpu/64e9), host)
	require.Equal(t, sim.SecondsUp(whole/2e9), storage)
}

// What slots take is missing in the KV cache, to the byte, and nothing else changes.
func TestSlotsAreTakenFromTheCache(t *testing.T) {
	with := adapted(t, "llama-3.1-8b", "h100-sxm", 1, 16, 64)
	without := with
	without.LoRA = hardware.LoRA{}
	a, err := with.Memory(0.9, 8192, 256, 16)
	require.NoError(t, err)
	b, err := without.Memory(0.9, 8192, 256, 16)
	require.NoError(t, err)
	require.InDelta(t, b.KV-with.SlotBytes(), a.KV, 1)
	require.InDelta(t, a.Usable, a.Weights+a.Adapters+a.Activations+a.Context+a.KV, 1)
	a.KV, a.Adapters, a.Blocks = b.KV, 0, b.Blocks
	require.Equal(t, b, a)
}

// naiveAdapters walks over the layers and returns what one GPU reads of n adapters, and multiplies for the rows.
func naiveAdapters(d *hardware.Deployment, n, rows, outputs int64) (bytes, flops float64) {
	t, r := float64(d.Parallel.Tensor), float64(d.LoRA.RankMax)
	h := float64(d.Model.Hidden)
	var a, b float64 // elements of a row of A, of a column of B
	for _, run := range d.Model.Layers {
		x, w := run.Mixer.Attention, float64(run.FFN.Width)
		q, o := float64(x.Heads*x.KeyDim), float64(x.Heads*x.ValueDim)
		groups := float64(x.KVHeads) / min(t, float64(x.KVHeads))
		k, v := groups*float64(x.KeyDim), groups*float64(x.ValueDim)
		a += float64(run.Count) * (3*h + o/t + 2*h + w/t)
		b += float64(run.Count) * (q/t + k + v + h + 2*w/t + h)
	}
	head := h + float64(d.Model.Vocab)
	return float64(n) * 2 * r * (a + b + head), 2 * r * (float64(rows)*(a+b) + float64(outputs)*head)
}

// A step with adapters lasts longer by the smooth maximum of reading them once each and multiplying their rows, and
// never less than its bound, which counts them.
func TestAdaptersLengthenAStepByWhatTheyReadAndMultiply(t *testing.T) {
	random := rand.New(rand.NewPCG(31, 32))
	for range 300 {
		model := []string{"llama-3.1-8b", "llama-3.1-70b", "qwen3-32b"}[random.IntN(3)]
		d := deployment(t, model, "h100-sxm", []int{2, 4, 8}[random.IntN(3)])
		if random.IntN(2) == 0 {
			d.Efficiency = randomEfficiency(random)
			d.Efficiency.PromptLaunch, d.Efficiency.EagerLayerS, d.Efficiency.EagerLaunch = 0, 0, 0 // no waiting for the host
		}
		d.LoRA = hardware.LoRA{Slots: 64, RankMax: []int{8, 64, 256}[random.IntN(3)], Modules: llm.AdapterModules()}
		b := randomBatch(random, 8192)
		shape := b.shape(&d)
		r := hardware.NewRoofline(d, random.IntN(40))
		var plain, g sim.Segment
		r.Price([]sim.Shape{shape}, &plain)
		rows := int64(b.rows())
		shape.Adapters = 1 + random.IntN(64)
		shape.AdapterTokens, shape.AdapterOutputs = 1+random.Int64N(rows), random.IntN(shape.Outputs+1)
		shape.AdapterCopies = sim.Duration(random.IntN(2)) * sim.Millisecond
		r.Price([]sim.Shape{shape}, &g)

		bytes, flops := naiveAdapters(&d, int64(shape.Adapters), shape.AdapterTokens, int64(shape.AdapterOutputs))
		memoryS, computeS := bytes/d.GPU.BandwidthBps.Value, flops/d.GPU.FLOPS.BF16.Value
		more := powers(memoryS/d.Efficiency.Bandwidth, computeS/d.Efficiency.Compute, d.Efficiency.Overlap)*1e12 +
			float64(shape.AdapterCopies)
		require.InDelta(t, more+0.5, float64(g.First-plain.First), 0.5+1e-10*more, "%s %+v: rounded up", model, shape)
		require.GreaterOrEqual(t, g.First, g.Bound.A)
		require.GreaterOrEqual(t, float64(g.Bound.A), max(memoryS, computeS)*1e12-2)
		var sum sim.Duration
		for _, part := range g.Part {
			sum += part.A
		}
		require.Equal(t, g.First, sum)
		require.True(t, shape.AdapterCopies == 0 || g.Steps == 1)
	}
}

// The bound of a step that reads most is longer by what its adapters are read in at the peak, and that of one that
// multiplies most by what their rows are multiplied in.
func TestBoundsCountAdapters(t *testing.T) {
	d := adapted(t, "llama-3.1-8b", "h100-sxm", 1, 8, 64)
	const n, prompt = 8, 8192
	for kind, shape := range map[string]sim.Shape{
		"memory": {Decodes: n, DecodeTokens: n, DecodeCtx: n * 1000, Outputs: n, Adapters: n, AdapterTokens: n,
			AdapterOutputs: n},
		"compute": {Prefills: 1, PrefillTokens: prompt, PrefillPairs: prompt * (prompt + 1) / 2, PrefillCtx: prompt,
			PrefillLongest: prompt, Outputs: 1, Adapters: 1, AdapterTokens: prompt, AdapterOutputs: 1},
	} {
		var with, without sim.Segment
		r := hardware.NewRoofline(d, 64)
		r.Price([]sim.Shape{shape}, &with)
		bytes, flops := naiveAdapters(&d, int64(shape.Adapters), shape.AdapterTokens, int64(shape.AdapterOutputs))
		want := map[string]float64{"memory": bytes / d.GPU.BandwidthBps.Value, "compute": flops / d.GPU.FLOPS.BF16.Value}
		shape.Adapters, shape.AdapterTokens, shape.AdapterOutputs = 0, 0, 0
		r.Price([]sim.Shape{shape}, &without)
		require.InDelta(t, want[kind]*1e12, float64(with.Bound.A-without.Bound.A), 2, kind)
	}
}

// Drafts are rows of their sequences, so a step that verifies some multiplies adapters by each of them; and a step of
// data-parallel ranks lasts as long as that of the rank with most adapters, which reads its own alone.
func TestAdaptersStandBesideDraftsAndOnRanks(t *testing.T) {
	d := deployment(t, "llama-3.1-8b", "h100-sxm", 1)
	d.Speculation = &hardware.Speculation{Tokens: 3}
	d.LoRA = hardware.LoRA{Slots: 8, RankMax: 16, Modules: llm.AdapterModules(), HostLinkBps: 64e9, Used: true}
	require.NoError(t, d.Validate())
	r := hardware.NewRoofline(d, 64)
	shape := r.DraftShape(32, 1000, 3)
	require.Equal(t, []int64{8, 128, 128}, []int64{int64(shape.Adapters), shape.AdapterTokens,
		int64(shape.AdapterOutputs)})
	longer := func(shapes []sim.Shape, i int) (more sim.Duration) {
		var with, without sim.Segment
		r.Price(shapes, &with)
		shapes[i].Adapters, shapes[i].AdapterTokens, shapes[i].AdapterOutputs = 0, 0, 0
		r.Price(shapes, &without)
		return with.First - without.First
	}
	bytes, flops := naiveAdapters(&d, 8, 128, 128)
	want := powers(bytes/d.GPU.BandwidthBps.Value/d.Efficiency.Bandwidth,
		flops/d.GPU.FLOPS.BF16.Value/d.Efficiency.Compute, d.Efficiency.Overlap) * 1e12
	require.InDelta(t, want, float64(longer([]sim.Shape{shape}, 0)), 4)
	shape.AdapterCopies = sim.Millisecond
	var g sim.Segment
	r.Price([]sim.Shape{shape}, &g)
	require.Equal(t, sim.Millisecond, g.Part[sim.Communication].A)

	d = deployment(t, "qwen3-30b-a3b", "h100-sxm", 1)
	d.Parallel.Data = 2
	d.LoRA = hardware.LoRA{Slots: 8, RankMax: 16, Modules: []string{llm.ModuleQ, llm.ModuleO}, HostLinkBps: 64e9}
	require.NoError(t, d.Validate())
	r = hardware.NewRoofline(d, 64)
	rank := sim.Shape{Decodes: 16, DecodeTokens: 16, DecodeCtx: 16_000, Outputs: 16}
	adapted := rank
	adapted.Adapters, adapted.AdapterTokens, adapted.AdapterOutputs = 8, 16, 16
	require.Positive(t, longer([]sim.Shape{rank, adapted}, 1))
	require.Zero(t, longer([]sim.Shape{adapted, adapted}, 0), "the other rank lasts as long")
}

// The parts of an explained step sum to it, adapters among them, if requests have any.
func TestTheExplainedStepHasItsAdapters(t *testing.T) {
	d := adapted(t, "llama-3.1-8b", "h100-sxm", 1, 8, 16)
	d.LoRA.Used = true
	r := hardware.NewRoofline(d, 64)
	sum, found := 0.0, false
	for _, p := range r.Parts(32, 1000) {
		sum += p.TimeS
		if p.Name == "adapters" {
			found = true
			require.Equal(t, 8*(83_886_080.0+2*16*(4096+128_256)), p.Bytes)
			require.Equal(t, 2*32*(83_886_080/2.0+16*(4096+128_256)), p.FLOPs, "of 32 rows, each by every weight of one adapter")
		}
	}
	require.True(t, found)
	require.InEpsilon(t, r.Step(32, 1000).First.Seconds(), sum, 1e-6)
}

// Deployments that adapters are not modelled for are refused, in one line.
func TestAdaptersThatAreNotModelledAreRefused(t *testing.T) {
	for _, c := range []struct {
		model  string
		change func(d *hardware.Deployment)
		want   string
	}{
		{"llama-3.1-8b", func(d *hardware.Deployment) { d.LoRA.RankMax = 0 }, "slots of 0 rows"},
		{"llama-3.1-8b", func(d *hardware.Deployment) { d.Parallel.Pipeline = 2 }, "2 pipeline stages"},
		{"deepseek-v3", func(*hardware.Deployment) {}, "latents, indexers or recurrences"},
		{"qwen3-30b-a3b", func(*hardware.Deployment) {}, "experts"},
	} {
		d := deployment(t, c.model, "h100-sxm", 1)
		d.LoRA = hardware.LoRA{Slots: 1, RankMax: 16, Modules: llm.AdapterModules()}
		c.change(&d)
		require.ErrorContains(t, d.Validate(), c.want, c.model)
	}
	d := deployment(t, "qwen3-30b-a3b", "h100-sxm", 1)
	d.LoRA = hardware.LoRA{Slots: 1, RankMax: 16, Modules: []string{llm.ModuleQ, llm.ModuleO}}
	require.NoError(t, d.Validate(), "the attention of a model with experts")
}
