package compare

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/internal/page"
	"github.com/decodesim/decodesim/internal/pages"
	"github.com/decodesim/decodesim/internal/text"
)

// Page returns the page of a comparison that has been run: with what each scenario rests on, and the resolved scenarios
// by name.
func (r *Race) Page(assumed []page.Section, files []page.Code) *page.Page {
	c := r.Comparison
	names := make([]string, len(c.Scenarios))
	for i := range c.Scenarios {
		names[i] = c.Scenarios[i].Name
	}
	p := &page.Page{Kind: "Comparison", Caption: c.Caption(r.Models).String(), Foot: pages.Foot(c.Version),
		Question: "How do " + listed(names) + " differ under the same load?", Answer: c.answer()}
	p.Sections = []page.Section{c.items()}
	var plots []page.Plot
	for _, d := range r.distributions() {
		plots = append(plots, pages.Distribution(d))
	}
	p.Sections = append(p.Sections, page.Section{Title: "Latencies", Blocks: []page.Block{{Plots: plots}}}, c.keys())
	if section, ok := c.slos(); ok {
		p.Sections = append(p.Sections, section)
	}
	var reasons []string
	for i := range c.Scenarios {
		if s := &c.Scenarios[i]; s.Why != "" {
			reasons = append(reasons, s.Name+": "+s.Why)
		}
	}
	if len(reasons) > 0 {
		p.Sections = append(p.Sections, page.Section{Title: "Why each tail looks so", Blocks: []page.Block{{List: reasons}}})
	}
	if section, ok := c.parts(); ok {
		p.Sections = append(p.Sections, section)
	}
	if section, ok := r.courses(); ok {
		p.Sections = append(p.Sections, section)
	}
	p.Sections = append(p.Sections, c.accuracy(), pages.Warnings(c.warnings()), rests(names, assumed))
	command := "decodesim compare"
	for i := range files {
		command += " " + files[i].Name
	}
	if n := len(c.Seeds); n > 1 {
		command += fmt.Sprintf(" --seeds %d", n)
	}
	p.Sections = append(p.Sections, pages.Again(command, c.Version, files...))
	return p
}

// answer says what of the headline numbers differs from the first scenario.
func (c *Comparison) answer() string {
	var all []string
	for i := 1; i < len(c.Scenarios); i++ {
		var said []string
		for _, metric := range []string{"latency.ttft_s.p99", "latency.tpot_s.p50", "cost.usd_per_million_output_tokens"} {
			if words := c.change(metric, i); words != "" {
				said = append(said, words)
			}
		}
		if said == nil {
			said = []string{"no headline number differs for certain"}
		}
		all = append(all, fmt.Sprintf("%s against %s: %s.", c.Scenarios[i].Name, c.Scenarios[0].Name,
			strings.Join(said, ", ")))
	}
	return strings.Join(all, " ")
}

// change says how a metric of a scenario differs from the first one's; empty: it may be chance.
func (c *Comparison) change(metric string, i int) string {
	for k := range c.Metrics {
		item := &c.Metrics[k]
		if item.Metric != metric || item.Class != "" || item.Differences[i] == nil {
			continue
		}
		d := item.Differences[i]
		if d.Interval != nil && !d.Interval.Significant {
			return ""
		}
		_, name := itemUnit(item)
		name, _, _ = strings.Cut(strings.TrimSpace(name), ",") // without its unit
		return fmt.Sprintf("%s %s", name, relative(float64(d.Mean), float64(item.Values[0])))
	}
	return ""
}

// items is the decision table.
func (c *Comparison) items() page.Section {
	t := &page.Table{Head: []string{""}}
	for i := range c.Scenarios {
		t.Head = append(t.Head, c.Scenarios[i].Name)
		if i > 0 {
			t.Head = append(t.Head, "difference")
		}
	}
	for k := range c.Metrics {
		item := &c.Metrics[k]
		u, name := itemUnit(item)
		if item.Class != "" {
			name = item.Class + ": " + name
		}
		row := page.Row{Cells: []page.Cell{page.Words(name)}}
		for i := range c.Scenarios {
			row.Cells = append(row.Cells, valueCell(item, k, i, itemValue(item, u, i)))
			if i > 0 {
				row.Cells = append(row.Cells, page.Words(strings.Join(differenceCells(item, i, true), " ")))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return page.Section{Title: "Side by side", Blocks: []page.Block{{Table: t}},
		Lead: fmt.Sprintf("Requests: %s. Intervals of 95 %% by %s; ~: the difference may be chance.", c.Requests,
			c.Intervals)}
}

// valueCell is a value of a scenario.
func valueCell(item *Item, k, i int, words string) page.Cell {
	if x := float64(item.Values[i]); x == x { // a number
		return page.Number(words, fmt.Sprintf("metrics[%d].values[%d]", k, i), x)
	}
	return page.Words(words)
}

// keys is what differs in the scenarios.
func (c *Comparison) keys() page.Section {
	s := page.Section{Title: "What differs in the scenarios"}
	t := &page.Table{Head: []string{"key"}, Left: 1 + len(c.Scenarios)}
	for i := range c.Scenarios {
		t.Head = append(t.Head, c.Scenarios[i].Name)
	}
	agreed := alike(c.Diff)
	for _, d := range c.Diff {
		if agreed[d.Key] {
			continue
		}
		row := page.Row{Cells: []page.Cell{page.Words(d.Key)}}
		for _, v := range d.Values {
			if v == "" {
				v = text.Dash
			}
			row.Cells = append(row.Cells, page.Words(v))
		}
		t.Rows = append(t.Rows, row)
	}
	if len(t.Rows) == 0 {
		s.Lead = "Nothing."
		return s
	}
	s.Blocks = []page.Block{{Table: t}}
	return s
}

// accuracy is how wrong predictions for each scenario have been, each kind of evidence once.
func (c *Comparison) accuracy() page.Section {
	var all page.Section
	known := map[string]bool{}
	for i := range c.Scenarios {
		summary := c.Scenarios[i].Summary
		if summary == nil || len(summary.Expected) == 0 {
			continue
		}
		section := pages.Accuracy(summary.Expected)
		table := section.Blocks[0].Table
		table.Rows = slices.DeleteFunc(table.Rows, func(row page.Row) bool {
			first := known[row.Cells[0].Text]
			known[row.Cells[0].Text] = true
			return first
		})
		for _, row := range table.Rows {
			for k := range row.Cells {
				if row.Cells[k].Field != "" {
					row.Cells[k].Field = at(i) + row.Cells[k].Field
				}
			}
		}
		if all.Blocks == nil {
			all = section
			continue
		}
		all.Blocks[0].Table.Rows = append(all.Blocks[0].Table.Rows, table.Rows...)
	}
	if all.Blocks == nil {
		return pages.Accuracy(nil)
	}
	return all
}

// at is where the JSON has the summary of a scenario.
func at(i int) string { return fmt.Sprintf("scenarios[%d].summary.", i) }

// parts is what late tokens of each scenario are made of; false: they were not taken apart.
func (c *Comparison) parts() (all page.Section, ok bool) {
	for i := range c.Scenarios {
		s := &c.Scenarios[i]
		if s.Summary == nil {
			continue
		}
		section, has := pages.Parts(s.Summary, at(i), "")
		if !has {
			continue
		}
		section.Blocks[0].Bars.Title = s.Name
		all.Title, ok = section.Title, true
		all.Lead = "Each token as a whole, under the first seed."
		all.Blocks = append(all.Blocks, section.Blocks...)
	}
	return all, ok
}

// courses is the scenarios over time; false: their timelines were not kept.
func (r *Race) courses() (page.Section, bool) {
	all := make([]pages.Course, len(r.Timelines))
	for i := range all {
		s := &r.Comparison.Scenarios[i]
		all[i] = pages.Course{Name: s.Name, Samples: r.Timelines[i], OverTime: s.Summary.OverTime}
	}
	return pages.Courses("Each scenario under the first seed.", all)
}

// rests is a section of what each scenario rests on, once for those that rest on the same.
func rests(names []string, assumed []page.Section) page.Section {
	s := page.Section{Title: "What this rests on",
		Lead: "Figures of the hardware with their sources, what engines achieve of them, and every default."}
	taken := make([]bool, len(assumed))
	for i := range assumed {
		if taken[i] {
			continue
		}
		var alike []string
		for k := i; k < len(assumed); k++ {
			if reflect.DeepEqual(assumed[i].Blocks, assumed[k].Blocks) {
				alike, taken[k] = append(alike, names[k]), true
			}
		}
		s.Blocks = append(s.Blocks, page.Block{Fold: &page.Fold{Title: listed(alike), Blocks: assumed[i].Blocks}})
	}
	return s
}

// slos says which scenarios keep their SLOs, and where a small change of the load may decide; false: none has rules.
func (c *Comparison) slos() (page.Section, bool) {
	lines := ruleLines(c)
	return page.Section{Title: "The SLO of each", Blocks: []page.Block{{List: lines}}}, len(lines) > 0
}

// warnings are the notes of the comparison and the warnings of each run.
func (c *Comparison) warnings() []string {
	all := append([]string(nil), c.Notes...)
	for i := range c.Scenarios {
		if s := c.Scenarios[i].Summary; s != nil {
			for _, w := range warningsOf(s) {
				all = append(all, c.Scenarios[i].Name+": "+w)
			}
		}
	}
	return all
}

// listed joins names as a sentence does.
func listed(names []string) string {
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}
