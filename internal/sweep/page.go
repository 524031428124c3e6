package sweep

import (
	"fmt"
	"math"
	"strings"

	"github.com/decodesim/decodesim/internal/page"
	"github.com/decodesim/decodesim/internal/pages"
	"github.com/decodesim/decodesim/internal/text"
)

// Page returns the page of a sweep of this scenario, with what its results rest on.
func (r *Result) Page(scenario []byte, assumed page.Section) *page.Page {
	p := &page.Page{Kind: "Sweep", Caption: r.caption().String(), Question: r.question(), Facts: r.facts(),
		Foot: pages.Foot(r.Version)}
	p.Answer = r.answer()
	add := func(title, lead string, blocks ...page.Block) {
		p.Sections = append(p.Sections, page.Section{Title: title, Lead: lead, Blocks: blocks})
	}
	switch {
	case len(r.Curves) > 1:
		add("The decision", "Loads in "+r.Load.Unit+". Of the loads that were tried; a dash: none.",
			page.Block{Table: r.curvesTable()})
	case len(r.Curves) == 1:
		add("The load curve", strings.Join(r.Curves[0].Sentences, " "), page.Block{Table: r.loadsTable()})
	}
	if plots := r.curvePlots(); len(plots) > 0 {
		add("Under rising load", r.drawnWords(), page.Block{Plots: plots})
	}
	if len(r.Frontier) > 0 {
		add("Tokens/s per GPU against tokens/s per user",
			"Points that no other beats in both; points that saturate are none.",
			page.Block{Plots: []page.Plot{r.frontierPlot()}}, page.Block{Table: r.frontierTable()})
	}
	if blocks := r.askedBlocks(); len(blocks) > 0 {
		add("What was asked for", "", blocks...)
	}
	p.Sections = append(p.Sections, pages.Accuracy(r.Expected), pages.Warnings(r.warnings()), assumed,
		pages.Again(r.Command+" --out again", r.Version, page.Code{Name: "scenario.yaml", Text: string(scenario)}))
	return p
}

// question is what the axes ask.
func (r *Result) question() string {
	others := len(r.Axes)
	if r.Load == nil {
		return fmt.Sprintf("What do %s do to latency, throughput and cost of %s?", r.axisNames(), r.Is)
	}
	loads := r.Axes[r.Load.Axis].Values
	span := fmt.Sprintf("from %s to %s %s", loads[0], loads[len(loads)-1], r.Load.Unit)
	if others > 1 {
		var names []string
		for i := range r.Axes {
			if i != r.Load.Axis {
				names = append(names, short(r.Axes[i].Name))
			}
		}
		return fmt.Sprintf("With which %s does %s sustain most, of loads %s?", strings.Join(names, " and "), r.Is, span)
	}
	return fmt.Sprintf("How much load does %s sustain, %s?", r.Is, span)
}

// answer is the answer in two sentences.
func (r *Result) answer() string {
	switch {
	case len(r.Curves) == 1:
		return strings.Join(pair(r.Curves[0].Sentences), " ")
	case len(r.Curves) > 1:
		best := r.bestCurve()
		c := &r.Curves[best]
		if c.SLOTo != nil {
			return fmt.Sprintf("%s meets the SLO up to %s %s, which no other of the %d combinations exceeds. %s", named(c.Of),
				text.Short(*c.SLOTo), r.Load.Unit, len(r.Curves), c.Sentences[0])
		}
		return fmt.Sprintf("No combination of the %d is known to meet an SLO at the least load. %s: %s", len(r.Curves),
			named(c.Of), c.Sentences[0])
	case len(r.Frontier) > 0:
		most, fastest := &r.Frontier[0], &r.Frontier[len(r.Frontier)-1]
		for i := range r.Frontier {
			if r.Frontier[i].PerGPU > most.PerGPU {
				most = &r.Frontier[i]
			}
			if r.Frontier[i].PerUser > fastest.PerUser {
				fastest = &r.Frontier[i]
			}
		}
		return fmt.Sprintf("A GPU yields most with %s: %s tokens/s, of which a user gets %s. Users read fastest with %s: %s "+
			"tokens/s, at %s per GPU.", named(most.Of), text.Significant(most.PerGPU), text.Significant(most.PerUser),
			named(fastest.Of), text.Significant(fastest.PerUser), text.Significant(fastest.PerGPU))
	}
	return "No point was sustained."
}

// pair returns the first of some sentences and the last.
func pair(sentences []string) []string {
	if len(sentences) < 3 {
		return sentences
	}
	return []string{sentences[0], sentences[len(sentences)-1]}
}

// bestCurve is the combination that meets the SLO, or else is sustained, up to the highest load.
func (r *Result) bestCurve() (best int) {
	of := func(x *float64) float64 {
		if x == nil {
			return math.Inf(-1)
		}
		return *x
	}
	for i := range r.Curves {
		a, b := &r.Curves[i], &r.Curves[best]
		if slo, than := of(a.SLOTo), of(b.SLOTo); slo > than ||
			slo == than && of(a.SustainedTo) > of(b.SustainedTo) {
			best = i
		}
	}
	return best
}

// found is a number that a curve may not have.
func found(path string, x *float64) page.Cell {
	if x == nil {
		return page.Words(text.Dash)
	}
	return page.Number(text.Short(*x), path, *x)
}

// facts are the numbers that a decision goes by, of the best curve.
func (r *Result) facts() []page.Fact {
	facts := []page.Fact{{Name: "runs", Value: page.Number(text.Count(r.Runs), "runs", float64(r.Runs)),
		Note: text.Counted(r.Points, "point")}}
	if len(r.Curves) == 0 {
		return facts
	}
	best := r.bestCurve()
	c, at := &r.Curves[best], fmt.Sprintf("curves[%d].", best)
	add := func(name, path string, x *float64, mood page.Mood) {
		if x != nil {
			facts = append(facts, page.Fact{Name: name, Value: found(at+path, x), Note: r.Load.Unit, Mood: mood})
		}
	}
	add("SLO met up to", "slo_to", c.SLOTo, page.Good)
	add("knee", "knee", c.Knee, page.Plain)
	add("sustained up to", "sustained_to", c.SustainedTo, page.Plain)
	add("saturated from", "saturated_from", c.SaturatedFrom, page.Bad)
	if c.CapacityPerS != nil {
		facts = append(facts, page.Fact{Name: "completed at most", Note: "requests/s",
			Value: page.Number(text.Significant(*c.CapacityPerS), at+"capacity_per_s", *c.CapacityPerS)})
	}
	return facts
}

// curvesTable has a row for each combination of the other axes.
func (r *Result) curvesTable() *page.Table {
	t := &page.Table{Head: []string{"", "SLO met up to", "knee", "sustained up to", "saturated from",
		"completed/s at most"}}
	best := r.bestCurve()
	for i := range r.Curves[:min(len(r.Curves), rowsMax)] {
		c, at := &r.Curves[i], fmt.Sprintf("curves[%d].", i)
		row := page.Row{Strong: i == best, Cells: []page.Cell{page.Words(named(c.Of)), found(at+"slo_to", c.SLOTo),
			found(at+"knee", c.Knee), found(at+"sustained_to", c.SustainedTo), found(at+"saturated_from", c.SaturatedFrom)}}
		most := page.Words(text.Dash)
		if c.CapacityPerS != nil {
			most = page.Number(text.Significant(*c.CapacityPerS), at+"capacity_per_s", *c.CapacityPerS)
		}
		row.Cells = append(row.Cells, most)
		t.Rows = append(t.Rows, row)
	}
	t.Note = firstOf(len(r.Curves), "combinations")
	return t
}

// firstOf says that a table has not all; empty: it has.
func firstOf(n int, what string) string {
	if n <= rowsMax {
		return ""
	}
	return fmt.Sprintf("The first %d of %d %s; sweep.json has all.", rowsMax, n, what)
}

// loadsTable has a row for each load of the one curve.
func (r *Result) loadsTable() *page.Table {
	t := &page.Table{Head: []string{r.Load.Unit, "TTFT p50", "p95", "p99", "ITL p50", "p95", "p99", "completed/s",
		"SLO met by", "goodput/s", ""}}
	c := &r.Curves[0]
	t.Note = firstOf(len(c.Loads), "loads")
	for i := range c.Loads[:min(len(c.Loads), rowsMax)] {
		p, at := &c.Loads[i], fmt.Sprintf("curves[0].loads[%d].", i)
		row := page.Row{Strong: c.SLOTo != nil && *c.SLOTo == p.Load,
			Cells: []page.Cell{page.Number(text.Short(p.Load), at+"load", p.Load)}}
		for _, n := range []struct {
			path  string
			x     float64
			words func(float64) string
		}{
			{"ttft_s.p50", float64(p.TTFT.P50), text.Duration}, {"ttft_s.p95", float64(p.TTFT.P95), text.Duration},
			{"ttft_s.p99", float64(p.TTFT.P99), text.Duration}, {"itl_s.p50", float64(p.ITL.P50), text.Duration},
			{"itl_s.p95", float64(p.ITL.P95), text.Duration}, {"itl_s.p99", float64(p.ITL.P99), text.Duration},
			{"requests_per_s", float64(p.PerS), text.Significant},
			{"slo_attainment", float64(p.Attained), text.Percent}, {"goodput_per_s", float64(p.GoodPerS), text.Significant},
		} {
			if math.IsNaN(n.x) {
				row.Cells = append(row.Cells, page.Words(text.Dash))
				continue
			}
			row.Cells = append(row.Cells, page.Number(n.words(n.x), at+n.path, n.x))
		}
		last := page.Cell{}
		if p.Saturated {
			last = page.Cell{Text: "saturated", Mood: page.Bad}
		} else if p.Filling {
			last = page.Cell{Text: "too short", Mood: page.Bad}
		}
		row.Cells = append(row.Cells, last)
		t.Rows = append(t.Rows, row)
	}
	return t
}

// frontierTable is the Pareto frontier.
func (r *Result) frontierTable() *page.Table {
	t := &page.Table{Head: []string{"", "tokens/s per user", "tokens/s per GPU", "TTFT p95", "tokens per $"}}
	t.Note = firstOf(len(r.Frontier), "points")
	for i := range r.Frontier[:min(len(r.Frontier), rowsMax)] {
		p, at := &r.Frontier[i], fmt.Sprintf("frontier[%d].", i)
		row := page.Row{Cells: []page.Cell{page.Words(named(p.Of)),
			page.Number(text.Significant(p.PerUser), at+"output_tokens_per_s_per_user", p.PerUser),
			page.Number(text.Significant(p.PerGPU), at+"output_tokens_per_s_per_gpu", p.PerGPU), page.Words(text.Dash),
			page.Words(text.Dash)}}
		if x := float64(p.TTFTP95S); !math.IsNaN(x) {
			row.Cells[3] = page.Number(text.Duration(x), at+"ttft_p95_s", x)
		}
		if p.PerUSD != nil {
			row.Cells[4] = page.Number(text.Significant(*p.PerUSD), at+"output_tokens_per_usd", *p.PerUSD)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// warnings are runs that have no numbers, and loads whose numbers say nothing.
func (r *Result) warnings() (all []string) {
	for i, f := range r.Failures {
		if i == rowsMax {
			all = append(all, firstOf(len(r.Failures), "errors"))
			break
		}
		all = append(all, fmt.Sprintf("%s ended with an error, first of point %d: %s", text.Counted(f.Runs, "run"), f.Point,
			f.Error))
	}
	saturated := 0
	for point := range r.Points {
		if r.means[point] != nil && r.saturates(point) {
			saturated++
		}
	}
	if saturated > 0 {
		all = append(all, fmt.Sprintf("%s saturated: their latencies depend on the length of the run, and mean too much.",
			text.Counted(saturated, "point")))
	}
	if len(r.Seeds) == 1 {
		all = append(all, "One seed: differences between points are under the same requests, and how far others would be "+
			"off is not known; --seeds says.")
	}
	return all
}
