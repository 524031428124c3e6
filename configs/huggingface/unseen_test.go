package huggingface

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// base is the shape that the configs below vary: 2 layers of Llama.
const base = `"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"vocab_size":100,"max_position_embeddings":512`
const llama = base + `,"intermediate_size":96,"hidden_act":"silu","num_key_value_heads":2`

// unseen are families outside the reference folder. Sizes are from general knowledge of the models, unverified.
var unseen = []struct {
	name, config string
	billions     float64 // total, to 1 %; 0: only that it loads
	kind         string
}{
	{
		"gpt2", `{"model_type":"gpt2","architectures":["GPT2LMHeadModel"],"n_embd":768,"n_layer":12,"n_head":12,"n_positions":1024,
		"n_ctx":1024,"vocab_size":50257,"activation_function":"gelu_new","summary_type":"cls_index","n_inner":null}`,
		0.124439808, "MHA"},
	{
		"gpt-j-6b", `{"model_type":"gptj","n_embd":4096,"n_layer":28,"n_head":16,"n_positions":2048,"vocab_size":50400,"rotary_dim":64,
		"tie_word_embeddings":false,"activation_function":"gelu_new"}`, 6.050882784, "MHA"},
	{"pythia-6.9b", `{"model_type":"gpt_neox","hidden_size":4096,"intermediate_size":16384,"num_hidden_layers":32,
		"num_attention_heads":32,"max_position_embeddings":2048,"vocab_size":50432,"hidden_act":"gelu","rotary_pct":0.25,
		"tie_word_embeddings":false,"use_parallel_residual":true}`, 6.857302016, "MHA"},
	{"falcon-7b", `{"model_type":"falcon","architectures":["FalconForCausalLM"],"hidden_size":4544,"num_hidden_layers":32,
		"num_attention_heads":71,"num_kv_heads":71,"multi_query":true,"new_decoder_architecture":false,"parallel_attn":true,
		"bias":false,"alibi":false,"vocab_size":65024}`, 6.92, "MQA"},
	{"falcon-40b", `{"model_type":"falcon","hidden_size":8192,"n_layer":60,"n_head":128,"n_head_kv":8,
		"multi_query":true,"new_decoder_architecture":true,"parallel_attn":true,"bias":false,"vocab_size":65024}`,
		41.303293952, "GQA"},
	{"starcoder2-7b", `{"model_type":"starcoder2","hidden_size":4608,"intermediate_size":18432,"num_hidden_layers":32,
		"num_attention_heads":36,"num_key_value_heads":4,"max_position_embeddings":16384,"vocab_size":49152,"use_bias":true,
		"hidden_act":"gelu_pytorch_tanh","sliding_window":4096,"mlp_type":"default","norm_type":"layer_norm"}`, 7.173923840,
		"sliding window"},
	{
		"phi-2", `{"model_type":"phi","hidden_size":2560,"intermediate_size":10240,"num_hidden_layers":32,"num_attention_heads":32,
		"num_key_value_heads":32,"max_position_embeddings":2048,"vocab_size":51200,"hidden_act":"gelu_new","qk_layernorm":false,
		"tie_word_embeddings":false}`, 2.779683840, "MHA"},
	{"phi-3.5-moe", `{"model_type":"phimoe","architectures":["PhiMoEForCausalLM"],"attention_bias":true,"hidden_size":4096,
		"intermediate_size":6400,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"num_local_experts":16,
		"num_experts_per_tok":2,"lm_head_bias":true,"max_position_embeddings":131072,"sliding_window":131072,"vocab_size":32064,
		"hidden_act":"silu","input_jitter_noise":0.01,"tie_word_embeddings":false}`, 41.87, "GQA"},
	{
		"olmo-2-7b", `{"model_type":"olmo2","hidden_size":4096,"intermediate_size":11008,"num_hidden_layers":32,"num_attention_heads":32,
		"num_key_value_heads":32,"max_position_embeddings":4096,"vocab_size":100352,"hidden_act":"silu"}`, 7.298617344,
		"MHA"},
	{
		"olmoe-1b-7b", `{"model_type":"olmoe","hidden_size":2048,"intermediate_size":1024,"num_hidden_layers":16,"num_attention_heads":16,
		"num_key_value_heads":16,"num_experts":64,"num_experts_per_tok":8,"max_position_embeddings":4096,"vocab_size":50304,
		"hidden_act":"silu","norm_topk_prob":false,"clip_qkv":null}`, 6.919161856, "MHA"},
	{
		"command-r", `{"model_type":"cohere","hidden_size":8192,"intermediate_size":22528,"num_hidden_layers":40,"num_attention_heads":64,
		"num_key_value_heads":64,"max_position_embeddings":131072,"vocab_size":256000,"hidden_act":"silu","logit_scale":0.0625,
		"use_qk_norm":false}`, 34.980831232, "MHA"},
	{
		"command-r7b", `{"model_type":"cohere2","hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":32,"num_attention_heads":32,
		"num_key_value_heads":8,"max_position_embeddings":8192,"vocab_size":256000,"hidden_act":"silu","logit_scale":0.25,"layer_switch":4,
		"order_of_interleaved_layers":"local_attn_first","sliding_window":4096,"rotary_pct":1.0}`, 8.028033024,
		"sliding window"},
	{"qwen1.5-moe", `{"model_type":"qwen2_moe","hidden_size":2048,"intermediate_size":5632,"moe_intermediate_size":1408,
		"shared_expert_intermediate_size":5632,"num_experts":60,"num_experts_per_tok":4,"num_hidden_layers":24,"num_attention_heads":16,
		"num_key_value_heads":16,"decoder_sparse_step":1,"max_position_embeddings":8192,"vocab_size":151936,"hidden_act":"silu",
		"use_sliding_window":false,"sliding_window":32768,"max_window_layers":21}`, 14.315784192, "MHA"},
	{"qwen3-next", `{"model_type":"qwen3_next","hidden_size":2048,"intermediate_size":5120,"moe_intermediate_size":512,
		"shared_expert_intermediate_size":512,"num_experts":512,"num_experts_per_tok":10,"num_hidden_layers":48,"num_attention_heads":16,
		"num_key_value_heads":2,"head_dim":256,"full_attention_interval":4,"linear_conv_kernel_dim":4,"linear_key_head_dim":128,
		"linear_num_key_heads":16,"linear_num_value_heads":32,"linear_value_head_dim":128,"decoder_sparse_step":1,"mlp_only_layers":[],
		"max_position_embeddings":262144,"vocab_size":151936,"hidden_act":"silu","use_sliding_window":false,
		"partial_rotary_factor":0.25}`, 79.67, "hybrid linear"},
	{
		"kimi-k2", `{"model_type":"kimi_k2","architectures":["DeepseekV3ForCausalLM"],"hidden_size":7168,"intermediate_size":18432,
		"moe_intermediate_size":2048,"num_hidden_layers":61,"num_attention_heads":64,"num_key_value_heads":64,"n_routed_experts":384,
		"n_shared_experts":1,"num_experts_per_tok":8,"first_k_dense_replace":1,"moe_layer_freq":1,"q_lora_rank":1536,"kv_lora_rank":512,
		"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,"num_nextn_predict_layers":0,"scoring_func":"sigmoid",
		"topk_method":"noaux_tc","n_group":1,"topk_group":1,"ep_size":1,"max_position_embeddings":131072,"vocab_size":163840,
		"hidden_act":"silu","quantization_config":{"quant_method":"fp8","fmt":"e4m3","activation_scheme":"dynamic",
		"weight_block_size":[128,128]}}`, 1026.408, "MLA"},
	{"glm-4.5", `{"model_type":"glm4_moe","hidden_size":5120,"intermediate_size":12288,"moe_intermediate_size":1536,
		"num_hidden_layers":92,"num_attention_heads":96,"num_key_value_heads":8,"head_dim":128,"attention_bias":true,"use_qk_norm":true,
		"n_routed_experts":160,"n_shared_experts":1,"num_experts_per_tok":8,"first_k_dense_replace":3,"num_nextn_predict_layers":1,
		"n_group":1,"topk_group":1,"max_position_embeddings":131072,"vocab_size":151552,"hidden_act":"silu"}`, 352.797829024,
		"GQA"},
	{
		"gemma-2-9b", `{"model_type":"gemma2","hidden_size":3584,"intermediate_size":14336,"num_hidden_layers":42,"num_attention_heads":16,
		"num_key_value_heads":8,"head_dim":256,"max_position_embeddings":8192,"sliding_window":4096,"sliding_window_size":4096,
		"vocab_size":256000,"hidden_activation":"gelu_pytorch_tanh","hidden_act":"gelu_pytorch_tanh","cache_implementation":"hybrid",
		"query_pre_attn_scalar":256}`, 9.241705984, "sliding window"},
	{"gemma-3-27b", `{"model_type":"gemma3","architectures":["Gemma3ForConditionalGeneration"],"mm_tokens_per_image":256,
		"text_config":{"model_type":"gemma3_text","hidden_size":5376,"intermediate_size":21504,"num_hidden_layers":62,"head_dim":128,
		"num_attention_heads":32,"num_key_value_heads":16,"max_position_embeddings":131072,"sliding_window":1024,"vocab_size":262208,
		"hidden_activation":"gelu_pytorch_tanh"},"vision_config":{"hidden_size":1152,"num_hidden_layers":27}}`, 27.009346304,
		"sliding window"},
	{
		"granite-4-h-tiny", `{"model_type":"granitemoehybrid","hidden_size":1536,"intermediate_size":512,"shared_intermediate_size":1024,
		"num_local_experts":64,"num_experts_per_tok":6,"num_hidden_layers":4,"layer_types":["mamba","mamba","attention","mamba"],
		"num_attention_heads":12,"num_key_value_heads":4,"mamba_n_heads":48,"mamba_d_head":64,"mamba_d_state":128,"mamba_n_groups":1,
		"mamba_d_conv":4,"mamba_expand":2,"mamba_chunk_size":256,"mamba_conv_bias":true,"mamba_proj_bias":false,
		"embedding_multiplier":12,"logits_scaling":6,"position_embedding_type":"nope","tie_word_embeddings":true,
		"max_position_embeddings":131072,"vocab_size":100352,"hidden_act":"silu"}`, 0, "hybrid linear"},
	{"nemotron-h", `{"model_type":"nemotron_h",` + base + `,"intermediate_size":128,"hybrid_override_pattern":"M-",
		"mamba_num_heads":4,"mamba_head_dim":16,"n_groups":2,"ssm_state_size":16,"conv_kernel":4,"expand":2,"use_bias":false,
		"mlp_hidden_act":"relu2","num_key_value_heads":4}`, 0, "hybrid linear"},
	{"llama-4-maverick", `{"architectures":["Llama4ForConditionalGeneration"],"model_type":"llama4","text_config":{
		"model_type":"llama4_text","hidden_size":5120,"intermediate_size":8192,"intermediate_size_mlp":16384,"num_hidden_layers":48,
		"num_attention_heads":40,"num_key_value_heads":8,"head_dim":128,"num_local_experts":128,"num_experts_per_tok":1,
		"interleave_moe_layer_step":2,"attention_chunk_size":8192,"use_qk_norm":false,"max_position_embeddings":1048576,
		"vocab_size":202048,"hidden_act":"silu"}}`, 400, "chunked window"},
	{
		"ernie-4.5-21b-a3b", `{"model_type":"ernie4_5_moe","hidden_size":2560,"intermediate_size":12288,"moe_intermediate_size":1536,
		"moe_num_experts":64,"moe_k":6,"moe_num_shared_experts":2,"moe_layer_start_index":1,"moe_layer_end_index":-1,
		"moe_layer_interval":1,"moe_use_aux_free":true,"moe_capacity":[64,64,64],"num_hidden_layers":28,"num_attention_heads":20,
		"num_key_value_heads":4,"max_position_embeddings":131072,"vocab_size":103424,"hidden_act":"silu","use_bias":false,
		"tie_word_embeddings":true}`, 21.8, "GQA"},
	{
		"hunyuan-a13b", `{"model_type":"hunyuan_v1_moe","hidden_size":4096,"intermediate_size":3072,"moe_intermediate_size":[3072,3072],
		"num_experts":64,"moe_topk":[8,8],"num_shared_expert":[1,1],"num_hidden_layers":2,"num_attention_heads":32,
		"num_key_value_heads":8,"attention_head_dim":128,"use_qk_norm":true,"use_cla":false,"cla_share_factor":2,
		"moe_layer_num_skipped":0,"use_mixed_mlp_moe":true,"max_position_embeddings":32768,"vocab_size":128167,"hidden_act":"silu",
		"tie_word_embeddings":true}`, 0, "GQA"},
	{"minimax-m2.7", `{"model_type":"minimax_m2",` +
		llama + `,"num_local_experts":8,"num_experts_per_tok":2,"attn_type_list":[1,1],
		"num_mtp_modules":3,"head_dim":16,"use_qk_norm":true,"qk_norm_type":"per_layer"}`, 0, "GQA"},
	{"stablelm", `{"model_type":"stablelm",` + llama + `,"use_qkv_bias":true,"qk_layernorm":false}`, 0, "GQA"},
	{"seed-oss", `{"model_type":"seed_oss",` + llama + `,"attention_bias":true,"attention_out_bias":false}`, 0, "GQA"},
	{"exaone4", `{"model_type":"exaone4",` + llama + `,"sliding_window":128,"sliding_window_pattern":"LG"}`, 0,
		"sliding window"},
	{
		"dbrx", `{"model_type":"dbrx","architectures":["DbrxForCausalLM"],"d_model":6144,"n_heads":48,"n_layers":40,"max_seq_len":32768,
		"vocab_size":100352,"attn_config":{"clip_qkv":8,"kv_n_heads":8,"rope_theta":500000},"ffn_config":{"ffn_hidden_size":10752,
		"moe_num_experts":16,"moe_top_k":4,"moe_loss_weight":0.05,"ffn_act_fn":{"name":"silu"}}}`, 131.6, "GQA"},
	{"opt-13b", `{"model_type":"opt","hidden_size":5120,"word_embed_proj_dim":5120,"ffn_dim":20480,"num_hidden_layers":40,
		"num_attention_heads":40,"vocab_size":50272,"max_position_embeddings":2048,"do_layer_norm_before":true,"prefix":"</s>",
		"activation_function":"relu"}`, 12.853473280, "MHA"},
	{"bloom", `{"model_type":"bloom","architectures":["BloomForCausalLM"],"n_embed":14336,"hidden_size":14336,"n_layer":70,
		"num_attention_heads":112,"n_head":112,"vocab_size":250880,"seq_length":2048,"attention_softmax_in_fp32":true,"pretraining_tp":4,
		"masked_softmax_fusion":true,"offset_alibi":100,"skip_bias_add":true,"unk_token_id":0}`, 176.247271424, "MHA"},
	{"granite-4-h-micro", `{"model_type":"granitemoehybrid",` +
		base + `,"intermediate_size":96,"shared_intermediate_size":96,
		"num_local_experts":0,"num_experts_per_tok":0,"num_key_value_heads":2,"layer_types":["mamba","attention"],"mamba_n_heads":8,
		"mamba_d_head":"auto","mamba_d_state":16,"mamba_n_groups":1,"mamba_d_conv":4,"mamba_expand":2,"hidden_act":"silu"}`,
		0, "hybrid linear"},
	{"falcon-h1", `{"model_type":"falcon_h1",` +
		llama + `,"attn_layer_indices":null,"mamba_d_ssm":64,"mamba_n_heads":4,"mamba_d_head":16,
		"mamba_d_state":16,"mamba_n_groups":1,"mamba_d_conv":4,"mamba_rms_norm":false,"mamba_use_mlp":true,"ssm_multipliers":[1.0],
		"lm_head_multiplier":0.1,"projectors_bias":false}`, 0, "hybrid linear"},
	{"glm-4.7-flash", `{"model_type":"glm4_moe_lite",` +
		llama + `,"kv_lora_rank":16,"q_lora_rank":16,"qk_nope_head_dim":16,
		"qk_rope_head_dim":8,"v_head_dim":16,"n_routed_experts":8,"num_experts_per_tok":2,"moe_intermediate_size":32,"n_shared_experts":1,
		"mlp_layer_types":["dense","sparse"]}`, 0, "MLA"},
	{"a new name of a plain layout", `{"model_type":"brandnew","architectures":["BrandNewForCausalLM"],` + llama +
		`,"some_training_detail":3.5,"rope_theta":1e6}`, 0, "GQA"},
	{"a new name of a latent layout", `{"model_type":"brandnew",` +
		llama + `,"kv_lora_rank":16,"q_lora_rank":null,"qk_nope_head_dim":16,
		"qk_rope_head_dim":8,"v_head_dim":16}`, 0, "MLA"},
	{"a dense member of an MoE family", `{"model_type":"granitemoe",` +
		llama + `,"num_local_experts":0,"num_experts_per_tok":0}`, 0, "GQA"},
}

func TestUnseenFamiliesLoad(t *testing.T) {
	for _, c := range unseen {
		t.Run(c.name, func(t *testing.T) {
			m, err := Read(c.name, strings.NewReader(c.config))
			require.NoError(t, err)
			assert.Equal(t, c.kind, m.AttentionKind())
			if c.billions > 0 {
				assert.InEpsilon(t, c.billions, float64(m.ParamsTotal())/1e9, 0.01)
			}
		})
	}
}
