package hardware_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
)

// naive is the length of a step in seconds, added up from the twin's parts with every loss and every floor.
func naive(d *hardware.Deployment, b batch) float64 {
	e, m := &d.Efficiency, busiest(d, b)
	eager := pad(d, &m)
	sum := 0.0
	for _, p := range twinOf(d, b, m) {
		memoryS, computeS := p.memoryS, p.computeS
		switch p.kind {
		case "experts", "weights":
			if e.QuantizedCompute > 0 {
				computeS += p.quantizedS/e.QuantizedCompute - p.quantizedS
			}
			if p.kind == "experts" {
				computeS *= unfilled(d, m.tokens) / e.MoECompute
			}
			memoryS, computeS = memoryS/e.Bandwidth, computeS/e.Compute
		default:
			if p.kind == "decode" && len(b.chunks) > 0 {
				memoryS *= max(1, e.MixedKV)
			}
			memoryS, computeS = memoryS/e.KVBandwidth, computeS/e.AttentionCompute
		}
		sum += powers(memoryS, computeS, e.Overlap)
	}
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
			r.Mixer.Recurrence.ValueHeads > 0} {
			if extra {
				mixers += n
			}
		}
	}
	collectiveS, transferS := talk(d, m)
	sum += collectiveS + layers*e.LayerS + moe*e.MoELayerS + mixers*e.MixerLayerS + quantized*e.QuantizedLayerS
	stages := float64(d.Parallel.Pipeline)
	gpuS := sum*stages*math.Ceil(layers/stages)/layers + transferS + float64(m.decodes)*e.SequenceS
	launchS := 0.0
	if eager {
		launchS = layers * e.EagerLayerS
	}
	if d.Launch.Async {
		return max(gpuS, launchS, e.StepS)
	}
	return max(gpuS, launchS) + e.StepS
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
// half as much where they have moe_rows.
func unfilled(d *hardware.Deployment, tokens float64) float64 {
	half := d.Efficiency.MoERows
	if half == 0 {
		return 1
	}
	share := float64(d.Model.TopK()) / float64(d.Model.Experts())
	touched := 1 - math.Pow(1-share, tokens)
	return 1 + 1/(1+tokens*share/touched/half)
}

// powers is (a^p + b^p)^(1/p).
func powers(a, b, p float64) float64 {
	high := max(a, b)
	if high == 0 || math.IsInf(p, 1) {
		return high
	}
	return high * math.Pow(math.Pow(a/high, p)+math.Pow(b/high, p), 1/p)
}

// talk is the time of collectives, layer by layer, and of transfers between stages.
func talk(d *hardware.Deployment, m mine) (collectiveS, transferS float64) {
	t, ranks := d.Parallel.Tensor, d.Parallel.Ranks()
	vector := float64(d.Model.Hidden) * 2
	one := func(gpus int, bytes float64) float64 {
		if gpus == 1 {
			return 0
		}
		return d.Efficiency.CollectiveS*(1+0.15*math.Log2(float64(gpus))) + bytes/(d.Efficiency.Link*link(d, gpus))
	}
	around := func(g int) float64 { return float64(g-1) / float64(g) }
	part := around(t * ranks) // of all tokens, that a GPU gets: all of the others', or those sent to its experts
	if d.Parallel.Expert {
		part = min(part, float64(d.Model.TopK())/float64(t*ranks))
	}
	reduceS, exchangeS := one(t, m.rows*vector*2*around(t)), one(t*ranks, m.tokens*vector*part)
	for _, r := range d.Model.Layers {
		n := float64(r.Count)
		if r.Mixer.Attention.Heads > 0 || r.Mixer.Recurrence.ValueHeads > 0 {
			collectiveS += n * reduceS
		}
		switch {
		case r.FFN.Experts > 0 && ranks > 1:
			collectiveS += n * 2 * exchangeS
		case r.FFN.Experts > 0 || r.FFN.Width > 0:
			collectiveS += n * reduceS
		}
	}
	if hops := float64(d.Parallel.Pipeline - 1); hops > 0 {
		transferS = hops * (d.Efficiency.CollectiveS + m.rows*vector/(d.Efficiency.Link*link(d, d.Parallel.GPUs())))
	}
	return collectiveS, transferS
}

// link is the rate between so many GPUs.
func link(d *hardware.Deployment, gpus int) float64 {
	g := &d.GPU
	switch {
	case g.ScaleUpBps.Value > 0 && gpus <= int(g.Domain.Value):
		return g.ScaleUpBps.Value
	case g.ScaleUpBps.Value == 0 && gpus <= 8:
		return g.PCIeBps.Value
	}
	return g.NICBps.Value
}

// Whatever is turned on, a step costs what the naive sum says: with real losses and with none.
func TestAStepIsTheNaiveSum(t *testing.T) {
	random := rand.New(rand.NewPCG(21, 22))
	features := map[string]int{}
	for range 1500 {
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
			"async": d.Launch.Async, "materialized": d.Materialized, "sparse": d.Model.Precision.Weights[llm.Attention].Sparse,
			"quantized":  d.Efficiency.QuantizedCompute > 0 && linear(&d, 1, 1, llm.Attention).quantizedS > 0,
			"host-bound": g.Part[4].B < 0, "mixed": d.Efficiency.MixedKV > 1 && len(b.decodes) > 0 && len(b.chunks) > 0,
		} {
			if on {
				features[name]++
			}
		}
	}
	t.Log(features)
	assert.Len(t, features, 10, "every feature was met: %v", features)
}
