package configs

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/decodesim/decodesim/hardware"
)

// score is a replayed row; times are in milliseconds.
type score struct {
	id, deployment                                      string
	gpu, class, model, source, weights, tensor, clients string  // groups
	tpot, ttft                                          pair    // ttft is zero where only TPOT is compared
	floor                                               float64 // mean over tokens of the bound of their steps
}

// pair is a time as measured and as predicted.
type pair struct{ measured, predicted float64 }

// modelClass names what sets the cost of a model apart.
func modelClass(m hardware.LLM) string {
	switch kind := m.AttentionKind(); {
	case kind == "hybrid linear":
		return "hybrid"
	case kind == "MLA" || kind == "sparse":
		return "MLA"
	case m.Experts() > 0:
		return "MoE"
	}
	return "dense"
}

func tpotOf(s score) pair { return s.tpot }

func ttftOf(s score) pair { return s.ttft }

// errorSummary describes the relative errors of a group: of their absolute values the median and the 90th percentile,
// and the median with its sign, positive where the prediction is too long.
type errorSummary struct{ median, p90, bias float64 }

func errorsOf(scored []score, of func(score) pair) errorSummary {
	var signed, absolute []float64
	for _, s := range scored {
		p := of(s)
		e := p.predicted/p.measured - 1
		signed, absolute = append(signed, e), append(absolute, math.Abs(e))
	}
	return errorSummary{nearestRank(absolute, 0.5), nearestRank(absolute, 0.9), nearestRank(signed, 0.5)}
}

func nearestRank(x []float64, q float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[max(0, int(math.Ceil(q*float64(len(x))))-1)]
}

// accuracyTable prints the errors overall and by each grouping, in percent of the measured value.
func accuracyTable(scored []score, groupings []func(score) string) string {
	var b strings.Builder
	b.WriteString("errors in % of the measured mean: median and 90th percentile of the absolute value, signed median (+: predicted too long)\n")
	fmt.Fprintf(&b, "%-26s %5s %5s | %6s %6s %7s | %6s %6s %7s | %s\n", "group", "rows", "depl.",
		"TPOT", "p90", "bias", "TTFT", "p90", "bias", "measured TPOT / bound, median")
	b.WriteString(accuracyLine("all", scored))
	for _, by := range groupings {
		groups := map[string][]score{}
		for _, s := range scored {
			groups[by(s)] = append(groups[by(s)], s)
		}
		names := slices.SortedFunc(maps.Keys(groups), func(a, b string) int {
			return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) // 8 before 16
		})
		for _, name := range names {
			b.WriteString(accuracyLine(name, groups[name]))
		}
	}
	return b.String()
}

func accuracyLine(name string, group []score) string {
	deployments := map[string]bool{}
	var above []float64
	for _, s := range group {
		deployments[s.deployment] = true
		above = append(above, s.tpot.measured/s.floor)
	}
	ttft := fmt.Sprintf("%6s %6s %7s", "–", "–", "–")
	if group[0].ttft != (pair{}) {
		ttft = errorsOf(group, ttftOf).String()
	}
	return fmt.Sprintf("%-26s %5d %5d | %s | %s | %.2f\n", name, len(group), len(deployments), errorsOf(group, tpotOf), ttft, nearestRank(above, 0.5))
}

func (e errorSummary) String() string {
	return fmt.Sprintf("%6.1f %6.1f %+7.1f", 100*e.median, 100*e.p90, 100*e.bias)
}

// scoreRows scores every row of a file, and counts by reason those that cannot be.
func scoreRows(t *testing.T, file string, one func(row map[string]string) (score, string)) (scored []score) {
	skipped := map[string]int{}
	for _, row := range readRows(t, file) {
		if s, reason := one(row); reason == "" {
			scored = append(scored, s)
		} else {
			skipped[reason]++
		}
	}
	logSkipped(t, skipped)
	return scored
}

func logSkipped(t *testing.T, skipped map[string]int) {
	for _, reason := range slices.Sorted(maps.Keys(skipped)) {
		t.Logf("%5d rows skipped: %s", skipped[reason], reason)
	}
}

// logBelowBound lists measurements that no GPU of the kind could make: their labels are wrong, or the bound is.
func logBelowBound(t *testing.T, scored []score) {
	n := 0
	for _, s := range scored {
		if s.tpot.measured < s.floor {
			n++
			t.Logf("below its bound of %.2f ms: %s, measured TPOT %.2f ms, predicted %.2f ms", s.floor, s.id, s.tpot.measured, s.tpot.predicted)
		}
	}
	t.Logf("%5d of %d measured TPOT lie below their bound", n, len(scored))
}
