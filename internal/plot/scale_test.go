package plot

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/decodesim/decodesim/internal/text"
)

func TestScalesEndAtRoundNumbers(t *testing.T) {
	around := func(low, high float64) []float64 {
		from, to := roundAround(low, high)
		return []float64{from, to}
	}
	assert.Equal(t, []float64{0.005, 0.05}, around(0.0083, 0.031))
	assert.Equal(t, []float64{0.005, 0.05}, around(0.0142, 0.0142))
	assert.Equal(t, []float64{10, 100}, around(10, 100))
	assert.Equal(t, 15.0, roundUp(12.1, 3))
	assert.Equal(t, 1.0, roundUp(0, 3))
	for g := -40; g < 40; g++ {
		assert.Equal(t, g, grade(round125(g)))
	}
}

func TestTicksStandAtRoundNumbers(t *testing.T) {
	var labels []string
	for _, tick := range Linear(-20, 30, 6, text.Short).Ticks {
		labels = append(labels, tick.Label)
	}
	assert.Equal(t, []string{"-20", "-10", "0", "10", "20", "30"}, labels)
	assert.InDelta(t, 0.5, Nines(2).at(0.9), 1e-12)
	assert.InDelta(t, zeroBin, logBetween(1, 10, true, text.Short).at(1), 1e-12)
	assert.Zero(t, logBetween(1, 10, true, text.Short).at(0))
}

func TestNoTwoCurvesLookAlike(t *testing.T) {
	const n = 32
	for i := range n {
		for j := range i {
			a, b := StyleOf(n, i), StyleOf(n, j)
			assert.False(t, a.Shade() == b.Shade() && slices.Equal(a.Dashes, b.Dashes), "%d and %d", i, j)
		}
		if i > 0 {
			a, b := StyleOf(n, i), StyleOf(n, i-1)
			assert.Less(t, a.Width, b.Width, "what is drawn later leaves what is below it visible")
			assert.NotEqual(t, a.Mark, b.Mark)
			assert.True(t, a.Shade() != b.Shade() && !slices.Equal(a.Dashes, b.Dashes), "neighbours differ in both: %d", i)
		}
	}
	assert.Equal(t, CurveStyle{LineStyle: Stroke(Blue, LineWidth)}, StyleOf(1, 0))
}

func TestNinesAreEquallyFarApart(t *testing.T) {
	a := Nines(3)
	for share, at := range map[float64]float64{0: 0, 0.9: 1. / 3, 0.99: 2. / 3, 0.999: 1} {
		assert.InDelta(t, at, a.at(share), 1e-12)
	}
	assert.Greater(t, a.at(1), 1.0)
	var labels []string
	for _, tick := range a.Ticks {
		labels = append(labels, tick.Label)
	}
	assert.Equal(t, []string{"0 %", "50 %", "90 %", "99 %", "99.9 %"}, labels)
}

// TestCurvesThatCoincideTakeTurns: of several equal ones every mark stands clear of the others'.
func TestCurvesThatCoincideTakeTurns(t *testing.T) {
	var points plotter.XYs
	for i := range 100 {
		points = append(points, plotter.XY{X: 0.01 * float64(i+1), Y: float64(i+1) / 100})
	}
	for _, n := range []int{2, 7, 12} {
		chart := NewChart(logBetween(0.01, 1, false, text.Short), Shares(5))
		chart.X.Min, chart.X.Max = 0.01, 1
		chart.Y.Min, chart.Y.Max = 0, 1
		canvas := &draw.Canvas{Rectangle: vg.Rectangle{Max: vg.Point{X: 400, Y: 160}}}
		places := marked(slices.Repeat([]plotter.XYs{points}, n), canvas, chart.Plot)
		var all []float64 // ways to the marks
		for i := range places {
			assert.GreaterOrEqual(t, len(places[i]), 2, "curve %d of %d", i, n)
			for _, q := range places[i] {
				all = append(all, float64(q.X+q.Y))
			}
		}
		slices.Sort(all)
		for i := range all[1:] {
			assert.Greater(t, all[i+1]-all[i], float64(2*MarkRadius), "of %d", n)
		}
	}
}
