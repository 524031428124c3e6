package metrics

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/sim"
)

// TestQuantilesAreWithinAThousandth: against exact weighted quantiles, up to p99.9, on data of many shapes from a
// microsecond on.
func TestQuantilesAreWithinAThousandth(t *testing.T) {
	worst := 0.0
	rapid.Check(t, func(t *rapid.T) {
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		scale := math.Pow(10, rapid.Float64Range(-5, 3).Draw(t, "log10 scale"))
		spread := rapid.Float64Range(0, 3).Draw(t, "spread")
		var h Hist
		var values []sim.Duration
		for range rapid.IntRange(1, 3000).Draw(t, "n") {
			d, w := max(sim.Microsecond, sim.Seconds(min(1e6, scale*math.Exp(spread*rnd.NormFloat64())))), 1+rnd.IntN(4)
			h.Add(d, uint64(w))
			for range w {
				values = append(values, d)
			}
		}
		slices.Sort(values)
		for _, q := range []float64{0.001, 0.1, 0.5, 0.9, 0.95, 0.99, 0.999} {
			rank := max(1, int(math.Ceil(q*float64(len(values)))))
			exact, got := values[rank-1].Seconds(), h.QuantileS(q)
			worst = max(worst, math.Abs(got/exact-1))
			require.InEpsilon(t, exact, got, 0.001, "q%g of %d", q, len(values))
		}
		require.Equal(t, values[len(values)-1].Seconds(), h.MaxS())
	})
	t.Logf("worst relative error %.5f", worst)
}

// TestRunsCountAsTheirSteps: inserting a run is inserting its steps, also where steps fall on bucket edges.
func TestRunsCountAsTheirSteps(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 1))
	for range 6000 {
		g := sim.Segment{
			First:  1 + sim.Duration(rnd.Uint64N(1<<uint(10+rnd.IntN(30)))),
			Growth: sim.Duration(rnd.Uint64N(1 << uint(1+rnd.IntN(24)))),
		}
		if rnd.IntN(2) == 0 {
			g.First, g.Growth = 1<<10+g.First>>10<<10, 1<<uint(8+rnd.IntN(14))
		}
		n := 1 + rnd.IntN(300)
		var run, steps Hist
		run.AddRun(&g, n, 3)
		for i := range n {
			steps.Add(g.Step(i), 3)
		}
		require.Equal(t, steps.Counts(), run.Counts(), "%+v × %d", g, n)
	}
}

// TestMergeIsExact: a histogram of halves merged is the histogram of the whole, whatever their order.
func TestMergeIsExact(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 1))
	for range 200 {
		var whole, a, b Hist
		for range rnd.IntN(200) {
			d := sim.Duration(rnd.Uint64N(1 << uint(1+rnd.IntN(60))))
			whole.One(d)
			if rnd.IntN(2) == 0 {
				a.One(d)
			} else {
				b.One(d)
			}
		}
		ab, ba := Hist{}, Hist{}
		ab.Merge(&a)
		ab.Merge(&b)
		ba.Merge(&b)
		ba.Merge(&a)
		require.Equal(t, whole.Counts(), ab.Counts())
		require.Equal(t, ab.Counts(), ba.Counts())
	}
}

// TestEmptyHistIsNaN: nothing measured is not zero.
func TestEmptyHistIsNaN(t *testing.T) {
	var h Hist
	q := h.Quantiles()
	require.Zero(t, q.N)
	for _, v := range []float64{q.Mean, q.P50, q.P99, q.Max} {
		require.True(t, math.IsNaN(v))
	}
	data, err := q.MarshalJSON()
	require.NoError(t, err)
	const want = `{"n":0,"mean":null,"p50":null,"p90":null,"p95":null,"p99":null,"p999":null,"max":null}`
	require.JSONEq(t, want, string(data))
}

func BenchmarkHist(b *testing.B) {
	var h Hist
	g := sim.Segment{First: 10 * sim.Millisecond, Growth: 2 * sim.Microsecond}
	b.Run("one", func(b *testing.B) {
		for i := range b.N {
			h.One(g.First + sim.Duration(i%1000)*g.Growth)
		}
	})
	b.Run("run of 15", func(b *testing.B) {
		for range b.N {
			h.AddRun(&g, 15, 64)
		}
	})
}

// TestBucketsAreExponentAndLeadingDigits: at and beside every power of two, and everywhere in between.
func TestBucketsAreExponentAndLeadingDigits(t *testing.T) {
	want := func(d sim.Duration) int {
		u, shift := uint64(d)>>floorBits, 0
		for u>>shift >= 2<<subBits {
			shift++
		}
		return shift<<subBits + int(u>>shift)
	}
	rnd := rand.New(rand.NewPCG(5, 5))
	for e := range 63 {
		for _, d := range []sim.Duration{1 << e, 1<<e - 1, 1<<e + 1, 1<<e + sim.Duration(rnd.Int64N(1<<e))} {
			require.Equal(t, want(d), bucket(d), "%d", d)
		}
	}
	require.Equal(t, want(math.MaxInt64), bucket(math.MaxInt64))
}

// TestBucketsLieSideBySide: each ends where the next begins and is represented by its middle, from that of 0 to 1,023
// ps on, whose middle is 512 ps.
func TestBucketsLieSideBySide(t *testing.T) {
	low := sim.Duration(0)
	for i := range 40 << subBits {
		high := upper(i)
		require.Equal(t, [2]int{i, i}, [2]int{bucket(low), bucket(high - 1)})
		require.InDelta(t, float64(low)+float64(high-low)/2, midpoint(i), 0)
		low = high
	}
	require.InDelta(t, 512, midpoint(0), 0)
}

// TestRoomIsNoCount: a histogram that has room for values is as one that has none, in which nothing was counted either.
func TestRoomIsNoCount(t *testing.T) {
	var empty, room Hist
	room.Add(0, 0)
	require.NotEmpty(t, room.count)
	require.Equal(t, []uint64{0, 0, 0, 0}, empty.Counts())
	require.Equal(t, empty.Counts(), room.Counts())
	room.Add(0, 3)
	require.Equal(t, []uint64{3, 3, 0, 0, 0}, room.Counts())
}

// TestAHistogramIsEmptyOnceItIsReset, whatever it has counted.
func TestAHistogramIsEmptyOnceItIsReset(t *testing.T) {
	for n := range uint64(3) {
		var empty, h Hist
		h.Add(1000, n)
		h.reset()
		require.Equal(t, empty.Counts(), h.Counts())
	}
}

// TestGapsOfNothingAreZeroWhereverTheyAreRead: tokens that come together have a gap of 0, in a quantile as in a plot.
func TestGapsOfNothingAreZeroWhereverTheyAreRead(t *testing.T) {
	var h Hist
	h.Add(0, 3)
	h.Add(10*sim.Millisecond, 1)
	var at []float64
	h.Each(func(seconds float64, _ int64) { at = append(at, seconds) })
	require.Len(t, at, 2)
	require.Zero(t, at[0])
	require.Equal(t, h.QuantileS(.5), at[0])
	require.Equal(t, h.QuantileS(1), at[1])
}
