package sim

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCoverAndEnded: both find their step for spans on, just before and just after a boundary.
func TestCoverAndEnded(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 200_000 {
		g := Segment{First: 1 + Duration(rnd.Int64N(1<<uint(1+rnd.IntN(35)))), Growth: Duration(rnd.Int64N(1 << uint(rnd.IntN(28))))}
		n := 1 + rnd.IntN(1<<uint(1+rnd.IntN(13)))
		for _, off := range []Duration{-1, 0, 1} {
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
	g, sum := Segment{First: 7, Growth: 3, Bound: Affine{A: 5, B: 2}}, Duration(0)
	for i := range 20 {
		require.Equal(t, sum, g.Span(i))
		sum += g.Step(i)
	}
	require.Equal(t, Affine{A: 5 + 5*2, B: 2}, g.Bound.From(5))
}

// TestWheelAgainstAList: the next due step and what is due at it, over several laps of a small wheel.
func TestWheelAgainstAList(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 1))
	for range 300 {
		w, list, now := newWheel(6), map[int32]int64{}, int64(rnd.IntN(1000))
		for slot := int32(0); slot < 60; slot++ {
			if rnd.IntN(5) == 0 {
				delete(list, slot-1)
				if slot > 0 && w.entry[slot-1].due > now {
					w.remove(slot - 1)
				}
			}
			list[slot] = now + 1 + int64(rnd.IntN(300))
			w.add(slot, list[slot])
		}
		for len(list) > 0 {
			k := w.until(now)
			earliest := int64(1 << 60)
			for _, due := range list {
				earliest = min(earliest, due)
			}
			require.LessOrEqual(t, now+int64(k), earliest, "the wheel must not run past a due step")
			now += int64(k)
			var want, got []int32
			for slot := int32(0); slot < 60; slot++ {
				if due, ok := list[slot]; ok && due == now {
					want = append(want, slot)
					delete(list, slot)
				}
			}
			if !w.none(now) {
				got = w.take(now, got)
			}
			require.ElementsMatch(t, want, got)
		}
		require.Zero(t, w.sum)
	}
}

// TestFifoAgainstASlice: pages come and go, order stays.
func TestFifoAgainstASlice(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 1))
	var q fifo
	var list []int32
	for id := int32(0); id < 20_000; id++ {
		if rnd.IntN(3000) == 0 {
			for q.n > 0 {
				require.Equal(t, list[0], q.pop().id)
				list = list[1:]
			}
		}
		q.push((&Request{ID: id}).pack(noSlot))
		list = append(list, id)
		if rnd.IntN(5) < 2 {
			require.Equal(t, list[0], q.pop().id)
			list = list[1:]
		}
		require.Equal(t, len(list), q.n)
	}
}

// TestWaitingRequestsAreSmall: a queue of a million costs at most 32 bytes for each.
func TestWaitingRequestsAreSmall(t *testing.T) {
	const n = 1_000_000
	var before, after runtime.MemStats
	var q fifo
	runtime.GC()
	runtime.ReadMemStats(&before)
	for id := range int32(n) {
		q.push((&Request{ID: id, Prompt: 1, Output: 1}).pack(noSlot))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Equal(t, int32(0), q.pop().id)
	require.Less(t, float64(after.HeapAlloc-before.HeapAlloc)/n, 32.0)
}
