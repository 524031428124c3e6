package validation

import (
	"fmt"
	"math"
	"slices"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/internal/text"
)

// ErrorByConcurrency draws the spread of signed errors against the clients of a closed loop, a box for each octave:
// from p25 to p75, with its median and whiskers from p10 to p90.
func ErrorByConcurrency(c text.Caption, v *Validation) (plot.Figure, error) {
	var all []boxes
	for _, metric := range leading(v) {
		if b := boxesOf(v, metric); len(b.boxes) > 0 && len(all) < len(boxTints) {
			all = append(all, b)
		}
	}
	height := plot.Height
	if len(all) > 1 {
		height += vg.Length(1.6 * vg.Inch * vg.Length(len(all)-1))
	}
	return plot.Render(height, func(s *plot.Sheet) {
		const title = "Error by concurrency"
		if len(all) == 0 {
			s.Header(title, c)
			s.Empty("no closed loop is predicted: nothing to show")
			return
		}
		explained := "predicted / measured − 1: box p25 to p75 with the median, whiskers p10 to p90"
		if slices.ContainsFunc(all, boxes.cut) {
			explained += fmt.Sprintf(", which stands above n where it is beyond %d %%", errorPrintedMax)
		}
		top := s.Header(title, c, explained)
		place := plot.Place(top)
		bottom := place.Min.Y
		pitch := (top - bottom) / vg.Length(len(all))
		x := octaves(all)
		for i, b := range all {
			x.Unlabelled = i < len(all)-1
			place.Min.Y = top - vg.Length(pitch*vg.Length(i+1))
			place.Max.Y = place.Min.Y + pitch - 42
			axis := x
			if x.Unlabelled {
				axis.Name = ""
			}
			b.draw(s, axis, place, i)
		}
	})
}

// boxes are the errors of one metric.
type boxes struct {
	metric string
	boxes  []box
}

// box is the errors of the runs with 2^octave to 2^(octave+1) − 1 clients.
type box struct {
	octave   int
	from, to int // clients that occur
	errors   Errors
}

func boxesOf(v *Validation, metric string) boxes {
	var list []box
	percents := map[int][]float64{}
	each(v, metric, func(r *Row, x *Value) {
		n := r.Labels.Concurrency
		if n < 1 || !v.Headline(r) {
			return
		}
		octave := int(math.Log2(float64(n)) + 1e-9)
		i := slices.IndexFunc(list, func(b box) bool { return b.octave == octave })
		if i < 0 {
			i = len(list)
			list = append(list, box{octave: octave, from: n, to: n})
		}
		list[i].from, list[i].to = min(list[i].from, n), max(list[i].to, n)
		percents[octave] = append(percents[octave], *x.ErrorPct)
	})
	slices.SortFunc(list, func(a, b box) int { return a.octave - b.octave })
	for i := range list {
		list[i].errors = ErrorsOf(percents[list[i].octave])
	}
	return boxes{metric, list}
}

// errorPrintedMax is where an axis of errors ends at most, in percent: whiskers beyond it are labelled.
const errorPrintedMax = 200

// axis holds every whisker, and 0.
func (b boxes) axis() plot.Axis {
	low, high := -20.0, 20.0
	for _, x := range b.boxes {
		low, high = min(low, x.errors.Spread[0]), max(high, x.errors.Spread[3])
	}
	high = min(high, errorPrintedMax)
	step := plot.RoundStep(high-low, 5)
	return plot.Linear(step*math.Floor(low/step), step*math.Ceil(high/step), 6, func(percent float64) string {
		label := text.Short(percent) + " %"
		if percent > 0 {
			label = "+" + label
		}
		return label
	})
}

// cut reports whether a whisker leaves the axis.
func (b boxes) cut() bool {
	return slices.ContainsFunc(b.boxes, func(x box) bool { return x.errors.Spread[3] > b.axis().Max })
}

// boxTints are the grounds of the boxes of each chart, in the order of plot.Series.
var boxTints = [...]plot.Shade{plot.BlueTint, plot.AmberTint, plot.GreenTint, plot.GridLine}

// gridFaint is the ground of errors of at most 10 %.
const gridFaint plot.Shade = 0xf4f6f8

// draw draws the i-th of the charts.
func (b boxes) draw(s *plot.Sheet, x plot.Axis, place vg.Rectangle, i int) {
	y, k := b.axis(), plot.Series(i)
	chart := plot.NewChart(x, y)
	level := func(v float64) plotter.XYs { return plotter.XYs{{X: x.Min, Y: v}, {X: x.Max, Y: v}} }
	chart.Add(&plotter.Polygon{XYs: []plotter.XYs{append(level(-10), plotter.XY{X: x.Max, Y: 10},
		plotter.XY{X: x.Min, Y: 10})}, Color: gridFaint})
	chart.AddGrid()
	chart.Add(plot.Line(plot.Stroke(plot.AxisLine, 0.9), level(0)...))
	width := min(32, 0.6*place.Size().X/vg.Length(x.Max-x.Min))
	small := plot.Small(plot.InkSoft)
	small.Size--
	for _, o := range b.boxes {
		chart.Add(o.plotter(width, k, boxTints[i]))
		at := plotter.XY{X: float64(o.octave), Y: y.Max}
		chart.Add(plot.Note{At: at, Offset: vg.Point{Y: 2}, Align: 0.5, Ink: small, Text: "n = " + text.Count(o.errors.N)})
		if beyond := o.errors.Spread[3]; beyond > y.Max {
			chart.Add(plot.Note{At: at, Offset: vg.Point{Y: 11}, Align: 0.5, Ink: small, Text: text.SignedPercent(beyond)})
		}
	}
	chart.Draw(s, place)
	s.Text(plot.MarginLeft, place.Max.Y+plot.NameRise+8, 0, plot.SmallBold(k), MetricName(b.metric))
}

// plotter is the box of gonum/plot with our percentiles in place of its quartiles and whiskers.
func (o *box) plotter(width vg.Length, k, tint plot.Shade) *plotter.BoxPlot {
	p := &plotter.BoxPlot{
		Width: width, FillColor: tint, BoxStyle: plot.Stroke(k, 1), MedianStyle: plot.Stroke(k, 2.2),
		WhiskerStyle: plot.Stroke(k, 1.1),
	}
	p.Location, p.Median = float64(o.octave), o.errors.BiasPct
	p.AdjLow, p.Quartile1 = o.errors.Spread[0], o.errors.Spread[1]
	p.Quartile3, p.AdjHigh = o.errors.Spread[2], o.errors.Spread[3]
	return p
}

// octaves returns an axis that is labelled with the clients that occur.
func octaves(all []boxes) plot.Axis {
	first, last := all[0].boxes[0].octave, 0
	for _, b := range all {
		first, last = min(first, b.boxes[0].octave), max(last, b.boxes[len(b.boxes)-1].octave)
	}
	x := plot.Axis{
		Name: "clients of the closed loop, by octave", Min: float64(first) - 0.6, Max: float64(last) + 0.6,
		Scale:  gonum.LinearScale{},
		NoGrid: true,
	}
	for octave := first; octave <= last; octave++ {
		from, to := 0, 0
		for _, b := range all {
			for _, o := range b.boxes {
				if o.octave == octave {
					from, to = o.from, max(to, o.to)
				}
			}
		}
		if from > 0 {
			x.Ticks = append(x.Ticks, gonum.Tick{Value: float64(octave), Label: text.Range(from, to)})
		}
	}
	return x
}
