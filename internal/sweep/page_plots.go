package sweep

import (
	"fmt"
	"math"
	"strings"

	"github.com/decodesim/decodesim/internal/page"
	"github.com/decodesim/decodesim/internal/text"
)

// What bounds a page, whatever the sweep: the points of a plot of curves, the dots of all others together, which have
// their names, and the rows and columns of a heat map.
const (
	curvePointsMax        = 1200
	dotsMax               = 2400
	heatRows, heatColumns = 50, 40
)

// every is how many of n points there are for each that is drawn, if at most so many are.
func every(n, most int) int { return max(1, (n+most-1)/most) }

// thinned says that not all points are drawn; empty: all are.
func thinned(step int, what string) string {
	if step == 1 {
		return ""
	}
	return fmt.Sprintf("One of %d %s is drawn; sweep.csv has all.", step, what)
}

// dots is how many dots a plot of dots has, of which there are some.
func (r *Result) dots() int { return dotsMax / (1 + len(r.Plots)) }

// drawnWords says what of the curves is drawn.
func (r *Result) drawnWords() string {
	words := "Where one deployment saturates the ground is tinted. "
	if len(r.Curves) > 1 {
		words = ""
	}
	if len(r.Curves) > drawnMax {
		words += fmt.Sprintf("The first %d of %d curves. ", drawnMax, len(r.Curves))
	}
	return words + "Hovering shows the values."
}

// curvePlots are latencies, throughput and the SLO against load, with cursors that move together.
func (r *Result) curvePlots() (plots []page.Plot) {
	if len(r.Curves) == 0 {
		return nil
	}
	type line struct {
		name string
		of   func(*LoadPoint) float64
	}
	latency := func(of func(*LoadPoint) *CurveLatency) []line {
		return []line{{"p99", func(p *LoadPoint) float64 { return float64(of(p).P99) }},
			{"p95", func(p *LoadPoint) float64 { return float64(of(p).P95) }},
			{"p50", func(p *LoadPoint) float64 { return float64(of(p).P50) }}}
	}
	ttft := latency(func(p *LoadPoint) *CurveLatency { return &p.TTFT })
	itl := latency(func(p *LoadPoint) *CurveLatency { return &p.ITL })
	served := []line{{"completed", func(p *LoadPoint) float64 { return float64(p.PerS) }},
		{"within the SLO", func(p *LoadPoint) float64 { return float64(p.GoodPerS) }}}
	attained := []line{{"", func(p *LoadPoint) float64 { return float64(p.Attained) }}}
	several := len(r.Curves) > 1
	suffix := ""
	if several {
		ttft, itl, served = ttft[1:2], itl[1:2], served[:1]
		suffix = " p95"
	}
	x := page.Axis{Name: r.Load.Unit}
	for _, f := range []struct {
		title string
		y     page.Axis
		lines []line
		limit float64
	}{
		{"TTFT" + suffix, page.Axis{Name: "TTFT", Kind: page.Seconds, Log: true}, ttft, r.limits().TTFTS},
		{"ITL" + suffix, page.Axis{Name: "ITL", Kind: page.Seconds, Log: true}, itl, r.limits().TPOTS},
		{"Requests/s", page.Axis{Name: "requests/s"}, served, 0},
		{"SLO met by", page.Axis{Name: "share", Kind: page.Share, Min: page.At(0), Max: page.At(1)}, attained, 0},
	} {
		plot := page.Plot{Title: f.title, X: x, Y: f.y, Sync: "load"}
		drawn := r.Curves[:min(len(r.Curves), drawnMax)]
		step := every(len(drawn)*len(f.lines)*len(drawn[0].Loads), curvePointsMax)
		plot.Note = thinned(step, "loads")
		for i := range drawn {
			for _, l := range f.lines {
				name := l.name
				if several {
					name = named(drawn[i].Of)
				}
				if c, ok := curveOf(name, drawn[i].Loads, step, l.of); ok {
					plot.Curves = append(plot.Curves, c)
				}
			}
		}
		if len(plot.Curves) == 0 {
			continue
		}
		if f.limit > 0 {
			plot.Limits = append(plot.Limits, page.Limit{On: "y", At: f.limit, Label: "SLO " + text.Limit(f.limit)})
		}
		plot.Limits = append(plot.Limits, r.upright()...)
		if from := r.Curves[0].SaturatedFrom; from != nil && !several {
			loads := r.Curves[0].Loads
			plot.Bands = []page.Band{{From: *from, To: loads[len(loads)-1].Load}}
		}
		plots = append(plots, plot)
	}
	return plots
}

// limits are those of the SLO; zero: there is none.
func (r *Result) limits() SLO {
	if r.SLO == nil {
		return SLO{}
	}
	return *r.SLO
}

// upright are the expected load and the knee of one curve.
func (r *Result) upright() (all []page.Limit) {
	expected, knee := r.Load.Expected, r.Curves[0].Knee
	switch {
	case knee == nil || len(r.Curves) > 1:
	case *knee == expected:
		return []page.Limit{{On: "x", At: expected, Label: "expected, knee"}}
	default:
		all = append(all, page.Limit{On: "x", At: *knee, Label: "knee"})
	}
	if expected > 0 {
		all = append(all, page.Limit{On: "x", At: expected, Label: "expected"})
	}
	return all
}

// curveOf is a number of one of so many loads and of the last; false: none has it.
func curveOf(name string, loads []LoadPoint, step int, of func(*LoadPoint) float64) (c page.Curve, ok bool) {
	c.Name = name
	for i := range loads {
		if i%step != 0 && i != len(loads)-1 {
			continue
		}
		y := of(&loads[i])
		c.X, c.Y = append(c.X, loads[i].Load), append(c.Y, y)
		ok = ok || y > 0
	}
	return c, ok
}

// frontierPlot is every point that does not saturate, and the frontier.
func (r *Result) frontierPlot() page.Plot {
	p := page.Plot{Title: "Pareto frontier", X: page.Axis{Name: "tokens/s of the median user"},
		Y: page.Axis{Name: "tokens/s per GPU"}}
	var dots []page.Point
	step := every(r.Points, r.dots())
	p.Note = thinned(step, "points")
	for point := 0; point < r.Points; point += step {
		if q, ok := r.frontierPoint(point); ok {
			dots = append(dots, page.Point{X: q.PerUser, Y: q.PerGPU, Label: named(q.Of)})
		}
	}
	line := page.Curve{Name: "frontier"}
	for _, q := range r.Frontier {
		line.X, line.Y = append(line.X, q.PerUser), append(line.Y, q.PerGPU)
		line.Labels = append(line.Labels, named(q.Of))
	}
	p.Curves = []page.Curve{line, page.Dots("points", dots)}
	return p
}

// askedBlocks are the figures of --plot, and the heat map that every sweep over two axes has.
func (r *Result) askedBlocks() (blocks []page.Block) {
	asked := r.Plots
	if len(asked) == 0 && len(r.Axes) == 2 {
		asked = []Plot{{X: r.Axes[0].Name, Y: r.Axes[1].Name, Heat: "output_tokens_per_s_per_gpu"}}
	}
	for _, p := range asked {
		if p.Heat != "" {
			blocks = append(blocks, page.Block{Table: r.heatTable(p)})
			continue
		}
		if plot := r.asked(p); len(plot.Curves) > 0 {
			blocks = append(blocks, page.Block{Plots: []page.Plot{plot}})
		}
	}
	return blocks
}

// asked is a column against an axis or against a column.
func (r *Result) asked(p Plot) page.Plot {
	out := page.Plot{Title: short(p.Y) + " against " + short(p.X), X: r.pageAxis(p.X), Y: r.pageAxis(p.Y)}
	axis := r.axis(p.X)
	step := 1
	if axis < 0 { // dots; lines have all values of their axis
		step = every(r.Points, r.dots())
		out.Note = thinned(step, "points")
	}
	var names []string
	points := map[string][]page.Point{}
	for point := 0; point < r.Points; point += step {
		q := page.Point{X: r.value(point, p.X), Y: r.value(point, p.Y), Label: named(r.settings(point))}
		if math.IsNaN(q.X) || math.IsNaN(q.Y) {
			continue
		}
		name := ""
		if axis >= 0 {
			name = named(r.settings(point, axis))
		}
		if _, known := points[name]; !known {
			names = append(names, name)
		}
		points[name] = append(points[name], q)
	}
	lines := min(len(names), drawnMax)
	if lines < len(names) {
		out.Note = fmt.Sprintf("The first %d of %d lines.", lines, len(names))
	}
	if axis >= 0 {
		step = every(lines*len(r.Axes[axis].Values), r.dots())
		out.Note = strings.TrimSpace(out.Note + " " + thinned(step, "values"))
	}
	for _, name := range names[:lines] {
		of := points[name]
		if axis >= 0 {
			of = oneOf(of, step)
		}
		c := page.Dots(name, of)
		c.Dots = axis < 0
		out.Curves = append(out.Curves, c)
	}
	return out
}

// oneOf returns one of so many points, and the last.
func oneOf(all []page.Point, step int) (some []page.Point) {
	for i := range all {
		if i%step == 0 || i == len(all)-1 {
			some = append(some, all[i])
		}
	}
	return some
}

// pageAxis is the axis of a plot for an axis of the sweep or a column. Values that are no numbers stand in their order.
func (r *Result) pageAxis(name string) page.Axis {
	a := page.Axis{Name: short(name)}
	if i := r.axis(name); i >= 0 {
		return a
	}
	switch {
	case columns()[index(name)].Unit == "s":
		a.Kind = page.Seconds
	case isShare(name):
		a.Kind = page.Share
	}
	return a
}

// heatTable is a heat map: the mean over what other axes there are.
func (r *Result) heatTable(p Plot) *page.Table {
	h := r.heat(p)
	t := &page.Table{Head: []string{short(p.Y) + " \\ " + short(p.X)}, Note: p.Heat}
	if len(r.Axes) > 2 {
		t.Note += ", the mean over the other axes"
	}
	across, down := r.Axes[r.axis(p.X)].Values, r.Axes[r.axis(p.Y)].Values
	columns, rows := min(len(across), heatColumns), min(len(down), heatRows)
	if columns < len(across) || rows < len(down) {
		t.Note += fmt.Sprintf("; the first %d of %d rows and %d of %d columns", rows, len(down), columns, len(across))
	}
	t.Head = append(t.Head, across[:columns]...)
	for row, name := range down[:rows] {
		cells := []page.Cell{page.Words(name)}
		for column := range columns {
			v := h.values[row*h.columns+column]
			c := page.Words(cell(p.Heat, v))
			if !math.IsNaN(v) {
				c.Heat = 1 + int(float64(8*h.share(v))+0.5)
			}
			cells = append(cells, c)
		}
		t.Rows = append(t.Rows, page.Row{Cells: cells})
	}
	return t
}
