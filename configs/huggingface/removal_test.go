package huggingface

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/soak"
)

// absentMeans says, of fields without which a config loads as something else, why that is right.
var absentMeans = map[string]string{
	"quantization_config": "a copy of the weights that is not quantised",
	"tie_word_embeddings": "false, as the engines take it",
	"use_full_rank_gate":  "false, as in Kimi Linear",
	"config_groups":       "what compressed-tensors takes it for",
	"ignore":              "every layer is quantised",
}

// every is one in how many published configs have their fields taken out or spoilt.
func every() int {
	if soak.Brief() {
		return 6
	}
	return soak.Cases(2, 1)
}

// Taking fields out of published configs until they load must not give another model in silence: whichever field is
// taken out, the file is refused, or nothing that is priced moves by more than 2 %, or its absence has a meaning.
func TestNoFieldOfAPublishedConfigCanBeTakenOutInSilence(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(sharedDir(t), "hf_configs", "*.json"))
	require.NoError(t, err)
	tried, loaded := 0, 0
	for i, file := range files {
		if i%every() != 0 {
			continue
		}
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		data = quoted(data)
		whole := priced(t, data)
		require.NotNil(t, whole, file)
		for _, path := range paths(t, data) {
			var config map[string]any
			require.NoError(t, json.Unmarshal(data, &config))
			inner := config
			for _, k := range path[:len(path)-1] {
				inner = inner[k].(map[string]any)
			}
			key, dense := path[len(path)-1], inner["model_type"] == "llama" || inner["model_type"] == "mistral"
			delete(inner, key)
			cut, err := json.Marshal(config)
			require.NoError(t, err)
			tried++
			less := priced(t, cut)
			if less == nil {
				continue
			}
			loaded++
			if dense && (key == "head_dim" || key == "num_key_value_heads") { // hidden_size / heads, and as many of them
				continue
			}
			if slices.ContainsFunc(path, func(k string) bool { return absentMeans[k] != "" }) {
				continue
			}
			for what, amount := range whole {
				assert.InDelta(t, 1, less[what]/max(1, amount), .02, "%s without %s: %s", filepath.Base(file),
					strings.Join(path, "."), what)
			}
		}
	}
	t.Logf("%d fields taken out, %d files load without them", tried, loaded)
	assert.Greater(t, tried-loaded, 500/every(), "files that are refused")
}

// priced is what of a config is priced; nil: it is refused.
func priced(t *testing.T, data []byte) map[string]float64 {
	t.Helper()
	m, err := Read("m", strings.NewReader(string(data)))
	if err != nil {
		return nil
	}
	cache := m.StateBytes()
	for _, g := range m.Attention() {
		entries, keys := g.Cached(131072)
		cache += float64(entries)*g.EntryBytes(2) + float64(keys)*g.IndexKeyBytes(2)
	}
	return map[string]float64{"parameters": float64(m.ParamsTotal()), "active": float64(m.ActiveAll()),
		"weights": m.WeightBytes(), "cache": cache}
}
