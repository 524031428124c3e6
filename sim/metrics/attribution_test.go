package metrics

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
)

// TestGapsAreAttributedByTheirRank: of two gaps the shorter is the median, and of a hundred the longest is beyond the
// 99th percentile; each is made of what it was said to be, and the mean of all.
func TestGapsAreAttributedByTheirRank(t *testing.T) {
	short := sim.Breakdown{sim.Weights: 3 * sim.Second / 4, sim.Prefill: sim.Second / 4}
	long := sim.Breakdown{sim.Weights: sim.Second, sim.Queueing: 3 * sim.Second}
	for _, c := range []struct {
		n    uint64 // of the short ones, beside a long one
		long map[string]bool
	}{
		{1, map[string]bool{"p90": true, "p95": true, "p99": true, "p999": true}},
		{9, map[string]bool{"p95": true, "p99": true, "p999": true}}, {19, map[string]bool{"p99": true, "p999": true}},
		{99, map[string]bool{"p999": true}}, {999, nil},
	} {
		var a Attribution
		a.one(&short, c.n)
		a.one(&long, 1)
		require.EqualValues(t, c.n+1, a.N())
		gaps, n := a.Gaps(), float64(c.n)
		require.Len(t, gaps, 6)
		assert.Equal(t, "mean", gaps[0].At)
		assert.InEpsilon(t, (n+4)/(n+1), gaps[0].GapS, 1e-12)
		assert.InEpsilon(t, (0.75*n+1)/(n+1), gaps[0].Parts.Weights, 1e-12)
		assert.InEpsilon(t, 3/(n+1), gaps[0].Parts.Queueing, 1e-12)
		for _, g := range gaps[1:] {
			want := Gap{At: g.At, GapS: 1, Parts: Parts{Weights: 0.75, Prefill: 0.25}}
			if c.long[g.At] {
				want = Gap{At: g.At, GapS: 4, Parts: Parts{Weights: 1, Queueing: 3}}
			}
			assert.Equal(t, want, g, "%s of %d", g.At, c.n+1)
		}
	}
	assert.Empty(t, new(Attribution).Gaps())
}

// TestABacklogLastsUntilAFewWait: of windows of a second, the second breaks the SLO, where 40 wait, and 10 is the most
// that is no backlog beside windows in which none waits, or 16 where three usually do.
func TestABacklogLastsUntilAFewWait(t *testing.T) {
	yes, no := true, false
	of := func(usual int64, waiting ...int64) []WindowResult {
		windows := []WindowResult{{ToS: 1, Met: &yes, Waiting: usual}, {ToS: 2, Met: &no, Waiting: 5}}
		for i, n := range waiting {
			windows = append(windows, WindowResult{ToS: float64(3 + i), Waiting: n})
		}
		return windows
	}
	end := func(s float64) *float64 { return &s }
	for i, c := range []struct {
		windows []WindowResult
		want    *Backlog
	}{
		{of(0, 40, 10, 0), &Backlog{Requests: 40, PeakS: 3, EndS: end(4)}},
		{of(0, 40, 11, 10), &Backlog{Requests: 40, PeakS: 3, EndS: end(5)}},
		{of(0, 20, 40, 40, 0), &Backlog{Requests: 40, PeakS: 4, EndS: end(6)}},
		{of(0, 40, 30, 11), &Backlog{Requests: 40, PeakS: 3}}, {of(0, 11), &Backlog{Requests: 11, PeakS: 3}},
		{of(3, 17, 16), &Backlog{Requests: 17, PeakS: 3, EndS: end(4)}}, {of(3, 16, 0), nil}, {of(0, 10, 0), nil},
		{of(0, 40, 0)[:1], nil},
	} {
		assert.Equal(t, c.want, backlog(c.windows), i)
	}
}

// TestGapsAreMadeAsLongAsTheirQuantiles: of gaps of 1, 2 and 4 s, one that is to be 1.5 s long is half way from the
// first to the second, one of 3 s half way to the third, and one of 0.5 s half of the shortest. Beyond the longest all
// parts grow alike.
func TestGapsAreMadeAsLongAsTheirQuantiles(t *testing.T) {
	var a Attribution
	for _, b := range []sim.Breakdown{{sim.Weights: 3 * sim.Second / 4, sim.Prefill: sim.Second / 4},
		{sim.Weights: sim.Second, sim.Queueing: sim.Second}, {sim.Weights: sim.Second, sim.Queueing: 3 * sim.Second}} {
		a.one(&b, 1)
	}
	for _, c := range []struct {
		from, to float64
		want     Parts
	}{
		{1, 1, Parts{Weights: .75, Prefill: .25}}, {1, .5, Parts{Weights: .375, Prefill: .125}},
		{1, 1.5, Parts{Weights: .875, Prefill: .125, Queueing: .5}},
		{2, 1.5, Parts{Weights: .875, Prefill: .125, Queueing: .5}},
		{2, 3, Parts{Weights: 1, Queueing: 2}}, {4, 3, Parts{Weights: 1, Queueing: 2}},
		{4, 6, Parts{Weights: 1.5, Queueing: 4.5}},
	} {
		g := Gap{GapS: c.from}
		for i := range a.bins {
			if x := a.bins[i].gap(""); a.bins[i].n > 0 && x.GapS == c.from {
				g = x
			}
		}
		gaps := []Gap{g, g}
		a.fit(gaps, &Quantiles{Mean: 7, P50: c.to})
		assert.Equal(t, g, gaps[0], "the mean is exact")
		assert.InDelta(t, c.to, gaps[1].GapS, 0)
		parts := gaps[1].Parts.fields()
		for p, part := range c.want.fields() {
			assert.InDelta(t, *part, *parts[p], 1e-12, "from %g to %g s: part %d", c.from, c.to, p)
		}
	}
}
