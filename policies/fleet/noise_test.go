package fleet_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/policies/fleet"
	"github.com/decodesim/decodesim/policies/internal/testcluster"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/sim"
)

// TestNoiseHasTheMeanItStates: over many steps the mean stretch is the jitter and the share of time that a neighbour
// takes, within four standard errors. The order of the calls does not matter.
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
	for _, bad := range []fleet.Noise{
		{Jitter: -1}, {Jitter: math.NaN()}, {NeighbourShare: 2}, {NeighbourShare: .5, NeighbourSlowdown: 2},
		{NeighbourShare: .5, NeighbourSlowdown: .5, Period: 1},
	} {
		_, err := fleet.NewNoise(bad, 1)
		assert.Error(t, err, "%+v", bad)
	}
}

// TestAStragglerIsSlower by its factor, on top of other noise, and no other instance is.
func TestAStragglerIsSlower(t *testing.T) {
	single := testcluster.Must(fleet.NewStraggler([]int32{5, 2}, 1.5, nil))
	for id, want := range map[int32]sim.Duration{1: 0, 2: 500, 3: 0, 5: 500, 6: 0} {
		assert.Equal(t, want, single.Stretch(id, 7, 9, 1000), id)
	}
	noise := testcluster.Must(fleet.NewNoise(fleet.Noise{Jitter: .2}, 1))
	both := testcluster.Must(fleet.NewStraggler([]int32{2}, 3, noise))
	more := noise.Stretch(2, 4, 9, 1000)
	assert.Equal(t, 3*(1000+more)-1000, both.Stretch(2, 4, 9, 1000))
	assert.Equal(t, noise.Stretch(1, 4, 9, 1000), both.Stretch(1, 4, 9, 1000))
	for _, bad := range []float64{.9, 101, math.NaN()} {
		_, err := fleet.NewStraggler(nil, bad, nil)
		assert.ErrorContains(t, err, "straggler_slowdown is")
	}
}

// TestAStragglerInAFleet: requests of 20 steps are sent in turn, and the one on the straggler takes twice as long.
func TestAStragglerInAFleet(t *testing.T) {
	p := testcluster.NewPool(4, new(routers.RoundRobin))
	p.Noise = testcluster.Must(fleet.NewStraggler([]int32{2}, 2, nil))
	c, _ := testcluster.New(nil, testcluster.Together(4, 0), p)
	c.Run()
	busy := c.PoolTotals(0).BusyS
	assert.InDelta(t, 3*20+40, busy, 1e-9)
	assert.Equal(t, testcluster.At(40), c.Now())
}
