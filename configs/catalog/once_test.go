package catalog

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCallersShareNothing: a file is read once, and what a caller changes of it, no other caller sees.
func TestCallersShareNothing(t *testing.T) {
	m, err := Model("llama-3.1-8b")
	require.NoError(t, err)
	want := m.Layers[0].Count
	m.Layers[0].Count = 1
	again, err := Model("llama-3.1-8b")
	require.NoError(t, err)
	assert.Equal(t, want, again.Layers[0].Count)

	e, err := EfficienciesOf("vllm")
	require.NoError(t, err)
	before := e.GPUs[0].Efficiency.Bandwidth
	e.GPUs[0].Efficiency.Bandwidth = 0.01
	other, err := EfficienciesOf("vllm")
	require.NoError(t, err)
	assert.Equal(t, before, other.GPUs[0].Efficiency.Bandwidth)
}

func TestEachFileIsReadOnce(t *testing.T) {
	read := map[string]int{}
	get := onEach("gpus", func(name string) (string, error) {
		read[name]++
		return name, nil
	})
	for range 3 {
		for _, name := range []string{"h100-sxm", "no-such-gpu"} {
			got, err := get(name)
			require.NoError(t, err)
			assert.Equal(t, name, got)
		}
	}
	assert.Equal(t, map[string]int{"h100-sxm": 1, "no-such-gpu": 3}, read)
}
