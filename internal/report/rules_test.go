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

// TestWhatTheValueOfARuleOnGapsHidesIsSaid below the table.
func TestWhatTheValueOfARuleOnGapsHidesIsSaid(t *testing.T) {
	assert.Equal(t, []string{
		"itl p95 <= 20ms is judged on the gaps between chunks of 3.04 tokens in the mean, which come together; a rule on " +
			"tpot limits the time per token",
		"itl p95 <= 25ms stands on a cliff, where a little more or less load decides: p94 is 12.4 ms and p96 30.9 ms; " +
			"4.59 % of the gaps are beyond the limit, and 4.99 % have prefill in their step",
		"itl p99 <= 25ms stands on a cliff, where a little more or less load decides: p98.8 is 12.4 ms and p99.2 30.9 ms; " +
			"1.10 % of the gaps are beyond the limit",
	}, RuleNotes([]metrics.Verdict{
		{Rule: "ttft p95 <= 1s"}, {Rule: "itl p95 <= 20ms", TokensPerChunk: 3.038},
		{Rule: "itl p95 <= 25ms", Cliff: metrics.Cliff{Below: 94, BelowS: 0.0124, Above: 96, AboveS: 0.0309, Beyond: 0.0459,
			Prefill: 0.0499}},
		{Rule: "itl p99 <= 25ms", Cliff: metrics.Cliff{Below: 98.8, BelowS: 0.0124, Above: 99.2, AboveS: 0.0309,
			Beyond: 0.011}},
	}))
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
