package batch

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// seen returns how many tokens the x-th token of a sequence attends to in a window, itself among them.
func seen(w Window, x int64) (n int64) {
	for y := int64(1); y <= x; y++ {
		size := int64(w.Tokens)
		if w.Chunked && (y-1)/size == (x-1)/size || !w.Chunked && x-y < size {
			n++
		}
	}
	return n
}

// TestAShapeCountsWhatIsAttendedTo, token by token: a chunk of a prompt attends to all before it, or to those that some
// token of it sees in a window, and a decode to all that the last of its drafts attends to. What is taken out leaves
// nothing.
func TestAShapeCountsWhatIsAttendedTo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		windows := []Window{
			{Tokens: rapid.Int32Range(1, 12).Draw(t, "sliding")},
			{Tokens: rapid.Int32Range(1, 12).Draw(t, "chunked"), Chunked: true},
		}
		c, n := rapid.Int64Range(0, 30).Draw(t, "computed"), rapid.Int64Range(1, 30).Draw(t, "chunk")
		want := Shape{Prefills: 1, PrefillTokens: n, PrefillCtx: c + n, PrefillLongest: c + n}
		for x := c + 1; x <= c+n; x++ {
			want.PrefillPairs += x
			for i, w := range windows {
				want.Capped[i].PrefillPairs += seen(w, x)
			}
		}
		for i, w := range windows {
			want.Capped[i].PrefillCtx = seen(w, c+1) - 1 + n // the first of the chunk sees furthest back
		}
		var b Shape
		b.AddChunk(windows, c, n, 1)
		require.Equal(t, want, b)
		more, length := b, rapid.Int64Range(1, 60).Draw(t, "another")
		more.AddChunk(windows, 0, length, 1)
		require.Equal(t, max(c+n, length), more.PrefillLongest)

		drafts, ctx := rapid.Int32Range(0, 4).Draw(t, "drafts"), rapid.Int32Range(1, 40).Draw(t, "context")
		b.AddDrafting(windows, drafts, ctx)
		want.Decodes, want.DecodeTokens, want.Drafts = 1, int64(1+drafts), int64(drafts)
		want.DecodeCtx = int64(ctx)
		for i, w := range windows {
			want.Capped[i].Ctx = seen(w, int64(ctx))
		}
		require.Equal(t, want, b)

		b.AddDrafting(windows, drafts, ctx)
		b.ClearDecodes()
		prompts := b
		b.ClearPrefill()
		require.Equal(t, Shape{}, b)
		prompts.AddChunk(windows, c, n, -1)
		require.Equal(t, Shape{}, prompts)
	})
}
