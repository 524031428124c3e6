package calibration

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/validation"
)

// fixture has a constant of every fate.
func fixture() *Calibration {
	return &Calibration{
		Data: []string{"a.csv", "b.csv"}, Scenario: "mine.yaml", Set: []string{"weights=fp8"}, Runs: 3,
		Constants: []Constant{
			{Name: "bandwidth", Prior: 0.85, Fitted: 0.701, Known: 0.93},
			{Name: "compute", Prior: 0.7, Fitted: 1, Known: 0.1, AtLimit: true},
			{Name: "link", Prior: 0.35, Fitted: 0.35, Measure: "tensor_parallel > 1"},
			{Name: "layer_s", Prior: 40e-6, Fitted: 40.1e-6, Known: 0.3, Measure: "a small model"},
			{Name: "first_token_s", Prior: 0.05, Fitted: 0.0123, Known: 0.99},
		},
		Errors: []MetricErrors{
			{Metric: "ttft", Before: validation.ErrorsOf([]float64{100, 300, 50}),
				InSample: validation.ErrorsOf([]float64{-1, 2, 3}), LeftOut: validation.ErrorsOf([]float64{5, -6, 7})},
			{Metric: "tpot", Before: validation.ErrorsOf([]float64{10, 20, 30}),
				InSample: validation.ErrorsOf([]float64{0, 1, 2}), LeftOut: validation.ErrorsOf([]float64{-4, 5, 6})},
		},
	}
}

func printed(t *testing.T, c *Calibration, colour bool) string {
	var out bytes.Buffer
	require.NoError(t, WriteTable(&out, c, colour))
	return out.String()
}

func TestWhatACalibrationPrints(t *testing.T) {
	c := fixture()
	c.Skips = []Skip{{Reason: "two pools", Runs: 2}, {Reason: "too long", Runs: 1}}
	c.TooFast = []TooFast{{ID: "fast", MeasuredMS: 2, FloorMS: 4.5}}
	assert.Equal(t, `calibrated on 3 runs of a.csv, b.csv
on scenario mine.yaml
with weights=fp8

constant        before   fitted  change  known from the data
bandwidth        0.850    0.701   -18 %                 93 %
compute          0.700     1.00   +43 %         at its limit
layer_s        40.0 µs  40.1 µs     0 %                 30 %
first_token_s  50.0 ms  12.3 ms   -75 %                 99 %

|error|: median, p90  n  before          fitted         left out
TTFT                  3   100 %   260 %   2.0 %  2.8 %     6.0 %  6.8 %
TPOT                  3  20.0 %  28.0 %   1.0 %  1.8 %     5.0 %  5.8 %
left out: each run predicted from the others alone, as a run that was not measured

leans on before        measurements that would tell
layer_s                a small model

not determined: as before  measurements that would tell
link                   tensor_parallel > 1

not fitted to: 2 runs: two pools
not fitted to: 1 run: too long
warning: run fast is not fitted to, for it beats the bound of the data sheet: TPOT 2.00 ms, least possible 4.50 ms; it speculates, or is not what it says it is
`, printed(t, c, false))
}

func TestOneRunLeavesNothingToTestTheFitWith(t *testing.T) {
	c := fixture()
	c.Runs = 1
	for i := range c.Errors {
		c.Errors[i].LeftOut = validation.ErrorsOf(nil)
	}
	text := printed(t, c, false)
	assert.Contains(
		t, text, "one run leaves none to test the fit with: measure a second one, such as another concurrency\n")
	assert.Contains(t, text, "  –  –\n")
	assert.NotContains(t, text, "left out: each")
}

func TestAFitThatDoesNotHelpIsWarnedOf(t *testing.T) {
	c := fixture()
	c.Errors[0].LeftOut = validation.ErrorsOf([]float64{-90, 120, 150})
	c.Errors = append(c.Errors,
		MetricErrors{Metric: "e2e", Before: validation.ErrorsOf([]float64{1}),
			LeftOut: validation.ErrorsOf([]float64{2})})
	text := printed(t, c, false)
	assert.Contains(t, text, "warning: TTFT of runs left out is no better than before: ")
	assert.NotContains(t, text, "warning: TPOT")
	assert.NotContains(t, text, "warning: E2E", "which is not fitted to where there is a TPOT")
}

func TestDataThatSayNothingChangeNothing(t *testing.T) {
	c := fixture()
	c.Constants = c.Constants[2:3]
	assert.Contains(t, printed(t, c, false), "\nnothing changed: the data say nothing of any constant\n")
}

func TestLongListsOfACalibrationAreCut(t *testing.T) {
	c := fixture()
	for i := range 30 {
		c.Skips = append(c.Skips, Skip{Reason: fmt.Sprintf("reason %d", i), Runs: 1})
		c.TooFast = append(c.TooFast, TooFast{ID: fmt.Sprintf("run-%d", i), MeasuredMS: 1, FloorMS: 2})
	}
	text := printed(t, c, false)
	assert.Contains(t, text, "1 run: reason 15\nand for 14 reasons more\nwarning: run run-0 ")
	assert.Contains(t, text, "warning: and 10 runs more\n")
	assert.NotContains(t, text, "run-20")
}

func TestColoursChangeNoText(t *testing.T) {
	plain, coloured := printed(t, fixture(), false), printed(t, fixture(), true)
	assert.NotEqual(t, plain, coloured)
	for _, code := range []string{"\x1b[1m", "\x1b[2m", "\x1b[33m", "\x1b[0m"} {
		coloured = string(bytes.ReplaceAll([]byte(coloured), []byte(code), nil))
	}
	assert.Equal(t, plain, coloured)
}
