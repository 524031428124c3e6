package report

import (
	"gonum.org/v1/plot/vg"

	"github.com/decodesim/decodesim/internal/text"
)

const (
	betweenPanels = vg.Length(64)
	legendRow     = vg.Length(14)
	pairNines     = 3 // 99.9 %: beyond it runs of some thousand requests have few samples
)

// CDFPair draws two distributions of the same curves side by side, under one legend. The scale of the shares has as much
// room from 90 % to 99 % as below 90 %: curves that differ do so in their tails.
func CDFPair(c text.Caption, title string, left, right Distribution) (Figure, error) {
	height := figureHeight + legendRow*vg.Length(max(0, len(left.Curves)-2))
	return render(height, func(s *sheet) {
		top := s.header(title, c)
		top = s.pairLegend(top, left, right)
		start := marginLeft + 34
		wide := (figureWidth - marginRight - start - betweenPanels) / 2
		for i, d := range []Distribution{left, right} {
			at := start + vg.Length(i)*(wide+betweenPanels)
			x, ok := timeScale(d)
			if !ok {
				s.text(at+wide/2, s.height*0.35, 0.5, ink{sizeText, inkSoft, false}, "no "+d.Noun+": nothing to show")
				continue
			}
			p := &panel{s, at, at + wide, marginBottom + 34, top - nameRise - 20, x, scale{nines: pairNines}}
			p.distribution(d)
		}
	})
}

// distribution draws the curves of one of several panels of a sheet.
func (p *panel) distribution(d Distribution) {
	p.text(p.left-34, p.top+nameRise+13, 0, ink{sizeText, inkDark, true}, d.Title)
	p.ticksX(p.sparse(logTicks(p.x, text.Limit)), true)
	p.ticksY(ninesTicks(p.y))
	p.floor()
	p.nameX("time, log scale")
	k := ink{sizeSmall, inkDark, false}
	name := "share of " + d.Noun
	p.text(p.left-34, p.top+nameRise, 0, k, name)
	if d.SLOS > 0 {
		p.slo(d.SLOS, limitName(d), p.left-34+k.width(name)+10)
	}
	p.curves(d.Curves)
}

const (
	markRadius = vg.Length(2.6)
	markApart  = vg.Length(11) // at least, from curve to curve
	markPitch  = vg.Length(66) // at least, on a curve
)

// marks puts marks on curves that tell them apart where they coincide.
func (p *panel) marks(curves []Curve) {
	for i, places := range p.marked(curves) {
		k := curveStyle(len(curves), i)
		for _, at := range places {
			p.glyph(at, k.shade, markRadius, k.mark)
		}
	}
}

// marked returns the places of the marks of each curve: where the way from the corner, right and up, is of a length that is
// the curve's own, so that curves that coincide take turns. Unlike height or time alone, that way grows wherever a curve goes.
func (p *panel) marked(curves []Curve) [][]vg.Point {
	n := len(curves)
	places := make([][]vg.Point, n)
	pitch := max(markPitch, markApart*vg.Length(n))
	way := func(q vg.Point) vg.Length { return q.X - p.left + q.Y - p.bottom }
	for i, line := range p.staircases(curves) {
		next := pitch * (vg.Length(i) + 0.5) / vg.Length(n)
		for j := range line {
			from, to := line[max(0, j-1)], line[j]
			for ; next <= way(to); next += pitch {
				if j > 0 {
					part := (next - way(from)) / (way(to) - way(from))
					places[i] = append(places[i], vg.Point{X: from.X + part*(to.X-from.X), Y: from.Y + part*(to.Y-from.Y)})
				}
			}
		}
	}
	return places
}

// sparse takes labels away that would touch the one before.
func (p *panel) sparse(ticks []tick) []tick {
	k, end := ink{sizeSmall, inkSoft, false}, vg.Length(0)
	for i, t := range ticks {
		if t.label == "" {
			continue
		}
		half := k.width(t.label) / 2
		if x := p.atX(t.value); x-half < end+4 && end > 0 {
			ticks[i].label = ""
		} else {
			end = x + half
		}
	}
	return ticks
}

// pairLegend lists the curves with their quantiles in both distributions, and returns where the space below begins.
func (s *sheet) pairLegend(top vg.Length, left, right Distribution) vg.Length {
	dark, soft := ink{sizeText, inkDark, true}, ink{sizeText, inkSoft, false}
	wide := vg.Length(0)
	for _, curve := range left.Curves {
		wide = max(wide, dark.width(legendName(curve)))
	}
	at := func(column int) vg.Length { return marginLeft + 44 + wide + 82*vg.Length(column+1) }
	top -= 6
	for j, head := range []string{left.short() + " p50", "p99", right.short() + " p50", "p99"} {
		s.text(at(j), top, 1, soft, head)
	}
	for i, curve := range left.Curves {
		y := top - legendRow*vg.Length(i+1)
		s.key(y, curveStyle(len(left.Curves), i))
		s.text(marginLeft+30, y, 0, dark, legendName(curve))
		for j, q := range []Curve{curve, right.Curves[i]} {
			if q.Quantiles.N == 0 {
				s.text(at(2*j), y, 1, soft, "no samples")
				continue
			}
			s.text(at(2*j), y, 1, soft, text.Duration(q.Quantiles.P50))
			s.text(at(2*j+1), y, 1, soft, text.Duration(q.Quantiles.P99))
		}
	}
	return top - legendRow*vg.Length(len(left.Curves)+1)
}
