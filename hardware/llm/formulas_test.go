package llm

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLatentAttentionIsCountedByItsFormula, with h = 64, a = 4, k = v = 16, r_q = 24, r = 32 and p = 8.
func TestLatentAttentionIsCountedByItsFormula(t *testing.T) {
	s := SelfAttention{Heads: 4, KeyDim: 16, ValueDim: 16, Latent: Latent{Rank: 32, QueryRank: 24, RopeDim: 8}}
	count := func() (c Counts) {
		s.addParams(64, &c)
		return c
	}
	want := Counts{
		Attention:           24*4*(16+8) + 32*4*(16+16) + 4*16*64,
		AttentionReplicated: 64*24 + 64*(32+8),
		Norms:               32 + 24,
	}
	assert.Equal(t, want, count())
	s.QKVBias, s.OutputBias, s.OutputGate = true, true, true
	s.HeadGate, s.Sinks = true, true
	want[Attention] += 64 + 64*4*16 + 64*4 + 4
	want[AttentionReplicated] += 32 + 8 + 24
	assert.Equal(t, want, count())
	s.QKNorm = QKNormPerHead
	want[Norms] += 2 * 16
	assert.Equal(t, want, count())
	s.Index = Index{Heads: 2, Dim: 16, TopK: 64}
	want[Indexer], want[Norms] = 24*2*16+64*16+64*2, want[Norms]+2*16
	assert.Equal(t, want, count())
	s.Index.Block = 16
	want[Indexer] = 64*2*16 + 64*16
	assert.Equal(t, want, count())
	s.Index, s.Compression, s.QKNorm = Index{}, Compression{Ratio: 1}, QKNormAllHeads
	want[Indexer], want[Compressor], want[Norms] = 0, 2*64*16+16+16, 32+24+4*16
	assert.Equal(t, want, count())
	s.Latent.QueryRank = 0
	want[AttentionReplicated] -= 64*24 + 24
	want[Attention] += 64*4*(16+8) - 24*4*(16+8)
	want[Norms] -= 24
	assert.Equal(t, want, count())
}

// TestResidualsAreCountedByTheirFormula: streams from two on, and blocks of layers.
func TestResidualsAreCountedByTheirFormula(t *testing.T) {
	for x, want := range map[Residual][2]int64{
		{}: {0, 0}, {Streams: 1}: {0, 0}, {Streams: 2}: {2 * (4*2*2*64 + 4*2 + 3), 2*2*64 + 2 + 1},
		{Streams: 3}: {2 * (5*3*3*64 + 5*3 + 3), 3*3*64 + 3 + 1}, {Block: 1}: {4 * 64, 2 * 64},
	} {
		layer, end := x.params(64)
		assert.Equal(t, want, [2]int64{layer, end}, "%+v", x)
	}
	m := small()
	m.Layers[0].Count = 7
	for x, elements := range map[Residual]int{
		{}: 0, {Streams: 1}: 0, {Streams: 2}: 7 * 5, {Streams: 4}: 7 * 11, {Block: 1}: 0 + 1 + 2 + 3 + 4 + 5 + 6,
		{Block: 3}: 3*1 + 2, {Block: 7}: 0,
	} {
		m.Residual = x
		assert.Equal(t, float64(2*2*elements*64), m.ResidualRowBytes(), "%+v", x)
	}
}

// TestTheLastAttentionIsToTheWholeContextIfAnyIs, and its network is dense.
func TestTheLastAttentionIsToTheWholeContextIfAnyIs(t *testing.T) {
	layer := func(heads, window int) LayerRun {
		return LayerRun{Count: 2, Mixer: Mixer{Attention: SelfAttention{Heads: heads, Window: window}}, FFN: FFN{Width: 8}}
	}
	for i, c := range []struct {
		layers []LayerRun
		heads  int
	}{
		{nil, 0}, {[]LayerRun{layer(0, 0)}, 0}, {[]LayerRun{layer(4, 0)}, 4}, {[]LayerRun{layer(4, 0), layer(8, 0)}, 8},
		{[]LayerRun{layer(4, 0), layer(8, 16)}, 4}, {[]LayerRun{layer(4, 16), layer(8, 0)}, 8},
		{[]LayerRun{layer(4, 16), layer(8, 1)}, 8}, {[]LayerRun{layer(4, 0), layer(8, 1)}, 4},
		{[]LayerRun{layer(4, 0), layer(0, 0)}, 4},
	} {
		m := small()
		m.Layers = c.layers
		last, ok := m.LastAttention()
		assert.Equal(t, c.heads > 0, ok, i)
		assert.Equal(t, c.heads, last.Mixer.Attention.Heads, i)
	}
	m := small()
	m.Layers[0].FFN = FFN{Width: 5, Experts: 8, ExpertWidth: 16, TopK: 2, SharedWidth: 7}
	last, _ := m.LastAttention()
	assert.Equal(t, FFN{Width: 5 + 2*16 + 7}, last.FFN)
	m.Layers[0].FFN = FFN{Experts: 1, ExpertWidth: 16, TopK: 1}
	last, _ = m.LastAttention()
	assert.Equal(t, FFN{Width: 16}, last.FFN, "a single expert is what a token reads")
}

// TestANetworkIsTwoMatricesOrThree, with a bias for each.
func TestANetworkIsTwoMatricesOrThree(t *testing.T) {
	for f, params := range map[FFN]int64{
		{Width: 7}: 3 * 11 * 7, {Width: 7, Bias: true}: 3*11*7 + 2*7 + 11,
		{Width: 7, Plain: true}: 2 * 11 * 7, {Width: 7, Plain: true, Bias: true}: 2*11*7 + 7 + 11,
	} {
		var c Counts
		f.addParams(11, &c)
		assert.Equal(t, Counts{DenseFFN: params}, c)
	}
}

// TestAViewReadsNoMoreThanItsWindow: chunks begin anew at its multiples, and without a window all is read.
func TestAViewReadsNoMoreThanItsWindow(t *testing.T) {
	for v, want := range map[View][3]int{
		{Ratio: 1}: {8, 9, 17}, {Ratio: 1, Chunked: true}: {8, 9, 17}, {Ratio: 4}: {2, 2, 4},
		{Ratio: 1, Window: 8}: {8, 8, 8}, {Ratio: 1, Window: 8, Chunked: true}: {8, 1, 1},
	} {
		assert.Equal(t, want, [3]int{v.Entries(8), v.Entries(9), v.Entries(17)}, v)
	}
}

// TestKindsOfAttention, and a latent of one element is one.
func TestKindsOfAttention(t *testing.T) {
	for want, a := range map[string]SelfAttention{
		"none": {}, "MHA": {Heads: 4, KVHeads: 4}, "MQA": {Heads: 4, KVHeads: 1}, "GQA": {Heads: 4, KVHeads: 2},
		"MLA": {Heads: 4, Latent: Latent{Rank: 1}}, "sliding window": {Heads: 4, KVHeads: 4, Window: 1},
		"chunked window": {Heads: 4, KVHeads: 4, Window: 1, Chunked: true}, "sparse": {Heads: 4, Index: Index{TopK: 1}},
		"compressed": {Heads: 4, Index: Index{TopK: 1}, Compression: Compression{Ratio: 1}},
	} {
		assert.Equal(t, want, Mixer{Attention: a}.kind())
	}
}

// TestScalesOfSparseLatentsAreWhole: one for each 128 elements that are begun, of latents as of index keys.
func TestScalesOfSparseLatentsAreWhole(t *testing.T) {
	for rank, scales := range map[int]int{1: 1, 128: 1, 129: 2, 256: 2, 257: 3} {
		g := AttentionGroup{Layers: 3, Latent: rank + 8, LatentRank: rank, RopeDim: 8, TopK: 1, IndexHeads: 1, IndexDim: rank}
		assert.Equal(t, float64(3*(rank+4*scales+16)), g.EntryBytes(1), rank)
		assert.Equal(t, float64(3*(rank+4*scales)), g.IndexKeyBytes(1), rank)
	}
}

// TestAnIndexOfEntriesReachesNoFartherThanTheContext, and pools nothing that is pooled.
func TestAnIndexOfEntriesReachesNoFartherThanTheContext(t *testing.T) {
	m := small()
	m.Layers[0].Mixer.Attention = SelfAttention{Heads: 4, KeyDim: 32, ValueDim: 32, Window: 8,
		Latent: Latent{Rank: 32, QueryRank: 24, RopeDim: 8, Direct: true}, Compression: Compression{Ratio: 4},
		Index: Index{Heads: 2, Dim: 16, TopK: 1 << 28}}
	require.NoError(t, m.Validate())
	index := &m.Layers[0].Mixer.Attention.Index
	index.TopK++
	assert.ErrorContains(t, m.Validate(), "index top-k is 268435457; want 1 to 268435456")
	index.TopK, index.Pool = 1, 1
	assert.ErrorContains(t, m.Validate(), "index keys pool 1 tokens beside compressed entries")
}

// TestAModelIsTheSumOfItsParts: experts with shared ones and their gate, a recurrence, a merge of two vectors and
// untied tables, each by its own formula.
func TestAModelIsTheSumOfItsParts(t *testing.T) {
	m := mixture()
	m.Merge = 2
	m.Layers[0].FFN.SharedWidth, m.Layers[0].FFN.SharedGate = 10, true
	m.Layers = append(m.Layers, recurrent().Layers[0])
	recurrence := m.Layers[1].Mixer.Recurrence.params(64)
	require.Positive(t, recurrence)
	attention, expert := int64(64*64+2*64*32+64*64), int64(3*64*8)
	assert.Equal(t, Counts{
		Embedding: 6400, Head: 6400, Attention: 2 * attention, AttentionReplicated: 2 * 64 * 64, Recurrent: 2 * recurrence,
		DenseFFN: 2 * 3 * 64 * 96, RoutedExperts: 2 * 4 * expert, Router: 2 * 64 * 4, SharedExperts: 2 * (3*64*10 + 64),
		Norms: 2*2*64 + 2*2*64 + 64,
	}, m.Params())
	assert.Equal(t, m.ParamsTotal()-2*3*expert, m.ActiveAll(), "three of four experts are not used")
	assert.Equal(t, m.ActiveAll()-6400, m.ActiveNoEmbedding())
	assert.Equal(t, m.ActiveAll()-2*6400, m.ActiveNoEmbeddingNoHead())
	before := m.Params()
	m.Layers[0].FFN.RouterBias, m.Layers[0].FFN.Latent, m.Layers[0].FFN.LatentNorm = true, 16, true
	after := m.Params()
	assert.Equal(t, int64(2*4), after[Router]-before[Router], "a bias for each expert of each layer")
	assert.Equal(t, int64(2*16), after[Norms]-before[Norms])
	assert.Equal(t, int64(2*2*64*16), after[ExpertProjections], "into the latent and out of it")
	assert.Equal(t, int64(2*4*3*16*8), after[RoutedExperts])
	m.Layers[0].FFN.Experts = 1
	assert.Equal(t, 1, m.Experts())
}

// TestEntriesOfCachesInBytes: of a latent that is key and value, the rotary part takes two bytes an element and the
// others one, with eight more for each 512 that are begun. Compressed entries come on top of the window.
func TestEntriesOfCachesInBytes(t *testing.T) {
	direct := AttentionGroup{Layers: 3, Latent: 512, LatentRank: 512, RopeDim: 64, Direct: true}
	assert.InDelta(t, 3*(448+2*64+8), direct.EntryBytes(1), 0)
	assert.InDelta(t, 3*2*512, direct.EntryBytes(2), 0)
	direct.LatentRank = 512 + 64 + 1
	assert.InDelta(t, 3*(513+2*64+16), direct.EntryBytes(1), 0)
	plain := AttentionGroup{Layers: 3, Heads: 8, KVHeads: 2, KeyDim: 16, ValueDim: 16}
	assert.InDelta(t, 3*2*(2*16+2*16), plain.KVBytesPerToken(2), 0)
	plain.Ratio = 4
	assert.InDelta(t, 3*2*(2*16+2*16)*1.25, plain.KVBytesPerToken(2), 0)
}
