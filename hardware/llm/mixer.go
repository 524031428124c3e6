package llm

// Mixer is the part of a layer that lets tokens see each other: attention, a recurrence, both side by side, or neither.
type Mixer struct {
	Attention  SelfAttention
	Recurrence Recurrence
}

// SelfAttention is softmax attention; Heads 0: none.
type SelfAttention struct {
	Heads        int    `yaml:"heads"`
	KVHeads      int    `yaml:"kv_heads"`    // 0 in latent attention, where all heads share one latent
	KeyDim       int    `yaml:"key_dim"`     // per head; in latent attention without the rotary part
	ValueDim     int    `yaml:"value_dim"`   // per head
	Window       int    `yaml:"window"`      // tokens; 0: the whole context
	Chunked      bool   `yaml:"chunked"`     // attention restarts at every multiple of Window
	QKVBias      bool   `yaml:"qkv_bias"`    //
	OutputBias   bool   `yaml:"output_bias"` //
	QKNorm       QKNorm `yaml:"qk_norm"`     //
	OutputGate   bool   `yaml:"output_gate"` // the input also yields a gate on every element of the heads' output
	HeadGate     bool   `yaml:"head_gate"`   // the input also yields a gate on every head
	Sinks        bool   `yaml:"sinks"`       // one learned logit per head
	ValueFromKey bool   `yaml:"value_from_key"`
	OutputRank   int    `yaml:"output_rank"` // of an output projection in two steps, per group of heads; 0: in one
	OutputGroups int    `yaml:"output_groups"`

	Latent      Latent      `yaml:"latent"`
	Compression Compression `yaml:"compression"`
	Index       Index       `yaml:"index"`
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
	RopeDim   int `yaml:"rope_dim"`   //

	// Direct: the cached vector is itself the key and the value of every head, and RopeDim of its Rank elements are
	// rotary. KeyDim and ValueDim are the Rank.
	Direct bool `yaml:"direct"`
}

// Compression lets a layer see, beside its window, the whole context as entries of several tokens each, of the same
// width as those of one token (DeepSeek-V4). Ratio 0: none.
type Compression struct {
	Ratio   int  `yaml:"ratio"`   // tokens per entry
	Overlap bool `yaml:"overlap"` // an entry is made of the tokens of its neighbour too, by projections twice as wide
}

// Index is a lightning indexer: it scores the whole prefix with small heads, and attention reads the best tokens or,
// where the context is compressed, the best entries. TopK 0: none.
type Index struct {
	Heads int `yaml:"heads"`
	Dim   int `yaml:"dim"`
	TopK  int `yaml:"top_k"`

	// Reused: the layer reads what the indexer of an earlier layer chose. It has no heads, no weights and no cache.
	Reused bool `yaml:"reused"`

	// Block is how many tokens are chosen together, by the best score among them; 0: each by itself. Heads then read the
	// layer's input and choose for themselves, so that nothing weighs them against each other. TopK counts tokens.
	Block int `yaml:"block"`

	Pool      int  `yaml:"pool"`       // tokens that share an index key; 0: none do
	CacheType bool `yaml:"cache_type"` // its keys are of the cache's type, not always fp8
}

// tokensPerKey returns how many tokens of the context an index key stands for.
func (s SelfAttention) tokensPerKey() int { return max(1, s.Index.Pool, s.Compression.Ratio) }

const (
	kindMHA     = "MHA"
	kindMQA     = "MQA"
	kindGQA     = "GQA"
	kindMLA     = "MLA"
	kindSliding = "sliding window"
	kindChunked = "chunked window"
	kindSparse  = "sparse"
	kindHybrid  = "hybrid linear"

	kindCompressed = "compressed"
)

func (x Mixer) kind() string {
	a := x.Attention
	switch {
	case x.Recurrence.ValueHeads > 0:
		return kindHybrid
	case a.Heads == 0:
		return "none"
	case a.Compression.Ratio > 0:
		return kindCompressed
	case a.Index.TopK > 0:
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
