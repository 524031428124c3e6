package sweep

import (
	"fmt"
	"math"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/internal/text"
)

// drawnMax is how many curves a figure has room for.
const drawnMax = 8

// panel is one chart of a load curve.
type panel struct {
	name   string
	lines  []panelLine
	y      plot.Axis
	limitS float64 // of the SLO; 0: none
	limit  string
}

type panelLine struct {
	name   string
	style  draw.LineStyle
	points plotter.XYs
}

// LoadCurve draws latencies, throughput and the SLO against load: of one deployment by quantile, of several the p95 of
// each. Where it saturates, the ground of one is tinted.
func LoadCurve(r *Result) (plot.Figure, error) {
	curves := r.Curves[:min(len(r.Curves), drawnMax)]
	panels := r.panels(curves)
	legend := vg.Length(0)
	if len(curves) > 1 {
		legend = 14 * vg.Length(len(curves))
	}
	height := vg.Length((1.2 + vg.Length(1.75*vg.Length(max(1, len(panels))))) * vg.Inch)
	return plot.Render(height+legend, func(s *plot.Sheet) {
		var notes []string
		if len(curves) == 1 {
			notes = curves[0].Sentences
		} else if len(curves) < len(r.Curves) {
			notes = []string{fmt.Sprintf("the first %d of %d curves", len(curves), len(r.Curves))}
		}
		top := s.Header("Load curve", r.caption(), notes...)
		top = legends(s, top, curves)
		if len(panels) == 0 {
			s.Empty("no run ended: nothing to show")
			return
		}
		place := plot.Place(top)
		bottom, pitch := place.Min.Y, (top-place.Min.Y)/vg.Length(len(panels))
		x := r.loadAxis(curves)
		for i := range panels {
			x.Unlabelled = i < len(panels)-1
			if !x.Unlabelled {
				x.Name = r.Axes[r.Load.Axis].Name + ", " + r.Load.Unit
			}
			place.Max.Y = bottom + vg.Length(pitch*vg.Length(len(panels)-i)) - 26
			place.Min.Y = bottom + vg.Length(pitch*vg.Length(len(panels)-i-1))
			panels[i].draw(s, x, place, r.marks(curves))
		}
	})
}

// legends names several curves, a line each with what was found of it.
func legends(s *plot.Sheet, top vg.Length, curves []Curve) vg.Length {
	if len(curves) < 2 {
		return top
	}
	for i := range curves {
		style := plot.StyleOf(len(curves)+1, i)
		s.Key(plot.MarginLeft, top, style)
		name := named(curves[i].Of)
		s.Text(plot.MarginLeft+30, top, 0, plot.BodyBold(plot.InkDark), name)
		found := "does not saturate"
		if from := curves[i].SaturatedFrom; from != nil {
			found = "saturated from " + text.Short(*from)
		}
		if to := curves[i].SLOTo; to != nil {
			found += ", SLO met up to " + text.Short(*to)
		}
		s.Text(plot.MarginLeft+42+plot.BodyBold(plot.InkDark).Width(name), top, 0, plot.Body(plot.InkSoft), found)
		top -= 14
	}
	return top
}

// loadAxis is the axis of loads: from 0, or by doublings of clients.
func (r *Result) loadAxis(curves []Curve) plot.Axis {
	low, high := math.Inf(1), 0.0
	for i := range curves {
		for _, p := range curves[i].Loads {
			low, high = min(low, p.Load), max(high, p.Load)
		}
	}
	if r.Axes[r.Load.Axis].Key == keyConcurrency && high > 16*low {
		return plot.Doublings(low, high)
	}
	return plot.UpTo(high, 8, text.Short)
}

// panels are the charts of some curves.
func (r *Result) panels(curves []Curve) []panel {
	latency := func(name string, of func(*LoadPoint) *CurveLatency) panel {
		p := panel{name: name}
		quantiles := []struct {
			name string
			of   func(*CurveLatency) float64
		}{
			{"p99", func(l *CurveLatency) float64 { return float64(l.P99) }},
			{"p95", func(l *CurveLatency) float64 { return float64(l.P95) }},
			{"p50", func(l *CurveLatency) float64 { return float64(l.P50) }},
		}
		if len(curves) > 1 {
			quantiles = quantiles[1:2]
			p.name += " p95"
		}
		for _, q := range quantiles {
			p.add(curves, q.name, func(at *LoadPoint) float64 { return q.of(of(at)) })
		}
		p.y = p.logAxis()
		return p
	}
	ttft := latency("TTFT", func(p *LoadPoint) *CurveLatency { return &p.TTFT })
	itl := latency("ITL", func(p *LoadPoint) *CurveLatency { return &p.ITL })
	if r.SLO != nil {
		ttft.limitS, itl.limitS = r.SLO.TTFTS, r.SLO.TPOTS
		ttft.limit, itl.limit = "SLO: TTFT ≤ "+text.Limit(ttft.limitS), "SLO: TPOT ≤ "+text.Limit(itl.limitS)
	}
	served := panel{name: "requests/s"}
	served.add(curves, "completed", func(p *LoadPoint) float64 { return float64(p.PerS) })
	if len(curves) == 1 {
		served.add(curves, "within the SLO", func(p *LoadPoint) float64 { return float64(p.GoodPerS) })
	}
	served.y = plot.Counts(1.05*served.highest(), 4)
	tokens := panel{name: "output tokens/s"}
	tokens.add(curves, "", func(p *LoadPoint) float64 { return float64(p.TokensPS) })
	tokens.y = plot.Counts(1.05*tokens.highest(), 4)
	attained := panel{name: "SLO met by", y: plot.Shares(4)}
	attained.add(curves, "", func(p *LoadPoint) float64 { return float64(p.Attained) })
	var all []panel
	for _, p := range []panel{ttft, itl, served, tokens, attained} {
		if p.highest() > 0 {
			all = append(all, p)
		}
	}
	return all
}

// add adds a line for each curve.
func (p *panel) add(curves []Curve, name string, of func(*LoadPoint) float64) {
	for i := range curves {
		style := plot.StyleOf(len(curves)+1, i).LineStyle
		if len(curves) == 1 {
			style = plot.Stroke(plot.Series(len(p.lines)), plot.LineWidth)
		}
		line := panelLine{name: name, style: style}
		for j := range curves[i].Loads {
			if y := of(&curves[i].Loads[j]); !math.IsNaN(y) {
				line.points = append(line.points, plotter.XY{X: curves[i].Loads[j].Load, Y: y})
			}
		}
		if len(line.points) > 0 {
			p.lines = append(p.lines, line)
		}
	}
}

func (p *panel) highest() (most float64) {
	for _, l := range p.lines {
		for _, q := range l.points {
			most = max(most, q.Y)
		}
	}
	return most
}

// logAxis is an axis of times around all that the panel shows.
func (p *panel) logAxis() plot.Axis {
	low, high := math.Inf(1), 0.0
	for _, l := range p.lines {
		for _, q := range l.points {
			if q.Y > 0 {
				low, high = min(low, q.Y), max(high, q.Y)
			}
		}
	}
	if high == 0 {
		return plot.Times(1, 3)
	}
	return plot.Log(low, high, text.Limit)
}

// marks shows on the ground of a chart what was found of one curve: the loads that saturate, the knee and the load that
// is expected.
func (r *Result) marks(curves []Curve) gonum.Plotter {
	return plot.Layer(func(c draw.Canvas, p *gonum.Plot) {
		x, _ := p.Transforms(&c)
		upright := func(at float64, style draw.LineStyle, name string, align float64) {
			c.StrokeLine2(style, x(at), c.Min.Y, x(at), c.Max.Y)
			plot.Write(&c, vg.Point{X: x(at), Y: c.Max.Y + 3}, align, plot.Small(style.Color.(plot.Shade)), name)
		}
		if len(curves) == 1 && curves[0].SaturatedFrom != nil {
			c.FillPolygon(plot.BrickTint, []vg.Point{
				{X: x(*curves[0].SaturatedFrom), Y: c.Min.Y}, {X: c.Max.X, Y: c.Min.Y}, c.Max,
				{X: x(*curves[0].SaturatedFrom), Y: c.Max.Y},
			})
			plot.Write(&c, vg.Point{X: c.Max.X, Y: c.Max.Y + 3}, 1, plot.Small(plot.Brick), "saturated")
		}
		if e := r.Load.Expected; e > 0 && e <= p.X.Max && e >= p.X.Min {
			upright(e, plot.Stroke(plot.InkSoft, 0.8, 3, 2), "expected", 0.5)
		}
		if len(curves) == 1 && curves[0].Knee != nil {
			r.markKnee(&c, x, *curves[0].Knee)
		}
	})
}

// besideExpected is how far the name of the knee stays from the load that is expected, whose own name is there.
const besideExpected = vg.Length(24)

// markKnee draws the knee, with its name on the side where there is none.
func (r *Result) markKnee(c *draw.Canvas, x func(float64) vg.Length, knee float64) {
	c.StrokeLine2(plot.Stroke(plot.Plum, 0.8, 3, 2), x(knee), c.Min.Y, x(knee), c.Max.Y)
	at, align := x(knee), 0.5
	switch e := x(r.Load.Expected); {
	case r.Load.Expected == 0 || math.Abs(float64(at-e)) > 2*float64(besideExpected):
	case at < e:
		at, align = min(at, e-besideExpected), 1
	default:
		at, align = max(at, e+besideExpected), 0
	}
	plot.Write(c, vg.Point{X: at, Y: c.Max.Y + 3}, align, plot.Small(plot.Plum), "knee")
}

// draw draws the panel with the names of its lines above it.
func (p *panel) draw(s *plot.Sheet, x plot.Axis, place vg.Rectangle, ground gonum.Plotter) {
	chart := plot.NewChart(x, p.y)
	chart.Add(ground)
	chart.AddGrid()
	name := plot.MarginLeft
	s.Text(name, place.Max.Y+13, 0, plot.SmallBold(plot.InkDark), p.name)
	name += plot.SmallBold(plot.InkDark).Width(p.name) + 10
	for i, l := range p.lines {
		shade := l.style.Color.(plot.Shade)
		chart.Add(plot.Line(l.style, l.points...), plot.Marks(shade, 1.8, draw.CircleGlyph{}, l.points...))
		if l.name != "" && (i == 0 || p.lines[i-1].name != l.name) && l.name != p.lines[(i+1)%len(p.lines)].name {
			s.Text(name, place.Max.Y+13, 0, plot.SmallBold(shade), l.name)
			name += plot.SmallBold(shade).Width(l.name) + 10
		}
	}
	if p.limitS > p.y.Min && p.limitS < p.y.Max {
		chart.Add(plot.Line(plot.Stroke(plot.Brick, 0.9, 5, 3), plotter.XY{X: x.Min, Y: p.limitS},
			plotter.XY{X: x.Max, Y: p.limitS}))
		chart.Add(plot.Note{At: plotter.XY{X: x.Max, Y: p.limitS}, Offset: vg.Point{X: -3, Y: 3}, Align: 1,
			Ink: plot.Small(plot.Brick), Text: p.limit, Ground: true})
	}
	chart.Draw(s, place)
}
