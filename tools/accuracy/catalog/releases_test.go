package catalog

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/calibration/fittest"
	"github.com/decodesim/decodesim/internal/measured"
)

// A minor release of enough deployments is one of its own, in the order of its numbers; what one deployment ran on is
// not.
func TestAReleaseIsOfSeveralDeployments(t *testing.T) {
	var runs []measured.Run
	add := func(version string, deployments int) {
		for i := range deployments {
			l := measured.Labels{Engine: "tensorrt-llm", Version: version, Own: fmt.Sprint(i)}
			runs = append(runs, measured.Run{Labels: l}, measured.Run{Labels: l})
		}
	}
	add("0.10.2", 2)
	add("v0.9", 3)
	add("0.9.1", 3)
	add("0.10.1", 3)
	add("0.22", 2)
	add("nightly", 4)
	for version := range 6 {
		runs = append(runs, measured.Run{Labels: measured.Labels{Engine: "vllm", Version: fmt.Sprint("0.1", version%2),
			Own: fmt.Sprint(version)}})
	}
	k := releasesOf(runs)
	assert.Equal(t, releases{"tensorrt-llm": {"0.9", "0.10"}}, k)
	group := func(version string) string {
		return k.levels(&measured.Labels{Engine: "tensorrt-llm", Version: version})[releaseLevel]
	}
	for version, want := range map[string]strict.Release{"0.8": "0.9", "0.9.2": "0.9", "0.22": "0.10", "nightly": "0.10"} {
		assert.Equal(t, releaseGroup("tensorrt-llm", want), group(version), version)
	}
	assert.Empty(t, k.levels(&measured.Labels{Engine: "sglang", Version: "0.5.9"})[releaseLevel], "none to tell apart")
}

// TestAModelOnAFamilyOfGPUsHasAGroup: cards without links are of no family.
func TestAModelOnAFamilyOfGPUsHasAGroup(t *testing.T) {
	group := func(gpu string) string {
		l := measured.Labels{Engine: "vllm", Model: "llama-3.1-8b", Precision: "bf16", GPU: gpu}
		return releases{}.levels(&l)[modelFamilyLevel]
	}
	assert.Equal(t, group("h100-sxm"), group("h200-sxm"))
	assert.NotEqual(t, group("h100-sxm"), group("b200-sxm"))
	assert.Empty(t, group("l40s"))
}

// TestAGPUAndAModelHaveGroupsUnderAnyEngine: those of today share them, but for the GPU of a rack, which is that of a
// host; the stacks of 2023 have none.
func TestAGPUAndAModelHaveGroupsUnderAnyEngine(t *testing.T) {
	groups := func(engine, gpu string) []string {
		l := measured.Labels{Engine: engine, Model: "llama-3.1-8b", Precision: "bf16", GPU: gpu}
		return releases{}.levels(&l)
	}
	for _, level := range []int{chipLevel, anyEngineModelLevel} {
		assert.Equal(t, groups("vllm", "b200-sxm")[level], groups("sglang", "gb200")[level])
	}
	assert.NotEqual(t, groups("vllm", "b200-sxm")[chipLevel], groups("vllm", "h100-sxm")[chipLevel])
	assert.Less(t, len(groups(measured.EagerStack, "h100-sxm")), chipLevel)
	assert.Empty(t, chipGroup(measured.EagerStack, "h100-sxm"))
}

// beside fits to runs of a model on a GPU under two engines and, under one of them, to those of another model, or on
// another GPU,
// whose layers take four times as long.
func beside(t *testing.T, other fittest.Deployment, gpu string) Sets {
	truth, slow := fittest.Truth(t), fittest.Truth(t)
	slow.LayerS *= 4
	var runs []measured.Run
	add := func(of fittest.Deployment, engine, gpu string, e hardware.Efficiency) {
		grid := of.Grid(1, 8)
		fittest.Measure(t, grid, e)
		for i := range grid {
			grid[i].ID = engine + gpu + grid[i].ID
			grid[i].Labels.Engine, grid[i].Labels.GPU, grid[i].Labels.Precision = engine, gpu, "bf16"
		}
		runs = append(runs, grid...)
	}
	add(fittest.Dense(), "vllm", "h100-sxm", truth)
	add(fittest.Dense(), "sglang", "h100-sxm", truth)
	add(other, "vllm", gpu, slow)
	c, err := FitCatalog(context.Background(), []*measured.File{{Runs: runs}}, nil)
	require.NoError(t, err)
	return Sets(c.Efficiencies())
}

// TestWhatAnEngineSaysOfAModelIsExpectedOfOthers: layers of a model take longer under an engine that was measured on
// others alone, and under one that nobody measured.
func TestWhatAnEngineSaysOfAModelIsExpectedOfOthers(t *testing.T) {
	sets := beside(t, fittest.Parallel(), "h100-sxm")
	for _, engine := range []string{"sglang", "unknown"} {
		set := sets.under(engine)
		for _, m := range set.Models {
			assert.NotEmpty(t, m.Scales, "a file has no model that differs by nothing")
		}
		usual, _ := set.For("h100-sxm", fittest.Dense().Model, "bf16")
		slow, _ := set.For("h100-sxm", fittest.Parallel().Model, "bf16")
		assert.Greater(t, slow.LayerS, 1.1*usual.LayerS, engine)
	}
}

// TestWhatAnEngineSaysOfAGPUIsExpectedOfOthers: so they do on a GPU, which is measured under the one engine alone.
func TestWhatAnEngineSaysOfAGPUIsExpectedOfOthers(t *testing.T) {
	sets := beside(t, fittest.Dense(), "l40s")
	usual, measuredHere := sets.under("sglang").For("h100-sxm", "", "")
	assert.True(t, measuredHere)
	slow, measuredHere := sets.under("sglang").For("l40s", "", "")
	assert.False(t, measuredHere)
	assert.Greater(t, slow.LayerS, 1.1*usual.LayerS)
	_, measuredHere = sets.under("vllm").For("l40s", "", "")
	assert.True(t, measuredHere)
}

// TestWhatIsBuiltInForARunIsWhatTheFitGivesIt: of three models of one shape and another, whose layers take other times.
func TestWhatIsBuiltInForARunIsWhatTheFitGivesIt(t *testing.T) {
	var runs []measured.Run
	for i, model := range []string{"llama-2-70b", "llama-3.1-70b", "llama-3.3-70b", "llama-3.1-8b"} {
		of := fittest.Parallel()
		of.Model = model
		grid, truth := []measured.Run{of.Run(1, 200, 40), of.Run(8, 200, 40), of.Run(8, 1000, 40)}, fittest.Truth(t)
		truth.LayerS *= 1 + float64(i)
		for j := range grid {
			grid[j].ID = model + grid[j].ID
			grid[j].Labels.Precision = "bf16"
		}
		fittest.Measure(t, grid, truth)
		runs = append(runs, grid...)
	}
	c, err := FitCatalog(context.Background(), []*measured.File{{Runs: runs}}, nil)
	require.NoError(t, err)
	builtIn := c.inSample()
	require.Len(t, builtIn, len(runs))
	for _, r := range c.Runs {
		fitted := c.Efficiency(r)
		assert.InEpsilon(t, fitted.LayerS, builtIn[r.Run].LayerS, 0.01, r.Run.ID)
	}
}

// TestTheNewestReleaseIsBuiltIn: half of the deployments ran an older release, whose layers take longer. What is built
// in is the newer one's, and what is to be expected of the older is that times its scales.
func TestTheNewestReleaseIsBuiltIn(t *testing.T) {
	truth, slow := fittest.Truth(t), fittest.Truth(t)
	slow.LayerS *= 2
	var runs []measured.Run
	for i := range 2 * releaseDeployments {
		of := fittest.Dense().Grid(1, 8)
		version, e := "1.2.0rc6", truth
		if i%2 == 1 {
			version, e = "1.1.0rc2.post2", slow
		}
		fittest.Measure(t, of, e)
		for j := range of {
			of[j].ID = fmt.Sprint(i, of[j].ID)
			of[j].Labels.Engine, of[j].Labels.Version, of[j].Labels.Own = "tensorrt-llm", version, fmt.Sprint(i)
		}
		runs = append(runs, of...)
	}
	c, err := FitCatalog(context.Background(), []*measured.File{{Runs: runs}}, nil)
	require.NoError(t, err)
	sets := Sets(c.Efficiencies())
	d := &hardware.Deployment{GPU: hardware.GPU{Name: runs[0].Labels.GPU}}
	layer := func(version string) float64 {
		return sets.On(&measured.Labels{Engine: "tensorrt-llm", Version: version}, d).LayerS
	}
	assert.InEpsilon(t, truth.LayerS, layer("1.2"), 0.15)
	assert.InDelta(t, layer("1.2"), layer(""), 0)
	assert.Greater(t, layer("1.1"), 1.2*layer("1.2"), "as far as the penalty lets it")
}
