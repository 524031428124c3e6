package llm

// CacheBytes is the cache of one sequence of so many tokens, its index included: windows hold the latest tokens, and an
// entry of several tokens exists when it is complete. It leaves out what has a fixed size, see StateBytes.
func (m Model) CacheBytes(tokens int, bytesPerElement float64) float64 {
	sum := 0.0
	for _, g := range m.Attention() {
		entries, keys := g.Cached(tokens)
		sum += float64(float64(entries)*g.EntryBytes(bytesPerElement)) +
			float64(float64(keys)*g.IndexKeyBytes(bytesPerElement))
	}
	return sum
}

// Cached returns the entries that a layer of the group has in its cache for so many tokens, and the keys in its index.
func (g *AttentionGroup) Cached(tokens int) (entries, keys int) {
	entries = tokens
	if g.Window > 0 {
		entries = min(tokens, g.Window)
	}
	if g.Ratio > 0 {
		entries += tokens / g.Ratio
	}
	if g.IndexHeads > 0 {
		keys = tokens / g.IndexPool
	}
	return entries, keys
}

// CacheReadBytes is what a decode step reads of the cache and the index of one sequence, whose context is so many
// tokens with the new one. Recurrent states are not part of it.
func (m Model) CacheReadBytes(context int, bytesPerElement float64) float64 {
	sum := 0.0
	for _, g := range m.Attention() {
		for _, v := range g.Views() {
			bytes := g.EntryBytes(bytesPerElement)
			if v.Index {
				bytes = g.IndexKeyBytes(bytesPerElement)
			}
			sum += float64(float64(v.Entries(context)) * bytes)
		}
	}
	return sum
}

// StateBytes is what a sequence has beside its cache, whatever its length: recurrent state and what compressors keep.
func (m Model) StateBytes() float64 { return m.RecurrentBytes() + m.CompressorBytes() }

// RecurrentBytes is the recurrent state of one sequence, which each step reads and writes: the state and the
// convolution's window, over all layers.
func (m Model) RecurrentBytes() float64 {
	sum := 0.0
	for _, r := range m.Layers {
		sum += float64(float64(r.Count) * r.Mixer.Recurrence.bytes())
	}
	return sum
}

// CompressorBytes is what compressors keep of the tokens of an entry that is not complete, and of its neighbour where
// entries overlap: values and their weights in fp32, over all layers (vLLM, models/deepseek_v4/compressor.py).
func (m Model) CompressorBytes() float64 {
	sum := 0
	for _, r := range m.Layers {
		x, a := r.Mixer.Attention.Compression, r.Mixer.Attention
		wide := 1 + boolToInt(x.Overlap)
		dims := a.KeyDim
		if a.Index.Heads > 0 {
			dims += a.Index.Dim
		}
		sum += r.Count * x.Ratio * wide * 2 * wide * dims * 4
	}
	return float64(sum)
}
