package hardware_test

import (
	"math"

	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
)

// talk is the time of all-reduces and of exchanges with experts, layer by layer, and of transfers between stages.
func talk(d *hardware.Deployment, b batch, m mine) (reduceS, exchangeS, transferS float64) {
	oneReduceS, oneExchangeS := 0.0, 0.0
	if d.Parallel.Tensor > 1 {
		oneReduceS = reduceOnce(d, m.rows)
	}
	if d.Parallel.Ranks() > 1 {
		oneExchangeS, _ = exchangeOnce(d, m, len(b.chunks) > 0)
	}
	for _, r := range d.Model.Layers {
		n := float64(r.Count)
		if r.Mixer.Attention.Heads > 0 || r.Mixer.Recurrence.ValueHeads > 0 {
			reduceS += n * oneReduceS
		}
		switch {
		case r.FFN.Experts > 0 && d.Parallel.Ranks() > 1:
			exchangeS += n * oneExchangeS
			if p := &d.Parallel; p.Engine == "vllm" && p.Expert && d.Efficiency.Link < 1 {
				reduceS += n * gatherRowsOnce(d, m.rows*float64(d.Model.Hidden)*2)
			}
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
		peers := d.Parallel.GPUs()
		if d.GPU.Mesh && peers <= int(d.GPU.Domain.Value) {
			peers = 2
		}
		transferS = hops * (d.Efficiency.CollectiveS + m.rows*vector/(share*link(d, peers)))
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

// looked reports whether what n GPUs talk is looked up in tables: always where efficiencies say so, and beyond 8 GPUs
// or a host.
func looked(d *hardware.Deployment, n int) bool {
	_, hosts := inHost(d, n)
	return d.Efficiency.CollectiveScale > 0 || !ideal(d) && (hosts > 1 || n > 8)
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

// reduceOnce is one all-reduce of rows: the best kernel within hosts, and one more between them. Where only NCCL's is
// known, and others are fitted, each kernel starts no sooner and moves no faster than the fit.
func reduceOnce(d *hardware.Deployment, rows float64) float64 {
	t, bytes := d.Parallel.Tensor, rows*float64(d.Model.Hidden)*2
	fit := func(bytes float64) float64 { return unmeasured(d, t, bytes*2*float64(t-1)/float64(t)) }
	if !looked(d, t) && !d.Parallel.NCCL {
		return fit(bytes)
	}
	each, _ := inHost(d, t)
	best := math.Inf(1)
	for _, k := range hardware.Reduces(d, each) {
		start, end := reduceBy(d, k, 0), reduceBy(d, k, bytes)
		if !looked(d, t) {
			end = max(start, fit(0)) + max(end-start, fit(bytes)-fit(0))
		}
		best = min(best, end)
	}
	return best
}

// reduceBy is one all-reduce of bytes by a kernel within hosts.
func reduceBy(d *hardware.Deployment, k hardware.Kernel, bytes float64) float64 {
	each, hosts := inHost(d, d.Parallel.Tensor)
	between := 0.0
	if hosts > 1 {
		between = takes(hardware.Crossing(), hosts, bytes*2*float64(hosts-1)/float64(hosts)/float64(each), d.GPU.NICBps.Value)
	}
	moved := bytes * 2 * float64(each-1) / float64(each)
	switch {
	case k.Whole:
		moved = bytes * float64(each-1)
	case k.Once:
		moved = bytes
	}
	within := 0.0
	if each > 1 {
		within = takes(k, each, moved, link(d, each))
	}
	return inModel(d, within+between)
}

// exchangeOnce is a dispatch and a combine by the best of the ways that the deployment may take, and whether it is by
// the normal kernels.
func exchangeOnce(d *hardware.Deployment, m mine, prompts bool) (seconds float64, normal bool) {
	p, k := &d.Parallel, float64(d.Model.TopK())
	g := p.Tensor * p.Ranks()
	each, hosts := inHost(d, g)
	if !looked(d, g) && p.AllToAll == "" && !sorted(d) {
		part := float64(g-1) / float64(g)
		if p.Expert {
			part = min(part, k/float64(g))
		}
		return 2 * unmeasured(d, g, m.tokens*float64(d.Model.ExpertHidden())*2*part), false
	}
	way := p.AllToAll
	if way == "" && (!p.Expert || float64(g) <= k+1 && hosts == 1) {
		way = hardware.AllGather
	}
	seconds = math.Inf(1)
	try := func(mode int) {
		if s := sendOnce(d, m.rows, each, hosts, mode); s < seconds {
			seconds, normal = s, mode == 1
		}
	}
	switch way {
	case hardware.AllGather:
		return 2 * gatherOnce(d, m.tokens*float64(d.Model.ExpertHidden())*2, each, hosts), false
	case "":
		if !prompts {
			try(0)
		}
		if prompts || hosts == 1 {
			try(1)
		}
		if hosts == 1 && d.GPU.Domain.Value > 8 && d.GPU.ScaleUpBps.Value > 0 {
			try(2)
		}
	case hardware.LowLatency:
		try(0)
	case hardware.Normal:
		try(1)
	case hardware.OneSided:
		try(2)
	}
	return seconds, normal
}

// gatherOnce is an all-gather of so many bytes, over all GPUs together.
func gatherOnce(d *hardware.Deployment, bytes float64, each, hosts int) float64 {
	best := math.Inf(1)
	for _, k := range hardware.Gathers(d, each) {
		t := 0.0
		if each > 1 {
			t = takes(k, each, bytes*float64(each-1)/float64(each), link(d, each))
		}
		if far := hardware.Crossing(); hosts > 1 {
			far.LatencyS, far.DoublingS = far.LatencyS/2, far.DoublingS/2
			t += takes(far, hosts, bytes*float64(hosts-1)/float64(hosts)/float64(each), d.GPU.NICBps.Value)
		}
		best = min(best, inModel(d, t))
	}
	return best
}

// logitsS is gathering the logits of all outputs of a tensor-parallel group.
func logitsS(d *hardware.Deployment, m mine) float64 {
	if m.outputs == 0 {
		return 0
	}
	return gatherRowsOnce(d, m.outputs*float64(d.Model.Vocab)*2)
}

// gatherRowsOnce is an all-gather of so many bytes in a tensor-parallel group.
func gatherRowsOnce(d *hardware.Deployment, bytes float64) float64 {
	t := d.Parallel.Tensor
	if t == 1 {
		return 0
	}
	if !looked(d, t) {
		return unmeasured(d, t, bytes*float64(t-1)/float64(t))
	}
	each, hosts := inHost(d, t)
	return gatherOnce(d, bytes, each, hosts)
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
		if mode > 0 {
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
		sum += inModel(d, max(near[i].LeastS, floorS+movingS))
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
	case g.ScaleUpBps.Value > 0 && gpus <= int(g.Domain.Value) && g.Mesh:
		each := g.ScaleUpBps.Value / (g.Domain.Value - 1)
		return float64(gpus-1) * each
	case g.ScaleUpBps.Value > 0 && gpus <= int(g.Domain.Value):
		return g.ScaleUpBps.Value
	case gpus <= 8 && g.PCIeBps.Value > 0:
		return g.PCIeBps.Value
	}
	return g.NICBps.Value
}
