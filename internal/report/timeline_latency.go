package report

import (
	"fmt"
	"math"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// windowRows are TTFT and ITL by window, what became of the SLO and those of classes and, if any fired, the alerts.
func windowRows(o *metrics.OverTime, classes []metrics.ClassResult, unitS float64) []row {
	if o == nil || len(o.Windows) < 2 {
		return nil
	}
	rows := []row{
		latencyRow(o, unitS, "TTFT", func(x *metrics.WindowResult) *metrics.WindowLatency { return &x.TTFT }),
		latencyRow(o, unitS, "ITL", func(x *metrics.WindowResult) *metrics.WindowLatency {
			if x.ITLChunk != nil {
				return x.ITLChunk
			}
			return &x.ITL
		}),
	}
	if within, below := attainmentRow(o, unitS); below {
		rows = append(rows, within)
	}
	if len(classes) > 1 {
		if by, ok := classRow(classes, unitS); ok {
			rows = append(rows, by)
		}
	}
	if fired(o) > 0 {
		rows = append(rows, alertRow(o, unitS))
	}
	return rows
}

// attainmentRow is the share of the requests within their limits; false: all of them were, all the time.
func attainmentRow(o *metrics.OverTime, unitS float64) (r row, below bool) {
	like := rowLine{name: "requests within their limits, by window", shade: plot.Green, tint: plot.GreenTint}
	lines := steps(o, unitS, like,
		func(x *metrics.WindowResult) (float64, bool) {
			if x.Attainment == nil {
				return 0, false
			}
			below = below || *x.Attainment < 1
			return *x.Attainment, true
		})
	return shareRow(lines...), below
}

// wideRange is the ratio of the extremes of latencies from which on their axis is logarithmic.
const wideRange = 8

// latencyRow is the p50 and p99 of a latency by window, in pieces where windows lie between that have none.
func latencyRow(o *metrics.OverTime, unitS float64, name string,
	of func(*metrics.WindowResult) *metrics.WindowLatency) row {
	low, high := math.Inf(1), 0.0
	for i := range o.Windows {
		if q := of(&o.Windows[i]); q.N > 0 {
			low, high = min(low, q.P50), max(high, q.P99)
		}
	}
	lines := append(
		steps(o, unitS, rowLine{name: name + " by window: p99", shade: plot.Brick, tint: plot.White},
			func(x *metrics.WindowResult) (float64, bool) { return of(x).P99, of(x).N > 0 }),
		steps(o, unitS, rowLine{name: "p50", shade: plot.Blue, tint: plot.White},
			func(x *metrics.WindowResult) (float64, bool) { return of(x).P50, of(x).N > 0 })...)
	if high > wideRange*low && low > 0 {
		return row{lines: lines, y: plot.Log(low, high, text.Limit).Decades()}
	}
	return row{lines: lines, y: plot.Times(max(high, 1e-9), 3)}
}

// steps turns a value by window into staircases, the first of which has the name.
func steps(o *metrics.OverTime, unitS float64, like rowLine,
	value func(*metrics.WindowResult) (float64, bool)) []rowLine {
	var lines []rowLine
	open := false
	for i := range o.Windows {
		x := &o.Windows[i]
		y, ok := value(x)
		if !ok {
			open = false
			continue
		}
		if !open {
			lines, open = append(lines, rowLine{shade: like.shade, tint: like.tint}), true
		}
		at := &lines[len(lines)-1].points
		*at = append(*at, plotter.XY{X: x.FromS / unitS, Y: y}, plotter.XY{X: x.ToS / unitS, Y: y})
	}
	if len(lines) == 0 {
		return []rowLine{like}
	}
	lines[0].name = like.name
	return lines
}

// fired returns how many alerts fired.
func fired(o *metrics.OverTime) (n int) {
	for i := range o.Alerts {
		if len(o.Alerts[i].Fired) > 0 {
			n++
		}
	}
	return n
}

// alertRow is a bar for each time that an alert fired, from then until it was resolved, with a dot where it fired.
func alertRow(o *metrics.OverTime, unitS float64) row {
	n := fired(o)
	r := row{y: plot.Axis{Min: 0, Max: float64(n), Scale: gonum.LinearScale{}}}
	endS := o.Windows[len(o.Windows)-1].ToS
	k := 0
	for i := range o.Alerts {
		a := &o.Alerts[i]
		if len(a.Fired) == 0 {
			continue
		}
		shade := alertShade(k)
		name := a.Rule
		if !o.IsRule(a) {
			name += " over " + text.Lasting(a.OverS)
		}
		if k == 0 {
			name = "alerts: " + name
		}
		r.lines = append(r.lines, rowLine{name: name, shade: shade, tint: plot.White})
		k++
		y := float64(n-k) + 0.5
		for _, f := range a.Fired {
			toS := endS
			if f.ResolvedS != nil {
				toS = *f.ResolvedS
			}
			at := plotter.XY{X: f.AtS / unitS, Y: y}
			r.marks = append(r.marks, plot.Line(plot.Stroke(shade, 4), at, plotter.XY{X: toS / unitS, Y: y}),
				plot.Marks(shade, plot.MarkRadius+0.6, draw.CircleGlyph{}, at))
		}
	}
	return r
}

// alertShade tells alerts apart.
func alertShade(i int) plot.Shade {
	return [...]plot.Shade{plot.Brick, plot.Plum, plot.Amber, plot.Blue, plot.Green}[i%5]
}

// brokenGround tints the time in which the SLO was broken.
func brokenGround(o *metrics.OverTime, unitS float64) gonum.Plotter {
	return plot.Layer(func(c draw.Canvas, p *gonum.Plot) {
		if o == nil {
			return
		}
		x, _ := p.Transforms(&c)
		for _, s := range o.Broken {
			from, to := max(c.Min.X, x(s.FromS/unitS)), min(c.Max.X, x(s.ToS/unitS))
			c.FillPolygon(plot.BrickTint, []vg.Point{{X: from, Y: c.Min.Y}, {X: to, Y: c.Min.Y}, {X: to, Y: c.Max.Y},
				{X: from, Y: c.Max.Y}})
		}
	})
}

// windowNotes says what windows are, and how the SLO fared; nothing without windows.
func windowNotes(o *metrics.OverTime) []string {
	if o == nil || len(o.Windows) < 2 {
		return nil
	}
	note := fmt.Sprintf("latencies in windows of %s, each when the client has it", text.Lasting(o.WidthS))
	if sentence := OverTimeSentence(o); sentence != "" {
		return []string{note, plot.Body(plot.InkSoft).Fit(sentence, plot.Width-plot.MarginLeft-plot.MarginRight)}
	}
	return []string{note}
}

// brokenKey says what the tinted ground is, beside the title.
func brokenKey(s *plot.Sheet, o *metrics.OverTime) {
	if o == nil || len(o.Broken) == 0 {
		return
	}
	const label = "SLO broken"
	ink := plot.Small(plot.InkDark)
	right := plot.Width - plot.MarginRight
	y := s.Max.Y - 28
	s.Text(right, y, 1, ink, label)
	s.Swatch(right-ink.Width(label)-14, y, plot.BrickTint)
}
