package llm

import (
	"fmt"
	"strings"
)

// Format is how the weights of a class are stored and multiplied.
type Format struct {
	Dtype  string  // bf16 fp8 mxfp8 int8 int4 mxfp4 nvfp4; fp16 counts as bf16
	Bits   float64 // per weight, scales included; an average where a class is mixed
	Sparse bool    // two of every four weights are kept, see WithSparsity
}

// Precision is what a checkpoint ships: a format per class, and the type it asks for in the KV cache.
type Precision struct {
	Weights [NumClasses]Format
	KVCache string // dtype; empty: the checkpoint leaves it to the engine
}

// Dtypes are the weight types that WithWeights knows.
func Dtypes() []string { return []string{"bf16", "fp8", "mxfp8", "int8", "int4", "mxfp4", "nvfp4"} }

// FormatOf is the usual format of a dtype, with its scales:
//
//	fp8    one fp32 scale per 128 × 128 block: 8 + 32/16384 bits
//	mxfp8  one 8-bit exponent per 32 weights: 8 + 8/32 (OCP Microscaling Formats 1.0)
//	int8   one scale per output channel, less than 0.01 bit at any width met here, not counted
//	int4   one bf16 scale per 32 weights: 4 + 16/32
//	mxfp4  one 8-bit exponent per 32 weights: 4 + 8/32 (OCP Microscaling Formats 1.0)
//	nvfp4  one fp8 scale per 16 weights: 4 + 8/16
func FormatOf(dtype string) (Format, error) {
	switch dtype {
	case "bf16":
		return Format{Dtype: dtype, Bits: 16}, nil
	case "fp8":
		return Format{Dtype: dtype, Bits: 8 + 32.0/(128*128)}, nil
	case "mxfp8":
		return Format{Dtype: dtype, Bits: 8.25}, nil
	case "int8":
		return Format{Dtype: dtype, Bits: 8}, nil
	case "int4", "nvfp4":
		return Format{Dtype: dtype, Bits: 4.5}, nil
	case "mxfp4":
		return Format{Dtype: dtype, Bits: 4.25}, nil
	}
	return Format{}, fmt.Errorf("hardware: weights %q not known; valid values: %s", dtype, strings.Join(Dtypes(), " "))
}

// UniformPrecision stores every class in bf16.
func UniformPrecision() Precision {
	var p Precision
	for c := range p.Weights {
		p.Weights[c] = Format{Dtype: "bf16", Bits: 16}
	}
	return p
}

// Quantizable reports whether WithWeights changes a class: the large linear layers. Embedding, head, indexer,
// compressor, router, projections to the width of experts, and norms keep the checkpoint's type, as published quantised
// checkpoints do.
func (c WeightClass) Quantizable() bool {
	switch c {
	case Attention, AttentionReplicated, Recurrent, SharedExperts, DenseFFN, RoutedExperts:
		return true
	}
	return false
}

// WithWeights is m with its linear classes (attention, recurrent mixers, feed-forward networks, experts) stored as
// dtype, whatever they were; the other classes stay as they are.
func (m Model) WithWeights(dtype string) (Model, error) {
	f, err := FormatOf(dtype)
	if err != nil {
		return Model{}, err
	}
	for c := range NumClasses {
		if c.Quantizable() {
			m.Precision.Weights[c] = f
		}
	}
	return m, nil
}

// WeightBits is the bits per weight of a class, scales included.
func (m Model) WeightBits(c WeightClass) float64 { return m.Precision.Weights[c].Bits }

// ComputeDtype is the type a class is multiplied in.
func (m Model) ComputeDtype(c WeightClass) string { return m.Precision.Weights[c].Dtype }

// FFNDtype is the type that most of the model is multiplied in: its routed experts, or its dense networks.
func (m Model) FFNDtype() string {
	if m.Experts() > 0 {
		return m.ComputeDtype(RoutedExperts)
	}
	return m.ComputeDtype(DenseFFN)
}

// WeightBytes is the size of the decoder's checkpoint; a tied table is stored once.
func (m Model) WeightBytes() float64 {
	sum := 0.0
	for c, n := range m.Params() {
		sum += float64(float64(n) * m.Precision.Weights[c].Bits / 8)
	}
	return sum
}

// Sparsities are the patterns of structured weight sparsity that are modelled.
func Sparsities() []string { return []string{"2:4"} }

// WithSparsity is m with the weights of its linear classes pruned to two of every four, so that a weight of b bits
// takes
//
//	b/2 + 1 bits: half of the values, and 2 bits of index for each of them
//
// (Mishra et al., Accelerating Sparse Deep Neural Networks, arXiv 2104.08378, §3.1). Scales shrink with the values. The
// classes are those that WithWeights quantizes, and it undoes this: sparsity comes after.
func (m Model) WithSparsity(pattern string) (Model, error) {
	if pattern != "2:4" {
		return Model{}, fmt.Errorf("hardware: weight_sparsity %q not known; valid values: 2:4", pattern)
	}
	for c := range NumClasses {
		if f := &m.Precision.Weights[c]; c.Quantizable() && !f.Sparse {
			f.Bits, f.Sparse = float64(f.Bits/2)+1, true
		}
	}
	return m, nil
}
