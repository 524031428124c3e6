package calibration

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/calibration/fittest"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/soak"
	"github.com/decodesim/decodesim/internal/validation"
)

// TestAFitFindsTheMachineAgain: what the data decide comes back within 15 % although the prior pulls, and the rest lies
// within the spread that is left of it. TPOT is predicted within 2 % in the median, TTFT within 3 %, of runs left out
// too.
func TestAFitFindsTheMachineAgain(t *testing.T) {
	for name, d := range map[string]fittest.Deployment{"dense": dense, "parallel": parallel} {
		if soak.Brief() && name != "dense" {
			continue
		}
		runs := d.Grid(1, 8, 64)
		fittest.Measure(t, runs, fittest.Truth(t))
		c := own(t, runs)
		decided := 0
		for i, k := range c.Constants {
			p := parameterOf(t, k.Name)
			off := math.Abs(math.Log(k.Fitted / p.value(fittest.Truth(t))))
			if k.Known >= 0.85 {
				decided++
				assert.Less(t, off, 0.15, "%s: %s", name, k.Name)
			}
			assert.Less(t, off, 1.5*p.Sigma*math.Sqrt(1-k.Known)+0.01, "%s: %s", name, c.Constants[i].Name)
		}
		if name == "dense" {
			assert.GreaterOrEqual(t, decided, 2)
		}
		for m, most := range map[measured.Metric]float64{measured.TPOT: 2, measured.TTFT: 3} {
			e := errorsOf(t, c, m)
			assert.Greater(t, e.Before.MedianPct, 10.0, "%s: %s", name, m)
			assert.Less(t, e.InSample.MedianPct, most, "%s: %s", name, m)
			assert.Less(t, e.LeftOut.MedianPct, most, "%s: %s", name, m)
			assert.Equal(t, []int{9, 9, 9}, []int{e.Before.N, e.InSample.N, e.LeftOut.N})
		}
	}
}

func parameterOf(t *testing.T, name string) *Parameter {
	for _, p := range Parameters() {
		if p.Name == name {
			return &p
		}
	}
	require.Fail(t, name)
	return nil
}

// TestHardlyHeldAFitFindsTheMachine: with next to no prior the residuals vanish, and what the data decide is within 4
// %.
func TestHardlyHeldAFitFindsTheMachine(t *testing.T) {
	soak.TakesLong(t)
	runs := dense.Grid(1, 4, 16, 64, 128)
	fittest.Measure(t, runs, fittest.Truth(t))
	f := fitTo(t, runs, 1e-6)
	e, decided := f.Efficiency(f.Runs[0]), 0
	for i, known := range f.Known() {
		if p := &f.Parameters[i]; known > 0.99 {
			decided++
			assert.InEpsilon(t, p.value(fittest.Truth(t)), p.value(e), 0.04, p.Name)
		}
	}
	assert.GreaterOrEqual(t, decided, 4)
	for _, r := range append(f.collect(f.Residuals), f.LeaveOut(func(r *Run) string { return r.Run.ID })...) {
		assert.InDelta(t, 0, r.Error, 0.01, "%s: %s", r.Run.Run.ID, r.Value.Value.Name)
	}
}

// TestThreePointsHelp: on runs that were not given, errors fall by a third at least.
func TestThreePointsHelp(t *testing.T) {
	for name, d := range map[string]fittest.Deployment{"dense": dense, "parallel": parallel} {
		few := []measured.Run{d.Run(1, 200, 40), d.Run(16, 3000, 40), d.Run(128, 3000, 40)}
		fittest.Measure(t, few, fittest.Truth(t))
		c := own(t, few)
		others := []measured.Run{d.Run(2, 1000, 40), d.Run(8, 8000, 40), d.Run(32, 500, 40), d.Run(64, 4000, 40)}
		fittest.Measure(t, others, fittest.Truth(t))
		off := func(e hardware.Efficiency) (ttft, tpot float64) {
			for _, p := range fittest.Predict(t, others, e) {
				if p.Value.Metric == measured.TTFT {
					ttft += math.Abs(p.Error()) / 4
				} else {
					tpot += math.Abs(p.Error()) / 4
				}
			}
			return ttft, tpot
		}
		ttftBefore, tpotBefore := off(fittest.PriorOf(t))
		ttft, tpot := off(c.Efficiency)
		assert.Less(t, ttft, ttftBefore*2/3, name)
		assert.Less(t, tpot, tpotBefore*2/3, name)
	}
}

func TestWhatTheDataDoNotTellStays(t *testing.T) {
	runs := []measured.Run{dense.Run(1, 200, 40), dense.Run(64, 3000, 40), dense.Run(64, 200, 40)}
	fittest.Measure(t, runs, fittest.Truth(t))
	for i := range runs {
		runs[i].Scenario = strings.Replace(runs[i].Scenario, "efficiency: prior",
			"efficiency: "+writePrior(t, func(e *hardware.Efficiency) {
				e.Link, e.CollectiveS = 0.123456789, 9.87654321e-6 // more digits than a fit deserves
			}), 1)
	}
	c := own(t, runs)
	var unknown []string
	for _, k := range c.Constants {
		if k.Unknown() {
			unknown = append(unknown, k.Name)
			assert.Equal(t, k.Prior, k.Fitted, k.Name)
			assert.Zero(t, k.Known, k.Name)
			assert.NotEmpty(t, k.Measure, k.Name)
		} else {
			assert.NotEqual(t, k.Prior, k.Fitted, k.Name)
		}
		assert.Equal(t, k.Known < Decided, k.Measure != "", k.Name)
	}
	assert.Equal(t, []string{"moe_compute", "moe_copy_bytes", "quantized_compute", "link", "moe_layer_s",
		"quantized_layer_s", "mixer_layer_s", "eager_launch", "rank_s", "step_s", "sequence_host_s", "collective_s"}, unknown)
	assert.Equal(t, 0.123456789, c.Efficiency.Link)
	assert.Contains(t, c.Head(), "The data say nothing of moe_compute, moe_copy_bytes, quantized_compute, link, "+
		"moe_layer_s, quantized_layer_s, mixer_layer_s, eager_launch, rank_s, step_s, sequence_host_s, collective_s.")
}

// TestAFileSaysHowFarOffItsRunsWereLeftOut, which run, size and explain print; where nothing could be left out it says
// nothing.
func TestAFileSaysHowFarOffItsRunsWereLeftOut(t *testing.T) {
	runs := dense.Grid(1, 64)
	fittest.Measure(t, runs, fittest.Truth(t))
	c := own(t, runs)
	path := filepath.Join(t.TempDir(), "own.yaml")
	write := func(c *Calibration) (catalog.LeftOut, bool) {
		var b bytes.Buffer
		require.NoError(t, WriteEfficiency(&b, &c.Efficiency, c.leftOut(), c.Head()))
		require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
		e, err := catalog.LoadEfficiency(path)
		require.NoError(t, err)
		require.Equal(t, c.Efficiency, e)
		return catalog.LeftOutOf(path)
	}
	left, ok := write(c)
	require.True(t, ok)
	tpot, ttft := errorsOf(t, c, measured.TPOT).LeftOut, errorsOf(t, c, measured.TTFT).LeftOut
	assert.Equal(t, len(runs), left.Runs)
	for _, of := range [][2]float64{{tpot.MedianPct, left.TPOTMedianPct}, {tpot.P90Pct, left.TPOTP90Pct},
		{ttft.MedianPct, left.TTFTMedianPct}, {ttft.P90Pct, left.TTFTP90Pct}} {
		assert.InEpsilon(t, of[0], of[1], 0.01, "three digits of it")
	}
	_, ok = write(own(t, runs[:1]))
	assert.False(t, ok)
}

func TestWhatIsSwitchedOffStaysOff(t *testing.T) {
	runs := []measured.Run{dense.Run(1, 200, 40), dense.Run(64, 200, 40)}
	fittest.Measure(t, runs, fittest.Truth(t))
	for i := range runs {
		runs[i].Scenario = strings.Replace(runs[i].Scenario, "efficiency: prior",
			"efficiency: "+writePrior(t, func(e *hardware.Efficiency) {
				e.SequenceS, e.FirstTokenS = 0, 0
			}), 1)
	}
	c := own(t, runs)
	assert.Zero(t, c.Efficiency.SequenceS)
	assert.Zero(t, c.Efficiency.FirstTokenS)
	for _, k := range c.Constants {
		assert.NotContains(t, []string{"sequence_s", "first_token_s"}, k.Name)
	}
}

func TestOneRunIsTestedOnNothing(t *testing.T) {
	runs := []measured.Run{dense.Run(4, 3000, 40)}
	fittest.Measure(t, runs, fittest.Truth(t))
	c := own(t, runs)
	assert.Equal(t, 1, c.Runs)
	e := errorsOf(t, c, measured.TPOT)
	assert.Less(t, e.InSample.MedianPct, e.Before.MedianPct/2)
	assert.Zero(t, e.LeftOut.N)
	assert.NotContains(t, c.Efficiency.Source, "left out")
}

// TestOneWildRowMovesTheOthersLittle: their predictions change by less than 10 %.
func TestOneWildRowMovesTheOthersLittle(t *testing.T) {
	soak.TakesLong(t)
	runs := dense.Grid(1, 8, 64)
	fittest.Measure(t, runs, fittest.Truth(t))
	without := own(t, runs).Efficiency
	for j := range runs[4].Rows[0].Values {
		runs[4].Rows[0].Values[j].Measured *= 10
	}
	with := own(t, runs).Efficiency
	before := fittest.Predict(t, runs, without)
	for i, p := range fittest.Predict(t, runs, with) {
		assert.InDelta(t, 0, math.Log(p.Predicted/before[i].Predicted), 0.1, "%s: %s", p.Run.ID, p.Value.Name)
	}
}

func TestRunsThatBeatTheBoundAreNotFittedTo(t *testing.T) {
	runs := []measured.Run{dense.Run(1, 200, 40), dense.Run(16, 3000, 40), dense.Run(64, 200, 40)}
	fittest.Measure(t, runs, fittest.Truth(t))
	want := own(t, runs)
	fast := dense.Run(8, 200, 40)
	fast.Rows[0].Values[0].Measured, fast.Rows[0].Values[1].Measured = 100, 2 // ms, of 16 GB at 3.35 TB/s
	got := own(t, append(runs, fast))
	require.Len(t, got.TooFast, 1)
	assert.Equal(t, fast.ID, got.TooFast[0].ID)
	assert.Equal(t, 2.0, got.TooFast[0].MeasuredMS)
	assert.InDelta(t, 4.5, got.TooFast[0].FloorMS, 0.3)
	got.TooFast = want.TooFast
	assert.Equal(t, toJSON(t, want), toJSON(t, got))
	assert.Contains(t, refused(t, fast), "every run that can be simulated beats the bound of the data sheet: \"8 "+
		"clients, 200/40\" measured a TPOT of 2 ms, "+
		"and h100-sxm takes 4.")
}

func toJSON(t *testing.T, c *Calibration) string {
	text, err := json.Marshal(c)
	require.NoError(t, err)
	return string(text)
}

func TestOneGPUAndOneEngineAtATime(t *testing.T) {
	a, b := dense.Run(1, 200, 40), dense.Run(2, 200, 40)
	b.Labels.GPU = "h200-sxm"
	assert.Equal(t, `run "1 clients, 200/40" is of vllm on h100-sxm and run "2 clients, 200/40" of vllm on h200-sxm; `+
		`expected one GPU and one engine: calibrate each by itself`, refused(t, a, b))
	b.Labels = a.Labels
	b.Labels.Engine = "sglang"
	assert.Contains(t, refused(t, a, b), "of sglang on h100-sxm")
	b.Labels = a.Labels
	b.Scenario = strings.Replace(b.Scenario, "efficiency: prior", "efficiency: textbook", 1)
	assert.Contains(t, refused(t, a, b), `start from different efficiencies, of "prior: `)
	b.Skip = "two pools"
	c := own(t, []measured.Run{a, b})
	assert.Equal(t, []Skip{{"two pools", 1}}, c.Skips)
}

// Runs of two models that start from constants of their own are fitted to from what is between them.
func TestRunsOfSeveralModelsStartFromWhatIsBetween(t *testing.T) {
	a, b := dense.Run(1, 200, 40), dense.Run(2, 200, 40)
	fittest.Measure(t, []measured.Run{a, b}, fittest.Truth(t))
	b.Labels.Model = "another"
	slow, fast := fittest.PriorOf(t), fittest.PriorOf(t)
	slow.LayerS, fast.LayerS = 4*slow.LayerS, slow.LayerS
	dir := t.TempDir()
	for r, e := range map[*measured.Run]hardware.Efficiency{&a: slow, &b: fast} {
		var text bytes.Buffer
		require.NoError(t, WriteEfficiency(&text, &e, nil, "of one model"))
		path := filepath.Join(dir, r.Labels.Model+".yaml")
		require.NoError(t, os.WriteFile(path, text.Bytes(), 0o600))
		r.Scenario = strings.Replace(r.Scenario, "efficiency: prior", "efficiency: "+path, 1)
	}
	c := own(t, []measured.Run{a, b})
	assert.InEpsilon(t, math.Sqrt(slow.LayerS*fast.LayerS), c.Prior.LayerS, 1e-9)
	assert.InEpsilon(t, slow.Bandwidth, c.Prior.Bandwidth, 1e-9)
}

func TestNothingToFitToIsAnError(t *testing.T) {
	assert.Equal(t, "the data hold no run; expected one at least", refused(t))
	a, b := dense.Run(1, 200, 40), dense.Run(2, 200, 40)
	a.Skip = "two pools"
	b.Rows[0].Values = nil
	assert.Equal(t, `no run of 2 can be fitted to; the first, "1 clients, 200/40": two pools`, refused(t, a, b))
	a.Skip = ""
	c := own(t, []measured.Run{a, b})
	assert.Equal(t, []Skip{{"no measured TTFT, TPOT, E2E or throughput of the whole run", 1}}, c.Skips)
}

// TestRunsOfOneNameAreLeftOutOneByOne: the rows of two files may have the same ids.
func TestRunsOfOneNameAreLeftOutOneByOne(t *testing.T) {
	one := func(rename bool) *Calibration {
		runs := []measured.Run{dense.Run(1, 200, 40), dense.Run(16, 3000, 40), dense.Run(64, 200, 40)}
		fittest.Measure(t, runs, fittest.Truth(t))
		for i := range runs {
			if rename {
				runs[i].ID = "row 2"
			}
		}
		return own(t, runs)
	}
	assert.Equal(t, toJSON(t, one(false)), toJSON(t, one(true)))
}

func TestACalibrationIsTheSameEveryTime(t *testing.T) {
	runs := parallel.Grid(1, 16)
	fittest.Measure(t, runs, fittest.Truth(t))
	var want string
	for i := range 1 + soak.Part(3) {
		before := runtime.GOMAXPROCS(1 + i%2)
		got := toJSON(t, own(t, runs))
		runtime.GOMAXPROCS(before)
		if i == 0 {
			want = got
		}
		require.Equal(t, want, got)
	}
}

// TestInSampleIsASimulation of the constants as their file has them, not an estimate of it.
func TestInSampleIsASimulation(t *testing.T) {
	runs := []measured.Run{dense.Run(3, 900, 70), dense.Run(16, 3000, 40), dense.Run(64, 200, 40)}
	fittest.Measure(t, runs, fittest.Truth(t))
	c := own(t, runs)
	of := func(e hardware.Efficiency, m measured.Metric) validation.Errors {
		var percents []float64
		for _, p := range fittest.Predict(t, runs, e) {
			if p.Value.Metric == m {
				percents = append(percents, 100*p.Error())
			}
		}
		return validation.ErrorsOf(percents)
	}
	for _, m := range []measured.Metric{measured.TTFT, measured.TPOT} {
		e := errorsOf(t, c, m)
		assert.InDelta(t, of(fittest.PriorOf(t), m).MedianPct, e.Before.MedianPct, 1e-9)
		assert.InDelta(t, of(c.Efficiency, m).MedianPct, e.InSample.MedianPct, 1e-9)
	}
}

func TestCtrlCEndsACalibration(t *testing.T) {
	for stopAt := range 4 {
		runs := []measured.Run{dense.Run(1, 200, 40), dense.Run(4, 200, 40)}
		fittest.Measure(t, runs, fittest.Truth(t))
		ctx, stop := context.WithCancel(context.Background())
		_, err := Own(ctx, []*measured.File{{Runs: runs}}, configs.Options{}, func(round, done int) {
			if round == stopAt && done == 1 {
				stop()
			}
		})
		assert.ErrorIs(t, err, context.Canceled, "round %d", stopAt)
		stop()
	}
}

func TestProgressCountsEveryRunOfEveryRound(t *testing.T) {
	runs := []measured.Run{dense.Run(1, 200, 40), dense.Run(4, 200, 40), dense.Run(8, 200, 40)}
	fittest.Measure(t, runs, fittest.Truth(t))
	var reported [][2]int
	_, err := Own(context.Background(), []*measured.File{{Runs: runs}}, configs.Options{}, func(round, done int) {
		reported = append(reported, [2]int{round, done})
	})
	require.NoError(t, err)
	var want [][2]int
	for round := range rounds + 1 {
		for done := range 3 {
			want = append(want, [2]int{round, done + 1})
		}
	}
	assert.Equal(t, want, reported)
}
