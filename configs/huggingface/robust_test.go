package huggingface

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Any field of any published config may be missing or nonsense: the reader answers with a valid model or an error.
func TestSpoiledConfigsNeverPanic(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(sharedDir(t), "hf_configs", "*.json"))
	require.NoError(t, err)
	nonsense := []any{nil, -1, 0, 3, 1e9, 1e30, 0.5, "x", true, []any{}, []any{1, "x"}, map[string]any{}, []any{[]any{}}}
	random := rand.New(rand.NewPCG(1, 2))
	for i, file := range files {
		if i%every() != 0 {
			continue
		}
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		data = quoted(data) // Python writes Infinity, which is no JSON
		for _, path := range paths(t, data) {
			var config map[string]any
			require.NoError(t, json.Unmarshal(data, &config))
			spoil(config, path, nonsense[random.IntN(len(nonsense))])
			check(t, config, fmt.Sprint(filepath.Base(file), path))
		}
	}
}

// paths are the keys of a config and of the objects in it that are read, in order.
func paths(t *testing.T, data []byte) [][]string {
	t.Helper()
	var config map[string]any
	require.NoError(t, json.Unmarshal(data, &config))
	var out [][]string
	var walk func(prefix []string, m map[string]any)
	walk = func(prefix []string, m map[string]any) {
		for k, v := range m {
			path := append(slices.Clone(prefix), k)
			out = append(out, path)
			if inner, ok := v.(map[string]any); ok && k != "vision_config" {
				walk(path, inner)
			}
		}
	}
	walk(nil, config)
	slices.SortFunc(out, func(a, b []string) int { return strings.Compare(strings.Join(a, "."), strings.Join(b, ".")) })
	return out
}

func spoil(config map[string]any, path []string, value any) {
	for _, k := range path[:len(path)-1] {
		config = config[k].(map[string]any)
	}
	config[path[len(path)-1]] = value
}

func check(t *testing.T, config map[string]any, what string) {
	t.Helper()
	data, err := json.Marshal(config)
	require.NoError(t, err)
	require.NotPanics(t, func() {
		m, err := Read("spoiled", strings.NewReader(string(data)))
		if err == nil {
			require.Positive(t, m.ParamsTotal(), what)
			require.LessOrEqual(t, m.ActiveAll(), m.ParamsTotal(), what)
			require.Positive(t, m.WeightBytes(), what)
			m.Attention()
			m.StateBytes()
		}
	}, what)
}

func FuzzRead(f *testing.F) {
	f.Add(`{` + llama + `}`)
	f.Add(`{` + llama + `,"layer_types":["full_attention","sliding_attention"],"sliding_window":16}`)
	f.Add(`{"model_type":"nemotron_h",` + llama + `,"hybrid_override_pattern":"*M"}`)
	f.Fuzz(func(t *testing.T, config string) {
		m, err := Read("fuzzed", strings.NewReader(config))
		if err == nil && m.ParamsTotal() <= 0 {
			t.Fatalf("%d parameters", m.ParamsTotal())
		}
	})
}
