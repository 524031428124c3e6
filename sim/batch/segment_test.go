package batch

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim/clock"
)

// TestCoverAndEnded: both find their step for spans on, just before and just after a boundary.
func TestCoverAndEnded(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 200_000 {
		g := Segment{First: 1 + clock.Duration(rnd.Int64N(1<<uint(1+rnd.IntN(35)))),
			Growth: clock.Duration(rnd.Int64N(1 << uint(rnd.IntN(28))))}
		n := 1 + rnd.IntN(1<<uint(1+rnd.IntN(13)))
		for _, off := range []clock.Duration{-1, 0, 1} {
			d := g.Span(n) + off
			if d < 1 {
				continue
			}
			if k := g.Cover(d); g.Span(k) < d || k > 1 && g.Span(k-1) >= d || k < 1 {
				t.Fatalf("Cover(%d) of %+v is %d", d, g, k)
			}
			if k := g.Ended(d); g.Span(k) > d || g.Span(k+1) <= d || k < 0 {
				t.Fatalf("Ended(%d) of %+v is %d", d, g, k)
			}
		}
	}
}

// TestSpanIsTheSum: the closed form is the sum of the steps.
func TestSpanIsTheSum(t *testing.T) {
	g, sum := Segment{First: 7, Growth: 3, Bound: Affine{A: 5, B: 2}}, clock.Duration(0)
	for i := range 20 {
		require.Equal(t, sum, g.Span(i))
		sum += g.Step(i)
	}
	require.Equal(t, Affine{A: 5 + 5*2, B: 2}, g.Bound.From(5))
}

// TestTheSumOfPartsIsThatOfTheSteps: from any step on, also where a part shrinks.
func TestTheSumOfPartsIsThatOfTheSteps(t *testing.T) {
	g := Segment{Part: [NumParts]Affine{{A: 3}, {A: 5, B: 2}, {A: 7, B: 11}, {A: 1, B: 1}, {A: 1000, B: -13}}}
	for from := range 9 {
		var want Parts
		for n := range 12 {
			var got, first Parts
			g.Sum(from, n, &got)
			require.Equal(t, want, got)
			step := g.Tail(from + n)
			step.FirstParts(&first)
			for p, d := range first {
				want[p] += d
			}
		}
	}
}
