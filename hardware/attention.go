package hardware

import (
	"fmt"
	"math"

	"github.com/decodesim/decodesim/hardware/llm"
	"github.com/decodesim/decodesim/sim"
)

// attention is one view of the context that a distinct kind of layer has, on one GPU, all its layers together.
//
// Per context token, a decode reads
//
//	keys and values  layers · g/t · (d_k + d_v) · b       (a latent: layers · (r + p) · b, on every rank)
//
// and multiplies  2 · a/t · (d_k + d_v) · layers  FLOPs; on a latent, absorbed: 2 · a/t · (2r + p) · layers
// (DeepSeek-V2, arXiv 2405.04434, §2.1.2). A prompt token and each token it attends to cost 2 · a/t · (d_k + d_v) ·
// layers: a latent is expanded first, unless it is key and value itself. Of entries that stand for c tokens each, a
// context token is 1/c of one.
//
// 128 heads on one latent multiply longer than they read. Kernels for that stream the cache past the products, so that
// where latent_compute says what they achieve of the peak (e_lt), the longer counts, and not a smooth maximum of the
// two. On Blackwell they multiply a cache in fp8 as fp8. Tables of such modules (NVIDIA aiconfigurator, commit
// 095f58a5, systems/*/mla: vLLM 0.24, SGLang 0.5.14, TensorRT-LLM 1.3.0rc20) have shares of 0.58 to 0.66 of the bf16
// peak on Hopper and 0.51 to 0.59 on Blackwell, there 1.0 to 1.2 of it with fp8; 0.72 on Hopper with fp8 is left out.
//
// SGLang and TensorRT-LLM multiply prompts as fp8 there too: SGLang quantises queries, keys and values where the cache
// is in fp8 (0.5.8.post1, srt/layers/attention/trtllm_mla_backend.py, 1133 and 1134; 0.5.23, 1080 and 1081), and in
// those tables what grows with pairs takes 1.2 to 2.3 times as long with a cache in bf16 under either, and as long
// under vLLM. Both go with latent_compute, for where prompts and decodes are on separate GPUs one alone has requests
// queue for the other. No built-in efficiency states it: docs/accuracy.md says why, of prefill and decode in separate
// pools.
//
// What a chunk attends to of earlier chunks, or of a cached prefix, has to be expanded again from the latent: keys and
// values of all heads are multiplied out, written and read (vLLM, v1/attention/backends/mla/common.py,
// _compute_prefill_context; SGLang, MHA_CHUNKED_KV). Sparse attention stays on latents, and so do chunks of so few
// tokens that absorbed products are quicker. Per context token before a chunk
//
//	2 · r · a/t · (d_n + d_v) · layers  FLOPs, as linear layers achieve     d_n: the key without its rotary part
//	2 · a/t · (d_k + d_v) · 2 B · layers  bytes
//
// A kernel that materialises its scores writes and reads S = Q·Kᵀ and P = softmax(S), all a/t · layers of them at 2
// bytes: 8 · a/t · layers bytes per pair of query and key, which an IO-aware kernel keeps on chip (Dao et al.,
// FlashAttention, arXiv 2205.14135, §2.2).
//
// A kernel that decodes head by head reads the keys and values of a group of query heads once for each of them, all
// but once from the L2 cache: per context token  layers · a/t · (d_k + d_v) · b  bytes at perHeadBps, or what they take
// from memory where that is longer.
//
// A kernel gives each tile of a chunk's rows, which are the queries of every head, to one multiprocessor, which walks
// all keys before them (Dao, FlashAttention-2, arXiv 2307.08691, §3.2). However few tiles there are, all wait for the
// longest. At the end of c tokens of context, those of the longest chunk, a tile of R rows takes one of N
// multiprocessors
//
//	R · c · 2 · (d_k + d_v) · layers  FLOPs at  e_t · F16 / N
//
// and all chunks together take no less, nor less than their mean over the multiprocessors; see tileRows, tileCompute.
type attention struct {
	name      string
	window    int     // index into the windows; −1: sees the whole context
	sparse    bool    // each token reads what it selects for itself
	latent    bool    // of heads that share one latent
	bytes     float64 // per context token
	flops     float64 // per context token of a decode
	pairFLOPs float64 // per query–key pair of a prompt
	scores    float64 // bytes per pair, of either, in a kernel that materialises them; 0: none
	perHead   float64 // bytes per context token of a decode, read anew for each query head; 0: for a group
	padding   float64 // by how much longer its products are than those of its heads

	// Times at the efficiency, in the slowest stage, and at peak.
	ctxPS, scorePS       float64 // memory, per context token and per pair
	decodePS             float64 // memory, per context token of a decode
	flopsPS, flopsPeakPS float64 // per context token of a decode
	pairPS, pairPeakPS   float64 // per pair of a prompt
	tilePS               float64 // per context token of the longest chunk, of a tile of its rows; 0: no floor
	tileCtx              int64   // of which a tile sees no more

	// Expanding a latent again, per context token before a chunk; no part of the bound, for it could be left out.
	expandBytes, expandFLOPs float64
	expandPS                 float64
}

// windows returns the limits on attention that the model's layers have: sliding and chunked windows, and the top-k of
// sparse attention.
func (d *Deployment) windows() ([]sim.Window, error) {
	var out []sim.Window
	for _, g := range d.Model.Attention() {
		for _, v := range g.Views() {
			if w, ok := windowOf(v); ok && indexWindow(out, w) < 0 {
				out = append(out, w)
			}
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

// windowOf returns the limit of a view; false: it is of the whole context.
func windowOf(v llm.View) (w sim.Window, limited bool) {
	return sim.Window{Tokens: int32(v.Window), Chunked: v.Chunked}, v.Window > 0
}

func indexWindow(windows []sim.Window, w sim.Window) int {
	for i, have := range windows {
		if have == w {
			return i
		}
	}
	return -1
}

// attentions returns the attention of one GPU, by kind of layer and by view; the index of sparse attention, all of
// whose keys are scored, is one.
func (d *Deployment) attentions() []attention {
	var out []attention
	windows := d.Windows()
	for _, g := range d.Model.Attention() {
		for _, v := range g.Views() {
			a := attention{name: viewName(v), window: -1, sparse: v.Chosen, padding: 1}
			a.tileCtx = math.MaxInt64
			if w, ok := windowOf(v); ok {
				a.window = indexWindow(windows, w)
				a.tileCtx = int64(w.Tokens)
			}
			d.attend(&a, &g, v)
			a.price(d)
			if !v.Index && !v.Chosen && !g.Direct {
				each := float64(d.Parallel.Tensor) / float64(g.Heads)
				a.tilePS = a.pairPeakPS / max(tileCompute, d.Efficiency.AttentionCompute) * d.stretch() * each *
					tileRows(d, max(g.KeyDim, g.ValueDim)) * d.GPU.Multiprocessors.Value
			}
			out = append(out, a)
		}
	}
	return out
}

func viewName(v llm.View) string {
	switch {
	case v.Index:
		return "indexer"
	case v.Ratio > 1:
		return "compressed attention"
	case v.Chosen:
		return "sparse attention"
	case v.Window > 0:
		return "windowed attention"
	}
	return "attention"
}

// attend fills in what a context token costs in view v of the layers of g.
func (d *Deployment) attend(a *attention, g *llm.AttentionGroup, v llm.View) {
	each := float64(v.Ratio)
	if v.Index {
		a.bytes = d.indexBytes(g)
		a.flops = 2 * float64(g.Layers*g.IndexHeads*g.IndexDim) / each
		a.pairFLOPs = a.flops
		return
	}
	heads := float64(float64(g.Heads) / float64(d.Parallel.Tensor) * float64(g.Layers))
	a.bytes = d.entryBytes(g) * d.kvShare(g) / each
	a.flops = 2 * heads * float64(g.KeyDim+g.ValueDim) / each
	a.pairFLOPs, a.latent, a.padding = a.flops, g.Latent > 0, d.headPadding(g)
	if g.Latent > 0 && !g.Direct {
		a.flops = 2 * heads * float64(2*g.LatentRank+g.RopeDim) / each
		if !v.Chosen {
			a.expandFLOPs = 2 * heads * float64(g.LatentRank*(g.KeyDim-g.RopeDim+g.ValueDim))
			a.expandBytes = 4 * heads * float64(g.KeyDim+g.ValueDim)
		}
	}
	if d.Materialized {
		a.scores = 4 * 2 * heads / each
	}
	if d.PerHead && g.Latent == 0 {
		a.perHead = d.entryBytes(g) / float64(g.KVHeads) * float64(g.Heads) / float64(d.Parallel.Tensor) / each
	}
}

// perHeadBps is the bytes/s at which kernels that decode head by head read keys and values that other heads of a group
// have just read. Static batches of TensorRT-LLM 0.9 with contexts of 1,000 to 3,000 tokens (its performance page of
// April 2024) take longer than weights, memory and launches by what 4.4 to 4.7e12 bytes/s take: Mistral 7B on H100,
// H200 and A100, Falcon 180B on H100 and A100, with caches in fp8 and bf16, which have 4 and 29 heads in a group.
const perHeadBps = 4.5e12

// headPadding returns by how much the heads are fewer than those that the kernel of sparse latents multiplies:
// FlashMLA's has 64 or 128, and vLLM pads the queries of a rank with heads of nothing (0.22.1, vllm/models/deepseek_v4/
// nvidia/flashmla.py, get_padded_num_q_heads, and vllm/v1/attention/backends/mla/flashmla_sparse.py), so that tensor
// parallelism shortens it no further. What other engines do was not read.
func (d *Deployment) headPadding(g *llm.AttentionGroup) float64 {
	if d.Parallel.Engine != "vllm" || g.Latent == 0 || !g.Direct && g.TopK == 0 || d.Efficiency.ideal() {
		return 1
	}
	heads := float64(g.Heads) / float64(d.Parallel.Tensor)
	return paddedHeads * math.Ceil(heads/paddedHeads) / heads
}

// paddedHeads is of how many heads the kernel of sparse latents has a multiple.
const paddedHeads = 64

// tileRows returns how many rows of heads of such a size a tile has, in kernels whose tiles walk all keys before them;
// 0: they divide the keys over multiprocessors where tiles are few, or this is not known.
//
// On data-centre Blackwell a multiprocessor has a pair of tiles of 128 rows at a time, which counts as one here, or a
// single one of heads of 256 (FlashAttention 4: q_stage and tile_m of interface.py, and
// sm100_hd256_2cta_fmha_forward.py, in SGLang 0.5.23). Logged steps of vLLM 0.20.1 on a B300 say the same of
// trtllm-gen's (H_steps, Qwen3-32B on 8 GPUs, heads of 128): with 8 heads each, chunks after 8,161 tokens take as much
// longer than chunks of new prompts whether they have 1,279 or 4,592 tokens, 5 ms (2.5 to 8.4), and twice that, 12 ms
// (10.2 to 12.4), from 4,928 to 8,162. 148 tiles of 256 rows are 4,736 tokens of 8 heads.
//
// On Hopper FlashAttention 3 divides the keys (num_splits 0, vLLM 0.22.1, v1/attention/backends/flash_attn.py).
func tileRows(d *Deployment, size int) float64 {
	switch {
	case d.GPU.Architecture != "blackwell" || d.Materialized || d.Efficiency.ideal():
		return 0
	case size > 192:
		return 128
	}
	return 256
}

// tileCompute is what a tile achieves of the peak of its multiprocessor while others are idle. cuDNN's on an H100
// achieve 0.69 to 0.78 with heads of 128, the less the more of them are busy, and 0.82 to 0.84 with heads of 256,
// whatever the context from 16,384 to 122,880 tokens; many tiles achieve 0.58 to 0.68 together
// (tools/kernels/tiles.py).
const tileCompute = 0.8

// price derives the times of a.
func (a *attention) price(d *Deployment) {
	e, peak, stretch := &d.Efficiency, d.attentionPeak(), d.stretch()
	bandwidth := e.KVBandwidth * d.GPU.BandwidthBps.Value
	a.ctxPS, a.scorePS = a.bytes/bandwidth*psPerS*stretch, a.scores/bandwidth*psPerS*stretch
	a.decodePS = max(a.ctxPS, a.perHead/perHeadBps*psPerS*stretch)
	achieved, pairPeak := e.AttentionCompute, peak // of decodes, of prompts
	a.latent = a.latent && e.LatentCompute > 0
	if a.latent {
		achieved = e.LatentCompute
		if d.GPU.Architecture == "blackwell" && d.KVDtype == "fp8" && d.GPU.FLOPS.FP8.Known() {
			peak = d.GPU.FLOPS.FP8.Value
			if a.expandFLOPs > 0 && d.Parallel.Engine != "vllm" {
				pairPeak = peak
			}
		}
	}
	a.pairPeakPS = a.pairFLOPs / pairPeak * psPerS
	a.pairPS = a.pairPeakPS / e.AttentionCompute * stretch * a.padding
	a.flopsPeakPS = a.flops / peak * psPerS
	a.flopsPS = a.flopsPeakPS / achieved * stretch * a.padding
	if a.expandFLOPs > 0 {
		rate, share := d.achieved(llm.Attention)
		a.expandPS = smax(a.expandBytes/bandwidth, a.expandFLOPs/(rate*share), e.Overlap) * psPerS * stretch
	}
}

// attentionPeak returns the FLOP/s of the format that attention multiplies in: 16 bits, whatever the cache is stored
// in, unless its kernels are for fp8.
func (d *Deployment) attentionPeak() float64 {
	if d.AttentionFP8 {
		return d.GPU.FLOPS.FP8.Value
	}
	return d.GPU.FLOPS.BF16.Value
}

// decoding returns the time of decodes that read and multiply so long.
func (r *Roofline) decoding(a *attention, memory, compute float64) float64 {
	if a.latent {
		return max(memory, compute)
	}
	return r.both(memory, compute)
}
