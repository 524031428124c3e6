package workloads

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
)

// gaps returns the mean and the coefficient of variation of n gaps.
func gaps(t *testing.T, a Arrivals, n int) (mean, cv float64) {
	t.Helper()
	c, err := newClock(a, 3)
	require.NoError(t, err)
	last, sum, squares := 0.0, 0.0, 0.0
	for range n {
		s := c.next()
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
		a  Arrivals
		cv float64
	}{
		{Arrivals{Process: "poisson", Rate: 8}, 1},
		{Arrivals{Process: "gamma", Rate: 8, CV: 2}, 2},
		{Arrivals{Process: "gamma", Rate: 8, CV: 0.5}, 0.5},
		{Arrivals{Process: "weibull", Rate: 8, CV: 1.7}, 1.7},
		{Arrivals{Process: "weibull", Rate: 8, CV: 0.4}, 0.4},
		{Arrivals{Process: "constant", Rate: 8}, 0},
	} {
		t.Run(c.a.Process, func(t *testing.T) {
			mean, cv := gaps(t, c.a, n)
			require.InDelta(t, 1.0/8, mean, 4*c.cv/8/math.Sqrt(n)+1e-9)
			require.InDelta(t, c.cv, cv, 0.03*c.cv+1e-6)
		})
	}
}

func TestBurstsKeepTheirMeanRate(t *testing.T) {
	a := Arrivals{Process: "on-off", OnRate: 20, OffRate: 2, OnS: 3, OffS: 6}
	c, err := newClock(a, 1)
	require.NoError(t, err)
	require.Equal(t, 8.0, c.rate)
	mean, cv := gaps(t, a, 400_000)
	require.InEpsilon(t, 1.0/8, mean, 0.02)
	require.Greater(t, cv, 1.3, "burstier than Poisson")

	a.Rate = 16
	mean, _ = gaps(t, a, 400_000)
	require.InEpsilon(t, 1.0/16, mean, 0.02)
}

// TestRatesFollowTheCurve compares the integral of the rate with its definition, and its inverse with it.
func TestRatesFollowTheCurve(t *testing.T) {
	points := []RatePoint{{0, 0}, {10, 4}, {10, 1}, {20, 1}, {25, 0}, {30, 0}}
	for _, a := range []Arrivals{
		{Process: "piecewise", Points: points, PeriodS: 40},
		{Process: "piecewise", Points: append(points[:len(points):len(points)], RatePoint{40, 6})},
		{Process: "sinusoid", Rate: 3, Amplitude: 1, PeriodS: 40},
	} {
		c, err := newRateCurve(a)
		require.NoError(t, err)
		last := 0.0
		for x := 0.01; x < 130; x += 0.1 {
			m := c.mass(x)
			require.GreaterOrEqual(t, m, last-1e-9)
			require.InDelta(t, m, c.mass(c.at(m)), 1e-7)
			require.LessOrEqual(t, c.at(m), x+1e-3, "the first instant with that mass")
			last = m
		}
		if a.Process == "sinusoid" {
			wave := func(x float64) float64 { return 3*x - 3*40/(2*math.Pi)*(math.Cos(2*math.Pi*x/40)-1) }
			require.InDelta(t, wave(33), c.mass(33), 3*40*1e-4)
			require.InDelta(t, wave(80), c.mass(80), 1e-6)
		}
	}
	c, err := newRateCurve(Arrivals{Process: "piecewise", Points: points})
	require.NoError(t, err)
	require.InDelta(t, 20+10+2.5, c.total(), 1e-9)
	require.True(t, math.IsInf(c.at(40), 1))
	c, err = newRateCurve(Arrivals{Process: "piecewise", Points: points, Rate: 2})
	require.NoError(t, err)
	require.InDelta(t, 60, c.total(), 1e-9)
}

func TestDiurnalArrivalsFollowTheirRate(t *testing.T) {
	o, err := NewOpenLoop(OpenLoop{Arrivals: Arrivals{Process: "sinusoid", Rate: 100, Amplitude: 0.8, PeriodS: 100},
		Lengths: plain(), DurationS: 1000}, 1)
	require.NoError(t, err)
	require.InDelta(t, 100_000, o.Requests(), 0.01)
	var high, low int
	for _, r := range drain(o) {
		if math.Mod(r.Arrival.Seconds(), 100) < 50 {
			high++
		} else {
			low++
		}
	}
	require.InDelta(t, 100_000, high+low, 4*math.Sqrt(100_000))
	require.InDelta(t, (1+0.8*2/math.Pi)/(1-0.8*2/math.Pi), float64(high)/float64(low), 0.06)
}

func TestBadArrivalsAreRefusedByName(t *testing.T) {
	for _, c := range []struct {
		a    Arrivals
		want string
	}{
		{Arrivals{}, `arrivals.process is ""; accepted: poisson, gamma`},
		{Arrivals{Process: "poisson"}, "arrivals.rate is 0"},
		{Arrivals{Process: "poisson", Rate: math.NaN()}, "arrivals.rate is NaN"},
		{Arrivals{Process: "poisson", Rate: math.Inf(1)}, "arrivals.rate is +Inf"},
		{Arrivals{Process: "poisson", Rate: -1}, "arrivals.rate is -1"},
		{Arrivals{Process: "poisson", Rate: 1, CV: 2}, "arrivals.cv is 2; accepted: nothing, for poisson"},
		{Arrivals{Process: "gamma", Rate: 1}, "arrivals.cv is 0"},
		{Arrivals{Process: "gamma", Rate: 1, CV: 101}, "arrivals.cv is 101"},
		{Arrivals{Process: "on-off", OnRate: 1, OffRate: 2, OnS: 1, OffS: 1}, "arrivals.off_rate is 2"},
		{Arrivals{Process: "on-off", OnRate: 1, OffRate: 0, OnS: 1}, "arrivals.off_s is 0"},
		{Arrivals{Process: "on-off", OnRate: 1, OnS: 1e-9, OffS: 1e-9}, "arrivals.on_s"},
		{Arrivals{Process: "piecewise"}, "arrivals.points"},
		{Arrivals{Process: "piecewise", Points: []RatePoint{{1, 1}}}, "starts with at_s = 0"},
		{Arrivals{Process: "piecewise", Points: []RatePoint{{0, 1}, {5, 1}, {4, 1}}}, "arrivals.points[2].at_s is 4"},
		{Arrivals{Process: "piecewise", Points: []RatePoint{{0, 1}, {5, -1}}}, "arrivals.points[1].rate is -1"},
		{Arrivals{Process: "piecewise", Points: []RatePoint{{0, 0}}}, "at least one rate above 0"},
		{Arrivals{Process: "piecewise", Points: []RatePoint{{0, 1}, {5, 1}}, PeriodS: 4}, "arrivals.period_s is 4"},
		{Arrivals{Process: "piecewise", Points: []RatePoint{{0, 1}}, PeriodS: 1e-6}, "arrivals.period_s"},
		{Arrivals{Process: "sinusoid", Rate: 1, Amplitude: 1.5, PeriodS: 4}, "arrivals.amplitude is 1.5"},
		{Arrivals{Process: "sinusoid", Rate: 1, Amplitude: 0.5}, "arrivals.period_s is 0"},
	} {
		_, err := newClock(c.a, 1)
		require.ErrorContains(t, err, c.want, "%+v", c.a)
		require.ErrorContains(t, err, "accepted: ")
	}
}

func TestTheClockIsNotOutrun(t *testing.T) {
	slow := OpenLoop{Arrivals: Arrivals{Process: "constant", Rate: 1e-3}, Lengths: plain(), Requests: 5000}
	_, err := NewOpenLoop(slow, 1)
	require.ErrorContains(t, err, "requests is 5000; accepted: at most the 4.58e+03")
	fast := OpenLoop{Arrivals: Arrivals{Process: "poisson", Rate: 1e6}, Lengths: plain(), DurationS: 86400}
	_, err = NewOpenLoop(fast, 1)
	require.ErrorContains(t, err, "duration_s is 86400")
	ended := OpenLoop{Arrivals: Arrivals{Process: "piecewise", Points: []RatePoint{{0, 3}, {10, 3}, {10, 0}}}, Lengths: plain(), Requests: 50}
	_, err = NewOpenLoop(ended, 1)
	require.ErrorContains(t, err, "requests is 50; accepted: at most the 30 ")

	// On average it fits; this run does not, and says so.
	slow.Arrivals = Arrivals{Process: "gamma", Rate: 1e-3, CV: 100}
	slow.Requests = 4000
	for seed := uint64(0); ; seed++ {
		o, err := NewOpenLoop(slow, seed)
		require.NoError(t, err)
		if n := len(drain(o)); n < 4000 {
			require.ErrorContains(t, o.Err(), "accepted: arrivals within 4.5792e+06 s")
			require.False(t, o.Next(&sim.Request{}))
			return
		}
		require.NoError(t, o.Err())
	}
}
