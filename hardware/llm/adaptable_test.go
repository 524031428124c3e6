package llm

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestProjectionsOfUnlikeLayersAreSeparate: layers with equally many heads, but wider ones, have projections of their
// own. Those of equal layers are counted together wherever they stand.
func TestProjectionsOfUnlikeLayersAreSeparate(t *testing.T) {
	m := small()
	wide := m.Layers[0]
	wide.Count, wide.Mixer.Attention.KeyDim = 3, 32
	m.Layers = append(m.Layers, wide, m.Layers[0])
	list, err := m.Adaptable([]string{ModuleQ, ModuleV})
	require.NoError(t, err)
	assert.Equal(t, []Projection{
		{Name: ModuleQ, Count: 4, In: 64, Out: 64, Columns: true, Parts: 4},
		{Name: ModuleV, Count: 7, In: 64, Out: 32, Columns: true, Parts: 2},
		{Name: ModuleQ, Count: 3, In: 64, Out: 128, Columns: true, Parts: 4},
	}, list)
}

// TestValuesThatAreKeysHaveNoProjection of their own, and must be as wide as keys.
func TestValuesThatAreKeysHaveNoProjection(t *testing.T) {
	m := small()
	m.Layers[0].Mixer.Attention.ValueFromKey = true
	require.NoError(t, m.Validate())
	list, err := m.Adaptable([]string{ModuleK, ModuleV})
	require.NoError(t, err)
	assert.Equal(t, []Projection{{Name: ModuleK, Count: 2, In: 64, Out: 32, Columns: true, Parts: 2}}, list)
	m.Layers[0].Mixer.Attention.ValueDim = 8
	require.ErrorContains(t, m.Validate(), "values are from keys of 16 but 8 wide")
}

// TestWhatAdaptersAreNotModelledOfIsRefused: latents, indexers and recurrences, and experts only where an adapter is of
// them.
func TestWhatAdaptersAreNotModelledOfIsRefused(t *testing.T) {
	for _, m := range []Model{latent(), recurrent(), pooled()} {
		_, err := m.Adaptable([]string{ModuleQ})
		require.ErrorContains(t, err, "latents, indexers or recurrences")
	}
	m := mixture()
	_, err := m.Adaptable([]string{ModuleQ, ModuleDown})
	require.ErrorContains(t, err, "the experts of small are not modelled")
	list, err := m.Adaptable([]string{ModuleO})
	require.NoError(t, err)
	assert.Equal(t, []Projection{{Name: ModuleO, Count: 2, In: 64, Out: 64, Rows: true}}, list)
}

// TestRanksDivideProjectionsByColumnsOrRows: into a network and its heads by columns, out of them by rows, and what is
// beside the layers not at all.
func TestRanksDivideProjectionsByColumnsOrRows(t *testing.T) {
	m := small()
	list, err := m.Adaptable([]string{ModuleGate, ModuleUp, ModuleDown, ModuleHead, ModuleEmbed})
	require.NoError(t, err)
	assert.Equal(t, []Projection{
		{Name: ModuleGate, Count: 2, In: 64, Out: 96, Columns: true, Parts: 96},
		{Name: ModuleUp, Count: 2, In: 64, Out: 96, Columns: true, Parts: 96},
		{Name: ModuleDown, Count: 2, In: 96, Out: 64, Rows: true},
		{Name: ModuleHead, Count: 1, In: 64, Out: 100}, {Name: ModuleEmbed, Count: 1, In: 100, Out: 64},
	}, list)
	m.Layers[0].FFN.Plain = true
	list, err = m.Adaptable([]string{ModuleGate, ModuleUp})
	require.NoError(t, err)
	assert.Len(t, list, 1, "a plain network has no gate")
}
