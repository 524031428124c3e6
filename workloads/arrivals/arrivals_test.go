package arrivals

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"github.com/decodesim/decodesim/sim"
)

// moments returns the mean and the coefficient of variation of n gaps.
func moments(t *testing.T, a Spec, n int) (mean, cv float64) {
	t.Helper()
	c, err := New(a, 3)
	require.NoError(t, err)
	last, sum, squares := 0.0, 0.0, 0.0
	seconds := make([]float64, n)
	c.Fill(seconds)
	for _, s := range seconds {
		if s < last {
			t.Fatalf("%v after %v", s, last)
		}
		sum += s - last
		squares += (s - last) * (s - last)
		last = s
	}
	mean = sum / float64(n)
	return mean, math.Sqrt(squares/float64(n)-mean*mean) / mean
}

func TestGapsHaveTheirMeanAndSpread(t *testing.T) {
	const n = 400_000
	for _, c := range []struct {
		a  Spec
		cv float64
	}{
		{Spec{Process: "poisson", Rate: 8}, 1},
		{Spec{Process: "gamma", Rate: 8, CV: 2}, 2},
		{Spec{Process: "gamma", Rate: 8, CV: 0.5}, 0.5},
		{Spec{Process: "weibull", Rate: 8, CV: 1.7}, 1.7},
		{Spec{Process: "weibull", Rate: 8, CV: 0.4}, 0.4},
		{Spec{Process: "constant", Rate: 8}, 0},
	} {
		t.Run(c.a.Process, func(t *testing.T) {
			mean, cv := moments(t, c.a, n)
			require.InDelta(t, 1.0/8, mean, 4*c.cv/8/math.Sqrt(n)+1e-9)
			require.InDelta(t, c.cv, cv, 0.03*c.cv+1e-6)
		})
	}
}

func TestBurstsKeepTheirMeanRate(t *testing.T) {
	a := Spec{Process: "on-off", OnRate: 20, OffRate: 2, OnS: 3, OffS: 6}
	c, err := New(a, 1)
	require.NoError(t, err)
	require.Equal(t, 8.0, c.MeanRate(0))
	mean, cv := moments(t, a, 400_000)
	require.InEpsilon(t, 1.0/8, mean, 0.02)
	require.Greater(t, cv, 1.3, "burstier than Poisson")

	for _, rate := range []float64{16, 0.5} {
		a.Rate = rate
		c, err := New(a, 1)
		require.NoError(t, err)
		require.Equal(t, rate, c.MeanRate(0))
		require.Equal(t, 100*rate, c.Expected(100))
		mean, _ = moments(t, a, 400_000)
		require.InEpsilon(t, 1/rate, mean, 0.02)
	}
}

// TestGapsAreBurstyWithinBurstsToo: with a cv, each process whose rate changes keeps its mean rate, and the counts of
// windows within one state have the variance of a renewal process, cv² times their mean.
func TestGapsAreBurstyWithinBurstsToo(t *testing.T) {
	for _, s := range []Spec{
		{Process: "on-off", OnRate: 50, OffRate: 0, OnS: 1e6, OffS: 1, CV: 2},
		{Process: "piecewise", Points: []Point{{0, 50}}, CV: 2},
		{Process: "sinusoid", Rate: 50, Amplitude: 0, PeriodS: 100, CV: 2},
	} {
		p, err := New(s, 4)
		require.NoError(t, err)
		line := NewTimeline(p, 0)
		counts := make([]float64, 20_000)
		var at [64]sim.Time
		for last := 0; last < len(counts); {
			n, _ := line.Fill(at[:])
			for _, a := range at[:n] {
				last = int(a / sim.Time(sim.Second))
				if last < len(counts) {
					counts[last]++
				}
			}
		}
		mean, variance := stat.MeanVariance(counts, nil)
		require.InEpsilon(t, 50, mean, 0.02, s.Process)
		require.InEpsilon(t, 4, variance/mean, 0.06, s.Process)
	}
	mean, _ := moments(t, Spec{Process: "on-off", OnRate: 20, OffRate: 2, OnS: 3, OffS: 6, CV: 3}, 400_000)
	require.InEpsilon(t, 1.0/8, mean, 0.03)
}

// TestAScaledProcessHasAMultipleOfItsRate, at every instant, and as it was is left alone.
func TestAScaledProcessHasAMultipleOfItsRate(t *testing.T) {
	for _, s := range []Spec{
		{Process: "poisson", Rate: 8}, {Process: "gamma", Rate: 8, CV: 2}, {Process: "constant", Rate: .25},
		{Process: "on-off", OnRate: 20, OffRate: 2, OnS: 3, OffS: 6},
		{Process: "on-off", OnRate: 20, OffRate: 2, OnS: 3, OffS: 6, Rate: 5},
		{Process: "piecewise", Points: []Point{{0, 1}, {10, 4}, {20, 2}}},
		{Process: "piecewise", Points: []Point{{0, 1}, {10, 4}, {20, 2}}, Rate: 5, PeriodS: 30},
		{Process: "sinusoid", Rate: 3, Amplitude: 1, PeriodS: 40},
	} {
		before := s.Scaled(1)
		more := s.Scaled(2.5)
		require.Equal(t, before, s)
		one, err := New(s, 1)
		require.NoError(t, err)
		scaled, err := New(more, 1)
		require.NoError(t, err)
		for _, at := range []float64{0.5, 7, 13, 100} {
			require.InEpsilon(t, 2.5*one.Expected(at), scaled.Expected(at), 1e-9, "%+v", s)
		}
		require.InEpsilon(t, 2.5*one.MeanRate(0), scaled.MeanRate(0), 1e-9)
	}
	require.Equal(t, []string{"poisson", "gamma", "weibull", "constant", "on-off", "piecewise", "sinusoid"}, Names())
}

// curve returns the rates of a process that has some.
func curve(t *testing.T, s Spec) *rateCurve {
	t.Helper()
	p, err := New(s, 1)
	require.NoError(t, err)
	return p.pace.(*rateCurve)
}

// TestRatesFollowTheCurve compares the integral of the rate with its definition, and its inverse with it.
func TestRatesFollowTheCurve(t *testing.T) {
	points := []Point{{0, 0}, {10, 4}, {10, 1}, {20, 1}, {25, 0}, {30, 0}}
	for _, a := range []Spec{
		{Process: "piecewise", Points: points, PeriodS: 40},
		{Process: "piecewise", Points: append(points[:len(points):len(points)], Point{40, 6})},
		{Process: "sinusoid", Rate: 3, Amplitude: 1, PeriodS: 40},
	} {
		c := curve(t, a)
		last := 0.0
		for x := 0.01; x < 130; x += 0.1 {
			m := c.expected(x)
			require.GreaterOrEqual(t, m, last-1e-9)
			require.InDelta(t, m, c.expected(c.at(m)), 1e-7)
			require.LessOrEqual(t, c.at(m), x+1e-3, "the first instant with that mass")
			last = m
		}
		if a.Process == "sinusoid" {
			wave := func(x float64) float64 { return 3*x - 3*40/(2*math.Pi)*(math.Cos(2*math.Pi*x/40)-1) }
			require.InDelta(t, wave(33), c.expected(33), 3*40*1e-4)
			require.InDelta(t, wave(80), c.expected(80), 1e-6)
		}
	}
	c := curve(t, Spec{Process: "piecewise", Points: points})
	require.InDelta(t, 20+10+2.5, c.total(), 1e-9)
	require.True(t, math.IsInf(c.at(40), 1))
	c = curve(t, Spec{Process: "piecewise", Points: points, Rate: 2})
	require.InDelta(t, 60, c.total(), 1e-9)
}

// TestBurstsHaveARequestInTenThousandCycles, at least: half a second of each state with 0.0001 requests a second.
func TestBurstsHaveARequestInTenThousandCycles(t *testing.T) {
	least := Spec{Process: "on-off", OnRate: 1e-4, OffRate: 1e-4, OnS: .5, OffS: .5}
	_, err := New(least, 1)
	require.NoError(t, err)
	least.OffRate = 0.99e-4
	_, err = New(least, 1)
	require.ErrorContains(t, err, "at least 0.0001 requests are expected per on and off")
}

func TestBadArrivalsAreRefusedByName(t *testing.T) {
	for _, c := range []struct {
		a    Spec
		want string
	}{
		{Spec{}, `arrivals.process is ""; accepted: poisson, gamma`},
		{Spec{Process: "poisson"}, "arrivals.rate is 0"},
		{Spec{Process: "gamma", CV: 2}, "arrivals.rate is 0"},
		{Spec{Process: "constant"}, "arrivals.rate is 0"},
		{Spec{Process: "sinusoid", PeriodS: 9}, "arrivals.rate is 0"},
		{Spec{Process: "poisson", Rate: math.NaN()}, "arrivals.rate is NaN"},
		{Spec{Process: "poisson", Rate: math.Inf(1)}, "arrivals.rate is +Inf"},
		{Spec{Process: "poisson", Rate: -1}, "arrivals.rate is -1"},
		{Spec{Process: "poisson", Rate: 1, CV: 2}, "arrivals.cv is 2; accepted: null, for poisson"},
		{Spec{Process: "gamma", Rate: 1}, "arrivals.cv is 0"},
		{Spec{Process: "gamma", Rate: 1, CV: 101}, "arrivals.cv is 101"},
		{Spec{Process: "on-off", OnRate: 1, OffRate: 2, OnS: 1, OffS: 1}, "arrivals.off_rate is 2"},
		{Spec{Process: "on-off", OnRate: 1, OffRate: 0, OnS: 1}, "arrivals.off_s is 0"},
		{Spec{Process: "on-off", OnRate: 1, OnS: 1e-9, OffS: 1e-9}, "arrivals.on_s"},
		{Spec{Process: "on-off", OnRate: 1, OnS: 1, OffS: 1, CV: 101}, "arrivals.cv is 101"},
		{Spec{Process: "piecewise", Points: []Point{{0, 1}}, CV: -1}, "arrivals.cv is -1"},
		{Spec{Process: "piecewise"}, "arrivals.points"},
		{Spec{Process: "piecewise", Points: []Point{{1, 1}}}, "starts with at_s = 0"},
		{Spec{Process: "piecewise", Points: []Point{{0, 1}, {5, 1}, {4, 1}}}, "arrivals.points[2].at_s is 4"},
		{Spec{Process: "piecewise", Points: []Point{{0, 1}, {5, -1}}}, "arrivals.points[1].rate is -1"},
		{Spec{Process: "piecewise", Points: []Point{{0, 0}}}, "at least one rate above 0"},
		{Spec{Process: "piecewise", Points: []Point{{0, 1}, {5, 1}}, PeriodS: 4}, "arrivals.period_s is 4"},
		{Spec{Process: "piecewise", Points: []Point{{0, 1}}, PeriodS: 1e-6}, "arrivals.period_s"},
		{Spec{Process: "sinusoid", Rate: 1, Amplitude: 1.5, PeriodS: 4}, "arrivals.amplitude is 1.5"},
		{Spec{Process: "sinusoid", Rate: 1, Amplitude: 0.5}, "arrivals.period_s is 0"},
	} {
		_, err := New(c.a, 1)
		require.ErrorContains(t, err, c.want, "%+v", c.a)
		require.ErrorContains(t, err, "accepted: ")
	}
}

// TestBurstsCountWhatTheirStatesSend: between two instants there is what the rate of each state between them has sent,
// whatever the rates and however long the states last, and no request comes while a state sends none.
func TestBurstsCountWhatTheirStatesSend(t *testing.T) {
	for _, s := range []Spec{
		{Process: "on-off", OnRate: 20, OffRate: 2, OnS: 3, OffS: 6}, {Process: "on-off", OnRate: 0.9, OnS: 3, OffS: 6},
		{Process: "on-off", OnRate: 0.01, OffRate: 0.001, OnS: 500, OffS: 50},
		{Process: "on-off", OnRate: 300, OnS: 0.01, OffS: 1},
	} {
		make := func() *bursts {
			_, pace, err := newBursts(&s, 7)
			require.NoError(t, err)
			return pace.(*bursts)
		}
		b, n, sum := make(), make(), 0.0 // n draws the same states, one by one
		for i := range 2000 {
			requests := float64(i+1) * 0.37
			at := b.at(requests)
			for sum+n.rate[n.state()]*(n.end-n.start) < requests {
				sum += n.rate[n.state()] * (n.end - n.start)
				n.on, n.start = !n.on, n.end
				n.end += n.duration()
			}
			require.Positive(t, n.rate[n.state()])
			require.InEpsilon(t, n.start+(requests-sum)/n.rate[n.state()], at, 1e-9, "%+v: %g requests", s, requests)
		}
	}
}

// TestBurstsBeginInEquilibrium: a quarter of the runs begin with a burst of 20 requests/s, and each state lasts for
// more than the 0.1 s in which requests are counted in nearly all of them.
func TestBurstsBeginInEquilibrium(t *testing.T) {
	const runs, within = 2000, 0.1
	n := 0
	for seed := range uint64(runs) {
		p, err := New(Spec{Process: "on-off", OnRate: 20, OnS: 100, OffS: 300}, seed)
		require.NoError(t, err)
		var first [20]float64
		p.Fill(first[:])
		for _, at := range first {
			if at < within {
				n++
			}
		}
	}
	const mean, variance = 20 * within / 4, 20 * within / 4 * (1 + 20*within*3/4)
	require.InDelta(t, mean, float64(n)/runs, 4*math.Sqrt(variance/runs))
}

// TestARateThatEndsAtNoneIsExpectedWholeByThen: it falls from 10 requests/s to none in 10 s.
func TestARateThatEndsAtNoneIsExpectedWholeByThen(t *testing.T) {
	p, err := New(Spec{Process: "piecewise", Points: []Point{{0, 10}, {10, 0}}}, 1)
	require.NoError(t, err)
	require.InDelta(t, 5, p.MeanRate(50), 1e-12)
}

// TestTheLastRequestOfABurst comes as the burst ends, and not with the next one. None comes while none are sent, the
// first included.
func TestTheLastRequestOfABurst(t *testing.T) {
	burst := bursts{states: rand.New(rand.NewPCG(1, 2)), rate: [2]float64{0, 2}, mean: [2]float64{5, 5}, on: true, end: 3}
	require.Equal(t, 3.0, burst.at(6), "2 requests/s for 3 s")
	pause := bursts{states: rand.New(rand.NewPCG(1, 2)), rate: [2]float64{0, 2}, mean: [2]float64{5, 5}, end: 3}
	require.Equal(t, 3.0, pause.at(0), "the first burst begins after 3 s")
}
