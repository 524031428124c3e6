package pages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/page"
	"github.com/decodesim/decodesim/internal/text"
)

// Assumed is a section of what a result rests on: the figures of the hardware, what engines achieve of them, and every
// value that nobody gave.
func Assumed(b *build.Built) page.Section {
	s := page.Section{Title: "What this rests on",
		Lead:   "Figures of the hardware with their sources, what engines achieve of them, and every default.",
		Blocks: []page.Block{{Table: figures(b)}, {List: achieved(b)}}}
	if all := b.Scenario.Assumed(); len(all) > 0 {
		t := &page.Table{Head: []string{"key", "value", "meaning"}, Left: 3}
		for _, a := range all {
			t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{page.Words(a.Key), page.Words(a.Value), page.Words(a.Doc)}})
		}
		s.Blocks = append(s.Blocks, page.Block{Fold: &page.Fold{
			Title:  text.Counted(len(all), "value") + " that the scenario does not give, at their defaults",
			Blocks: []page.Block{{Table: t}}}})
	}
	return s
}

// figures are those of the accelerators that the result depends on.
func figures(b *build.Built) *page.Table {
	t := &page.Table{Head: []string{"figure", "value", "evidence", "source"}, Left: 4}
	var done []string
	for i, r := range b.Replicas {
		gpu := &r.Deployment.GPU
		name := b.Scenario.Pools[i].GPU.Name()
		if slices.Contains(done, name) {
			continue
		}
		done = append(done, name)
		used := append(r.Deployment.Figures(), "tdp_w")
		for _, f := range gpu.Fields() {
			if !slices.Contains(used, f.Path) || !f.Known() {
				continue
			}
			source := f.Source
			if f.Conflict != "" {
				source += "; others: " + f.Conflict
			}
			t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{page.Words(name + " " + f.Path),
				page.Words(text.Scaled(f.Value, unitOf(f.Path))), page.Words(gradeOf(f.Quantity)), page.Words(source)}})
		}
		if p := gpu.Price; p.Known() {
			t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{page.Words(name + " price"),
				page.Words(text.USD(p.USDPerHour) + "/h"), page.Words("one offer of " + p.Date),
				page.Words(p.Provider + ": " + p.Source)}})
		}
	}
	return t
}

// unitOf returns the unit of a figure by its path.
func unitOf(path string) string {
	switch {
	case strings.HasPrefix(path, "flops."):
		return "FLOP/s"
	case strings.HasSuffix(path, "_bps"):
		return "B/s"
	case strings.HasSuffix(path, "_bytes"):
		return "B"
	case strings.HasSuffix(path, "_w"):
		return "W"
	}
	return ""
}

// gradeOf says how good the evidence of a figure is.
func gradeOf(q hardware.Quantity) string {
	grades := map[string]string{"A": "A: the vendor's text", "B": "B: one secondary source", "C": "C: reported or derived"}
	switch {
	case q.Unverified:
		return "read in no document"
	case q.Grade == "" && q.Conflict != "":
		return "sources disagree"
	case q.Grade == "":
		return "sourced"
	}
	return grades[q.Grade]
}

// achieved says what the steps of each pool are priced by.
func achieved(b *build.Built) (lines []string) {
	for i, r := range b.Replicas {
		line := fmt.Sprintf("Steps on %s under %s: %s", b.Scenario.Pools[i].GPU.Name(), b.Scenario.Pools[i].Engine,
			r.Deployment.Efficiency.Source)
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return append(lines, lengths(b.Scenario)...)
}

// lengths says whether requests were recorded or drawn.
func lengths(s *configs.Scenario) []string {
	if s.Workload.Trace != nil {
		return []string{"Requests are those of a recorded trace."}
	}
	return []string{"Requests are drawn at random by the laws of the scenario, from its seed."}
}
