package hardware

import (
	"fmt"

	"github.com/decodesim/decodesim/hardware/llm"
	"github.com/decodesim/decodesim/sim"
)

// attention is the attention of one distinct kind of layer on one GPU, all its layers together.
//
// Per context token, a decode reads
//
//	keys and values  layers · g/t · (d_k + d_v) · b       (a latent: layers · (r + p) · b, on every rank)
//
// and multiplies  2 · a/t · (d_k + d_v) · layers  FLOPs; on a latent, absorbed: 2 · a/t · (2r + p) · layers
// (DeepSeek-V2, arXiv 2405.04434, §2.1.2). A prompt token and each token it attends to cost 2 · a/t · (d_k + d_v) ·
// layers: a latent is expanded first.
//
// A kernel that materialises its scores writes and reads S = Q·Kᵀ and P = softmax(S), all a/t · layers of them at 2
// bytes: 8 · a/t · layers bytes per pair of query and key, which an IO-aware kernel keeps on chip (Dao et al.,
// FlashAttention, arXiv 2205.14135, §2.2).
type attention struct {
	name      string
	window    int     // index into the windows; −1: sees the whole context
	sparse    bool    // the window is what each token selects for itself
	bytes     float64 // per context token
	flops     float64 // per context token of a decode
	pairFLOPs float64 // per query–key pair of a prompt
	scores    float64 // bytes per pair, of either, in a kernel that materialises them; 0: none

	// Times at the efficiency, in the slowest stage, and at peak.
	ctxPS, scorePS       float64 // memory, per context token and per pair
	flopsPS, flopsPeakPS float64 // per context token of a decode
	pairPS, pairPeakPS   float64 // per pair of a prompt
}

// windows returns the limits on attention that the model's layers have: sliding and chunked windows, and the top-k of
// sparse attention.
func (d *Deployment) windows() ([]sim.Window, error) {
	var out []sim.Window
	for _, g := range d.Model.Attention() {
		if w, ok := windowOf(g); ok && indexWindow(out, w) < 0 {
			out = append(out, w)
		}
	}
	if len(out) > 2 {
		return nil, fmt.Errorf("hardware: %s has %d kinds of attention window; at most 2 are modelled", d.Model.Name,
			len(out))
	}
	return out, nil
}

// Windows returns the limits on attention of a deployment that Validate accepts.
func (d *Deployment) Windows() []sim.Window {
	w, err := d.windows()
	if err != nil {
		panic(err)
	}
	return w
}

// windowOf returns the limit on what the layers of g attend to; false: they attend to the whole context.
func windowOf(g llm.AttentionGroup) (w sim.Window, limited bool) {
	switch {
	case g.Window > 0:
		return sim.Window{Tokens: int32(g.Window), Chunked: g.Chunked}, true
	case g.TopK > 0:
		return sim.Window{Tokens: int32(g.TopK)}, true
	}
	return sim.Window{}, false
}

func indexWindow(windows []sim.Window, w sim.Window) int {
	for i, have := range windows {
		if have == w {
			return i
		}
	}
	return -1
}

// attentions returns the attention of one GPU, by kind of layer; the indexer of sparse attention, which scores the
// whole context, is one of them.
func (d *Deployment) attentions() []attention {
	var out []attention
	windows := d.Windows()
	for _, g := range d.Model.Attention() {
		heads := float64(g.Heads) / float64(d.Parallel.Tensor) * float64(g.Layers)
		a := attention{
			name: "attention", window: -1, bytes: d.kvBytes(g) * d.kvShare(g),
			flops: 2 * heads * float64(g.KeyDim+g.ValueDim), pairFLOPs: 2 * heads * float64(g.KeyDim+g.ValueDim),
		}
		if g.Latent > 0 {
			a.flops = 2 * heads * float64(2*g.LatentRank+g.RopeDim)
		}
		if d.Materialized {
			a.scores = 4 * 2 * heads
		}
		if w, ok := windowOf(g); ok {
			a.name, a.window = "windowed attention", indexWindow(windows, w)
		}
		if g.IndexHeads > 0 {
			a.name, a.sparse = "sparse attention", true
			index := 2 * float64(g.Layers*g.IndexHeads*g.IndexDim)
			out = append(out, attention{name: "indexer", window: -1, bytes: g.IndexBytesPerToken(), flops: index,
				pairFLOPs: index})
		}
		out = append(out, a)
	}
	for i := range out {
		out[i].price(d)
	}
	return out
}

// price derives the times of a.
func (a *attention) price(d *Deployment) {
	e, peak, stretch := &d.Efficiency, d.GPU.FLOPS.BF16.Value, d.stretch()
	bandwidth := e.KVBandwidth * d.GPU.BandwidthBps.Value
	a.ctxPS, a.scorePS = a.bytes/bandwidth*psPerS*stretch, a.scores/bandwidth*psPerS*stretch
	a.flopsPeakPS, a.pairPeakPS = a.flops/peak*psPerS, a.pairFLOPs/peak*psPerS
	a.flopsPS, a.pairPS = a.flopsPeakPS/e.AttentionCompute*stretch, a.pairPeakPS/e.AttentionCompute*stretch
}
