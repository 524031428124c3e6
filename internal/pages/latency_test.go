package pages

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/plotter"

	"github.com/decodesim/decodesim/internal/page"
	"github.com/decodesim/decodesim/internal/plot"
)

// TestTokensOfOneStepDoNotSqueezeTheOthers: the axis begins near the first gap between steps, where tokens of one step
// are next to nothing apart, and at the least of the values otherwise.
func TestTokensOfOneStepDoNotSqueezeTheOthers(t *testing.T) {
	chunks := plot.Curve{Name: "chunks", Points: plotter.XYs{{X: 0.02, Y: 0.5}, {X: 0.03, Y: 1}}}
	tokens := plot.Curve{Name: "tokens", Points: plotter.XYs{{X: 1e-12, Y: 0.6}, {X: 0.03, Y: 1}}}
	p := Distribution(plot.Distribution{Curves: []plot.Curve{chunks, tokens}})
	require.NotNil(t, p.X.Min)
	assert.Equal(t, 0.01, *p.X.Min)
	assert.EqualValues(t, []float64{1e-12, 0.03}, p.Curves[1].X, "the values are all there")
	tokens.Points[0].X = 0.01
	assert.Nil(t, Distribution(plot.Distribution{Curves: []plot.Curve{chunks, tokens}}).X.Min)
	assert.Nil(t, Distribution(plot.Distribution{Curves: []plot.Curve{chunks}}).X.Min)
}

// TestGapsOfNothingDoNotSqueezeTheirOwnCurve: tokens that come together in chunks have most gaps at 0, and no second
// curve need be there for the axis to begin where real gaps do. Latencies that are far apart are real, all of them.
func TestGapsOfNothingDoNotSqueezeTheirOwnCurve(t *testing.T) {
	axis := func(points ...plotter.XY) *float64 {
		return Distribution(plot.Distribution{Curves: []plot.Curve{{Name: "tokens", Points: points}}}).X.Min
	}
	least := axis(plotter.XY{X: 0, Y: 0.6}, plotter.XY{X: 0.02, Y: 0.7}, plotter.XY{X: 0.03, Y: 1})
	require.NotNil(t, least)
	assert.Equal(t, 0.01, *least)
	assert.Nil(t, axis(plotter.XY{X: 0, Y: 1}), "there is nothing else to show")
	assert.Nil(t, axis(plotter.XY{X: 0.05, Y: 0.9}, plotter.XY{X: 90, Y: 1}), "a queue of minutes beside none")
}

// A log axis has no place for a gap of nothing, which is a share of the tokens all the same.
func TestGapsOfNothingKeepTheirShareOnALogAxis(t *testing.T) {
	c := cumulative(plot.Curve{Points: plotter.XYs{{X: 0, Y: 0.6}, {X: 0.03, Y: 1}}}, 10)
	assert.Equal(t, page.Numbers{0.6, 1}, c.Y)
	assert.Greater(t, c.X[0], 0.0)
	assert.Less(t, c.X[0], 1e-9)
}
