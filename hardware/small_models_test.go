package hardware_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
)

// smallModel draws a model of few layers of any kinds, in which each number is small: a latent of one element, entries
// of one token and experts that are one are among them. What no model can be is drawn again.
func smallModel(r *rand.Rand) llm.Model {
	for {
		m := llm.Model{Name: "small", Hidden: 1 + r.IntN(40), Vocab: 1 + r.IntN(99), ContextMax: 1 << 16, NormVectors: 1,
			Precision: llm.UniformPrecision()}
		m.Residual = llm.Residual{Streams: max(0, r.IntN(8)-4), Block: max(0, r.IntN(8)-4)}
		experts := smallFFN(r)
		for range 1 + r.IntN(3) {
			run := llm.LayerRun{Count: 1 + r.IntN(3), Norms: r.IntN(3), FFN: llm.FFN{Width: r.IntN(50)}}
			if experts.Experts > 0 && r.IntN(3) > 0 {
				run.FFN = experts
			}
			run.Mixer.Attention = smallAttention(r)
			if r.IntN(4) == 0 {
				run.Mixer.Recurrence = llm.Recurrence{KeyHeads: 1, KeyDim: 1 + r.IntN(9), ValueHeads: 4 * (1 + r.IntN(2)),
					ValueDim: 1 + r.IntN(9), Kernel: 1 + r.IntN(3), StateBytes: 4}
			}
			m.Layers = append(m.Layers, run)
		}
		if m.Validate() == nil && len(m.Attention()) > 0 {
			return m
		}
	}
}

// smallFFN draws experts, in half of the models.
func smallFFN(r *rand.Rand) llm.FFN {
	if r.IntN(2) == 0 {
		return llm.FFN{}
	}
	f := llm.FFN{Width: max(0, r.IntN(40)-20), Experts: 1 + r.IntN(12), ExpertWidth: 1 + r.IntN(30),
		Latent: max(0, r.IntN(20)-10), SharedWidth: max(0, r.IntN(40)-20)}
	f.TopK = 1 + r.IntN(f.Experts)
	if half := f.Experts / 2; f.Experts%2 == 0 && r.IntN(2) == 0 {
		f.Groups = []int{2, half}[r.IntN(2)]
		f.TopGroups = 1 + r.IntN(f.Groups)
		f.TopK = min(f.TopK, f.Experts/f.Groups*f.TopGroups)
	}
	return f
}

// smallAttention draws one of every kind: of the whole context or of windows, on a latent, of entries of several
// tokens, and chosen by an index.
func smallAttention(r *rand.Rand) llm.SelfAttention {
	one := func(of ...int) int { return of[r.IntN(len(of))] }
	groups := one(1, 2, 4, 8)
	a := llm.SelfAttention{Heads: max(4, groups) * one(1, 2), KVHeads: groups, KeyDim: 1 + r.IntN(300),
		ValueDim: 1 + r.IntN(99)}
	switch r.IntN(5) {
	case 0:
		return a
	case 1:
		a.Window, a.Chunked = one(1, 2, 511, 512, 513, 700), r.IntN(3) == 0
		return a
	}
	a.KVHeads = 0
	a.Latent = llm.Latent{Rank: one(1, 2, 127, 128, 129, 600), RopeDim: r.IntN(3), QueryRank: 1 + r.IntN(9)}
	compressed := r.IntN(2) == 0
	if compressed {
		a.Window = one(1, 2, 128, 600)
		a.Compression = llm.Compression{Ratio: one(1, 2, 4), Overlap: r.IntN(2) == 0}
	}
	a.Latent.Direct = compressed || r.IntN(2) == 0 // entries are of vectors that are key and value
	if a.Latent.Direct {
		a.KeyDim, a.ValueDim, a.Latent.RopeDim = a.Latent.Rank, a.Latent.Rank, min(a.Latent.Rank, a.Latent.RopeDim)
	}
	switch r.IntN(4) {
	case 0:
		a.Index = llm.Index{TopK: one(1, 2, 256), Reused: true}
	case 1, 2:
		a.Index = llm.Index{Heads: one(1, 2, 64), Dim: one(1, 127, 128, 129), TopK: one(1, 2, 256), CacheType: r.IntN(2) == 0}
		if !compressed {
			a.Index.Pool = one(0, 1, 3)
		}
	}
	return a
}

// smallDeployment draws a small model on GPUs that are a millionth as fast as they are, so that a step lasts as long as
// others do, and whatever it can have.
func smallDeployment(t *testing.T, r *rand.Rand) hardware.Deployment {
	for {
		d := hardware.Deployment{GPU: gpu(t, someGPUs[r.IntN(len(someGPUs))]), Model: smallModel(r),
			Efficiency: randomEfficiency(r), KVDtype: hardware.KVDtypes()[r.IntN(len(hardware.KVDtypes()))],
			Parallel: hardware.Parallel{Tensor: []int{1, 2, 4}[r.IntN(3)], Pipeline: 1}, HybridKV: r.IntN(2) == 0}
		if dtypes := llm.Dtypes(); r.IntN(2) == 0 {
			var err error
			d.Model, err = d.Model.WithWeights(dtypes[r.IntN(len(dtypes))])
			require.NoError(t, err)
			if r.IntN(2) == 0 { // experts in a format of their own
				d.Model.Precision.Weights[llm.RoutedExperts], err = llm.FormatOf(dtypes[r.IntN(len(dtypes))])
				require.NoError(t, err)
			}
		}
		for _, improve := range better {
			improve(&d.GPU, 1e-6)
		}
		if r.IntN(4) == 0 { // links that join few or none, and a network
			d.GPU.Domain.Value, d.GPU.NICBps = float64(1+r.IntN(2)), scaled(d.GPU.BandwidthBps, 0.1)
			d.GPU.PCIeBps = hardware.Quantity{}
		}
		if d.Validate() != nil {
			continue
		}
		decorate(r, &d)
		return d
	}
}
