package setup

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPointsThatMissTheMeanAreNoDistribution(t *testing.T) {
	few := Counts{Mean: 199, Points: []Point{{0, 10}, {0.5, 200}, {1, 200}}}
	assert.Equal(t, "{distribution: fixed, mean: 199}", few.law(),
		"one short answer; a straight line to it would halve many")
	enough := Counts{Mean: 150, Points: []Point{{0, 100}, {0.5, 150}, {1, 210}}}
	assert.Equal(t, "{distribution: empirical, mean: 150, quantiles: [{p: 0, tokens: 100}, {p: 0.5, tokens: 150}, {p: "+
		"1, tokens: 210}]}", enough.law())
}
