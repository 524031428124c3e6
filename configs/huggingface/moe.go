package huggingface

import (
	"slices"

	"github.com/decodesim/decodesim/hardware/llm"
)

// experts describes a layer with routed experts; none: the zero FFN.
func (c *config) experts(plain bool) llm.FFN {
	n := c.count(0, "num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts", "num_moe_experts")
	topKeys := []string{"num_experts_per_tok", "experts_per_token", "moe_topk", "moe_top_k", "moe_k",
		"num_experts_per_token", "top_k_experts"}
	if n == 0 {
		c.noExperts(topKeys)
		return llm.FFN{}
	}
	f := llm.FFN{Plain: plain, Experts: n, Bias: c.family.expertBias}
	f.TopK = c.required(topKeys...)
	if c.err == nil && f.TopK > n {
		key, _ := c.first(topKeys)
		c.fail(key, "want at most the %d experts", n)
	}
	f.ExpertWidth = c.expertWidth()
	c.shared(&f)
	f.RouterBias = c.routerBias()
	c.groups(&f)
	c.latentExperts(&f)
	if c.family.globalHeads && c.flag(true, "enable_moe_block") {
		f.Width = c.required("intermediate_size") // a dense network runs beside the experts
	}
	return f
}

// groups reads which part of the experts a token may use: those of its best groups, where there are several.
func (c *config) groups(f *llm.FFN) {
	n, top := c.count(1, "n_group"), c.count(1, "topk_group")
	switch {
	case n <= 1:
	case f.Experts%n != 0:
		c.fail("n_group", "want a divisor of the %d experts", f.Experts)
	case top < 1 || top > n:
		c.fail("topk_group", "want 1 to %d, the groups there are", n)
	default:
		f.Groups, f.TopGroups = n, top
	}
}

// noExperts marks the fields that dense members of MoE families keep; any that still has a value is left for the check
// of unread keys.
func (c *config) noExperts(topKeys []string) {
	c.first(topKeys)
	c.has("norm_topk_prob")
	c.has("n_group")
	c.has("topk_group")
	c.has("router_aux_loss_coef")
}

// expertWidth is the field that names it; where there is none, the width of networks at large is meant (Mixtral,
// gpt-oss, MiniMax, Llama 4).
func (c *config) expertWidth() int {
	keys := []string{"moe_intermediate_size", "moe_ffn_hidden_size", "expert_intermediate_size"}
	if _, ok := c.first(keys); ok {
		return c.required(keys...)
	}
	return c.required("intermediate_size", "ffn_hidden_size")
}

// shared reads the experts that every token uses: counted in routed widths, or by a width of their own.
func (c *config) shared(f *llm.FFN) {
	number := c.count(0, "n_shared_experts", "num_shared_experts", "num_shared_expert", "moe_num_shared_experts")
	gated := c.count(0, "shared_expert_intermediate_size")
	width := c.count(0, "moe_shared_expert_intermediate_size", "shared_intermediate_size", "share_expert_dim",
		"share_expert_dims")
	switch {
	case c.family.sharedByWidth:
		f.SharedWidth = f.ExpertWidth
	case width > 0:
		f.SharedWidth = width
	case gated > 0:
		f.SharedWidth, f.SharedGate = gated, true
	default:
		f.SharedWidth = number * f.ExpertWidth
	}
}

// routerBias is whether the router has a bias or a score correction: sigmoid scores come with one.
func (c *config) routerBias() bool {
	scoring := c.text("", "scoring_func", "score_function", "moe_router_score_function", "moe_router_activation_func",
		"moe_router_activation")
	method := c.text("", "topk_method")
	if c.flag(false, "use_routing_bias", "moe_use_aux_free", "moe_router_enable_expert_bias", "use_expert_bias",
		"use_moe_router_bias") {
		return true
	}
	switch scoring {
	case "", "softmax", "sigmoid", "sqrtsoftplus":
	default:
		c.has("scoring_func")
		c.fail("scoring_func", "understood are softmax and sigmoid")
	}
	return c.family.routerBias || scoring == "sigmoid" || method == "noaux_tc"
}

// moeLayers says for every layer whether it has experts; each field that a family may use can only take some away.
func (c *config) moeLayers(experts int) []bool {
	out := make([]bool, c.layers)
	if experts == 0 {
		return out
	}
	first := c.count(0, "first_k_dense_replace", "moe_layer_num_skipped", "moe_layer_start_index")
	last := c.lastMoE()
	every := c.count(1, "decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_interval")
	dense := c.counts("mlp_only_layers")
	flags := c.moeFlags()
	if every == 0 {
		every = 1
	}
	for i := range out {
		out[i] = i >= first && i <= last && (i+1)%every == 0 && !slices.Contains(dense, i) && (flags == nil || flags[i])
	}
	if c.blocks != "" {
		for i := range out {
			out[i] = i < len(c.blocks) && c.blocks[i] == 'E'
		}
	}
	if c.err == nil && !slices.Contains(out, true) {
		key, _ := c.first([]string{"num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts"})
		c.fail(key, "no layer has experts by the fields that place them; want one at least, or no experts")
	}
	return out
}

// lastMoE is the last layer with experts; Ernie writes −1 for the end.
func (c *config) lastMoE() int {
	if c.show("moe_layer_end_index") == "-1" {
		c.has("moe_layer_end_index")
		return c.layers
	}
	return c.count(c.layers, "moe_layer_end_index")
}

// moeFlags reads the fields that list layers: a flag per layer, a period, the layers' numbers, or a name per layer.
// Nil: none of them is there.
func (c *config) moeFlags() []bool {
	flags := make([]bool, c.layers)
	switch {
	case c.isList("moe_layer_freq"):
		list := c.counts("moe_layer_freq")
		for i := range min(len(list), len(flags)) {
			flags[i] = list[i] == 1
			if list[i] > 1 {
				c.fail("moe_layer_freq", "entry %d is not understood; 0 (dense) and 1 (experts) are", list[i])
			}
		}
		c.sameLength("moe_layer_freq", len(list))
	case c.has("moe_layer_freq") && !(c.has("mlp_layer_types") && c.count(0, "moe_layer_freq") == 1):
		n := c.required("moe_layer_freq")
		for i := range flags {
			flags[i] = n > 0 && i%n == 0
		}
	case c.isList("moe_layers") || c.isText("moe_layers_enum"):
		c.listedLayers(flags)
	case c.has("mlp_layer_types"):
		list := c.texts("mlp_layer_types")
		for i := range min(len(list), len(flags)) {
			flags[i] = list[i] == "sparse" || list[i] == "moe"
			if !flags[i] && list[i] != "dense" {
				c.fail("mlp_layer_types", "entry %q is not understood; dense and sparse are", list[i])
			}
		}
		c.sameLength("mlp_layer_types", len(list))
	default:
		return nil
	}
	return flags
}

func (c *config) sameLength(key string, n int) {
	if n != c.layers {
		c.fail(key, "has %d entries; want num_hidden_layers, %d", n, c.layers)
	}
}
