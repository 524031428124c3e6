package huggingface

import (
	"github.com/decodesim/decodesim/hardware/llm"
)

// deltaNet reads a gated delta net.
func (c *config) deltaNet() llm.Recurrence {
	return llm.Recurrence{
		KeyHeads:   c.required("linear_num_key_heads"),
		KeyDim:     c.required("linear_key_head_dim"),
		ValueHeads: c.required("linear_num_value_heads"),
		ValueDim:   c.required("linear_value_head_dim"),
		Kernel:     c.required("linear_conv_kernel_dim"),
		StateBytes: c.stateBytes(),
	}
}

// mamba2 reads a Mamba-2 mixer. Its width is heads × head width; expand is a default that published models contradict.
func (c *config) mamba2() llm.Recurrence {
	r := llm.Recurrence{
		Mamba2:     true,
		ValueHeads: c.required("mamba_num_heads", "mamba_n_heads"),
		ValueDim:   c.mambaHeadDim(),
		KeyHeads:   c.required("n_groups", "mamba_n_groups"),
		KeyDim:     c.required("ssm_state_size", "mamba_d_state"),
		Kernel:     c.required("conv_kernel", "mamba_d_conv"),
		NoConvBias: !c.flag(true, "use_conv_bias", "mamba_conv_bias"),
		NoNorm:     !c.flag(true, "mamba_rms_norm"),
		ProjBias:   c.flag(false, "mamba_proj_bias"),
		StateBytes: c.stateBytes(),
	}
	if c.family.name == "nemotron_h" {
		r.ProjBias = r.ProjBias || c.flag(false, "use_bias")
	}
	inner := r.ValueHeads * r.ValueDim
	if d := c.count(inner, "mamba_d_ssm"); d != inner {
		c.fail("mamba_d_ssm", "want %d, heads × head width", inner)
	}
	return r
}

// mambaHeadDim may be "auto": the expanded hidden size over the heads.
func (c *config) mambaHeadDim() int {
	expand := c.count(2, "mamba_expand", "expand")
	if !c.isText("mamba_d_head") {
		return c.required("mamba_head_dim", "mamba_d_head")
	}
	heads := c.required("mamba_n_heads", "mamba_num_heads")
	if c.text("", "mamba_d_head") != "auto" || heads == 0 || expand*c.hidden%heads != 0 {
		c.fail("mamba_d_head", "want a whole number, or \"auto\" where the heads divide %d × hidden_size", expand)
		return 0
	}
	return expand * c.hidden / heads
}

// stateBytes is the width of a state element: what the config asks for, else the model's own 16 bits.
func (c *config) stateBytes() int {
	switch c.text("bfloat16", "mamba_ssm_dtype", "mamba_ssm_cache_dtype") {
	case "float32":
		return 4
	case "bfloat16", "float16", "auto":
		return 2
	}
	key, _ := c.first([]string{"mamba_ssm_dtype", "mamba_ssm_cache_dtype"})
	c.fail(key, "understood are float32, bfloat16, float16 and auto")
	return 2
}

// kimiLayers reads which layers attend and which have Kimi delta attention, numbered from 1.
func (c *config) kimiLayers() []mixerKind {
	x := c.object("linear_attn_config")
	out := c.every(mixNone, 0, mixNone)
	if x == nil {
		return out
	}
	mark := func(key string, kind mixerKind) {
		for _, i := range x.counts(key) {
			if i < 1 || i > c.layers || out[i-1] != mixNone {
				x.fail(key, "want each layer from 1 to %d in one of kda_layers and full_attn_layers", c.layers)
				return
			}
			out[i-1] = kind
		}
	}
	mark("kda_layers", mixKDA)
	mark("full_attn_layers", mixFull)
	for i := range out {
		if out[i] == mixNone {
			x.fail("kda_layers", "layer %d is neither in it nor in full_attn_layers", i+1)
		}
	}
	c.err = firstError(c.err, x.err)
	return out
}

// kda reads Kimi delta attention, whose states engines keep in fp32 (vLLM, models/kimi_k3/nvidia/kda.py). A gate of
// less than full rank has the width of a head.
func (c *config) kda() llm.Recurrence {
	x := c.object("linear_attn_config")
	r := llm.Recurrence{KDA: true, KeyHeads: x.required("num_heads"), KeyDim: x.required("head_dim"),
		Kernel: x.required("short_conv_kernel_size"), StateBytes: 4}
	r.ValueHeads, r.ValueDim = r.KeyHeads, r.KeyDim
	if !x.flag(false, "use_full_rank_gate") {
		r.GateRank = r.ValueDim
	}
	c.err = firstError(c.err, x.err)
	return r
}
