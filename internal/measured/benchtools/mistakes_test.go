package benchtools_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/datafile"
	"github.com/decodesim/decodesim/internal/measured/formats"
	"github.com/decodesim/decodesim/internal/soak"
)

// spoil calls try with every mapping of a value in which one field was replaced, and restores it.
func spoil(value any, try func(where string)) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			good := v[key]
			for _, bad := range []any{nil, "x", -1, 0, 2.5, []any{1}, map[string]any{}} {
				v[key] = bad
				try(fmt.Sprintf("%s: %v", key, bad))
			}
			v[key] = good
			spoil(good, try)
		}
	case []any:
		for _, element := range v {
			spoil(element, try)
		}
	}
}

func TestASpoiltResultIsAnErrorOrALoadThatRuns(t *testing.T) {
	names := []string{"vllm_rate.json", "aiperf.json", "guidellm.json", "inference_perf_stage.json"}
	for _, name := range names[:soak.Part(len(names))] {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(t, err)
		var value any
		require.NoError(t, json.Unmarshal(text, &value))
		tried := map[string]bool{}
		spoil(value, func(where string) {
			spoilt, err := json.Marshal(value)
			require.NoError(t, err)
			objects, err := datafile.ReadDocuments("data", spoilt, nil)
			require.NoError(t, err)
			src, f := &datafile.Source{Path: "data", JSON: objects}, &measured.File{}
			i := slices.IndexFunc(formats.Schemas(), func(s datafile.Schema) bool { return s.Knows(src) })
			if i < 0 {
				return
			}
			if err := formats.Schemas()[i].Read(src, f); err != nil {
				assert.True(t, strings.HasPrefix(err.Error(), "data:1: "), "%s: %s: %v", name, where, err)
				return
			}
			require.NoError(t, f.On("chat-8b"))
			for _, r := range f.Runs {
				if r.Skip != "" || tried[r.Over] {
					continue
				}
				tried[r.Over] = true
				_, err = configs.Read("chat-8b", []byte(r.Scenario), configs.Options{})
				assert.NoError(t, err, "%s: %s: %s", name, where, r.Over)
			}
		})
		assert.Greater(t, len(tried), 5, name)
	}
}
