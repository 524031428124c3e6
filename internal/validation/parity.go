package validation

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/internal/text"
)

// The parity plot is a square with its legend to the right.
const (
	parityHeight = 6.2 * vg.Inch
	legendWidth  = vg.Length(158)
)

// The grounds of the bands in which predictions are off by at most 10 % and 25 %.
const (
	blueCore plot.Shade = 0xcfdfea
	blueBand plot.Shade = 0xe8f0f5
)

// Parity draws predicted against measured values of a metric, both on log axes, with the bands in which a prediction is
// within 10 and 25 % of the measurement.
func Parity(c text.Caption, v *Validation, metric string) (plot.Figure, error) {
	return plot.Render(parityHeight, func(s *plot.Sheet) {
		name := MetricName(metric)
		top := s.Header(name+": predicted against measured", c)
		clouds, others := cloudsOf(v, metric)
		axis, ok := parityAxis(clouds, others)
		if !ok {
			s.Empty("no " + name + " is predicted: nothing to show")
			return
		}
		place := plot.Place(top - plot.NameRise - 6)
		side := min(place.Size().Y, place.Size().X-legendWidth)
		place.Max = place.Min.Add(vg.Point{X: side, Y: side})
		chart := plot.NewChart(axis.Named("measured "+name+", log scale"), axis.Named("predicted "+name))
		chart.Add(band(axis, 0.25, blueBand), band(axis, 0.10, blueCore))
		chart.AddGrid()
		chart.Add(plot.Line(plot.Stroke(plot.AxisLine, 0.9), plotter.XY{X: axis.Min, Y: axis.Min},
			plotter.XY{X: axis.Max, Y: axis.Max}))
		radius := vg.Length(1.9)
		if len(others.points)+pointsOf(clouds) < 100 {
			radius = 2.8
		}
		chart.Add(scatter(radius, clouds, others))
		chart.Draw(s, place)
		cloudLegend(s, place, v, metric, clouds, others)
	})
}

// parityAxis holds every point, for both axes.
func parityAxis(clouds []cloud, others cloud) (plot.Axis, bool) {
	low, high := math.Inf(1), 0.0
	for _, c := range append(slices.Clone(clouds), others) {
		for _, q := range c.points {
			low, high = min(low, q.X, q.Y), max(high, q.X, q.Y)
		}
	}
	if high == 0 || low <= 0 {
		return plot.Axis{}, false
	}
	return plot.Log(low*0.93, high*1.07, text.Limit).Labelled(), true // more lines would crowd the bands
}

// band is the ground of predictions that are off by at most a share: |predicted / measured − 1| ≤ share.
func band(axis plot.Axis, share float64, fill plot.Shade) *plotter.Polygon {
	return &plotter.Polygon{XYs: []plotter.XYs{corners(axis.Min, axis.Max, share)}, Color: fill}
}

// corners returns the corners of a band in a square from low to high.
func corners(low, high, share float64) plotter.XYs {
	up, down := 1+share, 1-share
	return plotter.XYs{
		{X: low, Y: low}, {X: low, Y: low * up}, {X: high / up, Y: high}, {X: high, Y: high}, {X: high, Y: high * down},
		{X: low / down, Y: low},
	}
}

// translucent lets points that lie on each other be seen.
func translucent(k plot.Shade) color.Color {
	return color.NRGBA{R: uint8(k >> 16 & 0xff), G: uint8(k >> 8 & 0xff), B: uint8(k & 0xff), A: 0xa0}
}

// scatter draws the others below the clouds, which are drawn in turns, so that none hides another.
func scatter(radius vg.Length, clouds []cloud, others cloud) *plotter.Scatter {
	const turns = 16
	points := slices.Clone(others.points)
	colours := slices.Repeat([]color.Color{translucent(plot.Slate)}, len(points))
	for turn := range turns {
		for i, c := range clouds {
			n := len(c.points)
			some := c.points[n*turn/turns : n*(turn+1)/turns]
			points = append(points, some...)
			colours = append(colours, slices.Repeat([]color.Color{translucent(plot.Series(i))}, len(some))...)
		}
	}
	style := func(i int) draw.GlyphStyle {
		return draw.GlyphStyle{Color: colours[i], Radius: radius, Shape: draw.CircleGlyph{}}
	}
	return &plotter.Scatter{XYs: points, GlyphStyleFunc: style}
}

// cloudLegend says right of the chart what each colour is and how wrong.
func cloudLegend(s *plot.Sheet, place vg.Rectangle, v *Validation, metric string, clouds []cloud, others cloud) {
	dark, soft := plot.BodyBold(plot.InkDark), plot.Small(plot.InkSoft)
	x, y := place.Max.X+22, place.Max.Y-8
	entry := func(name, detail string) {
		s.Text(x+14, y, 0, dark, dark.Fit(name, legendWidth-36))
		s.Text(x+14, y-12, 0, soft, detail)
		y -= 32
	}
	dot := func(k plot.Shade) {
		s.DrawGlyphNoClip(draw.GlyphStyle{Color: k, Radius: 3.4, Shape: draw.CircleGlyph{}}, vg.Point{X: x + 4, Y: y + 3})
	}
	for i, c := range clouds {
		dot(plot.Series(i))
		entry(c.name, "n = "+text.Count(c.errors.N)+", "+halfWithin(&c.errors))
	}
	if n := len(others.points); n > 0 {
		dot(plot.Slate)
		entry("not of quality "+v.Quality, "n = "+text.Count(n))
	}
	y -= 6
	all := &v.Metrics[slices.IndexFunc(v.Metrics, func(m MetricErrors) bool { return m.Metric == metric })].All
	if all.N == 0 {
		return
	}
	for i, band := range []struct {
		fill plot.Shade
		name string
	}{{blueCore, "±10 %"}, {blueBand, "±25 %"}} {
		s.Swatch(x, y, band.fill)
		entry("within "+band.name, text.WholePercent(all.Within[i])+" of the predictions")
	}
	entry("all "+text.Count(all.N), halfWithin(all)+", bias "+text.SignedPercent(all.BiasPct))
}

func halfWithin(e *Errors) string {
	if e.N == 1 {
		return "off by " + text.UnsignedPercent(e.MedianPct)
	}
	return "half within " + text.UnsignedPercent(e.MedianPct)
}
