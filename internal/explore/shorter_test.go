package explore

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/internal/soak"
)

// TestAShorterRunLeavesTheSameShareUnmeasured: the page's requests end runs of a duration before their warm-up does, or
// soon after it, and then what is measured would be what is left when nobody new comes. The scenarios of the page run
// here for as long as they take: the page would end them after ten seconds.
func TestAShorterRunLeavesTheSameShareUnmeasured(t *testing.T) {
	s := explored(t, "chat-8b")
	each := []string{"multi-turn-8b", "wide-ep-r1", "kv-tiers-8b", "multi-turn-routed-8b", "agents-v4-pro"}
	for i, name := range each[:soak.Part(5)] {
		var x stepX
		require.Equal(t, 200, get(t, s, "/step?scenario="+name, &x), name)
		loaded, err := configs.Load("-", configs.Options{Stdin: []byte(x.YAML)})
		require.NoError(t, err, name)
		b, err := build.New(loaded)
		require.NoError(t, err, name)
		r, err := run.Simulate(t.Context(), b, run.Options{Version: "test"})
		b.Close()
		require.NoError(t, err, name)
		require.Greater(t, r.Summary.Latency.TTFT.N, []int64{800, 400, 800, 800, 1000}[i], name)
	}
	var x stepX
	require.Equal(t, 200, get(t, s, "/step?scenario=wide-ep-r1&requests=4000", &x))
	assert.Contains(t, x.YAML, "warmup_s: 60 ", "all of its requests come")
	require.Equal(t, 200, get(t, s, "/step?scenario=wide-ep-r1&requests=120", &x))
	assert.Contains(t, x.YAML, "warmup_s: 2\n")
	assert.Contains(t, x.YAML, "workload.warmup_s is shorter")
}
