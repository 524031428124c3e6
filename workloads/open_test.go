package workloads

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/arrivals"
	"github.com/decodesim/decodesim/workloads/lengths"
	"github.com/decodesim/decodesim/workloads/requests"
	"github.com/decodesim/decodesim/workloads/sourcetest"
)

func TestTheSameRequestsArriveAtAnyRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		process := rapid.SampledFrom([]string{"poisson", "gamma", "weibull", "constant"}).Draw(t, "process")
		factor := rapid.Float64Range(0.01, 100).Draw(t, "factor")
		config := OpenLoop{Arrivals: arrivals.Spec{Process: process, Rate: 7}, Mix: sourcetest.Plain(), Requests: 200,
			Patience: requests.Patience{CancelShare: 0.5, CancelAfterS: 3}}
		if process == "gamma" || process == "weibull" {
			config.Arrivals.CV = 1.5
		}
		slow, err := NewOpenLoop(config, seed)
		require.NoError(t, err)
		config.Arrivals.Rate *= factor
		fast, err := NewOpenLoop(config, seed)
		require.NoError(t, err)
		a, b := sourcetest.Drain(slow), sourcetest.Drain(fast)
		require.Len(t, a, 200)
		for i := range a {
			require.Equal(t, a[i].ID, int32(i))
			require.InDelta(t, a[i].Arrival.Seconds(), b[i].Arrival.Seconds()*factor, 1e-9*(1+a[i].Arrival.Seconds()))
			if a[i].Deadline > 0 {
				require.Equal(t, a[i].Deadline.Sub(a[i].Arrival), b[i].Deadline.Sub(b[i].Arrival))
			}
			b[i].Arrival, b[i].Deadline = a[i].Arrival, a[i].Deadline
			require.Equal(t, a[i], b[i])
		}
	})
}

func TestOneLawChangesNothingElse(t *testing.T) {
	config := OpenLoop{Arrivals: arrivals.Spec{Process: "poisson", Rate: 7}, Mix: sourcetest.Plain(), Requests: 500}
	before, err := NewOpenLoop(config, 9)
	require.NoError(t, err)
	config.Mix.Output = lengths.Spec{Distribution: "gamma", Mean: 100, CV: 0.5}
	config.Mix.MaxOutput = lengths.Spec{Distribution: "fixed", Mean: 120}
	config.Patience = requests.Patience{TimeoutS: 5, CancelShare: 0.1, CancelAfterS: 1}
	after, err := NewOpenLoop(config, 9)
	require.NoError(t, err)
	a, b := sourcetest.Drain(before), sourcetest.Drain(after)
	for i := range a {
		require.Equal(t, [2]int64{int64(a[i].Arrival), int64(a[i].Prompt)}, [2]int64{int64(b[i].Arrival), int64(b[i].Prompt)})
	}
}

func TestOutputsAreCutAtMaxOutput(t *testing.T) {
	l := sourcetest.Plain()
	l.MaxOutput = lengths.Spec{Distribution: "uniform", Min: 100, Max: 300}
	o, err := NewOpenLoop(OpenLoop{Arrivals: arrivals.Spec{Process: "constant", Rate: 10}, Mix: l, Requests: 2000}, 1)
	require.NoError(t, err)
	cut := 0
	for _, r := range sourcetest.Drain(o) {
		require.LessOrEqual(t, r.Output, r.MaxOutput)
		require.True(t, r.MaxOutput >= 100 && r.MaxOutput <= 300)
		if r.Output == r.MaxOutput {
			cut++
		}
	}
	require.InDelta(t, 800, cut, 250)
}

func TestDurationAndRequestsBothEndTheLoop(t *testing.T) {
	config := OpenLoop{Arrivals: arrivals.Spec{Process: "constant", Rate: 10}, Mix: sourcetest.Plain(), Requests: 50,
		DurationS: 2}
	for _, c := range []struct {
		requests  int64
		durationS float64
		want      int
	}{{50, 2, 19}, {5, 2, 5}, {50, 0, 50}, {0, 2, 19}, {0, 2.00001, 20}} {
		config.Requests, config.DurationS = c.requests, c.durationS
		o, err := NewOpenLoop(config, 1)
		require.NoError(t, err)
		require.Len(t, sourcetest.Drain(o), c.want)
		require.NoError(t, o.Err())
		require.InDelta(t, c.want, o.Requests(), 1.01)
		require.Equal(t, 10.0, o.Rate())
	}
	for want, c := range map[string]OpenLoop{
		"requests is 0":      {},
		"requests is -1":     {Requests: -1},
		"duration_s is -1":   {DurationS: -1},
		"duration_s is NaN":  {DurationS: math.NaN()},
		"duration_s is 1e+0": {DurationS: 1e9},
	} {
		c.Arrivals, c.Mix = config.Arrivals, config.Mix
		_, err := NewOpenLoop(c, 1)
		require.ErrorContains(t, err, want)
	}
}

// Points without a period have no long run: a low rate that lasts 10 s is not the rate of a run of 200 s.
func TestTheRateOfPointsIsThatOfTheRun(t *testing.T) {
	points := []arrivals.Point{{AtS: 0, Rate: 1}, {AtS: 10, Rate: 1}, {AtS: 10, Rate: 20}}
	for _, c := range []struct {
		points          []arrivals.Point
		periodS         float64
		requests        int64
		durationS, want float64
	}{
		{points, 0, 0, 200, 3810 / 200.0},
		{points, 0, 3810, 0, 3810 / 200.0},
		{points, 0, 5, 200, 1},
		{[]arrivals.Point{{AtS: 0, Rate: 0}, {AtS: 10, Rate: 0}, {AtS: 10, Rate: 5}}, 0, 0, 20, 2.5},
		{points, 20, 0, 200, 10.5},
		{[]arrivals.Point{{AtS: 0, Rate: 0}, {AtS: 10, Rate: 0}, {AtS: 10, Rate: 5}}, 0, 0, 5, 0},
	} {
		arrivals := arrivals.Spec{Process: "piecewise", Points: c.points, PeriodS: c.periodS}
		o, err := NewOpenLoop(OpenLoop{Arrivals: arrivals, Mix: sourcetest.Plain(), Requests: c.requests,
			DurationS: c.durationS}, 1)
		require.NoError(t, err)
		require.InDelta(t, c.want, o.Rate(), 1e-9, c)
	}
}

func TestClientsCancelAsTheirPatienceSays(t *testing.T) {
	config := OpenLoop{Arrivals: arrivals.Spec{Process: "constant", Rate: 10}, Mix: sourcetest.Plain(), Requests: 20_000}
	config.Patience = requests.Patience{TimeoutS: 4, CancelShare: 0.25, CancelAfterS: 2}
	o, err := NewOpenLoop(config, 1)
	require.NoError(t, err)
	early := 0
	for _, r := range sourcetest.Drain(o) {
		wait := r.Deadline.Sub(r.Arrival)
		if wait <= 0 || wait > 4*sim.Second {
			t.Fatal(wait)
		}
		if wait < 4*sim.Second {
			early++
		}
	}
	require.InDelta(t, 0.25*(1-math.Exp(-2)), float64(early)/20_000, 0.01)

	config.Patience = requests.Patience{CancelShare: 1, CancelAfterS: 2, CancelLaw: "fixed"}
	o, err = NewOpenLoop(config, 1)
	require.NoError(t, err)
	for _, r := range sourcetest.Drain(o) {
		require.Equal(t, 2*sim.Second, r.Deadline.Sub(r.Arrival))
	}
	for want, p := range map[string]requests.Patience{
		"timeout_s is -1":      {TimeoutS: -1},
		"cancel_share is 1.5":  {CancelShare: 1.5},
		"cancel_after_s is 0":  {CancelShare: 0.5},
		"cancel_after_s is 3":  {CancelAfterS: 3},
		`cancel_law is "late"`: {CancelLaw: "late"},
	} {
		config.Patience = p
		_, err := NewOpenLoop(config, 1)
		require.ErrorContains(t, err, want)
	}
}

func TestDiurnalArrivalsFollowTheirRate(t *testing.T) {
	o, err := NewOpenLoop(OpenLoop{Arrivals: arrivals.Spec{Process: "sinusoid", Rate: 100, Amplitude: 0.8, PeriodS: 100},
		Mix: sourcetest.Plain(), DurationS: 1000}, 1)
	require.NoError(t, err)
	require.InDelta(t, 100_000, o.Requests(), 0.01)
	var high, low int
	for _, r := range sourcetest.Drain(o) {
		if math.Mod(r.Arrival.Seconds(), 100) < 50 {
			high++
		} else {
			low++
		}
	}
	require.InDelta(t, 100_000, high+low, 4*math.Sqrt(100_000))
	require.InDelta(t, (1+0.8*2/math.Pi)/(1-0.8*2/math.Pi), float64(high)/float64(low), 0.06)
}

func TestTheClockIsNotOutrun(t *testing.T) {
	slow := OpenLoop{Arrivals: arrivals.Spec{Process: "constant", Rate: 1e-3}, Mix: sourcetest.Plain(), Requests: 5000}
	_, err := NewOpenLoop(slow, 1)
	require.ErrorContains(t, err, "requests is 5000; accepted: at most the 4.58e+03")
	fast := OpenLoop{Arrivals: arrivals.Spec{Process: "poisson", Rate: 1e6}, Mix: sourcetest.Plain(), DurationS: 86400}
	_, err = NewOpenLoop(fast, 1)
	require.ErrorContains(t, err, "duration_s is 86400")
	ended := OpenLoop{Arrivals: arrivals.Spec{Process: "piecewise",
		Points: []arrivals.Point{{AtS: 0, Rate: 3}, {AtS: 10, Rate: 3},
			{AtS: 10, Rate: 0}}}, Mix: sourcetest.Plain(), Requests: 50}
	_, err = NewOpenLoop(ended, 1)
	require.ErrorContains(t, err, "requests is 50; accepted: at most the 30 ")

	// On average it fits; this run does not, and says so.
	slow.Arrivals = arrivals.Spec{Process: "gamma", Rate: 1e-3, CV: 100}
	slow.Requests = 4000
	for seed := uint64(0); ; seed++ {
		o, err := NewOpenLoop(slow, seed)
		require.NoError(t, err)
		if n := len(sourcetest.Drain(o)); n < 4000 {
			require.ErrorContains(t, o.Err(), "accepted: arrivals within 4.5792e+06 s")
			require.False(t, o.Next(&sim.Request{}))
			return
		}
		require.NoError(t, o.Err())
	}
}

// TestWhatHasEndedStaysEnded: a source that has sent its last request sends none when it is asked again, whether its
// requests or its time have come to an end.
func TestWhatHasEndedStaysEnded(t *testing.T) {
	for _, c := range []OpenLoop{{Requests: 3}, {Requests: 64}, {DurationS: 20}} {
		c.Arrivals, c.Mix = arrivals.Spec{Process: "poisson", Rate: 2}, sourcetest.Plain()
		o, err := NewOpenLoop(c, 1)
		require.NoError(t, err)
		require.NotEmpty(t, sourcetest.Drain(o))
		var r sim.Request
		for range 3 {
			require.False(t, o.Next(&r), "%+v", c)
		}
		require.NoError(t, o.Err())
	}
}
