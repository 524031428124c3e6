package acceptance_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/policies/acceptance"
)

// TestSlicesOfABetaLawHaveItsMeans. With a mean of ½ and a coefficient of variation of 1/√3 the rates of requests are
// uniform on (0, 1): slice i of 64 has the mean (i + ½)/64. With ⅔ and 1/√8 their density is 2x: it has ∫ 2x² dx
// between the square roots of i/64 and (i + 1)/64, times 64. With ⅓ and 1/√2 it is 2(1 − x), the same from the other
// end. A step with K drafts yields the mean over slices of 1 + r + … + r^K.
func TestSlicesOfABetaLawHaveItsMeans(t *testing.T) {
	const levels = 64
	rising := func(i float64) float64 {
		return levels * 2 / 3.0 * (math.Pow((i+1)/levels, 1.5) - math.Pow(i/levels, 1.5))
	}
	for _, c := range []struct {
		mean, cv float64
		rate     func(i float64) float64
	}{
		{.5, 1 / math.Sqrt(3), func(i float64) float64 { return (i + .5) / levels }},
		{2 / 3.0, 1 / math.Sqrt(8), rising},
		{1 / 3.0, 1 / math.Sqrt(2), func(i float64) float64 { return 1 - rising(levels-1-i) }},
	} {
		a := newProcess(t, acceptance.Law{Process: "iid", Rate: c.mean, CV: c.cv}, 5)
		for drafts := range 6 {
			want := 0.0
			for i := range levels {
				for j := range drafts + 1 {
					want += math.Pow(c.rate(float64(i)), float64(j)) / levels
				}
			}
			assert.InDelta(t, want, a.Length(drafts), 1e-9, "%d drafts, mean %g", drafts, c.mean)
		}
		assert.Equal(t, 5, a.DraftsMax())
	}
}

// TestACurveIsTheNearestFallingOne: what each draft adds is what was measured where that falls, and the mean of
// neighbours where it would rise or be below 0. The share of steps that accept at least j drafts is then known.
func TestACurveIsTheNearestFallingOne(t *testing.T) {
	for _, c := range []struct{ lengths, survivals []float64 }{
		{[]float64{1.8, 2.4, 2.7}, []float64{.8, .6, .3}},
		{[]float64{1.3, 2.0, 2.2}, []float64{.5, .5, .2}},          // 0.3 and 0.7
		{[]float64{1.8, 2.2, 2.8, 2.9}, []float64{.8, .5, .5, .1}}, // 0.4 and 0.6
		{[]float64{1.2, 1.5, 2.2, 2.3}, []float64{.4, .4, .4, .1}}, // 0.2, 0.3 and 0.7
		{[]float64{1.8, 2.4, 2.1}, []float64{.8, .15, .15}},        // 0.6 and -0.3
		{[]float64{1.8, 1.8}, []float64{.8, 0}},                    // the second is never right
		{[]float64{1.6, 1.8, 1.2}, []float64{.2 / 3, .2 / 3, .2 / 3}},
	} {
		a := newProcess(t, acceptance.Law{Process: "curve", Lengths: c.lengths}, len(c.lengths))
		const requests, positions = 200, 200
		reached := make([]float64, len(c.lengths))
		for id := range int32(requests) {
			for p := range int32(positions) {
				for j := range a.Accepted(id, p, int32(len(c.lengths))) {
					reached[j]++
				}
			}
		}
		for j, want := range c.survivals {
			const n = requests * positions
			assert.InDelta(t, want, reached[j]/n, 5*math.Sqrt(want*(1-want)/n), "%v, draft %d", c.lengths, j+1)
		}
	}
}

// TestLimitsOfLawsBelongToThem: certain acceptance and none, by each process, and no variation where none is possible.
func TestLimitsOfLawsBelongToThem(t *testing.T) {
	above := math.Nextafter(1, 2)
	for _, c := range []struct {
		ok  bool
		law acceptance.Law
	}{
		{true, acceptance.Law{Process: "iid", Rate: 1}}, {false, acceptance.Law{Process: "iid", Rate: above}},
		{true, acceptance.Law{Process: "iid"}}, {false, acceptance.Law{Process: "iid", Rate: -1e-300}},
		{true, acceptance.Law{Process: "per-position", Rates: []float64{1, 0}}},
		{true, acceptance.Law{Process: "per-position", Rates: []float64{1, 0, .5}}},
		{false, acceptance.Law{Process: "per-position", Rates: []float64{1}}},
		{false, acceptance.Law{Process: "per-position", Rates: []float64{0, above}}},
		{true, acceptance.Law{Process: "curve", Lengths: []float64{2, 3}}},
		{true, acceptance.Law{Process: "curve", Lengths: []float64{1, 1}}},
		{false, acceptance.Law{Process: "curve", Lengths: []float64{2, math.Nextafter(3, 4)}}},
		{false, acceptance.Law{Process: "curve", Lengths: []float64{2, math.Nextafter(1, 0)}}},
		{false, acceptance.Law{Process: "curve", Lengths: []float64{2}}},
		{false, acceptance.Law{Process: "iid", Rate: 1, CV: .1}},
		{false, acceptance.Law{Process: "per-position", Rates: []float64{0, 0}, CV: .1}},
		{true, acceptance.Law{Process: "per-position", Rates: []float64{.5, 0}, CV: math.Nextafter(1, 0)}},
		{false, acceptance.Law{Process: "curve", Lengths: []float64{1.5, 2}, CV: 1}},
	} {
		_, err := acceptance.New(c.law, 2, 1)
		assert.Equal(t, c.ok, err == nil, "%+v: %v", c.law, err)
	}
	_, err := acceptance.New(acceptance.Law{Process: "per-position"}, 0, 1)
	require.NoError(t, err, "without drafts there is nothing to accept")
	one := acceptance.Law{Process: "per-position", Rates: []float64{.5}, CV: .5}
	assert.InDelta(t, 1.5, newProcess(t, one, 1).Length(1), 1e-9)
	one = acceptance.Law{Process: "curve", Lengths: []float64{1.5}, CV: .5}
	assert.InDelta(t, 1.5, newProcess(t, one, 1).Length(1), 1e-9)
	for _, process := range []string{"per-position", "curve"} {
		_, err := acceptance.New(acceptance.Law{Process: process, CV: .5}, 0, 1)
		require.ErrorContains(t, err, "below 0: rates from 0 to 1 with a mean of 0 vary no more")
	}
	certain := newProcess(t, acceptance.Law{Process: "curve", Lengths: []float64{2, 3, 4}}, 3)
	assert.EqualValues(t, 4, yields(certain, 3, 50, 50))
}

// TestWhatIsCertainDoesNotVary: lengths that rise too late are evened out, to certain drafts here, beside a first one
// that is not.
func TestWhatIsCertainDoesNotVary(t *testing.T) {
	a := newProcess(t, acceptance.Law{Process: "curve", Lengths: []float64{1.5, 3}, CV: .5}, 2)
	assert.InDelta(t, 3, a.Length(2), 1e-9)
	assert.EqualValues(t, 3, yields(a, 2, 50, 50))
}

// TestRatesThatVaryKeepTheirMeans by position, and a request with a high rate for one draft has one for all.
func TestRatesThatVaryKeepTheirMeans(t *testing.T) {
	law := acceptance.Law{Process: "per-position", Rates: []float64{.8, .5, 0}, CV: .4}
	a := newProcess(t, law, 3)
	assert.InDelta(t, 1+.8+.4, a.Length(3), 1e-9)
	both, n := [2][2]int{}, int32(2000)
	for id := range n {
		reached := [2]int{}
		for p := range int32(50) {
			for j := range a.Accepted(id, p, 3) {
				reached[j]++
			}
		}
		high := func(hits, of int) int {
			if hits > of {
				return 1
			}
			return 0
		}
		both[high(reached[0], 40)][high(reached[1], 20)]++
	}
	assert.Less(t, both[0][1], int(n)/100, "%v", both)
	assert.Greater(t, both[1][1], int(n)/3, "%v", both)
}
