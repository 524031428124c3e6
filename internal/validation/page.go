package validation

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/decodesim/decodesim/internal/page"
	"github.com/decodesim/decodesim/internal/pages"
	"github.com/decodesim/decodesim/internal/text"
)

// Page returns the page of a validation.
func (v *Validation) Page() *page.Page {
	file := filepath.Base(v.File)
	p := &page.Page{Kind: "Validation", Caption: shortened(file) + " · " + v.Data + " · " + selection(v),
		Question: "How far off are predictions of the runs in " + file + "?", Answer: v.answer(), Facts: v.facts(),
		Foot: pages.Foot(v.Version)}
	add := func(section page.Section) { p.Sections = append(p.Sections, section) }
	if plots := v.plots(); len(plots) > 0 {
		add(page.Section{Title: "Predicted against measured",
			Lead:   "On the diagonal a prediction is right; the dashed lines are 20 % off. Hovering names the run.",
			Blocks: []page.Block{{Plots: plots}}})
	}
	add(v.errorTables())
	if len(v.Skips) > 0 {
		t := &page.Table{Head: []string{"why runs were left out", "rows", "values of others"}}
		for i, s := range v.Skips {
			at := fmt.Sprintf("skips[%d].", i)
			t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{page.Words(s.Reason),
				page.Number(text.Count(s.Rows), at+"rows", float64(s.Rows)),
				page.Number(text.Count(s.Values), at+"values", float64(s.Values))}})
		}
		add(page.Section{Title: "What was not compared", Blocks: []page.Block{{Table: t}}})
	}
	add(pages.Warnings(v.Notes))
	command := "decodesim validate --data " + file
	if v.Scenario != "" {
		command += " --scenario " + v.Scenario
	}
	for _, set := range v.Set {
		command += " --set " + set
	}
	add(pages.Again(command, v.Version))
	return p
}

// answer says how wrong the first two leading metrics may be.
func (v *Validation) answer() string {
	var said []string
	for i := range v.Metrics {
		if m := &v.Metrics[i]; m.Lead && len(said) < 2 {
			said = append(said, ErrorSentence(m, v.Quality)+".")
		}
	}
	if said == nil {
		return "Nothing could be compared."
	}
	return strings.Join(said, " ")
}

// facts are the median errors of the metrics that the data lead with.
func (v *Validation) facts() (facts []page.Fact) {
	for i := range v.Metrics {
		if m := &v.Metrics[i]; m.Lead && m.All.N > 0 {
			facts = append(facts, page.Fact{Name: MetricName(m.Metric) + ", median error",
				Value: page.Number(text.UnsignedPercent(m.All.MedianPct),
					fmt.Sprintf("metrics[%d].all.median_abs_error_pct", i), digits(m.All.MedianPct, 7)),
				Note: fmt.Sprintf("nine in ten %s, n %d", text.UnsignedPercent(m.All.P90Pct), m.All.N)})
		}
	}
	n := &v.Counts
	return append(facts, page.Fact{Name: "runs simulated",
		Value: page.Number(text.Count(n.Simulated), "counts.rows_simulated", float64(n.Simulated)),
		Note:  "of " + text.Count(n.Rows)})
}

// errorTables are the errors of each metric, by label where it has groups.
func (v *Validation) errorTables() page.Section {
	section := page.Section{Title: "Errors",
		Lead: "Of predictions made before a measured latency was read; bias is the mean error with its sign."}
	for i := range v.Metrics {
		m := &v.Metrics[i]
		if !predicted(v, m.Metric) {
			continue
		}
		rows := [][]string{errorsRow("all", &m.All)}
		for k := range m.Groups {
			if g := &m.Groups[k]; g.By != "parallel" && g.By != "load" { // dozens of them
				rows = append(rows, errorsRow(g.By+": "+g.Name, &g.Errors))
			}
		}
		table := page.Block{Table: &page.Table{Head: errorsHead(MetricName(m.Metric)), Rows: page.Rows(rows)}}
		if !m.Lead {
			table = page.Block{Fold: &page.Fold{Title: MetricName(m.Metric), Blocks: []page.Block{table}}}
		}
		section.Blocks = append(section.Blocks, table)
	}
	return section
}

// dotsMax bounds the points of a plot.
const dotsMax = 3000

// plots are predictions against what was measured, of the metrics that the data lead with.
func (v *Validation) plots() (plots []page.Plot) {
	for _, metric := range leading(v) {
		var points []page.Point
		low, high := 0.0, 0.0
		each(v, metric, func(r *Row, x *Value) {
			if x.Measured <= 0 || *x.Predicted <= 0 || len(points) == dotsMax {
				return
			}
			if len(points) == 0 {
				low, high = x.Measured, x.Measured
			}
			low, high = min(low, x.Measured), max(high, x.Measured)
			points = append(points, page.Point{X: x.Measured, Y: *x.Predicted, Label: r.ID})
		})
		if len(points) == 0 {
			continue
		}
		line := func(name string, factor float64) page.Curve {
			return page.Curve{Name: name, Dash: factor != 1, X: page.Numbers{low, high},
				Y: page.Numbers{factor * low, factor * high}}
		}
		plots = append(plots, page.Plot{Title: MetricName(metric), Note: "predicted" + unitOf(metric),
			X:      page.Axis{Name: "measured" + unitOf(metric), Log: true},
			Y:      page.Axis{Log: true},
			Curves: []page.Curve{page.Dots("runs", points), line("right", 1), line("+20 %", 1.2), line("−20 %", 0.8)}})
	}
	return plots
}
