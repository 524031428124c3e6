package catalog

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
)

// A GPU that nobody measured achieves what the one nearest to it does, of the same chip or generation, and is still
// reported to be unmeasured.
func TestTheNearestGPUAchievesTheSame(t *testing.T) {
	e, err := EfficienciesOf("prior")
	require.NoError(t, err)
	host, rack := e.Default, e.Default
	host.LayerS, rack.LayerS = 1e-6, 2e-6
	e.GPUs = []GPUEfficiency{{GPU: "b200-sxm", Efficiency: host}}
	for gpu, want := range map[string]float64{"b200-sxm": host.LayerS, "gb200": host.LayerS, "gb300": host.LayerS,
		"b300-sxm": host.LayerS, "h200-sxm": e.Default.LayerS, "rtx-pro-6000-ws": e.Default.LayerS} {
		achieved, stated := e.For(gpu, "", "")
		assert.Equal(t, want, achieved.LayerS, gpu)
		assert.Equal(t, gpu == "b200-sxm", stated, gpu)
	}
	e.GPUs = append(e.GPUs, GPUEfficiency{GPU: "gb200", Efficiency: rack})
	achieved, stated := e.For("gb200", "", "")
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

// A GPU that was not measured achieves what its kin do: GPUs of one architecture with links between them. A card
// without links has no kin.
func TestAnUnmeasuredGPUAchievesWhatItsFamilyDoes(t *testing.T) {
	e, err := EfficienciesOf("prior")
	require.NoError(t, err)
	kin := e.Default
	kin.LayerS = 1e-6
	e.GPUs = nil
	e.Families = []FamilyEfficiency{{Family: "blackwell", Efficiency: kin}}
	require.NoError(t, e.validate("prior"))
	for gpu, want := range map[string]float64{"gb300": kin.LayerS, "b200-sxm": kin.LayerS, "h100-sxm": e.Default.LayerS,
		"rtx-pro-6000-ws": e.Default.LayerS} {
		achieved, stated := e.For(gpu, "", "")
		assert.Equal(t, want, achieved.LayerS, gpu)
		assert.False(t, stated, gpu)
	}
}

// A model multiplies what its GPU achieves, in its own precision alone, and no share exceeds 1.
func TestAModelScalesWhatItsGPUAchieves(t *testing.T) {
	e, err := EfficienciesOf("prior")
	require.NoError(t, err)
	e.Models = []ModelEfficiency{{Model: "gpt-oss-120b", Weights: "mxfp4",
		Scales: []Scale{{Constant: "layer_s", Times: 2}, {Constant: "bandwidth", Times: 1.1},
			{Constant: "compute", Times: 3}}}}
	require.NoError(t, e.validate("prior"))
	want := e.Default
	other, _ := e.For("h100-sxm", "gpt-oss-120b", "bf16")
	assert.Equal(t, want, other)
	want.LayerS *= 2
	want.Bandwidth *= 1.1
	want.Compute = 1
	own, _ := e.For("h100-sxm", "gpt-oss-120b", "mxfp4")
	assert.Equal(t, want, own)
	e.Models[0].Architecture = "blackwell"
	own, _ = e.For("h100-sxm", "gpt-oss-120b", "mxfp4")
	assert.Equal(t, e.Default, own, "kernels of another architecture")
	own, _ = e.For("b200-sxm", "gpt-oss-120b", "mxfp4")
	assert.Equal(t, want, own)
	e.Models[0].Scales[0].Constant = "layers"
	require.EqualError(t, e.validate("prior"),
		`models[0].scales[0]: 2 times "layers"; expected a positive factor on a constant of efficiencies`)
}

// A model runs the kernels of one of its shape, whatever its name and however long its context; another precision and
// another shape do not.
func TestAModelOfTheShapeOfAnotherAchievesAsMuch(t *testing.T) {
	e, err := EfficienciesOf("prior")
	require.NoError(t, err)
	gpu, err := GPU("h100-sxm")
	require.NoError(t, err)
	e.Models = []ModelEfficiency{{Model: "llama-3.1-70b", Weights: "fp8",
		Scales: []Scale{{Constant: "layer_s", Times: 2}}}}
	require.NoError(t, e.validate("prior"))
	for _, c := range []struct {
		model, weights string
		times          float64
	}{{"llama-3.1-70b", "fp8", 2}, {"llama-3-70b", "fp8", 2}, {"llama-3.1-70b", "bf16", 1}, {"llama-3.1-8b", "fp8", 1}} {
		m, err := Model(c.model)
		require.NoError(t, err)
		m.Name, m.ContextMax = "of the user's own", 1234
		format, err := llm.FormatOf(c.weights)
		require.NoError(t, err)
		m.Precision.Weights[llm.DenseFFN] = format
		achieved, _ := e.On(&gpu, &m)
		assert.InEpsilon(t, c.times*e.Default.LayerS, achieved.LayerS, 1e-9, "%s in %s", c.model, c.weights)
	}
	e.Models[0].Model = "llama-3.1-70"
	require.ErrorContains(t, e.validate("prior"), `models[0].model: model "llama-3.1-70" not found`)
}

// Every constant of an efficiency file can be scaled, but the form of the overlap and the source.
func TestEveryConstantCanBeScaled(t *testing.T) {
	for _, f := range strict.FieldsOf(reflect.TypeFor[hardware.Efficiency]()) {
		e := hardware.Efficiency{}
		assert.Equal(t, f.Key != "overlap" && f.Key != "source", e.Scale(f.Key, 1), f.Key)
	}
}
