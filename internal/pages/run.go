package pages

import (
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/page"
	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/internal/report"
	"github.com/decodesim/decodesim/sim/metrics"
)

// Run is what the page of a run shows.
type Run struct {
	Built    *build.Built
	Summary  *metrics.Summary
	Timeline []metrics.Sample    // nil: not recorded
	Curves   []plot.Distribution // of latencies
	Chunks   string              // as report.Options has it
	Scenario []byte              // the resolved file
}

// Page returns the page of a run.
func (r *Run) Page() *page.Page {
	s := r.Summary
	p := &page.Page{Kind: "Run", Caption: report.CaptionOf(s, r.Built.Deployment.Model.Name).String(),
		Question: r.question(), Facts: r.facts(), Foot: Foot(s.Version)}
	p.Answer, p.Mood = r.answer()
	add := func(section page.Section, ok bool) {
		if ok {
			p.Sections = append(p.Sections, section)
		}
	}
	add(r.latencies(), true)
	add(Warnings(s.Warnings), len(s.Warnings) > 0)
	add(Parts(s, "", r.Chunks))
	add(OverTime(r.Timeline, s.OverTime, s.Classes))
	add(r.deployment(), true)
	add(money(s))
	add(Accuracy(s.Expected), true)
	add(Warnings(nil), len(s.Warnings) == 0)
	add(Assumed(r.Built), true)
	add(Again("decodesim run scenario.yaml", s.Version, page.Code{Name: "scenario.yaml", Text: string(r.Scenario)}), true)
	return p
}

// latencies is the section of what users feel.
func (r *Run) latencies() page.Section {
	s := r.Summary
	section := page.Section{Title: "What users feel", Blocks: []page.Block{{Table: latencyTable(&s.Latency)}}}
	if rules := report.Verdicts(s); len(rules) > 0 {
		section.Blocks = append(section.Blocks, page.Block{Table: rulesTable(rules)})
	}
	if len(s.Classes) > 0 {
		section.Blocks = append(section.Blocks, page.Block{Table: classes(s.Classes)})
	}
	if d := doubt(s); d != "" {
		section.Blocks = append(section.Blocks, page.Block{Alerts: []string{d}})
	}
	var plots []page.Plot
	for _, d := range r.Curves {
		plots = append(plots, Distribution(d))
	}
	section.Blocks = append(section.Blocks, page.Block{Plots: plots})
	return section
}

// doubt says how another length of the run would have given another answer; empty: nothing suggests it.
func doubt(s *metrics.Summary) string {
	if s.Steady == nil || s.Steady.DependsOnLength == "" {
		return ""
	}
	return "The answer depends on the length of the run: " + s.Steady.DependsOnLength
}
