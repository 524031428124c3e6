package report

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/plot/vg"

	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// Point is a point of a curve. In a distribution F is the share of the samples that are at most X.
type Point struct{ X, F float64 }

// Curve is a cumulative distribution of times in seconds. Points ascend; the last F is 1.
type Curve struct {
	Name      string
	Points    []Point
	Quantiles metrics.Quantiles
}

// Distribution is what a CDF plot shows.
type Distribution struct {
	Title  string // "Inter-token latency"
	Noun   string // what is counted: "token gaps", "requests"
	Curves []Curve
	SLOS   float64 // limit in seconds; 0: none
	SLOOf  string  // metric that is limited, where it is not the one shown: "TPOT"
	Short  string  // "ITL"; empty: the title
}

// short names the distribution where there is little room.
func (d *Distribution) short() string {
	if d.Short != "" {
		return d.Short
	}
	return d.Title
}

// limitName names the line of the limit.
func limitName(d Distribution) string {
	return strings.TrimSpace(d.SLOOf + " SLO " + text.Limit(d.SLOS))
}

// CDF draws cumulative distributions over a log time axis. One curve carries its quantiles; several have a legend.
func CDF(c text.Caption, d Distribution) (Figure, error) {
	height := figureHeight
	if len(d.Curves) > 1 {
		height += 14 * vg.Length(max(0, len(d.Curves)-2))
	}
	return render(height, func(s *sheet) {
		top := s.header(d.Title, c, countLine(d)...)
		x, ok := timeScale(d)
		if !ok {
			s.empty("no " + d.Noun + ": nothing to show")
			return
		}
		top = s.legend(top, d.Curves)
		p := &panel{s, marginLeft + 34, figureWidth - marginRight, marginBottom + 34, top - nameRise - 6, x, scale{lo: 0, hi: 1}}
		if len(d.Curves) == 1 {
			p.makeRoom(d.Curves[0].Quantiles.P99, 84)
		}
		p.ticksX(logTicks(p.x, text.Limit), true)
		p.ticksY(percentTicks(p.y, 5))
		p.floor()
		p.nameX("time, log scale")
		named := p.nameY("share of " + d.Noun)
		if d.SLOS > 0 {
			p.slo(d.SLOS, limitName(d), named+14)
		}
		p.curves(d.Curves)
		if len(d.Curves) == 1 { // the legend of several has their quantiles
			p.quantiles(curveStyle(1, 0).shade, d.Curves[0].Quantiles)
		}
	})
}

// curves draws staircases, each in its style, and marks that tell several apart.
func (p *panel) curves(curves []Curve) {
	for i, line := range p.staircases(curves) {
		k := curveStyle(len(curves), i)
		p.stroke(k.shade, k.width, k.dashes, line...)
	}
	if len(curves) > 1 {
		p.marks(curves)
	}
}

// staircases returns the corners of curves. One of several ends with its last sample: beyond it they would cover each other.
func (p *panel) staircases(curves []Curve) [][]vg.Point {
	lines := make([][]vg.Point, len(curves))
	for i, curve := range curves {
		corners := steps(curve.Points, p.x)
		if len(curves) > 1 && len(corners) > 0 {
			corners = corners[:len(corners)-1]
		}
		lines[i] = p.all(corners)
	}
	return lines
}

// countLine is the third line of the header: how many samples, where one curve needs no legend.
func countLine(d Distribution) []string {
	if len(d.Curves) != 1 || d.Curves[0].Quantiles.N == 0 {
		return nil
	}
	q := d.Curves[0].Quantiles
	return []string{fmt.Sprintf("n = %d, mean %s, max %s", q.N, text.Duration(q.Mean), text.Duration(q.Max))}
}

// timeScale holds every point and the limit. Bursts put gaps at 0, which get a bin of their own.
func timeScale(d Distribution) (x scale, ok bool) {
	lo, hi, zero := math.Inf(1), 0.0, false
	for _, curve := range d.Curves {
		for _, q := range curve.Points {
			if q.X <= 0 {
				zero = true
				continue
			}
			lo, hi = math.Min(lo, q.X), math.Max(hi, q.X)
		}
	}
	if hi == 0 && !zero {
		return scale{}, false
	}
	if hi == 0 { // every sample is 0
		lo, hi = 1e-3, 1e-3
	}
	if d.SLOS > 0 {
		lo, hi = math.Min(lo, d.SLOS), math.Max(hi, 1.1*d.SLOS) // its line stands inside the plot
	}
	x = logarithmic(lo, hi)
	x.zero = zero
	return x, true
}

// makeRoom extends the axis so that room points are left to the right of v.
func (p *panel) makeRoom(v float64, room vg.Length) {
	span := p.right - p.left
	for i := 0; i < 6 && p.right-p.atX(v) < room && room < span/2; i++ {
		p.x.hi = round125(grade(p.x.hi) + 1)
	}
}

// steps turns the points of a distribution into the corners of its staircase, from 0 to the end of the axis. Steps
// finer than half a thousandth of the plot both ways are merged.
func steps(points []Point, x scale) []Point {
	const fine = 0.0005
	if len(points) == 0 {
		return nil
	}
	out := []Point{{points[0].X, 0}}
	shown := out[0]
	for i, q := range points {
		if i < len(points)-1 && x.at(q.X)-x.at(shown.X) < fine && q.F-shown.F < fine {
			continue
		}
		out = append(out, Point{q.X, out[len(out)-1].F}, q)
		shown = q
	}
	return append(out, Point{x.hi, out[len(out)-1].F})
}

// quantiles marks p50, p90 and p99. A label stands right of and below its dot, where a distribution never goes.
func (p *panel) quantiles(k shade, q metrics.Quantiles) {
	if q.N == 0 {
		return
	}
	for _, m := range []struct {
		name  string
		x, at float64
	}{{"p50", q.P50, 0.5}, {"p90", q.P90, 0.9}, {"p99", q.P99, 0.99}} {
		dot := p.at(m.x, m.at)
		p.dot(dot, k)
		p.halo(dot.X+8, dot.Y-10, 0, ink{sizeText, inkDark, false}, m.name+"  "+text.Duration(m.x))
	}
}

// slo draws the limit as a dashed line, named above the panel where no curve goes, right of from.
func (p *panel) slo(s float64, name string, from vg.Length) {
	x := p.atX(s)
	p.stroke(brick, 1.1, []vg.Length{4, 3}, vg.Point{X: x, Y: p.bottom}, vg.Point{X: x, Y: p.top + 7})
	k := ink{sizeSmall, brick, true}
	half := k.width(name) / 2
	x = max(from+half, min(p.right-half, x))
	p.text(x, p.top+nameRise, 0.5, k, name)
}

// legend lists several curves with their quantiles, a line each, and returns where the space below begins.
func (s *sheet) legend(top vg.Length, curves []Curve) vg.Length {
	if len(curves) < 2 {
		return top
	}
	dark, soft := ink{sizeText, inkDark, true}, ink{sizeText, inkSoft, false}
	wide := vg.Length(0)
	for _, curve := range curves {
		wide = max(wide, dark.width(legendName(curve)))
	}
	top -= 2
	for i, curve := range curves {
		y := top - 14*vg.Length(i)
		s.key(y, curveStyle(len(curves), i))
		s.text(marginLeft+30, y, 0, dark, legendName(curve))
		q, cells := curve.Quantiles, []string{"no samples"}
		if q.N > 0 {
			cells = []string{"p50 " + text.Duration(q.P50), "p90 " + text.Duration(q.P90), "p99 " + text.Duration(q.P99), fmt.Sprint("n = ", q.N)}
		}
		for j, cell := range cells {
			s.text(marginLeft+44+wide+74*vg.Length(j), y, 0, soft, cell)
		}
	}
	return top - 14*vg.Length(len(curves))
}

// legendNameMax is the longest name that a legend has room for beside its quantiles.
const legendNameMax = 26

// legendName is the name of a curve. A long one loses its middle: names differ at their ends.
func legendName(c Curve) string {
	if letters := []rune(c.Name); len(letters) > legendNameMax {
		const tail = 8
		return string(letters[:legendNameMax-1-tail]) + "…" + string(letters[len(letters)-tail:])
	}
	return c.Name
}

// key is the line of a curve in a legend, beside text at y.
func (s *sheet) key(y vg.Length, k curveLook) {
	s.stroke(k.shade, k.width, k.dashes, vg.Point{X: marginLeft, Y: y + 3}, vg.Point{X: marginLeft + 24, Y: y + 3})
	if k.mark != nil {
		s.glyph(vg.Point{X: marginLeft + 12, Y: y + 3}, k.shade, markRadius, k.mark)
	}
}
