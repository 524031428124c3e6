package build

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
)

// TestAColdReplicaLoadsItsWeightsAndCompiles before it serves.
func TestAColdReplicaLoadsItsWeightsAndCompiles(t *testing.T) {
	inDir(t, chat8b)
	b := build(t, "pools.serve.cold_start_s=30", "pools.serve.weights_load_bps=2e9")
	require.Equal(t, sim.Seconds(30+b.Memory.Weights/2e9), b.Config.Pools[0].ColdStart)
	require.Zero(t, build(t).Config.Pools[0].ColdStart)
}
