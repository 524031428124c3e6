package sizing

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/internal/report"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// rowTables writes the cheapest deployment of each kind of GPU, what more load needs, and the cheapest of each topology
// and layout.
func rowTables(t *text.Page, s *Sizing) {
	var leaders []*Row
	for i := range s.Rows {
		if r := &s.Rows[i]; r.CheapestOfGPU && !slices.ContainsFunc(leaders, r.sameAs) {
			leaders = append(leaders, r)
		}
	}
	slices.SortStableFunc(leaders, func(a, b *Row) int { return cheaperRow(a, b) })
	notes := footnotes(s.Rows)
	if len(leaders) > 0 {
		t.Line(fmt.Sprintf("the cheapest on each kind of GPU, at %s %s", text.Short(s.AtPerS), s.unit()))
		t.Table(leaderRows(leaders, notes))
		t.Blank()
		moreLines(t, s, leaders[0])
		t.Blank()
	}
	if len(s.Rows) > 0 {
		t.Line("the cheapest of each topology and layout")
		t.Table(layoutRows(s.Rows, notes), 0, 1)
	}
	whyLines(t, s.Rows)
	for i, warning := range notes {
		t.Line(fmt.Sprintf("[%d] %s", i+1, warning))
	}
}

func (s *Sizing) unit() string {
	if s.Unit == "" {
		return "requests/s"
	}
	return s.Unit
}

func (r *Row) sameAs(o *Row) bool { return r.Name == o.Name }

func cheaperRow(a, b *Row) int {
	return cheaper(&deployment{is: a.Deployment}, &deployment{is: b.Deployment})
}

// footnotes returns the warnings of all rows, each once.
func footnotes(rows []Row) (all []string) {
	for i := range rows {
		for _, w := range rows[i].Warnings {
			if !slices.Contains(all, w) {
				all = append(all, w)
			}
		}
	}
	return all
}

// marks returns the numbers of some warnings.
func marks(warnings, notes []string) string {
	var numbers []string
	for i, note := range notes {
		if slices.Contains(warnings, note) {
			numbers = append(numbers, fmt.Sprintf("[%d]", i+1))
		}
	}
	if numbers == nil {
		return text.Dash
	}
	return strings.Join(numbers, "")
}

// leaderRows are a table of the cheapest deployments by kind of GPU.
func leaderRows(leaders []*Row, notes []string) [][]string {
	head := []string{"", "GPUs", "per hour", "$/M tokens"}
	for _, rule := range rulesOf(leaders) {
		head = append(head, rule)
	}
	rows := [][]string{append(head, "margin", "at 2 ×", "at 3 ×", "warnings")}
	for _, r := range leaders {
		cells := append([]string{r.Name}, r.costs()...)
		cells = append(cells, r.values(rulesOf(leaders))...)
		cells = append(cells, text.SignedPercent(100*float64(r.Margin)))
		for i := range r.More {
			cells = append(cells, r.More[i].needs())
		}
		rows = append(rows, append(cells, marks(r.Warnings, notes)))
	}
	return rows
}

// needs says how many GPUs a multiple of the load takes.
func (m *More) needs() string {
	if m.Needs == nil {
		return "none"
	}
	return text.Counted(m.Needs.GPUs, "GPU")
}

// costs are the cells that say what a deployment takes.
func (r *Row) costs() []string {
	perHour, perMillion := text.Dash, text.Dash
	if r.USDPerHour > 0 {
		perHour, perMillion = text.USD(r.USDPerHour), text.USD(r.USDPerMillionTokens)
	}
	return []string{text.Count(r.GPUs), perHour, perMillion}
}

// rulesOf returns the rules that the rows are judged by, each once.
func rulesOf(rows []*Row) (rules []string) {
	for _, r := range rows {
		for i := range r.SLO {
			if rule := r.SLO[i].Rule; !slices.Contains(rules, rule) {
				rules = append(rules, rule)
			}
		}
	}
	return rules
}

// values are the cells of rules.
func (r *Row) values(rules []string) (cells []string) {
	for _, rule := range rules {
		cell := text.Dash
		if i := slices.IndexFunc(r.SLO, func(v metrics.Verdict) bool { return v.Rule == rule }); i >= 0 {
			cell = report.RuleValue(&r.SLO[i])
			if !r.SLO[i].Met {
				cell = "✗ " + cell
			}
		}
		cells = append(cells, cell)
	}
	return cells
}

// moreLines say what becomes of more load on the best deployment, as it is and with more replicas.
func moreLines(t *text.Page, s *Sizing, r *Row) {
	for i := range r.More {
		m := &r.More[i]
		line := fmt.Sprintf("at %d ×, %s %s: ", m.Times, text.Short(m.RatePerS), s.unit())
		switch at := worst(m.SLO); {
		case m.SLO == nil:
			line += r.Name + " does not keep up"
		case at < 0:
			line += r.Name + " sustains it as it is"
		default:
			line += fmt.Sprintf("%s as it is breaks %q (%s)", r.Name, m.SLO[at].Rule, report.RuleValue(&m.SLO[at]))
		}
		if m.Needs == nil {
			t.Line(line + "; no number of replicas that was tried sustains it")
			continue
		}
		line += fmt.Sprintf("; %s on %s sustains it", m.Needs.Name, text.Counted(m.Needs.GPUs, "GPU"))
		if m.Needs.USDPerHour > 0 {
			line += ", " + text.USD(m.Needs.USDPerHour) + " per hour"
		}
		t.Line(line)
	}
}

// layoutRows are a table of all rows that have a deployment.
func layoutRows(all []Row, notes []string) [][]string {
	var pointers []*Row
	for i := range all {
		pointers = append(pointers, &all[i])
	}
	rules := rulesOf(pointers)
	rows := [][]string{append(append([]string{"GPU", "deployment", "GPUs", "per hour", "$/M tokens"}, rules...),
		"TTFT p50", "TPOT p50", "warnings")}
	for _, r := range pointers {
		if r.Name == "" {
			continue
		}
		cells := append([]string{r.GPU, strings.ReplaceAll(r.Name, " "+r.GPU, "")}, r.costs()...)
		cells = append(append(cells, r.values(rules)...), text.Duration(r.TTFTS.P50), text.Duration(r.TPOTS.P50))
		rows = append(rows, append(cells, marks(r.Warnings, notes)))
	}
	return rows
}

// whyLines say why some kinds have no row.
func whyLines(t *text.Page, rows []Row) {
	for i := range rows {
		if r := &rows[i]; r.Name == "" {
			t.Line(fmt.Sprintf("no %s %s on %s: %s", r.Topology, r.Layout, r.GPU, r.Why))
		}
	}
}

// failureLines say why nothing sustains the lowest rate.
func failureLines(t *text.Page, s *Sizing) {
	f := s.Failure
	line := fmt.Sprintf("no deployment sustains %s %s%s", text.Significant(f.RatePerS), s.unit(), packedOnly(s, f.RatePerS))
	t.Line(line)
	if f.Broke == "" {
		t.Line(fmt.Sprintf("%s on %s comes nearest.", f.Nearest.Name, text.Counted(f.Nearest.GPUs, "GPU")))
	} else {
		i := slices.IndexFunc(f.SLO, func(v metrics.Verdict) bool { return v.Rule == f.Broke })
		t.Line(fmt.Sprintf("%q breaks first: %s on %s comes nearest, with %s (%s of what is asked for)", f.Broke,
			f.Nearest.Name, text.Counted(f.Nearest.GPUs, "GPU"), report.RuleValue(&f.SLO[i]),
			text.Percent(math.Min(1, f.Attainment))))
		t.Blank()
		t.Table(report.RuleRows(f.SLO))
	}
	t.Blank()
	t.Line("not tried: " + strings.Join(f.NotTried, "; "))
}
