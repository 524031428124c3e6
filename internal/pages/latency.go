package pages

import (
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/plotter"

	"github.com/decodesim/decodesim/internal/page"
	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/internal/report"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// field names a number of the results, or is a dash where there is none.
func field(words, path string, x float64) page.Cell {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return page.Words(text.Dash)
	}
	return page.Number(words, path, x)
}

// seconds is a cell of a time with its unit.
func seconds(path string, x float64) page.Cell { return field(text.Duration(x), path, x) }

// latencyFields are the names of latencies in tables, and their paths in the JSON.
var latencyFields = map[string]string{"TTFT": "ttft_s", "ITL": "itl_s", "ITL, tokens": "itl_s",
	"ITL, chunks": "itl_chunk_s", "TPOT": "tpot_s", "E2E": "e2e_s", "queue": "queue_s", "tokenize": "tokenize_s",
	"TTFO": "ttfo_s", "task": "task_s"}

// latencyTable is what users feel.
func latencyTable(l *metrics.Latency) *page.Table {
	t := &page.Table{Head: []string{"", "mean", "p50", "p90", "p95", "p99", "max", "n"}}
	for _, q := range l.Named() {
		at := "latency." + latencyFields[q.Name] + "."
		row := page.Row{Cells: []page.Cell{page.Words(q.Name)}}
		for _, of := range []struct {
			key string
			s   float64
		}{{"mean", q.Mean}, {"p50", q.P50}, {"p90", q.P90}, {"p95", q.P95}, {"p99", q.P99}, {"max", q.Max}} {
			row.Cells = append(row.Cells, seconds(at+of.key, of.s))
		}
		row.Cells = append(row.Cells, page.Number(text.Count(q.N), at+"n", float64(q.N)))
		t.Rows = append(t.Rows, row)
	}
	return t
}

// rulesTable is what became of the rules of an SLO.
func rulesTable(verdicts []metrics.Verdict) *page.Table {
	rows := report.RuleRows(verdicts)
	t := &page.Table{Head: rows[0], Rows: page.Rows(rows[1:]), Note: strings.Join(report.RuleNotes(verdicts), ". ")}
	t.Head[0] = "rule"
	for i := range t.Rows {
		mood := page.Good
		switch {
		case verdicts[i].Unmeasured != "":
			mood = page.Plain
		case !verdicts[i].Met:
			mood = page.Bad
		}
		t.Rows[i].Cells[3].Mood = mood
	}
	return t
}

// pointsMax bounds the points of a curve: more would be finer than a screen. pointsTotal bounds those of all curves of
// a plot, so that the page of many stays small.
const (
	pointsMax   = 240
	pointsTotal = 960
)

// Distribution is a plot of cumulative distributions with the limits of an SLO.
func Distribution(d plot.Distribution) page.Plot {
	p := page.Plot{Title: d.Title, X: page.Axis{Name: "time", Kind: page.Seconds, Log: true},
		Y: page.Axis{Name: "share of " + d.Noun, Kind: page.Share, Max: page.At(1)}}
	for _, c := range d.Curves {
		p.Curves = append(p.Curves, cumulative(c, min(pointsMax, pointsTotal/len(d.Curves))))
	}
	if least := leastOf(d.Curves); least > 0 {
		p.X.Min = page.At(least)
	}
	if d.SLOS > 0 {
		label := "SLO " + text.Limit(d.SLOS)
		if d.SLOOf != "" {
			label = "SLO on " + d.SLOOf + " " + text.Limit(d.SLOS)
		}
		p.Limits = append(p.Limits, page.Limit{On: "x", At: d.SLOS, Label: label})
	}
	for _, r := range d.Rules {
		p.Limits = append(p.Limits, page.Limit{On: "x", At: r.LimitS, Label: r.Name})
	}
	return p
}

// gapLeastS is shorter than any step: gaps below it are between the tokens of one.
const gapLeastS = 1e-6

// leastOf returns where an axis begins that leaves out gaps of next to nothing, between the tokens of one step, which
// curves have beside real ones; 0: no curve has them. Such a curve enters from the side at their share.
func leastOf(curves []plot.Curve) float64 {
	least, left := math.Inf(1), false
	for _, c := range curves {
		real := slices.IndexFunc(c.Points, func(at plotter.XY) bool { return at.X >= gapLeastS })
		left = left || real > 0
		if real >= 0 {
			least = min(least, c.Points[real].X)
		}
	}
	if !left {
		return 0
	}
	return least / 2
}

// nothingS stands for 0 on a page, whose log axes have no place for it.
const nothingS = 1e-10

// cumulative thins a distribution out to about so many points, evenly in shares and, beyond the last ones, towards the
// tail.
func cumulative(c plot.Curve, points int) page.Curve {
	out := page.Curve{Name: c.Name, Step: true}
	last := -1.0
	for i, at := range c.Points {
		tail := at.Y > 0.98 && (1-at.Y) < 0.97*(1-last)
		if i > 0 && i < len(c.Points)-1 && at.Y-last < 1/float64(points) && !tail {
			continue
		}
		x := at.X
		if x == 0 {
			x = nothingS
		}
		out.X, out.Y, last = append(out.X, x), append(out.Y, at.Y), at.Y
	}
	return out
}
