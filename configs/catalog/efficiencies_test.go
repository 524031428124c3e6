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
	for gpu, whose := range map[string]string{"gb200": "b200-sxm", "gb300": "b200-sxm", "b300-sxm": "b200-sxm",
		"h200-sxm": "all measured GPUs together"} {
		assert.Equal(t, whose, e.StandIn(&hardware.GPU{Name: gpu}), gpu)
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
	g, err := GPU("gb300")
	require.NoError(t, err)
	assert.Equal(t, "its family, blackwell", e.StandIn(&g))
}

// A GPU that was measured under other software alone has an entry of its own, and is still reported to be unmeasured.
func TestAGPUThatWasMeasuredElsewhereIsNotMeasuredHere(t *testing.T) {
	e, err := EfficienciesOf("prior")
	require.NoError(t, err)
	here, elsewhere := GPUEfficiency{GPU: "b200-sxm", Efficiency: e.Default}, GPUEfficiency{GPU: "l40s",
		Efficiency: e.Default, Elsewhere: true}
	elsewhere.Efficiency.LayerS = 1e-6
	e.GPUs = []GPUEfficiency{here, elsewhere}
	require.NoError(t, e.validate("prior"))
	achieved, stated := e.For("l40s", "", "")
	assert.InDelta(t, 1e-6, achieved.LayerS, 0)
	assert.False(t, stated)
	assert.Equal(t, "GPUs like it, as it differs from them under other software", e.StandIn(&hardware.GPU{Name: "l40s"}))
	assert.Equal(t, []GPUEfficiency{here}, e.Measured())
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
	e.Models[0].Architecture, e.Models[0].Family = "", "hopper"
	for gpu, same := range map[string]bool{"h200-sxm": true, "b200-sxm": false} {
		own, _ = e.For(gpu, "gpt-oss-120b", "mxfp4")
		assert.Equal(t, same, own == want, gpu)
	}
	e.Models = append([]ModelEfficiency{{Model: "gpt-oss-120b", Weights: "mxfp4",
		Scales: []Scale{{Constant: "layer_s", Times: 3}}}}, e.Models...)
	g, err := GPU("h200-sxm")
	require.NoError(t, err)
	model, err := Model("gpt-oss-120b")
	require.NoError(t, err)
	want.LayerS *= 3
	own, _ = e.On(&g, &model)
	assert.InEpsilon(t, want.LayerS, own.LayerS, 1e-12, "both are true of it")
	e.Models = e.Models[1:]
	e.Models[0].Scales[0].Constant = "layers"
	require.EqualError(t, e.validate("prior"),
		`models[0].scales[0]: 2 times "layers"; expected a positive factor on a constant of efficiencies`)
}

// Of several models of one shape its own entries are true of a model, and of one that has none those of a model with
// its vocabulary, whichever comes first.
func TestAModelIsScaledByItsOwnEntriesBeforeThoseOfItsShape(t *testing.T) {
	e, err := EfficienciesOf("prior")
	require.NoError(t, err)
	for i, model := range []string{"llama-2-70b", "llama-3.1-70b", "llama-3.3-70b"} {
		e.Models = append(e.Models, ModelEfficiency{Model: model, Weights: "bf16",
			Scales: []Scale{{Constant: "layer_s", Times: float64(i + 2)}}})
	}
	require.NoError(t, e.validate("prior"))
	g, err := GPU("h100-sxm")
	require.NoError(t, err)
	timesOf := func(name string, change func(*llm.Model)) float64 {
		model, err := Model(name)
		require.NoError(t, err)
		change(&model)
		achieved, _ := e.On(&g, &model)
		return achieved.LayerS / e.Default.LayerS
	}
	same := func(*llm.Model) {}
	renamed := func(m *llm.Model) { m.Name = "ours" }
	assert.InDelta(t, 2, timesOf("llama-2-70b", same), 1e-12)
	assert.InDelta(t, 3, timesOf("llama-3.1-70b", same), 1e-12)
	assert.InDelta(t, 4, timesOf("llama-3.3-70b", same), 1e-12)
	assert.InDelta(t, 2, timesOf("llama-2-70b", renamed), 1e-12)
	assert.InDelta(t, 3, timesOf("llama-3.3-70b", renamed), 1e-12, "the first with its vocabulary")
	assert.InDelta(t, 2, timesOf("llama-3.3-70b", func(m *llm.Model) { m.Name, m.Vocab = "ours", 1000 }), 1e-12,
		"the first of its shape")
	assert.InDelta(t, 1, timesOf("llama-3.1-70b", func(m *llm.Model) { m.Hidden *= 2 }), 1e-12, "another model")
}

// Constants are of the newest release, and those before it multiply them; a version that no release is as old as gets
// the oldest, and one that says no number the newest.
func TestAReleaseScalesWhatTheNewestAchieves(t *testing.T) {
	e, err := EfficienciesOf("prior")
	require.NoError(t, err)
	e.Release, e.Releases = "1.10", []ReleaseEfficiency{
		{Release: "1.1", Scales: []Scale{{Constant: "layer_s", Times: 3}}},
		{Release: "1.9", Scales: []Scale{{Constant: "layer_s", Times: 2}, {Constant: "compute", Times: 3}}},
	}
	require.NoError(t, e.validate("prior"))
	for version, times := range map[string]float64{"": 1, "nightly": 1, "1.10": 1, "v1.11.0rc2": 1, "2.0": 1,
		"1.9.3": 2, "1.9": 2, "1.2.0rc6": 3, "1.1.0rc2.post2": 3, "0.9": 3} {
		under := e.Under(version)
		achieved, _ := under.For("h100-sxm", "gpt-oss-120b", "mxfp4")
		assert.InEpsilon(t, times*e.Default.LayerS, achieved.LayerS, 1e-12, version)
		g, err := GPU("h100-sxm")
		require.NoError(t, err)
		on, _ := under.On(&g, &llm.Model{})
		assert.Equal(t, achieved, on, version)
	}
	older := e.Under("1.9")
	achieved, _ := older.For("h100-sxm", "", "")
	assert.InDelta(t, 1, achieved.Compute, 0, "a share stays a share")
	e.Releases[1].Scales[1].Times = 0
	require.EqualError(t, e.validate("prior"),
		`releases[1].scales[1]: 0 times "compute"; expected a positive factor on a constant of efficiencies`)
}

// A name may ask for a release, by its number.
func TestANameMayAskForARelease(t *testing.T) {
	assert.Equal(t, "vllm@0.19.0", Released("vllm", "v0.19.0"))
	assert.Equal(t, "tensorrt-llm@1.2", Released("tensorrt-llm", "1.2.0rc6.post2"))
	assert.Equal(t, "vllm", Released("vllm", "nightly"))
	assert.Equal(t, "prior", Unreleased("prior@1.1"))
	plain, err := EfficienciesOf("prior")
	require.NoError(t, err)
	asked, err := EfficienciesOf("prior@1.1")
	require.NoError(t, err)
	assert.Equal(t, plain, asked, "there is but one")
	assert.Empty(t, asked.Stands("prior@1.1"))
	for _, name := range []string{"prior@", "prior@new"} {
		_, err = EfficienciesOf(name)
		require.ErrorContains(t, err, "expected its number, such as prior@1.2")
	}
	_, err = EfficienciesOf("priors@1.1")
	require.ErrorContains(t, err, "priors")
	e := Efficiencies{Release: "1.10", Releases: []ReleaseEfficiency{{Release: "1.9"}}}
	for name, want := range map[string]string{"x": "", "x@1.10.3": "", "x@1.10": "", "x@1.9": "", "x@1.11": "1.10",
		"x@1.2": "1.9", "x@1": "1.9", "x@2": "1.10"} {
		assert.Equal(t, want, e.Stands(name), name)
	}
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
