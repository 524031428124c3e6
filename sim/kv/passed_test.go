package kv

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestWhatWindowsPassTogetherIsEvictedInTurn: in one step windows pass a block of three sequences, in two groups, and
// two blocks later. The first three are evicted, before sequences are preempted or after: both of the first sequence,
// and one of the second.
func TestWhatWindowsPassTogetherIsEvictedInTurn(t *testing.T) {
	for evicted := range 2 {
		k := New(Config{Blocks: 20, BlockSize: 4, Contents: new(Contents),
			Passing: Passing{Blocks: 2, Window: 8, TokensMax: 8}})
		k.Allocate(20)
		number := k.PassTogether(6)
		later := k.PassTogether(2)
		if evicted == 0 {
			k.Allocate(3)
		}
		for _, slot := range []int32{1, 0, 2} {
			k.Regain(slot, 7, number, 2-slot)
		}
		k.Regain(3, 5, later, 0)
		k.Regain(4, 5, later, 1) // there is none
		if evicted == 1 {
			k.Allocate(3)
		}
		p, found := k.prefix, [][2]int32{}
		for slot := range int32(5) {
			for g := int32(1); g <= 2; g++ {
				if i := p.tableOf(slot, g).retained; i != 0 {
					found = append(found, [2]int32{slot, p.at[i].from})
				}
			}
		}
		assert.Equal(t, [][2]int32{{1, 7}, {2, 7}, {2, 7}, {3, 5}, {3, 5}}, found)
		k.Allocate(5)
		for i := range p.tables {
			assert.Zero(t, p.tables[i].retained, "an evicted block is found no more")
		}
	}
}
