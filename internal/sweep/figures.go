package sweep

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	gonum "gonum.org/v1/plot"

	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/internal/text"
)

// FrontierFigure draws what a GPU yields against how fast a user reads: every point that does not saturate, and the
// Pareto frontier of them.
func FrontierFigure(r *Result) (plot.Figure, error) {
	return plot.Render(plot.Height+40, func(s *plot.Sheet) {
		top := s.Header("Tokens/s per GPU against tokens/s per user", r.caption(),
			"points that do not saturate; the line is the Pareto frontier")
		if len(r.Frontier) == 0 {
			s.Empty("every point saturates or failed: nothing to show")
			return
		}
		var others, best plotter.XYs
		most, fastest := 0.0, 0.0
		for point := range r.Points {
			if p, ok := r.frontierPoint(point); ok {
				others = append(others, plotter.XY{X: p.PerUser, Y: p.PerGPU})
				most, fastest = max(most, p.PerGPU), max(fastest, p.PerUser)
			}
		}
		for _, p := range r.Frontier {
			best = append(best, plotter.XY{X: p.PerUser, Y: p.PerGPU})
		}
		chart := plot.NewChart(plot.Counts(1.08*fastest, 8).Named("output tokens/s of the median user"),
			plot.Counts(1.08*most, 6).Named("output tokens/s per GPU"))
		chart.AddGrid()
		chart.Add(plot.Marks(plot.Slate, 1.8, draw.CircleGlyph{}, others...))
		chart.Add(plot.Line(plot.Stroke(plot.Blue, plot.LineWidth), best...), plot.Dots(plot.Blue, best...))
		chart.Add(r.frontierNames())
		chart.Draw(s, plot.Place(top-plot.NameRise-6))
	})
}

// frontierNames names the points of the frontier, as long as names do not stand on each other.
func (r *Result) frontierNames() plot.Layer {
	return func(c draw.Canvas, p *gonum.Plot) {
		x, y := p.Transforms(&c)
		var taken []vg.Rectangle
		for _, q := range r.Frontier {
			name, ink := named(q.Of), plot.Small(plot.InkDark)
			at := vg.Point{X: x(q.PerUser) + 6, Y: y(q.PerGPU) + 5}
			if at.X+ink.Width(name) > c.Max.X-2 {
				at.X -= ink.Width(name) + 12
			}
			room := vg.Rectangle{Min: at, Max: at.Add(vg.Point{X: ink.Width(name), Y: 10})}
			if !slices.ContainsFunc(taken, func(o vg.Rectangle) bool { return plot.Overlap(o, room) }) {
				plot.Write(&c, at, 0, ink, name)
				taken = append(taken, room)
			}
		}
	}
}

// draw draws a figure that was asked for.
func (r *Result) draw(p Plot) (plot.Figure, error) {
	if p.Heat != "" {
		return r.heatMap(p)
	}
	return r.lines(p)
}

// value returns an axis or a column of a point.
func (r *Result) value(point int, name string) float64 {
	if i := r.axis(name); i >= 0 {
		return r.Axes[i].number(at(r.Axes, point)[i])
	}
	return r.mean(point, name)
}

// scale returns the axis of a plot for an axis of the sweep or a column.
func (r *Result) scale(name string, low, high float64) plot.Axis {
	i := r.axis(name)
	switch {
	case i < 0:
		return axisOf(name, low, high)
	case !r.Axes[i].Numbers:
		a := plot.Axis{Name: name, Min: -0.4, Max: float64(len(r.Axes[i].Values)) - 0.6, Scale: gonum.LinearScale{}}
		for j, v := range r.Axes[i].Values {
			a.Ticks = append(a.Ticks, gonum.Tick{Value: float64(j), Label: v})
		}
		return a
	case low >= 1 && high > 16*low:
		return plot.Doublings(low, high).Named(name)
	}
	return plot.UpTo(high, 8, text.Short).Named(name)
}

// lines draws a column against an axis, a line for each combination of the other axes; or against another column, a dot
// for each point.
func (r *Result) lines(p Plot) (plot.Figure, error) {
	axis := r.axis(p.X)
	var names []string
	var groups []plotter.XYs
	places := map[string]int{}
	lowX, highX := math.Inf(1), math.Inf(-1)
	lowY, highY := math.Inf(1), math.Inf(-1)
	for point := range r.Points {
		q := plotter.XY{X: r.value(point, p.X), Y: r.value(point, p.Y)}
		if math.IsNaN(q.X) || math.IsNaN(q.Y) {
			continue
		}
		lowX, highX = min(lowX, q.X), max(highX, q.X)
		lowY, highY = min(lowY, q.Y), max(highY, q.Y)
		name := ""
		if axis >= 0 {
			name = named(r.settings(point, axis))
		}
		i, ok := places[name]
		if !ok {
			i = len(names)
			places[name] = i
			names, groups = append(names, name), append(groups, nil)
		}
		groups[i] = append(groups[i], q)
	}
	drawn := min(len(names), drawnMax)
	return plot.Render(plot.Height+vg.Length(14*vg.Length(drawn)), func(s *plot.Sheet) {
		var notes []string
		if drawn < len(names) {
			notes = []string{fmt.Sprintf("the first %d of %d lines", drawn, len(names))}
		}
		top := s.Header(short(p.Y)+" against "+short(p.X), r.caption(), notes...)
		if drawn == 0 {
			s.Empty("no point has both: nothing to show")
			return
		}
		chart := plot.NewChart(r.scale(p.X, lowX, highX), r.scale(p.Y, lowY, highY))
		chart.AddGrid()
		for i := range drawn {
			style := plot.StyleOf(max(2, len(names)), i)
			if names[i] != "" {
				s.Key(plot.MarginLeft, top, style)
				s.Text(plot.MarginLeft+30, top, 0, plot.BodyBold(plot.InkDark), names[i])
				top -= 14
			}
			if axis >= 0 {
				chart.Add(plot.Line(style.LineStyle, groups[i]...))
			}
			chart.Add(plot.Marks(style.Shade(), plot.MarkRadius, style.Mark, groups[i]...))
		}
		chart.Draw(s, plot.Place(top-plot.NameRise-6))
	})
}
