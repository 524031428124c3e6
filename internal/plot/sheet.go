package plot

import (
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/decodesim/decodesim/internal/text"
)

// Sheet is the page that a figure is drawn on; the origin is its lower left corner.
type Sheet struct {
	draw.Canvas
	height vg.Length
}

// Text writes a line with its baseline at y; align 0 begins it at x, 0.5 centres it and 1 ends it there.
func (s *Sheet) Text(x, y vg.Length, align float64, k Ink, label string) {
	Write(&s.Canvas, vg.Point{X: x, Y: y}, align, k, label)
}

// Write writes a line with its baseline at a point, at which the given share of it has been written.
func Write(c *draw.Canvas, at vg.Point, align float64, k Ink, label string) {
	face := k.style().Font
	c.SetColor(k.Shade)
	c.FillString(k.style().Handler.Cache().Lookup(face, k.Size),
		vg.Point{X: at.X - vg.Length(vg.Length(align)*k.Width(label)), Y: at.Y}, label)
}

// Rectangle fills a rectangle.
func (s *Sheet) Rectangle(x0, y0, x1, y1 vg.Length, fill Shade) {
	s.FillPolygon(fill, []vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}})
}

// Swatch draws a framed square of a colour, for a legend beside text with its baseline at y.
func (s *Sheet) Swatch(x, y vg.Length, fill Shade) {
	s.Rectangle(x, y-1, x+9, y+8, AxisLine)
	s.Rectangle(x+0.6, y-0.4, x+8.4, y+7.4, fill)
}

// Key draws the line of a curve in a legend, beside text with its baseline at y.
func (s *Sheet) Key(x, y vg.Length, style CurveStyle) {
	s.StrokeLine2(style.LineStyle, x, y+3, x+24, y+3)
	if style.Mark != nil {
		rimmed(&s.Canvas, vg.Point{X: x + 12, Y: y + 3}, style.Shade(), MarkRadius, style.Mark)
	}
}

// rimmed draws a mark with a white rim that parts it from its curve.
func rimmed(c *draw.Canvas, at vg.Point, k Shade, radius vg.Length, mark draw.GlyphDrawer) {
	c.DrawGlyphNoClip(draw.GlyphStyle{Color: White, Radius: radius + 1.2, Shape: mark}, at)
	c.DrawGlyphNoClip(draw.GlyphStyle{Color: k, Radius: radius, Shape: mark}, at)
}

// Header writes the title, the caption and further lines below it, broken where the sheet ends, and returns where
// the space below begins.
func (s *Sheet) Header(title string, c text.Caption, lines ...string) vg.Length {
	y := s.height - 28
	s.Text(MarginLeft, y, 0, Ink{Size: 14, Shade: InkDark, Bold: true}, title)
	ink := Body(InkSoft)
	for _, line := range append([]string{c.String()}, lines...) {
		for _, part := range ink.Lines(line, Width-MarginLeft-MarginRight) {
			y -= 14
			s.Text(MarginLeft, y, 0, ink, part)
		}
	}
	return y - 12
}

// Empty says on the figure why there is nothing to see.
func (s *Sheet) Empty(why string) {
	s.Text(Width/2, s.height*0.42, 0.5, Ink{Size: 12, Shade: InkSoft}, why)
}

// Overlap reports whether two rectangles have a part in common.
func Overlap(a, b vg.Rectangle) bool {
	return a.Min.X < b.Max.X && b.Min.X < a.Max.X && a.Min.Y < b.Max.Y && b.Min.Y < a.Max.Y
}

func clamp(f float64) float64 { return math.Max(0, math.Min(1, f)) }
