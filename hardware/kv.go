package hardware

import (
	"fmt"
	"github.com/decodesim/decodesim/hardware/llm"
	"math"
	"slices"
	"strings"
)

// KVDtypes are the cache element types that are modelled.
func KVDtypes() []string { return []string{"bf16", "fp8", "int8", "int4", "mxfp4", "nvfp4"} }

// kvBits returns the bits of a cache element, scales included. An fp8 cache is taken to have one scale per
// tensor, as in vLLM (unverified), which is not counted; the other formats keep theirs as weights do, see FormatOf.
func kvBits(dtype string) (float64, error) {
	if dtype == "fp8" {
		return 8, nil
	}
	f, err := llm.FormatOf(dtype)
	if err != nil {
		return 0, fmt.Errorf("hardware: kv_cache %q not known; valid values: %s", dtype, strings.Join(KVDtypes(), " "))
	}
	return f.Bits, nil
}

// entryBytes is what an entry of the cache takes over a group's layers, in the cache's own format.
func (d *Deployment) entryBytes(g *llm.AttentionGroup) float64 {
	if d.KVDtype == "fp8" {
		return g.EntryBytes(1)
	}
	return float64(g.Layers*g.Elements()) * d.elementBytes()
}

// elementBytes is what an element of the cache takes.
func (d *Deployment) elementBytes() float64 {
	bits, err := kvBits(d.KVDtype)
	if err != nil {
		panic(err)
	}
	return bits / 8
}

// indexBytes is what a token adds to the index over a group's layers. Every tensor-parallel rank holds all of it.
func (d *Deployment) indexBytes(g *llm.AttentionGroup) float64 {
	return g.IndexBytesPerToken(d.elementBytes())
}

// kvShare returns the part of a group's cache that one tensor-parallel rank holds: KV heads are split while there are
// enough and replicated beyond, as a latent is, which counts as one.
func (d *Deployment) kvShare(g *llm.AttentionGroup) float64 {
	return math.Ceil(float64(g.KVHeads)/float64(d.Parallel.Tensor)) / float64(g.KVHeads)
}

// wholeWindowMax is the longest window, in tokens, that every sequence is charged whole: few are shorter.
const wholeWindowMax = 512

// cacheBytes returns what a token adds to the cache of one GPU of the largest stage, and what a sequence takes whatever
// its length. Layers with a short window are given all of it. Those with a longer one are left to windowedCache or,
// where it counts none, are counted by token like any other. That is so for all layers with a window if no layer sees
// the whole context.
func (d *Deployment) cacheBytes() (token, fixed float64) {
	stage := d.stageShare()
	windowed := 0.0
	for _, g := range d.Model.Attention() {
		entry, index := float64(d.entryBytes(&g)*d.kvShare(&g)), d.indexBytes(&g)
		switch {
		case g.Ratio > 0:
			token += entry/float64(g.Ratio) + index
			fixed += float64(entry * float64(g.Window))
		case g.Window > 0 && g.Window <= wholeWindowMax:
			windowed += entry // an index is beside no such window
			fixed += float64(entry * float64(g.Window))
		case d.slides(&g):
		default:
			token += entry + index
		}
	}
	if token == 0 {
		token, fixed = windowed, 0
	}
	fixed += d.Model.RecurrentBytes()/float64(d.Parallel.Tensor) + d.Model.CompressorBytes()
	return token * stage, fixed * stage
}

// slides reports whether the layers of g have a group of their own in the cache, which keeps no more than their window:
// those that slide, beside layers that see the whole context. Where attention is chunked, vLLM takes its cache for one
// without such groups unless it is asked (vLLM 0.33.0, config/vllm.py).
func (d *Deployment) slides(g *llm.AttentionGroup) bool {
	return g.Window > wholeWindowMax && !g.Chunked && g.Ratio == 0 && d.hasWindowGroups()
}

// hasWindowGroups reports whether a cache has groups for windows: where it may, beside layers that see the whole
// context.
func (d *Deployment) hasWindowGroups() bool {
	return d.HybridKV && slices.ContainsFunc(d.Model.Attention(),
		func(g llm.AttentionGroup) bool { return g.Window == 0 })
}

// windowedCache returns what a token adds to the groups of sliding windows in the cache of one GPU of the largest
// stage, up to how many tokens; 0: there are none. Of two windows the longer counts for both.
func (d *Deployment) windowedCache() (token float64, window int) {
	for _, g := range d.Model.Attention() {
		if d.slides(&g) {
			token += float64(d.entryBytes(&g) * d.kvShare(&g))
			window = max(window, g.Window)
		}
	}
	return token * d.stageShare(), window
}

// slidingCache is windowedCache with the windows that are so short that each sequence is charged them whole, and what
// that is.
func (d *Deployment) slidingCache() (token float64, window int, short float64) {
	if !d.hasWindowGroups() {
		return
	}
	for _, g := range d.Model.Attention() {
		if g.Window > 0 && !g.Chunked && g.Ratio == 0 {
			entry := float64(d.entryBytes(&g) * d.kvShare(&g))
			token += entry
			window = max(window, g.Window)
			if g.Window <= wholeWindowMax {
				short += float64(entry * float64(g.Window))
			}
		}
	}
	return token * d.stageShare(), window, short * d.stageShare()
}

// SequenceBytes returns the cache of one sequence of so many tokens over the whole model, each head once and windows at
// their latest tokens unless the cache has no groups for them, and what a sequence has beside it whatever its length.
func (d *Deployment) SequenceBytes(tokens int) (cache, state float64) {
	for _, g := range d.Model.Attention() {
		entries, keys := g.Cached(tokens)
		if !d.HybridKV && g.Window > wholeWindowMax && g.Ratio == 0 {
			entries = tokens
		}
		cache += float64(float64(entries)*d.entryBytes(&g)) + float64(float64(keys)*g.IndexKeyBytes(d.elementBytes()))
	}
	return cache, d.Model.StateBytes()
}

// KVBytesGrown returns what a token adds to the cache of the model, each head once, when all windows are full that keep
// no more than their latest tokens.
func (d *Deployment) KVBytesGrown() (bytes float64) {
	for _, g := range d.Model.Attention() {
		switch entry, index := d.entryBytes(&g), d.indexBytes(&g); {
		case g.Ratio > 0:
			bytes += entry/float64(g.Ratio) + index
		case g.Window > 0 && (g.Window <= wholeWindowMax || d.slides(&g)):
		default:
			bytes += entry + index
		}
	}
	return bytes
}

// KVBytesPerToken returns what a token adds to the cache of the model while no window is full, and what it adds on all
// GPUs of a replica together: more where a tensor-parallel group has copies, as all its GPUs have of a latent. A
// sequence is on one data-parallel rank.
func (d *Deployment) KVBytesPerToken() (once, replica float64) {
	for _, g := range d.Model.Attention() {
		bytes, index := d.entryBytes(&g), d.indexBytes(&g)
		if g.Ratio > 0 {
			bytes += bytes / float64(g.Ratio)
		}
		once += bytes + index
		replica += float64(float64(d.Parallel.Tensor) * (float64(bytes*d.kvShare(&g)) + index))
	}
	return once, replica
}
