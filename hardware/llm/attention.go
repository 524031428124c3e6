package llm

// AttentionGroup is all layers of a model that attend alike. Its fields are what a cost model needs of one such layer.
type AttentionGroup struct {
	Layers     int
	Heads      int
	KVHeads    int // 1 in latent attention: every tensor-parallel rank holds the whole latent
	KeyDim     int // per head, the rotary part of latent attention included
	ValueDim   int
	Latent     int // elements cached per token and layer in latent attention: rank + rotary key; 0: keys and values
	LatentRank int
	RopeDim    int  // rotary part of Latent
	Window     int  // tokens; 0: none
	Chunked    bool // attention restarts at every multiple of Window
	TopK       int  // tokens that sparse attention reads; 0: all
	IndexHeads int
	IndexDim   int
}

// Attention lists the distinct attention shapes in order of first appearance.
func (m Model) Attention() []AttentionGroup {
	var groups []AttentionGroup
	for _, r := range m.Layers {
		if r.Mixer.Attention.Heads == 0 {
			continue
		}
		groups = addGroup(groups, r.Mixer.Attention.group(), r.Count)
	}
	return groups
}

func addGroup(groups []AttentionGroup, g AttentionGroup, layers int) []AttentionGroup {
	for i, have := range groups {
		have.Layers = 0
		if have == g {
			groups[i].Layers += layers
			return groups
		}
	}
	g.Layers = layers
	return append(groups, g)
}

// group is s without the fields that cost nothing, for zero layers.
func (s SelfAttention) group() AttentionGroup {
	g := AttentionGroup{
		Heads: s.Heads, KVHeads: s.KVHeads, KeyDim: s.KeyDim, ValueDim: s.ValueDim,
		Window: s.Window, Chunked: s.Chunked,
		TopK: s.Index.TopK, IndexHeads: s.Index.Heads, IndexDim: s.Index.Dim,
	}
	if s.Latent.Rank > 0 {
		g.KVHeads = 1
		g.KeyDim += s.Latent.RopeDim
		g.LatentRank, g.RopeDim = s.Latent.Rank, s.Latent.RopeDim
		g.Latent = s.Latent.Rank + s.Latent.RopeDim
	}
	return g
}

// KVBytesPerToken is what one token adds to the cache over the group's layers, before any split over ranks and without
// the index cache.
//
// Sparse attention over an fp8 latent has a layout of its own in vLLM and FlashMLA: fp8 latent, one fp32 scale per 128
// of it, and the rotary key in bf16, so 512 + 16 + 128 = 656 bytes and not 576 (Tencent/KsanaLLM,
// 3rdparty/LLM_kernels/csrc/utils/quant_type.h).
func (g AttentionGroup) KVBytesPerToken(bytesPerElement float64) float64 {
	if g.Latent > 0 && g.IndexHeads > 0 && bytesPerElement == 1 {
		return float64(g.Layers * (g.LatentRank + 4*ceilDivInt(g.LatentRank, 128) + 2*g.RopeDim))
	}
	return float64(g.Layers*g.Elements()) * bytesPerElement
}

// Elements is what one token adds to the cache of one layer.
func (g AttentionGroup) Elements() int {
	if g.Latent > 0 {
		return g.Latent
	}
	return g.KVHeads * (g.KeyDim + g.ValueDim)
}

// IndexBytesPerToken is what one token adds to the index cache: the shared index key in fp8 and one fp32 scale per 128
// of it (vLLM, models/deepseek_v2.py, DeepseekV32IndexerCache).
func (g AttentionGroup) IndexBytesPerToken() float64 {
	if g.IndexHeads == 0 {
		return 0
	}
	return float64(g.Layers * (g.IndexDim + 4*ceilDivInt(g.IndexDim, 128)))
}

func ceilDivInt(a, b int) int { return (a + b - 1) / b }
