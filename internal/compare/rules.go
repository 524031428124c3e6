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

// rules returns the rules of all runs, in the order in which they come.
func rules(trials [][]*metrics.Summary) []metrics.Verdict {
	var all []metrics.Verdict
	for _, summaries := range trials {
		for _, s := range summaries {
			for _, v := range s.Rules {
				if !slices.ContainsFunc(all, func(o metrics.Verdict) bool { return o.Rule == v.Rule }) {
					all = append(all, v)
				}
			}
		}
	}
	return all
}

// ruleMetrics are the values of the rules, each of the scenarios that have it.
func ruleMetrics(all []metrics.Verdict) []comparedMetric {
	var rows []comparedMetric
	for _, v := range all {
		unit := "s"
		if v.Share {
			unit = "share"
		}
		rows = append(rows, comparedMetric{
			metric: "slo_rules." + v.Rule, name: v.Rule, unit: unit,
			of: func(s *metrics.Summary) float64 {
				i := slices.IndexFunc(s.Rules, func(o metrics.Verdict) bool { return o.Rule == v.Rule })
				if i < 0 || math.IsInf(s.Rules[i].Value, 0) {
					return math.NaN()
				}
				return s.Rules[i].Value
			},
		})
	}
	return rows
}

// ruleLines says of each scenario with rules which of them it broke.
func ruleLines(c *Comparison) []string {
	var lines []string
	for i := range c.Scenarios {
		s := &c.Scenarios[i]
		var broken []string
		unmeasured := ""
		for _, v := range s.Summary.Rules {
			if v.Broken() {
				broken = append(broken, fmt.Sprintf("%q (%s)", v.Rule, report.RuleValue(&v)))
			}
			unmeasured = cmp.Or(unmeasured, v.Unmeasured)
		}
		switch n := len(s.Summary.Rules); {
		case n == 0:
		case len(broken) == 0 && unmeasured != "":
			lines = append(lines, fmt.Sprintf("%s: whether its SLO is met is unknown: %s.", s.Name, unmeasured))
		case len(broken) == 0:
			lines = append(lines, fmt.Sprintf("%s meets its SLO: %s.", s.Name, text.Counted(n, "rule")))
		default:
			lines = append(lines, fmt.Sprintf("%s breaks its SLO: %s.", s.Name, strings.Join(broken, ", ")))
		}
	}
	return lines
}
