package huggingface

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/hardware/llm"
)

// The config of NVIDIA's FP8 Llama does not say that it is FP8; a file beside it does.
func TestSeparateQuantizationFile(t *testing.T) {
	m, err := Read("llama", strings.NewReader(`{`+llama+`}`))
	require.NoError(t, err)
	q, err := Quantize(m, strings.NewReader(`{"producer":{"name":"modelopt"},"quantization":{"quant_algo":"FP8",
		"kv_cache_quant_algo":"FP8","exclude_modules":["lm_head"]}}`))
	require.NoError(t, err)
	assert.Equal(t, "fp8", q.Precision.KVCache)
	assert.Equal(t, llm.Format{Dtype: "fp8", Bits: 8}, q.Precision.Weights[llm.Attention])
	assert.Equal(t, 16.0, q.WeightBits(llm.Head))
	assert.Equal(t, "bf16", m.ComputeDtype(llm.Attention), "the original stays")
	_, err = Quantize(m, strings.NewReader(`{"quantization":{"quant_algo":"INT3"}}`))
	assert.ErrorContains(t, err, `quantization.quant_algo is "INT3"`)
}

// quantized reads the base config, with experts, under a quantisation.
func quantized(t *testing.T, config string) llm.Model {
	t.Helper()
	m, err := Read("m", strings.NewReader(`{`+
		mixture+`,"first_k_dense_replace":1,"n_shared_experts":1,"quantization_config":`+config+`}`))
	require.NoError(t, err)
	return m
}

func TestQuantizationFormats(t *testing.T) {
	linear := func(m llm.Model) llm.Format { return m.Precision.Weights[llm.RoutedExperts] }
	for config, want := range map[string]llm.Format{
		`{"quant_method":"fp8"}`:                                     {Dtype: "fp8", Bits: 8},
		`{"quant_method":"fp8","weight_block_size":[128,128]}`:       {Dtype: "fp8", Bits: 8 + 32.0/16384},
		`{"quant_method":"mxfp4"}`:                                   {Dtype: "mxfp4", Bits: 4.25},
		`{"quant_method":"gptq","bits":8,"group_size":-1}`:           {Dtype: "int8", Bits: 8},
		`{"quant_method":"awq","bits":4,"group_size":128}`:           {Dtype: "int4", Bits: 4 + 20.0/128},
		`{"quant_method":"bitsandbytes","load_in_4bit":true}`:        {Dtype: "int4", Bits: 4.5},
		`{"quant_method":"modelopt","quant_algo":"NVFP4"}`:           {Dtype: "nvfp4", Bits: 4.5},
		groups(`{"num_bits":4,"type":"int","group_size":32}`):        {Dtype: "int4", Bits: 4.5},
		groups(`{"num_bits":4,"type":"float","group_size":16}`):      {Dtype: "nvfp4", Bits: 4.5},
		groups(`{"num_bits":8,"type":"float","strategy":"channel"}`): {Dtype: "fp8", Bits: 8},
		groups(`{"num_bits":8,"type":"int","strategy":"channel"}`):   {Dtype: "int8", Bits: 8},
	} {
		assert.Equal(t, want, linear(quantized(t, config)), config)
	}
}

func groups(weights string) string {
	return `{"quant_method":"compressed-tensors","config_groups":{"group_0":{"targets":["Linear"],"weights":` +
		weights + `}}}`
}

// Every way of writing a list finds its modules and no others.
func TestQuantizationLists(t *testing.T) {
	type unquantized struct{ attention, dense, shared, routed bool }
	for entries, want := range map[string]unquantized{
		`"lm_head","gate"`:                              {},
		`"self_attn"`:                                   {attention: true},
		`"model.layers.*.self_attn"`:                    {attention: true},
		`"*self_attn*"`:                                 {attention: true},
		`"re:.*self_attn.*"`:                            {attention: true},
		`"re:.*mlp\\.(gate|up|gate_up|down)_proj.*"`:    {dense: true},
		`"re:.*shared_experts.*"`:                       {shared: true},
		`"model.layers.0.mlp"`:                          {dense: true},
		`"model.layers.0.mlp."`:                         {dense: true},
		`"model.language_model.layers.1.mlp.experts"`:   {routed: true},
		`"mtp.layers.0.mlp","visual.layers.1"`:          {},
		`"model.layers.2.mlp","model.layers.11"`:        {},
		`"language_model.lm_head","model.embed_tokens"`: {},
	} {
		m := quantized(t, `{"quant_method":"fp8","modules_to_not_convert":[`+entries+`]}`)
		got := unquantized{m.WeightBits(llm.Attention) == 16, m.WeightBits(llm.DenseFFN) == 16,
			m.WeightBits(llm.SharedExperts) == 16, m.WeightBits(llm.RoutedExperts) == 16}
		assert.Equal(t, want, got, entries)
		assert.Equal(t, 16.0, m.WeightBits(llm.Router), entries)
		assert.Equal(t, 16.0, m.WeightBits(llm.Embedding), entries)
	}
}

// A class that is quantised in part has the average of its bits and the type of most of its weights.
func TestMixedClassesAverage(t *testing.T) {
	m := quantized(t, `{"quant_method":"fp8","modules_to_not_convert":["model.layers.0.self_attn"]}`)
	assert.Equal(t, 12.0, m.WeightBits(llm.Attention))
	m = quantized(t, `{"quant_method":"fp8","modules_to_not_convert":["o_proj"]}`)
	assert.Equal(t, "fp8", m.ComputeDtype(llm.Attention))
	assert.InDelta(t, (8*2+16)/3.0, m.WeightBits(llm.Attention), 1e-9)
}

// What a config says of single modules is read or refused, never passed over.
func TestOverridesOfModulesAreNotPassedOver(t *testing.T) {
	const gptq = `{"quant_method":"gptq","bits":4,"group_size":128,`
	m := quantized(t, gptq+`"dynamic":{"-:.*self_attn.*":{}},"extra_config":{}}`)
	assert.Equal(t, 16.0, m.WeightBits(llm.Attention))
	assert.Equal(t, 4+20.0/128, m.WeightBits(llm.RoutedExperts))
	for override, want := range map[string]string{
		`"dynamic":{"+:.*down_proj.*":{"bits":8}}`: `quantization_config.dynamic is {"+:.*down_proj.*":{"bits":8}}: the override of`,
		`"dynamic":7`: `quantization_config.dynamic is a JSON number`,
		`"extra_config":{"model.layers.0.mlp":{"bits":16}}`: `quantization_config.extra_config is `,
	} {
		_, err := Read("m", strings.NewReader(`{`+mixture+`,"quantization_config":`+gptq+override+`}}`))
		assert.ErrorContains(t, err, want)
	}
}
