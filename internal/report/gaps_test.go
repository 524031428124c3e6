package report

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/plot/plottest"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// withTail is a run whose p50 gap is 10 ms of weights and whose p99 gap has more in it.
func withTail(more metrics.Parts, tail metrics.TailShare) *metrics.Summary {
	s := summary()
	more.Weights += .01
	gap := 0.0
	for _, p := range partsOf(&more) {
		gap += p.seconds
	}
	s.Gaps = []metrics.Gap{{At: "p50", GapS: .01, Parts: metrics.Parts{Weights: .01}}, {At: "p99", GapS: gap, Parts: more}}
	s.Tail = &metrics.Tail{Share: tail}
	return s
}

func TestTheLateTokenHasItsReason(t *testing.T) {
	mixed, paused := metrics.TailShare{Mixed: 1}, metrics.TailShare{Paused: 1}
	const chunks = "max_num_batched_tokens 512"
	for _, c := range []struct {
		name   string
		more   metrics.Parts
		tail   metrics.TailShare
		chunks string
		want   string
	}{
		{"chunks", metrics.Parts{Prefill: .07}, mixed, chunks,
			"p99 ITL 80.0 ms is 8.0 × the median: nearly all of the 70.0 ms more is prefill in the same step; " +
				"max_num_batched_tokens 512 bounds it."},
		{"whole prompts have no bound", metrics.Parts{Prefill: .07}, mixed, "",
			"p99 ITL 80.0 ms is 8.0 × the median: nearly all of the 70.0 ms more is prefill in the same step."},
		{"several steps of prompts alone have none", metrics.Parts{Prefill: .07}, paused, chunks,
			"p99 ITL 80.0 ms is 8.0 × the median: nearly all of the 70.0 ms more is prefill in steps of its own."},
		{"both", metrics.Parts{Prefill: .07}, metrics.TailShare{Mixed: .5, Paused: .5}, chunks,
			"p99 ITL 80.0 ms is 8.0 × the median: nearly all of the 70.0 ms more is prefill in the same step, or in steps of " +
				"its own before it."},
		{"two reasons", metrics.Parts{Queueing: .6, Recomputing: .3}, metrics.TailShare{Preempted: 1}, chunks,
			"p99 ITL 910 ms is 91 × the median: of the 900 ms more, 600 ms is queueing after preemptions and 300 ms " +
				"recomputing after preemptions; " +
				"with more KV cache there would be fewer."},
		{"one and crumbs", metrics.Parts{KV: .009, Overhead: .0009, Compute: .0001}, metrics.TailShare{Decode: 1}, chunks,
			"p99 ITL 20.0 ms is 2.0 × the median: of the 10.0 ms more, 9.00 ms is reading the KV cache."},
		{"KV transfer", metrics.Parts{KVTransfer: .07}, metrics.TailShare{Transferred: 1}, chunks,
			"p99 ITL 80.0 ms is 8.0 × the median: nearly all of the 70.0 ms more is the KV cache on its way to another " +
				"instance; a faster link would shorten it."},
		{"a full pool", metrics.Parts{Queueing: .05, KVTransfer: .02}, metrics.TailShare{Transferred: .99, Decode: .01},
			chunks,
			"p99 ITL 80.0 ms is 8.0 × the median: of the 70.0 ms more, 50.0 ms is queueing at the destination of the " +
				"KV transfer and 20.0 ms the KV cache on its way to another instance."},
		{"failures", metrics.Parts{Recomputing: .07}, metrics.TailShare{Restarted: 1}, chunks,
			"p99 ITL 80.0 ms is 8.0 × the median: nearly all of the 70.0 ms more is recomputing after failures."},
		{"about equal", metrics.Parts{KV: .0009}, metrics.TailShare{Decode: 1}, chunks, ""},
	} {
		assert.Equal(t, c.want, TailSentence(withTail(c.more, c.tail), c.chunks), c.name)
	}
	assert.Empty(t, TailSentence(&metrics.Summary{}, chunks), "no gaps")
}

// TestGapsThatNobodyTookApartLeaveNoTrace: the table is as it is without them, and the sentence tells of the mean step.
func TestGapsThatNobodyTookApartLeaveNoTrace(t *testing.T) {
	s := summary()
	s.Gaps = nil
	var b strings.Builder
	require.NoError(t, Table(&b, s, text.Caption{}, Options{Chunks: "max_num_batched_tokens 512"}))
	assert.NotContains(t, b.String(), "made of  ")
	assert.NotContains(t, b.String(), "× the median")
	assert.Contains(t, b.String(),
		"p50 ITL 14.2 ms; the mean step of 14.1 ms is 71 % weights, 18 % KV, 11 % overhead, and runs at 63 %")
}

func TestBurstsAreTakenApartByChunk(t *testing.T) {
	s := summary()
	s.Latency.ITLChunk.N /= 3
	assert.Contains(t, BoundSentence(s), "p50 chunk gap 14.2 ms: 71 % weights")
	assert.Contains(t, TailSentence(s, ""), "p99 chunk gap 31.4 ms")
}

func TestTheLegendOfGapsIsInTheOrderOfTheStack(t *testing.T) {
	f, err := GapParts(caption(), summary())
	require.NoError(t, err)
	assert.Equal(t, []string{"queueing", "prefill", "overhead", "KV", "weights"}, legendOf(t, string(f.SVG)),
		"from its top down")
	f, err = GapParts(caption(), everyPart())
	require.NoError(t, err)
	assert.Len(t, legendOf(t, string(f.SVG)), len(partsOf(&metrics.Parts{})))
}

// legendOf returns the names of parts that a drawing shows, in their order.
func legendOf(t *testing.T, svg string) (names []string) {
	for _, notable := range plottest.TextsOf(t, svg) {
		for _, p := range partsOf(&metrics.Parts{}) {
			if p.name == notable.Text {
				names = append(names, p.name)
			}
		}
	}
	return names
}
