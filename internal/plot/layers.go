package plot

import (
	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Layer is a function that draws in a chart.
type Layer func(c draw.Canvas, p *gonum.Plot)

// Plot implements gonum.Plotter.
func (l Layer) Plot(c draw.Canvas, p *gonum.Plot) { l(c, p) }

// Line is a curve through points.
func Line(style draw.LineStyle, points ...plotter.XY) *plotter.Line {
	return &plotter.Line{XYs: points, LineStyle: style}
}

// Area is the ground from the floor of a chart up to points.
func Area(fill Shade, points ...plotter.XY) *plotter.Line {
	return &plotter.Line{XYs: points, FillColor: fill}
}

// Dots are points with white rims that part them from their curve.
func Dots(k Shade, points ...plotter.XY) gonum.Plotter {
	return Marks(k, 3, draw.CircleGlyph{}, points...)
}

// MarkRadius is the size of the marks on curves.
const MarkRadius = vg.Length(2.6)

// Marks are points of a shape with white rims.
func Marks(k Shade, radius vg.Length, shape draw.GlyphDrawer, points ...plotter.XY) gonum.Plotter {
	return Layer(func(c draw.Canvas, p *gonum.Plot) {
		x, y := p.Transforms(&c)
		for _, q := range points {
			rimmed(&c, vg.Point{X: x(q.X), Y: y(q.Y)}, k, radius, shape)
		}
	})
}

// Note is a text at a point of a chart, which plotter.Labels cannot put on a white ground or keep inside.
type Note struct {
	At     plotter.XY
	Offset vg.Point
	Align  float64 // 0 begins the text at the point, 0.5 centres it and 1 ends it there
	Ink    Ink
	Text   string
	Ground bool // white below it keeps lines away
	Inside bool // is moved to stand between both ends of the chart
}

// Plot implements gonum.Plotter.
func (n Note) Plot(c draw.Canvas, p *gonum.Plot) {
	x, y := p.Transforms(&c)
	at := vg.Point{X: x(n.At.X), Y: y(n.At.Y)}.Add(n.Offset)
	w := n.Ink.Width(n.Text)
	if left := at.X - vg.Length(vg.Length(n.Align)*w); n.Inside {
		at.X += max(c.Min.X+2, min(c.Max.X-w-2, left)) - left
	}
	if n.Ground {
		left := at.X - vg.Length(vg.Length(n.Align)*w)
		c.FillPolygon(White, []vg.Point{
			{X: left - 1.5, Y: at.Y - 2}, {X: left + w + 1.5, Y: at.Y - 2},
			{X: left + w + 1.5, Y: at.Y + vg.Length(0.8*n.Ink.Size)}, {X: left - 1.5, Y: at.Y + vg.Length(0.8*n.Ink.Size)},
		})
	}
	Write(&c, at, n.Align, n.Ink, n.Text)
}
