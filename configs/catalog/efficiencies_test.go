package catalog

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The GPU of a rack that nobody measured achieves what its chip does in a host of eight, and is still reported to be
// unmeasured.
func TestTheSameChipAchievesTheSame(t *testing.T) {
	e, err := EfficienciesOf("prior")
	require.NoError(t, err)
	host, rack := e.Default, e.Default
	host.LayerS, rack.LayerS = 1e-6, 2e-6
	e.GPUs = []GPUEfficiency{{GPU: "b200-sxm", Efficiency: host}}
	for gpu, want := range map[string]float64{"b200-sxm": host.LayerS, "gb200": host.LayerS, "gb300": e.Default.LayerS,
		"b300-sxm": e.Default.LayerS} {
		achieved, stated := e.For(gpu)
		assert.Equal(t, want, achieved.LayerS, gpu)
		assert.Equal(t, gpu == "b200-sxm", stated, gpu)
	}
	e.GPUs = append(e.GPUs, GPUEfficiency{GPU: "gb200", Efficiency: rack})
	achieved, stated := e.For("gb200")
	assert.True(t, stated)
	assert.Equal(t, rack, achieved, "what is measured of it goes first")
}

// A GPU has one row, of its own: a second would never be read.
func TestAGPUHasOneEfficiency(t *testing.T) {
	e, err := EfficienciesOf("prior")
	require.NoError(t, err)
	row := GPUEfficiency{GPU: "h100-sxm", Efficiency: e.Default}
	e.GPUs = []GPUEfficiency{row, {GPU: "l4", Efficiency: e.Default}}
	require.NoError(t, e.validate("prior"))
	e.GPUs = append(e.GPUs, row)
	require.EqualError(t, e.validate("prior"),
		`gpus[2].gpu: "h100-sxm" is that of gpus[0] already; expected one of its own`)
}
