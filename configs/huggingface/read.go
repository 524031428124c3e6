package huggingface

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs/inputs"
	"github.com/decodesim/decodesim/hardware/llm"
)

// sizeMax is the longest config read; the longest published ones, with a quantisation list per layer, are below half of
// it. It also ends the reading of a device without an end.
const sizeMax = 4 << 20

// layersMax bounds lists that are made per layer, before the shape is validated.
const layersMax = 1000

// Options are what the reader of a config is asked beside reading it.
type Options struct {
	Ignore   []string               // fields that are left out, by the paths that errors name; each must be there
	Layers   bool                   // Override has the layers: what the config says of them is not read
	Weights  bool                   // Override has the types of weights: the config's are not read
	Override func(*llm.Model) error // changes the shape; nil: nothing does
}

// Reading is a model, and what was not read of its config.
type Reading struct {
	Model   llm.Model
	Unread  []Unread
	Assumed string // what is not known of its family, and what it was taken for; empty: it is known
}

// Read reads a config.json. The name is the model's, for messages and reports.
func Read(name string, r io.Reader) (llm.Model, error) {
	x, err := ReadWith(name, r, Options{})
	return x.Model, err
}

// ReadWith is Read with options. A config that is refused for fields that are not understood alone is an error of type
// *NotUnderstood.
func ReadWith(name string, r io.Reader, options Options) (Reading, error) {
	data, err := readAll(r)
	if err != nil {
		return Reading{}, fmt.Errorf("huggingface: %s: %w", name, err)
	}
	x, err := read(name, data, options)
	if err != nil {
		return Reading{}, fmt.Errorf("huggingface: %s: %w", name, err)
	}
	return x, nil
}

// readAll reads a file of at most sizeMax bytes.
func readAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, sizeMax+1))
	if err == nil && len(data) > sizeMax {
		err = fmt.Errorf("longer than %d bytes (4 MiB); want a shorter JSON file", sizeMax)
	}
	return data, err
}

func read(name string, data []byte, options Options) (Reading, error) {
	data = quoted(data)
	outer, err := newFields("", data)
	if err == nil {
		err = inputs.DuplicateKey(data)
	}
	if err != nil {
		return Reading{}, err
	}
	ignored, err := ignore(outer, options.Ignore)
	if err != nil {
		return Reading{}, err
	}
	c, err := decoder(outer)
	if err != nil {
		return Reading{}, err
	}
	c.layersElsewhere = options.Layers
	m := c.model()
	m.Name = name
	m.Source = "HuggingFace config.json of " + name
	if c.err == nil {
		m, err = c.changed(m, options)
	}
	unread := c.unread()
	if err == nil && !options.Weights && c.quantization != nil {
		unread = append(unread, c.quantization.unreadFormat()...)
	}
	x := Reading{m, append(ignored, unread...), c.assumed()}
	if c.err == nil && !options.Layers {
		c.err = c.refused(unread, err, x)
	}
	if err := firstError(c.err, err); err != nil {
		return Reading{}, err
	}
	return x, m.Validate()
}

// refused fails on fields that are not understood, and on ones that are missing. Where nothing else is wrong, its error
// has what the config counts without the fields.
func (c *config) refused(unread []Unread, err error, without Reading) error {
	says, missing := refuseUnread(unread), c.missing()
	switch {
	case says == "" || missing != nil:
		return alsoMissing(says, missing)
	case err != nil || without.Model.Validate() != nil:
		return errors.New(says)
	}
	return &NotUnderstood{without, says}
}

// changed returns the model as the caller would have it, in the types that its weights are stored in.
func (c *config) changed(m llm.Model, options Options) (llm.Model, error) {
	if options.Override != nil {
		if err := options.Override(&m); err != nil {
			return m, err
		}
	}
	if options.Weights {
		return m, nil
	}
	return c.stored(m)
}

// assumed says that the code of a family is unknown: norms, biases and defaults are those of Llama.
func (c *config) assumed() string {
	switch {
	case c.family.known:
		return ""
	case c.modelType == "":
		return "its config.json has no model_type: what it does not say is taken from Llama"
	}
	return fmt.Sprintf("its model_type, %.40q, is not known: what its config.json does not say is taken from Llama",
		c.modelType)
}

// stored returns the model in the types that its weights are stored in.
func (c *config) stored(m llm.Model) (llm.Model, error) {
	var err error
	if c.quantization != nil {
		m, err = quantize(m, c.quantization)
	}
	if err == nil && c.expertType != "" {
		m.Precision.Weights[llm.RoutedExperts], err = llm.FormatOf(c.expertType)
	}
	return m, err
}

// config is a decoder's fields, beside what stands outside of them and what its family's code adds.
type config struct {
	*fields
	around       []*fields // objects in which the decoder is nested
	family       family
	modelType    string
	tied         bool // by the outer object or the library's default
	quantization *fields

	hidden, layers, heads, context int
	expertType                     string // of the weights of routed experts where the config says it by itself
	blocks                         string // a letter per block, of models whose layers are one half each
	layersElsewhere                bool
}

// model reads the shape, from the outside in.
func (c *config) model() llm.Model {
	m := llm.Model{Precision: llm.UniformPrecision()}
	c.hidden = c.required("hidden_size", "n_embd", "d_model")
	if !c.layersElsewhere {
		c.countLayers()
	}
	c.context = c.contextMax()
	m.Hidden, m.ContextMax = c.hidden, c.context
	m.Vocab = c.requiredOr(c.family.vocab, "vocab_size", "padded_vocab_size")
	m.TiedEmbeddings = c.flag(c.tied, "tie_word_embeddings", "tie_embeddings")
	m.HeadBias = c.flag(c.family.headBias, "lm_head_bias")
	m.NormVectors, m.EmbeddingNorm = c.family.normVectors, c.family.embeddingNorm
	m.Positions = c.positions()
	if c.err != nil || c.layersElsewhere {
		return m
	}
	layers := c.layerRuns()
	m.Layers, m.Residual = runs(layers), c.residual()
	c.mtp(&m, layers)
	c.expertType = c.routedType()
	c.checkType()
	c.only("mlp_type", "default")
	c.only("norm_type", "layer_norm", "rms_norm", "layernorm", "rmsnorm")
	c.only("order_of_interleaved_layers", "local_attn_first")
	return m
}

// alsoMissing joins what is not understood and what is not there: one may be the other under a new name.
func alsoMissing(unread string, missing error) error {
	if unread == "" || missing == nil {
		return missing
	}
	return fmt.Errorf("%w; %s", missing, unread)
}

// countLayers reads how many layers there are, and their heads.
func (c *config) countLayers() {
	c.blocks = c.blockLetters()
	c.layers = c.requiredOr(len(c.blocks), "num_hidden_layers", "n_layer", "n_layers", "num_layers")
	c.heads = c.requiredOr(c.family.heads, "num_attention_heads", "n_head", "n_heads", "num_heads")
	if c.err == nil && c.layers > layersMax {
		c.fail("num_hidden_layers", "want 1 to %d", layersMax)
	}
}

// contextMax is the longest sequence; several keys may say it differently, and the first is the one libraries use.
func (c *config) contextMax() int {
	n := c.anyCount(c.family.context, "max_position_embeddings", "n_positions", "max_seq_len", "max_sequence_length",
		"model_max_length", "seq_length", "n_ctx")
	if n == 0 && c.err == nil {
		c.err = fmt.Errorf("%smax_position_embeddings is missing or 0; want a whole number ≥ 1", c.path)
	}
	return n
}

// positions is the rows of a learned position table.
func (c *config) positions() int {
	if !c.family.learnedPositions {
		return 0
	}
	if c.family.name == "opt" {
		c.opt()
	}
	return c.context + c.family.positionsExtra
}

// opt refuses the two small members of the family that differ in layout.
func (c *config) opt() {
	if d := c.count(c.hidden, "word_embed_proj_dim"); d != c.hidden {
		c.fail("word_embed_proj_dim", "want hidden_size, %d; projected embeddings are not understood", c.hidden)
	}
	if !c.flag(true, "do_layer_norm_before") {
		c.fail("do_layer_norm_before", "want true; norms after the layer are not understood")
	}
}

// checkType refuses weight types that are not 16 or 32 bits wide; engines load 32-bit checkpoints in 16 bits.
func (c *config) checkType() {
	for _, key := range []string{"torch_dtype", "dtype"} {
		switch t := c.text("bfloat16", key); t {
		case "bfloat16", "float16", "float32", "auto", "half", "float", "torch.bfloat16", "torch.float16", "torch.float32":
		default:
			c.fail(key, "understood are bfloat16, float16 and float32")
		}
	}
}

// only refuses any value of key but the ones that mean what the family's layout is anyway.
func (c *config) only(key string, values ...string) {
	if c.has(key) && !slices.Contains(values, c.text("", key)) {
		c.fail(key, "understood are %s", strings.Join(values, ", "))
	}
}

// mtp reads how many multi-token-prediction modules the checkpoint ships; each holds a layer like the last one, unless
// a field says what it holds. MiniMax-M2 and M3 declare modules that they do not publish
// (MiniMax-AI/MiniMax-M2.5, discussion of missing tensors).
func (c *config) mtp(m *llm.Model, layers []llm.LayerRun) {
	m.MTP = c.count(0, "num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers")
	c.flag(false, "mtp_use_dedicated_embeddings")
	c.flag(false, "index_share_for_mtp_iteration")
	if strings.HasPrefix(c.family.name, "minimax_m") {
		c.count(0, "num_mtp_modules")
		c.count(0, "mtp_transformer_layers")
		c.flag(false, "use_mtp")
	}
	if m.MTP == 0 || len(layers) == 0 || c.err != nil {
		c.has("mtp_hybrid_override_pattern")
		c.has("mtp_layers_block_type")
		return
	}
	m.MTPLayer = layers[len(layers)-1]
	m.MTPLayer.Count = 1
	switch x := &m.MTPLayer.Mixer.Attention; {
	case c.blocks != "":
		m.MTPLayer = c.mtpBlocks(layers)
	case x.Compression.Ratio > 0:
		x.Compression, x.Index = llm.Compression{}, llm.Index{} // its entry in compress_ratios is 0
	case x.Index.Reused:
		x.Index = firstIndex(layers)
	}
}

// layerRuns describes every layer by itself.
func (c *config) layerRuns() []llm.LayerRun {
	if c.family.blockConfigs {
		return c.configuredBlocks()
	}
	mixers := c.layerMixers()
	ffns := c.ffns()
	if c.err != nil {
		return nil
	}
	out := make([]llm.LayerRun, c.layers)
	for i := range out {
		out[i] = llm.LayerRun{Count: 1, Mixer: mixers[i], FFN: ffns[i], Norms: c.family.norms}
		if c.family.globalHeads && ffns[i].Experts > 0 {
			out[i].Norms += 4 // around both networks, and the router's scale of the hidden size
		}
	}
	return out
}

// layerMixers describes how every layer mixes tokens.
func (c *config) layerMixers() []llm.Mixer {
	if len(c.counts("compress_ratios")) > 0 {
		return c.compressed()
	}
	kinds := c.mixerKinds()
	mixers := c.mixers(kinds)
	out := make([]llm.Mixer, c.layers)
	for i := range min(len(kinds), len(out)) {
		out[i] = mixers[kinds[i]]
	}
	c.reuseIndex(out)
	c.sparseBlocks(out)
	return out
}

// runs joins equal neighbours.
func runs(layers []llm.LayerRun) []llm.LayerRun {
	var out []llm.LayerRun
	for _, l := range layers {
		l.Count = 1
		if n := len(out); n > 0 {
			last := out[n-1]
			last.Count = 1
			if last == l {
				out[n-1].Count++
				continue
			}
		}
		out = append(out, l)
	}
	return out
}
