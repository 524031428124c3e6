package kv

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestContentsAreATree: each node ends behind its parent, the root is empty and its own parent, and no path is longer
// than tokens can be counted.
func TestContentsAreATree(t *testing.T) {
	var c Contents
	assert.Equal(t, 1, c.Len())
	assert.Equal(t, []int32{1, 2, 3}, []int32{c.Add(0, 5), c.Add(1, 1), c.Add(0, math.MaxInt32)})
	assert.Equal(t, 4, c.Len())
	for node, want := range map[int32][2]int32{0: {0, 0}, 1: {0, 5}, 2: {1, 6}, 3: {0, math.MaxInt32}} {
		assert.Equal(t, want, [2]int32{c.Parent(node), c.Tokens(node)}, "node %d", node)
	}
	assert.NotPanics(t, func() { c.Add(1, math.MaxInt32-5) }, "as long as a path may be")
	for _, wrong := range [][2]int32{{-1, 1}, {5, 1}, {1, 0}, {1, -1}, {1, math.MaxInt32 - 4}, {3, 1}} {
		assert.Panics(t, func() { c.Add(wrong[0], wrong[1]) }, wrong)
	}
	assert.Equal(t, 5, c.Len())
}

// TestASequenceTakesBlocks for its tokens, of a size that is a power of two or not, beside those for its windows and
// those that it takes whatever its length.
func TestASequenceTakesBlocks(t *testing.T) {
	for _, size := range []int32{1, 2, 7, 16, 48} {
		for _, w := range []Windowed{{}, {Blocks: 3, BlocksMax: 2}} {
			k := New(Config{BlockSize: size, SequenceBlocks: 4, Windowed: w, Blocks: 100})
			for n := range int32(200) {
				blocks, windows := int64(0), int64(0)
				for at := int32(0); at < n; at += size {
					blocks++
					if blocks <= int64(w.BlocksMax) {
						windows += int64(w.Blocks)
					}
				}
				assert.Equal(t, 4+blocks+windows, k.Blocks(n), "%d tokens in blocks of %d", n, size)
			}
			assert.EqualValues(t, 100, k.Total())
			assert.EqualValues(t, 100, k.Free())
		}
	}
}
