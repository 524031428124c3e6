package variates

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim/rng"
)

// chi returns χ² of counts against what is expected of each.
func chi(counts, expected []float64) float64 {
	sum := 0.0
	for i, n := range counts {
		sum += (n - expected[i]) * (n - expected[i]) / expected[i]
	}
	return sum
}

// TestZipfHasItsProbabilities: of a million draws from 1 to 12, by χ² with 11 degrees of freedom, whose 99.99th
// percentile is 37.4; with the exponent 0 all numbers are as likely, and with 1 the integral of the hat is a logarithm.
func TestZipfHasItsProbabilities(t *testing.T) {
	const n, draws = 12, 1_000_000
	for _, s := range []float64{0, .5, 1, 1.7, 3} {
		z, r := NewZipf(s, n), rng.Stream(1, "test.zipf")
		counts, expected := make([]float64, n), make([]float64, n)
		for range draws {
			counts[int(z.Draw(r))-1]++
		}
		for k := range expected {
			expected[k] = draws * math.Pow(float64(k+1), -s) / powerSum(n, -s)
		}
		assert.Less(t, chi(counts, expected), 37.4, "s = %g: %v", s, counts)
		assert.InDelta(t, 5, z.point(z.area(5)), 1e-9)
	}
}

// TestSumsOfPowersAreSums, term by term, below and above the 64 terms that are summed one by one.
func TestSumsOfPowersAreSums(t *testing.T) {
	for _, n := range []float64{1, 63, 64, 65, 1000, 30_000} {
		for _, p := range []float64{1, .3, 0, -.5, -1, -2.5} {
			want := 0.0
			for k := 1.0; k <= n; k++ {
				want += math.Pow(k, p)
			}
			assert.InEpsilon(t, want, powerSum(n, p), 1e-9, "%g terms of power %g", n, p)
		}
	}
}

// TestTheExponentHasItsMean: Σ k^(1−s) / Σ k^−s is what was asked for. All of 1 to n are as likely with a mean of
// (n + 1)/2, so that the exponent is 0.
func TestTheExponentHasItsMean(t *testing.T) {
	for _, c := range []struct{ mean, n float64 }{{1.5, 10}, {5.5, 10}, {120, 4000}, {2, 1e6}, {400_000, 1e6}} {
		s := ZipfExponent(c.mean, c.n)
		assert.InEpsilon(t, c.mean, powerSum(c.n, 1-s)/powerSum(c.n, -s), 1e-9, "%+v", c)
	}
	assert.InDelta(t, 0, ZipfExponent(5.5, 10), 1e-9)
}

// TestGammaHasItsMoments: with unit scale the mean and the variance are the shape, and the third central moment is
// twice the shape; the first two within five standard errors, for shapes below and above 1.
func TestGammaHasItsMoments(t *testing.T) {
	const n = 60_000
	for _, shape := range []float64{.2, .9, 1, 1.1, 7} {
		g, r := NewGamma(shape), rng.Stream(2, "test.gamma")
		var sum, squares, cubes float64
		for range n {
			x := g.Draw(r) - shape
			require.GreaterOrEqual(t, x, -shape)
			sum, squares, cubes = sum+x, squares+x*x, cubes+x*x*x
		}
		fourth := 3*shape*shape + 6*shape
		assert.InDelta(t, 0, sum/n, 5*math.Sqrt(shape/n), shape)
		assert.InDelta(t, shape, squares/n, 5*math.Sqrt((fourth-shape*shape)/n), shape)
		assert.InEpsilon(t, 2*shape, cubes/n, .3, shape)
	}
}

// TestAliasesDrawByWeight. The parts of the slots that yield a value sum to its share, to the last bits; draws follow.
func TestAliasesDrawByWeight(t *testing.T) {
	for _, weights := range [][]float64{{1}, {1, 1, 1}, {1, 2, 3, 4}, {0, 5, 1}, {10, 1, 1, 1, 0.5}, {1e-9, 1}} {
		values, total := make([]float64, len(weights)), 0.0
		for i, w := range weights {
			values[i], total = float64(10*i), total+w
		}
		a := NewAliasTable(values, weights, total)
		got := make([]float64, len(weights))
		for i, share := range a.share {
			require.True(t, share >= 0 && share <= 1)
			got[i] += share / float64(len(weights))
			got[a.alias[i]] += (1 - share) / float64(len(weights))
		}
		for i, w := range weights {
			assert.InDelta(t, w/total, got[i], 1e-12, "%v", weights)
		}
	}
	a, r := NewAliasTable([]float64{1, 2, 4}, []float64{1, 3, 6}, 10), rng.Stream(3, "test.alias")
	counts := map[float64]float64{}
	for range 100_000 {
		counts[a.Draw(r)]++
	}
	assert.Less(t, chi([]float64{counts[1], counts[2], counts[4]}, []float64{10_000, 30_000, 60_000}), 18.4,
		"the 99.99th percentile of χ² with 2 degrees of freedom")
	a.Scale(3)
	assert.Contains(t, []float64{3, 6, 12}, a.Draw(r))
}

// TestCurvesAreLinearBetweenTheirPoints, and what they are at them.
func TestCurvesAreLinearBetweenTheirPoints(t *testing.T) {
	f := InverseCurve{P: []float64{0, .5, .9, 1}, V: []float64{10, 20, 40, 140}}
	for u, want := range map[float64]float64{0: 10, .25: 15, .5: 20, .6: 25, .9: 40, .95: 90, 1: 140} {
		assert.InDelta(t, want, f.At(u), 1e-9, "at %g", u)
	}
}

// counted is a source that counts the numbers that were drawn from it.
type counted struct {
	rand.Source
	n int
}

func (c *counted) Uint64() uint64 { c.n++; return c.Source.Uint64() }

// TestAShapeOfOneNeedsNoPower: only below 1 is a second number drawn for each, which is slower.
func TestAShapeOfOneNeedsNoPower(t *testing.T) {
	numbers := func(shape float64) int {
		c := &counted{Source: rand.NewPCG(1, 2)}
		g, r := NewGamma(shape), rand.New(c)
		for range 10_000 {
			g.Draw(r)
		}
		return c.n
	}
	assert.InEpsilon(t, numbers(1.01), numbers(1), 0.02)
	assert.Greater(t, numbers(0.99), numbers(1)+9_000)
}

// always is a source of one number.
type always uint64

func (a always) Uint64() uint64 { return uint64(a) }

// TestAWeightOfZeroIsNeverDrawn: not by the smallest number either, which is on the edge of a part that is empty. The
// largest one draws the last value.
func TestAWeightOfZeroIsNeverDrawn(t *testing.T) {
	a := NewAliasTable([]float64{7, 8}, []float64{0, 3}, 3)
	require.InDelta(t, 8, a.Draw(rand.New(always(0))), 0)
	require.InDelta(t, 8, a.Draw(rand.New(always(math.MaxUint64))), 0)
	a = NewAliasTable([]float64{7, 8}, []float64{3, 3}, 6)
	require.InDelta(t, 7, a.Draw(rand.New(always(0))), 0)
	require.InDelta(t, 8, a.Draw(rand.New(always(math.MaxUint64))), 0)
}
