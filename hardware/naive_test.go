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
)

// naive is the length of a step in seconds, added up from the twin's parts with every loss and every floor.
func naive(d *hardware.Deployment, b batch) float64 {
	m := busiest(d, b)
	eager := pad(d, &m)
	gpuS, launchS := naivePass(d, b, m, eager)
	return withHost(d, besideLaunch(d, b, gpuS, launchS), m)
}

// withHost is a step that its engine prepares before it or beside it.
func withHost(d *hardware.Deployment, together float64, m mine) float64 {
	preparing := d.Efficiency.StepS + float64(m.decodes)*d.Efficiency.SequenceHostS
	if d.Launch.Async {
		return max(together, preparing)
	}
	return together + preparing
}

// naivePass is how long one run of the model takes the GPU, and how long the host to launch it.
func naivePass(d *hardware.Deployment, b batch, m mine, eager bool) (gpuS, launchS float64) {
	e := &d.Efficiency
	products, others := naiveParts(d, b, m)
	sum := products + others
	layers, moe := 0.0, 0.0
	mixers, quantized := 0.0, 0.0
	for _, r := range d.Model.Layers {
		n := float64(r.Count)
		layers += n
		dtype := d.Model.ComputeDtype(llm.DenseFFN)
		if r.FFN.Experts > 0 {
			moe += n
			dtype = d.Model.ComputeDtype(llm.RoutedExperts)
		}
		if _, unit := d.GPU.ComputeFLOPS(dtype); unit == "fp8" || unit == "int8" || dtype == "nvfp4" && unit == "fp4" {
			quantized += n
		}
		for _, extra := range []bool{r.Mixer.Attention.Latent.Rank > 0, r.Mixer.Attention.Index.Heads > 0,
			r.Mixer.Attention.Compression.Ratio > 0, r.Mixer.Recurrence.ValueHeads > 0} {
			if extra {
				mixers += n
			}
		}
	}
	beside := 0.0
	if len(b.chunks) > 0 {
		beside = layers * e.PromptLayerS
	}
	inGraphS := layers*e.LayerS + moe*e.MoELayerS + mixers*e.MixerLayerS + quantized*e.QuantizedLayerS
	fixed := inGraphS + beside
	reduceS, exchangeS, transferS := talk(d, b, m)
	if exchangeS > 0 {
		computed := products + fixed
		switch d.Parallel.Overlap {
		case hardware.SingleBatch:
			exchangeS = max(0, exchangeS-shadow(d, b, m))
		case hardware.TwoBatch:
			half := m
			half.rows, half.tokens, half.outputs = m.rows/2, m.tokens/2, m.outputs/2
			halfProducts, _ := naiveParts(d, b, half)
			_, halfExchangeS, _ := talk(d, b, half)
			slowed := 0.0
			if _, normal := exchangeOnce(d, half, len(b.chunks) > 0); normal {
				slowed = 20.0 / 132
			}
			inTurns := max(2*(halfProducts+fixed)+slowed*2*halfExchangeS, 2*halfExchangeS)
			exchangeS = min(exchangeS, inTurns-computed)
		}
	}
	sum += reduceS + exchangeS + fixed + expandedS(d, b, m)
	stages := float64(d.Parallel.Pipeline)
	slowest := stages * math.Ceil(layers/stages) / layers
	gpuS = sum*slowest + transferS + logitsS(d, m) + float64(m.decodes)*e.SequenceS
	if d.Parallel.Data > 1 {
		gpuS += e.RankS * math.Log2(float64(d.Parallel.Tensor*d.Parallel.Data)) / 3
	}
	exchanging, reducing := betweenRanks(d)
	launchS = slowest * (layers*(1+2*reducing)*e.EagerLayerS +
		e.EagerLaunch*((1+exchanging)*moe*e.MoELayerS+mixers*e.MixerLayerS))
	if len(b.chunks) > 0 {
		launchS += slowest * e.EagerLaunch * quantized * e.QuantizedLayerS
	}
	return gpuS, launchS * launched(eager, len(b.chunks) > 0, e.PromptLaunch)
}

// betweenRanks is how much longer experts are launched there, with what brings tokens to them, and each of the two
// all-reduces of a layer, as parts of a plain layer.
func betweenRanks(d *hardware.Deployment) (exchanging, reducing float64) {
	if d.Parallel.Data < 2 || d.Efficiency.LaunchOverlap == 0 {
		return 0, 0
	}
	if d.Parallel.Tensor > 1 {
		reducing = 2.0 / 5
	}
	return 1.0 / 2, reducing
}

// besideLaunch is the longer of GPU and launch, with prompts perhaps smoothly.
func besideLaunch(d *hardware.Deployment, b batch, gpuS, launchS float64) float64 {
	if p := d.Efficiency.LaunchOverlap; len(b.chunks) > 0 && p > 0 {
		return powers(gpuS, launchS, p)
	}
	return max(gpuS, launchS)
}

// launched is how much of what launching takes kernel by kernel a step waits for.
func launched(eager, prompts bool, inGraphs float64) float64 {
	switch {
	case eager && prompts:
		return max(1, inGraphs)
	case eager:
		return 1
	case prompts:
		return inGraphs
	}
	return 0
}

// far reports whether data-parallel ranks are in several hosts, whose collectives are in tables.
func far(d *hardware.Deployment) bool {
	_, hosts := inHost(d, d.Parallel.Tensor*d.Parallel.Ranks())
	return hosts > 1 && d.Parallel.Ranks() > 1 && !ideal(d)
}

// pad looks for the graph that m fits into; true: the step is eager.
func pad(d *hardware.Deployment, m *mine) bool {
	if d.Launch.Eager || len(d.Launch.Graphs) == 0 {
		return d.Launch.Eager
	}
	for _, rows := range d.Launch.Graphs {
		if float64(rows) >= m.rows {
			m.rows = float64(rows)
			m.tokens = float64(rows * d.Parallel.Ranks())
			return false
		}
	}
	return true
}

// unfilled is by how much longer experts multiply that have few rows: as much again as with many where they have none,
// half as much where they have moe_rows; or moe_tile_rows at peak more, where weights are expanded to 16 bits.
func unfilled(d *hardware.Deployment, tokens, touched float64) float64 {
	half := d.Efficiency.MoERows
	tile := d.Efficiency.MoETileRows * d.Efficiency.Compute * d.Efficiency.MoECompute
	rows := tokens * float64(d.Model.TopK()) / float64(d.Model.Experts()+d.Routing.Redundant) / touched
	dtype := d.Model.ComputeDtype(llm.RoutedExperts)
	_, unit := d.GPU.ComputeFLOPS(dtype)
	quantised := unit == "fp8" || unit == "int8" || unit == "fp4" && dtype == "nvfp4"
	if tile > 0 && !quantised && dtype != "bf16" {
		return (rows + tile) / rows
	}
	if half == 0 {
		return 1
	}
	return 1 + 1/(1+rows/half)
}

// powers is (a^p + b^p)^(1/p).
func powers(a, b, p float64) float64 {
	high := max(a, b)
	if high == 0 || math.IsInf(p, 1) {
		return high
	}
	return high * math.Pow(math.Pow(a/high, p)+math.Pow(b/high, p), 1/p)
}

// naiveParts sums the twin's parts with every loss: products with weights, and attention.
func naiveParts(d *hardware.Deployment, b batch, m mine) (products, others float64) {
	for _, p := range twinOf(d, b, m) {
		if p.kind == "experts" || p.kind == "weights" {
			products += productS(d, p, m)
			continue
		}
		memoryS := max(p.memoryS, p.againS*d.Efficiency.KVBandwidth)
		if p.kind == "decode" && len(b.chunks) > 0 {
			memoryS *= max(1, d.Efficiency.MixedKV)
		}
		achieved, overlap := d.Efficiency.AttentionCompute, d.Efficiency.Overlap
		if p.kind == "decode" && p.latent && d.Efficiency.LatentCompute > 0 {
			achieved, overlap = d.Efficiency.LatentCompute, math.Inf(1)
		}
		if p.padding > 0 && !ideal(d) {
			achieved /= p.padding
		}
		computeS := max(p.computeS/achieved, p.tileS/max(0.8, d.Efficiency.AttentionCompute))
		others += powers(memoryS/d.Efficiency.KVBandwidth, computeS, overlap)
	}
	return products + m.rows*streamBytes(d)/(d.GPU.BandwidthBps.Value*d.Efficiency.Bandwidth), others
}

// streamBytes is what a row moves between layers beyond one vector, layer by layer: each half of a layer reads and
// writes all streams, or reads the blocks of layers that are complete.
func streamBytes(d *hardware.Deployment) float64 {
	x, vectors, at := d.Model.Residual, 0, 0
	for _, r := range d.Model.Layers {
		for range r.Count {
			if x.Streams > 1 {
				vectors += 2 * (x.Streams + 1 + 1 + x.Streams + x.Streams - 3)
			}
			if x.Block > 0 {
				vectors += 2 * (at / x.Block)
			}
			at++
		}
	}
	return float64(vectors*d.Model.Hidden) * 2
}

// productS is the time of a product with weights.
func productS(d *hardware.Deployment, p part, m mine) float64 {
	e, computeS, moved := &d.Efficiency, p.computeS, 0.0
	if e.QuantizedCompute > 0 {
		computeS += p.quantizedS/e.QuantizedCompute - p.quantizedS
	}
	if p.kind == "experts" {
		touched, read, rows := hardware.Touched(d, m.tokens)
		computeS *= unfilled(d, m.tokens, touched) * rows / e.MoECompute
		if sorted(d) {
			share, _, _ := tabled(d)
			computeS = p.computeS * rows * e.Compute / share
		}
		p.memoryS *= read / touched
		moved = carried(d) * m.tokens * rows / (e.Bandwidth * d.GPU.BandwidthBps.Value)
	}
	return powers(p.memoryS/e.Bandwidth, computeS/e.Compute, e.Overlap) + moved
}

// sorted reports whether tables say what experts achieve: where an all-to-all brings the GPUs of several hosts, or of
// more than 8, their experts' rows sorted; and, in fp8 and fp4 activations, where it brings them to ranks of one host
// that run decodes alone, or where nothing but prompts is run.
func sorted(d *hardware.Deployment) bool {
	gpus := d.Parallel.Tensor * d.Parallel.Ranks()
	_, hosts := inHost(d, gpus)
	far := d.Parallel.Expert && (gpus > 8 || hosts > 1)
	near := d.Phase == hardware.PromptsOnly ||
		d.Phase == hardware.DecodesOnly && d.Parallel.Expert && d.Parallel.Data > 1
	near = near && linear(d, 1, 1, llm.RoutedExperts).quantizedS > 0
	return d.Efficiency.Link < 1 && (far || near)
}

// tabled is the share of the peak and the bytes of an element that tables have, and whether every GPU moves all copies.
func tabled(d *hardware.Deployment) (share, bytes float64, all bool) {
	_, unit := d.GPU.ComputeFLOPS(d.Model.ComputeDtype(llm.RoutedExperts))
	gpus := d.Parallel.Tensor * d.Parallel.Ranks()
	_, hosts := inHost(d, gpus)
	sends := map[hardware.AllToAll]bool{hardware.LowLatency: true, hardware.Normal: true, hardware.OneSided: true}
	arrive := gpus > 8 || hosts > 1 || sends[d.Parallel.AllToAll]
	whole := d.Parallel.Expert
	blackwell, hopper := d.GPU.Architecture == "blackwell", d.GPU.Architecture == "hopper"
	if unit == "fp4" && !arrive && !(whole && d.Parallel.Data > 1) {
		return 0.34, 9, false
	}
	if unit == "fp4" {
		return 0.77, 36, false
	}
	if unit == "fp8" && !arrive && blackwell {
		return 0.21, 12, true
	}
	if unit == "fp8" && !arrive && hopper && whole {
		return 0.43, 37, false
	}
	if unit == "fp8" && !arrive && hopper {
		return 0.36, 12, true
	}
	return 0.62, 17, false
}

// carried is how many bytes a GPU moves of the copies of a token's activations that its experts compute.
func carried(d *hardware.Deployment) float64 {
	copies, gpus := float64(d.Model.TopK()), float64(d.Parallel.Tensor*d.Parallel.Ranks())
	if experts := float64(d.Model.Experts()); d.Parallel.Expert {
		slots := experts + float64(d.Routing.Redundant)
		copies *= math.Ceil(slots/gpus) / slots
	}
	bytes, each := 0.0, d.Efficiency.MoECopyBytes
	if sorted(d) {
		_, tableBytes, all := tabled(d)
		each = tableBytes
		if all {
			copies = float64(d.Model.TopK())
		}
	}
	for _, r := range d.Model.Layers {
		if r.FFN.Experts > 0 {
			bytes += float64(r.Count) * copies * float64(d.Model.ExpertHidden()) * each
		}
	}
	return bytes
}

// shadow is what one batch computes while its tokens travel: the part of the weights outside the routed experts that is
// of shared ones, and one of the three matrices of the routed.
func shadow(d *hardware.Deployment, b batch, m mine) float64 {
	products, _ := naiveParts(d, b, m)
	experts := 0.0
	for _, p := range twinOf(d, b, m) {
		if p.kind == "experts" {
			experts = productS(d, p, m)
		}
	}
	n, t := d.Model.Params(), float64(d.Parallel.Tensor)
	split := float64(n[llm.Attention]+n[llm.Recurrent]+n[llm.DenseFFN]+n[llm.SharedExperts]+n[llm.Head]) / t
	whole := float64(n[llm.AttentionReplicated] + n[llm.Indexer] + n[llm.Compressor] + n[llm.Router] +
		n[llm.ExpertProjections])
	return experts/3 + (products-experts)*float64(n[llm.SharedExperts])/t/(split+whole)
}

// Whatever is turned on, a step costs what the naive sum says: with real losses and with none.
func TestAStepIsTheNaiveSum(t *testing.T) {
	random := rand.New(rand.NewPCG(21, 22))
	features := map[string]int{}
	for range soak.Part(1500) {
		d := randomDeployment(t, random, someGPUs, someModels)
		if random.IntN(3) == 0 {
			d.Efficiency = efficiency(t, "textbook")
		}
		b := randomBatch(random, min(d.Model.ContextMax, 1<<17))
		g := price(hardware.NewRoofline(d, random.IntN(30)), b)
		want := naive(&d, b) * 1e12
		rounding := roundingPS(b.shape(&d)) + float64(len(b.decodes)) // of the overhead per sequence
		require.InDelta(t, want, float64(g.First), rounding+1e-9*want, "%s on %s, %s, %+v, %+v, %+v, %+v", d.Model.Name,
			d.GPU.Name,
			d.KVDtype, d.Parallel, d.Launch, d.Efficiency, b)
		require.Empty(t, boundBroken(&d, b, &g), "%s on %s, %+v, %+v, %+v", d.Model.Name, d.GPU.Name, d.Parallel, d.Launch, b)
		for name, on := range map[string]bool{
			"data parallel": d.Parallel.Data > 1, "stages": d.Parallel.Pipeline > 1,
			"graphs": d.Launch.Graphs != nil, "eager": d.Launch.Eager,
			"head by head": d.PerHead && len(b.decodes) > 0,
			"async":        d.Launch.Async, "materialized": d.Materialized, "attention in fp8": d.AttentionFP8,
			"sparse":    d.Model.Precision.Weights[llm.Attention].Sparse,
			"quantized": d.Efficiency.QuantizedCompute > 0 && linear(&d, 1, 1, llm.Attention).quantizedS > 0,
			"far":       far(&d), "sent": d.Parallel.AllToAll == hardware.LowLatency || d.Parallel.AllToAll == hardware.Normal,
			"single batch": d.Parallel.Overlap == hardware.SingleBatch, "two batches": d.Parallel.Overlap == hardware.TwoBatch,
			"skewed": d.Routing.Skew > 0, "redundant": d.Routing.Redundant > 0,
			"spread":   d.Parallel.Expert && d.Parallel.GPUs() > 1 && d.Efficiency.ExpertImbalance > 0,
			"tiles":    unfilled(&d, 8, 1) > 2, // which moe_rows alone do not reach
			"latent":   d.Efficiency.LatentCompute > 0 && hasLatents(&d),
			"prompts":  d.Efficiency.PromptLayerS > 0 && len(b.chunks) > 0,
			"launched": d.Efficiency.PromptLaunch > 0 && len(b.chunks) > 0,
			"beyond":   d.Efficiency.EagerLaunch > 0 && d.Launch.Eager,
			"waiting":  d.Efficiency.RankS > 0 && d.Parallel.Data > 1,
			"prepared": d.Efficiency.SequenceHostS > 0 && d.Launch.Async,
			"sorted":   sorted(&d), "prompts only": d.Phase == hardware.PromptsOnly && sorted(&d),
			"decodes only": d.Phase == hardware.DecodesOnly && sorted(&d),
			"copies":       d.Efficiency.MoECopyBytes > 0 && d.Model.Experts() > 0,
			"expanded":     expandedS(&d, b, busiest(&d, b)) > 0,
			"one-sided":    d.Parallel.Expert && d.Parallel.Ranks() > 1 && d.Parallel.AllToAll == hardware.OneSided,
			"tables":       d.Efficiency.CollectiveScale > 0, "host-bound": g.Part[4].B < 0,
			"mixed": d.Efficiency.MixedKV > 1 && len(b.decodes) > 0 && len(b.chunks) > 0,
		} {
			if on {
				features[name]++
			}
		}
	}
	t.Log(features)
	assert.True(t, len(features) == 33 || soak.Brief() && len(features) > 30, "every feature was met: %v", features)
}

// TestAStepOfASmallModelIsTheNaiveSum, where numbers of heads, experts, elements and tokens are down to one.
func TestAStepOfASmallModelIsTheNaiveSum(t *testing.T) {
	random := rand.New(rand.NewPCG(23, 24))
	for range soak.Part(600) {
		d := smallDeployment(t, random)
		b := randomBatch(random, 3000)
		g := price(hardware.NewRoofline(d, random.IntN(30)), b)
		want := naive(&d, b) * 1e12
		require.InDelta(t, want, float64(g.First), roundingPS(b.shape(&d))+float64(len(b.decodes))+1e-9*want,
			"%+v %+v, %+v, %+v, %+v, %+v", d.Model.Layers, d.Model.Residual, d.Parallel, d.Launch, d.Efficiency, b)
		require.Empty(t, boundBroken(&d, b, &g), "%+v, %+v, %+v", d.Model.Layers, d.Parallel, b)
	}
}

// TestKernelsThatSendTakeCores from what hides them: the two halves of a batch of prompts that compute for long.
func TestKernelsThatSendTakeCores(t *testing.T) {
	d := deployment(t, "deepseek-r1", "h100-sxm", 1)
	d.Parallel = hardware.Parallel{Tensor: 1, Pipeline: 1, Data: 16, Expert: true, AllToAll: hardware.Normal,
		Overlap: hardware.TwoBatch}
	d.Efficiency.Link, d.Efficiency.Compute = 0.5, 0.1
	var b batch
	for range 64 {
		b.chunks = append(b.chunks, chunk{tokens: 2048})
	}
	g := price(hardware.NewRoofline(d, 0), b)
	assert.InEpsilon(t, naive(&d, b), g.First.Seconds(), 1e-9)
}
