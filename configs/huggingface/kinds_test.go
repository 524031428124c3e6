package huggingface

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/hardware/llm"
)

func readText(t *testing.T, config string) llm.Model {
	t.Helper()
	m, err := Read("m", strings.NewReader(config))
	require.NoError(t, err)
	return m
}

// The hub's keys of Step 3.7: lists that go on with the MTP modules, and sliding layers with heads of their own.
func TestSlidingLayersWithOtherHeads(t *testing.T) {
	m := readText(t, `{"model_type":"step3p7",`+base+`,"intermediate_size":96,"num_attention_groups":2,"head_dim":16,
		"layer_types":["full_attention","sliding_attention","sliding_attention"],"sliding_window":32,
		"attention_other_setting":{"attention_type":"sliding_attention","num_attention_heads":6,"num_attention_groups":2,
		"head_dim":16},"moe_num_experts":8,"moe_top_k":2,"moe_intermediate_size":32,"share_expert_dim":32,
		"moe_layers_enum":"1","use_moe_router_bias":true,"num_nextn_predict_layers":1}`)
	require.Equal(t, 2, m.LayerCount())
	assert.Equal(t, []int{4, 6}, []int{m.Layers[0].Mixer.Attention.Heads, m.Layers[1].Mixer.Attention.Heads})
	assert.Equal(t, []int{0, 8}, []int{m.Layers[0].FFN.Experts, m.Layers[1].FFN.Experts})
	assert.True(t, m.Layers[1].Mixer.Attention.HeadGate)
}

// Newer files of Nemotron name their blocks in a list, do not count them, and say what an MTP module is made of.
func TestBlocksByName(t *testing.T) {
	const shape = `{"model_type":"nemotron_h","hidden_size":64,"num_attention_heads":4,"num_key_value_heads":2,
		"vocab_size":100,"max_position_embeddings":512,"intermediate_size":128,"mamba_num_heads":4,"mamba_head_dim":16,
		"n_groups":2,"ssm_state_size":16,"conv_kernel":4,"mlp_hidden_act":"relu2","n_routed_experts":8,
		"num_experts_per_tok":2,"moe_intermediate_size":32,"attention_head_dim":16,
		"moe_shared_expert_intermediate_size":0,"mamba_ssm_cache_dtype":"float32","num_nextn_predict_layers":1,`
	m := readText(t, shape+`"layers_block_type":["mamba","moe","attention","mlp"],
		"mtp_layers_block_type":["attention","moe"],"moe_latent_size":16,"time_step_limit":[0.0,Infinity]}`)
	letters := readText(t, shape+`"hybrid_override_pattern":"ME*-","num_hidden_layers":4,
		"mtp_hybrid_override_pattern":"*E","moe_latent_size":16,"time_step_limit":[-Infinity,NaN]}`)
	assert.Equal(t, letters.Layers, m.Layers)
	assert.Equal(t, letters.MTPLayer, m.MTPLayer)
	assert.Equal(t, llm.LayerRun{Count: 1, Mixer: m.Layers[2].Mixer, FFN: m.Layers[1].FFN, Norms: 2}, m.MTPLayer)
	assert.EqualValues(t, 8*2*16*32, m.Params()[llm.RoutedExperts], "experts read and write 16 of 64")
	assert.EqualValues(t, 2*64*16, m.Params()[llm.ExpertProjections])
}

// A number that only Python writes is refused where a number is read, and left alone within strings.
func TestLiteralsOfPython(t *testing.T) {
	_, err := Read("m", strings.NewReader(`{`+strings.Replace(llama, `"vocab_size":100`, `"vocab_size":NaN`, 1)+`}`))
	require.ErrorContains(t, err, `vocab_size is "NaN"`)
	text := `{"a":"to \"Infinity\" and beyond","b":[Infinity, -Infinity]}`
	assert.Equal(t, `{"a":"to \"Infinity\" and beyond","b":["Infinity", "-Infinity"]}`, string(quoted([]byte(text))))
}

// Kimi Linear has a gate of the rank of a head where Kimi K3 has a whole matrix.
func TestGatesOfKimiDeltaAttention(t *testing.T) {
	const config = `{"model_type":"kimi_linear",` + llama + `,"kv_lora_rank":16,"qk_nope_head_dim":16,
		"qk_rope_head_dim":8,"v_head_dim":16,"linear_attn_config":{"kda_layers":[1],"full_attn_layers":[2],"num_heads":4,
		"head_dim":16,"short_conv_kernel_size":4,"use_full_rank_gate":FULL}}`
	whole := readText(t, strings.Replace(config, "FULL", "true", 1))
	low := readText(t, strings.Replace(config, "FULL", "false", 1))
	assert.EqualValues(t, 64*64-16*(64+64), whole.ParamsTotal()-low.ParamsTotal())
	assert.Equal(t, "hybrid linear", low.AttentionKind())
	twice := strings.Replace(config, `"kda_layers":[1]`, `"kda_layers":[1,2]`, 1)
	_, err := Read("m", strings.NewReader(strings.Replace(twice, "FULL", "true", 1)))
	require.ErrorContains(t, err, "linear_attn_config.")
}

// An index is reused by period where no list says so, as by name.
func TestIndexesThatAreReused(t *testing.T) {
	config := func(how string) string {
		return `{"model_type":"glm_moe_dsa",` + strings.Replace(llama, `"num_hidden_layers":2`, `"num_hidden_layers":7`, 1) +
			`,"kv_lora_rank":16,"q_lora_rank":16,"qk_nope_head_dim":16,"qk_rope_head_dim":8,"v_head_dim":16,"index_topk":64,
			"index_n_heads":2,"index_head_dim":16,` + how + `}`
	}
	byPeriod := readText(t, config(`"index_topk_freq":4,"index_skip_topk_offset":3`))
	byName := readText(t, config(`"indexer_types":["full","full","full","shared","shared","shared","full"]`))
	assert.Equal(t, byName.Layers, byPeriod.Layers)
	groups := byName.Attention()
	require.Len(t, groups, 2)
	assert.Equal(t, []int{4, 3}, []int{groups[0].Layers, groups[1].Layers})
	assert.Zero(t, groups[1].IndexBytesPerToken(2), "what is reused has no cache")
	_, err := Read("m", strings.NewReader(config(`"indexer_types":["shared","full"]`)))
	require.ErrorContains(t, err, "indexer_types is")
}

// Formats of single layers, as NVIDIA's mixed checkpoints list them, and blocks of 32 weights with an exponent.
func TestFormatsOfSingleLayers(t *testing.T) {
	m := readText(t, `{`+llama+`,"quantization_config":{"quant_method":"modelopt","quant_algo":"MIXED_PRECISION",
		"quantized_layers":{"model.layers.0.mlp.down_proj":{"quant_algo":"NVFP4"},
		"model.layers.0.mlp.gate_proj":{"quant_algo":"FP8"},"model.layers.1.mlp.gate_proj":{"quant_algo":"FP8"}}}}`)
	assert.InDelta(t, (4.5+8+8+3*16)/6, m.WeightBits(llm.DenseFFN), 1e-12)
	assert.Equal(t, 16.0, m.WeightBits(llm.Attention))
	mx := readText(t, `{`+llama+`,"quantization_config":{"quant_method":"mxfp8"}}`)
	assert.Equal(t, llm.Format{Dtype: "mxfp8", Bits: 8.25}, mx.Precision.Weights[llm.DenseFFN])
}
