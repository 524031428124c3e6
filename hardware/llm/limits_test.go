package llm

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mixture is a small model whose networks are experts in groups.
func mixture() Model {
	m := small()
	m.Layers[0].FFN = FFN{Experts: 4, ExpertWidth: 8, TopK: 1, Groups: 4, TopGroups: 1}
	return m
}

// latent is a small model with a latent cache.
func latent() Model {
	m := small()
	m.Layers[0].Mixer.Attention = SelfAttention{Heads: 4, KeyDim: 16, ValueDim: 16,
		Latent: Latent{Rank: 8, QueryRank: 8, RopeDim: 4}}
	return m
}

// recurrent is a small model whose layers have a gated state.
func recurrent() Model {
	m := small()
	m.Layers[0].Mixer = Mixer{Recurrence: Recurrence{KDA: true, KeyHeads: 1, KeyDim: 8, ValueHeads: 4, ValueDim: 8,
		Kernel: 4, StateBytes: 4}}
	return m
}

// grouped is a small model whose heads are projected together.
func grouped() Model {
	m := small()
	a := &m.Layers[0].Mixer.Attention
	a.KVHeads, a.OutputRank, a.OutputGroups = 1, 8, 1
	return m
}

// ungrouped is mixture with its experts in one group.
func ungrouped() Model {
	m := mixture()
	m.Layers[0].FFN.Groups, m.Layers[0].FFN.TopGroups = 0, 0
	return m
}

// compressed is a small model that attends to a window and to compressed entries.
func compressed() Model {
	m := small()
	a := &m.Layers[0].Mixer.Attention
	a.Window, a.Compression = 16, Compression{Ratio: 4, Overlap: true}
	return m
}

// TestBoundsOfShapesBelongToThem: the least and the greatest value of each field are accepted, the next ones are not.
func TestBoundsOfShapesBelongToThem(t *testing.T) {
	attention := func(m *Model) *SelfAttention { return &m.Layers[0].Mixer.Attention }
	recurrence := func(m *Model) *Recurrence { return &m.Layers[0].Mixer.Recurrence }
	ffn := func(m *Model) *FFN { return &m.Layers[0].FFN }
	for _, c := range []struct {
		name      string
		base      func() Model
		field     func(*Model) *int
		low, high int
	}{
		{"hidden", small, func(m *Model) *int { return &m.Hidden }, 1, 131_072},
		{"vocab", small, func(m *Model) *int { return &m.Vocab }, 1, 16_777_216},
		{"context", small, func(m *Model) *int { return &m.ContextMax }, 1, 1_073_741_824},
		{"positions", small, func(m *Model) *int { return &m.Positions }, 0, 1_073_741_824},
		{"norm vectors", small, func(m *Model) *int { return &m.NormVectors }, 0, 2},
		{"streams", small, func(m *Model) *int { return &m.Residual.Streams }, 0, 64},
		{"residual block", small, func(m *Model) *int { return &m.Residual.Block }, 0, 1000},
		{"count", small, func(m *Model) *int { return &m.Layers[0].Count }, 1, 1000},
		{"norms", small, func(m *Model) *int { return &m.Layers[0].Norms }, 0, 8},
		{"heads", grouped, func(m *Model) *int { return &attention(m).Heads }, 1, 4096},
		{"key dim", small, func(m *Model) *int { return &attention(m).KeyDim }, 1, 4096},
		{"value dim", small, func(m *Model) *int { return &attention(m).ValueDim }, 1, 4096},
		{"window", small, func(m *Model) *int { return &attention(m).Window }, 0, 1_073_741_824},
		{"output rank", grouped, func(m *Model) *int { return &attention(m).OutputRank }, 1, 1_048_576},
		{"output groups", grouped, func(m *Model) *int { return &attention(m).OutputGroups }, 1, 4},
		{"KV heads without a latent", small, func(m *Model) *int { return &attention(m).KVHeads }, 1, 4},
		{"KV heads", latent, func(m *Model) *int { return &attention(m).KVHeads }, 0, 4},
		{"latent rank", latent, func(m *Model) *int { return &attention(m).Latent.Rank }, 1, 1_048_576},
		{"query rank", latent, func(m *Model) *int { return &attention(m).Latent.QueryRank }, 0, 1_048_576},
		{"rope dim", latent, func(m *Model) *int { return &attention(m).Latent.RopeDim }, 0, 4096},
		{"index heads", pooled, func(m *Model) *int { return &attention(m).Index.Heads }, 1, 4096},
		{"index dim", pooled, func(m *Model) *int { return &attention(m).Index.Dim }, 1, 4096},
		{"index top-k", pooled, func(m *Model) *int { return &attention(m).Index.TopK }, 1, 1_073_741_824},
		{"index pool", pooled, func(m *Model) *int { return &attention(m).Index.Pool }, 0, 65_536},
		{"recurrent value heads", recurrent, func(m *Model) *int { return &recurrence(m).ValueHeads }, 1, 4096},
		{"recurrent key heads", recurrent, func(m *Model) *int { return &recurrence(m).KeyHeads }, 1, 4},
		{"recurrent key dim", recurrent, func(m *Model) *int { return &recurrence(m).KeyDim }, 1, 4096},
		{"recurrent value dim", recurrent, func(m *Model) *int { return &recurrence(m).ValueDim }, 1, 4096},
		{"kernel", recurrent, func(m *Model) *int { return &recurrence(m).Kernel }, 1, 64},
		{"state bytes", recurrent, func(m *Model) *int { return &recurrence(m).StateBytes }, 1, 8},
		{"gate rank", recurrent, func(m *Model) *int { return &recurrence(m).GateRank }, 0, 1_048_576},
		{"FFN width", small, func(m *Model) *int { return &ffn(m).Width }, 0, 1_048_576},
		{"FFN width beside experts", mixture, func(m *Model) *int { return &ffn(m).Width }, 0, 1_048_576},
		{"latent width", mixture, func(m *Model) *int { return &ffn(m).Latent }, 0, 1_048_576},
		{"experts", mixture, func(m *Model) *int { return &ffn(m).Experts }, 4, 16_384},
		{"experts without groups", ungrouped, func(m *Model) *int { return &ffn(m).Experts }, 1, 16_384},
		{"compression ratio", compressed, func(m *Model) *int { return &attention(m).Compression.Ratio }, 1, 65_536},
		{"expert width", mixture, func(m *Model) *int { return &ffn(m).ExpertWidth }, 1, 1_048_576},
		{"experts per token", mixture, func(m *Model) *int { return &ffn(m).TopK }, 1, 4},
		{"shared width", mixture, func(m *Model) *int { return &ffn(m).SharedWidth }, 0, 1_048_576},
		{"groups", mixture, func(m *Model) *int { return &ffn(m).Groups }, 1, 4},
		{"groups per token", mixture, func(m *Model) *int { return &ffn(m).TopGroups }, 1, 4},
	} {
		for _, one := range []struct {
			value int
			ok    bool
		}{{c.low, true}, {c.high, true}, {c.low - 1, false}, {c.high + 1, false}} {
			m := c.base()
			*c.field(&m) = one.value
			err := m.Validate()
			assert.Equal(t, one.ok, err == nil, "%s of %d: %v", c.name, one.value, err)
		}
	}
}

// TestExpertsMayLackGroups, and then none of them is chosen by a token.
func TestExpertsMayLackGroups(t *testing.T) {
	m := mixture()
	m.Layers[0].FFN.Groups, m.Layers[0].FFN.TopGroups = 0, 0
	require.NoError(t, m.Validate())
	m.Layers[0].FFN.TopGroups = 1
	assert.ErrorContains(t, m.Validate(), "expert groups per token is 1; want 0 to 0")
	m.Layers[0].FFN.Groups = 3
	assert.ErrorContains(t, m.Validate(), "3 expert groups do not divide 4 experts")
}

// TestExpertsOfALayerAreThoseOfAll: their number, how many a token picks, and their latent width.
func TestExpertsOfALayerAreThoseOfAll(t *testing.T) {
	for _, change := range []func(*FFN){
		func(f *FFN) { f.Experts = 8 }, func(f *FFN) { f.TopK = 2 }, func(f *FFN) { f.Latent = 16 },
		func(f *FFN) { *f = FFN{Experts: 1, ExpertWidth: 8, TopK: 1} },
	} {
		m := mixture()
		m.Layers = append(m.Layers, m.Layers[0])
		require.NoError(t, m.Validate())
		change(&m.Layers[1].FFN)
		assert.ErrorContains(t, m.Validate(), "all MoE layers must agree")
	}
	m := mixture()
	m.Layers = append(m.Layers, small().Layers[0])
	assert.NoError(t, m.Validate(), "a dense layer has none")
	m = small()
	m.Layers = append(m.Layers, LayerRun{Count: 1})
	assert.NoError(t, m.Validate(), "a layer may lack attention beside one that has it")
}

// TestBitsOfWeightsWithTheirScales: a scale per block adds its bits divided by the weights that share it. Two of four
// weights, with two bits of index each, are half of the bits and one.
func TestBitsOfWeightsWithTheirScales(t *testing.T) {
	for dtype, bits := range map[string]float64{
		"bf16": 16, "fp8": 8 + 32.0/16384, "mxfp8": 8 + 8.0/32, "int8": 8, "int4": 4 + 16.0/32, "mxfp4": 4 + 8.0/32,
		"nvfp4": 4 + 8.0/16,
	} {
		f, err := FormatOf(dtype)
		require.NoError(t, err)
		assert.Equal(t, Format{Dtype: dtype, Bits: bits}, f)
		m, err := small().WithWeights(dtype)
		require.NoError(t, err)
		linear, other := m.Params()[Attention]+m.Params()[DenseFFN], m.Params()[Embedding]+m.Params()[Head]+m.Params()[Norms]
		assert.InEpsilon(t, float64(linear)*bits/8+2*float64(other), m.WeightBytes(), 1e-12, dtype)
		sparse, err := m.WithSparsity("2:4")
		require.NoError(t, err)
		assert.InEpsilon(t, float64(linear)*(bits/2+1)/8+2*float64(other), sparse.WeightBytes(), 1e-12, dtype)
		again, err := sparse.WithSparsity("2:4")
		require.NoError(t, err)
		assert.Equal(t, sparse.WeightBytes(), again.WeightBytes(), "pruned once")
	}
}

// TestARecurrenceIsOfOneKind, and weights have at least a bit each.
func TestARecurrenceIsOfOneKind(t *testing.T) {
	m := recurrent()
	require.NoError(t, m.Validate())
	m.Layers[0].Mixer.Recurrence.Mamba2, m.Layers[0].Mixer.Recurrence.GateRank = true, 0
	require.ErrorContains(t, m.Validate(), "Mamba-2 and KDA")
	m.Layers[0].Mixer.Recurrence.KDA = false
	require.NoError(t, m.Validate())
	for bits, ok := range map[float64]bool{0.99: false, 1: true, 32: true, 32.1: false} {
		m.Precision.Weights[Attention].Bits = bits
		assert.Equal(t, ok, m.Validate() == nil, bits)
	}
}

// TestMostOfAModelIsItsExperts where it has some, and its dense networks otherwise.
func TestMostOfAModelIsItsExperts(t *testing.T) {
	for _, m := range []Model{small(), mixture()} {
		m.Precision.Weights[DenseFFN].Dtype, m.Precision.Weights[RoutedExperts].Dtype = "fp8", "bf16"
		assert.Equal(t, map[bool]string{false: "fp8", true: "bf16"}[m.Experts() > 0], m.FFNDtype())
	}
}
