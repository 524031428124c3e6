package huggingface

import (
	"github.com/decodesim/decodesim/hardware/llm"
)

// blockLetters is a letter per block of models whose layers are one half each: M Mamba-2, * attention, E experts,
// - dense network; empty: it is no such model. Newer files name them in a list.
func (c *config) blockLetters() string {
	if p := c.text("", "hybrid_override_pattern"); p != "" {
		return p
	}
	return c.letters("layers_block_type")
}

// letters is a list of names of blocks as letters.
func (c *config) letters(key string) string {
	if !c.isList(key) {
		return ""
	}
	var out []byte
	for _, name := range c.texts(key) {
		letter, ok := map[string]byte{"mamba": 'M', "attention": '*', "moe": 'E', "mlp": '-'}[name]
		if !ok {
			c.fail(key, "entry %q is not understood; mamba, attention, moe and mlp are", name)
			return ""
		}
		out = append(out, letter)
	}
	return string(out)
}

// mtpBlocks is the layer of an MTP module that is described by blocks: a mixer and a network. Without a description it
// is an attention and experts, as in Nemotron 3.
func (c *config) mtpBlocks(layers []llm.LayerRun) llm.LayerRun {
	letters := c.text("", "mtp_hybrid_override_pattern")
	if letters == "" {
		letters = c.letters("mtp_layers_block_type")
	}
	if letters == "" {
		letters = "*E"
	}
	out := llm.LayerRun{Count: 1}
	for _, letter := range letters {
		for i, l := range layers {
			if rune(c.blocks[i]) != letter {
				continue
			}
			out.Norms += l.Norms
			switch letter {
			case 'M', '*':
				out.Mixer = l.Mixer
			default:
				out.FFN = l.FFN
			}
			break
		}
	}
	if out.Norms != len(letters)*c.family.norms || len(letters) > 2 {
		c.fail("mtp_hybrid_override_pattern", "understood are a mixer and a network that the layers have too")
	}
	return out
}

// configuredBlocks reads a model of which a search has changed every layer by itself: block_configs of nemotron-nas
// (NVIDIA's DeciLM code). A half that is left out has no norm either.
func (c *config) configuredBlocks() []llm.LayerRun {
	list := c.objects("block_configs")
	c.has("num_key_value_heads")
	c.has("intermediate_size")
	c.flag(false, "mlp_bias")
	if c.err == nil && len(list) != c.layers {
		c.fail("block_configs", "has %d entries; want num_hidden_layers, %d", len(list), c.layers)
	}
	s := llm.SelfAttention{Heads: c.heads}
	c.biases(&s)
	s.KeyDim = c.headDim("head_dim")
	s.ValueDim = s.KeyDim
	var out []llm.LayerRun
	for _, b := range list {
		l := llm.LayerRun{Count: 1}
		if a := b.object("attention"); a != nil && !a.flag(false, "no_op") {
			l.Mixer.Attention, l.Norms = s, 1
			a.absent("replace_with_linear", "window_length", "sparsify", "num_sink_tokens")
			group := a.required("n_heads_in_group")
			if group > 0 && c.heads%group == 0 {
				l.Mixer.Attention.KVHeads = c.heads / group
			} else {
				a.fail("n_heads_in_group", "want a divisor of the %d attention heads", c.heads)
			}
			b.err = firstError(b.err, a.err)
		}
		if f := b.object("ffn"); f != nil && !f.flag(false, "no_op") {
			l.FFN.Width = f.width(c.hidden)
			l.Norms++
			f.absent("replace_with_linear", "sparsify")
			b.err = firstError(b.err, f.err)
		}
		c.err = firstError(c.err, b.err)
		out = append(out, l)
	}
	if c.err != nil {
		return nil
	}
	return out
}

// width is ffn_mult times two thirds of the hidden size, in whole tiles of 256.
func (f *fields) width(hidden int) int {
	if f.has("intermediate_size") {
		return f.required("intermediate_size")
	}
	const tile = 256
	return (int(2*f.number("ffn_mult")*float64(hidden)/3) + tile - 1) / tile * tile
}

// absent refuses fields that say more than that a feature is off.
func (f *fields) absent(keys ...string) {
	for _, key := range keys {
		if f.has(key) && !f.trivial(key) {
			f.fail(key, "this field is not understood and could change the cost; false, 0, null or its absence is accepted")
		}
	}
}
