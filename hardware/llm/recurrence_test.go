package llm

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestRecurrencesAreCountedByTheirFormulas: with 47 convolved channels and 5 values of 7, in a model of hidden size 11,
// input projections and what else is multiplied come first, then the convolution, scalars, norm and the output.
func TestRecurrencesAreCountedByTheirFormulas(t *testing.T) {
	with := func(change func(*Recurrence)) Recurrence {
		r := Recurrence{KeyHeads: 2, KeyDim: 3, ValueHeads: 5, ValueDim: 7, Kernel: 4, StateBytes: 4}
		change(&r)
		return r
	}
	for name, c := range map[string]struct {
		change func(*Recurrence)
		params int64
	}{
		"a gated delta net": {func(*Recurrence) {}, 11*92 + 4*47 + 10 + 7 + 35*11},
		"with biases":       {func(r *Recurrence) { r.ProjBias = true }, 11*92 + 4*47 + 10 + 7 + 35*11 + 92 + 11},
		"without a norm":    {func(r *Recurrence) { r.NoNorm = true }, 11*92 + 4*47 + 10 + 35*11},
		"Mamba-2":           {func(r *Recurrence) { r.Mamba2 = true }, 11*87 + 5*47 + 15 + 35 + 35*11},
		"Mamba-2 without a bias": {
			func(r *Recurrence) { r.Mamba2, r.NoConvBias = true, true }, 11*87 + 4*47 + 15 + 35 + 35*11,
		},
		"Kimi delta attention": {func(r *Recurrence) { r.KDA = true }, 11*87 + 7*(11+35) + 4*47 + 5 + 35 + 7 + 35*11},
		"with a gate of rank 2": {
			func(r *Recurrence) { r.KDA, r.GateRank = true, 2 }, 11*52 + 9*(11+35) + 4*47 + 5 + 35 + 7 + 35*11,
		},
		"with a gate of rank 1": {
			func(r *Recurrence) { r.KDA, r.GateRank = true, 1 }, 11*52 + 8*(11+35) + 4*47 + 5 + 35 + 7 + 35*11,
		},
		"none": {func(r *Recurrence) { r.ValueHeads = 0 }, 0},
	} {
		assert.Equal(t, c.params, with(c.change).params(11), name)
	}
	assert.InDelta(t, 35*3*4+3*47*2, with(func(*Recurrence) {}).bytes(), 0)
	assert.Zero(t, with(func(r *Recurrence) { r.ValueHeads = 0 }).bytes())
}
