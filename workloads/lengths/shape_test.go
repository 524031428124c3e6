package lengths

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim/rng"
)

// share is the closed form of a law: which share of its draws is at most x, before they are rounded.
type share func(x float64) float64

func normalShare(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

func lognormalShare(mean, cv float64) share {
	s := math.Sqrt(math.Log(1 + cv*cv))
	return func(x float64) float64 { return normalShare((math.Log(x/mean) + s*s/2) / s) }
}

// erlangShare is that of a gamma law of whole shape k, cv = 1/√k.
func erlangShare(mean float64, k int) share {
	return func(x float64) float64 {
		rate, term, sum := x*float64(k)/mean, 1.0, 0.0
		for i := range k {
			sum += term
			term *= rate / float64(i+1)
		}
		return 1 - sum*math.Exp(-rate)
	}
}

func paretoShare(mean, alpha float64) share {
	least := mean * (alpha - 1) / alpha
	return func(x float64) float64 { return max(0, 1-math.Pow(least/x, alpha)) }
}

// linear is that of a law whose share grows evenly between points, each a number of tokens, multiplied by scale, and
// the share up to there.
func linear(scale float64, points ...float64) share {
	return func(x float64) float64 {
		x /= scale
		for i := 2; i < len(points); i += 2 {
			if x < points[i] {
				from, to := points[i-2], points[i]
				return points[i-1] + (points[i+1]-points[i-1])*max(0, x-from)/(to-from)
			}
		}
		return 1
	}
}

// TestLawsHaveTheirShape: as many draws are at most so many tokens as the closed form of the law says, within five
// standard errors, at points from the first percent to the last.
func TestLawsHaveTheirShape(t *testing.T) {
	pareto := func(cv float64) share { return paretoShare(800, 1+math.Sqrt(1+1/(cv*cv))) }
	for _, c := range []struct {
		law Spec
		of  share
	}{
		{Spec{Distribution: "uniform", Mean: 800, CV: 0.5}, func(x float64) float64 {
			half := 800 * 0.5 * math.Sqrt(3)
			return linear(1, 800-half, 0, 800+half, 1)(x)
		}},
		{Spec{Distribution: "normal", Mean: 800, CV: 0.3}, func(x float64) float64 { return normalShare((x - 800) / 240) }},
		{Spec{Distribution: "lognormal", Mean: 800, CV: 0.4}, lognormalShare(800, 0.4)},
		{Spec{Distribution: "lognormal", Mean: 800, CV: 2.5}, lognormalShare(800, 2.5)},
		{Spec{Distribution: "gamma", Mean: 800, CV: 0.5}, erlangShare(800, 4)},
		{Spec{Distribution: "gamma", Mean: 800, CV: 1}, erlangShare(800, 1)},
		{Spec{Distribution: "gamma", Mean: 800, CV: math.Sqrt(0.5)}, erlangShare(800, 2)},
		{Spec{Distribution: "pareto", Mean: 800, CV: 0.4}, pareto(0.4)},
		{Spec{Distribution: "pareto", Mean: 800, CV: 2}, pareto(2)},
		{Spec{Distribution: "pareto", Mean: 800, Shape: 1.5}, paretoShare(800, 1.5)},
		{Spec{Distribution: "empirical", Edges: []float64{100, 200, 400, 1000}, Weights: []float64{2, 1, 1}, Mean: 1280},
			linear(1280.0/325, 100, 0, 200, 0.5, 400, 0.75, 1000, 1)}, // buckets of mean 150, 300 and 700: 325 in all
		{Spec{Distribution: "empirical", Quantiles: []Quantile{{0, 100}, {0.2, 500}, {0.9, 1200}, {1, 5000}}},
			linear(1, 100, 0, 500, 0.2, 1200, 0.9, 5000, 1)},
	} {
		t.Run(fmt.Sprint(c.law.Distribution, c.law.CV), func(t *testing.T) {
			const n = 40_000
			l, err := New("prompt_tokens", c.law)
			require.NoError(t, err)
			draws := make([]int32, n)
			l.Fill(draws, rng.Stream(5, "test.shape"))
			for _, at := range []float64{60, 150, 300, 420, 500, 650, 800, 1000, 1500, 2500, 5000} {
				seen := 0.0
				for _, x := range draws {
					if float64(x) <= at {
						seen++
					}
				}
				p := c.of(at + 0.5) // draws are rounded to the nearest token
				require.InDelta(t, p*n, seen, 5*math.Sqrt(n*p*(1-p))+1e-6, "at most %g", at)
			}
		})
	}
}

// TestValuesHaveTheirWeights: each value as often as its weight says, and scaled to a mean that is asked for.
func TestValuesHaveTheirWeights(t *testing.T) {
	const n = 30_000
	for _, c := range []struct {
		law  Spec
		want map[int32]float64
	}{
		{Spec{Values: []float64{10, 20, 90}, Weights: []float64{3, 0, 1}}, map[int32]float64{10: 0.75, 90: 0.25}},
		{Spec{Values: []float64{10, 20, 90}}, map[int32]float64{10: 1.0 / 3, 20: 1.0 / 3, 90: 1.0 / 3}},
		{Spec{Values: []float64{10, 90}, Weights: []float64{3, 1}, Mean: 60}, map[int32]float64{20: 0.75, 180: 0.25}},
		{Spec{Values: []float64{10, 90}, Weights: []float64{3, 1}, Max: 50}, map[int32]float64{10: 0.75, 50: 0.25}},
	} {
		c.law.Distribution = "empirical"
		l, err := New("x", c.law)
		require.NoError(t, err)
		seen := map[int32]float64{}
		for r := rng.Stream(3, "test.values"); seen[0] < n; seen[0]++ {
			seen[l.Draw(r)]++
		}
		require.Len(t, seen, 1+len(c.want))
		for tokens, share := range c.want {
			require.InDelta(t, n*share, seen[tokens], 5*math.Sqrt(n*share*(1-share)))
		}
	}
}

// TestDrawsAreRoundedAndCut: to the nearest token, at least 1 and at most the greatest, and those that are cut are
// counted.
func TestDrawsAreRoundedAndCut(t *testing.T) {
	l, err := New("x", Spec{Distribution: "normal", Mean: 10, CV: 0.1, Max: 100})
	require.NoError(t, err)
	for _, c := range []struct {
		draw   int32
		factor float64
		want   int32
		cut    int64
	}{
		{10, 1, 10, 0}, {10, 0.14, 1, 0}, {10, 0.16, 2, 0}, {10, 0.05, 1, 0}, {10, 0.049, 1, 1}, {10, 10, 100, 0},
		{10, 10.049, 100, 0}, {10, 10.05, 100, 1}, {10, 1e12, 100, 1}, {200, 1, 200, 0}, {3, 2.5, 8, 0},
	} {
		l.Truncated = 0
		require.Equal(t, c.want, l.Scaled(c.draw, c.factor), "%+v", c)
		require.Equal(t, c.cut, l.Truncated, "%+v", c)
	}
	require.Equal(t, 100.0, l.Max)
	l, err = New("x", Spec{Distribution: "normal", Mean: 10, CV: 0.1})
	require.NoError(t, err)
	require.EqualValues(t, 1<<30-1, l.Max)
}

// TestWhatIsJustALawIsAccepted: values on the edge of what is refused.
func TestWhatIsJustALawIsAccepted(t *testing.T) {
	for _, s := range []Spec{
		{Distribution: "fixed", Mean: 1}, {Distribution: "fixed", Mean: 1<<30 - 1},
		{Distribution: "uniform", Min: 1, Max: 1},
		{Distribution: "uniform", Mean: 5, CV: 1 / math.Sqrt(3)}, {Distribution: "normal", Mean: 5, CV: 1},
		{Distribution: "lognormal", Mean: 5, CV: 100, Max: 1}, {Distribution: "lognormal", Mean: 5, CV: 1, Max: 1<<30 - 1},
		{Distribution: "pareto", Mean: 5, Shape: 1000}, {Distribution: "zipf", Mean: 30.5, Max: 60},
		{Distribution: "zipf", Mean: 1, Max: 60},
		{Distribution: "empirical", Values: []float64{1}, Weights: []float64{1e18}},
		{Distribution: "empirical", Values: []float64{1<<30 - 1}}, {Distribution: "empirical", Values: []float64{3, 1}},
		{Distribution: "empirical", Edges: []float64{0, 0, 9}, Weights: []float64{0, 1}},
		{Distribution: "empirical", Quantiles: []Quantile{{0, 0}, {1, 7}}},
		{Distribution: "empirical", Quantiles: []Quantile{{0, 3}, {0.5, 3}, {0.5, 9}, {1, 9}}},
	} {
		l, err := New("x", s)
		require.NoError(t, err, "%+v", s)
		r := rng.Stream(1, "test.edge")
		for range 20 {
			require.Positive(t, l.Draw(r))
		}
	}
	for _, s := range []Spec{
		{Distribution: "empirical", Edges: []float64{0, 0}, Weights: []float64{1}},
		{Distribution: "empirical", Quantiles: []Quantile{{0, 0}, {1, 0}}},
		{Distribution: "empirical", Quantiles: []Quantile{{0, 1}, {1, 5}}, Weights: []float64{1}},
		{Distribution: "empirical", Quantiles: []Quantile{{0.1, 1}, {1, 5}}},
		{Distribution: "empirical", Quantiles: []Quantile{{0, 1}, {0.7, 2}, {0.6, 3}, {1, 5}}},
		{Distribution: "empirical", Quantiles: []Quantile{{0, 1}, {math.NaN(), 3}, {1, 5}}},
		{Distribution: "empirical", Edges: []float64{1, 2}, Weights: []float64{1}, Values: []float64{1}},
		{Distribution: "empirical", Edges: []float64{1, 2}, Weights: []float64{1, 1}},
		{Distribution: "empirical", Edges: []float64{1, 2, 1 << 30}, Weights: []float64{1, 1}},
		{Distribution: "empirical", Edges: []float64{-1, 2}, Weights: []float64{1}},
		{Distribution: "empirical", Values: []float64{1}, Weights: []float64{2e18}},
		{Distribution: "pareto", Mean: 5, Shape: 1001}, {Distribution: "pareto", Mean: 5},
		{Distribution: "zipf", Mean: 31, Max: 60}, {Distribution: "zipf", Mean: 5, Max: 60, Min: 1},
		{Distribution: "uniform", Min: 0, Max: 4}, {Distribution: "uniform", Min: -2, Max: 4},
		{Distribution: "uniform", Mean: 5, CV: 0.2, Min: 1}, {Distribution: "lognormal", Mean: 0.5, CV: 1},
	} {
		_, err := New("x", s)
		require.ErrorContains(t, err, "accepted: ", "%+v", s)
	}
}

// TestManyAreDrawnAsOneByOne: the same numbers, whatever the law.
func TestManyAreDrawnAsOneByOne(t *testing.T) {
	for _, s := range []Spec{
		{Distribution: "fixed", Mean: 5}, {Distribution: "lognormal", Mean: 500, CV: 1, Max: 2000},
		{Distribution: "normal", Mean: 500, CV: .2}, {Distribution: "gamma", Mean: 500, CV: 1},
		{Distribution: "empirical", Values: []float64{3, 4, 9}},
	} {
		one, err := New("p", s)
		require.NoError(t, err)
		many, err := New("p", s)
		require.NoError(t, err)
		r, out := rng.Stream(1, "test.fill"), make([]int32, 1000)
		many.Fill(out, rng.Stream(1, "test.fill"))
		for i := range out {
			require.Equal(t, one.Draw(r), out[i], "%+v", s)
		}
		require.Equal(t, one.Truncated, many.Truncated)
	}
}

// TestAnEmpiricalLawHasTheMeanThatIsGiven, and its own where none is: the mean that it says is that of what it draws.
func TestAnEmpiricalLawHasTheMeanThatIsGiven(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		own  float64
	}{
		{Spec{Values: []float64{100, 300}, Weights: []float64{1, 3}}, 250},
		{Spec{Edges: []float64{100, 200, 400}, Weights: []float64{1, 3}}, 262.5},
		{Spec{Quantiles: []Quantile{{0, 100}, {0.5, 200}, {1, 600}}}, 275},
	} {
		c.spec.Distribution = "empirical"
		for mean, want := range map[float64]float64{0: c.own, 750: 750} {
			c.spec.Mean = mean
			l, err := New("x", c.spec)
			require.NoError(t, err)
			require.InDelta(t, want, l.Mean, 1e-9, "%+v", c.spec)
			sum, r := 0.0, rng.Stream(1, "test.mean")
			for range 20_000 {
				sum += float64(l.Draw(r))
			}
			require.InEpsilon(t, want, sum/20_000, 0.02, "%+v", c.spec)
		}
	}
}

// TestTheLongestPairsAreAccepted: of one token and of the most that a prompt or an output may have.
func TestTheLongestPairsAreAccepted(t *testing.T) {
	const most = 1<<30 - 1
	p, err := NewPairs([][]int64{{most, 1}, {1, most}, {most, most}})
	require.NoError(t, err)
	require.Equal(t, []int32{most, 1, most}, p.Prompts)
	require.Equal(t, []int32{1, most, most}, p.Outputs)
}
