package report

import (
	"fmt"
	"slices"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// IntervalsMax bounds the points of a timeline row: more would be finer than the eye.
const IntervalsMax = 400

// row is one strip of the timeline.
type row struct {
	lines []rowLine
	y     plot.Axis
	marks []gonum.Plotter // above the lines
}

type rowLine struct {
	name   string
	shade  plot.Shade
	tint   plot.Shade // under the line; white: none
	points plotter.XYs
}

// Timeline draws a run over time in aligned rows: arrivals, requests in the system, by pool, KV cache, output tokens
// and, where they come and go, replicas; below them latencies by window, and alerts that fired. Where the SLO was
// broken the ground is tinted. Rates are means over an interval between samples; levels are the highest of the
// interval. o may be nil: nothing was recorded by window.
func Timeline(c text.Caption, samples []metrics.Sample, o *metrics.OverTime,
	classes []metrics.ClassResult) (plot.Figure, error) {
	height := (6.2 + vg.Length(1.25*vg.Length(extraRows(samples)+len(windowRows(o, classes, 1))))) * vg.Inch
	return plot.Render(height, func(s *plot.Sheet) {
		if len(samples) < 2 || samples[len(samples)-1].At == samples[0].At {
			s.Header("Timeline", c)
			s.Empty("fewer than two samples: nothing to show")
			return
		}
		intervals := Merge(samples, IntervalsMax)
		mean := samples[len(samples)-1].At.Sub(samples[0].At).Seconds() / float64(len(intervals)-1)
		top := s.Header("Timeline", c, append([]string{
			fmt.Sprintf("intervals of %s: mean rates, highest levels", text.Duration(mean))}, windowNotes(o)...)...)
		brokenKey(s, o)
		start, end := intervals[0].At.Seconds(), samples[len(samples)-1].At.Seconds()
		u := text.ClockUnit(end)
		x := plot.Linear(start/u.Size, end/u.Size, 8, text.Short)
		all := append(rows(intervals, u.Size), windowRows(o, classes, u.Size)...)
		place := plot.Place(top)
		bottom := place.Min.Y
		pitch := (top - bottom) / vg.Length(len(all))
		for i, r := range all {
			x.Unlabelled = i < len(all)-1
			if !x.Unlabelled {
				x.Name = "time since the start of the run, " + u.Name
			}
			place.Min.Y = top - vg.Length(pitch*vg.Length(i+1))
			place.Max.Y = place.Min.Y + pitch - 26
			r.draw(s, x, place, brokenGround(o, u.Size))
		}
	})
}

// draw draws the row on a ground, with the names of its lines above it in their colours.
func (r *row) draw(s *plot.Sheet, x plot.Axis, place vg.Rectangle, ground gonum.Plotter) {
	chart := plot.NewChart(x, r.y)
	chart.Add(ground)
	for _, l := range r.lines {
		if l.tint != plot.White {
			chart.Add(plot.Area(l.tint, l.points...))
		}
	}
	chart.AddGrid()
	name := plot.MarginLeft
	for _, l := range r.lines {
		chart.Add(plot.Line(plot.Stroke(l.shade, 1.2), l.points...))
		ink := plot.SmallBold(l.shade)
		s.Text(name, place.Max.Y+8, 0, ink, l.name)
		if l.name != "" {
			name += ink.Width(l.name) + 14
		}
	}
	chart.Add(r.marks...)
	chart.Draw(s, place)
}

// Merge keeps the samples of at most so many intervals, one more than there are. A kept one has the highest level since
// the one before. A run ends when it does: an end that is no more than half an interval long joins the interval before,
// or one token would look like a burst.
func Merge(samples []metrics.Sample, most int) []metrics.Sample {
	every := (len(samples) - 1 + most - 1) / most
	out := []metrics.Sample{samples[0]}
	for i := 1; i < len(samples); i += every {
		group := samples[i:min(i+every, len(samples))]
		m := group[len(group)-1]
		for _, g := range group {
			m = highestOf(m, g)
		}
		out = append(out, m)
	}
	if n := len(out); n > 2 && 2*out[n-1].At.Sub(out[n-2].At) <= out[n-2].At.Sub(out[n-3].At) {
		out = append(out[:n-2], highestOf(out[n-1], out[n-2]))
	}
	return out
}

// highestOf is m with the higher levels of both.
func highestOf(m, other metrics.Sample) metrics.Sample {
	m.Running, m.Waiting = max(m.Running, other.Running), max(m.Waiting, other.Waiting)
	m.KVUsed = max(m.KVUsed, other.KVUsed)
	m.Pools = slices.Clone(m.Pools)
	for i := range m.Pools {
		p, q := &m.Pools[i], &other.Pools[i]
		p.Running, p.Waiting, p.Moving = max(p.Running, q.Running), max(p.Waiting, q.Waiting), max(p.Moving, q.Moving)
		p.KVUsed, p.KVTotal = max(p.KVUsed, q.KVUsed), max(p.KVTotal, q.KVTotal)
		p.Live, p.Starting = max(p.Live, q.Live), max(p.Starting, q.Starting)
	}
	return m
}

func rows(s []metrics.Sample, unitS float64) []row {
	arrivals := rowLine{"arrivals per second", plot.Blue, plot.BlueTint,
		rates(s, unitS, func(m metrics.Sample) int64 { return m.Arrived })}
	tokens := rowLine{"output tokens per second", plot.Green, plot.GreenTint,
		rates(s, unitS, func(m metrics.Sample) int64 { return m.Tokens })}
	running := rowLine{"requests running", plot.Blue, plot.BlueTint,
		levels(s, unitS, func(m metrics.Sample) float64 { return float64(m.Running) })}
	waiting := rowLine{"waiting", plot.Brick, plot.White,
		levels(s, unitS, func(m metrics.Sample) float64 { return float64(m.Waiting) })}
	cache := rowLine{"KV cache in use", plot.Amber, plot.AmberTint, levels(s, unitS, func(m metrics.Sample) float64 {
		return float64(m.KVUsed) / float64(max(1, m.KVTotal))
	})}
	if len(s[0].Pools) > 1 {
		return slices.Concat([]row{countRow(arrivals)}, poolRows(s, unitS), []row{countRow(tokens)})
	}
	rows := []row{countRow(arrivals), countRow(running, waiting), shareRow(cache), countRow(tokens)}
	if comeAndGo(s) {
		rows = append(rows, replicaRow(s, unitS))
	}
	return rows
}

func countRow(lines ...rowLine) row { return row{lines: lines, y: plot.Counts(highest(lines), 3)} }

func shareRow(lines ...rowLine) row { return row{lines: lines, y: plot.Shares(2)} }

func highest(lines []rowLine) float64 {
	most := 0.0
	for _, l := range lines {
		for _, q := range l.points {
			most = max(most, q.Y)
		}
	}
	return most
}

// rates turns a cumulative count into a staircase of rates, one level per interval.
func rates(s []metrics.Sample, unitS float64, count func(metrics.Sample) int64) plotter.XYs {
	var out plotter.XYs
	for i := 1; i < len(s); i++ {
		spanS := s[i].At.Sub(s[i-1].At).Seconds()
		if spanS <= 0 {
			continue
		}
		rate := float64(count(s[i])-count(s[i-1])) / spanS
		out = append(out, plotter.XY{X: s[i-1].At.Seconds() / unitS, Y: rate},
			plotter.XY{X: s[i].At.Seconds() / unitS, Y: rate})
	}
	return out
}

// levels is a staircase too: the level of an interval, from its start to its end.
func levels(s []metrics.Sample, unitS float64, level func(metrics.Sample) float64) plotter.XYs {
	var out plotter.XYs
	for i := 1; i < len(s); i++ {
		l := level(s[i])
		out = append(out, plotter.XY{X: s[i-1].At.Seconds() / unitS, Y: l}, plotter.XY{X: s[i].At.Seconds() / unitS, Y: l})
	}
	return out
}
