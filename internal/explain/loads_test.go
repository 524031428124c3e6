package explain

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
)

// TestExplainSaysWhatALoadFromHostMemoryTakes: the bytes are those of the prefix's blocks, the link takes what they
// need of it, and what the run does is said, not what was asked for.
func TestExplainSaysWhatALoadFromHostMemoryTakes(t *testing.T) {
	tokens := 1600
	for _, c := range []struct {
		set, how, said string
	}{
		{"kv_load=async", "async", "beside steps, while its request waits"},
		{"kv_load=sync", "sync", "before the step that computes the rest"},
		{"kv_load=layerwise", "layerwise", "layer by layer during the step"},
	} {
		q := Question{Scenario: "kv-tiers-8b", Context: &tokens}
		q.Options = configs.Options{Set: []string{"pools.serve." + c.set, "pools.serve.host_link_bps=5e10"}}
		s, err := New(context.Background(), q)
		require.NoError(t, err)
		x, err := s.Explain()
		require.NoError(t, err)
		require.NotNil(t, x.Loads, c.set)
		assert.Equal(t, c.how, x.Loads.How)
		assert.Equal(t, c.how == "async", x.Loads.Beside)
		assert.InDelta(t, 1600*2*2*8*128*32, x.Loads.Bytes, 1) // keys and values of 8 heads of 128 in 32 layers, bf16
		assert.InDelta(t, x.Loads.Bytes/5e10, x.Loads.LoadS, 1e-9)
		require.Len(t, x.Loads.Tiers, 2)
		assert.InDelta(t, 1e-4+x.Loads.Bytes/1.4e10, x.Loads.Tiers[0].FetchS, 1e-8)
		var said bytes.Buffer
		explainLoads(func(format string, args ...any) { fmt.Fprintf(&said, format, args...) }, x)
		assert.Contains(t, said.String(), c.said)
	}
	s, err := New(context.Background(), Question{Scenario: "chat-8b"})
	require.NoError(t, err)
	x, err := s.Explain()
	require.NoError(t, err)
	assert.Nil(t, x.Loads, "without host memory there is nothing to load")
}
