package explain

import (
	"math"
	"slices"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/internal/text"
)

// Roofline is what a device can do at most, and what batches of a model make of it.
type Roofline struct {
	GPU          string
	DType        string // that the peak is of
	BandwidthBps float64
	PeakFLOPS    float64
	Points       []RooflinePoint
}

// RooflinePoint is one batch.
type RooflinePoint struct {
	Label     string  // such as "batch 64"
	Intensity float64 // FLOP per byte moved
	FLOPS     float64 // achieved
}

// at is where the point stands.
func (q *RooflinePoint) at() plotter.XY { return plotter.XY{X: q.Intensity, Y: q.FLOPS} }

// Draw draws attainable FLOP/s against arithmetic intensity, both on log axes (Williams, Waterman and Patterson, CACM
// 52(4), 2009): min(peak, intensity · bandwidth).
func (r *Roofline) Draw(c text.Caption) (plot.Figure, error) {
	return plot.Render(plot.Height, func(s *plot.Sheet) {
		top := s.Header("Roofline of the "+r.GPU, c)
		if !(r.BandwidthBps > 0 && r.PeakFLOPS > 0) {
			s.Empty("no peak or no bandwidth is known: nothing to show")
			return
		}
		x, y := r.axes()
		chart := plot.NewChart(x, y)
		chart.AddGrid()
		r.roof(chart, x, y)
		r.batches(chart)
		place := plot.Place(top - plot.NameRise - 6)
		place.Min.X += 20 // labels are long
		chart.Draw(s, place)
		s.Text(plot.MarginLeft, place.Max.Y+plot.NameRise, 0, plot.Small(plot.InkDark), "attainable FLOP/s")
	})
}

// ridge is the intensity from which on compute binds.
func (r *Roofline) ridge() float64 { return r.PeakFLOPS / r.BandwidthBps }

// axes hold the ridge and every point, with a margin of a factor above the roof.
func (r *Roofline) axes() (x, y plot.Axis) {
	low, high, least := r.ridge()/30, r.ridge()*10, r.PeakFLOPS/30
	for _, q := range r.Points {
		if q.Intensity > 0 && q.FLOPS > 0 {
			low, high, least = math.Min(low, q.Intensity/1.5), math.Max(high, q.Intensity*2), math.Min(least, q.FLOPS/2)
		}
	}
	flops := func(v float64) string {
		u := text.CountUnit(v)
		return text.Short(v/u.Size) + " " + u.Name + "FLOP/s"
	}
	x = plot.Log(low, high, text.Short).Named("arithmetic intensity, FLOP per byte")
	return x, plot.Log(least, r.PeakFLOPS*1.6, flops).Decades()
}

// roof draws both ceilings and where they meet.
func (r *Roofline) roof(chart *plot.Chart, x, y plot.Axis) {
	start := math.Max(x.Min, y.Min/r.BandwidthBps)
	foot, peak := plotter.XY{X: start, Y: start * r.BandwidthBps}, plotter.XY{X: r.ridge(), Y: r.PeakFLOPS}
	end := plotter.XY{X: x.Max, Y: r.PeakFLOPS}
	floor := plotter.XY{X: peak.X, Y: y.Min}
	bold, soft := plot.BodyBold(plot.InkDark), plot.Small(plot.InkSoft)
	chart.Add(
		plot.Line(plot.Stroke(plot.InkDark, plot.LineWidth), foot, peak, end),
		plot.Line(plot.Stroke(plot.AxisLine, 1, 3, 3), floor, peak),
		plot.Note{
			At: end, Offset: vg.Point{Y: 6}, Align: 1, Ink: bold,
			Text: text.Scaled(r.PeakFLOPS, "FLOP/s") + " " + r.DType + ", from " +
				text.Significant(r.ridge()) + " FLOP per byte",
		},
		plot.Note{At: floor, Offset: vg.Point{X: 6, Y: 7}, Ink: soft, Text: "compute-bound", Ground: true},
		plot.Note{At: floor, Offset: vg.Point{X: -6, Y: 7}, Align: 1, Ink: soft, Text: "memory-bound", Ground: true},
		along(foot, peak, bold, text.Scaled(r.BandwidthBps, "B/s")),
	)
}

// along writes above the middle of a line, at its slope.
func along(from, to plotter.XY, k plot.Ink, label string) plot.Layer {
	return func(c draw.Canvas, p *gonum.Plot) {
		x, y := p.Transforms(&c)
		a, b := vg.Point{X: x(from.X), Y: y(from.Y)}, vg.Point{X: x(to.X), Y: y(to.Y)}
		c.Push()
		c.Translate(a.Add(b).Scale(0.5))
		c.Rotate(math.Atan2(float64(b.Y-a.Y), float64(b.X-a.X)))
		plot.Write(&c, vg.Point{Y: 6}, 0.5, k, label)
		c.Pop()
	}
}

// batches draws the points. A label that would cover another is left out, but never that of the last.
func (r *Roofline) batches(chart *plot.Chart) {
	displayed := slices.DeleteFunc(slices.Clone(r.Points),
		func(q RooflinePoint) bool { return !(q.Intensity > 0 && q.FLOPS > 0) })
	chart.Add(plot.Layer(func(c draw.Canvas, p *gonum.Plot) {
		var taken []vg.Rectangle
		for _, q := range slices.Backward(displayed) {
			box := labelBox(&c, p, &q)
			if !slices.ContainsFunc(taken, func(r vg.Rectangle) bool { return plot.Overlap(r, box) }) {
				taken = append(taken, box)
				plot.Note{
					At: q.at(), Offset: box.Min.Sub(position(&c, p, q.at())).Add(vg.Point{Y: 2}), Ink: plot.Small(plot.Blue),
					Text: q.Label, Ground: true,
				}.Plot(c, p)
			}
		}
	}))
	for _, q := range displayed {
		chart.Add(plot.Dots(plot.Blue, q.at()))
	}
}

// position returns where a point stands on the sheet.
func position(c *draw.Canvas, p *gonum.Plot, q plotter.XY) vg.Point {
	x, y := p.Transforms(c)
	return vg.Point{X: x(q.X), Y: y(q.Y)}
}

// labelBox returns the place of a label: right of and below its dot, away from the roof, or left where the chart ends.
func labelBox(c *draw.Canvas, p *gonum.Plot, q *RooflinePoint) vg.Rectangle {
	ink := plot.Small(plot.Blue)
	w, dot := ink.Width(q.Label), position(c, p, q.at())
	left := dot.X + 7
	if left+w > c.Max.X {
		left = dot.X - 7 - w
	}
	return vg.Rectangle{Min: vg.Point{X: left, Y: dot.Y - 11}, Max: vg.Point{X: left + w, Y: dot.Y - 9 + ink.Size}}
}
