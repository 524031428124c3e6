package plot

import (
	gonum "gonum.org/v1/plot"
	gonumtext "gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// NameRise is how far above a chart its names stand, clear of the topmost label of the vertical axis.
const NameRise = vg.Length(13)

// Chart is one coordinate system on a sheet. What is added to it is drawn in order.
type Chart struct {
	*gonum.Plot
	x, y Axis
}

// NewChart returns an empty chart in the house style.
func NewChart(x, y Axis) *Chart {
	p := gonum.New()
	p.BackgroundColor = nil
	for _, a := range []*gonum.Axis{&p.X, &p.Y} {
		a.Padding = 0
		a.Tick.Label = beside(a.Tick.Label, Small(InkSoft))
		a.Tick.LineStyle = Stroke(AxisLine, hairline)
		a.Label.TextStyle = beside(a.Label.TextStyle, Small(InkDark))
	}
	p.X.LineStyle = Stroke(AxisLine, 0.9)
	p.X.Tick.Length = 3
	p.X.Label.Text, p.X.Label.Position, p.X.Label.Padding = x.Name, draw.PosRight, 4
	p.X.Scale, p.X.Tick.Marker = x.Scale, x.labels()
	p.Y.Width, p.Y.Tick.Length = 0, 0
	p.Y.Scale, p.Y.Tick.Marker = y.Scale, y.labels()
	return &Chart{p, x, y}
}

// Add adds what is drawn in the chart. Neither the range of its data nor its extent counts: both axes are given, and
// marks may stand over the edge.
func (c *Chart) Add(layers ...gonum.Plotter) {
	for _, l := range layers {
		c.Plot.Add(Layer(l.Plot))
	}
}

// AddGrid draws a line at every tick of both axes, above what has been added before. The grid of gonum/plot leaves out
// ticks without a label, which log axes have.
func (c *Chart) AddGrid() { c.Add(Layer(c.grid)) }

// beside returns the style of an ink for text that stands beside an axis as another style does.
func beside(as gonumtext.Style, k Ink) gonumtext.Style {
	style := k.style()
	style.XAlign, style.YAlign = as.XAlign, as.YAlign
	return style
}

func (c *Chart) grid(canvas draw.Canvas, p *gonum.Plot) {
	style := Stroke(GridLine, hairline)
	x, y := p.Transforms(&canvas)
	for _, t := range c.x.Ticks {
		if at := x(t.Value); canvas.ContainsX(at) && !c.x.NoGrid {
			canvas.StrokeLine2(style, at, canvas.Min.Y, at, canvas.Max.Y)
		}
	}
	for _, t := range c.y.Ticks {
		if at := y(t.Value); canvas.ContainsY(at) && !c.y.NoGrid {
			canvas.StrokeLine2(style, canvas.Min.X, at, canvas.Max.X, at)
		}
	}
}

// Draw draws the chart with its data in the given place: labels stand outside of it. The name of the vertical axis
// stands above, where it needs no turning of heads. gonum/plot would place the data within what labels leave; here
// charts line up with each other and with the title, and labels take what they need.
func (c *Chart) Draw(s *Sheet, place vg.Rectangle) {
	c.X.Min, c.X.Max = c.x.Min, c.x.Max
	c.Y.Min, c.Y.Max = c.y.Min, c.y.Max
	whole := draw.Canvas{Canvas: s.Canvas.Canvas, Rectangle: place}
	for range 3 { // the room that labels take depends a little on that of the data
		data := c.DataCanvas(whole)
		whole.Min = whole.Min.Add(place.Min.Sub(data.Min))
		whole.Max = whole.Max.Add(place.Max.Sub(data.Max))
	}
	c.Plot.Draw(whole)
	if c.y.Name != "" {
		s.Text(place.Min.X-nameIndent, place.Max.Y+NameRise, 0, Small(InkDark), c.y.Name)
	}
}

// nameIndent is how far left of a chart the name of its vertical axis begins.
const nameIndent = vg.Length(34)

// NameEnd returns where the name of the vertical axis ends on the sheet.
func (c *Chart) NameEnd(place vg.Rectangle) vg.Length {
	return place.Min.X - nameIndent + Small(InkDark).Width(c.y.Name)
}

// Place returns the usual place of a chart below top: as wide as the sheet, with room for labels.
func Place(top vg.Length) vg.Rectangle {
	return vg.Rectangle{
		Min: vg.Point{X: MarginLeft + nameIndent, Y: MarginBottom + 34},
		Max: vg.Point{X: Width - MarginRight, Y: top},
	}
}
