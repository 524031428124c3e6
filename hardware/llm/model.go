package llm

import "slices"

// Model is a decoder-only transformer as far as cost goes: what a step reads, multiplies and caches. It leaves out
// vision and audio towers. All counts are computed from the shape, never stored.
type Model struct {
	Name           string
	Repository     string // of a published checkpoint; empty: none is known
	Hidden         int
	Vocab          int // rows of the embedding, padding included
	ContextMax     int // tokens; what the checkpoint says, not what is served
	TiedEmbeddings bool
	HeadBias       bool
	Positions      int  // rows of a learned position table; 0: none
	EmbeddingNorm  bool // a norm after the embedding
	NormVectors    int  // vectors of Hidden per norm: 1 RMSNorm, 2 LayerNorm with bias, 0 a norm without weights
	NoFinalNorm    bool
	Layers         []LayerRun
	Residual       Residual
	Merge          int      // vectors of Hidden that a projection makes one of, before the layers of a head; 0: none
	MTP            int      // multi-token-prediction modules the checkpoint ships
	MTPLayer       LayerRun // the decoder layer inside each of them
	Precision      Precision
	Source         string
}

// LayerRun is Count equal layers in a row.
type LayerRun struct {
	Count int
	Mixer Mixer
	FFN   FFN
	Norms int // norms over Hidden in each layer
}

// SameShape reports whether layers of m and of other cost the same: whatever their names, contexts and vocabularies.
func (m *Model) SameShape(other *Model) bool {
	return m.Hidden == other.Hidden && m.Residual == other.Residual && slices.Equal(m.Layers, other.Layers)
}

// LayerCount is the number of layers, MTP modules not included.
func (m Model) LayerCount() int {
	return m.CountLayers(func(LayerRun) int { return 1 })
}

// MoELayers is the number of layers with routed experts.
func (m Model) MoELayers() int {
	return m.CountLayers(func(r LayerRun) int { return boolToInt(r.FFN.Experts > 0) })
}

// MixerLayers counts the layers whose token mixer launches more kernels than plain attention does: latent attention and
// recurrences once, and once more for an indexer and for a compressor.
func (m Model) MixerLayers() int {
	return m.CountLayers(func(r LayerRun) int {
		a := r.Mixer.Attention
		return boolToInt(r.Mixer.Recurrence.ValueHeads > 0) + boolToInt(a.Latent.Rank > 0) +
			boolToInt(a.Index.Heads > 0) + boolToInt(a.Compression.Ratio > 0)
	})
}

// CountLayers sums a weight over the layers.
func (m Model) CountLayers(weight func(LayerRun) int) int {
	n := 0
	for _, r := range m.Layers {
		n += r.Count * weight(r)
	}
	return n
}

// Experts is the number of routed experts of an MoE layer; 0: dense. Validate makes all MoE layers agree.
func (m Model) Experts() int { return m.moe().Experts }

// TopK is the number of routed experts that a token uses in an MoE layer; 0: dense.
func (m Model) TopK() int { return m.moe().TopK }

// ExpertGroups is into how many groups the experts of an MoE layer are divided, and from how many groups a token takes
// experts; 1 and 1: they are not divided.
func (m Model) ExpertGroups() (groups, top int) {
	f := m.moe()
	return max(1, f.Groups), max(1, f.TopGroups)
}

func (m Model) moe() FFN {
	for _, r := range m.Layers {
		if r.FFN.Experts > 0 {
			return r.FFN
		}
	}
	return FFN{}
}

// ExpertHidden is the width of what tokens send to routed experts.
func (m Model) ExpertHidden() int { return int(m.moe().expertHidden(int64(m.Hidden))) }

// AttentionKind names how the model attends, by its least usual layers: MHA, MQA, GQA, MLA, sliding window, chunked
// window, sparse, compressed, hybrid linear.
func (m Model) AttentionKind() string {
	kinds := make([]string, 0, len(m.Layers))
	for _, r := range m.Layers {
		kinds = append(kinds, r.Mixer.kind())
	}
	for _, kind := range []string{kindHybrid, kindCompressed, kindSparse, kindChunked, kindSliding, kindMLA, kindGQA,
		kindMQA, kindMHA} {
		for _, k := range kinds {
			if k == kind {
				return kind
			}
		}
	}
	return "none"
}

// LastAttention returns the last layer that attends, to the whole context if any does, with a dense network.
// Recurrences are left out of it.
func (m Model) LastAttention() (LayerRun, bool) {
	var found LayerRun
	for _, r := range m.Layers {
		a := r.Mixer.Attention
		if a.Heads == 0 || a.Window > 0 && found.Count > 0 && found.Mixer.Attention.Window == 0 {
			continue
		}
		found = LayerRun{Count: 1, Mixer: Mixer{Attention: a}, FFN: r.FFN, Norms: r.Norms}
		if f := r.FFN; f.Experts > 0 {
			routed := f.TopK * f.ExpertWidth * int(f.expertHidden(int64(m.Hidden))) / m.Hidden
			found.FFN = FFN{Width: f.Width + routed + f.SharedWidth, Plain: f.Plain}
		}
	}
	return found, found.Count > 0
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
