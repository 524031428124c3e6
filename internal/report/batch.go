package report

import (
	"math"

	"gonum.org/v1/plot/vg"

	"github.com/decodesim/decodesim/internal/text"
)

// BatchPoint is the decode step of one batch size.
type BatchPoint struct {
	Batch        int
	ITLS         float64 // seconds
	FloorS       float64 // the least the data sheet allows
	ComputeBound bool    // of the floor
}

// ITLVsBatch draws the inter-token latency against the batch size, above its bound; the ground says what binds it.
func ITLVsBatch(c text.Caption, points []BatchPoint) (Figure, error) {
	return render(figureHeight, func(s *sheet) {
		top := s.header("Inter-token latency against batch size", c)
		if len(points) == 0 {
			s.empty("no batch fits: nothing to show")
			return
		}
		first, last := float64(points[0].Batch), float64(points[len(points)-1].Batch)
		if first == last {
			first, last = first/2, last*2
		}
		most := 0.0
		var itl, floor []Point
		for _, q := range points {
			most = math.Max(most, q.ITLS)
			itl = append(itl, Point{float64(q.Batch), q.ITLS})
			floor = append(floor, Point{float64(q.Batch), q.FloorS})
		}
		u := text.TimeUnit(most)
		y := linear(most/u.Size*1.08, 5)
		y = scale{lo: 0, hi: y.hi * u.Size}
		p := &panel{s, marginLeft + 34, figureWidth - marginRight, marginBottom + 34, top - 20, scale{lo: first, hi: last, log: true}, y}
		edge := p.edge(points)
		p.ground(edge)
		p.ticksX(doublings(p.x), true)
		p.ticksY(timeTicks(y, u))
		p.region(p.left, edge, "memory-bound", blue)
		p.region(edge, p.right, "compute-bound", amber)
		p.dashed(inkDark, floor)
		p.line(blue, itl)
		if len(floor) == 1 {
			p.dot(p.at(floor[0].X, floor[0].F), inkDark)
		}
		for _, q := range itl {
			p.dot(p.at(q.X, q.F), blue)
		}
		p.floor()
		p.nameX("decoding sequences in the batch, log scale")
		p.key()
	})
}

// edge returns where compute begins to bind the floor: midway between the batches on both sides of the change.
func (p *panel) edge(points []BatchPoint) vg.Length {
	for i, q := range points {
		switch {
		case q.ComputeBound && i == 0:
			return p.left
		case q.ComputeBound:
			return (p.atX(float64(points[i-1].Batch)) + p.atX(float64(q.Batch))) / 2
		}
	}
	return p.right
}

// ground shades what memory binds, and what compute binds.
func (p *panel) ground(edge vg.Length) {
	if edge > p.left {
		p.rectangle(p.left, p.bottom, edge, p.top, blueTint)
	}
	if edge < p.right {
		p.rectangle(edge, p.bottom, p.right, p.top, amberTint)
	}
}

// region names a part of the ground, if it is wide enough for its name.
func (p *panel) region(from, to vg.Length, name string, k shade) {
	style := ink{sizeSmall, k, true}
	if to-from > style.width(name)+8 {
		p.text((from+to)/2, p.top-14, 0.5, style, name)
	}
}

// key says which line is which, above the panel.
func (p *panel) key() {
	y, dark := p.top+10, ink{sizeSmall, inkDark, false}
	x := marginLeft
	p.stroke(blue, lineWidth, nil, vg.Point{X: x, Y: y + 3}, vg.Point{X: x + 18, Y: y + 3})
	p.text(x+23, y, 0, dark, "predicted ITL")
	x += 23 + dark.width("predicted ITL") + 18
	p.stroke(inkDark, 1.2, []vg.Length{5, 3}, vg.Point{X: x, Y: y + 3}, vg.Point{X: x + 18, Y: y + 3})
	p.text(x+23, y, 0, dark, "bound: peak bandwidth and peak FLOP/s")
}
