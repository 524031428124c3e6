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
	fixed := layers*e.LayerS + moe*e.MoELayerS + mixers*e.MixerLayerS + quantized*e.QuantizedLayerS
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
			inTurns := max(2*(halfProducts+fixed), 2*halfExchangeS)
			exchangeS = min(exchangeS, inTurns-computed)
		}
	}
	sum += reduceS + exchangeS + fixed
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
// half as much where they have moe_rows; or moe_tile_rows more, where activations have 16 bits.
func unfilled(d *hardware.Deployment, tokens float64) float64 {
	half, tile := d.Efficiency.MoERows, d.Efficiency.MoETileRows
	share := float64(d.Model.TopK()) / float64(d.Model.Experts())
	rows := tokens * share / (1 - math.Pow(1-share, tokens))
	dtype := d.Model.ComputeDtype(llm.RoutedExperts)
	_, unit := d.GPU.ComputeFLOPS(dtype)
	if quantised := unit == "fp8" || unit == "int8" || unit == "fp4" && dtype == "nvfp4"; tile > 0 && !quantised {
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
		memoryS := p.memoryS
		if p.kind == "decode" && len(b.chunks) > 0 {
			memoryS *= max(1, d.Efficiency.MixedKV)
		}
		others += powers(memoryS/d.Efficiency.KVBandwidth, p.computeS/d.Efficiency.AttentionCompute, d.Efficiency.Overlap)
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
	e, computeS := &d.Efficiency, p.computeS
	if e.QuantizedCompute > 0 {
		computeS += p.quantizedS/e.QuantizedCompute - p.quantizedS
	}
	if p.kind == "experts" {
		computeS *= unfilled(d, m.tokens) / e.MoECompute
	}
	return powers(p.memoryS/e.Bandwidth, computeS/e.Compute, e.Overlap)
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

// talk is the time of all-reduces and of exchanges with experts, layer by layer, and of transfers between stages.
func talk(d *hardware.Deployment, b batch, m mine) (reduceS, exchangeS, transferS float64) {
	oneReduceS, oneExchangeS := 0.0, 0.0
	if d.Parallel.Tensor > 1 {
		oneReduceS = reduceOnce(d, m.rows)
	}
	if d.Parallel.Ranks() > 1 {
		oneExchangeS = exchangeOnce(d, m, len(b.chunks) > 0)
	}
	for _, r := range d.Model.Layers {
		n := float64(r.Count)
		if r.Mixer.Attention.Heads > 0 || r.Mixer.Recurrence.ValueHeads > 0 {
			reduceS += n * oneReduceS
		}
		switch {
		case r.FFN.Experts > 0 && d.Parallel.Ranks() > 1:
			exchangeS += n * oneExchangeS
		case r.FFN.Experts > 0 || r.FFN.Width > 0:
			reduceS += n * oneReduceS
		}
	}
	if hops := float64(d.Parallel.Pipeline - 1); hops > 0 {
		vector, share := float64(d.Model.Hidden)*2, d.Efficiency.Link
		if each, hosts := inHost(d, d.Parallel.GPUs()); hosts > 1 && !ideal(d) {
			_, network := hardware.Sends(d, each, 0)
			share = network[0].Share
		}
		transferS = hops * (d.Efficiency.CollectiveS + m.rows*vector/(share*link(d, d.Parallel.GPUs())))
	}
	return reduceS, exchangeS, transferS
}

// unmeasured is a collective of which only the link is known.
func unmeasured(d *hardware.Deployment, gpus int, bytes float64) float64 {
	return d.Efficiency.CollectiveS*(1+0.15*math.Log2(float64(gpus))) + bytes/(d.Efficiency.Link*link(d, gpus))
}

// inHost returns how many of so many GPUs one domain or host holds, and how many such hosts there are.
func inHost(d *hardware.Deployment, gpus int) (each, hosts int) {
	size := 1
	if d.GPU.ScaleUpBps.Value > 0 {
		size = int(max(1, d.GPU.Domain.Value))
	}
	if size < 8 && d.GPU.PCIeBps.Value > 0 {
		size = 8
	}
	for each = min(size, gpus); hosts*each < gpus; hosts++ {
	}
	return each, hosts
}

// ideal reports whether nothing is lost of links: then tables of what is lost say nothing.
func ideal(d *hardware.Deployment) bool {
	return d.Efficiency.Link == 1 && d.Efficiency.CollectiveScale == 0
}

// takes is the time of a kernel on n GPUs that moves bytes over a link.
func takes(k hardware.Kernel, n int, bytes, rate float64) float64 {
	if n == 1 {
		return 0
	}
	share := min(1, k.Share*math.Pow(math.Min(8, float64(n)), k.Growth))
	return k.LatencyS + k.DoublingS*math.Log2(float64(n)) + bytes/(share*rate)
}

// inModel is what a collective takes in a model whose kernel takes so long.
func inModel(d *hardware.Deployment, kernelS float64) float64 {
	if e := &d.Efficiency; e.CollectiveScale > 0 {
		return e.CollectiveScale*kernelS + e.CollectiveS
	}
	return kernelS
}

// reduceOnce is one all-reduce of rows: the best kernel within hosts, and one more between them.
func reduceOnce(d *hardware.Deployment, rows float64) float64 {
	e, t, bytes := &d.Efficiency, d.Parallel.Tensor, rows*float64(d.Model.Hidden)*2
	each, hosts := inHost(d, t)
	if e.CollectiveScale == 0 && (hosts == 1 || ideal(d)) && !d.Parallel.NCCL {
		return unmeasured(d, t, bytes*2*float64(t-1)/float64(t))
	}
	between := 0.0
	if hosts > 1 {
		between = takes(hardware.Crossing(), hosts, bytes*2*float64(hosts-1)/float64(hosts)/float64(each), d.GPU.NICBps.Value)
	}
	best := math.Inf(1)
	for _, k := range hardware.Reduces(d, each) {
		moved := bytes * 2 * float64(each-1) / float64(each)
		if k.Whole {
			moved = bytes * float64(each-1)
		}
		within := 0.0
		if each > 1 {
			within = takes(k, each, moved, link(d, each))
		}
		best = min(best, inModel(d, within+between))
	}
	return best
}

// exchangeOnce is a dispatch and a combine by the best of the ways that the deployment may take.
func exchangeOnce(d *hardware.Deployment, m mine, prompts bool) float64 {
	e, p, k := &d.Efficiency, &d.Parallel, float64(d.Model.TopK())
	g := p.Tensor * p.Ranks()
	each, hosts := inHost(d, g)
	if e.CollectiveScale == 0 && (hosts == 1 || ideal(d)) && p.AllToAll == "" {
		part := float64(g-1) / float64(g)
		if p.Expert {
			part = min(part, k/float64(g))
		}
		return 2 * unmeasured(d, g, m.tokens*float64(d.Model.ExpertHidden())*2*part)
	}
	way := p.AllToAll
	if way == "" && (!p.Expert || float64(g) <= k+1 && hosts == 1) {
		way = hardware.AllGather
	}
	switch {
	case way == hardware.AllGather:
		return gatherOnce(d, m.tokens, each, hosts)
	case way == hardware.LowLatency, way == "" && hosts > 1 && !prompts:
		return sendOnce(d, m.rows, each, hosts, 0)
	case way == hardware.Normal || prompts:
		return sendOnce(d, m.rows, each, hosts, 1)
	}
	return min(sendOnce(d, m.rows, each, hosts, 0), sendOnce(d, m.rows, each, hosts, 1))
}

func gatherOnce(d *hardware.Deployment, tokens float64, each, hosts int) float64 {
	best, bytes := math.Inf(1), tokens*float64(d.Model.ExpertHidden())*2
	for _, k := range hardware.Gathers(d, each) {
		t := 0.0
		if each > 1 {
			t = takes(k, each, bytes*float64(each-1)/float64(each), link(d, each))
		}
		if far := hardware.Crossing(); hosts > 1 {
			far.LatencyS, far.DoublingS = far.LatencyS/2, far.DoublingS/2
			t += takes(far, hosts, bytes*float64(hosts-1)/float64(hosts)/float64(each), d.GPU.NICBps.Value)
		}
		best = min(best, 2*inModel(d, t))
	}
	return best
}

// sendOnce sends the rows of a rank, which its GPUs share: each copy by itself (0), or once to each GPU and host (1).
func sendOnce(d *hardware.Deployment, rows float64, each, hosts, mode int) float64 {
	near, far := hardware.Sends(d, each, mode)
	k, mine := float64(d.Model.TopK()), rows/float64(d.Parallel.Tensor)
	hidden := float64(d.Model.ExpertHidden())
	toExperts := 2 * hidden
	dtype := d.Model.ComputeDtype(llm.RoutedExperts)
	switch _, unit := d.GPU.ComputeFLOPS(dtype); {
	case unit == "fp8" || unit == "int8":
		toExperts = hidden + hidden/128*4
	case unit == "fp4" && dtype != "mxfp4":
		toExperts = hidden/2 + hidden/16
	}
	sum := 0.0
	for i, bytes := range []float64{mine * toExperts, mine * 2 * hidden} {
		copies, beyond := k*float64(each-1)/float64(each*hosts), k*float64(hosts-1)/float64(hosts)
		if mode == 1 {
			others := func(n int) float64 { return hit(d, n) * float64(n-1) / float64(n) }
			copies, beyond = others(each), others(hosts)
		}
		floorS, movingS := near[i].LatencyS, 0.0
		if each > 1 {
			movingS = bytes * copies / (near[i].Share * link(d, each))
		}
		if hosts > 1 {
			floorS = far[i].LatencyS + far[i].DoublingS*math.Log2(float64(hosts))
			movingS = max(movingS, bytes*beyond/(far[i].Share*d.GPU.NICBps.Value))
		}
		sum += inModel(d, floorS+movingS)
	}
	return sum
}

// hit is how many of n GPUs or hosts have experts that a token chose; of some groups of experts only, where the model
// is so, of which those count that have any of them.
func hit(d *hardware.Deployment, n int) float64 {
	if n == 1 {
		return 1
	}
	k, size := float64(d.Model.TopK()), float64(n)
	groups, limit := d.Model.ExpertGroups()
	if limit == groups {
		return size * (1 - math.Pow(1-1/size, k))
	}
	all, some := float64(groups), float64(limit)
	if n >= groups {
		each := some * size / all // places that its groups are in
		return each * (1 - math.Pow(1-1/each, k))
	}
	used := some * (1 - math.Pow(1-1/some, k))
	choose := func(of, some float64) float64 {
		if of-some <= -1 {
			return 0
		}
		return math.Gamma(of+1) / math.Gamma(of-some+1) / math.Gamma(some+1)
	}
	return size * (1 - choose(all-all/size, used)/choose(all, used))
}

// link is the rate between so many GPUs.
func link(d *hardware.Deployment, gpus int) float64 {
	g := &d.GPU
	switch {
	case g.ScaleUpBps.Value > 0 && gpus <= int(g.Domain.Value):
		return g.ScaleUpBps.Value
	case gpus <= 8 && g.PCIeBps.Value > 0:
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
			"quantized": d.Efficiency.QuantizedCompute > 0 && linear(&d, 1, 1, llm.Attention).quantizedS > 0,
			"far":       far(&d), "sent": d.Parallel.AllToAll == hardware.LowLatency || d.Parallel.AllToAll == hardware.Normal,
			"single batch": d.Parallel.Overlap == hardware.SingleBatch, "two batches": d.Parallel.Overlap == hardware.TwoBatch,
			"tiles":  d.Efficiency.MoETileRows > 0 && d.Model.Experts() > 0,
			"tables": d.Efficiency.CollectiveScale > 0, "host-bound": g.Part[4].B < 0,
			"mixed": d.Efficiency.MixedKV > 1 && len(b.decodes) > 0 && len(b.chunks) > 0,
		} {
			if on {
				features[name]++
			}
		}
	}
	t.Log(features)
	assert.Len(t, features, 16, "every feature was met: %v", features)
}
