package batch

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWheelAgainstAList: the next due step and what is due at it, over several turns of a small wheel.
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

// member is a sequence of the obvious decode set: its tokens, one by one.
type member struct {
	computed, remaining int32
	paged               bool
}

// twin is the obvious decode set: it visits every member in every step.
type twin struct {
	blockSize int32
	windows   []Window
	members   map[int32]*member

	windowed, windowedMax int32 // blocks more with each of the first so many
}

// shape returns the decode half of the shape of the step to come.
func (s *twin) shape() (b Shape) {
	for _, m := range s.members {
		b.Decodes++
		b.DecodeTokens++
		b.DecodeCtx += int64(m.computed) + 1
		for i, w := range s.windows {
			visible := min(m.computed+1, w.Tokens)
			if w.Chunked {
				visible = m.computed%w.Tokens + 1
			}
			b.Capped[i].Ctx += int64(visible)
			if w.Chunked || visible < w.Tokens {
				b.Capped[i].Growing++
			}
		}
	}
	return b
}

// blocksDue returns the new blocks that the members need in the step to come.
func (s *twin) blocksDue() (n int64) {
	for _, m := range s.members {
		if !m.paged || m.computed%s.blockSize != 0 {
			continue
		}
		n++
		if m.computed/s.blockSize < s.windowedMax {
			n += int64(s.windowed)
		}
	}
	return n
}

// step takes a step and returns which members have emitted their last token.
func (s *twin) step() (ended []int32) {
	for slot, m := range s.members {
		m.computed++
		m.remaining--
		if m.remaining == 0 {
			ended = append(ended, slot)
		}
	}
	return ended
}

// TestDecodeSetAgainstItsMembers: sums, blocks due and ends are those of members that take one step at a time, whatever
// the block size and the windows, for segments of any length.
func TestDecodeSetAgainstItsMembers(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 1))
	for range 200 {
		size := []int32{1, 7, 16, 32}[rnd.IntN(4)]
		windows := []Window{{Tokens: 1 + rnd.Int32N(20)}, {Tokens: 1 + rnd.Int32N(20), Chunked: true}}[:rnd.IntN(3)]
		plain := &twin{size, windows, map[int32]*member{}, rnd.Int32N(3), 1 + rnd.Int32N(8)}
		set := NewDecodeSet(size, windows, 6)
		set.PageWindows(plain.windowed, plain.windowedMax, 6)
		for round := range 60 {
			for slot := range int32(8) {
				m := plain.members[slot]
				switch {
				case m == nil && rnd.IntN(3) == 0:
					m = &member{1 + rnd.Int32N(100), 1 + rnd.Int32N(90), rnd.IntN(4) > 0}
					plain.members[slot] = m
					require.Equal(t, set.Step()+int64(m.remaining), set.Join(slot, m.computed, m.remaining, m.paged))
				case m != nil && rnd.IntN(20) == 0:
					set.DropEnd(slot)
					set.Leave(slot, m.computed, m.paged)
					delete(plain.members, slot)
				}
			}
			var b Shape
			set.Shape(&b)
			require.Equal(t, plain.shape(), b)
			require.Equal(t, plain.blocksDue(), set.BlocksDue())
			if set.Len() == 0 {
				continue
			}
			free := int64(rnd.IntN(20))
			n := set.StepsWithin(set.StepsToChange(), free)
			require.LessOrEqual(t, set.BlocksFor(1, int64(n)), free)
			blocks, due := int64(0), set.BlocksFor(0, int64(n))
			var ended []int32
			for i := range n {
				require.Empty(t, ended, "a segment may not run past an end: round %d, step %d", round, i)
				blocks += plain.blocksDue()
				ended = plain.step()
			}
			require.Equal(t, blocks, due)
			set.Advance(n)
			require.ElementsMatch(t, ended, set.TakeEnded(nil))
			for _, slot := range ended {
				set.Leave(slot, plain.members[slot].computed, plain.members[slot].paged)
				delete(plain.members, slot)
			}
		}
		for slot, m := range plain.members {
			set.DropEnd(slot)
			set.Leave(slot, m.computed, m.paged)
		}
		require.True(t, set.Empty())
	}
}
