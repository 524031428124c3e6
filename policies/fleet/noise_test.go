package fleet_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/policies/fleet"
	"github.com/decodesim/decodesim/policies/internal/testcluster"
	"github.com/decodesim/decodesim/sim"
)

// TestNoiseHasTheMeanItStates: over many steps the mean stretch is the jitter and the share of time that a neighbour
// takes, within four standard errors, and asking in another order gives the same.
func TestNoiseHasTheMeanItStates(t *testing.T) {
	n, err := fleet.NewNoise(fleet.Noise{Jitter: .1, NeighbourShare: .25, NeighbourSlowdown: 1.5, Period: sim.Second}, 7)
	require.NoError(t, err)
	const steps, d = 40_000, sim.Millisecond
	sum := 0.0
	for i := range int64(steps) {
		sum += float64(n.Stretch(3, i, testcluster.At(i), d)) / float64(d)
	}
	want, variance := .1+.25*.5, .1*.1+.25*.75*.5*.5
	assert.InDelta(t, want, sum/steps, 4*math.Sqrt(variance/steps))
	again, err := fleet.NewNoise(*n, 7)
	require.NoError(t, err)
	assert.Equal(t, n.Stretch(3, 17, testcluster.At(17), d), again.Stretch(3, 17, testcluster.At(17), d))
}

// TestNoiseRefusesWhatMakesNoSense, each with its name.
func TestNoiseRefusesWhatMakesNoSense(t *testing.T) {
	for _, bad := range []fleet.Noise{{Jitter: -1}, {Jitter: math.NaN()}, {NeighbourShare: 2}, {NeighbourShare: .5, NeighbourSlowdown: .5, Period: 1}, {NeighbourShare: .5, NeighbourSlowdown: 2}} {
		_, err := fleet.NewNoise(bad, 1)
		assert.Error(t, err, "%+v", bad)
	}
}
