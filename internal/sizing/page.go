package sizing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/page"
	"github.com/decodesim/decodesim/internal/pages"
	"github.com/decodesim/decodesim/internal/report"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/internal/text"
)

// Page returns the page of a search whose study reads so.
func (s *Sizing) Page(study []byte) *page.Page {
	p := &page.Page{Kind: "Sizing", Caption: s.Caption().String(), Question: s.question(), Facts: s.facts(),
		Foot: pages.Foot(s.Version)}
	p.Answer, p.Mood = s.answer()
	add := func(section page.Section) { p.Sections = append(p.Sections, section) }
	if s.Best != nil {
		add(s.finalists())
	} else if s.Failure != nil {
		add(page.Section{Title: "What was not tried", Blocks: []page.Block{{List: s.Failure.NotTried}}})
	}
	if kinds := s.kinds(); len(kinds.Blocks) > 0 {
		add(kinds)
	}
	if plots := s.plots(); len(plots) > 0 {
		add(page.Section{Title: "What others do", Lead: "Hovering names the deployment.",
			Blocks: []page.Block{{Plots: plots}}})
	}
	if len(s.Commands) > 0 {
		code := ""
		for _, line := range s.Commands {
			code += line + "\n"
		}
		add(page.Section{Title: "How its servers are started", Blocks: []page.Block{{Code: &page.Code{Text: code}}}})
	}
	for i := range s.reported {
		add(s.reported[i])
	}
	add(pages.Accuracy(s.Expected))
	add(pages.Warnings(s.warnings()))
	again := pages.Again("decodesim size study.yaml", s.Version, page.Code{Name: "study.yaml", Text: string(study)})
	again.Blocks = append(again.Blocks, page.Block{Text: searchWords(s) + "."})
	add(again)
	return p
}

// show prepares what the page says of the replay of the best deployment.
func (s *Sizing) show(b *build.Built, r *run.Result) {
	add := func(section page.Section, ok bool) {
		if ok {
			s.reported = append(s.reported, section)
		}
	}
	add(pages.Parts(r.Summary, "replay.", ""))
	add(pages.OverTime(r.Timeline, r.Summary.OverTime, r.Summary.Classes))
	add(pages.Assumed(b), true)
}

// warnings are the notes of the search, and what runs of its best deployment warn of.
func (s *Sizing) warnings() []string {
	all := slices.Clone(s.Notes)
	if s.Best == nil {
		return all
	}
	if s.Replay != nil {
		all = append(all, report.RuleNotes(s.Replay.SLO)...)
	} else {
		all = append(all, report.RuleNotes(s.Best.Rules)...)
	}
	for _, w := range s.Best.Warnings {
		if !slices.Contains(all, w) {
			all = append(all, w)
		}
	}
	return append(all, s.Best.SlowParts...)
}

// question is what the study asks.
func (s *Sizing) question() string {
	if s.AtPerS > 0 {
		return fmt.Sprintf("What is the cheapest deployment of %s that sustains %s %s with %s?", s.Model,
			text.Short(s.AtPerS), s.unit(), sloWords(&s.SLO))
	}
	budget := ""
	if s.GPUsMax > 0 {
		budget = " on up to " + text.Counted(s.GPUsMax, "GPU")
	}
	return fmt.Sprintf("Which deployment of %s%s sustains most with %s?", s.Model, budget, sloWords(&s.SLO))
}

// answer is the answer in two sentences.
func (s *Sizing) answer() (string, page.Mood) {
	switch {
	case s.Failure != nil:
		return fmt.Sprintf("No deployment sustains %s %s; %s on %s comes nearest.", text.Significant(s.Failure.RatePerS),
			s.unit(), s.Failure.Nearest.Name, text.Counted(s.Failure.Nearest.GPUs, "GPU")), page.Bad
	case s.Best == nil:
		return fmt.Sprintf("No deployment sustains %s %s%s.", text.Significant(s.RateMinPerS), s.unit(),
			packedOnly(s, s.RateMinPerS)), page.Bad
	}
	all, mood := sentences(s), page.Good
	if r := s.Replay; r != nil && slices.ContainsFunc(r.SLO, unmet) {
		mood = page.Plain // under all of the workload it is not met
	}
	if s.Lead != nil {
		return all[0] + " " + all[len(all)-1], mood
	}
	return all[0], mood
}

// facts are the numbers that a decision goes by.
func (s *Sizing) facts() []page.Fact {
	b := s.Best
	if b == nil {
		return nil
	}
	facts := []page.Fact{{Name: "GPUs", Value: page.Number(text.Count(b.GPUs), "best.gpus", float64(b.GPUs)),
		Note: b.gpuWords()}}
	if b.USDPerHour > 0 {
		facts = append(facts, page.Fact{Name: "per hour",
			Value: page.Number(text.USD(b.USDPerHour), "best.usd_per_hour", b.USDPerHour)})
	}
	sustains := page.Fact{Name: s.unit() + " sustained",
		Value: page.Number(text.Significant(b.CapacityPerS), "best.capacity_per_s", b.CapacityPerS)}
	if s.AtPerS > 0 {
		sustains.Note, sustains.Mood = text.Short(s.AtPerS)+" asked", page.Good
	}
	return append(facts, sustains,
		page.Fact{Name: "TTFT p95", Value: page.Number(text.Duration(b.TTFTS.P95), "best.ttft_s.p95", b.TTFTS.P95),
			Note: "at that rate"},
		page.Fact{Name: "TPOT p95", Value: b.TPOTS.cell(b.TPOTS.P95, "best.tpot_s.p95"),
			Note: "at that rate"},
		page.Fact{Name: "of the roofline limit",
			Value: page.Number(text.Percent(b.OfPerfect), "best.of_perfect", b.OfPerfect)})
}

// finalists is the decision table, and what limits each deployment of it.
func (s *Sizing) finalists() page.Section {
	t := &page.Table{Head: []string{"deployment", "GPUs", "per hour", s.unit(), "±", "goodput/s/GPU", "of roofline",
		"J/token", "tokens/s/user", "TTFT p50", "TPOT p50"},
		Note: "Each at the most that it sustains; ± is half of the 95 % interval."}
	limits := &page.Table{Head: []string{"deployment", "what limits it"}, Left: 2}
	for i := range s.Finalists {
		f, at := &s.Finalists[i], fmt.Sprintf("finalists[%d].", i)
		half, usd := page.Words(text.Dash), page.Words(text.Dash)
		if f.Interval != nil {
			half = page.Words(text.Significant((f.Interval.High - f.Interval.Low) / 2))
		}
		if f.USDPerHour > 0 {
			usd = page.Number(text.USD(f.USDPerHour), at+"usd_per_hour", f.USDPerHour)
		}
		t.Rows = append(t.Rows, page.Row{Strong: i == 0, Cells: []page.Cell{page.Words(f.Name),
			page.Number(text.Count(f.GPUs), at+"gpus", float64(f.GPUs)), usd,
			page.Number(text.Significant(f.CapacityPerS), at+"capacity_per_s", f.CapacityPerS), half,
			page.Number(text.Significant(f.GoodputPerSPerGPU), at+"goodput_per_s_per_gpu", f.GoodputPerSPerGPU),
			page.Number(text.Percent(f.OfPerfect), at+"of_perfect", f.OfPerfect), f.Spending.joulesNumber(at),
			page.Number(f.speed(), at+"user_tokens_per_s", f.UserTokensPerS),
			page.Number(text.Duration(f.TTFTS.P50), at+"ttft_s.p50", f.TTFTS.P50),
			f.TPOTS.cell(f.TPOTS.P50, at+"tpot_s.p50")}})
		limits.Rows = append(limits.Rows,
			page.Row{Cells: []page.Cell{page.Words(f.Name), page.Words(limitWords(f, s))}})
	}
	section := page.Section{Title: "The decision", Blocks: []page.Block{{Table: t}, {Table: limits}}}
	if s.Replay != nil {
		sentences := []string{replayWords(s), roomWords(s), spendingWords(s.Replay)}
		section.Lead = strings.Join(slices.DeleteFunc(sentences, func(words string) bool { return words == "" }), " ")
	}
	return section
}

// kinds are the cheapest of each kind, where a rate is asked for.
func (s *Sizing) kinds() page.Section {
	section := page.Section{Title: "The cheapest of each topology and layout"}
	printed, _ := layoutsPrinted(s.Rows)
	if len(printed) == 0 {
		return section
	}
	notes := footnotes(printed)
	rows := layoutRows(printed, notes)
	section.Blocks = []page.Block{{Table: &page.Table{Head: rows[0], Rows: page.Rows(rows[1:]), Left: 2}}}
	for i := range notes {
		notes[i] = fmt.Sprintf("[%d] %s", i+1, notes[i])
	}
	var none []string
	for i := range s.Rows {
		if r := &s.Rows[i]; r.Name == "" {
			none = append(none, fmt.Sprintf("no %s %s on %s: %s", r.Topology, r.Layout, r.GPU, r.Why))
		}
	}
	if all := slices.Concat(notes, none); len(all) > 0 {
		section.Blocks = append(section.Blocks, page.Block{List: all})
	}
	return section
}

// plots are goodput per GPU against how fast users read, and by split or GPUs.
func (s *Sizing) plots() (plots []page.Plot) {
	goodput := page.Axis{Name: "goodput/s/GPU"}
	frontier := page.Plot{Title: "Goodput per GPU against user speed", Note: "requests/s within the SLO, per GPU",
		X: page.Axis{Name: "tokens/s of the median user"}, Y: goodput}
	for _, topology := range []string{configs.Colocated, configs.Disaggregated} {
		var points []page.Point
		for _, p := range s.Frontier {
			if p.Topology == topology {
				label := fmt.Sprintf("%s at %s %s", p.Name, text.Significant(p.RatePerS), s.unit())
				points = append(points, page.Point{X: p.UserTokensPerS, Y: p.GoodputPerSPerGPU, Label: label})
			}
		}
		if len(points) > 0 {
			frontier.Curves = append(frontier.Curves, page.Dots(topology, points))
		}
	}
	if len(frontier.Curves) > 0 {
		plots = append(plots, frontier)
	}
	splits := page.Plot{Title: "Goodput per GPU by layout", Note: "requests/s within the SLO, per GPU",
		X: page.Axis{Name: acrossGPUs}, Y: goodput}
	divided := slices.ContainsFunc(s.Splits, func(p SplitPoint) bool { return p.Topology == configs.Disaggregated })
	if divided {
		splits.Title = "Goodput per GPU by split"
		splits.X = page.Axis{Name: acrossSplits, Kind: page.Share, Min: page.At(0), Max: page.At(1)}
	}
	of := map[string][]page.Point{}
	var series []string
	for _, p := range s.Splits {
		if _, seen := of[p.Series]; !seen {
			series = append(series, p.Series)
		}
		at := page.Point{X: float64(p.GPUs), Y: p.GoodputPerSPerGPU, Label: p.Name}
		if divided {
			at.X = p.PrefillShare
		}
		of[p.Series] = append(of[p.Series], at)
	}
	for _, name := range series {
		splits.Curves = append(splits.Curves, page.Dots(name, of[name]))
	}
	if len(splits.Curves) > 0 {
		plots = append(plots, splits)
	}
	return plots
}
