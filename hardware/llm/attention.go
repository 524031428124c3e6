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
	Direct     bool // the latent is key and value itself, and RopeDim part of LatentRank
	Window     int  // tokens; 0: none
	Chunked    bool // attention restarts at every multiple of Window
	Ratio      int  // tokens per compressed entry, which are read beside the window; 0: none
	TopK       int  // tokens that sparse attention reads, or compressed entries; 0: all
	IndexHeads int
	IndexDim   int
	IndexPool  int  // tokens per index key
	IndexCache bool // index keys are of the cache's type
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
		Window: s.Window, Chunked: s.Chunked, Ratio: s.Compression.Ratio,
		TopK: s.Index.TopK, IndexHeads: s.Index.Heads, IndexDim: s.Index.Dim,
	}
	if s.Index.Heads > 0 {
		g.IndexPool, g.IndexCache = s.tokensPerKey(), s.Index.CacheType
	}
	if s.Latent.Rank == 0 {
		return g
	}
	g.KVHeads, g.Direct = 1, s.Latent.Direct
	g.LatentRank, g.RopeDim, g.Latent = s.Latent.Rank, s.Latent.RopeDim, s.Latent.Rank
	if !g.Direct {
		g.KeyDim += s.Latent.RopeDim
		g.Latent += s.Latent.RopeDim
	}
	return g
}

// View is a part of the context that each token attends to in the layers of a group: all of it, the last tokens, those
// that an index chose, or the index itself.
type View struct {
	Window  int  // tokens that it spans; 0: the whole context
	Chunked bool // it restarts at every multiple of Window
	Ratio   int  // tokens per entry that is read
	Chosen  bool // each token reads entries of its own, not the latest
	Index   bool // index keys are read, not the cache
}

// Views lists what the layers read. What an index chooses of compressed entries spans TopK·Ratio tokens at most.
func (g AttentionGroup) Views() []View {
	var out []View
	if g.IndexHeads > 0 {
		out = append(out, View{Ratio: g.IndexPool, Index: true})
	}
	if g.Ratio > 0 {
		return append(out, View{Window: g.Window, Ratio: 1},
			View{Window: g.TopK * g.Ratio, Ratio: g.Ratio, Chosen: g.TopK > 0})
	}
	v := View{Window: g.Window, Chunked: g.Chunked, Ratio: 1}
	if v.Window == 0 && g.TopK > 0 {
		v.Window, v.Chosen = g.TopK, true
	}
	return append(out, v)
}

// Entries returns how many entries of v a token reads whose context is so many tokens, its own included.
func (v View) Entries(context int) int {
	switch {
	case v.Window > 0 && v.Chunked:
		context = (context-1)%v.Window + 1
	case v.Window > 0:
		context = min(context, v.Window)
	}
	return context / v.Ratio
}

// KVBytesPerToken is what one token adds to the cache over the group's layers while no window is full, before any split
// over ranks and without the index cache.
func (g AttentionGroup) KVBytesPerToken(bytesPerElement float64) float64 {
	bytes := g.entryBytes(bytesPerElement)
	if g.Ratio > 0 {
		bytes += bytes / float64(g.Ratio)
	}
	return float64(g.Layers) * bytes
}

// EntryBytes is what an entry of the cache takes over the group's layers: of one token, or of Ratio tokens.
func (g AttentionGroup) EntryBytes(bytesPerElement float64) float64 {
	return float64(g.Layers) * g.entryBytes(bytesPerElement)
}

// entryBytes is EntryBytes for one layer.
//
// Sparse attention over an fp8 latent has a layout of its own in vLLM and FlashMLA: fp8 latent, one fp32 scale per 128
// of it, and the rotary key in bf16, so 512 + 16 + 128 = 656 bytes and not 576 (Tencent/KsanaLLM,
// 3rdparty/LLM_kernels/csrc/utils/quant_type.h). So has a latent that is key and value: its rotary part in bf16, the
// rest in fp8 with one 8-bit exponent per 64, eight of them at a time: 448 + 128 + 8 = 584 (vLLM,
// models/deepseek_v4/nvidia/kv_cache_planner.py).
func (g AttentionGroup) entryBytes(bytesPerElement float64) float64 {
	fp8 := bytesPerElement == 1
	switch {
	case g.Direct && fp8:
		plain := g.LatentRank - g.RopeDim
		return float64(plain + 2*g.RopeDim + 8*ceilDivInt(plain, 512))
	case g.Latent > 0 && g.TopK > 0 && fp8:
		return float64(g.LatentRank + 4*ceilDivInt(g.LatentRank, 128) + 2*g.RopeDim)
	}
	return float64(g.Elements()) * bytesPerElement
}

// Elements is how many elements an entry of the cache has in one layer.
func (g AttentionGroup) Elements() int {
	if g.Latent > 0 {
		return g.Latent
	}
	return g.KVHeads * (g.KeyDim + g.ValueDim)
}

// IndexBytesPerToken is what one token adds to the index cache, its part of a key that several share.
func (g AttentionGroup) IndexBytesPerToken(bytesPerElement float64) float64 {
	if g.IndexHeads == 0 {
		return 0
	}
	return g.IndexKeyBytes(bytesPerElement) / float64(g.IndexPool)
}

// IndexKeyBytes is what an index key takes over the group's layers: in fp8 with one fp32 scale per 128 elements (vLLM,
// models/deepseek_v2.py, DeepseekV32IndexerCache), or in the cache's type, which in fp8 has that scale beside a latent.
func (g AttentionGroup) IndexKeyBytes(bytesPerElement float64) float64 {
	fp8 := g.IndexDim + 4*ceilDivInt(g.IndexDim, 128)
	if !g.IndexCache || bytesPerElement == 1 && g.Latent > 0 {
		return float64(g.Layers * fp8)
	}
	return float64(g.Layers*g.IndexDim) * bytesPerElement
}

func ceilDivInt(a, b int) int { return (a + b - 1) / b }
