package report

import (
	"fmt"
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

// RuleNotes say of rules on gaps what their values do not: that a gap is that of several tokens, and that a small
// change of the load may decide the verdict.
func RuleNotes(verdicts []metrics.Verdict) (notes []string) {
	for i := range verdicts {
		v := &verdicts[i]
		if x := v.TokensPerChunk; x > 0 {
			notes = append(notes, fmt.Sprintf("%s is judged on the gaps between chunks of %s tokens in the mean, which come "+
				"together; a rule on tpot limits the time per token", v.Rule, text.Significant(x)))
		}
		if c := &v.Cliff; *c != (metrics.Cliff{}) {
			prefill := ""
			if c.Prefill > 0 {
				prefill = ", and " + text.Percent(c.Prefill) + " have prefill in their step"
			}
			notes = append(notes, fmt.Sprintf("%s stands on a cliff, where a little more or less load decides: p%s is %s and "+
				"p%s %s; %s of the gaps are beyond the limit%s", v.Rule, text.Short(c.Below), text.Duration(c.BelowS),
				text.Short(c.Above), text.Duration(c.AboveS), text.Percent(c.Beyond), prefill))
		}
	}
	return notes
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

// ruleTable prints a row for each verdict, and what else is to be known of it.
func ruleTable(t *text.Page, verdicts []metrics.Verdict) {
	t.Table(RuleRows(verdicts))
	for _, note := range RuleNotes(verdicts) {
		t.Line("(" + note + ")")
	}
}

// rules prints a row for each rule of the SLO, if there are rules.
func rules(t *text.Page, s *metrics.Summary) {
	if len(s.Rules) == 0 {
		return
	}
	ruleTable(t, s.Rules)
	if n := s.Requests.Rejected + s.Requests.Failed; n > 0 {
		t.Line("(" + text.Counted(n, "request") + " rejected or failed: longer than any limit, but in no mean)")
	}
	t.Blank()
}
