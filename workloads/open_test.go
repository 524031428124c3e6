package workloads

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/sim"
)

// plain returns the lengths of a test that is about something else.
func plain() Lengths {
	return Lengths{
		Prompt: Length{Distribution: "lognormal", Mean: 512, CV: 1},
		Output: Length{Distribution: "lognormal", Mean: 256, CV: 1},
	}
}

// drain returns all requests of a source.
func drain(s sim.Source) (all []sim.Request) {
	for {
		var r sim.Request
		if !s.Next(&r) {
			return all
		}
		all = append(all, r)
	}
}

func TestTheSameRequestsArriveAtAnyRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		process := rapid.SampledFrom([]string{"poisson", "gamma", "weibull", "constant"}).Draw(t, "process")
		factor := rapid.Float64Range(0.01, 100).Draw(t, "factor")
		config := OpenLoop{Arrivals: Arrivals{Process: process, Rate: 7}, Lengths: plain(), Requests: 200,
			Patience: Patience{CancelShare: 0.5, CancelAfterS: 3}}
		if process == "gamma" || process == "weibull" {
			config.Arrivals.CV = 1.5
		}
		slow, err := NewOpenLoop(config, seed)
		require.NoError(t, err)
		config.Arrivals.Rate *= factor
		fast, err := NewOpenLoop(config, seed)
		require.NoError(t, err)
		a, b := drain(slow), drain(fast)
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
	config := OpenLoop{Arrivals: Arrivals{Process: "poisson", Rate: 7}, Lengths: plain(), Requests: 500}
	before, err := NewOpenLoop(config, 9)
	require.NoError(t, err)
	config.Lengths.Output = Length{Distribution: "gamma", Mean: 100, CV: 0.5}
	config.Lengths.MaxOutput = Length{Distribution: "fixed", Mean: 120}
	config.Patience = Patience{TimeoutS: 5, CancelShare: 0.1, CancelAfterS: 1}
	after, err := NewOpenLoop(config, 9)
	require.NoError(t, err)
	a, b := drain(before), drain(after)
	for i := range a {
		require.Equal(t, [2]int64{int64(a[i].Arrival), int64(a[i].Prompt)}, [2]int64{int64(b[i].Arrival), int64(b[i].Prompt)})
	}
}

func TestOutputsAreCutAtMaxOutput(t *testing.T) {
	l := plain()
	l.MaxOutput = Length{Distribution: "uniform", Min: 100, Max: 300}
	o, err := NewOpenLoop(OpenLoop{Arrivals: Arrivals{Process: "constant", Rate: 10}, Lengths: l, Requests: 2000}, 1)
	require.NoError(t, err)
	cut := 0
	for _, r := range drain(o) {
		require.LessOrEqual(t, r.Output, r.MaxOutput)
		require.True(t, r.MaxOutput >= 100 && r.MaxOutput <= 300)
		if r.Output == r.MaxOutput {
			cut++
		}
	}
	require.InDelta(t, 800, cut, 250)
}

func TestDurationAndRequestsBothEndTheLoop(t *testing.T) {
	config := OpenLoop{Arrivals: Arrivals{Process: "constant", Rate: 10}, Lengths: plain(), Requests: 50, DurationS: 2}
	for _, c := range []struct {
		requests  int64
		durationS float64
		want      int
	}{{50, 2, 19}, {5, 2, 5}, {50, 0, 50}, {0, 2, 19}, {0, 2.00001, 20}} {
		config.Requests, config.DurationS = c.requests, c.durationS
		o, err := NewOpenLoop(config, 1)
		require.NoError(t, err)
		require.Len(t, drain(o), c.want)
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
		c.Arrivals, c.Lengths = config.Arrivals, config.Lengths
		_, err := NewOpenLoop(c, 1)
		require.ErrorContains(t, err, want)
	}
}

// Points without a period have no long run: a low rate that lasts 10 s is not the rate of a run of 200 s.
func TestTheRateOfPointsIsThatOfTheRun(t *testing.T) {
	points := []RatePoint{{0, 1}, {10, 1}, {10, 20}}
	for _, c := range []struct {
		points          []RatePoint
		periodS         float64
		requests        int64
		durationS, want float64
	}{
		{points, 0, 0, 200, 3810 / 200.0},
		{points, 0, 3810, 0, 3810 / 200.0},
		{points, 0, 5, 200, 1},
		{[]RatePoint{{0, 0}, {10, 0}, {10, 5}}, 0, 0, 20, 2.5},
		{points, 20, 0, 200, 10.5},
		{[]RatePoint{{0, 0}, {10, 0}, {10, 5}}, 0, 0, 5, 0},
	} {
		arrivals := Arrivals{Process: "piecewise", Points: c.points, PeriodS: c.periodS}
		o, err := NewOpenLoop(OpenLoop{Arrivals: arrivals, Lengths: plain(), Requests: c.requests, DurationS: c.durationS}, 1)
		require.NoError(t, err)
		require.InDelta(t, c.want, o.Rate(), 1e-9, c)
	}
}

func TestClientsHangUpAsTheirPatienceSays(t *testing.T) {
	config := OpenLoop{Arrivals: Arrivals{Process: "constant", Rate: 10}, Lengths: plain(), Requests: 20_000}
	config.Patience = Patience{TimeoutS: 4, CancelShare: 0.25, CancelAfterS: 2}
	o, err := NewOpenLoop(config, 1)
	require.NoError(t, err)
	early := 0
	for _, r := range drain(o) {
		wait := r.Deadline.Sub(r.Arrival)
		if wait <= 0 || wait > 4*sim.Second {
			t.Fatal(wait)
		}
		if wait < 4*sim.Second {
			early++
		}
	}
	require.InDelta(t, 0.25*(1-math.Exp(-2)), float64(early)/20_000, 0.01)

	config.Patience = Patience{CancelShare: 1, CancelAfterS: 2, CancelLaw: "fixed"}
	o, err = NewOpenLoop(config, 1)
	require.NoError(t, err)
	for _, r := range drain(o) {
		require.Equal(t, 2*sim.Second, r.Deadline.Sub(r.Arrival))
	}
	for want, p := range map[string]Patience{
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
