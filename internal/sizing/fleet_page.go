package sizing

import (
	"fmt"
	"strings"

	"github.com/decodesim/decodesim/internal/page"
	"github.com/decodesim/decodesim/internal/pages"
	"github.com/decodesim/decodesim/internal/text"
)

// Page returns the page of a fleet whose study reads so. What each model does is on the page of its own folder.
func (f *Fleet) Page(study []byte) *page.Page {
	p := &page.Page{Kind: "Fleet", Caption: fmt.Sprintf("%s · %s that share a budget", f.Fleet,
		text.Counted(len(f.Members), "model")), Question: f.question(), Facts: f.facts(), Foot: pages.Foot(f.Version)}
	p.Answer, p.Mood = strings.Join(f.Sentences[:min(2, len(f.Sentences))], " "), page.Good
	if f.Takes == nil {
		p.Mood = page.Bad
	}
	decision := page.Section{Title: "The decision", Blocks: []page.Block{{Table: f.table()}},
		Lead: "Each model on the deployment that it has in the fleet; what it does there is on the page in its folder."}
	if f.Takes == nil {
		decision.Lead = "Each model on the cheapest deployment that sustains its rate, were it alone."
	}
	if len(f.Sentences) > 2 {
		decision.Blocks = append(decision.Blocks, page.Block{List: f.Sentences[2:]})
	}
	p.Sections = append(p.Sections, decision)
	if bars := f.bars(); bars != nil {
		p.Sections = append(p.Sections, page.Section{Title: "Who takes the budget", Blocks: []page.Block{{Bars: bars}}})
	}
	if plot := f.plot(); len(plot.Curves) > 0 {
		p.Sections = append(p.Sections, page.Section{Title: "What there was to choose from",
			Lead:   "The cheapest deployment of each topology, kind of GPU and layout that sustains the rate of its model.",
			Blocks: []page.Block{{Plots: []page.Plot{plot}}}})
	}
	p.Sections = append(p.Sections, pages.Accuracy(f.Expected), pages.Warnings(f.warnings()), f.assumed(),
		pages.Again("decodesim size fleet.yaml", f.Version, page.Code{Name: "fleet.yaml", Text: string(study)}))
	return p
}

// question is what the study asks.
func (f *Fleet) question() string {
	var models []string
	for i := range f.Members {
		m := &f.Members[i]
		models = append(models, fmt.Sprintf("%s at %s %s", m.Model, text.Short(m.RatePerS), m.Unit))
	}
	budget := ""
	if f.Budget != (Takes{}) {
		budget = " within " + f.Budget.words(f.Budget)
	}
	return fmt.Sprintf("What is the cheapest way to serve %s%s?", strings.Join(models, " and "), budget)
}

// facts are what the fleet takes of its budget.
func (f *Fleet) facts() (facts []page.Fact) {
	if f.Takes == nil {
		return nil
	}
	of := func(limit float64, words string) string {
		if limit == 0 {
			return ""
		}
		return "of " + words
	}
	t, b := f.Takes, &f.Budget
	facts = append(facts, page.Fact{Name: "GPUs", Value: page.Number(text.Count(t.GPUs), "takes.gpus", float64(t.GPUs)),
		Note: of(float64(b.GPUs), text.Count(b.GPUs))})
	if t.USDPerHour > 0 {
		facts = append(facts, page.Fact{Name: "per hour", Note: of(b.USDPerHour, text.USD(b.USDPerHour)),
			Value: page.Number(text.USD(t.USDPerHour), "takes.usd_per_hour", t.USDPerHour)})
	}
	if t.PowerW > 0 {
		facts = append(facts, page.Fact{Name: "accelerators may draw", Note: of(b.PowerW, text.Scaled(b.PowerW, "W")),
			Value: page.Number(text.Scaled(t.PowerW, "W"), "takes.power_w", t.PowerW)})
	}
	return facts
}

// deployed is what a model has in the fleet, or else by itself, and where the JSON says so; nil: nothing sustains it.
func (m *Member) deployed(i int) (r *Row, at string) {
	if m.Deployed != nil {
		return m.Deployed, fmt.Sprintf("members[%d].deployed.", i)
	}
	return m.ByItself, fmt.Sprintf("members[%d].by_itself.", i)
}

// table has a row for each model.
func (f *Fleet) table() *page.Table {
	t := &page.Table{Left: 4, Head: []string{"", "model", "rate", "deployment", "GPUs", "per hour", "$/M tokens",
		"J/token", "TDP", "TTFT p95", "TPOT p95", "by itself"}}
	number := func(words, path string, x float64) page.Cell {
		if x == 0 {
			return page.Words(text.Dash)
		}
		return page.Number(words, path, x)
	}
	for i := range f.Members {
		m := &f.Members[i]
		row := page.Row{Cells: []page.Cell{page.Words(m.Study), page.Words(m.Model),
			page.Number(text.Short(m.RatePerS)+" "+m.Unit, fmt.Sprintf("members[%d].rate_per_s", i), m.RatePerS)}}
		r, at := m.deployed(i)
		if r == nil {
			row.Cells = append(row.Cells, page.Cell{Text: "none sustains it", Mood: page.Bad})
			for len(row.Cells) < len(t.Head) {
				row.Cells = append(row.Cells, page.Words(text.Dash))
			}
			t.Rows = append(t.Rows, row)
			continue
		}
		row.Cells = append(row.Cells, page.Words(r.Name),
			page.Number(text.Count(r.GPUs), at+"gpus", float64(r.GPUs)),
			number(text.USD(r.USDPerHour), at+"usd_per_hour", r.USDPerHour),
			number(text.USD(r.USDPerMillionTokens), at+"usd_per_million_output_tokens", r.USDPerMillionTokens),
			r.Spending.joulesNumber(at), number(text.Scaled(r.TDPW, "W"), at+"tdp_w", r.TDPW),
			page.Number(text.Duration(r.TTFTS.P95), at+"ttft_s.p95", r.TTFTS.P95),
			page.Number(text.Duration(r.TPOTS.P95), at+"tpot_s.p95", r.TPOTS.P95))
		single := "the same"
		if m.ByItself != nil && r != m.ByItself {
			single = m.ByItself.Name
		}
		row.Cells = append(row.Cells, page.Words(single))
		t.Rows = append(t.Rows, row)
	}
	return t
}

// bars are the shares of the models in what the fleet takes; nil: it takes nothing.
func (f *Fleet) bars() *page.Bars {
	if f.Takes == nil {
		return nil
	}
	b := &page.Bars{Title: "Shares of what the fleet takes", Note: "Hovering says how much."}
	for i := range f.Members {
		b.Parts = append(b.Parts, f.Members[i].Study)
	}
	for _, of := range []struct {
		name, path string
		all        float64
		each       func(Takes) float64
		words      func(float64) string
	}{
		{"GPUs", "gpus", float64(f.Takes.GPUs), func(t Takes) float64 { return float64(t.GPUs) },
			func(x float64) string { return text.Count(int(x)) }},
		{"per hour", "usd_per_hour", f.Takes.USDPerHour, func(t Takes) float64 { return t.USDPerHour }, text.USD},
		{"TDP", "power_w", f.Takes.PowerW, func(t Takes) float64 { return t.PowerW },
			func(x float64) string { return text.Scaled(x, "W") }},
	} {
		if of.all == 0 {
			continue
		}
		bar := page.Bar{Label: of.name, Value: page.Number(of.words(of.all), "takes."+of.path, of.all)}
		from := 0.0
		for i := range f.Members {
			x := of.each(f.Members[i].Deployed.takes())
			to := min(1, from+x/of.all)
			bar.Segments = append(bar.Segments, page.Segment{From: from, To: to, Part: i,
				Words: f.Members[i].Study + ": " + of.words(x)})
			from = to
		}
		b.Rows = append(b.Rows, bar)
	}
	return b
}

// plot is what the deployments cost by their GPUs, among which the fleet chose.
func (f *Fleet) plot() page.Plot {
	p := page.Plot{Title: "Rent by GPUs", X: page.Axis{Name: "GPUs"}, Y: page.Axis{Name: "$ per hour", Kind: page.USD}}
	for i := range f.Members {
		m := &f.Members[i]
		var dots []page.Point
		for _, r := range m.available {
			if r.USDPerHour > 0 {
				dots = append(dots, page.Point{X: float64(r.GPUs), Y: r.USDPerHour, Label: r.Name})
			}
		}
		if len(dots) > 0 {
			p.Curves = append(p.Curves, page.Dots(m.Study, dots))
		}
	}
	if f.Budget.GPUs > 0 {
		p.Limits = append(p.Limits, page.Limit{On: "x", At: float64(f.Budget.GPUs), Label: "budget"})
	}
	if f.Budget.USDPerHour > 0 {
		p.Limits = append(p.Limits, page.Limit{On: "y", At: f.Budget.USDPerHour, Label: "budget"})
	}
	return p
}

// warnings are those of what is deployed.
func (f *Fleet) warnings() (all []string) {
	for i := range f.Members {
		m := &f.Members[i]
		if r, _ := m.deployed(i); r != nil {
			for _, w := range r.Warnings {
				all = append(all, m.Study+": "+w)
			}
		}
	}
	return all
}

// assumed is what the answers of the models rest on.
func (f *Fleet) assumed() page.Section {
	s := page.Section{Title: "What this rests on", Lead: "Figures of the hardware with their sources, what engines " +
		"achieve of them, and every default, of the cheapest deployment of each model."}
	for i := range f.Members {
		m := &f.Members[i]
		if n := len(m.Answer.reported); n > 0 {
			s.Blocks = append(s.Blocks, page.Block{Fold: &page.Fold{Title: m.Study, Blocks: m.Answer.reported[n-1].Blocks}})
		}
	}
	return s
}
