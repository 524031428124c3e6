package report

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/decodesim/decodesim/sim/metrics"
)

// TestAMarginFarBeyondTheLimitIsAFactor: nobody reads -118,977 %.
func TestAMarginFarBeyondTheLimitIsAFactor(t *testing.T) {
	rows := RuleRows([]metrics.Verdict{
		{Rule: "a", Value: 1190.77, Limit: 1, Margin: -1189.77}, {Rule: "b", Value: 9.9, Limit: 1, Margin: -8.9},
		{Rule: "c", Value: 0.25, Limit: 1, Margin: 0.75, Met: true},
		{Rule: "d", Share: true, Value: 0.5, Limit: 0.01, Margin: 0.49, Met: true},
	})
	var margins []string
	for _, row := range rows[1:] {
		margins = append(margins, row[len(row)-1])
	}
	assert.Equal(t, []string{"1,191 × the limit", "-890 %", "+75.0 %", "+49.0 pt"}, margins)
}

// TestAPartOfThePeakIsNamedOnce, however many caches have layers of its kind.
func TestAPartOfThePeakIsNamedOnce(t *testing.T) {
	part := metrics.PeakShare{Part: "KV cache, attention", Limit: "compute", OfPeak: 0.44}
	other := part
	other.OfPeak = 0.3
	said := OfPeakSentences([]metrics.OfPeak{{Batch: 2, Context: 9, Parts: []metrics.PeakShare{part, part, other}}})
	assert.Equal(t, []string{"Of the peak, in a step of 2 sequences with 9 tokens: FLOP/s 44 % by KV cache and " +
		"attention, 30 % by KV cache and attention."}, said)
}
