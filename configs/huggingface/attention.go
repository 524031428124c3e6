package huggingface

import (
	"fmt"

	"github.com/decodesim/decodesim/hardware/llm"
)

// mixers describes one layer of each kind that occurs.
func (c *config) mixers(kinds []mixerKind) map[mixerKind]llm.Mixer {
	occurs := map[mixerKind]bool{}
	for _, k := range kinds {
		occurs[k] = true
	}
	full := c.attention()
	out := map[mixerKind]llm.Mixer{
		mixNone: {},
		mixFull: {Attention: c.global(full)},
	}
	if occurs[mixSliding] || occurs[mixChunked] {
		out[mixSliding] = llm.Mixer{Attention: c.sliding(full)}
		out[mixChunked] = llm.Mixer{Attention: c.chunk(full)}
	}
	if occurs[mixDelta] {
		out[mixDelta] = llm.Mixer{Recurrence: c.deltaNet()}
	}
	if occurs[mixKDA] {
		out[mixKDA] = llm.Mixer{Recurrence: c.kda()}
	}
	if occurs[mixMamba] {
		out[mixMamba] = llm.Mixer{Recurrence: c.mamba2()}
	}
	if c.family.mixedHeads {
		out[mixFull] = llm.Mixer{Attention: full, Recurrence: c.mamba2()}
	}
	return out
}

// attention is the shape of a layer of full attention.
func (c *config) attention() llm.SelfAttention {
	s := llm.SelfAttention{Heads: c.heads, Sinks: c.family.sinks || c.flag(false, "add_full_attention_sink_bias")}
	c.biases(&s)
	if c.has("kv_lora_rank") {
		s.OutputGate = c.flag(false, "mla_use_output_gate")
		c.flag(false, "mla_use_nope") // its rotary part is projected and cached all the same
		c.latent(&s)
		return s
	}
	s.KeyDim = c.headDim("head_dim", "attention_head_dim", "kv_channels", "head_size")
	s.ValueDim = c.count(s.KeyDim, "v_head_dim")
	s.KVHeads = c.kvHeads()
	s.OutputGate = c.flag(c.family.outputGate, "attn_output_gate", "attention_output_gate")
	s.HeadGate = c.flag(c.family.headGate, "use_head_wise_attn_gate")
	s.QKNorm = c.qkNorm()
	return s
}

// headDim is the width of a head: the field where there is one, else the hidden size over the heads.
func (c *config) headDim(keys ...string) int {
	if d := c.count(c.family.headDim, keys...); d > 0 || c.err != nil {
		return d
	}
	if c.heads == 0 || c.hidden%c.heads != 0 {
		c.fail("num_attention_heads", "does not divide hidden_size %d, and there is no head_dim; want one of the two",
			c.hidden)
		return 0
	}
	return c.hidden / c.heads
}

// kvHeads is the number of key and value heads; without a field every head has its own.
func (c *config) kvHeads() int {
	keys := []string{"num_key_value_heads", "num_kv_heads", "n_head_kv", "kv_n_heads", "num_query_groups",
		"num_attention_groups"}
	n := c.count(c.heads, keys...)
	if c.family.kvHeads > 0 {
		n = c.count(c.family.kvHeads, keys...)
	}
	found, said := c.first(keys)
	switch grouped := c.flag(false, "new_decoder_architecture"); {
	case c.flag(c.family.name == "gpt_bigcode", "multi_query") && !grouped:
		n = 1
	case c.family.name == "falcon" && !grouped && c.has("multi_query"):
		n = c.heads
	}
	if said && c.err == nil && (n < 1 || c.heads%n != 0) {
		c.fail(found, "want a divisor of the %d attention heads", c.heads)
	}
	return n
}

// biases reads which projections have one. A field named for attention covers the output too, except in the families
// whose code leaves it out.
func (c *config) biases(s *llm.SelfAttention) {
	s.QKVBias, s.OutputBias = c.family.qkvBias, c.family.outputBias
	if _, ok := c.first([]string{"use_bias", "bias"}); ok && c.family.name != "nemotron_h" { // there it is about Mamba
		s.QKVBias = c.flag(false, "use_bias", "bias")
		s.OutputBias = s.QKVBias
	}
	if _, ok := c.first([]string{"attention_bias"}); ok {
		s.QKVBias = c.flag(false, "attention_bias")
		s.OutputBias = s.QKVBias && !c.family.queryOnlyBias
	}
	s.QKVBias = c.flag(s.QKVBias, "use_qkv_bias", "qkv_bias", "add_qkv_bias")
	s.OutputBias = c.flag(s.OutputBias, "attention_out_bias", "attention_output_bias")
}

// qkNorm reads what normalises queries and keys.
func (c *config) qkNorm() llm.QKNorm {
	norm := c.family.qkNorm
	if _, ok := c.first([]string{"use_qk_norm", "qk_layernorm", "qk_norm"}); ok {
		used := c.flag(false, "use_qk_norm", "qk_layernorm", "qk_norm")
		switch {
		case !used || c.family.qkNormFree:
			norm = llm.QKNormNone
		case norm == llm.QKNormNone:
			norm = llm.QKNormPerHead
		}
		if used && (c.family.name == "cohere" || c.family.name == "stablelm") {
			norm = llm.QKNormAllHeads
		}
	}
	switch t := c.text("", "qk_norm_type"); t {
	case "", "per_head":
	case "per_layer":
		norm = llm.QKNormAllHeads
	default:
		c.fail("qk_norm_type", "understood are per_head and per_layer")
	}
	return norm
}

// latent reads latent attention. Head width and KV heads are noise there: every head has its own keys, expanded from
// one latent.
func (c *config) latent(s *llm.SelfAttention) {
	s.Latent.Rank = c.required("kv_lora_rank")
	s.Latent.QueryRank = c.count(0, "q_lora_rank")
	s.Latent.RopeDim = c.required("qk_rope_head_dim")
	s.KeyDim = c.required("qk_nope_head_dim")
	s.ValueDim = c.required("v_head_dim")
	for _, noise := range []string{"head_dim", "num_key_value_heads"} {
		c.count(0, noise)
	}
	want := s.KeyDim + s.Latent.RopeDim
	if d := c.count(want, "qk_head_dim"); d != want {
		c.fail("qk_head_dim", "want %d, the sum of qk_nope_head_dim and qk_rope_head_dim", want)
	}
	if !c.has("index_topk") {
		return
	}
	s.Index = llm.Index{
		TopK:  c.required("index_topk"),
		Heads: c.required("index_n_heads"),
		Dim:   c.required("index_head_dim"),
	}
	if s.Latent.QueryRank == 0 {
		c.fail("index_topk", "an indexer reads compressed queries; want q_lora_rank ≥ 1")
	}
}

// sliding is full attention within a window, in a few families with heads of its own.
func (c *config) sliding(s llm.SelfAttention) llm.SelfAttention {
	s.Window = c.window()
	s.Heads = c.count(s.Heads, "swa_num_attention_heads")
	s.KVHeads = c.count(s.KVHeads, "swa_num_key_value_heads")
	s.KeyDim = c.count(s.KeyDim, "swa_head_dim")
	s.ValueDim = c.count(s.ValueDim, "swa_v_head_dim")
	s.Sinks = s.Sinks || c.flag(false, "add_swa_attention_sink_bias")
	c.otherAttention(&s)
	if c.err == nil && (s.Heads < 1 || s.KVHeads < 1 && s.Latent.Rank == 0) {
		c.err = fmt.Errorf("%sswa_num_key_value_heads is 0; want a divisor of the heads", c.path)
	}
	return s
}

func (c *config) chunk(s llm.SelfAttention) llm.SelfAttention {
	if !c.family.chunked {
		return s
	}
	s.Window, s.Chunked = c.count(0, "attention_chunk_size"), true
	if s.Window == 0 || s.Window >= c.context {
		s.Window, s.Chunked = 0, false
	}
	return s
}

// window is the width that sliding layers attend to; 0 when it holds the whole context and so limits nothing.
func (c *config) window() int {
	w := c.count(0, "sliding_window", "sliding_window_size", "window_size")
	if w >= c.context {
		return 0
	}
	return w
}
