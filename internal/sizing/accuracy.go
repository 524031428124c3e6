package sizing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/expected"
	"github.com/decodesim/decodesim/internal/report"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// accuracyLines say how far an answer is to be trusted: the errors to expect of its finalists, what the parts of the
// first one's usual step achieve of the peaks, and what runs warn of, which tables of rows say below themselves.
func accuracyLines(t *text.Page, s *Sizing) {
	if len(s.Expected) > 0 {
		t.Blank()
	}
	for _, line := range expected.Sentences(s.Expected) {
		t.Line("accuracy: " + line)
	}
	if s.Best == nil {
		return
	}
	for _, sentence := range report.OfPeakSentences(s.Best.OfPeak) {
		t.Line(sentence)
	}
	warnings := s.Best.SlowParts
	if s.AtPerS == 0 {
		warnings = slices.Concat(warnings, s.finalWarnings())
	}
	for _, warning := range warnings {
		t.Warning("warning: " + warning)
	}
}

// finalWarnings are what runs of the finalists warn of, each once: what one of them was priced by may decide which is
// first.
func (s *Sizing) finalWarnings() (all []string) {
	for i := range s.Finalists {
		for _, w := range s.Finalists[i].Warnings {
			if !slices.Contains(all, w) {
				all = append(all, w)
			}
		}
	}
	return all
}

// modelError is the error to expect of a deployment's latencies, by their medians. With separate pools, TTFT's is
// that of the prefill pool and TPOT's that of the decode pool. 0: nobody knows it.
type modelError struct{ ttftPct, tpotPct float64 }

// errorOf returns the error to expect of a scenario.
func errorOf(s *configs.Scenario) (m modelError) {
	if x, known := expected.TTFTOf(s); known {
		m.ttftPct = x.TTFT.MedianPct
	}
	if x, known := expected.TPOTOf(s); known {
		m.tpotPct = x.TPOT.MedianPct
	}
	return m
}

// roomWords says which rules the best deployment keeps by less than the model is usually wrong by, and the limits that
// leave room for that; empty: there are none. Intervals over seeds, which stand beside its margin, know nothing of the
// model's own error. Rules about a share of the requests are left out: an error of latencies says nothing of them.
func roomWords(s *Sizing) string {
	if s.AtPerS == 0 || s.Replay == nil {
		return ""
	}
	var longer, tighter []string
	for _, v := range s.Replay.SLO {
		name, errorPct := "TPOT", s.ofBest.tpotPct
		if strings.HasPrefix(v.Rule, "ttft") {
			name, errorPct = "TTFT", s.ofBest.ttftPct
		}
		off := 1 + errorPct/100
		onCliff := v.Cliff != (metrics.Cliff{}) // where the value is not as many times as long as steps are; a note says so
		if v.Share || !v.Met || onCliff || !(v.Value*off > v.Limit) || !ofTokens(v.Rule) {
			continue
		}
		wrong := metrics.Verdict{Value: v.Value * off}
		longer = append(longer, fmt.Sprintf("%s would be %s with a %s %.1f %% longer", v.Rule,
			report.RuleValue(&wrong), name, errorPct))
		limit := metrics.Verdict{Value: v.Limit / off}
		rule, _, _ := strings.Cut(v.Rule, "<")
		tighter = append(tighter, rule+"<= "+strings.ReplaceAll(report.RuleValue(&limit), " ", ""))
	}
	if len(longer) == 0 {
		return ""
	}
	return fmt.Sprintf("That leaves less room than the model's error, which no seed shows: %s, and half of its errors "+
		"are larger. '%s' as the SLO leaves as much room.", strings.Join(longer, ", "), strings.Join(tighter, ", "))
}

// ofTokens reports whether a rule limits a latency that the errors to expect are of.
func ofTokens(rule string) bool {
	return strings.HasPrefix(rule, "ttft") || strings.HasPrefix(rule, "itl") || strings.HasPrefix(rule, "tpot")
}
