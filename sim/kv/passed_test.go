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

// TestWhatWindowsPassOfAnOutputIsFoundByTheNextTurn: windows of 6 tokens in blocks of 4 have the blocks from the third
// on when a sequence of 16 tokens ends. A prompt that continues it needs the second, too: the windows passed it last.
// It counts as content that is evicted once a sequence has had it.
func TestWhatWindowsPassOfAnOutputIsFoundByTheNextTurn(t *testing.T) {
	for _, evicted := range []int64{0, 1} {
		tree := new(Contents)
		turn := tree.Add(tree.Add(0, 3), 13)
		k := New(Config{Blocks: 20, BlockSize: 4, Contents: tree, Passing: Passing{Blocks: 1, Window: 6, TokensMax: 8}})
		k.Allocate(8)
		k.PassTogether(1)
		k.Regain(0, 1, k.PassTogether(1), 0)
		q := Prompt{Content: 1, Output: turn, Tokens: 3, Passed: 2}
		k.NamePassed(0, q)
		k.Forget(0)
		k.Publish(0, q, 15)
		k.ReleaseSequence(0, q, 6, 15, false)
		k.Allocate(12 + 1 + evicted) // those that were free before, and what the windows passed
		want, content := int32(3), int64(3+2)
		if evicted > 0 {
			want, content = 0, 3+1
		}
		next := Prompt{Content: turn, Tokens: 16, Passed: 1}
		m := k.Match(1, next, 16)
		assert.Equal(t, want, m.Cached)
		if evicted == 0 {
			k.Reuse(1, next, m)
			k.ReleaseSequence(1, next, 3+2, 12, false)
		}
		assert.Zero(t, k.Evicted())
		k.Allocate(7 - evicted)
		assert.Equal(t, content, k.Evicted())
	}
}
