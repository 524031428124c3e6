package llm

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestIndexersAreCountedByTheirKind, each of n heads of d, from compressed queries or from the hidden state: what makes
// queries and keys, a weight for each head where tokens or entries are chosen, and norms.
func TestIndexersAreCountedByTheirKind(t *testing.T) {
	const h, rank = 64, 24 // of the hidden state and of queries
	const n, d = 3, 10
	of := func(a SelfAttention) (indexer, norms int64) {
		with, without := small(), small()
		with.Layers[0].Mixer.Attention, without.Layers[0].Mixer.Attention = a, a
		without.Layers[0].Mixer.Attention.Index = Index{}
		require.NoError(t, with.Validate())
		more, fewer := with.Params(), without.Params()
		return (more[Indexer] - fewer[Indexer]) / 2, (more[Norms] - fewer[Norms]) / 2 // of one of two layers
	}
	latent := SelfAttention{Heads: 4, KeyDim: 16, ValueDim: 16, Latent: Latent{Rank: 32, QueryRank: rank, RopeDim: 8},
		Index: Index{Heads: n, Dim: d, TopK: 64}}
	indexer, norms := of(latent)
	assert.EqualValues(t, rank*n*d+h*d+h*n, indexer, "of tokens")
	assert.EqualValues(t, 2*d, norms)
	one := latent
	one.Index.Heads = 1
	indexer, _ = of(one)
	assert.EqualValues(t, rank*d+h*d+h, indexer, "of one head")

	entries := latent
	entries.Window, entries.Compression = 8, Compression{Ratio: 4}
	entries.Latent.Direct, entries.KeyDim, entries.ValueDim = true, 32, 32
	indexer, norms = of(entries)
	assert.EqualValues(t, rank*n*d+h*n+2*h*d+4*d+d, indexer, "of entries of 4 tokens")
	assert.Zero(t, norms)
	entries.Compression.Ratio = 1
	indexer, _ = of(entries)
	assert.EqualValues(t, rank*n*d+h*n+2*h*d+d+d, indexer, "of entries of a token")
	entries.Compression = Compression{Ratio: 4, Overlap: true}
	indexer, _ = of(entries)
	assert.EqualValues(t, rank*n*d+h*n+2*h*2*d+4*2*d+d, indexer, "of entries that overlap")

	blocks := small().Layers[0].Mixer.Attention
	blocks.Index = Index{Heads: n, Dim: d, TopK: 64, Block: 16}
	indexer, norms = of(blocks)
	assert.EqualValues(t, h*n*d+h*d, indexer, "of blocks")
	assert.EqualValues(t, 2*d, norms)
}

// TestViewsAreWhatIsRead: the whole context, a window, what an index chose after the index itself, and beside a window
// the entries, all or those that were chosen.
func TestViewsAreWhatIsRead(t *testing.T) {
	for _, c := range []struct {
		name string
		g    AttentionGroup
		want []View
	}{
		{"all", AttentionGroup{}, []View{{Ratio: 1}}},
		{"a window", AttentionGroup{Window: 8}, []View{{Window: 8, Ratio: 1}}},
		{"chunks", AttentionGroup{Window: 8, Chunked: true}, []View{{Window: 8, Chunked: true, Ratio: 1}}},
		{"chosen tokens", AttentionGroup{TopK: 5, IndexHeads: 1, IndexPool: 2},
			[]View{{Ratio: 2, Index: true}, {Window: 5, Ratio: 1, Chosen: true}}},
		{"tokens that another layer chose", AttentionGroup{TopK: 5}, []View{{Window: 5, Ratio: 1, Chosen: true}}},
		{"all entries", AttentionGroup{Window: 8, Ratio: 4}, []View{{Window: 8, Ratio: 1}, {Ratio: 4}}},
		{"chosen entries", AttentionGroup{Window: 8, Ratio: 4, TopK: 5, IndexHeads: 1, IndexPool: 4},
			[]View{{Ratio: 4, Index: true}, {Window: 8, Ratio: 1}, {Window: 20, Ratio: 4, Chosen: true}}},
	} {
		assert.Equal(t, c.want, c.g.Views(), c.name)
	}
	for tokens, want := range map[int][2]int{7: {7 + 1, 1}, 8: {8 + 2, 2}, 9: {8 + 2, 2}, 100: {8 + 25, 25}} {
		g := AttentionGroup{Window: 8, Ratio: 4, TopK: 5, IndexHeads: 1, IndexPool: 4}
		entries, keys := g.Cached(tokens)
		assert.Equal(t, want, [2]int{entries, keys}, tokens)
	}
}

// TestAdaptersAreOfWhatALayerHas: of a projection as narrow as one, and not of attention in a layer that has none.
func TestAdaptersAreOfWhatALayerHas(t *testing.T) {
	m := small()
	network := m.Layers[0]
	network.Mixer, network.Count = Mixer{}, 5
	a := &m.Layers[0].Mixer.Attention
	a.KVHeads, a.KeyDim = 1, 1
	m.Layers = append(m.Layers, network)
	require.NoError(t, m.Validate())
	list, err := m.Adaptable([]string{ModuleK, ModuleV, ModuleO, ModuleUp})
	require.NoError(t, err)
	assert.Equal(t, []Projection{
		{Name: ModuleK, Count: 2, In: 64, Out: 1, Columns: true, Parts: 1},
		{Name: ModuleV, Count: 2, In: 64, Out: 16, Columns: true, Parts: 1},
		{Name: ModuleO, Count: 2, In: 64, Out: 64, Rows: true},
		{Name: ModuleUp, Count: 7, In: 64, Out: 96, Columns: true, Parts: 96},
	}, list)
}

// TestTheLeastIndexIsOne: adapters beside one are not modelled, however few tokens it chooses.
func TestTheLeastIndexIsOne(t *testing.T) {
	m := small()
	m.Layers[0].Mixer.Attention.Index = Index{TopK: 1, Heads: 1, Dim: 4, Block: 1}
	require.NoError(t, m.Validate())
	_, err := m.Adaptable([]string{ModuleQ})
	assert.ErrorContains(t, err, "indexers")
}

// TestStreamsEndInTheirNorms: what brings residual streams together at the end counts once, and what each layer has of
// them with its layer.
func TestStreamsEndInTheirNorms(t *testing.T) {
	for _, x := range []Residual{{Streams: 4}, {Block: 2}} {
		m := small()
		before := m.Params()
		m.Residual = x
		layer, end := x.params(64)
		after := m.Params()
		assert.Equal(t, before.Total()+2*layer+end, after.Total(), "%+v", x)
		assert.Equal(t, before[Norms]+2*layer+end, after[Norms], "%+v", x)
	}
}

// TestHeadsDivideIntoTheirGroups, however narrow what a group projects to.
func TestHeadsDivideIntoTheirGroups(t *testing.T) {
	for groups, ok := range map[int]bool{1: true, 2: true, 3: false, 4: true} {
		for _, rank := range []int{1, 2, 8} {
			m := grouped()
			m.Layers[0].Mixer.Attention.OutputRank, m.Layers[0].Mixer.Attention.OutputGroups = rank, groups
			assert.Equal(t, ok, m.Validate() == nil, "%d groups of rank %d", groups, rank)
			m = small()
			m.Layers[0].Mixer.Attention.KVHeads = groups
			assert.Equal(t, ok, m.Validate() == nil, "%d KV heads", groups)
		}
	}
}
