package llm

// Mixer is the part of a layer that lets tokens see each other: attention, a recurrence, both side by side, or neither.
type Mixer struct {
	Attention  SelfAttention
	Recurrence Recurrence
}

// SelfAttention is softmax attention; Heads 0: none.
type SelfAttention struct {
	Heads      int    `yaml:"heads"`
	KVHeads    int    `yaml:"kv_heads"`    // 0 in latent attention, where all heads share one latent
	KeyDim     int    `yaml:"key_dim"`     // per head; in latent attention without the rotary part
	ValueDim   int    `yaml:"value_dim"`   // per head
	Window     int    `yaml:"window"`      // tokens; 0: the whole context
	Chunked    bool   `yaml:"chunked"`     // attention restarts at every multiple of Window
	QKVBias    bool   `yaml:"qkv_bias"`    //
	OutputBias bool   `yaml:"output_bias"` //
	QKNorm     QKNorm `yaml:"qk_norm"`     //
	OutputGate bool   `yaml:"output_gate"` // the query projection also yields a gate of the same width
	Sinks      bool   `yaml:"sinks"`       // one learned logit per head
	Latent     Latent `yaml:"latent"`      //
	Index      Index  `yaml:"index"`       //
}

// QKNorm says over what the queries and keys are normalised with learned weights.
type QKNorm string

// The kinds of query and key norms.
const (
	QKNormNone     QKNorm = ""
	QKNormPerHead  QKNorm = "per-head"  // one vector of KeyDim for all heads
	QKNormAllHeads QKNorm = "all-heads" // one vector over all heads together
)

// Latent is multi-head latent attention: keys and values are expanded from one cached vector per token, beside a rotary
// key that all heads share. Rank 0: ordinary attention.
type Latent struct {
	Rank      int `yaml:"rank"`       // of the cached vector
	QueryRank int `yaml:"query_rank"` // 0: queries are not compressed
	RopeDim   int `yaml:"rope_dim"`
}

// Index is a lightning indexer: it scores the whole prefix with small heads, and attention reads the TopK best tokens.
// Heads 0: none.
type Index struct {
	Heads int `yaml:"heads"`
	Dim   int `yaml:"dim"`
	TopK  int `yaml:"top_k"`
}

// Recurrence is a gated delta net or a Mamba-2 mixer: a state of fixed size per sequence instead of a cache. Both have
// ValueHeads states of ValueDim × KeyDim and convolve the same channels. ValueHeads 0: none.
type Recurrence struct {
	Mamba2     bool `yaml:"mamba2"`      // else a gated delta net
	KeyHeads   int  `yaml:"key_heads"`   // in Mamba-2 the groups
	KeyDim     int  `yaml:"key_dim"`     // in Mamba-2 the state size
	ValueHeads int  `yaml:"value_heads"` //
	ValueDim   int  `yaml:"value_dim"`   //
	Kernel     int  `yaml:"kernel"`      // width of the depthwise convolution
	NoConvBias bool `yaml:"no_conv_bias"`
	NoNorm     bool `yaml:"no_norm"`     // without the gated norm before the output projection
	ProjBias   bool `yaml:"proj_bias"`   // biases on the input and output projections
	StateBytes int  `yaml:"state_bytes"` // per element of the state: 4 for fp32
}

const (
	kindMHA     = "MHA"
	kindMQA     = "MQA"
	kindGQA     = "GQA"
	kindMLA     = "MLA"
	kindSliding = "sliding window"
	kindChunked = "chunked window"
	kindSparse  = "sparse"
	kindHybrid  = "hybrid linear"
)

func (x Mixer) kind() string {
	a := x.Attention
	switch {
	case x.Recurrence.ValueHeads > 0:
		return kindHybrid
	case a.Heads == 0:
		return "none"
	case a.Index.Heads > 0:
		return kindSparse
	case a.Window > 0 && a.Chunked:
		return kindChunked
	case a.Window > 0:
		return kindSliding
	case a.Latent.Rank > 0:
		return kindMLA
	case a.KVHeads == a.Heads:
		return kindMHA
	case a.KVHeads == 1:
		return kindMQA
	}
	return kindGQA
}

// addParams adds the parameters of one layer's attention. With h the hidden size, a heads, g KV heads, k and v the head
// widths, r_q and r the latent ranks, p the rotary width:
//
//	ordinary  h·a·k + h·g·(k + v) + a·v·h            (the query matrix twice with an output gate)
//	latent    h·r_q + r_q·a·(k + p) + h·(r + p) + r·a·(k + v) + a·v·h, norms r_q + r;
//	          without r_q the first two are h·a·(k + p)
//	indexer   r_q·a_i·d_i + h·d_i + h·a_i, a LayerNorm of 2·d_i on its key
func (s SelfAttention) addParams(h int64, c *Counts) {
	if s.Heads == 0 {
		return
	}
	a, g := int64(s.Heads), int64(s.KVHeads)
	k, v := int64(s.KeyDim), int64(s.ValueDim)
	if s.Latent.Rank > 0 {
		s.addLatentParams(h, c)
	} else {
		c[Attention] += h*a*k*int64(1+boolToInt(s.OutputGate)) + h*g*(k+v)
		if s.QKVBias {
			c[Attention] += a*k*int64(1+boolToInt(s.OutputGate)) + g*(k+v)
		}
	}
	c[Attention] += a * v * h
	if s.OutputBias {
		c[Attention] += h
	}
	if s.Sinks {
		c[Attention] += a
	}
	switch s.QKNorm {
	case QKNormPerHead:
		c[Norms] += 2 * k
	case QKNormAllHeads:
		c[Norms] += (a + g) * k
	}
}

func (s SelfAttention) addLatentParams(h int64, c *Counts) {
	a, k, v := int64(s.Heads), int64(s.KeyDim), int64(s.ValueDim)
	rq, r, p := int64(s.Latent.QueryRank), int64(s.Latent.Rank), int64(s.Latent.RopeDim)
	c[AttentionReplicated] += h * (r + p)
	c[Attention] += r * a * (k + v)
	c[Norms] += r + rq
	if s.QKVBias {
		c[AttentionReplicated] += r + p
	}
	if rq > 0 {
		c[AttentionReplicated] += h * rq
		c[Attention] += rq * a * (k + p)
		if s.QKVBias {
			c[AttentionReplicated] += rq
		}
	} else {
		c[Attention] += h * a * (k + p)
	}
	if n, d := int64(s.Index.Heads), int64(s.Index.Dim); n > 0 {
		c[Indexer] += rq*n*d + h*d + h*n
		c[Norms] += 2 * d
	}
}

// channels is the width of the depthwise convolution: queries, keys and values.
func (r Recurrence) channels() int64 {
	return 2*int64(r.KeyHeads)*int64(r.KeyDim) + r.inner()
}

func (r Recurrence) inner() int64 { return int64(r.ValueHeads) * int64(r.ValueDim) }

// params counts one layer's recurrence. With h the hidden size, C the convolved channels, D = heads × width of the
// values, n value heads, K the kernel width:
//
//	gated delta net  h·(C + D + 2n) + K·C + 2n + ValueDim + D·h
//	Mamba-2          h·(C + D + n) + (K + 1)·C + 3n + D + D·h
func (r Recurrence) params(h int64) int64 {
	if r.ValueHeads == 0 {
		return 0
	}
	c, d := r.channels(), r.inner()
	n, k := int64(r.ValueHeads), int64(r.Kernel)
	scalars, norm := 2*n, int64(r.ValueDim)
	in, conv := c+d+2*n, k*c
	if r.Mamba2 {
		scalars, norm = 3*n, d
		in = c + d + n
		if !r.NoConvBias {
			conv += c
		}
	}
	if r.NoNorm {
		norm = 0
	}
	total := h*in + conv + scalars + norm + d*h
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
