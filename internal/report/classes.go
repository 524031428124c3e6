package report

import (
	"slices"
	"strings"

	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// classes prints a row for each service class, if there are several, their latencies, and what became of their rules.
func classes(t *text.Page, s *metrics.Summary) {
	if len(s.Classes) < 2 {
		return
	}
	rows := [][]string{{"class", "requests", "completed", "SLO met", "goodput"}}
	latencies := latencyHead("by class")
	for i := range s.Classes {
		c := &s.Classes[i]
		met, goodput := "–", "–"
		if c.SLO != nil && c.Measured() {
			met, goodput = text.Percent(c.SLO.Attainment), text.Significant(c.SLO.GoodputPerS)+"/s"
		}
		rows = append(rows, []string{
			c.Name, text.Count(c.Requests.Arrived), text.Count(c.Requests.Completed), met, goodput,
		})
		for _, q := range c.Latency.Named() {
			latencies = latency(latencies, c.Name+" "+q.Name, q.Quantiles)
		}
	}
	t.Table(rows)
	if note := classLimits(s.Classes); note != "" {
		t.Line(note)
	}
	t.Blank()
	t.Table(latencies)
	t.Blank()
	if verdicts := ofClasses(s); len(verdicts) > 0 {
		ruleTable(t, verdicts)
		t.Blank()
	}
}

// ofClasses returns what became of the rules of classes, each under the name of its own.
func ofClasses(s *metrics.Summary) (all []metrics.Verdict) {
	for i := range s.Classes {
		for _, v := range s.Classes[i].Rules {
			v.Rule = s.Classes[i].Name + ": " + v.Rule
			all = append(all, v)
		}
	}
	return all
}

// Verdicts returns what became of all rules, those of classes under their names.
func Verdicts(s *metrics.Summary) []metrics.Verdict {
	return append(slices.Clone(s.Rules), ofClasses(s)...)
}

// quantile prints a time of a distribution, or that there is none.
func quantile(q metrics.Quantiles, x float64) string {
	if q.N == 0 {
		return "–"
	}
	return text.Duration(x)
}

// classLimits says which limits the classes have.
func classLimits(of []metrics.ClassResult) string {
	var parts []string
	for i := range of {
		if o := of[i].SLO; o != nil {
			parts = append(parts, of[i].Name+" "+Limits(o))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "(SLO: " + strings.Join(parts, "; ") + ")"
}
