package llm

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// small is a valid dense model of two layers.
func small() Model {
	return Model{
		Name: "small", Hidden: 64, Vocab: 100, ContextMax: 512, NormVectors: 1,
		Layers: []LayerRun{{
			Count: 2, Norms: 2,
			Mixer: Mixer{Attention: SelfAttention{Heads: 4, KVHeads: 2, KeyDim: 16, ValueDim: 16}},
			FFN:   FFN{Width: 96},
		}},
		Precision: UniformPrecision(),
	}
}

func TestParamsAreCountedByClass(t *testing.T) {
	m := small()
	want := Counts{
		Embedding: 6400, Head: 6400, Attention: 2 * (64*64 + 2*64*32 + 64*64), DenseFFN: 2 * 3 * 64 * 96, Norms: 2*2*64 + 64,
	}
	assert.Equal(t, want, m.Params())
	m.TiedEmbeddings = true
	want[Embedding] = 0
	assert.Equal(t, want, m.Params(), "a tied table is the head's")
	assert.Equal(t, m.ParamsTotal(), m.ActiveNoEmbedding(), "and stays, since a step reads it")
}

func TestActiveCountsLeaveOutUnusedExperts(t *testing.T) {
	m := small()
	m.Layers[0].FFN = FFN{Experts: 8, ExpertWidth: 32, TopK: 2, SharedWidth: 32, RouterBias: true}
	assert.Equal(t, int64(2*6*3*64*32), m.ParamsTotal()-m.ActiveAll())
	assert.Equal(t, []int{2, 8, 2}, []int{m.MoELayers(), m.Experts(), m.TopK()})
}

func TestSparseAttentionCaches(t *testing.T) {
	m := small()
	m.Layers[0].Count = 1
	m.Layers[0].Mixer.Attention = SelfAttention{Heads: 128, KeyDim: 128, ValueDim: 128,
		Latent: Latent{Rank: 512, QueryRank: 1536, RopeDim: 64}, Index: Index{Heads: 64, Dim: 128, TopK: 2048}}
	require.NoError(t, m.Validate())
	g := m.Attention()[0]
	assert.Equal(t, 1152.0, g.KVBytesPerToken(2))
	assert.Equal(t, 656.0, g.KVBytesPerToken(1), "the fp8 layout keeps scales and a bf16 rotary key")
	assert.Equal(t, 132.0, g.IndexBytesPerToken(2))
	assert.Equal(t, 2, m.MixerLayers())
	assert.Equal(t, 1, g.KVHeads, "a latent is never split over ranks")
	m.Layers[0].Mixer.Attention.Index = Index{}
	assert.Equal(t, 576.0, m.Attention()[0].KVBytesPerToken(1))
	assert.Equal(t, 1, m.MixerLayers())
}

func TestEqualLayersAreOneGroup(t *testing.T) {
	m := small()
	window := m.Layers[0]
	window.Count, window.Mixer.Attention.Window = 3, 128
	m.Layers = append(m.Layers, window, m.Layers[0])
	groups := m.Attention()
	require.Len(t, groups, 2)
	assert.Equal(t, []int{4, 3}, []int{groups[0].Layers, groups[1].Layers})
}

func TestRecurrentState(t *testing.T) {
	m := small()
	m.Layers = []LayerRun{{Count: 23, Norms: 1, Mixer: Mixer{Recurrence: Recurrence{
		Mamba2: true, KeyHeads: 8, KeyDim: 128, ValueHeads: 64, ValueDim: 64, Kernel: 4, StateBytes: 4}}}}
	require.NoError(t, m.Validate())
	assert.Equal(t, float64(23*(64*64*128*4+3*6144*2)), m.StateBytes())
	assert.Equal(t, 23, m.MixerLayers())
	assert.Empty(t, m.Attention())
}

func TestWithWeightsChangesLinearClassesOnly(t *testing.T) {
	m := small()
	for _, dtype := range Dtypes() {
		q, err := m.WithWeights(dtype)
		require.NoError(t, err)
		require.NoError(t, q.Validate())
		for c := range NumClasses {
			want := "bf16"
			if c.Quantizable() {
				want = dtype
			}
			assert.Equal(t, want, q.ComputeDtype(c))
		}
		assert.LessOrEqual(t, q.WeightBytes(), m.WeightBytes())
		assert.Equal(t, UniformPrecision(), m.Precision, "the original stays")
	}
	_, err := m.WithWeights("fp6")
	assert.ErrorContains(t, err, `"fp6"`)
}

func TestImpossibleShapesAreNamed(t *testing.T) {
	require.NoError(t, small().Validate())
	for says, spoil := range map[string]func(*Model){
		"hidden is 0":           func(m *Model) { m.Hidden = 0 },
		"vocab is -1":           func(m *Model) { m.Vocab = -1 },
		"layers is 0":           func(m *Model) { m.Layers = nil },
		"count is 0":            func(m *Model) { m.Layers[0].Count = 0 },
		"do not divide":         func(m *Model) { m.Layers[0].Mixer.Attention.KVHeads = 3 },
		"key dim is 0":          func(m *Model) { m.Layers[0].Mixer.Attention.KeyDim = 0 },
		"heads is 0":            func(m *Model) { m.Layers[0].Mixer.Attention.Heads = 0 },
		"no layer has":          func(m *Model) { m.Layers[0].Mixer = Mixer{} },
		"FFN width is -1":       func(m *Model) { m.Layers[0].FFN.Width = -1 },
		"experts is 0":          func(m *Model) { m.Layers[0].FFN.TopK = 2 },
		"expert width is 0":     func(m *Model) { m.Layers[0].FFN.Experts = 4 },
		"experts per token":     func(m *Model) { m.Layers[0].FFN = FFN{Experts: 4, ExpertWidth: 8, TopK: 5} },
		"all MoE layers":        func(m *Model) { m.Layers = twoMoE() },
		"0 bits per weight":     func(m *Model) { m.Precision.Weights[Router].Bits = 0 },
		`weights "" not known`:  func(m *Model) { m.Precision.Weights[Router].Dtype = "" },
		"recurrent key heads":   func(m *Model) { m.Layers[0].Mixer.Recurrence.ValueHeads = 2 },
		"reads compressed":      func(m *Model) { *m = uncompressedIndex() },
		`q/k norm "sometimes"`:  func(m *Model) { m.Layers[0].Mixer.Attention.QKNorm = "sometimes" },
		"MTP layer: count is 0": func(m *Model) { m.MTP = 1 },
	} {
		m := small()
		spoil(&m)
		assert.ErrorContains(t, m.Validate(), says)
	}
}

func twoMoE() []LayerRun {
	one := small().Layers[0]
	one.FFN = FFN{Experts: 4, ExpertWidth: 8, TopK: 1}
	two := one
	two.FFN.TopK = 2
	return []LayerRun{one, two}
}

func uncompressedIndex() Model {
	m := small()
	m.Layers[0].Mixer.Attention = SelfAttention{Heads: 4, KeyDim: 16, ValueDim: 16, Latent: Latent{Rank: 8, RopeDim: 4},
		Index: Index{Heads: 1, Dim: 4, TopK: 8}}
	return m
}

// Whatever passes validation counts to something positive: the bounds keep every product within int64.
func TestValidShapesDoNotOverflow(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	extreme := func(most int) int { return []int{1, 2, most / 2, most}[random.IntN(4)] }
	valid := 0
	for range 2000 {
		m := small()
		m.Hidden, m.Vocab = extreme(hiddenMax), extreme(vocabMax)
		experts := extreme(expertsMax)
		heads := extreme(headsMax)
		m.Layers[0] = LayerRun{Count: extreme(layersMax), Norms: 2,
			Mixer: Mixer{Attention: SelfAttention{Heads: heads, KVHeads: heads, KeyDim: extreme(dimMax),
				ValueDim: extreme(dimMax)}},
			FFN: FFN{Experts: experts, ExpertWidth: extreme(widthMax), TopK: 1, SharedWidth: extreme(widthMax)}}
		if m.Validate() != nil {
			continue
		}
		valid++
		for _, n := range m.Params() {
			require.GreaterOrEqual(t, n, int64(0))
		}
		require.Positive(t, m.ParamsTotal())
		require.Positive(t, m.ActiveNoEmbeddingNoHead())
		require.LessOrEqual(t, m.ActiveAll(), m.ParamsTotal())
	}
	require.Positive(t, valid)
}
