package catalog

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/calibration"
	"github.com/decodesim/decodesim/internal/calibration/fittest"
	"github.com/decodesim/decodesim/internal/freeze"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/validation"
)

// TestAUserMeasuresAcrossTheLoad: of the runs of a deployment, as many are fitted to as a user is taken to have, the
// lightest of each part of the load among them, and none is lost.
func TestAUserMeasuresAcrossTheLoad(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2*CalibrationPoints, 60).Draw(t, "runs")
		var runs []*calibration.Run
		for i := range n {
			labels := measured.Labels{Load: "1024/1024", Concurrency: 1 + i}
			runs = append(runs, &calibration.Run{Frozen: &freeze.Frozen{Run: &measured.Run{Labels: labels}}})
		}
		shuffled := rapid.Permutation(runs).Draw(t, "order")
		out := spread(shuffled)
		assert.ElementsMatch(t, runs, out)
		chosen := out[:CalibrationPoints]
		assert.Same(t, runs[0], chosen[0])
		for i := range chosen[1:] {
			gap := chosen[i+1].Run.Labels.Concurrency - chosen[i].Run.Labels.Concurrency
			assert.InDelta(t, float64(n)/CalibrationPoints, gap, 1)
		}
	})
}

func TestAnUnknownEngineGetsWhatAllHaveInCommon(t *testing.T) {
	set := func(name string, bandwidth float64, gpus ...catalog.GPUEfficiency) catalog.Efficiencies {
		e := catalog.Efficiencies{Name: name, GPUs: gpus}
		e.Default.Bandwidth = bandwidth
		return e
	}
	on := catalog.GPUEfficiency{GPU: "h100-sxm"}
	on.Efficiency.Bandwidth = .3
	sets := Sets{set("global", .1), set("vllm", .2, on)}
	for want, of := range map[float64][2]string{.1: {"other", "h100-sxm"}, .2: {"vllm", "l4"}, .3: {"vllm", "h100-sxm"}} {
		d := &hardware.Deployment{GPU: hardware.GPU{Name: of[1]}}
		assert.InDelta(t, want, sets.On(&measured.Labels{Engine: of[0]}, d).Bandwidth, 0)
	}
	assert.Panics(t, func() { sets[1:].On(&measured.Labels{Engine: "other"}, &hardware.Deployment{}) })
}

// sweeps are two closed-loop deployments, of twelve runs and of three, and an open loop.
func sweeps() []measured.Run {
	small, large := fittest.Dense().Grid(1, 2, 4, 8), fittest.Parallel().Grid(2)
	runs := slices.Concat(small, large, []measured.Run{fittest.Dense().Run(3, 500, 30)})
	for i := range runs {
		l := &runs[i].Labels
		l.Load, l.Concurrency, l.Quality = fmt.Sprint(i%3), 1+i/3, "A"
		runs[i].ID = fmt.Sprint(i, " ", runs[i].ID)
	}
	runs[len(runs)-1].Labels.Concurrency, runs[len(runs)-1].Labels.Precision = 0, "of its own"
	return runs
}

func TestHoldsAreWhatTheySay(t *testing.T) {
	runs := sweeps()
	fittest.Measure(t, runs, fittest.Truth(t))
	c, err := FitCatalog(context.Background(), []*measured.File{{Runs: runs}}, nil)
	require.NoError(t, err)
	heldOut, err := c.HeldOut(context.Background())
	require.NoError(t, err)
	counts := map[string]int{}
	var names []string
	for _, h := range heldOut {
		names = append(names, h.Name)
		for _, p := range h.Predictions {
			require.Empty(t, p.Skip)
			counts[h.Name]++
		}
	}
	assert.Equal(t, []string{InSample, DeploymentOut, PairOut, GPUOut, ModelOut, BothOut, ExperimentOut, AfterPoints},
		names)
	const values = 2 // of a run
	assert.Equal(t, map[string]int{
		InSample: 16 * values, DeploymentOut: 16 * values, PairOut: 16 * values, GPUOut: 16 * values,
		ModelOut: 16 * values,
		BothOut:  16 * values, ExperimentOut: values,
		AfterPoints: (12 - CalibrationPoints) * values,
	}, counts, "runs of few are not split, and only open loops are left out by themselves")

	shipped, err := Sets(c.Efficiencies()).Predict(context.Background(), runs)
	require.NoError(t, err)
	for i, p := range heldOut[0].Predictions {
		assert.InDelta(t, shipped[i].Predicted, p.Predicted, 0, "in sample is what the program carries")
	}
	median := func(predictions []validation.Prediction) float64 {
		var percents []float64
		for _, p := range predictions {
			percents = append(percents, 100*p.Error())
		}
		return validation.ErrorsOf(percents).MedianPct
	}
	assert.Less(t, median(heldOut[0].Predictions), median(heldOut[3].Predictions),
		"the only GPU, left out, leaves the prior")
	for i, p := range heldOut[3].Predictions {
		assert.InDelta(t, p.Predicted, heldOut[5].Predictions[i].Predicted, 1e-9,
			"without the only GPU no model is left that could be left out as well")
	}
	prior := fittest.Predict(t, runs, fittest.PriorOf(t))
	assert.InDelta(t, median(prior), median(heldOut[3].Predictions), 0.5)
}

// TestTheStacksOf2023SayNothingOfToday: however slow they are, what the engines of today have in common is the same.
func TestTheStacksOf2023SayNothingOfToday(t *testing.T) {
	fit := func(layerS float64) (global, eager hardware.Efficiency) {
		runs, old := fittest.Dense().Grid(1, 8), fittest.Dense().Grid(1, 8)
		fittest.Measure(t, runs, fittest.Truth(t))
		slow := fittest.Truth(t)
		slow.LayerS = layerS
		fittest.Measure(t, old, slow)
		for i := range runs {
			runs[i].Labels.Engine, old[i].Labels.Engine = "vllm", measured.EagerStack
		}
		c, err := FitCatalog(context.Background(), []*measured.File{{Runs: runs}, {Runs: old}}, nil)
		require.NoError(t, err)
		sets := Sets(c.Efficiencies())
		on := &hardware.Deployment{GPU: hardware.GPU{Name: "l4"}}
		return sets.On(&measured.Labels{Engine: "another"}, on), sets.On(&measured.Labels{Engine: measured.EagerStack}, on)
	}
	global, eager := fit(50e-6)
	same, slower := fit(500e-6)
	assert.Equal(t, global, same)
	assert.Greater(t, slower.LayerS, 1.1*eager.LayerS)
}

// TestPredictionsAfterACalibrationAreNearer: a run whose machine is not what the program expects.
func TestPredictionsAfterACalibrationAreNearer(t *testing.T) {
	sets := Sets{{Name: unknownEngine, Default: fittest.PriorOf(t)}}
	runs := []measured.Run{fittest.Dense().Run(4, 3000, 40)}
	fittest.Measure(t, runs, fittest.Truth(t))
	before, err := sets.Predict(context.Background(), runs)
	require.NoError(t, err)
	after, err := sets.PredictAfter(context.Background(), runs[0])
	require.NoError(t, err)
	tpot := slices.IndexFunc(before, func(p validation.Prediction) bool { return p.Value.Metric == measured.TPOT })
	assert.Less(t, 2*math.Abs(after[tpot].Error()), math.Abs(before[tpot].Error()))
	none, err := sets.PredictAfter(context.Background(), measured.Run{ID: "skipped", Skip: "it speculates"})
	require.NoError(t, err)
	assert.Nil(t, none)
}
