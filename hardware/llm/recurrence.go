package llm

// Recurrence is a gated delta net, a Mamba-2 mixer or Kimi delta attention: a state of fixed size per sequence instead
// of a cache. All have ValueHeads states of ValueDim × KeyDim and convolve the same channels. ValueHeads 0: none.
type Recurrence struct {
	Mamba2     bool `yaml:"mamba2"`      //
	KDA        bool `yaml:"kda"`         // Kimi delta attention: decays by channel; neither: a gated delta net
	KeyHeads   int  `yaml:"key_heads"`   // in Mamba-2 the groups
	KeyDim     int  `yaml:"key_dim"`     // in Mamba-2 the state size
	ValueHeads int  `yaml:"value_heads"` //
	ValueDim   int  `yaml:"value_dim"`   //
	Kernel     int  `yaml:"kernel"`      // width of the depthwise convolution
	GateRank   int  `yaml:"gate_rank"`   // of the output gate in KDA; 0: one matrix
	NoConvBias bool `yaml:"no_conv_bias"`
	NoNorm     bool `yaml:"no_norm"`     // without the gated norm before the output projection
	ProjBias   bool `yaml:"proj_bias"`   // biases on the input and output projections
	StateBytes int  `yaml:"state_bytes"` // per element of the state: 4 for fp32
}

// channels is the width of the depthwise convolution: queries, keys and values.
func (r Recurrence) channels() int64 {
	return 2*int64(r.KeyHeads)*int64(r.KeyDim) + r.inner()
}

func (r Recurrence) inner() int64 { return int64(r.ValueHeads) * int64(r.ValueDim) }

// params counts one layer's recurrence. With h the hidden size, C the convolved channels, D = heads × width of the
// values, n value heads, d the width of a value, K the kernel width:
//
//	gated delta net  h·(C + D + 2n) + K·C + 2n + d + D·h
//	Mamba-2          h·(C + D + n) + (K + 1)·C + 3n + D + D·h
//	KDA              h·(C + D + n) + h·d + d·D + K·C + n + D + d + D·h
//
// KDA has a decay for each channel, through a bottleneck of d; its gate h·D is h·r + r·D where it has a rank r (Kimi
// Linear, arXiv 2510.26692; vLLM, models/kimi_k3/nvidia/kda.py).
func (r Recurrence) params(h int64) int64 {
	if r.ValueHeads == 0 {
		return 0
	}
	c, d := r.channels(), r.inner()
	n, k := int64(r.ValueHeads), int64(r.Kernel)
	scalars, norm := 2*n, int64(r.ValueDim)
	in, conv := c+d+2*n, k*c
	extra := int64(0)
	switch {
	case r.Mamba2:
		scalars, norm = 3*n, d
		in = c + d + n
		if !r.NoConvBias {
			conv += c
		}
	case r.KDA:
		scalars, in = n+d, c+d+n
		extra = int64(r.ValueDim) * (h + d)
		if rank := int64(r.GateRank); rank > 0 {
			in -= d
			extra += rank * (h + d)
		}
	}
	if r.NoNorm {
		norm = 0
	}
	total := h*in + extra + conv + scalars + norm + d*h
	if r.ProjBias {
		total += in + h
	}
	return total
}

// bytes is the state of one sequence in one layer: ValueDim × KeyDim per value head, and the last Kernel − 1 inputs of
// the convolution at two bytes each.
func (r Recurrence) bytes() float64 {
	if r.ValueHeads == 0 {
		return 0
	}
	state := r.inner() * int64(r.KeyDim) * int64(r.StateBytes)
	return float64(state + int64(r.Kernel-1)*r.channels()*2)
}
