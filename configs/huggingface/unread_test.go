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
		"3 more that were not read are harmless"} {
		assert.ErrorContains(t, err, says)
	}
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
