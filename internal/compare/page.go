package compare

import (
	"fmt"
	"strings"

	"github.com/decodesim/decodesim/internal/page"
	"github.com/decodesim/decodesim/internal/pages"
	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// Page returns the page of a comparison: of distributions, and of the resolved scenarios by name.
func (c *Comparison) Page(models []string, distributions []plot.Distribution, files []page.Code) *page.Page {
	names := make([]string, len(c.Scenarios))
	for i := range c.Scenarios {
		names[i] = c.Scenarios[i].Name
	}
	p := &page.Page{Kind: "Comparison", Caption: c.Caption(models).String(), Foot: pages.Foot(c.Version),
		Question: "How do " + listed(names) + " differ under the same load?", Answer: c.answer()}
	p.Sections = []page.Section{c.items()}
	var plots []page.Plot
	for i := range distributions {
		plots = append(plots, pages.Distribution(distributions[i]))
	}
	p.Sections = append(p.Sections, page.Section{Title: "Latencies", Blocks: []page.Block{{Plots: plots}}}, c.keys())
	var reasons []string
	for i := range c.Scenarios {
		if s := &c.Scenarios[i]; s.Why != "" {
			reasons = append(reasons, s.Name+": "+s.Why)
		}
	}
	if len(reasons) > 0 {
		p.Sections = append(p.Sections, page.Section{Title: "Why each tail looks so", Blocks: []page.Block{{List: reasons}}})
	}
	p.Sections = append(p.Sections, c.accuracy(), pages.Warnings(c.warnings()))
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

// accuracy is how far off predictions for deployments like the first one have been.
func (c *Comparison) accuracy() page.Section {
	var errors []metrics.ExpectedError
	if s := c.Scenarios[0].Summary; s != nil {
		errors = s.Expected
	}
	section := pages.Accuracy(errors)
	for _, b := range section.Blocks {
		for _, row := range b.Table.Rows {
			for i := range row.Cells {
				if row.Cells[i].Field != "" {
					row.Cells[i].Field = "scenarios[0].summary." + row.Cells[i].Field
				}
			}
		}
	}
	return section
}

// warnings are the notes of the comparison and the warnings of each run.
func (c *Comparison) warnings() []string {
	all := append([]string(nil), c.Notes...)
	for i := range c.Scenarios {
		if s := c.Scenarios[i].Summary; s != nil {
			for _, w := range s.Warnings {
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
