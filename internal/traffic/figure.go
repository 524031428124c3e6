package traffic

import (
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/internal/text"
)

// room between two charts of a sheet.
const between = vg.Length(60)

// Figure draws the rate over time above the distributions of lengths.
func Figure(s *Summary) (plot.Figure, error) {
	height := 6.6 * vg.Inch
	if s.OverTime == nil {
		height = plot.Height
	}
	return plot.Render(height, func(sheet *plot.Sheet) {
		top := sheet.Header("Requests of a trace: when they come, and how long they are", text.Caption{Scenario: s.Source})
		place := plot.Place(top - plot.NameRise - 8)
		if s.OverTime != nil {
			upper := place
			upper.Min.Y = place.Max.Y - vg.Length(place.Size().Y*0.36)
			s.rates(sheet, upper)
			place.Max.Y = upper.Min.Y - between - 4
		}
		wide := (place.Size().X - between) / 2
		for _, of := range []struct {
			name  string
			tally *tally
			shade plot.Shade
		}{{"tokens of a prompt, log scale", &s.record.prompts, plot.Blue},
			{"tokens of an output, log scale", &s.record.outputs, plot.Amber}} {
			place.Max.X = place.Min.X + wide
			distribution(sheet, place, of.name, of.tally, of.shade)
			place.Min.X += wide + between
		}
	})
}

// rates draws the rate in each part of the stream.
func (s *Summary) rates(sheet *plot.Sheet, place vg.Rectangle) {
	var line plotter.XYs
	most := 0.0
	each := partS(s.OverTime)
	for _, w := range s.OverTime {
		line = append(line, plotter.XY{X: w.StartS, Y: w.RatePerS}, plotter.XY{X: w.StartS + each, Y: w.RatePerS})
		most = max(most, w.RatePerS)
	}
	chart := plot.NewChart(plot.Times(line[len(line)-1].X, 8).Named("time"), plot.Counts(1.05*most, 4).Named("requests/s"))
	chart.Add(plot.Area(plot.GreenTint, line...))
	chart.AddGrid()
	chart.Add(plot.Line(plot.Stroke(plot.Green, plot.LineWidth), line...))
	chart.Draw(sheet, place)
}

// distribution draws the share of the requests with at most so many tokens.
func distribution(sheet *plot.Sheet, place vg.Rectangle, name string, t *tally, shade plot.Shade) {
	steps := t.steps()
	x := plot.Log(float64(max(1, steps[0].tokens)), float64(steps[len(steps)-1].tokens), text.Short).Decades().Named(name)
	chart := plot.NewChart(x, plot.Shares(5).Named("share of requests"))
	chart.AddGrid()
	var line plotter.XYs
	const points = 400 // more cannot be seen
	for i := range points + 1 {
		p := float64(i) / points
		line = append(line, plotter.XY{X: float64(quantile(steps, p, t.n)), Y: p})
	}
	chart.Add(plot.Line(plot.Stroke(shade, plot.LineWidth), line...))
	chart.Draw(sheet, place)
}
