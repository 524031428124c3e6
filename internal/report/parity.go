package report

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/internal/validation"
)

// The parity plot is a square with its legend to the right.
const (
	parityHeight = 6.2 * vg.Inch
	legendWidth  = vg.Length(158)
)

// Parity draws predicted against measured values of a metric, both on log axes, with the bands in which a prediction is
// within 10 and 25 % of the measurement.
func Parity(c text.Caption, v *validation.Validation, metric string) (Figure, error) {
	return render(parityHeight, func(s *sheet) {
		name := MetricName(metric)
		top := s.header(name+": predicted against measured", c)
		clouds, others := cloudsOf(v, metric)
		axis, ok := parityScale(clouds, others)
		if !ok {
			s.empty("no " + name + " is predicted: nothing to show")
			return
		}
		bottom, left := marginBottom+34, marginLeft+34
		side := min(top-nameRise-6-bottom, figureWidth-marginRight-legendWidth-left)
		p := &panel{s, left, left + side, bottom, bottom + side, axis, axis}
		p.within(0.25, blueBand)
		p.within(0.10, blueCore)
		ticks := labelled(logTicks(axis, text.Limit))
		p.ticksX(ticks, true)
		p.ticksY(ticks)
		p.stroke(axisLine, 0.9, nil, p.at(axis.lo, axis.lo), p.at(axis.hi, axis.hi))
		p.floor()
		p.nameX("measured " + name + ", log scale")
		p.nameY("predicted " + name)
		radius := vg.Length(1.9)
		if len(others.points)+pointsOf(clouds) < 100 {
			radius = 2.8
		}
		p.scatter(slate, radius, others.points)
		p.interleave(radius, clouds)
		p.cloudLegend(v, metric, clouds, others)
	})
}

// The grounds of the two bands.
const (
	blueCore shade = 0xcfdfea
	blueBand shade = 0xe8f0f5
)

// parityScale holds every point on one scale for both axes.
func parityScale(clouds []cloud, others cloud) (scale, bool) {
	lo, hi := math.Inf(1), 0.0
	for _, c := range append(slices.Clone(clouds), others) {
		for _, q := range c.points {
			lo, hi = min(lo, q.X, q.F), max(hi, q.X, q.F)
		}
	}
	if hi == 0 || lo <= 0 {
		return scale{}, false
	}
	return logarithmic(lo*0.93, hi*1.07), true
}

// labelled drops the ticks between labels: they would crowd the bands.
func labelled(ticks []tick) []tick {
	return slices.DeleteFunc(ticks, func(t tick) bool { return t.label == "" })
}

// within fills the band of predictions that are off by at most a share.
func (p *panel) within(share float64, k shade) {
	p.FillPolygon(k, p.all(band(p.x.lo, p.x.hi, share)))
}

// band returns the corners of |predicted / measured − 1| ≤ share in a square from lo to hi.
func band(lo, hi, share float64) []Point {
	up, down := 1+share, 1-share
	return []Point{{lo, lo}, {lo, lo * up}, {hi / up, hi}, {hi, hi}, {hi, hi * down}, {lo / down, lo}}
}

// translucent lets points that lie on each other be seen.
func translucent(k shade) color.Color {
	return color.NRGBA{R: uint8(k >> 16 & 0xff), G: uint8(k >> 8 & 0xff), B: uint8(k & 0xff), A: 0xa0}
}

func (p *panel) scatter(k shade, radius vg.Length, points []Point) {
	style := draw.GlyphStyle{Color: translucent(k), Radius: radius, Shape: draw.CircleGlyph{}}
	for _, q := range points {
		p.DrawGlyphNoClip(style, p.at(q.X, q.F))
	}
}

// interleave draws clouds in turns, so that none hides another.
func (p *panel) interleave(radius vg.Length, clouds []cloud) {
	const turns = 16
	for turn := range turns {
		for i, c := range clouds {
			n := len(c.points)
			p.scatter(series(i), radius, c.points[n*turn/turns:n*(turn+1)/turns])
		}
	}
}

// fit cuts a text that is wider than there is room for.
func (k ink) fit(text string, room vg.Length) string {
	letters := []rune(text)
	for n := len(letters); n > 0; n-- {
		if text = string(letters[:n]); n < len(letters) {
			text += "…"
		}
		if k.width(text) <= room {
			break
		}
	}
	return text
}

// cloudLegend says right of the panel what each colour is and how wrong.
func (p *panel) cloudLegend(v *validation.Validation, metric string, clouds []cloud, others cloud) {
	dark, soft := ink{sizeText, inkDark, true}, ink{sizeSmall, inkSoft, false}
	x, y := p.right+22, p.top-8
	entry := func(mark func(vg.Point), name, detail string) {
		mark(vg.Point{X: x + 4, Y: y + 3})
		p.text(x+14, y, 0, dark, dark.fit(name, legendWidth-36))
		p.text(x+14, y-12, 0, soft, detail)
		y -= 32
	}
	dot := func(k shade) func(vg.Point) {
		return func(at vg.Point) {
			p.DrawGlyphNoClip(draw.GlyphStyle{Color: k, Radius: 3.4, Shape: draw.CircleGlyph{}}, at)
		}
	}
	for i, c := range clouds {
		entry(dot(series(i)), c.name, fmt.Sprintf("n = %d, ", c.errors.N)+halfWithin(&c.errors))
	}
	if n := len(others.points); n > 0 {
		entry(dot(slate), "not of quality "+v.Quality, fmt.Sprintf("n = %d", n))
	}
	y -= 6
	i := slices.IndexFunc(v.Metrics, func(m validation.MetricErrors) bool { return m.Metric == metric })
	all := &v.Metrics[i].All
	if all.N == 0 {
		return
	}
	for i, band := range []struct {
		k    shade
		name string
	}{{blueCore, "±10 %"}, {blueBand, "±25 %"}} {
		swatch := func(at vg.Point) {
			p.rectangle(at.X-4, at.Y-4, at.X+4, at.Y+4, axisLine)
			p.rectangle(at.X-3.4, at.Y-3.4, at.X+3.4, at.Y+3.4, band.k)
		}
		entry(swatch, "within "+band.name, text.WholePercent(all.Within[i])+" of the predictions")
	}
	entry(func(vg.Point) {}, "all "+fmt.Sprint(all.N), fmt.Sprintf("%s, bias %s", halfWithin(all), text.SignedPercent(all.BiasPct)))
}

func halfWithin(e *validation.Errors) string {
	if e.N == 1 {
		return "off by " + text.UnsignedPercent(e.MedianPct)
	}
	return "half within " + text.UnsignedPercent(e.MedianPct)
}
