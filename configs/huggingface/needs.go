package huggingface

import (
	"fmt"
	"slices"
	"strings"
)

// fieldsOf lists fields that the configs of a family state, each with its other names, and without which they would be
// priced as another model: what an absent one means is not the reader's general default but up to the family's class.
// Somebody took it out, perhaps to get a file through. Those of experts are stated where there are experts.
//
// A field is not listed where leaving it out means what the reader takes it for: quantization_config (a copy that is
// not quantised), num_key_value_heads and head_dim of a Llama (every head has its own keys; hidden_size / heads), and
// flags that are false.
func fieldsOf(name string) (all, withExperts []string) {
	const kv, moe = "num_key_value_heads", "moe_intermediate_size"
	switch name {
	case "qwen2", "mimo", "mistral":
		return []string{kv}, nil
	case "qwen3", "qwen3_vl":
		return []string{kv, "head_dim"}, nil
	case "qwen3_moe":
		return []string{kv, "head_dim"}, []string{moe}
	case "qwen3_5", "qwen3_5_moe":
		return []string{kv, "head_dim", "mamba_ssm_dtype"}, []string{"shared_expert_intermediate_size"}
	case "mixtral":
		return []string{kv, "num_local_experts"}, nil
	case "gpt_oss":
		return []string{kv, "head_dim", "num_local_experts", "layer_types"}, nil
	case "minimax_m2":
		return []string{kv, "head_dim", "num_local_experts"}, nil
	case "minimax_m3":
		return []string{kv, "head_dim"}, nil
	case "mimo_v2_flash":
		return []string{kv, "head_dim", "v_head_dim"}, []string{moe, "moe_layer_freq"}
	case "step3p5", "step3p7":
		return []string{kv + "|num_attention_groups", "head_dim", "layer_types"},
			[]string{moe, "first_k_dense_replace|moe_layers_enum|moe_layers"}
	case "llama4":
		return []string{kv, "attention_chunk_size"}, []string{"interleave_moe_layer_step|moe_layers", "intermediate_size_mlp"}
	case "gemma4":
		return []string{kv, "head_dim", "num_global_key_value_heads"}, []string{moe}
	case "nemotron_h":
		return []string{kv}, []string{"head_dim|attention_head_dim", "moe_shared_expert_intermediate_size",
			"mamba_ssm_cache_dtype"}
	case "deepseek_v2", "deepseek_v3", "kimi_k2", "deepseek_v32", "glm_moe_dsa":
		return nil, []string{moe, "n_shared_experts", "first_k_dense_replace", "q_lora_rank"}
	case "deepseek_v4":
		return nil, []string{moe, "n_shared_experts", "expert_dtype"}
	case "kimi_linear":
		return nil, []string{moe, "num_shared_experts"}
	}
	return nil, nil
}

// among lists fields that configs of a family state if they have one of some others.
func among(name string) (one, needs []string) {
	switch name {
	case "kimi_linear": // K3 and not the smaller ones before it
		return []string{"latent_moe_use_norm", "activation_situ_beta", "attn_res_block_size"},
			[]string{"routed_expert_hidden_size", "mla_use_output_gate", "q_lora_rank"}
	case "nemotron_h": // 3 Super and Ultra, and not Nano
		return []string{"moe_shared_expert_overlap", "mtp_hybrid_override_pattern"}, []string{"moe_latent_size"}
	}
	return nil, nil
}

// missing refuses a config without a field in which its family differs from others: somebody took it out, and what is
// left would be priced as another model.
func (c *config) missing() error {
	all, withExperts := fieldsOf(c.family.name)
	needs := slices.Concat(c.family.needs, all)
	if c.states("n_routed_experts", "num_experts", "num_local_experts") {
		needs = append(needs, withExperts...)
	}
	if one, others := among(c.family.name); c.states(one...) {
		needs = append(needs, others...)
	}
	for _, names := range needs {
		if !c.states(strings.Split(names, "|")...) {
			return fmt.Errorf("%s%s is missing; every model of type %s has it, and without it this would be priced as another "+
				"model", c.path, strings.ReplaceAll(names, "|", " or "), c.family.name)
		}
	}
	return nil
}

// states reports whether the config has a field under one of its names, even if it is null.
func (c *config) states(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		_, ok := c.raw[name]
		return ok
	})
}
