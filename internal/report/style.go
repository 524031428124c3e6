package report

import (
	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/decodesim/decodesim/internal/text"
)

// shade is an opaque colour, 0xRRGGBB.
type shade uint32

// RGBA implements color.Color.
func (s shade) RGBA() (r, g, b, a uint32) {
	return uint32(s>>16&0xff) * 0x101, uint32(s>>8&0xff) * 0x101, uint32(s&0xff) * 0x101, 0xffff
}

// The colours of every plot: dark text, a pale grid, and data in muted tones that differ in lightness too.
const (
	white     shade = 0xffffff
	inkDark   shade = 0x24292f
	inkSoft   shade = 0x68707a
	gridLine  shade = 0xe7eaee
	axisLine  shade = 0xaab2bd
	blue      shade = 0x33658a
	blueTint  shade = 0xdbe6ee
	amber     shade = 0xd08a2e
	amberTint shade = 0xf8ecd9
	green     shade = 0x4f8a6b
	greenTint shade = 0xe0ece5
	brick     shade = 0xb5483f
	plum      shade = 0x83588f
	slate     shade = 0x7a828c
)

// series returns the colour of the i-th curve.
func series(i int) shade {
	return [...]shade{blue, amber, green, plum, brick, slate}[i%6]
}

// curveLook is how a curve is drawn.
type curveLook struct {
	shade  shade
	dashes []vg.Length // nil: solid
	width  vg.Length
	mark   draw.GlyphDrawer // nil: none
}

// Of several curves the first is drawn first and widest, the last is this wide: each stays visible on those below it.
const (
	thinnest = vg.Length(1.1)
	widest   = vg.Length(2.6)
)

// curveStyle returns the look of the i-th of n curves: one alone is blue; several have colours that the colour-blind tell
// apart (Okabe and Ito, "Color Universal Design", 2008, with wine in place of yellow, which white paper swallows), and
// dashes that their neighbours do not have. No two of the first 32 are alike. Where curves coincide, the later ones are
// thinner, and each has marks of its own.
func curveStyle(n, i int) curveLook {
	if n == 1 {
		return curveLook{shade: blue, width: lineWidth}
	}
	colours := [...]shade{0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9, 0x24292f, 0x882255}
	dashes := [...][]vg.Length{nil, {6, 2}, {2, 1.5}, {8, 2, 2, 2}}
	marks := [...]draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}}
	width := thinnest + (widest-thinnest)*vg.Length(n-1-i)/vg.Length(n-1)
	return curveLook{colours[i%len(colours)], dashes[(i+i/len(colours))%len(dashes)], width, marks[i%len(marks)]}
}

// Sizes in points.
const (
	figureWidth  = 8 * vg.Inch
	figureHeight = 4.5 * vg.Inch
	marginLeft   = vg.Length(26)
	marginRight  = vg.Length(30)
	marginBottom = vg.Length(16)
	sizeTitle    = vg.Length(14)
	sizeText     = vg.Length(9)
	sizeSmall    = vg.Length(8.5)
	lineWidth    = vg.Length(1.6)
	hairline     = vg.Length(0.6)
)

// ink is how text looks.
type ink struct {
	size  vg.Length
	shade shade
	bold  bool
}

// face returns the font: Liberation Sans, which travels in the binary and has the metrics of Arial.
func (k ink) face() font.Face {
	f := font.Font{Typeface: "Liberation", Variant: "Sans"}
	if k.bold {
		f.Weight = xfont.WeightBold
	}
	return plot.DefaultTextHandler.Cache().Lookup(f, k.size)
}

func (k ink) width(text string) vg.Length {
	f := k.face()
	return f.Width(text)
}

// sheet is the page that a plot is drawn on; the origin is its lower left corner.
type sheet struct {
	draw.Canvas
	height vg.Length
}

// text writes a line with its baseline at y; align 0 begins it at x, 0.5 centres and 1 ends it there.
func (s *sheet) text(x, y vg.Length, align float64, k ink, text string) {
	s.SetColor(k.shade)
	s.FillString(k.face(), vg.Point{X: x - vg.Length(align)*k.width(text), Y: y}, text)
}

// halo writes as text does, on a white ground that keeps lines away from it.
func (s *sheet) halo(x, y vg.Length, align float64, k ink, text string) {
	w := k.width(text)
	left := x - vg.Length(align)*w
	s.rectangle(left-1.5, y-2, left+w+1.5, y+0.8*k.size, white)
	s.text(x, y, align, k, text)
}

func (s *sheet) rectangle(x0, y0, x1, y1 vg.Length, fill shade) {
	s.FillPolygon(fill, []vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}})
}

func (s *sheet) stroke(k shade, width vg.Length, dashes []vg.Length, points ...vg.Point) {
	s.StrokeLines(draw.LineStyle{Color: k, Width: width, Dashes: dashes}, points)
}

// dot marks a point with a white rim that parts it from its curve.
func (s *sheet) dot(p vg.Point, k shade) { s.glyph(p, k, 3, draw.CircleGlyph{}) }

func (s *sheet) glyph(p vg.Point, k shade, radius vg.Length, of draw.GlyphDrawer) {
	s.DrawGlyphNoClip(draw.GlyphStyle{Color: white, Radius: radius + 1.2, Shape: of}, p)
	s.DrawGlyphNoClip(draw.GlyphStyle{Color: k, Radius: radius, Shape: of}, p)
}

// header writes the title, the caption and further lines below it, and returns where the space below begins.
func (s *sheet) header(title string, c text.Caption, lines ...string) vg.Length {
	y := s.height - 28
	s.text(marginLeft, y, 0, ink{sizeTitle, inkDark, true}, title)
	for _, line := range append([]string{c.String()}, lines...) {
		y -= 14
		s.text(marginLeft, y, 0, ink{sizeText, inkSoft, false}, line)
	}
	return y - 12
}

// empty says on the plot why there is nothing to see.
func (s *sheet) empty(why string) {
	s.text(figureWidth/2, s.height*0.42, 0.5, ink{12, inkSoft, false}, why)
}
