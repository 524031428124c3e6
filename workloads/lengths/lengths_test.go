package lengths

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim/rng"
	"github.com/decodesim/decodesim/workloads/variates"
)

// moments draws n tokens from the law and returns their mean and coefficient of variation.
func moments(t *testing.T, c Spec, n int) (mean, cv float64) {
	t.Helper()
	l, err := New("prompt_tokens", c)
	require.NoError(t, err)
	r, sum, squares := rng.Stream(1, "test.lengths"), 0.0, 0.0
	for range n {
		x := float64(l.Draw(r))
		if x < 1 {
			t.Fatalf("%v drew %v", c, x)
		}
		sum += x
		squares += x * x
	}
	mean = sum / float64(n)
	return mean, math.Sqrt(squares/float64(n)-mean*mean) / mean
}

func TestLawsHaveTheirMeanAndSpread(t *testing.T) {
	const n = 200_000
	for _, c := range []Spec{
		{Distribution: "fixed", Mean: 512},
		{Distribution: "uniform", Mean: 512, CV: 0.5},
		{Distribution: "normal", Mean: 512, CV: 0.2},
		{Distribution: "lognormal", Mean: 512, CV: 1},
		{Distribution: "gamma", Mean: 512, CV: 1.5},
		{Distribution: "gamma", Mean: 512, CV: 0.3},
		{Distribution: "pareto", Mean: 512, CV: 0.4},
	} {
		t.Run(fmt.Sprint(c.Distribution, c.CV), func(t *testing.T) {
			mean, cv := moments(t, c, n)
			// Four standard errors; 0.1 token for what falls below 1.
			require.InDelta(t, c.Mean, mean, 4*c.CV*c.Mean/math.Sqrt(n)+0.1)
			slack := 0.02
			if c.Distribution == "pareto" {
				slack = 0.1 // its fourth moment is infinite, so the sample spread settles slowly
			}
			require.InDelta(t, c.CV, cv, slack*c.CV+1e-9)
		})
	}
}

func TestUniformByBoundsHitsBothAndNothingElse(t *testing.T) {
	l, err := New("output_tokens", Spec{Distribution: "uniform", Min: 3, Max: 6})
	require.NoError(t, err)
	require.Equal(t, 4.5, l.Mean)
	var seen [8]int
	for r := rng.Stream(1, "test.lengths"); seen[0] < 40_000; seen[0]++ {
		seen[l.Draw(r)]++
	}
	require.Zero(t, seen[1]+seen[2]+seen[7])
	for _, n := range seen[3:7] {
		require.InDelta(t, 10_000, n, 4*math.Sqrt(7500))
	}
	require.Zero(t, l.Truncated)
}

func TestZipfFollowsItsLaw(t *testing.T) {
	for _, c := range []Spec{
		{Distribution: "zipf", Mean: 3, Max: 50}, {Distribution: "zipf", Mean: 25.5, Max: 50}, {Distribution: "zipf",
			Mean: 13, Max: 50},
	} {
		l, err := New("prompt_tokens", c)
		require.NoError(t, err)
		exponent, total, mean := variates.ZipfExponent(c.Mean, 50), 0.0, 0.0
		for k := 1.0; k <= 50; k++ {
			p := math.Pow(k, -exponent)
			total, mean = total+p, mean+k*p
		}
		require.InEpsilon(t, c.Mean, mean/total, 1e-6)
		const n = 100_000
		var seen [51]int
		for r := rng.Stream(2, "test.lengths"); seen[0] < n; seen[0]++ {
			seen[l.Draw(r)]++
		}
		chi := 0.0
		for k := 1; k <= 50; k++ {
			want := n * math.Pow(float64(k), -exponent) / total
			chi += (float64(seen[k]) - want) * (float64(seen[k]) - want) / want
		}
		require.Less(t, chi, 90.0, "chi-squared, 49 degrees of freedom, p < 0.001 beyond 85.4")
	}
	// A support that no table would hold, against the sum term by term.
	s, total, mean := variates.ZipfExponent(700, 1<<20), 0.0, 0.0
	for k := 1.0; k <= 1<<20; k++ {
		p := math.Pow(k, -s)
		total, mean = total+p, mean+k*p
	}
	require.InEpsilon(t, 700, mean/total, 1e-7)
}

func TestEmpiricalLawsFollowTheirTable(t *testing.T) {
	mean, _ := moments(t, Spec{Distribution: "empirical", Values: []float64{10, 20, 90}, Weights: []float64{1, 2, 1}},
		100_000)
	require.InDelta(t, 35, mean, 0.5)
	mean, _ = moments(t, Spec{Distribution: "empirical", Values: []float64{10, 20, 90}}, 100_000)
	require.InDelta(t, 40, mean, 0.5)
	mean, _ = moments(t, Spec{Distribution: "empirical", Edges: []float64{100, 200, 400}, Weights: []float64{3, 1}},
		100_000)
	require.InDelta(t, 0.75*150+0.25*300, mean, 1)
	mean, _ = moments(t, Spec{Distribution: "empirical", Quantiles: []Quantile{{0, 100}, {0.5, 200}, {1, 1000}}}, 100_000)
	require.InDelta(t, 375, mean, 3)
	mean, _ = moments(t, Spec{Distribution: "empirical", Values: []float64{10, 20, 90}, Mean: 400}, 100_000)
	require.InDelta(t, 400, mean, 5)

	l, err := New("x", Spec{Distribution: "empirical", Values: []float64{7, 9, 11}, Weights: []float64{0, 1, 0}})
	require.NoError(t, err)
	for r := rng.Stream(1, "x"); l.Max > 0; l.Max -= 1 << 20 {
		require.EqualValues(t, 9, l.Draw(r))
	}
}

func TestTruncationIsCounted(t *testing.T) {
	l, err := New("output_tokens", Spec{Distribution: "lognormal", Mean: 512, CV: 1, Max: 600})
	require.NoError(t, err)
	r, at := rng.Stream(1, "test.lengths"), int64(0)
	for range 100_000 {
		n := l.Draw(r)
		if n > 600 {
			t.Fatal(n)
		}
		if n == 600 {
			at++
		}
	}
	// P(X > 600.5) with σ² = ln 2, µ = ln 512 − σ²/2.
	sigma := math.Sqrt(math.Ln2)
	share := math.Erfc((math.Log(600.5/512)+math.Ln2/2)/sigma/math.Sqrt2) / 2
	require.InDelta(t, share, float64(l.Truncated)/100_000, 0.006)
	require.GreaterOrEqual(t, at, l.Truncated)
	require.Equal(t, 512.0, l.Mean)
}

func TestBadLengthsAreRefusedByName(t *testing.T) {
	for _, c := range []struct {
		law  Spec
		want string
	}{
		{Spec{}, `p.distribution is ""; accepted: fixed, uniform`},
		{Spec{Distribution: "lognorm"}, `p.distribution is "lognorm"`},
		{Spec{Distribution: "lognormal"}, "p.mean is 0; accepted: a number from 1 to 1073741823"},
		{Spec{Distribution: "lognormal", Mean: math.NaN(), CV: 1}, "p.mean is NaN"},
		{Spec{Distribution: "lognormal", Mean: math.Inf(1), CV: 1}, "p.mean is +Inf"},
		{Spec{Distribution: "lognormal", Mean: -3, CV: 1}, "p.mean is -3"},
		{Spec{Distribution: "lognormal", Mean: 1 << 31, CV: 1}, "p.mean is 2.147483648e+09"},
		{Spec{Distribution: "lognormal", Mean: 5}, "p.cv is 0; accepted: a number above 0"},
		{Spec{Distribution: "gamma", Mean: 5, CV: math.NaN()}, "p.cv is NaN"},
		{Spec{Distribution: "normal", Mean: 5, CV: 3}, "p.cv is 3; accepted: a number above 0 and at most 1"},
		{Spec{Distribution: "uniform", Mean: 5, CV: 0.6}, "p.cv is 0.6"},
		{Spec{Distribution: "uniform"}, "p.max is 0"},
		{Spec{Distribution: "uniform", Min: 9, Max: 3}, "p.min is 9; accepted: a whole number from 1 to max = 3"},
		{Spec{Distribution: "uniform", Min: 1, Max: 3, Mean: 2}, "p.mean is 2; accepted: null, for uniform with min"},
		{Spec{Distribution: "fixed", Mean: 2.5}, "p.mean is 2.5; accepted: a whole number"},
		{Spec{Distribution: "fixed", Mean: 2, CV: 1}, "p.cv is 1; accepted: null"},
		{Spec{Distribution: "fixed", Mean: 2, Min: 1}, "p.min is 1; accepted: null"},
		{Spec{Distribution: "lognormal", Mean: 5, CV: 1, Max: 1 << 31}, "p.max is 2147483648"},
		{Spec{Distribution: "lognormal", Mean: 5, CV: 1, Max: -1}, "p.max is -1"},
		{Spec{Distribution: "pareto", Mean: 5, Shape: 1}, "p.shape is 1"},
		{Spec{Distribution: "pareto", Mean: 5, Shape: 2, CV: 1}, "p.cv is 1"},
		{Spec{Distribution: "zipf", Mean: 5}, "p.max is 0"},
		{Spec{Distribution: "zipf", Mean: 50, Max: 60}, "p.mean is 50; accepted: at most 30.5"},
		{Spec{Distribution: "empirical"}, "accepted: one of values, edges with weights, quantiles"},
		{Spec{Distribution: "empirical", Values: []float64{}}, "p.values"},
		{Spec{Distribution: "empirical", Values: []float64{5, 0}}, "p.values[1] is 0"},
		{Spec{Distribution: "empirical", Values: []float64{5}, Weights: []float64{1, 2}}, "p.weights"},
		{Spec{Distribution: "empirical", Values: []float64{5}, Weights: []float64{-1}}, "p.weights[0] is -1"},
		{Spec{Distribution: "empirical", Values: []float64{5}, Weights: []float64{0}}, "at least one weight above 0"},
		{Spec{Distribution: "empirical", Edges: []float64{5}}, "p.weights"},
		{Spec{Distribution: "empirical", Edges: []float64{5, 4}, Weights: []float64{1}}, "p.edges[1] is 4"},
		{Spec{Distribution: "empirical", Quantiles: []Quantile{{0, 1}, {0.9, 5}}}, "p.quantiles"},
		{Spec{Distribution: "empirical", Quantiles: []Quantile{{0, 10}, {1, 5}}}, "p.quantiles.tokens[1] is 5"},
		{Spec{Distribution: "lognormal", Mean: 5, CV: 1, Values: []float64{1}}, "p.values"},
	} {
		_, err := New("p", c.law)
		require.ErrorContains(t, err, c.want, "%+v", c.law)
		require.ErrorContains(t, err, "accepted: ")
	}
}

func BenchmarkLaw(b *testing.B) {
	for _, c := range []Spec{
		{Distribution: "fixed", Mean: 512},
		{Distribution: "uniform", Mean: 512, CV: 0.5},
		{Distribution: "normal", Mean: 512, CV: 0.2},
		{Distribution: "lognormal", Mean: 512, CV: 1},
		{Distribution: "gamma", Mean: 512, CV: 1.5},
		{Distribution: "pareto", Mean: 512, CV: 0.4},
		{Distribution: "zipf", Mean: 512, Max: 1 << 17},
		{Distribution: "empirical", Values: []float64{1, 2, 3, 400}},
		{Distribution: "empirical", Edges: []float64{1, 2, 3, 400}, Weights: []float64{1, 2, 3}},
	} {
		b.Run(c.Distribution, func(b *testing.B) {
			l, err := New("prompt_tokens", c)
			require.NoError(b, err)
			r := rng.Stream(1, "bench")
			b.ReportAllocs()
			for b.Loop() {
				l.Draw(r)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N), "ns/draw")
		})
	}
}

// TestTheMeansOfPairsAreOfEachSide: of prompts and of outputs, of the first pairs as of all.
func TestTheMeansOfPairsAreOfEachSide(t *testing.T) {
	p, err := NewPairs([][]int64{{10, 1}, {20, 4}, {90, 1}})
	require.NoError(t, err)
	for n, want := range map[int64][2]float64{1: {10, 1}, 2: {15, 2.5}, 3: {40, 2}} {
		prompt, output := p.First(n).Means()
		require.Equal(t, want, [2]float64{prompt, output}, "the first %d", n)
	}
}

func TestBadPairsAreNamed(t *testing.T) {
	for want, values := range map[string][][]int64{
		"lengths.values is []; accepted: at least one pair, such as [[512, 128]]": nil,
		"lengths.values[1] is [5]; accepted: two whole numbers from 1":            {{1, 2}, {5}},
		"lengths.values[0] is [1 2 3]; accepted: two":                             {{1, 2, 3}},
		"lengths.values[0] is [0 2]; accepted: two":                               {{0, 2}},
		"lengths.values[0] is [2 1073741824]; accepted: two":                      {{2, 1 << 30}},
		"lengths.values[0] is [1073741824 2]; accepted: two":                      {{1 << 30, 2}},
		"lengths.values[0] is [2 0]; accepted: two":                               {{2, 0}},
	} {
		_, err := NewPairs(values)
		require.ErrorContains(t, err, want)
	}
}

// TestTheExtremesOfLawsAreAccepted: a mean of one token, the longest, and the widest spread of each law.
func TestTheExtremesOfLawsAreAccepted(t *testing.T) {
	const most = 1<<30 - 1
	for _, law := range []Spec{
		{Distribution: "fixed", Mean: 1}, {Distribution: "fixed", Mean: most},
		{Distribution: "uniform", Mean: 5, CV: 1 / math.Sqrt(3)}, {Distribution: "uniform", Min: 1, Max: most},
		{Distribution: "uniform", Min: 7, Max: 7}, {Distribution: "normal", Mean: 5, CV: 1},
		{Distribution: "lognormal", Mean: 1, CV: 100}, {Distribution: "gamma", Mean: 5, CV: 100, Max: 1},
		{Distribution: "pareto", Mean: 5, Shape: 1000}, {Distribution: "zipf", Mean: 5, Max: 9},
		{Distribution: "zipf", Mean: 1, Max: 9}, {Distribution: "empirical", Values: []float64{1, most}},
		{Distribution: "empirical", Values: []float64{1}, Weights: []float64{1e18}},
		{Distribution: "empirical", Edges: []float64{0, 2}, Weights: []float64{1}},
		{Distribution: "empirical", Edges: []float64{0, 0, most}, Weights: []float64{0, 1e-3}},
		{Distribution: "empirical", Quantiles: []Quantile{{0, 0}, {1, 2}}},
		{Distribution: "empirical", Quantiles: []Quantile{{0, 3}, {0.5, 3}, {0.5, 4}, {1, most}}},
	} {
		l, err := New("p", law)
		require.NoError(t, err, "%+v", law)
		for r := rng.Stream(1, "x"); l.Truncated < 100 && l.Mean < 1e9; l.Mean *= 2 {
			n := l.Draw(r)
			require.True(t, n >= 1 && n <= most, "%+v: %d", law, n)
		}
	}
	for want, law := range map[string]Spec{
		"p.shape is 1001; accepted": {Distribution: "pareto", Mean: 5, Shape: 1001},
		"p.cv is 100.5; accepted":   {Distribution: "lognormal", Mean: 5, CV: 100.5},
		"p.weights[1] is 1.1e+18":   {Distribution: "empirical", Values: []float64{1, 2}, Weights: []float64{1, 1.1e18}},
		"p.values[0] is 1.07374182": {Distribution: "empirical", Values: []float64{most + 1}},
		"p.min is 0; accepted":      {Distribution: "uniform", Max: 3},
		"mean above 0":              {Distribution: "empirical", Edges: []float64{0, 0}, Weights: []float64{1}},
	} {
		_, err := New("p", law)
		require.ErrorContains(t, err, want)
	}
	require.True(t, (&Spec{Distribution: "fixed"}).Given())
	require.False(t, new(Spec).Given())
	require.Equal(t, Spec{Distribution: "fixed", Mean: 3}, Fixed(3))
}

// TestWeightsCountUpToTheMost: the greatest weight is four times as heavy as a quarter of it.
func TestWeightsCountUpToTheMost(t *testing.T) {
	l, err := New("p", Spec{Distribution: "empirical", Values: []float64{10, 20}, Weights: []float64{1e18, 0.25e18}})
	require.NoError(t, err)
	require.InDelta(t, 12, l.Mean, 1e-9)
}
