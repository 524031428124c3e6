package huggingface

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/hardware/llm"
)

const strange = llama + `,"mystery_dim":3,"altup_rank":7,"num_kv_shared_layers":4,"foo":2,"rope_bar":1,"conv_L":0`

// One error names every field that is not understood, and what it would need: who edits a file learns all at once.
func TestAllUnreadFieldsAreNamedAtOnce(t *testing.T) {
	_, err := Read("m", strings.NewReader(`{`+strange+`}`))
	require.Error(t, err)
	for _, says := range []string{"altup_rank is 7 (needs embeddings per layer)", "mystery_dim is 3 (unknown)",
		"num_kv_shared_layers is 4 (needs layers that share a KV cache)", "these 3 fields are not understood",
		"; not read, but taken for harmless: foo; not read, but harmless: conv_L, rope_bar"} {
		assert.ErrorContains(t, err, says)
	}
	plain, plainErr := Read("m", strings.NewReader(`{`+llama+`}`))
	require.NoError(t, plainErr)
	var refused *NotUnderstood
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, plain, refused.Without.Model, "what it counts without them")
	assert.Len(t, refused.Without.Unread, 6)
}

// What is left out is as if it were not there, and is named.
func TestIgnoredFieldsAreLeftOutAndNamed(t *testing.T) {
	plain, err := Read("m", strings.NewReader(`{`+llama+`}`))
	require.NoError(t, err)
	ignore := []string{"mystery_dim", "altup_rank", "num_kv_shared_layers"}
	x, err := ReadWith("m", strings.NewReader(`{`+strange+`}`), Options{Ignore: ignore})
	require.NoError(t, err)
	assert.Equal(t, plain, x.Model)
	classes := map[string]Class{}
	for _, u := range x.Unread {
		classes[u.Key] = u.Class
	}
	assert.Equal(t, map[string]Class{"mystery_dim": Ignored, "altup_rank": Ignored, "num_kv_shared_layers": Ignored,
		"foo": Unnamed, "rope_bar": Harmless, "conv_L": Harmless}, classes)

	nested := `{"model_type":"some_vl","text_config":{` + strange + `}}`
	_, err = Read("m", strings.NewReader(nested))
	require.ErrorContains(t, err, "text_config.mystery_dim is 3")
	x, err = ReadWith("m", strings.NewReader(nested), Options{Ignore: []string{"text_config.mystery_dim",
		"text_config.altup_rank", "text_config.num_kv_shared_layers"}})
	require.NoError(t, err)
	assert.Equal(t, plain.Layers, x.Model.Layers)

	_, err = ReadWith("m", strings.NewReader(`{`+strange+`}`), Options{Ignore: []string{"mystery_dims"}})
	require.ErrorContains(t, err, `the config has no field "mystery_dims"; did you mean "mystery_dim"?`)
	_, err = ReadWith("m", strings.NewReader(nested), Options{Ignore: []string{"text_config.mystery"}})
	require.ErrorContains(t, err, `no field "text_config.mystery"; did you mean "text_config.mystery_dim"?`)
}

// Layers that are said elsewhere are not read here, with whatever would have refused them.
func TestLayersMayBeSaidElsewhere(t *testing.T) {
	plain, err := Read("m", strings.NewReader(`{`+llama+`}`))
	require.NoError(t, err)
	config := strings.Replace(strange, `"num_attention_heads":4`, `"num_attention_heads":5`, 1)
	x, err := ReadWith("m", strings.NewReader(`{`+config+`,"quantization_config":{"quant_method":"fp8"}}`), Options{
		Layers: true, Override: func(m *llm.Model) error { m.Layers = plain.Layers; return nil },
	})
	require.NoError(t, err)
	assert.Equal(t, plain.Params(), x.Model.Params())
	assert.Equal(t, "fp8", x.Model.ComputeDtype(llm.DenseFFN), "the quantisation of the config is that of these layers")
}

func TestADuplicateKeyIsRefused(t *testing.T) {
	_, err := Read("m", strings.NewReader("{"+llama+",\n\"num_hidden_layers\":1}"))
	require.ErrorContains(t, err, `line 2: key "num_hidden_layers" stands twice`)
}

// Numbers that scale activations cost nothing, and those that scale sizes do. What speaks of the shape is found inside
// of objects with harmless names, around a nested decoder and in a quantisation; and a decoder under an unknown name
// is pointed out.
func TestFieldsThatChangeTheCostAreFoundWhereverTheyStand(t *testing.T) {
	const fp8 = `,"quantization_config":{"quant_method":"fp8","fmt":"e4m3"`
	nested := func(around string) string {
		return `{"model_type":"newvl","text_config":{` + llama + `}` + around + `}`
	}
	for _, c := range []struct{ config, says string }{
		{`{` + llama + `,"residual_multiplier":0.2,"attn_logit_scale":2,"logits_scaling":8,"lora_alpha":1}`, ""},
		{`{` + llama + `,"ffn_dim_multiplier":1.3}`, "ffn_dim_multiplier is 1.3 (unknown)"},
		{`{` + llama + `,"kv_reduction_factor":4}`, "kv_reduction_factor is 4"},
		{`{` + llama + `,"window_scale":4}`, "window_scale is 4 (needs windows laid out in another way)"},
		{`{` + llama + `,"layer_repeat_factor":2}`, "layer_repeat_factor is 2"},
		{`{` + llama + `,"num_kv_heads_per_layer":[2,4]}`, "(needs layers that differ in it)"},
		{`{` + llama + `,"attn_sliding_pattern":[1,0]}`, "attn_sliding_pattern is [1,0] (needs windows laid out"},
		{`{` + llama + `,"options":{"colour":"red","num_kv_shared_layers":10}}`, "options.num_kv_shared_layers is 10 (needs"},
		{`{` + llama + `,"parts":[{"kv_reuse":true}]}`, "parts.kv_reuse is true"},
		{`{` + llama + `,"options":{"colour":"red","num_kv_shared_layers":0}}`, ""},
		{nested(`,"num_kv_shared_layers":8`), "num_kv_shared_layers is 8 (needs layers that share a KV cache)"},
		{nested(`,"vision_config":{"num_hidden_layers":4},"image_seq_length":5,"max_dynamic_patch":6,"hidden_size":64`), ""},
		{`{"model_type":"newvl","lm_config":{` + llama + `}}`, "hidden_size is missing, but lm_config has one"},
		{`{` + llama + fp8 + `}}`, ""},
		{`{` + llama + fp8 + `,"turbo":true}}`, ""},
		{`{` + llama + fp8 + `,"residual_bits":2}}`, "quantization_config.residual_bits is 2 (unknown)"},
		{`{` + llama + `,"layer_types":"full_attention,full_attention"}`, "want a list of strings"},
		{`{` + llama + `,"rope_theta":NaN,"time_step_limit":[0.0,Infinity]}`, ""},
	} {
		x, err := ReadWith("m", strings.NewReader(c.config), Options{})
		if c.says != "" {
			require.ErrorContains(t, err, c.says, c.config)
			continue
		}
		require.NoError(t, err, c.config)
		assert.EqualValues(t, 64, x.Model.Hidden)
	}
	x, err := ReadWith("m", strings.NewReader(`{`+llama+fp8+`,"turbo":true}}`), Options{})
	require.NoError(t, err)
	assert.Contains(t, x.Unread, Unread{Key: "quantization_config.turbo", Value: "true", Class: Unnamed})
}

// A family's own fields are missed when they are taken out, beside what is left over under another name.
func TestAFamilyWithoutItsOwnFieldsIsRefused(t *testing.T) {
	for family, key := range map[string]string{"deepseek_v4": "compress_ratios", "kimi_linear": "linear_attn_config",
		"minimax_m3": "sparse_attention_config", "gemma4": "global_head_dim", "mimo_v2_flash": "hybrid_layer_pattern",
		"glm_moe_dsa": "index_topk"} {
		_, err := Read("m", strings.NewReader(`{"model_type":"`+family+`",`+llama+`,"ratio_per_layer":[4,4]}`))
		require.ErrorContains(t, err, key+" is missing; every model of type "+family+" has it")
		require.ErrorContains(t, err, "ratio_per_layer is [4,4]")
	}
}

// Of a type that nobody has seen, what the config does not say is Llama's, and that is said.
func TestAnUnknownTypeIsSaid(t *testing.T) {
	for text, want := range map[string]string{`{"model_type":"llama",` + llama + `}`: "",
		`{` + llama + `}`:                         "its config.json has no model_type: what it does not say is taken from Llama",
		`{"model_type":"brandnew",` + llama + `}`: "its model_type, \"brandnew\", is not known: what its config.json does not say is taken from Llama"} {
		x, err := ReadWith("m", strings.NewReader(text), Options{})
		require.NoError(t, err)
		assert.Equal(t, want, x.Assumed)
	}
}
