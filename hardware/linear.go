package hardware

import (
	"github.com/decodesim/decodesim/hardware/llm"
	"math"
)

// product is a group of matrix products that run back to back in every layer: what one GPU reads for it and computes
// per token.
type product struct {
	name      string
	bytes     float64 // weights, of the whole group; of all experts for experts
	flops     float64 // per row
	memoryPS  float64 // reading the weights, at the efficiency
	rowPS     float64 // per row, at the efficiency; both in the slowest stage, see stretch
	peakPS    float64 // per row, at peak
	copyPS    float64 // per row, moving the activations that its experts compute, see copies
	experts   bool    // only the experts that the rows are routed to are read
	lastToken bool    // rows are the outputs of the step, not all its tokens
}

// products returns the linear layers of one GPU, by part of the model. A tensor class is split over the tensor-parallel
// group, except what every GPU holds whole, and the routed experts, which all data-parallel ranks share.
func (d *Deployment) products() []product {
	parts := []struct {
		name    string
		classes []llm.WeightClass
	}{
		{"attention projections", []llm.WeightClass{llm.Attention, llm.AttentionReplicated, llm.Indexer, llm.Compressor,
			llm.Recurrent}},
		{"feed-forward", []llm.WeightClass{llm.DenseFFN, llm.SharedExperts, llm.Router, llm.Norms,
			llm.ExpertProjections}},
		{"experts", []llm.WeightClass{llm.RoutedExperts}},
		{"LM head", []llm.WeightClass{llm.Head}},
	}
	params := d.Model.Params()
	var out []product
	for _, part := range parts {
		p := product{name: part.name, experts: part.name == "experts", lastToken: part.name == "LM head"}
		for _, c := range part.classes {
			d.addClass(&p, c, float64(params[c])*d.share(c))
		}
		p.memoryPS = p.bytes / (d.Efficiency.Bandwidth * d.GPU.BandwidthBps.Value) * psPerS * d.stretch()
		p.rowPS *= d.stretch()
		if p.experts {
			p.copyPS = d.copies()
		}
		if p.bytes > 0 {
			out = append(out, p)
		}
	}
	return out
}

// share returns the part of a class's weights that one rank holds.
func (d *Deployment) share(c llm.WeightClass) float64 {
	switch c {
	case llm.AttentionReplicated, llm.Indexer, llm.Compressor, llm.Router, llm.ExpertProjections, llm.Norms:
		return 1
	case llm.RoutedExperts:
		return d.expertShare()
	}
	return 1 / float64(d.Parallel.Tensor)
}

// addClass adds n parameters of class c to p: each is read once per step and multiplied once per row, 2 FLOPs.
func (d *Deployment) addClass(p *product, c llm.WeightClass, n float64) {
	if n == 0 {
		return
	}
	p.bytes += float64(n * d.Model.WeightBits(c) / 8)
	if c == llm.Norms {
		return // read, but no matrix
	}
	peak, efficiency := d.achieved(c)
	used := n
	if c == llm.RoutedExperts {
		efficiency *= d.Efficiency.MoECompute
		if d.grouped() {
			efficiency = d.grouping().share
		}
		used *= float64(d.Model.TopK()) / float64(d.Model.Experts()+d.Routing.Redundant)
	}
	p.flops += 2 * used
	p.peakPS += float64(2 * used / peak * psPerS)
	p.rowPS += float64(2 * used / (peak * efficiency) * psPerS)
}

// achieved returns the peak FLOP/s of the format of a class, and the share of it that dense products achieve.
func (d *Deployment) achieved(c llm.WeightClass) (peak, share float64) {
	peak, err := d.GPU.rate(d.Model.Precision.Weights[c])
	if err != nil {
		panic(err) // Validate refuses it
	}
	share = d.Efficiency.Compute
	if q := d.Efficiency.QuantizedCompute; q > 0 && d.GPU.quantizesActivations(d.Model.ComputeDtype(c)) {
		share *= q
	}
	return peak, share
}

// quantizedLayers counts the layers whose feed-forward network quantises its activations, and so launches kernels for
// that.
func (d *Deployment) quantizedLayers() float64 {
	return float64(d.Model.CountLayers(func(r llm.LayerRun) int {
		class := llm.DenseFFN
		if r.FFN.Experts > 0 {
			class = llm.RoutedExperts
		}
		if d.GPU.quantizesActivations(d.Model.ComputeDtype(class)) {
			return 1
		}
		return 0
	}))
}

// smax is the time of two overlapping uses of a GPU: (a^p + b^p)^(1/p), from their sum (p = 1) to the longer (p = ∞).
func smax(a, b, p float64) float64 {
	switch {
	case p == 2:
		return math.Sqrt(float64(a*a) + float64(b*b))
	case a == 0 || b == 0 || math.IsInf(p, 1):
		return max(a, b)
	case p == 1:
		return a + b
	}
	long, short := max(a, b), min(a, b)
	return long * math.Pow(1+math.Pow(short/long, p), 1/p) // never below the longer, and no power under- or overflows
}
