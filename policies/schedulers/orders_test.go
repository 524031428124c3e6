package schedulers_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// key is that of a request in the order called name.
func key(t *testing.T, name string, a schedulers.OrderArguments, r sim.Request) int64 {
	o, err := schedulers.NewOrder(name, a)
	require.NoError(t, err)
	return o.Key(&r)
}

// TestKeysAreWhatOrdersSay: the request with the lowest key is served first.
func TestKeysAreWhatOrdersSay(t *testing.T) {
	a := schedulers.OrderArguments{Aging: 3 * sim.Second, TTFT: []sim.Duration{0, 4 * sim.Second, 0},
		PrefillPerToken: sim.Millisecond}
	r := sim.Request{ID: 7, Prompt: 500, Output: 30, Priority: -2, Arrival: sim.Time(10 * sim.Second), Class: 1}
	for name, want := range map[string]int64{
		"priority":               -2,
		"shortest-job":           530,
		"shortest-predicted-job": 530, // predicted without an error
		"earliest-deadline":      int64(14 * sim.Second),
		"least-laxity":           int64(13500 * sim.Millisecond),
		"aging":                  int64(4 * sim.Second),
	} {
		assert.Equal(t, want, key(t, name, a, r), name)
	}
	fcfs, err := schedulers.NewOrder("fcfs", a)
	require.NoError(t, err)
	assert.Nil(t, fcfs, "no keys, and so the order of arrival")
}

// TestWithoutADeadlineItIsLast, behind every deadline and in order of arrival.
func TestWithoutADeadlineItIsLast(t *testing.T) {
	a := schedulers.OrderArguments{TTFT: []sim.Duration{0, 3600 * sim.Second}}
	due := key(t, "earliest-deadline", a, sim.Request{Class: 1, Arrival: sim.Time(sim.Seconds(sim.HorizonS - 3600))})
	before := due
	for _, r := range []sim.Request{{Class: 0}, {Class: 2, Arrival: sim.Time(sim.Second)},
		{Class: 0, Arrival: sim.Time(sim.Seconds(sim.HorizonS))}} {
		none := key(t, "earliest-deadline", a, r)
		assert.Greater(t, none, before)
		before = none
	}
}

// TestPredictionsAreRightOnAverage: lognormal around the true output, with the mean and the spread that are asked for.
func TestPredictionsAreRightOnAverage(t *testing.T) {
	const n, output, cv = 20_000, 1000, 0.5
	sum, squares := 0.0, 0.0
	o, err := schedulers.NewShortestPredictedJob(1, cv)
	require.NoError(t, err)
	for id := range int32(n) {
		x := float64(o.Key(&sim.Request{ID: id, Prompt: 40, Output: output}) - 40)
		sum, squares = sum+x, squares+x*x
	}
	mean := sum / n
	assert.InEpsilon(t, output, mean, 4*cv/math.Sqrt(n))
	assert.InEpsilon(t, cv, math.Sqrt(squares/n-mean*mean)/mean, 0.05)
	again, err := schedulers.NewShortestPredictedJob(1, cv)
	require.NoError(t, err)
	r := sim.Request{ID: 3, Output: output}
	assert.Equal(t, o.Key(&r), again.Key(&r), "the same seed predicts the same")
}

func TestOrdersThatCannotBeAreRefused(t *testing.T) {
	_, err := schedulers.NewOrder("aging", schedulers.OrderArguments{})
	require.ErrorContains(t, err, "aging_s is 0, must be above 0")
	_, err = schedulers.NewOrder("aging", schedulers.OrderArguments{Aging: 1})
	require.NoError(t, err)
	for _, cv := range []float64{-0.1, math.NaN(), math.Inf(1)} {
		_, err := schedulers.NewOrder("shortest-predicted-job", schedulers.OrderArguments{PredictionCV: cv})
		require.ErrorContains(t, err, "prediction_cv is ")
	}
	_, err = schedulers.NewOrder("nearest", schedulers.OrderArguments{})
	require.ErrorContains(t, err, `"nearest"`)
	assert.Equal(t, "fcfs", schedulers.OrderNames()[0])
	for _, name := range schedulers.OrderNames() {
		assert.NotEmpty(t, schedulers.OrderDoes(name), name)
	}
}
