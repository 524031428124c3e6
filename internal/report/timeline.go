package report

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot/vg"

	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// intervalsMax bounds the points of a timeline row: more would be finer than the eye.
const intervalsMax = 400

// row is one strip of the timeline.
type row struct {
	lines []rowLine
	y     scale
	ticks []tick
}

type rowLine struct {
	name   string
	shade  shade
	tint   shade // under the line; white: none
	points []Point
}

// Timeline draws a run over time in aligned rows: arrivals, requests in the system, by pool, KV cache, output tokens and, where
// they come and go, replicas. Rates are means over an interval between samples; levels are the highest of the interval.
func Timeline(c text.Caption, samples []metrics.Sample) (Figure, error) {
	return render((6.2+1.25*vg.Length(extraRows(samples)))*vg.Inch, func(s *sheet) {
		if len(samples) < 2 || samples[len(samples)-1].At == samples[0].At {
			s.header("Timeline", c)
			s.empty("fewer than two samples: nothing to show")
			return
		}
		intervals := merge(samples)
		mean := samples[len(samples)-1].At.Sub(samples[0].At).Seconds() / float64(len(intervals)-1)
		top := s.header("Timeline", c, fmt.Sprintf("intervals of %s: mean rates, highest levels", text.Duration(mean)))
		start, end := intervals[0].At.Seconds(), samples[len(samples)-1].At.Seconds()
		u := text.ClockUnit(end)
		x := scale{lo: start / u.Size, hi: end / u.Size}
		all := rows(intervals, u.Size)
		bottom := marginBottom + 34
		pitch := (top - bottom) / vg.Length(len(all))
		for i, r := range all {
			base := top - pitch*vg.Length(i+1)
			p := &panel{s, marginLeft + 34, figureWidth - marginRight, base, base + pitch - 26, x, r.y}
			p.row(r, i == len(all)-1)
			if i == len(all)-1 {
				p.nameX("time since the start of the run, " + u.Name)
			}
		}
	})
}

// merge keeps at most intervalsMax+1 samples. A kept one has the highest level since the one before. A run ends when it
// does: an end that is no more than half an interval long joins the interval before, or one token would look like a burst.
func merge(samples []metrics.Sample) []metrics.Sample {
	every := (len(samples) - 1 + intervalsMax - 1) / intervalsMax
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
	arrivals := rowLine{"arrivals per second", blue, blueTint, rates(s, unitS, func(m metrics.Sample) int64 { return m.Arrived })}
	tokens := rowLine{"output tokens per second", green, greenTint, rates(s, unitS, func(m metrics.Sample) int64 { return m.Tokens })}
	running := rowLine{"requests running", blue, blueTint, levels(s, unitS, func(m metrics.Sample) float64 { return float64(m.Running) })}
	waiting := rowLine{"waiting", brick, white, levels(s, unitS, func(m metrics.Sample) float64 { return float64(m.Waiting) })}
	cache := rowLine{"KV cache in use", amber, amberTint, levels(s, unitS, func(m metrics.Sample) float64 {
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

func countRow(lines ...rowLine) row {
	y := linear(highest(lines), 3)
	return row{lines, y, countTicks(y, 3)}
}

func shareRow(lines ...rowLine) row {
	share := scale{lo: 0, hi: 1}
	return row{lines, share, percentTicks(share, 2)}
}

func highest(lines []rowLine) float64 {
	most := 0.0
	for _, l := range lines {
		for _, q := range l.points {
			most = max(most, q.F)
		}
	}
	return most
}

// rates turns a cumulative count into a staircase of rates, one level per interval.
func rates(s []metrics.Sample, unitS float64, count func(metrics.Sample) int64) []Point {
	var out []Point
	for i := 1; i < len(s); i++ {
		spanS := s[i].At.Sub(s[i-1].At).Seconds()
		if spanS <= 0 {
			continue
		}
		rate := float64(count(s[i])-count(s[i-1])) / spanS
		out = append(out, Point{s[i-1].At.Seconds() / unitS, rate}, Point{s[i].At.Seconds() / unitS, rate})
	}
	return out
}

// levels is a staircase too: the level of an interval, from its start to its end.
func levels(s []metrics.Sample, unitS float64, level func(metrics.Sample) float64) []Point {
	var out []Point
	for i := 1; i < len(s); i++ {
		l := level(s[i])
		out = append(out, Point{s[i-1].At.Seconds() / unitS, l}, Point{s[i].At.Seconds() / unitS, l})
	}
	return out
}

func (p *panel) row(r row, last bool) {
	for _, l := range r.lines {
		if l.tint != white {
			p.area(l.tint, l.points)
		}
	}
	p.ticksX(spanTicks(p.x), last)
	p.ticksY(r.ticks)
	for _, l := range r.lines {
		p.stroke(l.shade, 1.2, nil, p.all(l.points)...)
	}
	p.floor()
	x, k := marginLeft, ink{sizeSmall, inkDark, true}
	for _, l := range r.lines {
		k.shade = l.shade
		p.text(x, p.top+8, 0, k, l.name)
		x += k.width(l.name) + 14
	}
}

// spanTicks marks round values of a scale that need not begin at 0.
func spanTicks(s scale) []tick {
	step := roundStep(s.hi-s.lo, 8)
	var ticks []tick
	for _, t := range linearTicks(scale{lo: 0, hi: s.hi}, int(s.hi/step)+1, text.Short) {
		if t.value >= s.lo {
			ticks = append(ticks, t)
		}
	}
	return ticks
}
