package build

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/sim"
)

const hosted = "pools.serve.kv_offloading_size=4"

// TestPrefixesComeBackAsKVLoadSays: 2 MiB of 16 tokens over the link, layer by layer in a step, all of them before it,
// or beside steps, which is vLLM's default. Without host memory nothing comes.
func TestPrefixesComeBackAsKVLoadSays(t *testing.T) {
	inDir(t, running("vllm-v1"))
	const token = 131072 / (0.85 * 6.4e10)
	for _, c := range []struct {
		set    []string
		layers int
		link   sim.Link
	}{
		{[]string{hosted}, 0, sim.Link{Token: sim.SecondsUp(token)}},
		{[]string{hosted, "pools.serve.kv_load=async"}, 0, sim.Link{Token: sim.SecondsUp(token)}},
		{[]string{hosted, "pools.serve.tensor_parallel=4"}, 0, sim.Link{Token: sim.SecondsUp(token / 4)}},
		{[]string{hosted, "pools.serve.kv_load=sync"}, 0, sim.Link{}},
		{[]string{hosted, "pools.serve.kv_load=layerwise"}, 32, sim.Link{}},
		{nil, 0, sim.Link{}},
	} {
		b := build(t, c.set...)
		assert.Equal(t, c.link, b.Config.Pools[0].LoadLink, c.set)
		assert.EqualValues(t, c.layers, b.Deployment.Swap.Layers, c.set)
		assert.NotContains(t, strings.Join(b.warnings(1), "\n"), "kv_load")
	}
	for _, engine := range []string{"sglang", "textbook"} {
		inDir(t, running(engine, "kv_offloading_size: 4"))
		b := build(t)
		assert.Zero(t, b.Config.Pools[0].LoadLink, engine)
		assert.EqualValues(t, 32, b.Deployment.Swap.Layers, engine)
	}
}

// TestLoadsBesideStepsThatAreNotModelledAreSaid, and are copied before the step that needs them.
func TestLoadsBesideStepsThatAreNotModelledAreSaid(t *testing.T) {
	const said = "kv_load async is not modelled with pipeline stages, speculation, sliding windows, LoRA or decode " +
		"pools: " +
		"what comes from host memory is copied before the step that needs it, as with sync"
	inDir(t, running("vllm-v1"))
	for _, set := range [][]string{
		{"pools.serve.pipeline_parallel=2"},
		{"speculation={method: ngram, num_speculative_tokens: 3, acceptance: {rate: 0.5}}"},
		{"model=gemma-3-27b", "pools.serve.version=0.33"},
		{"pools.serve.enable_lora=true", "workload.adapters={count: 1}"},
	} {
		b := build(t, append(set, hosted)...)
		assert.Zero(t, b.Config.Pools[0].LoadLink, set)
		assert.Zero(t, b.Deployment.Swap.Layers, set)
		assert.Contains(t, b.warnings(1), said, set)
		b = build(t, append(set, hosted, "pools.serve.kv_load=sync")...)
		assert.NotContains(t, b.warnings(1), said, set)
	}
	inDir(t, disaggregatedYAML)
	b := build(t, "pools.prefill.kv_offloading_size=4", "pools.decode.kv_offloading_size=4")
	assert.NotZero(t, b.Config.Pools[0].LoadLink)
	assert.Zero(t, b.Config.Pools[1].LoadLink)
	assert.Contains(t, b.warnings(1), "pool decode: "+said)
}

// TestALoadThatTakesForEverIsRefused, as is another way to load.
func TestALoadThatTakesForEverIsRefused(t *testing.T) {
	inDir(t, running("vllm-v1"))
	s, err := configs.Load("chat.yaml", configs.Options{Set: []string{hosted, "pools.serve.host_link_bps=1000"}})
	require.NoError(t, err)
	_, err = New(s)
	require.ErrorContains(t, err, "host_link_bps=1000: takes 2s for a token; expected a second at most")
	refuses(t, running("vllm-v1", "kv_load: eager"),
		`chat.yaml:11:5: pools[0].kv_load: "eager" is unknown; valid values: "layerwise", "sync", "async"`)
	refuses(t, running("sglang", "kv_load: async"),
		`chat.yaml:11:5: pools[0].kv_load: engine "sglang" has no such argument; valid keys: `)
}
