package rng_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim/rng"
)

// TestKeyedDrawsDependOnTheirKeyAlone: not on what was drawn before, and near keys do not resemble each other.
func TestKeyedDrawsDependOnTheirKeyAlone(t *testing.T) {
	k, again := rng.NewKeyed(7, "test.keys"), rng.NewKeyed(7, "test.keys")
	seen, ones := map[uint64]bool{}, 0
	for a := range uint64(40) {
		for b := range uint64(40) {
			v := k.At(a, b).Uint64()
			again.At(b, a).NormFloat64()
			require.Equal(t, v, again.At(a, b).Uint64())
			require.False(t, seen[v])
			seen[v] = true
			if v>>63 == 1 {
				ones++
			}
		}
	}
	assert.InDelta(t, 800, ones, 100, "five standard deviations")
	assert.NotEqual(t, k.At(1, 2).Uint64(), rng.NewKeyed(8, "test.keys").At(1, 2).Uint64())
	assert.NotEqual(t, k.At(1, 2).Uint64(), rng.NewKeyed(7, "test.others").At(1, 2).Uint64())
	require.Zero(t, testing.AllocsPerRun(100, func() { k.At(3, 4).ExpFloat64() }))
}
