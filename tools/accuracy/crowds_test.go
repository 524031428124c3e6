package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// queue is a replica whose step takes 10 ms and 0.1 ms for each request in flight, of 100 tokens: at a rate TPOT is
// 10 ms/(1 − rate × 100 × 0.1 ms), and without limit at 100/s.
func queue() curve {
	var all []crowd
	for n := 1.0; n < 10_000; n *= 1.02 {
		step := 10 + float64(0.1*n)
		all = append(all, crowd{rate: n / (100 * step / 1e3), tpot: step})
	}
	return curveOf(all)
}

func TestTPOTAtARateIsThatOfTheRequestsItKeepsInFlight(t *testing.T) {
	for _, rate := range []float64{10, 50, 80, 90} {
		assert.InEpsilon(t, 10/(1-rate/100), queue().at(rate), 1e-3, "%g requests/s", rate)
	}
	assert.True(t, math.IsInf(queue().at(100), 1))
	assert.InEpsilon(t, 99, queue().bears(), 0.01)
}

// TestSlowerStepsMakeTPOTLongerManyTimesOver: at 90 % of what it bears, a step that takes f times as long makes TPOT
// f × 0.1/(1 − 0.9 f) times as long.
func TestSlowerStepsMakeTPOTLongerManyTimesOver(t *testing.T) {
	c := queue()
	assert.InDelta(t, 100*(1.07*0.1/(1-0.9*1.07)-1), c.slowed(90, 1.07), 3)
	assert.InDelta(t, 100*(0.93*0.1/(1-0.9*0.93)-1), c.slowed(90, 0.93), 0.3)
	assert.True(t, math.IsInf(c.slowed(90, 1.2), 1), "it would not bear the rate")
	f := 1.15 / (0.1 + 0.9*1.15)
	assert.InDelta(t, 100*(f-1), c.margin(90, 15), 0.02)
	assert.InDelta(t, 15, c.margin(1e-9, 15), 1e-6, "of an idle one TPOT is a step")
}

func TestACurveEndsWhereMoreRequestsBringNoHigherRate(t *testing.T) {
	c := curveOf([]crowd{{10, 5}, {20, 6}, {19, 9}, {20, 12}})
	assert.Equal(t, curve{{10, 5}, {20, 6}}, c)
	assert.InDelta(t, 6.0, c.at(20), 1e-12)
	assert.InDelta(t, 5.0, c.at(1), 1e-12)
}
