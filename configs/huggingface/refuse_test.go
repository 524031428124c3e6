package huggingface

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/hardware/llm"
)

const mixture = llama + `,"num_experts":8,"num_experts_per_tok":2,"moe_intermediate_size":32`

// Each of refused differs from a plain config in something that would change the price; the error names the field and,
// where there is one, the value.
var refused = []struct{ name, config, says string }{
	{"no JSON", `hello`, "not a JSON object"},
	{"a list", `[1]`, "is a JSON array; want a JSON object"},
	{"null", `null`, "want a JSON object"},
	{"a key that moves the cursor", `{` + llama + `,"odd\u001b[2J":1}`, `odd\x1b[2J has characters that do not print`},
	{"cut short", `{` + llama, "not a JSON object"},
	{"two documents", `{` + llama + `}{}`, "not a JSON object"},
	{"empty", `{}`, "hidden_size is missing"},
	{"no heads", `{"hidden_size":64,"num_hidden_layers":2}`, "num_attention_heads is missing"},
	{"no width", `{` + base + `}`, "intermediate_size is missing"},
	{"a string for a number", `{"hidden_size":"64"}`, `hidden_size is "64"`},
	{"a negative", `{"hidden_size":-64}`, "hidden_size is -64"},
	{"a zero", `{"hidden_size":0}`, "hidden_size is 0"},
	{"a fraction", `{"hidden_size":64.5}`, "hidden_size is 64.5"},
	{"a giant", `{"hidden_size":1e30}`, "hidden_size is 1e30"},
	{"absurd layers", `{` + strings.Replace(llama, `"num_hidden_layers":2`, `"num_hidden_layers":100000`, 1) + `}`,
		"num_hidden_layers is 100000"},
	{"heads that do not divide", `{` +
		strings.Replace(llama, `"num_attention_heads":4`, `"num_attention_heads":5`, 1) + `}`,
		"num_attention_heads is 5"},
	{"KV heads that do not divide", `{` +
		strings.Replace(llama, `"num_key_value_heads":2`, `"num_key_value_heads":3`, 1) + `}`,
		"num_key_value_heads is 3"},
	{"no KV heads", `{` + strings.Replace(llama, `"num_key_value_heads":2`, `"num_key_value_heads":0`, 1) + `}`,
		"num_key_value_heads is 0"},
	{"aliases that disagree", `{` + llama + `,"n_layer":3}`, "n_layer is 3"},
	{"an encoder–decoder", `{"model_type":"t5","is_encoder_decoder":true,` + llama + `}`, "is_encoder_decoder is true"},
	{"BERT", `{"model_type":"bert","architectures":["BertForMaskedLM"],` + llama + `}`, `model_type is "bert"`},
	{"a masked model of another name", `{"architectures":["NewForMaskedLM"],` + llama + `}`, "NewForMaskedLM"},
	{"a vision model", `{"architectures":["ViTForImageClassification"],` + llama + `}`, "ViTForImageClassification"},
	{"a vision part only", `{"model_type":"some_vl","vision_config":{"hidden_size":64}}`, "hidden_size is missing"},
	{"a null decoder", `{"text_config":[]}`, "text_config is a JSON array; want a JSON object"},
	{"lightning attention", `{` + llama + `,"attn_type_list":[0,1]}`, "attn_type_list is [0,1]"},
	{"an unknown layer type", `{` + llama + `,"layer_types":["full_attention","conv"]}`, `"conv"`},
	{"too few layer types", `{` + llama + `,"layer_types":["full_attention"]}`, "has 1 entries"},
	{"sliding layers without a window", `{` + llama + `,"layer_types":["full_attention","sliding_attention"]}`,
		"sliding_window is absent"},
	{"linear layers without a shape", `{` + llama + `,"layer_types":["linear_attention","full_attention"]}`,
		"linear_num_key_heads is missing"},
	{"an unknown block letter", `{"model_type":"nemotron_h",` + llama + `,"hybrid_override_pattern":"*X"}`, `'X'`},
	{"a short block pattern", `{"model_type":"nemotron_h",` + llama + `,"hybrid_override_pattern":"*"}`, "has 1 letters"},
	{"Jamba", `{"model_type":"jamba",` +
		llama + `,"attn_layer_period":8,"attn_layer_offset":4,"mamba_d_state":16,"mamba_dt_rank":256}`,
		"attn_layer_offset is 4"},
	{"Zamba", `{"model_type":"zamba2",` + llama + `,"hybrid_layer_ids":[0]}`, "hybrid_layer_ids is [0]"},
	{"an LFM2", `{"model_type":"lfm2",` + llama + `,"conv_L_cache":3}`, "conv_L_cache is 3"},
	{"Kimi Linear", `{"model_type":"kimi_linear",` + llama + `,"linear_attn_config":{"num_heads":4}}`,
		"linear_attn_config.kda_layers is absent"},
	{"Gemma 3n", `{"model_type":"gemma3n",` + llama + `}`, `model_type is "gemma3n"`},
	{"a shared cache", `{` + llama + `,"num_kv_shared_layers":1}`, "num_kv_shared_layers is 1"},
	{"another global head", `{` + llama + `,"global_head_dim":32}`, "global_head_dim is 32"},
	{"latent experts", `{` + mixture + `,"moe_latent_size":16}`, "moe_latent_size is 16"},
	{"a residual network beside experts", `{` + mixture + `,"residual_moe":true}`, "residual_moe is true"},
	{"experts nobody can place", `{` + llama + `,"expert_layer_period":2,"num_experts":4,"num_experts_per_tok":1}`,
		"expert_layer_period is 2"},
	{"experts of a dense model", `{` + llama + `,"moe_intermediate_size":32}`, "moe_intermediate_size is 32"},
	{"experts without a top-k", `{` + llama + `,"num_experts":4}`, "num_experts_per_tok is missing"},
	{"a top-k beyond the experts", `{` + llama + `,"num_experts":4,"num_experts_per_tok":5}`, "num_experts_per_tok is 5"},
	{"experts in no layer", `{` + mixture + `,"first_k_dense_replace":2}`, "num_experts is 8"},
	{"experts that differ by layer", `{` + llama + `,"num_experts":4,"num_experts_per_tok":[1,2]}`,
		"num_experts_per_tok is [1,2]"},
	{"an unknown sparse attention", `{` + llama + `,"index_topk":64}`, "index_topk is 64"},
	{"a sparse attention without its heads", `{` + llama + `,"kv_lora_rank":16,"q_lora_rank":16,"qk_nope_head_dim":16,
		"qk_rope_head_dim":8,"v_head_dim":16,"index_topk":64}`, "index_n_heads is missing"},
	{"a shared indexer", `{` + llama + `,"kv_lora_rank":16,"q_lora_rank":16,"qk_nope_head_dim":16,
		"qk_rope_head_dim":8,"v_head_dim":16,"index_topk":64,"index_n_heads":2,"index_head_dim":16,"index_topk_freq":4}`,
		"index_topk_freq is 4"},
	{"half a latent attention", `{` + llama + `,"kv_lora_rank":16}`, "qk_rope_head_dim is missing"},
	{"a compressed cache", `{` + llama + `,"compress_ratios":[4,128]}`, "compress_ratios is [4,128]"},
	{"a chunked attention of another family", `{` + llama + `,"attention_chunk_size":128}`, "attention_chunk_size is 128"},
	{"layers that differ", `{` + llama + `,"block_configs":[{}]}`, "block_configs is"},
	{"cross-layer attention", `{` + llama + `,"use_cla":true}`, "use_cla is true"},
	{"a small OPT", `{"model_type":"opt",` + base + `,"ffn_dim":128,"word_embed_proj_dim":32}`,
		"word_embed_proj_dim is 32"},
	{"an attention of another kind", `{` + llama + `,"attention_kind":"lightning"}`, `attention_kind is "lightning"`},
	{"a latent attention without ranks", `{` + llama + `,"use_mla":true}`, "use_mla is true"},
	{"an unknown state", `{` + llama + `,"ssm_cfg":{"d_state":16}}`, "ssm_cfg is"},
	{"an activation that may be gated or not", `{"model_type":"brandnew",` +
		strings.Replace(llama, "silu", "gelu", 1) + `}`, `hidden_act is "gelu"`},
	{"an unknown weight type", `{` + llama + `,"torch_dtype":"ternary"}`, `torch_dtype is "ternary"`},
	{"an unknown quantisation", `{` + llama + `,"quantization_config":{"quant_method":"aqlm"}}`, `quant_method is "aqlm"`},
	{"a quantisation without a method", `{` + llama + `,"quantization_config":{}}`, "quant_method is absent"},
	{"three bits", `{` + llama + `,"quantization_config":{"quant_method":"gptq","bits":3,"group_size":128}}`, "bits is 3"},
	{"a pattern that cannot be compiled", `{` +
		llama + `,"quantization_config":{"quant_method":"fp8","ignored_layers":["re:(?!x)"]}}`, "(?!x)"},
	{"mixed precision without groups", `{` +
		llama + `,"quantization_config":{"quant_method":"modelopt","quant_algo":"MIXED_PRECISION"}}`,
		`quant_algo is "MIXED_PRECISION"`},
}

func TestWhatIsNotUnderstoodIsRefused(t *testing.T) {
	for _, c := range refused {
		t.Run(c.name, func(t *testing.T) {
			_, err := Read("some-model", strings.NewReader(c.config))
			require.Error(t, err)
			assert.Contains(t, err.Error(), c.says)
			assert.Contains(t, err.Error(), "some-model")
		})
	}
}

// A feature that is switched off is no feature.
func TestFieldsThatSayNothingAreAccepted(t *testing.T) {
	for _, field := range []string{`"num_kv_shared_layers":0`, `"residual_moe":false`, `"index_topk":null`,
		`"block_configs":[]`,
		`"ssm_cfg":{}`, `"output_hidden_states":true`, `"router_aux_loss_coef":0.1`, `"unknown_detail":{"a":1}`,
		`"num_beams":1`} {
		_, err := Read("some-model", strings.NewReader(`{`+llama+`,`+field+`}`))
		assert.NoError(t, err, field)
	}
}

// What a file is instead of an object is said in JSON's words, and a file without an end is not read to it.
func TestWhatIsNoConfigIsSaidPlainly(t *testing.T) {
	for text, want := range map[string]string{
		"[1, 2]":  "huggingface: m: config is a JSON array; want a JSON object",
		"7":       "huggingface: m: config is a JSON number; want a JSON object",
		`{"a": 1`: "huggingface: m: config is not a JSON object: unexpected end of JSON input",
		`{"model_type": "llama", "quantization_config": "fp8"}`: "huggingface: m: quantization_config is a JSON string; " +
			"want a JSON object",
		strings.Repeat(" ", sizeMax+1): "huggingface: m: longer than 4194304 bytes (4 MiB); want a shorter JSON file",
	} {
		_, err := Read("m", strings.NewReader(text))
		require.EqualError(t, err, want)
		_, err = Quantize(llm.Model{Name: "m"}, strings.NewReader(text))
		require.Error(t, err)
		require.NotContains(t, err.Error(), "Go value")
	}
}
