package catalog

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ownConfig is a dense model of 2 layers with a field that nothing reads.
const ownConfig = `{"model_type":"llama","hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,
"num_key_value_heads":2,"intermediate_size":128,"vocab_size":1000,"max_position_embeddings":2048,"mystery_dim":3}`

func writeOwn(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// A field is left out only beside a published count that the rest comes to.
func TestWhatIsLeftOutIsHeldAgainstWhatIsPublished(t *testing.T) {
	path := writeOwn(t, "own.json", ownConfig)
	const total = 2*1000*64 + 2*(64*(64+2*32)+64*64+3*64*128+2*64) + 64
	for _, c := range []struct {
		source ModelSource
		says   string
	}{
		{ModelSource{}, "mystery_dim is 3 (unknown)"},
		{ModelSource{Ignore: []string{"mystery_dim"}}, "expected published: {total: …} beside it"},
		{ModelSource{Ignore: []string{"mystery_dim"}, Total: total * 1.03}, "-2.9 % from the published"},
		{ModelSource{Ignore: []string{"mystery_dim"}, Total: total, Active: total * 2}, "active parameters, -50.0 %"},
		{ModelSource{Ignore: []string{"mystery_dim"}, Total: total * 1.01}, ""},
		{ModelSource{Ignore: []string{"mystery_dim"}, Total: total, Active: total - 2*64000}, ""},
		{ModelSource{Override: "{layers: [{count: 1, mixer: x}]}"}, `mixer "x" not found`},
	} {
		c.source.Config = path
		r, err := c.source.Read()
		if c.says != "" {
			require.ErrorContains(t, err, c.says)
			continue
		}
		require.NoError(t, err)
		assert.EqualValues(t, total, r.Model.ParamsTotal())
		assert.Equal(t, []string{"left out of its config.json, as the scenario says: mystery_dim"}, c.source.Changes())
	}
	_, err := ModelSource{Config: "llama-3.1-8b", Ignore: []string{"x"}}.Read()
	require.ErrorContains(t, err, `ignore is for fields of a config.json, and "llama-3.1-8b" is none`)
	_, err = ModelSource{Config: "mixtral-8x7b", Total: 46.7e9, Active: 12.9e9}.Read()
	require.NoError(t, err)
}

// An override says what the catalog's files say, in the same words.
func TestAnOverrideStandsInPlaceOfTheFile(t *testing.T) {
	own, err := Model("llama-3.1-8b")
	require.NoError(t, err)
	r, err := ModelSource{Config: "llama-3.1-8b", Override: "{context: 4096, tied_embeddings: true, " +
		"weights: {dtype: fp8, classes: [dense_ffn]}}"}.Read()
	require.NoError(t, err)
	assert.Equal(t, 4096, r.Model.ContextMax)
	assert.Equal(t, own.ParamsTotal()-int64(own.Vocab*own.Hidden), r.Model.ParamsTotal())
	assert.Less(t, r.Model.WeightBytes(), own.WeightBytes())

	path := writeOwn(t, "config.json", ownConfig)
	r, err = ModelSource{Config: path, Override: "{mixers: [{name: a, attention: {heads: 4, kv_heads: 1, key_dim: 16, " +
		"value_dim: 16}}], ffns: [{name: f, width: 256}], layers: [{count: 3, mixer: a, ffn: f}]}"}.Read()
	require.NoError(t, err)
	assert.Equal(t, 3, r.Model.LayerCount())
	assert.EqualValues(t, 2*1000*64+3*(64*(64+2*16)+64*64+3*64*256+2*64)+64, r.Model.ParamsTotal())

	for override, says := range map[Override]string{
		"{contex: 1}":              `contex: unknown key; did you mean "context"?`,
		"{name: x}":                "name is no part of the shape",
		"{mixers: []}":             "mixers needs layers",
		"{hidden: many}":           "hidden: expected an integer",
		"{hidden: 0}":              "hidden",
		"{weights: {dtype: fp7}}":  `"fp7" not known`,
		"{context: 1, context: 2}": "duplicate key",
	} {
		_, err := ModelSource{Config: "llama-3.1-8b", Override: override}.Read()
		require.ErrorContains(t, err, says, string(override))
	}
}

// A file like those of the catalog is a model, and is held to what it says is published.
func TestAModelOfTheUsersOwnIsAFileLikeThoseOfTheCatalog(t *testing.T) {
	_, text, _ := Lookup("models", "mixtral-8x7b")
	want, err := Model("mixtral-8x7b")
	require.NoError(t, err)
	got, err := Checkpoint(writeOwn(t, "mine.yaml", string(text)))
	require.NoError(t, err)
	assert.Equal(t, want, got)

	const small = "hidden: 64\nvocab: 1000\ncontext: 2048\nmixers: [{name: a, attention: {heads: 4, kv_heads: 1, " +
		"key_dim: 16, value_dim: 16}}]\nffns: [{name: f, width: 256}]\nlayers: [{count: 3, mixer: a, ffn: f}]\n"
	got, err = Checkpoint(writeOwn(t, "small.yml", small))
	require.NoError(t, err)
	assert.Equal(t, "small", got.Name)
	_, err = Checkpoint(writeOwn(t, "wrong.yaml", small+"published: {total: 1e6}\n"))
	require.ErrorContains(t, err, "from the published 1e+06")
	_, err = Checkpoint(writeOwn(t, "broken.yaml", small+"hiden: 3\n"))
	require.ErrorContains(t, err, `broken.yaml:7:1: hiden: unknown key; did you mean "hidden"?`)
}

// Active parameters are those of the reference page of 2026, in billions: of what has experts without an embedding that
// is only looked up, and of dense models all.
func TestActiveParametersAreThoseOfTheReference(t *testing.T) {
	for name, want := range map[string]float64{"deepseek-v4-flash": 13.270, "deepseek-v4-pro": 48.852, "glm-5.2": 40.299,
		"kimi-k3": 104.190, "minimax-m3": 24.733, "gemma-4-26b-a4b": 3.823, "nemotron-3-super-120b-a12b": 12.233,
		"nemotron-h-56b": 56.324, "llama-3.3-nemotron-super-49b": 49.867, "step-3.7-flash": 11.459} {
		m, err := Model(name)
		require.NoError(t, err)
		assert.InEpsilon(t, want, float64(m.Active())/1e9, 0.005, name)
	}
}

// Names are found as people write them, and an unknown one is answered with one of the catalog that begins alike.
func TestModelsAreFoundAsPeopleWriteThem(t *testing.T) {
	for written, want := range map[string]string{"llama3.3-70b": "llama-3.3-70b", "Llama3-70B": "llama-3-70b",
		"Meta-Llama-3.1-8B": "llama-3.1-8b", "zai-org/GLM-5.1": "glm-5", "gemma3-27b": "gemma-3-27b",
		"deepseek-ai/DeepSeek-R1-Distill-Llama-70B":      "llama-3.3-70b",
		"deepseek-ai/DeepSeek-R1-Distill-Qwen-14B":       "qwen2.5-14b",
		"moonshotai/Kimi-K2.7":                           "kimi-k2.5",
		"nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-NVFP4": "nemotron-3-ultra-550b-a55b"} {
		name, ok := ModelNamed(written)
		assert.True(t, ok, written)
		assert.Equal(t, want, name)
	}
	for written, want := range map[string]string{"meta-llama/Llama-3.3-71B": "llama-3.3-70b",
		"zai-org/GLM-5.3-Flash": "glm-5.2", "deepseek-ai/DeepSeek-V5": "deepseek-v3", "zzz": ""} {
		assert.Equal(t, want, NearestModel(written), written)
	}
}

// The kinds of layers of GLM-5.3-Flash, of which the sizes are not all published: a pooled index over latents without a
// rotary part, Kimi delta attention and several residual streams, in a file of one's own.
func TestAPooledIndexBesideKimiDeltaAttention(t *testing.T) {
	path := writeOwn(t, "flash.yaml", `hidden: 4096
vocab: 1024
context: 1048576
tied_embeddings: false
residual: {streams: 4}
mixers:
  - name: delta
    recurrence: {kda: true, key_heads: 64, key_dim: 128, value_heads: 64, value_dim: 128, kernel: 4, state_bytes: 4}
  - name: latent
    attention: {heads: 64, key_dim: 256, value_dim: 256, latent: {rank: 512, query_rank: 1536, rope_dim: 0}, index: {heads: 32, dim: 128, top_k: 2048, pool: 4}}
ffns: [{name: moe, experts: 288, expert_width: 2048, top_k: 8, shared_width: 2048, router_bias: true}]
layers:
  - repeat: 11
    run: [{count: 3, mixer: delta, ffn: moe}, {count: 1, mixer: latent, ffn: moe}]
  - {count: 1, mixer: delta, ffn: moe}
`)
	r, err := ModelSource{Config: path}.Read()
	require.NoError(t, err)
	m := &r.Model
	assert.Equal(t, 45, m.LayerCount())
	assert.Equal(t, float64(11*512*2)+11*132.0/4, m.CacheBytes(4096, 2)/4096)
	assert.Equal(t, float64(11*2048*512*2+11*1024*132), m.CacheReadBytes(4096, 2))
	assert.Equal(t, float64(34*(64*128*128*4+3*64*128*3*2)), m.StateBytes())
}

// TestAConfigBesideTheScenarioHasAName, though its path says no directory.
func TestAConfigBesideTheScenarioHasAName(t *testing.T) {
	for path, want := range map[string]string{"config.json": "config", "./config.json": "config",
		"../config.json": "config", "own/config.json": "own", "own/new.json": "new"} {
		assert.Equal(t, want, modelName(path), path)
	}
}
