package heap

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestPopsAreSorted compares with a sorted list, with pushes in between.
func TestPopsAreSorted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h Heap[int64, int]
		var list []Entry[int64, int]
		for i := range rapid.IntRange(1, 200).Draw(t, "operations") {
			if len(list) > 0 && rapid.Bool().Draw(t, "pop") {
				require.Equal(t, list[0], h[0])
				require.Equal(t, list[0], h.Pop())
				list = list[1:]
				continue
			}
			e := Entry[int64, int]{Value: i, Key: rapid.Int64Range(-3, 3).Draw(t, "key"), Tie: int64(i)}
			h.Push(e.Key, e.Tie, e.Value)
			list = append(list, e)
			slices.SortFunc(list, func(a, b Entry[int64, int]) int {
				return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Tie, b.Tie))
			})
		}
		require.Len(t, h, len(list))
	})
}

func TestEntriesAreNotBoxed(t *testing.T) {
	h := make(Heap[int64, int32], 0, 4)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		h.Push(2, 0, 1)
		h.Push(1, 0, 1)
		h.Pop()
		h.Pop()
	}))
}
