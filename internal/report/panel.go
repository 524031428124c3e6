package report

import (
	"math"

	"gonum.org/v1/plot/vg"
)

// nameRise is how far above a panel its names stand, clear of the topmost label of the y axis.
const nameRise = vg.Length(13)

// panel is one coordinate system on a sheet.
type panel struct {
	*sheet
	left, right, bottom, top vg.Length
	x, y                     scale
}

// at returns where a point stands, kept inside the panel.
func (p *panel) at(x, y float64) vg.Point {
	return vg.Point{X: p.atX(x), Y: p.bottom + (p.top-p.bottom)*vg.Length(clamp(p.y.at(y)))}
}

func (p *panel) atX(x float64) vg.Length {
	return p.left + (p.right-p.left)*vg.Length(clamp(p.x.at(x)))
}

func clamp(f float64) float64 { return math.Max(0, math.Min(1, f)) }

func (p *panel) ticksX(ticks []tick, labels bool) {
	for _, t := range ticks {
		x := p.atX(t.value)
		p.stroke(gridLine, hairline, nil, vg.Point{X: x, Y: p.bottom}, vg.Point{X: x, Y: p.top})
		if labels && t.label != "" {
			p.stroke(axisLine, hairline, nil, vg.Point{X: x, Y: p.bottom}, vg.Point{X: x, Y: p.bottom - 3})
			p.text(x, p.bottom-13, 0.5, ink{sizeSmall, inkSoft, false}, t.label)
		}
	}
}

func (p *panel) ticksY(ticks []tick) {
	for _, t := range ticks {
		y := p.at(p.x.lo, t.value).Y
		p.stroke(gridLine, hairline, nil, vg.Point{X: p.left, Y: y}, vg.Point{X: p.right, Y: y})
		p.text(p.left-6, y-0.35*sizeSmall, 1, ink{sizeSmall, inkSoft, false}, t.label)
	}
}

// floor draws the axis at the bottom; after the grid, so that it stands above it.
func (p *panel) floor() {
	p.stroke(axisLine, 0.9, nil, vg.Point{X: p.left, Y: p.bottom}, vg.Point{X: p.right, Y: p.bottom})
}

// nameX writes what the x axis shows, below its labels.
func (p *panel) nameX(name string) {
	p.text(p.right, p.bottom-27, 1, ink{sizeSmall, inkDark, false}, name)
}

// nameY writes what the y axis shows, above its top, where it needs no turning of heads, and returns where it ends.
func (p *panel) nameY(name string) (end vg.Length) {
	k := ink{sizeSmall, inkDark, false}
	p.text(marginLeft, p.top+nameRise, 0, k, name)
	return marginLeft + k.width(name)
}

func (p *panel) line(k shade, points []Point) {
	p.stroke(k, lineWidth, nil, p.all(points)...)
}

func (p *panel) dashed(k shade, points []Point) {
	p.stroke(k, 1.2, []vg.Length{5, 3}, p.all(points)...)
}

// area fills from the bottom up to the points.
func (p *panel) area(k shade, points []Point) {
	if len(points) < 2 {
		return
	}
	outline := p.all(points)
	outline = append(outline, vg.Point{X: outline[len(outline)-1].X, Y: p.bottom}, vg.Point{X: outline[0].X, Y: p.bottom})
	p.FillPolygon(k, outline)
}

func (p *panel) all(points []Point) []vg.Point {
	out := make([]vg.Point, len(points))
	for i, q := range points {
		out[i] = p.at(q.X, q.F)
	}
	return out
}
