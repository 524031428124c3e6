package report

import (
	"math"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// Sizes of the bars, in points.
const (
	barWide     = 0.62 // of the room of a bar
	legendWide  = vg.Length(96)
	legendPitch = vg.Length(15)
	betweenBars = vg.Length(44) // between the charts, for what stands above the lower one
)

// GapParts draws what gaps between tokens are made of, a stacked bar for the mean and each quantile: as long as they
// are above, and all as long as each other below, where a short gap shows its parts beside a long one.
func GapParts(c text.Caption, s *metrics.Summary) (plot.Figure, error) {
	return plot.Render(5.8*vg.Inch, func(sheet *plot.Sheet) {
		title := "What inter-token latency is made of"
		switch gapNoun(s) {
		case "chunk gap":
			title = "What gaps between chunks of tokens are made of"
		case "step gap":
			title = "What gaps between the steps of a request are made of"
		}
		if len(s.Gaps) == 0 {
			sheet.Header(title, c)
			sheet.Empty("no token gaps: nothing to show")
			return
		}
		top := sheet.Header(title, c, "parts sum to the gap; prefill is how much shorter it would be without prompts")
		lower := plot.Place(top - plot.NameRise - 8)
		lower.Min.Y -= 14 // no axis has a name below
		lower.Max.X -= legendWide
		upper := lower
		lower.Max.Y = vg.Length((upper.Min.Y + upper.Max.Y - betweenBars) / 2)
		upper.Min.Y = lower.Max.Y + betweenBars

		longest := 0.0
		for _, g := range s.Gaps {
			longest = math.Max(longest, g.GapS)
		}
		lengths := stacks(s.Gaps, plot.Times(longest, 5).Named("length of a gap"), true, upper.Size().X,
			func(g metrics.Gap) float64 { return g.GapS })
		for i, g := range s.Gaps {
			lengths.Add(plot.Note{
				At: plotter.XY{X: float64(i), Y: g.GapS}, Offset: vg.Point{Y: 5}, Align: 0.5, Ink: plot.SmallBold(plot.InkDark),
				Text: text.Duration(g.GapS), Ground: true,
			})
		}
		lengths.Draw(sheet, upper)
		shares := stacks(s.Gaps, plot.Shares(5).Named("share of it"), false, lower.Size().X,
			func(metrics.Gap) float64 { return 1 })
		shares.Draw(sheet, lower)
		stackLegend(sheet, lower.Max.X+18, top-plot.NameRise-17, s.Gaps)
	})
}

// stacks returns a chart with a bar of the given height for each gap, stacked from its parts; unlabelled: without their
// names.
func stacks(gaps []metrics.Gap, y plot.Axis, unlabelled bool, width vg.Length,
	height func(metrics.Gap) float64) *plot.Chart {
	x := plot.Axis{Min: -0.5, Max: float64(len(gaps)) - 0.5, Scale: gonum.LinearScale{}, Unlabelled: unlabelled,
		NoGrid: true}
	for i, g := range gaps {
		x.Ticks = append(x.Ticks, gonum.Tick{Value: float64(i), Label: g.At})
	}
	chart := plot.NewChart(x, y)
	chart.AddGrid()
	var below *plotter.BarChart
	for i, part := range partsOf(&metrics.Parts{}) {
		bars := &plotter.BarChart{Width: barWide * width / vg.Length(len(gaps)), Color: part.shade}
		for _, g := range gaps {
			bars.Values = append(bars.Values, max(0, partsOf(&g.Parts)[i].seconds)/g.GapS*height(g))
		}
		if below != nil {
			bars.StackOn(below)
		}
		below = bars
		chart.Add(bars, separators(bars))
	}
	return chart
}

// partSeen is how high a part is that has a line above it.
const partSeen = vg.Length(1)

// separators draws a white line above each bar: neighbours differ by more than their colours.
func separators(bars *plotter.BarChart) plot.Layer {
	return func(c draw.Canvas, p *gonum.Plot) {
		x, y := p.Transforms(&c)
		for i, height := range bars.Values {
			top := y(bars.BarHeight(i))
			if top-y(bars.BarHeight(i)-height) > partSeen {
				at, half := x(float64(i)), vg.Length(bars.Width/2)
				c.StrokeLine2(plot.Stroke(plot.White, 0.6), at-half, top, at+half, top)
			}
		}
	}
}

// stackLegend names the colours in the order of the stack, from its top down.
func stackLegend(s *plot.Sheet, x, y vg.Length, gaps []metrics.Gap) {
	notable := notable(gaps)
	for i := len(notable) - 1; i >= 0; i-- {
		part := partsOf(&metrics.Parts{})[notable[i]]
		s.Rectangle(x, y-1, x+10, y+8, part.shade)
		s.Text(x+16, y, 0, plot.Body(plot.InkDark), part.name)
		y -= legendPitch
	}
}
