package llm

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pooled has an index whose keys stand for four tokens each, over latent attention.
func pooled() Model {
	m := small()
	m.Layers[0].Mixer.Attention = SelfAttention{Heads: 4, KeyDim: 16, ValueDim: 16,
		Latent: Latent{Rank: 32, QueryRank: 24, RopeDim: 8}, Index: Index{Heads: 2, Dim: 128, TopK: 64, Pool: 4}}
	return m
}

// A key for several tokens takes its part of the cache with each of them, and is read once for all.
func TestIndexKeysThatPoolTokens(t *testing.T) {
	m := pooled()
	require.NoError(t, m.Validate())
	g := m.Attention()[0]
	assert.Equal(t, 2*132.0/4, g.IndexBytesPerToken(2))
	assert.Equal(t, 2*(100*80.0+25*132), m.CacheBytes(100, 2), "keys of whole groups of four")
	assert.Equal(t, 2*(64*80.0+25*132), m.CacheReadBytes(100, 2), "of 100 tokens 64 are read, and every key")
}

// A layer that attends to a window and to entries of the whole context reads both, and its index all keys.
func TestViewsOfCompressedAttention(t *testing.T) {
	m := small()
	m.Layers[0].Mixer.Attention = SelfAttention{Heads: 4, KeyDim: 32, ValueDim: 32, Window: 8, OutputRank: 16,
		OutputGroups: 2, Latent: Latent{Rank: 32, QueryRank: 24, RopeDim: 8, Direct: true},
		Compression: Compression{Ratio: 4, Overlap: true}, Index: Index{Heads: 2, Dim: 16, TopK: 3, CacheType: true}}
	require.NoError(t, m.Validate())
	assert.Equal(t, []View{{Ratio: 4, Index: true}, {Window: 8, Ratio: 1}, {Window: 12, Ratio: 4, Chosen: true}},
		m.Attention()[0].Views())
	const layers, entry, key = 2, 32 * 2, 16 * 2
	assert.Equal(t, float64(layers*(8*entry+25*(entry+key))), m.CacheBytes(100, 2))
	assert.Equal(t, float64(layers*(8*entry+3*entry+25*key)), m.CacheReadBytes(100, 2))
	assert.Equal(t, float64(layers*(3*entry)), m.CacheReadBytes(3, 2), "no entry is complete")
	assert.Equal(t, "compressed", m.AttentionKind())
	assert.EqualValues(t, 2*(4*32*16+2*16*64+24*4*32), m.Params()[Attention])
	assert.EqualValues(t, 2*(2*64*64+4*64+32), m.Params()[Compressor])
}

// Fields that cannot stand beside each other are refused by name.
func TestImpossibleKindsAreNamed(t *testing.T) {
	for says, spoil := range map[string]func(a *SelfAttention){
		"compression beside no sliding": func(a *SelfAttention) { a.Compression.Ratio = 4 },
		"an index beside a window":      func(a *SelfAttention) { a.Window = 16 },
		"has other fields than top-k":   func(a *SelfAttention) { a.Index.Reused = true },
		"no multiple of blocks":         func(a *SelfAttention) { a.Index.Block = 60 },
		"pool 4 tokens beside":          func(a *SelfAttention) { a.Window, a.Compression.Ratio = 16, 1 },
		"beside a direct latent":        func(a *SelfAttention) { a.Latent.Direct = true },
		"output groups is 0":            func(a *SelfAttention) { a.OutputRank = 8 },
		"do not divide into 3 output":   func(a *SelfAttention) { a.OutputRank, a.OutputGroups = 8, 3 },
		"values are from keys":          func(a *SelfAttention) { a.ValueFromKey = true },
	} {
		m := pooled()
		spoil(&m.Layers[0].Mixer.Attention)
		require.ErrorContains(t, m.Validate(), says)
	}
}
