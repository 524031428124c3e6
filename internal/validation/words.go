package validation

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/internal/text"
)

// ErrorSentence says in words how wrong the predictions of a metric are.
func ErrorSentence(m *MetricErrors, quality string) string {
	name, e := MetricName(m.Metric), &m.All
	if quality != "" {
		name += " of quality " + quality
	}
	switch {
	case e.N == 0:
		return name + ": no prediction"
	case e.N == 1:
		return fmt.Sprintf("%s: 1 prediction, %s", name, direction(e.BiasPct))
	}
	return fmt.Sprintf("%s: half of %d predictions are within %s, nine in ten within %s; it runs %s", name, e.N,
		rough(e.MedianPct), rough(e.P90Pct), direction(e.BiasPct))
}

// direction says how much too high or too low.
func direction(biasPct float64) string {
	switch {
	case math.Abs(biasPct) < 0.5:
		return "neither high nor low"
	case biasPct < 0:
		return rough(biasPct) + " low"
	}
	return rough(biasPct) + " high"
}

// rough prints the size of an error for a sentence: 8 %, 0.4 %, a factor of 30.
func rough(percent float64) string {
	percent = math.Abs(percent)
	switch {
	case percent < 0.95:
		return strconv.FormatFloat(percent, 'f', 1, 64) + " %"
	case percent >= 1000: // never of a prediction that is too low
		return "a factor of " + strconv.FormatFloat(1+percent/100, 'f', 0, 64)
	}
	return strconv.FormatFloat(percent, 'f', 0, 64) + " %"
}

// MetricName is what people call a metric of predictions.csv: TTFT p99.
func MetricName(metric string) string {
	for _, rate := range [][2]string{{"output_tokens_per_s", "output tokens/s"}, {"requests_per_s", "requests/s"}} {
		if rest, ok := strings.CutPrefix(metric, rate[0]); ok {
			return rate[1] + strings.ReplaceAll(rest, "_", " ")
		}
	}
	name, stat, _ := strings.Cut(metric, "_")
	if !slices.Contains([]string{"ttft", "tpot", "itl", "e2e"}, name) {
		return strings.ReplaceAll(metric, "_", " ")
	}
	return strings.TrimSpace(strings.ToUpper(name) + " " + stat)
}

// unitOf is what stands behind a metric at the head of a column.
func unitOf(metric string) string {
	if strings.Contains(metric, "_per_s") {
		return ""
	}
	return ", ms"
}

func significantOf(x *float64) string {
	if x == nil {
		return "–"
	}
	return text.Significant(*x)
}

func signedOf(percent *float64) string {
	if percent == nil {
		return "–"
	}
	return text.SignedPercent(*percent)
}
