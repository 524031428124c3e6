package fleet_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/decodesim/decodesim/policies/fleet"
	"github.com/decodesim/decodesim/policies/internal/testcluster"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/sim"
)

// TestAStragglerIsSlower by its factor, over other noise, and nobody else is.
func TestAStragglerIsSlower(t *testing.T) {
	alone := testcluster.Must(fleet.NewStraggler([]int32{5, 2}, 1.5, nil))
	for id, want := range map[int32]sim.Duration{1: 0, 2: 500, 3: 0, 5: 500, 6: 0} {
		assert.Equal(t, want, alone.Stretch(id, 7, 9, 1000), id)
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

// TestAStragglerInAFleet: requests of 20 steps are sent in turn, and its takes twice as long.
func TestAStragglerInAFleet(t *testing.T) {
	p := testcluster.NewPool(4, new(routers.RoundRobin))
	p.Noise = testcluster.Must(fleet.NewStraggler([]int32{2}, 2, nil))
	c, _ := testcluster.New(nil, testcluster.Together(4, testcluster.At(0)), p)
	c.Run()
	busy := c.PoolTotals(0).BusyS
	assert.InDelta(t, 3*20+40, busy, 1e-9)
	assert.Equal(t, testcluster.At(40), c.Now())
}
