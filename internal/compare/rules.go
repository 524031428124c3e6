package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/internal/report"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// verdictsOf returns the rules of a run: its own, which no class has, or those of a class.
func verdictsOf(s *metrics.Summary, class string) []metrics.Verdict {
	if class == "" {
		return s.Rules
	}
	i := slices.IndexFunc(s.Classes, func(c metrics.ClassResult) bool { return c.Name == class })
	if i < 0 {
		return nil
	}
	return s.Classes[i].Rules
}

// rules returns the rules of all runs, or of a class in all of them, in the order in which they come.
func rules(trials [][]*metrics.Summary, class string) []metrics.Verdict {
	var all []metrics.Verdict
	for _, summaries := range trials {
		for _, s := range summaries {
			for _, v := range verdictsOf(s, class) {
				if !slices.ContainsFunc(all, func(o metrics.Verdict) bool { return o.Rule == v.Rule }) {
					all = append(all, v)
				}
			}
		}
	}
	return all
}

// ruleMetrics are the values of rules, each of the scenarios that have it.
func ruleMetrics(all []metrics.Verdict, class string) []comparedMetric {
	var rows []comparedMetric
	prefix := ""
	if class != "" {
		prefix = "classes." + class + "."
	}
	for _, v := range all {
		unit := "s"
		if v.Share {
			unit = "share"
		}
		rows = append(rows, comparedMetric{
			metric: prefix + "slo_rules." + v.Rule, name: v.Rule, unit: unit,
			of: func(s *metrics.Summary) float64 {
				own := verdictsOf(s, class)
				i := slices.IndexFunc(own, func(o metrics.Verdict) bool { return o.Rule == v.Rule })
				if i < 0 || math.IsInf(own[i].Value, 0) {
					return math.NaN()
				}
				return own[i].Value
			},
		})
	}
	return rows
}

// ruleLines says of each scenario with rules which of them it broke, and what their values do not say.
func ruleLines(c *Comparison) []string {
	var lines []string
	for i := range c.Scenarios {
		s := &c.Scenarios[i]
		var broken []string
		unmeasured, rules := "", report.Verdicts(s.Summary)
		for _, v := range rules {
			if v.Broken() {
				broken = append(broken, fmt.Sprintf("%q (%s)", v.Rule, report.RuleValue(&v)))
			}
			unmeasured = cmp.Or(unmeasured, v.Unmeasured)
		}
		switch n := len(rules); {
		case n == 0:
		case len(broken) == 0 && unmeasured != "":
			lines = append(lines, fmt.Sprintf("%s: whether its SLO is met is unknown: %s.", s.Name, unmeasured))
		case len(broken) == 0:
			lines = append(lines, fmt.Sprintf("%s meets its SLO: %s.", s.Name, text.Counted(n, "rule")))
		default:
			lines = append(lines, fmt.Sprintf("%s breaks its SLO: %s.", s.Name, strings.Join(broken, ", ")))
		}
		for _, note := range report.RuleNotes(rules) {
			lines = append(lines, s.Name+": "+note+".")
		}
	}
	return lines
}
