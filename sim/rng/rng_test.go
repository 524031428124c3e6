package rng_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/decodesim/decodesim/sim/rng"
)

// TestStreamsAreTheirNames: a stream depends on seed and name alone, and any two differ. The first values are pinned:
// results of earlier runs rest on them.
func TestStreamsAreTheirNames(t *testing.T) {
	assert.Equal(t, rng.Stream(1, "a").Uint64(), rng.Stream(1, "a").Uint64())
	seen := map[uint64]string{}
	for seed := range uint64(50) {
		for _, name := range []string{"", "a", "b", "ab", "workloads.gaps"} {
			v := rng.Stream(seed, name).Uint64()
			assert.Empty(t, seen[v])
			seen[v] = name + "."
		}
	}
	assert.Equal(t, uint64(0xb4c5780908fc0b7a), rng.Stream(1, "workloads.gaps").Uint64())
}
