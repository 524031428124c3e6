package plot

import (
	"math"
	"strings"

	xfont "golang.org/x/image/font"
	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	gonumtext "gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Shade is an opaque colour, 0xRRGGBB.
type Shade uint32

// RGBA implements color.Color.
func (s Shade) RGBA() (r, g, b, a uint32) {
	return uint32(s>>16&0xff) * 0x101, uint32(s>>8&0xff) * 0x101, uint32(s&0xff) * 0x101, 0xffff
}

// The colours of every plot: dark text, a pale grid, and data in muted tones that differ in lightness too.
const (
	White     Shade = 0xffffff
	InkDark   Shade = 0x24292f
	InkSoft   Shade = 0x68707a
	GridLine  Shade = 0xe7eaee
	AxisLine  Shade = 0xaab2bd
	Blue      Shade = 0x33658a
	BlueTint  Shade = 0xdbe6ee
	Amber     Shade = 0xd08a2e
	AmberTint Shade = 0xf8ecd9
	Green     Shade = 0x4f8a6b
	GreenTint Shade = 0xe0ece5
	Brick     Shade = 0xb5483f
	BrickTint Shade = 0xf7e4e1
	Plum      Shade = 0x83588f
	Slate     Shade = 0x7a828c
)

// Series returns the colour of the i-th curve.
func Series(i int) Shade {
	return [...]Shade{Blue, Amber, Green, Plum, Brick, Slate}[i%6]
}

// CurveStyle is how a curve is drawn.
type CurveStyle struct {
	draw.LineStyle
	Mark draw.GlyphDrawer // nil: none
}

// Shade returns the colour of the curve.
func (l CurveStyle) Shade() Shade { return l.Color.(Shade) }

// Of several curves the first is drawn first and widest, the last is this wide: each stays visible on those below it.
const (
	thinnest = vg.Length(1.1)
	widest   = vg.Length(2.6)
)

// StyleOf returns the look of the i-th of n curves: one alone is blue; several have colours that the colour-blind tell
// apart (Okabe and Ito, "Color Universal Design", 2008, with wine in place of yellow, which white paper swallows), and
// dashes that their neighbours do not have. No two of the first 32 are alike. Where curves coincide, the later ones are
// thinner, and each has marks of its own.
func StyleOf(n, i int) CurveStyle {
	if n == 1 {
		return CurveStyle{LineStyle: Stroke(Blue, LineWidth)}
	}
	colours := [...]Shade{0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9, 0x24292f, 0x882255}
	dashes := [...][]vg.Length{nil, {6, 2}, {2, 1.5}, {8, 2, 2, 2}}
	marks := [...]draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}}
	width := thinnest + (widest-thinnest)*vg.Length(n-1-i)/vg.Length(n-1)
	style := Stroke(colours[i%len(colours)], width, dashes[(i+i/len(colours))%len(dashes)]...)
	return CurveStyle{style, marks[i%len(marks)]}
}

// Stroke returns the style of a line, solid unless it has dashes.
func Stroke(k Shade, width vg.Length, dashes ...vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: k, Width: width, Dashes: dashes}
}

// Sizes in points.
const (
	Width        = 8 * vg.Inch
	Height       = 4.5 * vg.Inch
	MarginLeft   = vg.Length(26)
	MarginRight  = vg.Length(30)
	MarginBottom = vg.Length(16)
	LineWidth    = vg.Length(1.6)
	hairline     = vg.Length(0.6)
	sizeText     = vg.Length(9)
	sizeSmall    = vg.Length(8.5)
)

// Ink is how text looks.
type Ink struct {
	Size  vg.Length
	Shade Shade
	Bold  bool
}

// Small is the ink of labels and notes.
func Small(k Shade) Ink { return Ink{Size: sizeSmall, Shade: k} }

// SmallBold is the ink of names in a chart.
func SmallBold(k Shade) Ink { return Ink{Size: sizeSmall, Shade: k, Bold: true} }

// Body is the ink of captions and legends.
func Body(k Shade) Ink { return Ink{Size: sizeText, Shade: k} }

// BodyBold is the ink of names in a legend.
func BodyBold(k Shade) Ink { return Ink{Size: sizeText, Shade: k, Bold: true} }

// Fit cuts a text that is wider than there is room for.
func (k Ink) Fit(label string, room vg.Length) string {
	letters := []rune(label)
	for n := len(letters); n > 0; n-- {
		cut := string(letters[:n])
		if n < len(letters) {
			cut += "…"
		}
		if k.Width(cut) <= room {
			return cut
		}
	}
	return label
}

// Lines breaks a text between words into lines for which there is room.
func (k Ink) Lines(label string, room vg.Length) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(label) {
		longer := strings.TrimPrefix(line+" "+word, " ")
		if line != "" && k.Width(longer) > room {
			lines = append(lines, line)
			longer = word
		}
		line = longer
	}
	return append(lines, line)
}

// Width returns how wide a text is.
func (k Ink) Width(label string) vg.Length { return k.style().Width(label) }

// style returns how gonum/plot writes the text: in Liberation Sans, which travels in the binary and has the metrics of
// Arial.
func (k Ink) style() gonumtext.Style {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: k.Size}
	if k.Bold {
		f.Weight = xfont.WeightBold
	}
	return gonumtext.Style{Color: k.Shade, Font: f, Handler: gonum.DefaultTextHandler}
}

// Mix returns the colour at the share w of the way to another.
func (s Shade) Mix(to Shade, w float64) Shade {
	out := Shade(0)
	for _, shift := range []uint{16, 8, 0} {
		a, b := float64(s>>shift&0xff), float64(to>>shift&0xff)
		out |= Shade(math.Round(a+float64((b-a)*clamp(w)))) << shift
	}
	return out
}

// Dark reports whether white is easier to read on it.
func (s Shade) Dark() bool {
	return float64(0.299*float64(s>>16&0xff))+float64(0.587*float64(s>>8&0xff))+float64(0.114*float64(s&0xff)) < 140
}
