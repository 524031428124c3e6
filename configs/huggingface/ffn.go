package huggingface

import (
	"github.com/decodesim/decodesim/hardware/llm"
)

// widthKeys are the names of the width of a dense network.
var widthKeys = [...]string{"intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size", "d_ff"}

// ffns describes the feed-forward part of every layer.
func (c *config) ffns() []llm.FFN {
	plain := c.plain()
	expert := c.experts(plain)
	isMoE := c.moeLayers(expert.Experts)
	if c.err != nil {
		return nil
	}
	blocks := c.blocks
	hashed := c.count(0, "num_hash_layers") // a table says their experts: it corrects no scores and costs nothing more
	var dense llm.FFN
	out := make([]llm.FFN, c.layers)
	for i := range out {
		switch {
		case blocks != "" && blocks[i] != 'E' && blocks[i] != '-':
		case isMoE[i]:
			out[i] = expert
			out[i].RouterBias = expert.RouterBias && i >= hashed
		default:
			if dense == (llm.FFN{}) {
				dense = c.dense(plain, expert.Experts > 0)
			}
			out[i] = dense
		}
	}
	c.first(widthKeys[:])
	c.has("intermediate_size_mlp")
	c.flag(false, "mlp_bias")
	return out
}

// dense is a layer without experts. Beside experts Llama 4 has another width for it.
func (c *config) dense(plain, besideExperts bool) llm.FFN {
	f := llm.FFN{Plain: plain, Bias: c.flag(c.ffnBias(), "mlp_bias")}
	switch {
	case c.family.sharedByWidth && c.has("intermediate_size_mlp"):
		f.Width = c.required("intermediate_size_mlp")
	case c.family.name == "granitemoehybrid" && !besideExperts:
		f.Width = c.required("shared_intermediate_size")
	case besideExperts && c.has("dense_intermediate_size"):
		f.Width = c.required("dense_intermediate_size")
	case c.family.width4:
		f.Width = c.count(4*c.hidden, widthKeys[:]...)
		if factor := c.count(4, "ff_factor"); factor != 4 {
			f.Width = factor * c.hidden
		}
	default:
		f.Width = c.required(widthKeys[:]...)
	}
	return f
}

// ffnBias is whether networks have biases when no field about them says so.
func (c *config) ffnBias() bool {
	if c.family.name == "nemotron_h" || c.family.name == "falcon_h1" {
		return false
	}
	if _, ok := c.first([]string{"use_bias", "bias"}); ok {
		return c.flag(false, "use_bias", "bias")
	}
	return c.family.ffnBias
}

// plain says whether networks have two matrices or three. The activation tells only where the family is not known: SiLU
// marks a gate, anything else could be either.
func (c *config) plain() bool {
	keys := []string{"hidden_act", "hidden_activation", "activation_function", "mlp_hidden_act", "activation"}
	key, ok := c.first(keys)
	if !ok {
		return c.family.plain
	}
	act := c.text("", key)
	switch {
	case c.family.known && act != "xielu":
	case act == "silu" || act == "swish" || act == "swiglu" || act == "geglu":
	default:
		c.fail(
			key, "with model_type %q it is not known whether the network is gated; silu, swish, swiglu and geglu are understood",
			c.modelType)
	}
	return c.family.plain
}
