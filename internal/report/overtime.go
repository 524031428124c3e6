package report

import (
	"fmt"
	"strings"

	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// overTime prints when the SLO was broken, when the backlog was gone, and which alerts fired.
func overTime(t *text.Page, o *metrics.OverTime) {
	if o == nil || !o.SLO && len(o.Alerts) == 0 {
		return
	}
	if sentence := OverTimeSentence(o); sentence != "" {
		t.Item("over time", sentence)
	}
	for i := range o.Alerts {
		if a := &o.Alerts[i]; !o.IsRule(a) || len(o.Alerts) > 1 && len(a.Fired) > 0 {
			t.Item("alert", alertSentence(o, a))
		}
	}
}

// OverTimeSentence says when the SLO was broken, and when the backlog of that time was gone; empty: there is no SLO, or
// no window in which it could be judged.
func OverTimeSentence(o *metrics.OverTime) string {
	judged, broken := 0, 0
	for i := range o.Windows {
		if met := o.Windows[i].Met; met != nil {
			judged++
			if !*met {
				broken++
			}
		}
	}
	wide := text.Lasting(o.WidthS)
	switch {
	case judged == 0:
		return ""
	case broken == 0 && judged == 1:
		return fmt.Sprintf("SLO met in the only window (%s)", wide)
	case broken == 0:
		return fmt.Sprintf("SLO met in each of %d windows of %s", judged, wide)
	}
	said := "SLO broken " + brokenWhen(o)
	if len(o.Broken) > spansMax {
		said = fmt.Sprintf("SLO broken in %d of %d windows of %s, %s", broken, judged, wide, brokenWhen(o))
	} else if broken == judged {
		said += ", all the time"
	} else {
		said += fmt.Sprintf(" (windows of %s)", wide)
	}
	return said + backlog(o.Backlog)
}

// spansMax is how many spans a sentence names.
const spansMax = 3

// brokenWhen names the spans in which the SLO was broken, or of many the first and the longest.
func brokenWhen(o *metrics.OverTime) string {
	span := func(s metrics.Span) string {
		return fmt.Sprintf("from %s to %s", text.Clock(s.FromS), text.Clock(s.ToS))
	}
	if len(o.Broken) <= spansMax {
		var all []string
		for _, s := range o.Broken {
			all = append(all, span(s))
		}
		return listed(all)
	}
	longest := o.Broken[0]
	for _, s := range o.Broken {
		if s.ToS-s.FromS > longest.ToS-longest.FromS {
			longest = s
		}
	}
	if longest == o.Broken[0] {
		return "first and longest " + span(longest)
	}
	return fmt.Sprintf("first %s, longest %s", span(o.Broken[0]), span(longest))
}

// listed joins things as a sentence does.
func listed(all []string) string {
	if n := len(all); n > 1 {
		return strings.Join(all[:n-1], ", ") + " and " + all[n-1]
	}
	return all[0]
}

// backlog says when the backlog was gone; empty: there was none.
func backlog(b *metrics.Backlog) string {
	if b == nil {
		return ""
	}
	peak := fmt.Sprintf("%s without a first token at %s", text.Counted(b.Requests, "request"), text.Clock(b.PeakS))
	if b.EndS == nil {
		return "; the backlog was not gone at the end (" + peak + ")"
	}
	return fmt.Sprintf("; backlog gone %s after the peak (%s)", text.Lasting(*b.EndS-b.PeakS), peak)
}

// alertSentence says when an alert fired and was resolved; of many times, the first and the longest.
func alertSentence(o *metrics.OverTime, a *metrics.AlertResult) string {
	said := a.Rule
	if !o.IsRule(a) {
		said += " over " + text.Lasting(a.OverS)
		if a.ForS > 0 {
			said += " for " + text.Lasting(a.ForS)
		}
	}
	when := func(f metrics.Firing) string {
		if f.ResolvedS == nil {
			return text.Clock(f.AtS) + ", not resolved at the end"
		}
		return text.Clock(f.AtS) + ", resolved " + text.Clock(*f.ResolvedS)
	}
	switch n := len(a.Fired); {
	case n == 0:
		return said + ": never fired"
	case n <= spansMax:
		var all []string
		for _, f := range a.Fired {
			all = append(all, when(f))
		}
		return said + ": fired " + strings.Join(all, "; ")
	}
	longest := a.Fired[0]
	for _, f := range a.Fired {
		if f.ResolvedS == nil || longest.ResolvedS != nil && *f.ResolvedS-f.AtS > *longest.ResolvedS-longest.AtS {
			longest = f
		}
	}
	return fmt.Sprintf("%s: fired %d times, first %s; longest %s", said, len(a.Fired), when(a.Fired[0]), when(longest))
}
