package huggingface

import (
	"bytes"
	"slices"
	"strings"
)

// suspicious are parts of keys that speak of the shape. A key with one of them that no reader looked at describes
// something that would be priced as something else.
var suspicious = [...]string{"expert", "moe", "ssm", "mamba", "lora", "rank", "window", "sparse", "index_", "_index",
	"linear_",
	"_linear", "conv", "recurrent", "hybrid", "attn_type", "attention_type", "attn_layer", "layer_types", "layer_type",
	"compress",
	"state", "block", "latent", "shared", "share_", "kv_", "_kv", "num_", "_num", "_dim", "d_model", "_size", "layers",
	"head",
	"stride", "altup", "laurel", "per_layer", "cross_", "memory", "rwkv", "lru", "gru", "pattern", "interval", "_freq",
	"period",
	"mlp", "ffn", "feed_forward", "intermediate", "hash", "engram", "loop", "depth", "swa", "sliding", "chunk",
	"multi_query",
	"group", "router", "cla_", "use_cla", "k_eq_v", "global_", "local_", "ngram", "hyper", "hc_", "attn_config",
	"ffn_config", "yoco",
	"mixer", "topk", "retention", "hyena", "mtp", "nextn", "draft", "medusa", "norm_type", "parallel_hidden",
	"attention", "attn", "mla", "lightning", "embed_proj", "layer_norm_before"}

// harmlessKeys contain a suspicious part and change no cost: how the model was trained or initialised, how its output
// is scored, what HuggingFace writes into every config.
var harmlessKeys = [...]string{
	"initializer_range", "initial_context_length", "chunk_size", "mamba_chunk_size", "num_logits_to_keep",
	"output_hidden_states",
	"residual_in_fp32", "use_mamba_kernels", "mamba_hidden_act", "norm_topk_prob",
	"num_expert_group",
	"num_expert_groups", "output_router_logits", "router_aux_loss_coef", "router_z_loss_coef", "router_jitter_noise",
	"router_dtype",
	"routed_scaling_factor", "moe_router_topk_scaling_factor", "router_logit_scaling", "ep_size",
	"indexer_rope_interleave",
	"num_beams", "num_beam_groups", "num_return_sequences", "no_repeat_ngram_size", "encoder_no_repeat_ngram_size",
	"num_labels", "id2label", "label2id", "chunk_size_feed_forward", "expand", "mamba_expand", "rotary_dim",
	"rotary_ndims",
	"max_window_layers", "bos_token_index", "gradient_checkpointing", "layer_norm_epsilon", "use_parallel_residual",
	"num_ln_in_parallel_attn", "parallel_attn", "n_positions", "n_ctx", "new_decoder_architecture", "head_dim_rope",
	"layer_norm_elementwise_affine", "num_experts_per_tok", "ignore_index", "pad_to_multiple_of", "mamba_norm_before_gate",
	"mamba_use_mlp", "num_attention_heads_per_rank", "swiglu_limit", "attention_value_scale", "swa_rope_theta",
	"moe_aux_loss_coef",
	"moe_capacity", "moe_gate", "moe_use_aux_free", "moe_norm_min", "moe_norm_gate_logits",
	"moe_random_routing_dropped_token",
	"moe_drop_tokens", "moe_router_load_balancing_type", "moe_router_enable_expert_bias", "cla_share_factor",
	"group_norm_size",
	"use_mixed_mlp_moe", "position_embedding_type", "query_pre_attn_scalar", "n_embed", "tokenizer_vocab_size",
	"rescale_layernorm", "time_step_rank_default", "scale_depth", "dim_model_base", "mup_denominator", "topk_method",
	"num_local_experts_per_rank", "init_method", "routing_function", "fused_bias_residual", "shared_attn_rope", "mlp_act",
	"moe_multi_gpu", "moe_dropout", "moe_layer_multi_gate", "tensor_parallel_size",
	"for_llm_compressor", "attn_implementation", "output_attentions", "scale_attn_weights",
	"scale_attn_by_inverse_layer_idx",
	"reorder_and_upcast_attn", "attn_temperature_tuning", "use_flash_attn", "use_flash_attention", "use_flash_attention_2",
	"ffn_act_fn", "clip_qkv", "moe_loss_weight", "moe_jitter_eps", "moe_normalize_expert_weights",
	"compress_rope_theta", "hc_sinkhorn_iters", "latent_moe_use_norm", "use_bidirectional_attention", "use_grouped_topk",
	"moe_renormalize", "moe_router_dtype", "moe_shared_expert_overlap",
	"nope_layer_interval", "need_fp32_gate",
	"expert_capacity_factor", "moe_expert_capacity_factor", "mlp_multipliers", "lm_head_multiplier",
	"use_memory_efficient_attention", "use_logn_attn", "use_dynamic_ntk",
}

// harmlessFormats are fields of quantisations that change no bytes: how weights were calibrated, which kernel reads
// them.
var harmlessFormats = [...]string{"activation_scheme", "scale_fmt", "quantization_status", "version", "format",
	"producer", "desc_act", "damp_percent", "true_sequential", "static_groups", "backend", "zero_point",
	"checkpoint_format", "meta", "bnb_4bit_compute_dtype", "bnb_4bit_quant_storage", "bnb_4bit_quant_type",
	"packing_format", "iters", "seqlen", "batch_size", "nsamples", "has_zero_point", "global_compression_ratio",
	"dataset", "model_seqlen", "fmt", "sym", "block_name_to_quantize", "modules_in_block_to_quantize", "act_bits",
	"act_group_size", "act_dtype", "act_dynamic", "scale_dtype", "super_bits", "super_group_size",
	"to_quant_block_names", "llm_int8_threshold", "llm_int8_has_fp16_weight", "llm_int8_enable_fp32_cpu_offload",
	"activation_scale_ub"}

// harmlessPrefixes and harmlessSuffixes cover positions, special tokens, other modalities and numeric details.
var harmlessPrefixes = [...]string{"rope_", "rotary_", "vision_", "image_", "video_", "audio_", "mm_", "time_step_",
	"init_", "_name",
	"_attn_", "_commit", "auto_map", "transformers", "tokenizer"}
var harmlessSuffixes = [...]string{"_token_id", "_token_ids", "_token_index", "_token", "_eps", "_epsilon", "_dropout",
	"dropout_rate",
	"_beta", "_multiplier", "_multipliers", "_coef", "_alpha", "_theta", "_factor", "_softcapping", "_softcap",
	"_init", "_std",
	"_pdrop", "_prob",
	"_scale", "_loss", "_jitter", "_noise", "_act", "_jitter_noise", "_fusion", "_in_fp32", "_init_std", "_bias_init"}

// scales are the harmless suffixes of numbers by which activations are multiplied, and scaledSizes what such a number
// may multiply instead: ffn_dim_multiplier and kv_reduction_factor are sizes.
var scales = [...]string{"_factor", "_multiplier", "_multipliers", "_scale", "_alpha", "_beta", "_init"}
var scaledSizes = [...]string{"kv_", "_kv", "ffn", "feed_forward", "mlp", "expert", "window", "layer", "width", "_dim",
	"dim_", "hidden", "intermediate", "compress", "latent", "sparse", "repeat", "depth", "reduc", "expan", "shar", "head",
	"pool", "chunk"}

// knownHarmless reports whether a field is known to change no cost.
func knownHarmless(key string) bool {
	key = strings.ToLower(key)
	begins := func(p string) bool { return strings.HasPrefix(key, p) }
	ends := func(s string) bool { return strings.HasSuffix(key, s) }
	contains := func(s string) bool { return strings.Contains(key, s) }
	switch {
	case slices.Contains(harmlessKeys[:], key), slices.ContainsFunc(harmlessPrefixes[:], begins):
		return true
	case slices.ContainsFunc(scales[:], ends) && slices.ContainsFunc(scaledSizes[:], contains):
		return false
	}
	return slices.ContainsFunc(harmlessSuffixes[:], ends)
}

// speaksOfShape reports whether a field has a word that speaks of the shape.
func speaksOfShape(key string) bool {
	key = strings.ToLower(key)
	if knownHarmless(key) {
		return false
	}
	return strings.HasPrefix(key, "n_") || slices.ContainsFunc(scales[:], func(s string) bool {
		return strings.HasSuffix(key, s)
	}) ||
		slices.ContainsFunc(suspicious[:], func(p string) bool { return strings.Contains(key, p) })
}

// trivial reports whether the value says that a feature is absent.
func (f *fields) trivial(key string) bool {
	switch string(bytes.TrimSpace(f.raw[key])) {
	case "null", "false", "0", "0.0", `""`, "[]", "{}", `"none"`, `"None"`:
		return true
	}
	return false
}
