package sensitivity

import (
	"fmt"
	"math"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/internal/text"
)

// barsMax is how many inputs a tornado shows.
const barsMax = 20

// Tornado draws what each input does to the answer, the most on top: from the answer with the input at the low end of
// its range (amber) to that at the high end (blue). Names of inputs that change the decision are red.
func Tornado(r *Result) (plot.Figure, error) {
	const pitch = vg.Length(17)
	inputs := r.Effects[:min(len(r.Effects), barsMax)]
	return plot.Render(140+vg.Length(pitch*vg.Length(max(5, len(inputs)))), func(s *plot.Sheet) {
		caption := text.Caption{Scenario: r.Scenario, Model: r.Is, Seed: &r.Seed}
		notes := []string{fmt.Sprintf("each input at the low (amber) and the high end (blue) of its range; as it is: %s",
			r.format(r.Base))}
		top := s.Header("What "+r.Metric+" rests on", caption, notes...)
		if len(inputs) == 0 {
			s.Empty("no input has a range: nothing to show")
			return
		}
		low, high := r.Base, r.Base
		for i := range inputs {
			for _, at := range []float64{float64(inputs[i].AtLow.Answer), float64(inputs[i].AtHigh.Answer)} {
				if !math.IsNaN(at) {
					low, high = min(low, at), max(high, at)
				}
			}
		}
		room := max(high-low, 1e-9*math.Abs(r.Base), 1e-12)
		x := plot.Linear(low-float64(0.04*room), high+float64(0.04*room), 7, r.format).Named(r.Metric)
		y := plot.Axis{Min: 0.4, Max: float64(len(inputs)) + 0.6, Scale: gonum.LinearScale{}}
		chart := plot.NewChart(x, y)
		chart.AddGrid()
		chart.Add(bars{r, inputs}.layer())
		place := plot.Place(top - 4)
		place.Min.X = plot.MarginLeft + 176
		chart.Draw(s, place)
		for i := range inputs {
			ink := plot.Small(plot.InkDark)
			if inputs[i].Changes {
				ink = plot.SmallBold(plot.Brick)
			}
			at := place.Max.Y - vg.Length((place.Max.Y-place.Min.Y)*vg.Length((float64(i)+0.6)/(float64(len(inputs))+0.2))) - 3
			s.Text(place.Min.X-8, at, 1, ink, ink.Fit(inputs[i].Name, 168))
		}
	})
}

// bars are the inputs of a tornado.
type bars struct {
	of     *Result
	inputs []Effect
}

func (b bars) layer() plot.Layer {
	return func(c draw.Canvas, p *gonum.Plot) {
		x, y := p.Transforms(&c)
		bar := func(row float64, to float64, fill plot.Shade) {
			if math.IsNaN(to) {
				return
			}
			from, end := x(b.of.Base), x(to)
			low, high := y(row-0.36), y(row+0.36)
			c.FillPolygon(fill, []vg.Point{{X: from, Y: low}, {X: end, Y: low}, {X: end, Y: high}, {X: from, Y: high}})
		}
		for i := range b.inputs {
			e := &b.inputs[i]
			row := float64(len(b.inputs) - i)
			first, second := float64(e.AtLow.Answer), float64(e.AtHigh.Answer)
			if (first-b.of.Base)*(second-b.of.Base) > 0 && math.Abs(first-b.of.Base) < math.Abs(second-b.of.Base) {
				bar(row, second, plot.Blue) // both to one side: the shorter above the longer
				bar(row, first, plot.Amber)
				continue
			}
			bar(row, first, plot.Amber)
			bar(row, second, plot.Blue)
		}
		c.StrokeLine2(plot.Stroke(plot.InkDark, 1), x(b.of.Base), c.Min.Y, x(b.of.Base), c.Max.Y)
	}
}
