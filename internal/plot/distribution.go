package plot

import (
	"math"
	"strings"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// Curve is a cumulative distribution of times in seconds: Y is the share of the samples that are at most X. Points
// ascend; the last share is 1.
type Curve struct {
	Name      string
	Points    plotter.XYs
	Quantiles metrics.Quantiles
}

// CurveOf turns a histogram of times into a cumulative distribution.
func CurveOf(name string, h *metrics.Hist, q metrics.Quantiles) Curve {
	c := Curve{Name: name, Quantiles: q}
	seen := int64(0)
	h.Each(func(seconds float64, count int64) {
		seen += count
		c.Points = append(c.Points, plotter.XY{X: seconds, Y: float64(seen) / float64(h.N())})
	})
	return c
}

// Distribution is what a figure of cumulative distributions shows.
type Distribution struct {
	Title  string // "Inter-token latency"
	Noun   string // what is counted: "token gaps", "requests"
	Curves []Curve
	SLOS   float64 // limit in seconds; 0: none
	SLOOf  string  // metric that is limited, where it is not the one shown: "TPOT"
	Short  string  // "ITL"; empty: the title
	Rules  []Rule  // on shares of the samples, which curves must pass on their left
}

// short names the distribution where there is little room.
func (d *Distribution) short() string {
	if d.Short != "" {
		return d.Short
	}
	return d.Title
}

// CDF draws cumulative distributions over a log time axis. One curve carries its quantiles; several have a legend.
func CDF(c text.Caption, d Distribution) (Figure, error) {
	height := Height
	if len(d.Curves) > 1 {
		height += vg.Length(14 * vg.Length(max(0, len(d.Curves)-2)))
	}
	return Render(height, func(s *Sheet) {
		top := s.Header(d.Title, c, countLine(d)...)
		x, ok := timeAxis(d)
		if !ok {
			s.Empty("no " + d.Noun + ": nothing to show")
			return
		}
		top = s.legend(top, d.Curves)
		place := Place(top - NameRise - 6)
		if len(d.Curves) == 1 {
			x = makeRoom(x, d.Curves[0].Quantiles.P99, place.Size().X, 84)
		}
		y := Shares(5)
		x.Name, y.Name = "time, log scale", "share of "+d.Noun
		chart := NewChart(x, y)
		chart.AddGrid()
		chart.limit(&d, chart.NameEnd(place)+14)
		chart.curves(d.Curves)
		if len(d.Curves) == 1 { // the legend of several has their quantiles
			chart.quantiles(d.Curves[0].Quantiles)
		}
		chart.rules(&d)
		chart.Draw(s, place)
	})
}

// curves draws staircases, each in its style, and marks that tell several apart.
func (c *Chart) curves(curves []Curve) {
	lines := make([]plotter.XYs, len(curves))
	for i, curve := range curves {
		lines[i] = steps(curve.Points, c.x)
		if len(curves) > 1 && len(lines[i]) > 0 { // beyond their last samples they would cover each other
			lines[i] = lines[i][:len(lines[i])-1]
		}
		line := Line(StyleOf(len(curves), i).LineStyle, lines[i]...)
		line.StepStyle = plotter.PostStep
		c.Add(line)
	}
	if len(curves) > 1 {
		c.Add(marks(lines))
	}
}

// countLine is the third line of the header: how many samples, where one curve needs no legend.
func countLine(d Distribution) []string {
	if len(d.Curves) != 1 || d.Curves[0].Quantiles.N == 0 {
		return nil
	}
	q := d.Curves[0].Quantiles
	return []string{"n = " + text.Count(q.N) + ", mean " + text.Duration(q.Mean) + ", max " + text.Duration(q.Max)}
}

// timeAxis holds every point and the limit. Bursts put gaps at 0, which get a bin of their own.
func timeAxis(d Distribution) (x Axis, ok bool) {
	low, high, zero := math.Inf(1), 0.0, false
	for _, curve := range d.Curves {
		for _, q := range curve.Points {
			if q.X <= 0 {
				zero = true
				continue
			}
			low, high = math.Min(low, q.X), math.Max(high, q.X)
		}
	}
	if high == 0 && !zero {
		return Axis{}, false
	}
	if high == 0 { // every sample is 0
		low, high = 1e-3, 1e-3
	}
	for _, r := range d.Rules {
		low, high = math.Min(low, r.LimitS), math.Max(high, 1.1*r.LimitS)
	}
	if d.SLOS > 0 {
		low, high = math.Min(low, d.SLOS), math.Max(high, 1.1*d.SLOS) // its line stands inside the chart
	}
	from, to := roundAround(low, high)
	return logBetween(from, to, zero, text.Limit), true
}

// makeRoom extends an axis of so many points so that room of them is left to the right of v.
func makeRoom(x Axis, v float64, span, room vg.Length) Axis {
	for i := 0; i < 6 && span*vg.Length(1-clamp(x.at(v))) < room && room < span/2; i++ {
		_, zero := x.Scale.(zeroLog)
		x = logBetween(x.Min, round125(grade(x.Max)+1), zero, text.Limit)
	}
	return x
}

// steps turns the points of a distribution into those of its staircase, from 0 to the end of the axis. Steps finer than
// half a thousandth of the chart both ways are merged.
func steps(points plotter.XYs, x Axis) plotter.XYs {
	const fine = 0.0005
	if len(points) == 0 {
		return nil
	}
	drawn := plotter.XY{X: points[0].X}
	out := plotter.XYs{drawn}
	for i, q := range points {
		if i < len(points)-1 && x.at(q.X)-x.at(drawn.X) < fine && q.Y-drawn.Y < fine {
			continue
		}
		out = append(out, q)
		drawn = q
	}
	return append(out, plotter.XY{X: x.Max, Y: drawn.Y})
}

// quantiles marks p50, p90 and p99. A label stands right of and below its dot, where a distribution never goes.
func (c *Chart) quantiles(q metrics.Quantiles) {
	if q.N == 0 {
		return
	}
	for _, m := range []struct {
		name  string
		x, at float64
	}{{"p50", q.P50, 0.5}, {"p90", q.P90, 0.9}, {"p99", q.P99, 0.99}} {
		at := plotter.XY{X: m.x, Y: m.at}
		c.Add(Dots(Blue, at), Note{
			At: at, Offset: vg.Point{X: 8, Y: -10}, Ink: Body(InkDark), Text: m.name + "  " + text.Duration(m.x), Ground: true,
		})
	}
}

// limit draws the limit of an SLO as a dashed line, named above the chart where no curve goes, right of from.
func (c *Chart) limit(d *Distribution, from vg.Length) {
	if d.SLOS <= 0 {
		return
	}
	name := strings.TrimSpace(d.SLOOf + " SLO " + text.Limit(d.SLOS))
	c.Add(Layer(func(canvas draw.Canvas, p *gonum.Plot) {
		x, _ := p.Transforms(&canvas)
		at := x(d.SLOS)
		canvas.StrokeLine2(Stroke(Brick, 1.1, 4, 3), at, canvas.Min.Y, at, canvas.Max.Y+7)
		half := vg.Length(SmallBold(Brick).Width(name) / 2)
		middle := max(from+half, min(canvas.Max.X-half, at))
		Write(&canvas, vg.Point{X: middle, Y: canvas.Max.Y + NameRise}, 0.5, SmallBold(Brick), name)
	}))
}

// legend lists several curves with their quantiles, a line each, and returns where the space below begins.
func (s *Sheet) legend(top vg.Length, curves []Curve) vg.Length {
	if len(curves) < 2 {
		return top
	}
	top -= 2
	start := MarginLeft + 44 + widestName(curves)
	for i, curve := range curves {
		y := top - vg.Length(legendPitch*vg.Length(i))
		s.Key(MarginLeft, y, StyleOf(len(curves), i))
		s.Text(MarginLeft+30, y, 0, BodyBold(InkDark), legendName(curve))
		q, cells := curve.Quantiles, []string{"no samples"}
		if q.N > 0 {
			cells = []string{
				"p50 " + text.Duration(q.P50), "p90 " + text.Duration(q.P90), "p99 " + text.Duration(q.P99), "n = " +
					text.Count(q.N),
			}
		}
		for j, cell := range cells {
			s.Text(start+vg.Length(74*vg.Length(j)), y, 0, Body(InkSoft), cell)
		}
	}
	return top - vg.Length(legendPitch*vg.Length(len(curves)))
}

// legendPitch is the room of a line of a legend.
const legendPitch = vg.Length(14)

// widestName returns how wide the longest name in a legend is.
func widestName(curves []Curve) vg.Length {
	wide := vg.Length(0)
	for _, curve := range curves {
		wide = max(wide, BodyBold(InkDark).Width(legendName(curve)))
	}
	return wide
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
