package plot

import (
	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/decodesim/decodesim/internal/text"
)

const (
	betweenCharts = vg.Length(64)
	pairNines     = 3 // 99.9 %: beyond it runs of some thousand requests have few samples
)

// CDFPair draws two distributions of the same curves side by side, under one legend. The scale of the shares has as
// much room from 90 % to 99 % as below 90 %: curves that differ do so in their tails.
func CDFPair(c text.Caption, title string, left, right Distribution) (Figure, error) {
	height := Height + vg.Length(legendPitch*vg.Length(max(0, len(left.Curves)-2)))
	return Render(height, func(s *Sheet) {
		top := s.pairLegend(s.Header(title, c), left, right)
		place := Place(top - NameRise - 20)
		wide := (place.Size().X - betweenCharts) / 2
		for _, d := range []Distribution{left, right} {
			place.Max.X = place.Min.X + wide
			s.distribution(d, place)
			place.Min.X += wide + betweenCharts
		}
	})
}

// distribution draws one of several distributions of a sheet.
func (s *Sheet) distribution(d Distribution, place vg.Rectangle) {
	x, ok := timeAxis(d)
	if !ok {
		middle := (place.Min.X + place.Max.X) / 2
		s.Text(middle, s.height*0.35, 0.5, Body(InkSoft), "no "+d.Noun+": nothing to show")
		return
	}
	s.Text(place.Min.X-nameIndent, place.Max.Y+NameRise+13, 0, BodyBold(InkDark), d.Title)
	x, y := sparse(x, place), Nines(pairNines)
	x.Name, y.Name = "time, log scale", "share of "+d.Noun
	chart := NewChart(x, y)
	chart.AddGrid()
	chart.limit(&d, chart.NameEnd(place)+10)
	chart.curves(d.Curves)
	chart.rules(&d)
	chart.Draw(s, place)
}

const (
	markDistance = vg.Length(11) // at least, from curve to curve
	markPitch    = vg.Length(66) // at least, on a curve
)

// marks puts marks on staircases that tell them apart where they coincide.
func marks(lines []plotter.XYs) Layer {
	return func(c draw.Canvas, p *gonum.Plot) {
		for i, places := range marked(lines, &c, p) {
			style := StyleOf(len(lines), i)
			for _, at := range places {
				rimmed(&c, at, style.Shade(), MarkRadius, style.Mark)
			}
		}
	}
}

// marked returns the places of the marks of each staircase: where the way from the corner, right and up, is of a length
// that is the staircase's own, so that curves that coincide take turns. Unlike height or time alone, that way grows
// wherever a curve goes.
func marked(lines []plotter.XYs, c *draw.Canvas, p *gonum.Plot) [][]vg.Point {
	n := len(lines)
	places := make([][]vg.Point, n)
	pitch := max(markPitch, markDistance*vg.Length(n))
	way := func(q vg.Point) vg.Length { return q.X - c.Min.X + q.Y - c.Min.Y }
	for i, line := range lines {
		next := pitch * (vg.Length(i) + 0.5) / vg.Length(n)
		corners := cornersOf(line, c, p)
		for j := 1; j < len(corners); j++ {
			from, to := corners[j-1], corners[j]
			for ; next <= way(to); next += pitch {
				if part := (next - way(from)) / (way(to) - way(from)); part >= 0 {
					places[i] = append(places[i], from.Add(to.Sub(from).Scale(part)))
				}
			}
		}
	}
	return places
}

// cornersOf returns where the corners of a staircase stand on the sheet, up to where it leaves the chart at the top: on
// an axis of shares that ends below 1 no line is left there that a mark could stand on.
func cornersOf(line plotter.XYs, c *draw.Canvas, p *gonum.Plot) []vg.Point {
	var corners []vg.Point
	for i, q := range line {
		at := vg.Point{X: c.X(clamp(p.X.Norm(q.X))), Y: c.Y(clamp(p.Y.Norm(q.Y)))}
		if i > 0 {
			corners = append(corners, vg.Point{X: at.X, Y: corners[len(corners)-1].Y})
		}
		corners = append(corners, at)
		if p.Y.Norm(q.Y) > 1+1e-9 {
			break
		}
	}
	return corners
}

// sparse takes away labels that would touch the one before.
func sparse(x Axis, place vg.Rectangle) Axis {
	end := vg.Length(0)
	for i, t := range x.Ticks {
		if t.Label == "" {
			continue
		}
		half := vg.Length(Small(InkSoft).Width(t.Label) / 2)
		if at := place.Min.X + vg.Length(place.Size().X*vg.Length(x.at(t.Value))); at-half < end+4 && end > 0 {
			x.Ticks[i].Label = ""
		} else {
			end = at + half
		}
	}
	return x
}

// pairLegend lists the curves with their quantiles in both distributions, and returns where the space below begins.
func (s *Sheet) pairLegend(top vg.Length, left, right Distribution) vg.Length {
	wide := widestName(left.Curves)
	at := func(column int) vg.Length { return MarginLeft + 44 + wide + vg.Length(82*vg.Length(column+1)) }
	top -= 6
	for j, head := range []string{left.short() + " p50", "p99", right.short() + " p50", "p99"} {
		s.Text(at(j), top, 1, Body(InkSoft), head)
	}
	for i, curve := range left.Curves {
		y := top - vg.Length(legendPitch*vg.Length(i+1))
		s.Key(MarginLeft, y, StyleOf(len(left.Curves), i))
		s.Text(MarginLeft+30, y, 0, BodyBold(InkDark), legendName(curve))
		for j, q := range []Curve{curve, right.Curves[i]} {
			if q.Quantiles.N == 0 {
				s.Text(at(2*j), y, 1, Body(InkSoft), "no samples")
				continue
			}
			s.Text(at(2*j), y, 1, Body(InkSoft), text.Duration(q.Quantiles.P50))
			s.Text(at(2*j+1), y, 1, Body(InkSoft), text.Duration(q.Quantiles.P99))
		}
	}
	return top - vg.Length(legendPitch*vg.Length(len(left.Curves)+1))
}
