package report

import (
	"math"

	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// RuleRows returns a table of what became of the rules of an SLO: value, limit, met or not, and the margin.
func RuleRows(verdicts []metrics.Verdict) [][]string {
	rows := [][]string{{"SLO", "value", "limit", "met", "margin"}}
	for _, v := range verdicts {
		met := "yes"
		switch {
		case v.Unmeasured != "":
			met = text.Dash
		case !v.Met:
			met = "no"
		}
		rows = append(rows, append(append([]string{v.Rule}, valueAndLimit(&v)...), met, margin(&v)))
	}
	return rows
}

func valueAndLimit(v *metrics.Verdict) []string {
	if v.Share {
		return []string{RuleValue(v), text.Short(100*v.Limit) + " %"}
	}
	return []string{RuleValue(v), text.Limit(v.Limit)}
}

// RuleValue prints the value of a rule.
func RuleValue(v *metrics.Verdict) string {
	switch {
	case math.IsNaN(v.Value):
		return text.Dash
	case math.IsInf(v.Value, 1):
		return "∞"
	case v.Share:
		return text.Percent(v.Value)
	}
	return text.Duration(v.Value)
}

// timesOver is how many times its limit a latency is from which on its margin is printed as that number: -118,977 % is
// a number that nobody reads.
const timesOver = 10

// margin prints how far inside the limit a value is: of a latency in percent of the limit, of a share in points.
func margin(v *metrics.Verdict) string {
	switch {
	case math.IsNaN(v.Margin) || math.IsInf(v.Margin, 0):
		return text.Dash
	case v.Share:
		points := text.SignedPercent(100 * v.Margin)
		return points[:len(points)-1] + "pt"
	case v.Limit > 0 && v.Value >= timesOver*v.Limit:
		return text.Times(v.Value/v.Limit) + " the limit"
	}
	return text.SignedPercent(100 * v.Margin)
}

// rules prints a row for each rule of the SLO, if there are rules.
func rules(t *text.Page, s *metrics.Summary) {
	if len(s.Rules) == 0 {
		return
	}
	t.Table(RuleRows(s.Rules))
	if n := s.Requests.Rejected + s.Requests.Failed; n > 0 {
		t.Line("(" + text.Counted(n, "request") + " rejected or failed: longer than any limit, but in no mean)")
	}
	t.Blank()
}
