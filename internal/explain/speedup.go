package explain

import (
	"fmt"
	"image/color"
	"math"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/internal/text"
)

// SpeedUps is what drafting gains, by batch size and by the rate at which drafts are accepted.
type SpeedUps struct {
	Drafts  string      // such as "3 drafts, eagle"
	Batches []int       // powers of two, rising
	Rates   []float64   // rising evenly, from 0 to 1
	Factor  [][]float64 // tokens/s of a sequence with drafts over those without, by batch and rate
	Ridge   float64     // batch from which compute binds the linear layers of a verification; 0: none
}

// The ends of the colours of the map and their middle: orange and blue differ for the colour-blind too (Brewer,
// ColorBrewer 2.0, PuOr and RdBu), and the numbers stand in the cells.
const (
	slowerShade plot.Shade = 0xc0661a
	evenShade   plot.Shade = 0xf7f7f7
	fasterShade plot.Shade = 0x2c6aa8
)

// Draw draws a heat map: where drafting pays, and where verifying turns compute-bound.
func (h *SpeedUps) Draw(c text.Caption) (plot.Figure, error) {
	return plot.Render(plot.Height, func(s *plot.Sheet) {
		top := s.Header("When does drafting pay? Speed-up of a sequence with "+h.Drafts, c)
		if len(h.Batches) == 0 || len(h.Rates) < 2 {
			s.Empty("no batch fits: nothing to show")
			return
		}
		x, y := h.axes()
		chart := plot.NewChart(x, y)
		h.cells(chart)
		for i := 1; i < len(h.Batches); i++ {
			at := float64(i) - 0.5
			chart.Add(plot.Line(plot.Stroke(plot.White, 1), plotter.XY{X: at, Y: y.Min}, plotter.XY{X: at, Y: y.Max}))
		}
		for _, rate := range h.Rates[1:] {
			at := rate - h.half()
			chart.Add(plot.Line(plot.Stroke(plot.White, 1), plotter.XY{X: x.Min, Y: at}, plotter.XY{X: x.Max, Y: at}))
		}
		ridge, displayed := h.ridgeAt()
		if displayed {
			outlined(chart, 1.6, []vg.Length{5, 3}, plotter.XY{X: ridge, Y: y.Min}, plotter.XY{X: ridge, Y: y.Max})
		}
		outlined(chart, 2, nil, h.breakEven()...)
		place := plot.Place(top - 46)
		chart.Draw(s, place)
		h.key(s, place.Max.Y+plot.NameRise+18, displayed)
	})
}

// half is half of the height of a cell.
func (h *SpeedUps) half() float64 { return float64((h.Rates[1] - h.Rates[0]) / 2) }

// axes have a label for each column and row of cells.
func (h *SpeedUps) axes() (x, y plot.Axis) {
	x = plot.Axis{Name: "decoding sequences in the batch", Min: -0.5, Max: float64(len(h.Batches)) - 0.5,
		Scale: gonum.LinearScale{}}
	for i, b := range h.Batches {
		x.Ticks = append(x.Ticks, gonum.Tick{Value: float64(i), Label: text.Count(b)})
	}
	y = plot.Axis{
		Name: "rate at which a draft is accepted", Min: h.Rates[0] - h.half(), Max: h.Rates[len(h.Rates)-1] + h.half(),
		Scale: gonum.LinearScale{},
	}
	for _, rate := range h.Rates {
		y.Ticks = append(y.Ticks, gonum.Tick{Value: rate, Label: text.Short(math.Round(100*rate)) + " %"})
	}
	return x, y
}

// grid is the logarithms of the factors, as a heat map reads them.
type grid struct{ *SpeedUps }

// Dims implements plotter.GridXYZ.
func (g grid) Dims() (columns, rows int) { return len(g.Batches), len(g.Rates) }

// Z implements plotter.GridXYZ.
func (g grid) Z(column, row int) float64 { return math.Log(g.Factor[column][row]) }

// X implements plotter.GridXYZ.
func (g grid) X(column int) float64 { return float64(column) }

// Y implements plotter.GridXYZ.
func (g grid) Y(row int) float64 { return g.Rates[row] }

// cells fills the map, white where drafting changes nothing, and writes the factors.
func (h *SpeedUps) cells(chart *plot.Chart) {
	most := 1.1
	for _, column := range h.Factor {
		for _, f := range column {
			most = math.Max(most, math.Max(f, 1/f))
		}
	}
	if len(h.Batches) > 1 { // a heat map of one column has no width
		chart.Add(&plotter.HeatMap{GridXYZ: grid{h}, Palette: shades{}, Min: -math.Log(most), Max: math.Log(most)})
	}
	for i := range h.Batches {
		for j, rate := range h.Rates {
			ink := plot.InkDark
			if between(h.Factor[i][j], most).Dark() {
				ink = plot.White
			}
			small := plot.Small(ink)
			chart.Add(plot.Note{
				At: plotter.XY{X: float64(i), Y: rate}, Offset: vg.Point{Y: -0.35 * small.Size}, Align: 0.5, Ink: small,
				Text: fmt.Sprintf("%.2f", h.Factor[i][j]),
			})
		}
	}
}

// shades are the colours of the map, from the slowest to the fastest.
type shades struct{}

// Colors implements palette.Palette.
func (shades) Colors() []color.Color {
	const n = 128
	var all []color.Color
	for i := -n; i <= n; i++ {
		all = append(all, between(math.Exp(float64(i)), math.Exp(n)))
	}
	return all
}

// between returns the colour of a factor, by its logarithm.
func between(f, most float64) plot.Shade {
	end := fasterShade
	if f < 1 {
		end = slowerShade
	}
	return evenShade.Mix(end, math.Abs(math.Log(f))/math.Log(most))
}

// breakEven returns the border between the cells where drafting gains and those where it does not.
func (h *SpeedUps) breakEven() plotter.XYs {
	var border plotter.XYs
	for i := range h.Batches {
		from := 0
		for from < len(h.Rates) && h.Factor[i][from] < 1 {
			from++
		}
		y := h.Rates[len(h.Rates)-1] + h.half()
		if from < len(h.Rates) {
			y = h.Rates[from] - h.half()
		}
		border = append(border, plotter.XY{X: float64(i) - 0.5, Y: y}, plotter.XY{X: float64(i) + 0.5, Y: y})
	}
	return border
}

// ridgeAt returns the left edge of the first batch in which compute binds, and whether there is one.
func (h *SpeedUps) ridgeAt() (x float64, displayed bool) {
	for i, b := range h.Batches {
		if h.Ridge > 0 && float64(b) >= h.Ridge {
			return float64(i) - 0.5, true
		}
	}
	return 0, false
}

// outlined draws a dark line that white parts from the cells.
func outlined(chart *plot.Chart, width vg.Length, dashes []vg.Length, points ...plotter.XY) {
	chart.Add(plot.Line(plot.Stroke(plot.White, width+2.1), points...),
		plot.Line(plot.Stroke(plot.InkDark, width, dashes...), points...))
}

// key says what colours and lines are, above the map.
func (h *SpeedUps) key(s *plot.Sheet, y vg.Length, ridge bool) {
	x, dark := plot.MarginLeft, plot.Small(plot.InkDark)
	for _, k := range []struct {
		fill plot.Shade
		name string
	}{{slowerShade, "slower"}, {evenShade, "as without"}, {fasterShade, "faster"}} {
		s.Swatch(x, y, k.fill)
		s.Text(x+14, y, 0, dark, k.name)
		x += 28 + dark.Width(k.name)
	}
	s.Key(x, y, plot.CurveStyle{LineStyle: plot.Stroke(plot.InkDark, 2)})
	s.Text(x+29, y, 0, dark, "break-even")
	x += 43 + dark.Width("break-even")
	if ridge {
		s.Key(x, y, plot.CurveStyle{LineStyle: plot.Stroke(plot.InkDark, 1.6, 5, 3)})
		s.Text(x+29, y, 0, dark, "compute binds the linear layers from batch "+text.Short(math.Round(h.Ridge)))
	}
}
