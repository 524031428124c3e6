package hardware_test

import (
	"math"

	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
	"github.com/decodesim/decodesim/sim"
)

// attention is that of equal layers: the cache, entries of several tokens beside it, and an index if there is one.
func attention(d *hardware.Deployment, a llm.SelfAttention, layers float64, b batch) []part {
	var out []part
	for _, v := range views(d, a) {
		parts := visit(d, v.w, layers, v.k, b)
		if !v.index {
			parts = latents(d, a, parts)
			if !v.chosen && !a.Latent.Direct {
				longest(d, a, v, layers, b, parts)
			}
		}
		out = append(out, parts...)
	}
	return out
}

// longest finds the tile that walks the most keys, on Blackwell: in seconds of a multiprocessor at its peak.
func longest(d *hardware.Deployment, a llm.SelfAttention, v view, layers float64, b batch, parts []part) {
	if !d.GPU.Multiprocessors.Known() || d.Materialized || ideal(d) {
		return
	}
	row, rows := v.k.pair/(float64(a.Heads)/float64(d.Parallel.Tensor)), 256.0
	if max(a.KeyDim, a.ValueDim) > 192 {
		rows = 128
	}
	for _, c := range b.chunks {
		keys := c.computed + c.tokens
		if v.w.Tokens > 0 {
			keys = min(keys, int(v.w.Tokens))
		}
		peak := promptPeak(d, a) / d.GPU.Multiprocessors.Value
		parts[1].tileS = max(parts[1].tileS, layers*rows*float64(keys)*row/peak)
	}
}

// view is what a layer sees of the context, and at what cost by token.
type view struct {
	w      sim.Window
	k      costs
	chosen bool // each row chooses for itself
	index  bool
}

// views returns those of a layer.
func views(d *hardware.Deployment, a llm.SelfAttention) (out []view) {
	k := cost(d, a)
	w := sim.Window{Tokens: int32(a.Window), Chunked: a.Chunked}
	chosen := sim.Window{Tokens: int32(a.Index.TopK)}
	switch each := float64(a.Compression.Ratio); {
	case each > 0:
		chosen.Tokens *= int32(each)
		out = []view{{w: w, k: k}, {w: chosen, k: k.times(1 / each), chosen: chosen.Tokens > 0}}
	case chosen.Tokens > 0:
		out = []view{{w: chosen, k: k, chosen: true}}
	default:
		out = []view{{w: w, k: k}}
	}
	if a.Index.Heads > 0 {
		out = append(out, view{k: index(d, a), index: true})
	}
	return out
}

// costs are what a token of context costs in a layer, in bytes of cache, of scores and of the cache read for every
// query head, and in FLOPs of a decode and of a prompt token.
type costs struct{ bytes, scores, perHead, decode, pair float64 }

func (k costs) times(x float64) costs {
	return costs{k.bytes * x, k.scores * x, k.perHead * x, k.decode * x, k.pair * x}
}

// elementBytes is what the formats of caches take.
func elementBytes(d *hardware.Deployment) float64 {
	return map[string]float64{"bf16": 16, "fp8": 8, "int8": 8, "int4": 4.5, "mxfp4": 4.25, "nvfp4": 4.5}[d.KVDtype] / 8
}

func cost(d *hardware.Deployment, a llm.SelfAttention) costs {
	t, element := float64(d.Parallel.Tensor), elementBytes(d)
	heads := float64(a.Heads) / t
	k := costs{
		bytes:  math.Ceil(float64(a.KVHeads)/t) * float64(a.KeyDim+a.ValueDim) * element,
		decode: 2 * heads * float64(a.KeyDim+a.ValueDim), pair: 2 * heads * float64(a.KeyDim+a.ValueDim),
	}
	rank, rope := float64(a.Latent.Rank), float64(a.Latent.RopeDim)
	switch fp8 := d.KVDtype == "fp8"; {
	case a.Latent.Direct && fp8:
		k.bytes = rank - rope + 8*math.Ceil((rank-rope)/512) + 2*rope
	case a.Latent.Direct:
		k.bytes = rank * element
	case rank > 0:
		k.bytes, k.decode, k.pair = (rank+rope)*element, 2*heads*(2*rank+rope), k.pair+2*heads*rope
		if a.Index.TopK > 0 && fp8 {
			k.bytes = rank + 4*math.Ceil(rank/128) + 2*rope
		}
	}
	if d.PerHead && rank == 0 {
		k.perHead = heads * float64(a.KeyDim+a.ValueDim) * element
	}
	if d.Materialized {
		k.scores = 4 * 2 * heads // written and read before and after the softmax
	}
	return k
}

// index is the cost of an index by token of context.
func index(d *hardware.Deployment, a llm.SelfAttention) costs {
	dim := float64(a.Index.Dim)
	flops := 2 * float64(a.Index.Heads) * dim
	k := costs{bytes: dim + 4*math.Ceil(dim/128), decode: flops, pair: flops}
	if a.Index.CacheType && (elementBytes(d) != 1 || a.Latent.Rank == 0) {
		k.bytes = dim * elementBytes(d)
	}
	return k.times(1 / float64(max(1, a.Compression.Ratio, a.Index.Pool)))
}
