package build

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
)

// TestAColdReplicaLoadsItsWeightsAndCompiles before it serves.
func TestAColdReplicaLoadsItsWeightsAndCompiles(t *testing.T) {
	inDir(t, chat8b)
	b := build(t, "pools.serve.cold_start_s=30", "pools.serve.weights_load_bps=2e9")
	require.Equal(t, sim.Seconds(30+b.Memory.Weights/2e9), b.Config.Pools[0].ColdStart)
	require.False(t, b.Config.Pools[0].StartsCold)
	require.True(t, build(t, "pools.serve.cold_start_s=30", "pools.serve.starts_cold=true").Config.Pools[0].StartsCold)
	require.Zero(t, build(t).Config.Pools[0].ColdStart)
}

// TestAColdStartThatNeverHappensIsSaid: a fleet that stays as it is starts nothing.
func TestAColdStartThatNeverHappensIsSaid(t *testing.T) {
	inDir(t, chat8b)
	said := func(set ...string) string {
		return strings.Join(build(t, set...).Describe("", 0).Warnings, "\n")
	}
	require.Contains(t, said("pools.serve.cold_start_s=30"),
		"cold_start_s and weights_load_bps of pool serve have no effect")
	require.NotContains(t, said("pools.serve.cold_start_s=30", "pools.serve.starts_cold=true"), "cold_start_s")
	require.NotContains(t, said(), "cold_start_s")
}
