package huggingface

import (
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/hardware/llm"
)

// compressed reads DeepSeek-V4: beside a window, layers see entries of as many tokens as compress_ratios says, of which
// an indexer picks some where they are of four tokens (huggingface/transformers, models/deepseek_v4). The list goes on
// with the MTP modules, which see the window alone.
func (c *config) compressed() []llm.Mixer {
	ratios := c.counts("compress_ratios")
	if !c.has("o_lora_rank") || !c.has("q_lora_rank") {
		c.fail("compress_ratios", "understood beside q_lora_rank, o_lora_rank and o_groups, as in DeepSeek-V4")
	}
	n := c.layers + c.count(0, "num_nextn_predict_layers")
	if c.err == nil && len(ratios) != c.layers && len(ratios) != n {
		c.fail("compress_ratios", "has %d entries; want num_hidden_layers, %d, or with MTP modules %d", len(ratios), c.layers,
			n)
	}
	dim := c.required("head_dim")
	s := llm.SelfAttention{
		Heads: c.heads, KeyDim: dim, ValueDim: dim, Window: c.required("sliding_window"), Sinks: true,
		OutputRank: c.required("o_lora_rank"), OutputGroups: c.required("o_groups"),
		Latent: llm.Latent{Rank: dim, QueryRank: c.required("q_lora_rank"), RopeDim: c.required("qk_rope_head_dim"),
			Direct: true},
	}
	if n := c.count(1, "num_key_value_heads"); n != 1 {
		c.fail("num_key_value_heads", "want 1: one vector is key and value of all heads")
	}
	c.biases(&s)
	out := make([]llm.Mixer, c.layers)
	for i := range min(len(ratios), len(out)) {
		out[i].Attention = c.ratio(s, ratios[i])
	}
	for _, r := range ratios[min(len(ratios), c.layers):] {
		if r != 0 {
			c.fail("compress_ratios", "the entry of an MTP module is %d; only 0 is understood", r)
		}
	}
	return out
}

// ratio is a layer whose entries are of so many tokens; 0: it has none.
func (c *config) ratio(s llm.SelfAttention, tokens int) llm.SelfAttention {
	switch tokens {
	case 0:
	case 4:
		s.Compression = llm.Compression{Ratio: 4, Overlap: true}
		s.Index = llm.Index{Heads: c.required("index_n_heads"), Dim: c.required("index_head_dim"),
			TopK: c.required("index_topk"), CacheType: true}
	case 128:
		s.Compression.Ratio = 128
	default:
		c.fail("compress_ratios", "entry %d is not understood; 0, 4 and 128 are", tokens)
	}
	return s
}

// residual reads what carries activations between layers.
func (c *config) residual() llm.Residual {
	r := llm.Residual{Block: c.count(0, "attn_res_block_size")}
	if n := c.count(0, "hc_mult"); n > 1 {
		r.Streams = n
	}
	return r
}

// routedType is the type of routed experts where the config says it beside its quantisation.
func (c *config) routedType() string {
	switch t := c.text("", "expert_dtype"); t {
	case "":
		return ""
	case "fp4":
		return "mxfp4"
	case "fp8":
		return "fp8"
	}
	c.fail("expert_dtype", "understood are fp4 and fp8")
	return ""
}

// reuseIndex reads which layers of sparse attention have an indexer: the others read what the last of them chose.
// Without a name per layer, layer i has one if max(i − offset + 1, 0) is a multiple of index_topk_freq
// (huggingface/transformers, models/glm_moe_dsa).
func (c *config) reuseIndex(mixers []llm.Mixer) {
	every, offset := c.count(1, "index_topk_freq"), c.count(0, "index_skip_topk_offset")
	types := c.texts("indexer_types")
	if len(mixers) == 0 || mixers[0].Attention.Index.TopK == 0 || c.err != nil {
		return
	}
	if len(types) > 0 {
		c.sameLength("indexer_types", len(types))
	}
	for i := range mixers {
		x := &mixers[i].Attention.Index
		reused := every > 1 && max(i-offset+1, 0)%every != 0
		if i < len(types) {
			reused = types[i] == "shared"
			if !reused && types[i] != "full" {
				c.fail("indexer_types", "entry %q is not understood; full and shared are", types[i])
			}
		}
		if !reused {
			continue
		}
		if i == 0 {
			c.fail("index_topk_freq", "the first layer would reuse an index, but there is none before it")
		}
		*x = llm.Index{TopK: x.TopK, Reused: true}
	}
}

// firstIndex is the index of the first layer that has one of its own.
func firstIndex(layers []llm.LayerRun) llm.Index {
	for _, l := range layers {
		if x := l.Mixer.Attention.Index; x.Heads > 0 {
			return x
		}
	}
	return llm.Index{}
}

// sparseBlocks reads MiniMax-M3's index of grouped-query attention: for each KV head the best blocks of tokens.
func (c *config) sparseBlocks(mixers []llm.Mixer) {
	x := c.object("sparse_attention_config")
	if x == nil || !x.flag(true, "use_sparse_attention") {
		return
	}
	where := x.counts("sparse_attention_freq")
	block := x.required("sparse_block_size")
	index := llm.Index{Heads: x.required("sparse_num_index_heads"), Dim: x.required("sparse_index_dim"), Block: block,
		TopK: x.required("sparse_topk_blocks") * block, CacheType: true}
	if t := x.text("max", "sparse_score_type"); t != "max" {
		x.fail("sparse_score_type", "only max is understood")
	}
	if len(where) != len(mixers) {
		x.fail("sparse_attention_freq", "has %d entries; want num_hidden_layers, %d", len(where), len(mixers))
	}
	keyOnly := x.counts("sparse_disable_index_value")
	for i := range min(len(where), len(mixers)) {
		if where[i] == 0 {
			continue
		}
		if i >= len(keyOnly) || keyOnly[i] == 0 {
			x.fail("sparse_disable_index_value", "layer %d would cache values in its index; only keys are understood", i)
		}
		mixers[i].Attention.Index = index
	}
	c.err = firstError(c.err, x.err)
}

// global is a layer of full attention, in a few families with heads of its own, whose values are its keys.
func (c *config) global(s llm.SelfAttention) llm.SelfAttention {
	if !c.family.globalHeads {
		return s
	}
	s.KeyDim = c.count(s.KeyDim, "global_head_dim")
	s.ValueDim = s.KeyDim
	s.KVHeads = c.count(s.KVHeads, "num_global_key_value_heads")
	s.ValueFromKey = c.flag(false, "attention_k_eq_v")
	if c.count(0, "hidden_size_per_layer_input") == 0 {
		c.count(0, "vocab_size_per_layer_input") // of embeddings per layer, of which there are none
	}
	return s
}

// otherAttention reads what Step 3.5 and 3.7 say of sliding layers apart.
func (c *config) otherAttention(s *llm.SelfAttention) {
	x := c.object("attention_other_setting")
	if x == nil {
		return
	}
	if t := x.text("", "attention_type"); t != "sliding_attention" {
		x.fail("attention_type", "only sliding_attention is understood")
	}
	s.Heads = x.count(s.Heads, "num_attention_heads")
	s.KVHeads = x.count(s.KVHeads, "num_attention_groups", "num_key_value_heads")
	s.KeyDim = x.count(s.KeyDim, "head_dim", "true_head_dim")
	s.ValueDim = s.KeyDim
	c.err = firstError(c.err, x.err)
}

// latentExperts reads the width at which routed experts read and write, where that is not the hidden size.
func (c *config) latentExperts(f *llm.FFN) {
	keys := []string{"routed_expert_hidden_size"}
	if c.family.latentExperts {
		keys = append(keys, "moe_latent_size")
	}
	f.Latent = c.count(0, keys...)
	f.LatentNorm = f.Latent > 0 && c.flag(false, "latent_moe_use_norm")
}

// listedLayers marks the layers that moe_layers lists, or moe_layers_enum in a string.
func (c *config) listedLayers(flags []bool) {
	key, list := "moe_layers", c.counts("moe_layers")
	if c.isText("moe_layers_enum") {
		key = "moe_layers_enum"
		for _, word := range strings.Split(c.text("", key), ",") {
			n, err := strconv.Atoi(strings.TrimSpace(word))
			if err != nil || n < 0 {
				c.fail(key, "want layer numbers between commas, found %.40q", word)
				return
			}
			list = append(list, n)
		}
	}
	for _, i := range list {
		if i >= len(flags) {
			c.fail(key, "layer %d is beyond num_hidden_layers, %d", i, c.layers)
			return
		}
		flags[i] = true
	}
}
