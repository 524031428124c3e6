package arrivals

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
)

// TestAStationaryProcessBeginsWithinAGap: what is left of a gap X at an instant that has nothing to do with it has the
// mean E[X²]/2·E[X] and the second moment E[X³]/3·E[X]; the gap after it is a whole one.
func TestAStationaryProcessBeginsWithinAGap(t *testing.T) {
	const n, rate = 20_000, 4
	shape := func(cv float64) float64 { return 1 / (cv * cv) }
	gamma := func(cv float64) (second, third float64) {
		k := shape(cv)
		return (k + 1) / k, (k + 1) * (k + 2) / (k * k)
	}
	weibull := func(power float64) (second, third float64) {
		mean := math.Gamma(1 + power)
		return math.Gamma(1+2*power) / (mean * mean), math.Gamma(1+3*power) / (mean * mean * mean)
	}
	for _, c := range []struct {
		s             Spec
		second, third float64 // moments of gaps with mean 1
	}{
		{Spec{Process: "poisson", Rate: rate}, 2, 6},
		{Spec{Process: "constant", Rate: rate}, 1, 1},
		{s: Spec{Process: "gamma", Rate: rate, CV: 2}},
		{s: Spec{Process: "gamma", Rate: rate, CV: 0.5}},
		{s: Spec{Process: "weibull", Rate: rate, CV: math.Sqrt(5)}}, // of shape 1/2
	} {
		switch c.s.Process {
		case "gamma":
			c.second, c.third = gamma(c.s.CV)
		case "weibull":
			c.second, c.third = weibull(2)
		}
		left, squares, next := 0.0, 0.0, 0.0
		for seed := range uint64(n) {
			p, err := New(c.s, seed)
			require.NoError(t, err)
			p.Stationary()
			out := make([]float64, 2)
			p.Fill(out)
			x := out[0] * rate
			left, squares, next = left+x, squares+x*x, next+(out[1]-out[0])*rate
		}
		variance := c.third/3 - c.second*c.second/4
		assert.InDelta(t, c.second/2, left/n, 4*math.Sqrt(variance/n), "%+v", c.s)
		assert.InEpsilon(t, c.third/3, squares/n, 0.15, "%+v", c.s)
		assert.InDelta(t, 1, next/n, 4*math.Sqrt((c.second-1)/n)+1e-6, "%+v", c.s)
	}
}

// TestWhatIsExpectedFitsTheClock: so many requests, or the requests of a duration, whichever are fewer.
func TestWhatIsExpectedFitsTheClock(t *testing.T) {
	p, err := New(Spec{Process: "poisson", Rate: 2}, 1)
	require.NoError(t, err)
	const most = int64(2 * sim.HorizonS)
	for _, c := range []struct {
		requests  int64
		durationS float64
		want      float64
		refused   string
	}{
		{10, 0, 10, ""}, {0, 100, 200, ""}, {50, 100, 50, ""}, {500, 100, 200, ""}, {200, 100, 200, ""},
		{most, 0, float64(most), ""}, {most + 1, 0, 0, "at most the"},
		{0, expectedMax / 2, expectedMax, ""}, {0, expectedMax/2 + 1, 0, "at most 2000000000 requests are expected"},
	} {
		got, err := p.Expect(c.requests, c.durationS)
		if c.refused != "" {
			require.ErrorContains(t, err, c.refused, "%+v", c)
			continue
		}
		require.NoError(t, err, "%+v", c)
		assert.Equal(t, c.want, got, "%+v", c)
	}
}

// TestATimelineEndsBeforeItsDuration: an arrival at its very end is none any more. What the clock cuts off is said.
func TestATimelineEndsBeforeItsDuration(t *testing.T) {
	for durationS, want := range map[float64]int{2.25: 4, 2: 3, 2.0001: 4} {
		p, err := New(Spec{Process: "constant", Rate: 2}, 1)
		require.NoError(t, err)
		line := NewTimeline(p, durationS)
		var out [8]sim.Time
		n, endS := line.Fill(out[:])
		require.Equal(t, want, n, "%g s", durationS)
		assert.InDelta(t, float64(want+1)/2, endS, 0)
		for i, at := range out[:n] {
			assert.Equal(t, sim.Time(i+1)*sim.Time(sim.Second)/2, at)
		}
		assert.False(t, line.Overrun(endS))
	}
	line := NewTimeline(nil, 0)
	assert.True(t, line.Overrun(sim.HorizonS+1))
	assert.False(t, line.Overrun(math.Inf(1)), "the rate has fallen to zero for good")
}

// TestARateWithoutAPeriodIsTheMeanUpToTheLastRequest: ten requests come in 10 s, and three a second from then on.
func TestARateWithoutAPeriodIsTheMeanUpToTheLastRequest(t *testing.T) {
	p, err := New(Spec{Process: "piecewise", Points: []Point{{0, 1}, {10, 1}, {10, 3}}}, 1)
	require.NoError(t, err)
	for requests, want := range map[float64]float64{5: 1, 10: 1, 40: 2, 0: 1} {
		assert.InDelta(t, want, p.MeanRate(requests), 1e-12, "%g requests", requests)
	}
	assert.InDelta(t, 20, p.pace.span(40), 1e-12)
	assert.Zero(t, p.pace.span(0))
}

// TestBurstsBeyondTheClockAreNotWaitedFor: with a request in ten thousand cycles of 2,000 s, most runs have none.
func TestBurstsBeyondTheClockAreNotWaitedFor(t *testing.T) {
	beyond := 0
	for seed := range uint64(50) {
		p, err := New(Spec{Process: "on-off", OnRate: 1e-4, OnS: 1, OffS: 1999}, seed)
		require.NoError(t, err)
		out := make([]float64, 1)
		p.Fill(out)
		if out[0] > sim.HorizonS {
			beyond++
			assert.Less(t, out[0], sim.HorizonS+100*2000)
		}
	}
	// the clock has 2,290 cycles, in which 0.23 requests are expected: exp(−0.23) of the runs have none
	assert.InDelta(t, 50*0.795, beyond, 4*2.9)
}

// TestTheExtremesOfProcessesAreAccepted: of rates, of their spread and of the times between which they change.
func TestTheExtremesOfProcessesAreAccepted(t *testing.T) {
	for _, s := range []Spec{
		{Process: "poisson", Rate: 1e9}, {Process: "gamma", Rate: 1, CV: 100}, {Process: "weibull", Rate: 1, CV: 100},
		{Process: "on-off", OnRate: 1e9, OffRate: 1e9, OnS: sim.HorizonS, OffS: sim.HorizonS, CV: 100},
		{Process: "on-off", OnRate: 1, OnS: 1, OffS: 1},
		{Process: "piecewise", Points: []Point{{0, 0}, {0, 1e9}, {sim.HorizonS, 0}}, PeriodS: sim.HorizonS},
		{Process: "sinusoid", Rate: 1, PeriodS: 1}, {Process: "sinusoid", Rate: 1, Amplitude: 1, PeriodS: sim.HorizonS},
	} {
		p, err := New(s, 1)
		require.NoError(t, err, "%+v", s)
		p.Fill(make([]float64, 3))
	}
	for want, s := range map[string]Spec{
		"arrivals.rate is 1.1e+09":           {Process: "poisson", Rate: 1.1e9},
		"arrivals.on_rate is 1.1e+09":        {Process: "on-off", OnRate: 1.1e9, OnS: 1, OffS: 1},
		"arrivals.on_s is 4.579201e+06":      {Process: "on-off", OnRate: 1, OnS: sim.HorizonS + 1, OffS: 1},
		"arrivals.off_s is 4.579201e+06":     {Process: "on-off", OnRate: 1, OnS: 1, OffS: sim.HorizonS + 1},
		"arrivals.off_rate is -1":            {Process: "on-off", OnRate: 1, OffRate: -1, OnS: 1, OffS: 1},
		"arrivals.on_rate is 0":              {Process: "on-off", OnS: 1, OffS: 1},
		"arrivals.on_s is 0":                 {Process: "on-off", OnRate: 1, OffS: 1},
		"arrivals.points[0].rate is 1.1e+09": {Process: "piecewise", Points: []Point{{0, 1.1e9}}},
		"arrivals.amplitude is -0.1":         {Process: "sinusoid", Rate: 1, Amplitude: -.1, PeriodS: 1},
		"arrivals.rate is 0":                 {Process: "weibull", CV: 2},
		"arrivals.cv is 100.5":               {Process: "weibull", Rate: 1, CV: 100.5},
	} {
		_, err := New(s, 1)
		require.ErrorContains(t, err, want)
	}
}
