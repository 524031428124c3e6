package views_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
	"github.com/decodesim/decodesim/sim/metrics/views"
)

// record is a request sent at 0 whose chunks come at these milliseconds, of one token each.
func record(milliseconds ...int) views.Record {
	r := views.Record{Prompt: 1, Outcome: sim.Completed}
	for _, m := range milliseconds {
		r.Chunks = append(r.Chunks, views.Chunk{At: ms(m), Tokens: 1})
	}
	r.Steps = r.Chunks
	return r
}

// TestAChattyStartAndAPauseIsNoticed: at ten tokens/s a reader has read the first four by 500 ms and then waits 600 ms
// for the fifth; the same tokens evenly spread are never waited for.
func TestAChattyStartAndAPauseIsNoticed(t *testing.T) {
	pauses, even := record(100, 110, 120, 130, 1100, 1110), record(100, 200, 300, 400, 500, 600)
	s := views.SmoothnessOf([]views.Record{pauses, even}, views.Pace{StallS: .5, ReaderTokensPerS: 10, ITLP99S: .3})
	assert.Equal(t, int64(1), s.Stalls)
	assert.InDelta(t, 1000/12.0, s.StallsPer1000Tokens, 1e-9)
	assert.InDelta(t, .5, s.StalledShare, 0)
	assert.InDelta(t, .5, s.ITLP99Share, 0)
	assert.InDelta(t, .6, s.Wait.Max(), 1e-9)
	assert.InDelta(t, 0, s.Wait.Min(), 1e-9)
	assert.InDelta(t, 1.3, s.Read.Max(), 1e-9, "until 1100 ms, and two tokens more")
	assert.InDelta(t, .7, s.Read.Min(), 1e-9)
	assert.Equal(t, int64(2), s.Requests)
}

// TestAReaderWaitsForADelayedToken: at five tokens/s a reader is behind tokens that come every 100 ms, and waits for
// one that comes after a second. Three of four requests have no such token.
func TestAReaderWaitsForADelayedToken(t *testing.T) {
	even, delayed := record(100, 200, 300, 400), record(100, 200, 1200)
	failed := delayed
	failed.Outcome = sim.Failed
	s := views.SmoothnessOf([]views.Record{even, even, delayed, even, failed},
		views.Pace{StallS: 2, ReaderTokensPerS: 5})
	assert.InDelta(t, .25, s.WaitingShare, 0)
	assert.InDelta(t, 1.2-.1-2*.2, s.Wait.Max(), 1e-9)
	assert.Equal(t, int64(4), s.Requests, "that are complete")
	assert.Equal(t, int64(3*4+3), s.Tokens)
	assert.InDelta(t, 1, s.ITLP99Share, 0, "there is no limit")
}

func TestTokensOfAChunkAreNoTimeApart(t *testing.T) {
	r := views.Example()
	s := views.SmoothnessOf([]views.Record{r}, views.Pace{StallS: 1, ReaderTokensPerS: 5})
	assert.Equal(t, int64(4), s.Token.Weight())
	assert.Equal(t, int64(2), s.Chunk.Weight())
	assert.InDelta(t, .02, s.Token.Mean(), 1e-12)
	assert.InDelta(t, .04, s.Chunk.Mean(), 1e-12)
	assert.InDelta(t, .02, s.Token.Quantile(.5), 1e-12, "half way between 0 and 40 ms")
}

// TestReadersFollowTheirRule compares with a reader that takes one token after another.
func TestReadersFollowTheirRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var times []int
		for range rapid.IntRange(1, 30).Draw(t, "tokens") {
			times = append(times, rapid.IntRange(0, 5000).Draw(t, "ms"))
		}
		slices.Sort(times)
		pace := rapid.Float64Range(.5, 50).Draw(t, "pace")
		s := views.SmoothnessOf([]views.Record{record(times...)}, views.Pace{StallS: 1, ReaderTokensPerS: pace})
		read := math.Inf(-1)
		for _, at := range times {
			read = max(float64(at)/1e3, read+1/pace)
		}
		assert.InDelta(t, read+1/pace, s.Read.Mean(), 1e-9)
		assert.InDelta(t, read-float64(times[0])/1e3-float64(len(times)-1)/pace, s.Wait.Mean(), 1e-9)
	})
}

// TestPercentilesAreNumpys compares with values repeated as often as they weigh, interpolated one by one.
func TestPercentilesAreNumpys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var records []views.Record
		var all []float64
		for range rapid.IntRange(1, 12).Draw(t, "requests") {
			times := []int{0}
			for range rapid.IntRange(1, 5).Draw(t, "gaps") {
				gap := rapid.IntRange(1, 4).Draw(t, "ms")
				times = append(times, times[len(times)-1]+gap)
				all = append(all, float64(gap)/1e3)
			}
			records = append(records, record(times...))
		}
		slices.Sort(all)
		p := rapid.Float64Range(0, 1).Draw(t, "p")
		vllm, _ := views.Named("vllm")
		row := views.Of(vllm, run(records...)).Row(views.ITL)
		h := p * float64(len(all)-1)
		i := int(h)
		want := all[i]
		if i+1 < len(all) {
			want += (h - float64(i)) * (all[i+1] - all[i])
		}
		assert.InDelta(t, want, row.Quantile(p), 1e-12)
		assert.InDelta(t, all[max(1, int(math.Ceil(p*float64(len(all)))))-1], row.NearestRank(p), 1e-12)
		mean, square := 0.0, 0.0
		for _, x := range all {
			mean += x / float64(len(all))
		}
		for _, x := range all {
			square += (x - mean) * (x - mean) / float64(len(all))
		}
		assert.InDelta(t, math.Sqrt(square), row.Std(), 1e-12)
	})
}

// TestAGapAsLongAsAStallIsNone: of two gaps one is longer.
func TestAGapAsLongAsAStallIsNone(t *testing.T) {
	s := views.SmoothnessOf([]views.Record{record(0, 500, 1001), record(0, 500, 1000)},
		views.Pace{StallS: .5, ReaderTokensPerS: 10})
	assert.EqualValues(t, 1, s.Stalls)
	assert.InDelta(t, .5, s.StalledShare, 1e-12)
}

// TestToolsDisagreeAboutGoodRequests: one request keeps both limits, one misses that on TPOT, and one has a single
// token.
func TestToolsDisagreeAboutGoodRequests(t *testing.T) {
	r := run(record(50, 60, 70), record(50, 150), record(50))
	r.Stream.Jitter, r.Counts.Failed = 1, 1 // judged by the records
	for _, c := range []struct {
		slo    metrics.Limits
		tool   string
		good   int
		judged int64
	}{
		{metrics.Limits{TTFT: 60 * sim.Millisecond, TPOT: 20 * sim.Millisecond}, "vllm", 2, 0},
		{metrics.Limits{TTFT: 60 * sim.Millisecond, TPOT: 20 * sim.Millisecond}, "aiperf", 1, 0},
		{metrics.Limits{TTFT: 60 * sim.Millisecond, TPOT: 20 * sim.Millisecond}, "guidellm", 1, 3},
		{metrics.Limits{TTFT: 60 * sim.Millisecond, TPOT: 20 * sim.Millisecond}, "inference-perf", 1, 3},
		{metrics.Limits{TTFT: 60 * sim.Millisecond}, "vllm", 3, 0},
		{metrics.Limits{TTFT: 60 * sim.Millisecond}, "aiperf", 3, 0},
		{metrics.Limits{TTFT: 60 * sim.Millisecond}, "guidellm", 3, 4},
		{metrics.Limits{TTFT: 60 * sim.Millisecond}, "inference-perf", 2, 3},
		{metrics.Limits{E2E: 100 * sim.Millisecond}, "inference-perf", 2, 3},
		{metrics.Limits{E2E: 60 * sim.Millisecond}, "vllm", 1, 0},
	} {
		r.SLO = c.slo
		tool, _ := views.Named(c.tool)
		g := views.Of(tool, r).Goodput
		assert.InDelta(t, float64(c.good)/r.DurationS, g.PerS, 1e-12, "%s %+v", c.tool, c.slo)
		assert.Equal(t, c.judged, g.Judged, c.tool)
		if c.judged > 0 {
			assert.InDelta(t, float64(c.good)/float64(c.judged), g.Share, 1e-12)
		}
	}
	for _, slo := range []metrics.Limits{{}, {Queue: sim.Second}} {
		r.SLO = slo
		for _, tool := range views.Tools() {
			assert.Nil(t, views.Of(tool, r).Goodput, "%s: no client knows how long it waited in the queue", tool.Name)
		}
	}
}

// TestARequestWithoutAGapIsSmooth, and one with a single gap is if that is within the limit. Neither has a stall.
func TestARequestWithoutAGapIsSmooth(t *testing.T) {
	of := func(r views.Record) views.Smoothness {
		return views.SmoothnessOf([]views.Record{r}, views.Pace{StallS: .5, ReaderTokensPerS: 10, ITLP99S: .1})
	}
	for share, r := range map[float64]views.Record{1: record(100), 0: record(100, 300)} {
		s := of(r)
		assert.InDelta(t, share, s.ITLP99Share, 0)
		assert.InDelta(t, 0, s.StalledShare, 0)
	}
	assert.InDelta(t, 1, of(record(100, 200)).ITLP99Share, 0)
	assert.InDelta(t, 1, of(record(100, 700)).StalledShare, 0)
}

// TestEachRequestIsReadOnce, and one with a single chunk has no gap that would miss a limit.
func TestEachRequestIsReadOnce(t *testing.T) {
	s := views.SmoothnessOf([]views.Record{record(100), record(100, 900), record(100, 400)},
		views.Pace{StallS: .5, ReaderTokensPerS: 10, ITLP99S: .3})
	assert.EqualValues(t, 3, s.Read.Weight())
	assert.EqualValues(t, 3, s.Wait.Weight())
	assert.InDelta(t, 2./3, s.ITLP99Share, 1e-12, "300 ms are no more than the limit")
	assert.InDelta(t, 1./3, s.StalledShare, 1e-12)
	assert.InDelta(t, 2./3, s.WaitingShare, 1e-12)
}
