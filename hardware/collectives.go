package hardware

import "math"

// comm is the time GPUs of a replica spend passing activations on.
type comm struct {
	fixedPS float64
	rowPS   float64 // per token of a rank
	tokenPS float64 // per token of all data-parallel ranks
}

// newComm prices the all-reduce after each mixer and each feed-forward network of a tensor-parallel group of g GPUs,
// and passing activations on between pipeline stages:
//
//	T = n_c · (a_l · (1 + 0.15 log2 g) + rows · H · 2 B · 2(g−1)/g / (e_n · link_g))
//	  + (stages − 1) · (a_l + rows · H · 2 B / (e_n · link_s))
//
// with link_g that of the group and link_s that of all stages: a stage stays within a host that is large enough for it.
// The form and its 0.15 are those that fit public collective tables (a ring moves 2(g−1)/g of the message).
//
// Between data-parallel ranks an MoE layer dispatches tokens to the experts and combines what they yield, in place of
// its all-reduce: 2 collectives of the same latency over the G = g · ranks GPUs, of half the volume each, for the
// tokens of all ranks: tokens · H · 2 B · x, where x is the part that a GPU receives, see exchanged.
func newComm(d *Deployment) comm {
	var c comm
	e := d.Efficiency
	rowBytes := float64(d.Model.Hidden) * 2
	reduces, exchanges := d.collectives()
	latencyPS := func(g float64) float64 { return psPerS * e.CollectiveS * (1 + float64(0.15*math.Log2(g))) }
	if g := float64(d.Parallel.Tensor); g > 1 {
		n := float64(reduces) * d.stretch()
		c.fixedPS += float64(n * latencyPS(g))
		c.rowPS += float64(psPerS * n * rowBytes * 2 * (g - 1) / g / (e.Link * d.link(d.Parallel.Tensor)))
	}
	if g := float64(d.Parallel.expertGPUs()); exchanges > 0 {
		n := float64(exchanges) * d.stretch()
		c.fixedPS += float64(n * latencyPS(g))
		c.tokenPS += float64(psPerS * n * rowBytes * d.exchanged() / (e.Link * d.link(d.Parallel.expertGPUs())))
	}
	if hops := float64(d.Parallel.Pipeline - 1); hops > 0 {
		c.fixedPS += float64(psPerS * hops * e.CollectiveS)
		c.rowPS += float64(psPerS * hops * rowBytes / (e.Link * d.link(d.Parallel.GPUs())))
	}
	return c
}

// ps returns the time of a load.
func (c *comm) ps(l *load) float64 {
	return c.fixedPS + float64(l.rows*c.rowPS) + float64(l.tokens*c.tokenPS)
}

// collectives returns how many all-reduces a step takes: one per mixer and one per feed-forward network; and how many
// dispatches and combines: one of each per MoE layer between data-parallel ranks, whose sum over experts they include.
func (d *Deployment) collectives() (reduces, exchanges int) {
	for _, r := range d.Model.Layers {
		if r.Mixer.Attention.Heads > 0 || r.Mixer.Recurrence.ValueHeads > 0 {
			reduces += r.Count
		}
		switch {
		case r.FFN.Experts > 0 && d.Parallel.Ranks() > 1:
			exchanges += 2 * r.Count
		case r.FFN.Width > 0 || r.FFN.Experts > 0:
			reduces += r.Count
		}
	}
	return reduces, exchanges
}

// exchanged returns the part of all tokens that a GPU receives from the others to compute, and they from it: (G−1)/G by
// an all-gather and a reduce-scatter. Where GPUs hold whole experts, an all-to-all brings a GPU only the tokens that
// chose some of its own, k copies of each token spread over G GPUs: k/G. Engines take what moves less: from G > k + 1
// on, the all-to-all (TensorRT-LLM, tensorrt_llm/_torch/modules/fused_moe, moe_ep_size > top_k; from memory:
// unverified). That a token goes only once to a GPU with two of its experts is left out.
func (d *Deployment) exchanged() float64 {
	g := float64(d.Parallel.expertGPUs())
	if k := float64(d.Model.TopK()); d.Parallel.Expert && k < g-1 {
		return k / g
	}
	return (g - 1) / g
}
