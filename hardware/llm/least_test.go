package llm

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// one is a model of one layer, every number of which is one.
func one() Model {
	return Model{Name: "one", Hidden: 1, Vocab: 1, ContextMax: 1, NormVectors: 1, Precision: UniformPrecision(),
		Layers: []LayerRun{{Count: 1, Norms: 1, Mixer: Mixer{Attention: SelfAttention{Heads: 1, KVHeads: 1, KeyDim: 1,
			ValueDim: 1}}, FFN: FFN{Width: 1, Experts: 1, ExpertWidth: 1, TopK: 1, SharedWidth: 1}}}}
}

// TestASmallestModelIsCounted: a network has a matrix of one number three times, and so has its expert and what is
// shared beside it; what is not there is none.
func TestASmallestModelIsCounted(t *testing.T) {
	m := one()
	require.NoError(t, m.Validate())
	want := Counts{Embedding: 1, Head: 1, Attention: 4, DenseFFN: 3, RoutedExperts: 3, Router: 1, SharedExperts: 3,
		Norms: 2}
	assert.Equal(t, want, m.Params())
	assert.Equal(t, want.Total(), m.ParamsTotal())
	assert.Equal(t, want.Total(), m.ActiveAll(), "a token uses the only expert")
	assert.Equal(t, want.Total()-1, m.Active(), "a table is not counted as active beside experts")
	assert.Equal(t, 1, m.MoELayers())
	m.Precision.Weights[DenseFFN].Dtype, m.Precision.Weights[RoutedExperts].Dtype = "fp8", "int8"
	assert.Equal(t, "int8", m.FFNDtype())
	a := &m.Layers[0].Mixer.Attention
	a.OutputRank, a.OutputGroups = 1, 1
	assert.EqualValues(t, 5, m.Params()[Attention], "the output in two steps")
	*a = one().Layers[0].Mixer.Attention
	f := &m.Layers[0].FFN
	for class, change := range map[WeightClass]func(){
		SharedExperts: func() { f.SharedWidth = 0 }, DenseFFN: func() { f.Width, f.Bias = 0, false },
	} {
		change()
		want[class] = 0
		assert.Equal(t, want, m.Params())
	}
	f.SharedGate, f.RouterBias = true, true
	want[SharedExperts], want[Router] = 1, 2
	assert.Equal(t, want, m.Params())
	m.Hidden, f.Latent, f.LatentNorm = 5, 1, true
	assert.Equal(t, 1, m.ExpertHidden(), "as wide as the latent")
	assert.EqualValues(t, 3, m.Params()[RoutedExperts])
	assert.EqualValues(t, 2*5, m.Params()[ExpertProjections], "into the latent and out of it")
	f.Latent, f.LatentNorm = 0, false
	assert.Equal(t, 5, m.ExpertHidden())
	*f = FFN{Bias: true}
	assert.Zero(t, m.Params()[DenseFFN], "no network has no bias")
	assert.Equal(t, m.ParamsTotal(), m.Active(), "without experts all of it is")
	assert.Equal(t, 0, m.MoELayers())
	assert.Equal(t, "fp8", m.FFNDtype())
}

// TestWhatIsBesideTheLayers: rows of positions, a bias of the head, norms after the embedding and at the end, each of
// one vector or two, and modules that predict more tokens, of a layer, a merge of two vectors and three norms each.
func TestWhatIsBesideTheLayers(t *testing.T) {
	m := small()
	plain := m.Params()
	for _, c := range []struct {
		change func(*Model)
		class  WeightClass
		more   int64
	}{
		{func(m *Model) { m.Positions = 10 }, Embedding, 10 * 64}, {func(m *Model) { m.HeadBias = true }, Head, 100},
		{func(m *Model) { m.EmbeddingNorm = true }, Norms, 64}, {func(m *Model) { m.NoFinalNorm = true }, Norms, -64},
		{func(m *Model) { m.NormVectors = 2 }, Norms, 2*2*64 + 64},
		{func(m *Model) { m.NormVectors, m.EmbeddingNorm = 2, true }, Norms, 2*2*64 + 3*64},
		{func(m *Model) { m.Merge = 3 }, AttentionReplicated, 3 * 64 * 64},
	} {
		changed, want := small(), plain
		c.change(&changed)
		want[c.class] += c.more
		assert.Equal(t, want, changed.Params(), c.class)
	}
	assert.Zero(t, m.MTPParams())
	m.MTP, m.MTPLayer = 2, m.Layers[0]
	layer := int64(64*64+2*64*32+64*64) + 3*64*96 + 2*64
	assert.Equal(t, 2*(layer+2*64*64+3*64), m.MTPParams())
	assert.Equal(t, plain, m.Params(), "they are no part of the model")
}

// TestQueriesKeysAndValuesAreNormalised over a head, by a vector for both, or over all heads of either.
func TestQueriesKeysAndValuesAreNormalised(t *testing.T) {
	norms := func(n QKNorm) int64 {
		m := small()
		m.Layers[0].Mixer.Attention.QKNorm = n
		require.NoError(t, m.Validate())
		return (m.Params()[Norms] - small().Params()[Norms]) / 2
	}
	assert.Equal(t, []int64{0, 2 * 16, (4 + 2) * 16},
		[]int64{norms(QKNormNone), norms(QKNormPerHead), norms(QKNormAllHeads)})
	m := small()
	m.Layers[0].Mixer.Attention.QKVBias = true
	assert.EqualValues(t, 2*(4+2*2)*16, m.Params()[Attention]-small().Params()[Attention], "a bias for each row")
	m.Layers[0].Mixer.Attention.QKVBias, m.Layers[0].Mixer.Attention.OutputGate = false, true
	assert.EqualValues(t, 2*64*64, m.Params()[Attention]-small().Params()[Attention], "a gate as large as the queries")
	list, err := m.Adaptable([]string{ModuleQ})
	require.NoError(t, err)
	assert.Equal(t, []Projection{{Name: ModuleQ, Count: 2, In: 64, Out: 2 * 64, Columns: true, Parts: 4}}, list)
}

// TestLayersWithMoreThanAttentionAreCounted, once for each of what they have: a recurrence, a latent, an index and
// entries of several tokens, of which the least is one.
func TestLayersWithMoreThanAttentionAreCounted(t *testing.T) {
	recurrence, latent := Recurrence{ValueHeads: 1}, SelfAttention{Heads: 1, Latent: Latent{Rank: 1}}
	index := SelfAttention{Heads: 1, Index: Index{Heads: 1}}
	entries := SelfAttention{Heads: 1, Compression: Compression{Ratio: 1}}
	all := SelfAttention{Heads: 1, Latent: Latent{Rank: 1}, Index: Index{Heads: 1}, Compression: Compression{Ratio: 1}}
	for _, c := range []struct {
		x    Mixer
		want int
	}{
		{Mixer{}, 0}, {Mixer{Attention: SelfAttention{Heads: 1}}, 0}, {Mixer{Recurrence: recurrence}, 1},
		{Mixer{Attention: latent}, 1}, {Mixer{Attention: index}, 1}, {Mixer{Attention: entries}, 1},
		{Mixer{Attention: all, Recurrence: recurrence}, 4},
	} {
		m := Model{Layers: []LayerRun{{Count: 3, Mixer: c.x}, {Count: 2}}}
		assert.Equal(t, 3*c.want, m.MixerLayers(), "%+v", c.x)
	}
}

// TestShapesAreTheSameInWhatTheyCompute: their width, residual streams and layers, whatever their names and tables.
func TestShapesAreTheSameInWhatTheyCompute(t *testing.T) {
	m := small()
	for same, change := range map[bool][]func(*Model){
		true: {func(m *Model) { m.Name, m.Vocab = "other", 7 }, func(*Model) {}},
		false: {func(m *Model) { m.Hidden = 32 }, func(m *Model) { m.Residual.Streams = 2 },
			func(m *Model) { m.Layers[0].Count = 3 }, func(m *Model) { m.Layers = append(m.Layers, m.Layers[0]) },
			func(m *Model) { m.Hidden, m.Residual.Streams, m.Layers = 32, 2, nil }},
	} {
		for i, change := range change {
			other := small()
			change(&other)
			assert.Equal(t, same, m.SameShape(&other), "%t, %d", same, i)
			assert.Equal(t, same, other.SameShape(&m), "%t, %d", same, i)
		}
	}
}

// TestGroupsOfExpertsAreOneAtLeast, of which a token chooses one.
func TestGroupsOfExpertsAreOneAtLeast(t *testing.T) {
	for f, want := range map[FFN][2]int{
		{}: {1, 1}, {Experts: 8}: {1, 1}, {Experts: 8, Groups: 4, TopGroups: 2}: {4, 2},
		{Experts: 8, Groups: 8, TopGroups: 1}: {8, 1},
	} {
		groups, top := Model{Layers: []LayerRun{{}, {FFN: f}}}.ExpertGroups()
		assert.Equal(t, want, [2]int{groups, top}, "%+v", f)
	}
}

// TestGroupsOfLayersHaveWhatTheyCache: keys and values, a latent as soon as it has an element, and an index as soon as
// it has a head, whose keys stand for a token each unless they are pooled.
func TestGroupsOfLayersHaveWhatTheyCache(t *testing.T) {
	of := func(a SelfAttention) AttentionGroup {
		groups := Model{Layers: []LayerRun{{Count: 3, Mixer: Mixer{Attention: a}}}}.Attention()
		require.Len(t, groups, 1)
		return groups[0]
	}
	plain := SelfAttention{Heads: 4, KVHeads: 2, KeyDim: 16, ValueDim: 8}
	group := AttentionGroup{Layers: 3, Heads: 4, KVHeads: 2, KeyDim: 16, ValueDim: 8}
	assert.Equal(t, group, of(plain))
	assert.InDelta(t, 3*2*(2*16+2*8), group.EntryBytes(2), 0)
	assert.Zero(t, group.IndexBytesPerToken(2))
	entries, keys := group.Cached(5)
	assert.Equal(t, [2]int{5, 0}, [2]int{entries, keys})
	plain.Index = Index{Heads: 1, Dim: 4, TopK: 1, Block: 1}
	group.IndexHeads, group.IndexDim = 1, 4
	group.TopK, group.IndexPool = 1, 1
	assert.Equal(t, group, of(plain))
	assert.Equal(t, []View{{Ratio: 1, Index: true}, {Window: 1, Ratio: 1, Chosen: true}}, group.Views())
	assert.InDelta(t, 3*(4+4), group.IndexBytesPerToken(2), 0, "4 bytes and a scale")
	assert.InDelta(t, 3*(2*16+2*8), group.EntryBytes(1), 0, "only latents have a layout of their own in fp8")
	group.IndexCache = true
	assert.InDelta(t, 3*4*2, group.IndexBytesPerToken(2), 0)
	assert.InDelta(t, 3*4, group.IndexBytesPerToken(1), 0, "in the type of the cache")

	latent := SelfAttention{Heads: 4, KeyDim: 16, ValueDim: 8, Latent: Latent{Rank: 1}}
	group = AttentionGroup{Layers: 3, Heads: 4, KVHeads: 1, KeyDim: 16, ValueDim: 8, Latent: 1, LatentRank: 1}
	assert.Equal(t, group, of(latent))
	assert.Equal(t, 1, group.Elements())
	chosen := group
	chosen.TopK, chosen.IndexHeads, chosen.IndexDim = 1, 1, 4
	chosen.IndexPool, chosen.IndexCache = 1, true
	assert.InDelta(t, 3*(1+4), chosen.EntryBytes(1), 0, "an element and a scale")
	assert.InDelta(t, 3*(4+4), chosen.IndexBytesPerToken(1), 0, "beside latents in fp8 keys have scales")
	latent.Latent.RopeDim = 2
	group.KeyDim, group.Latent, group.RopeDim = 18, 3, 2
	assert.Equal(t, group, of(latent))

	group = AttentionGroup{Layers: 1, KVHeads: 1, KeyDim: 1, ValueDim: 1, Window: 1, Ratio: 1, TopK: 1}
	entries, _ = group.Cached(5)
	assert.Equal(t, 1+5, entries)
	assert.InDelta(t, 2*4, group.KVBytesPerToken(2), 0, "a token and its entry")
	assert.Equal(t, []View{{Window: 1, Ratio: 1}, {Window: 1, Ratio: 1, Chosen: true}}, group.Views())
	for v, want := range map[View]int{{Ratio: 1, Window: 1}: 1, {Ratio: 1, Window: 1, Chunked: true}: 1,
		{Ratio: 1, Window: 2, Chunked: true}: 1, {Ratio: 1, Window: 3, Chunked: true}: 2} {
		assert.Equal(t, want, v.Entries(5), "%+v", v)
	}
}

// TestStatesOfCompressors: the tokens of an entry that is not complete wait in two numbers of four bytes for each
// element, of the entry and of its index key, and twice as many of twice the width where entries overlap. They come on
// top of recurrent states.
func TestStatesOfCompressors(t *testing.T) {
	m := small()
	m.Layers[0].Mixer.Attention = SelfAttention{Heads: 4, KeyDim: 32, ValueDim: 32, Window: 8,
		Latent: Latent{Rank: 32, QueryRank: 24, RopeDim: 8, Direct: true}, Compression: Compression{Ratio: 4}}
	assert.InDelta(t, 2*4*2*32*4, m.CompressorBytes(), 0)
	m.Layers[0].Mixer.Attention.Index = Index{Heads: 1, Dim: 16, TopK: 3}
	assert.InDelta(t, 2*4*2*(32+16)*4, m.CompressorBytes(), 0)
	m.Layers[0].Mixer.Attention.Compression.Overlap = true
	assert.InDelta(t, 2*(2*4)*2*(2*48)*4, m.CompressorBytes(), 0)
	m.Layers = append(m.Layers, recurrent().Layers[0])
	assert.InDelta(t, m.CompressorBytes()+recurrent().RecurrentBytes(), m.StateBytes(), 0)
	assert.InDelta(t, 2*(4*8*8*4+3*(2*8+4*8)*2), recurrent().StateBytes(), 0)
}

// TestAdaptersAreOfPlainLayers: not of one with a latent, entries, an index, an output in two steps or a recurrence,
// however small, and of none of its experts; a layer without a network has no adapter of it.
func TestAdaptersAreOfPlainLayers(t *testing.T) {
	for name, change := range map[string]func(*LayerRun){
		"a latent":     func(r *LayerRun) { r.Mixer.Attention.Latent.Rank = 1 },
		"entries":      func(r *LayerRun) { r.Mixer.Attention.Compression.Ratio = 1 },
		"an index":     func(r *LayerRun) { r.Mixer.Attention.Index.TopK = 1 },
		"two steps":    func(r *LayerRun) { r.Mixer.Attention.OutputRank = 1 },
		"a recurrence": func(r *LayerRun) { r.Mixer.Recurrence.ValueHeads = 1 },
	} {
		m := small()
		change(&m.Layers[0])
		_, err := m.Adaptable([]string{ModuleQ})
		assert.ErrorContains(t, err, "latents, indexers or recurrences", name)
	}
	m := small()
	m.Layers[0].FFN = FFN{Experts: 1, ExpertWidth: 1, TopK: 1}
	_, err := m.Adaptable([]string{ModuleUp})
	require.ErrorContains(t, err, "the experts of small are not modelled")
	m.Layers[0].Mixer.Attention = one().Layers[0].Mixer.Attention
	list, err := m.Adaptable([]string{ModuleQ, ModuleO})
	require.NoError(t, err)
	assert.Equal(t, []Projection{{Name: ModuleQ, Count: 2, In: 64, Out: 1, Columns: true, Parts: 1},
		{Name: ModuleO, Count: 2, In: 1, Out: 64, Rows: true}}, list)
	m.Layers[0].FFN = FFN{}
	list, err = m.Adaptable([]string{ModuleUp, ModuleDown, ModuleGate})
	require.NoError(t, err)
	assert.Empty(t, list)
	m.Layers[0].FFN.Width = 1
	list, err = m.Adaptable([]string{ModuleDown})
	require.NoError(t, err)
	assert.Equal(t, []Projection{{Name: ModuleDown, Count: 2, In: 1, Out: 64, Rows: true}}, list)
}

// TestTheLeastOfWhatCannotStandTogether is refused as more of it is, and what stands for nothing is not.
func TestTheLeastOfWhatCannotStandTogether(t *testing.T) {
	for says, change := range map[string]func(*SelfAttention){
		"an index beside a window of 1 tokens": func(a *SelfAttention) { a.Window = 1 },
		"values are from keys": func(a *SelfAttention) {
			a.Index, a.Latent, a.ValueFromKey = Index{}, Latent{Rank: 1}, true
		},
		"latent rank is 0 but": func(a *SelfAttention) { a.Latent.Rank, a.KVHeads = 0, 2 },
		"a divisor of the":     func(a *SelfAttention) { a.KVHeads = 3 },
	} {
		m := pooled()
		change(&m.Layers[0].Mixer.Attention)
		assert.ErrorContains(t, m.Validate(), says)
	}
	for _, change := range []func(*SelfAttention){
		func(a *SelfAttention) { a.Index = Index{TopK: 1, Reused: true} }, func(a *SelfAttention) { a.Index.TopK = 1 },
		func(a *SelfAttention) { a.Index.Pool = 1 }, func(a *SelfAttention) { a.Latent.Rank = 1 },
	} {
		m := pooled()
		change(&m.Layers[0].Mixer.Attention)
		assert.NoError(t, m.Validate())
	}
	direct := func(key, value, rope int) error {
		m := pooled()
		a := &m.Layers[0].Mixer.Attention
		a.KeyDim, a.ValueDim = key, value
		a.Latent.RopeDim, a.Latent.Direct = rope, true
		return m.Validate()
	}
	assert.NoError(t, direct(32, 32, 8))
	assert.NoError(t, direct(32, 32, 32), "all of it may turn")
	for _, wrong := range [][3]int{{16, 32, 8}, {32, 16, 8}, {32, 32, 33}} {
		assert.ErrorContains(t, direct(wrong[0], wrong[1], wrong[2]), "beside a direct latent", wrong)
	}
	assert.Equal(t, "MHA", Mixer{Attention: SelfAttention{Heads: 1, KVHeads: 1, Chunked: true}}.kind(), "of no window")
	assert.Equal(t, kindHybrid, Mixer{Recurrence: Recurrence{ValueHeads: 1}}.kind())
}

// TestTheLastAttentionIsALayerOfItsOwn, with its norms, whatever number of layers it stands for.
func TestTheLastAttentionIsALayerOfItsOwn(t *testing.T) {
	m := small()
	last, ok := m.LastAttention()
	require.True(t, ok)
	want := m.Layers[0]
	want.Count = 1
	assert.Equal(t, want, last)
	m.Layers[0].FFN.Bias = true
	last, _ = m.LastAttention()
	assert.True(t, last.FFN.Bias, "a dense network stays as it is")
}
