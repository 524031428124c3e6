package batch

// windowGrowth is the blocks that layers with a sliding window take for members whose window is not full: some more
// with each block of tokens, up to a length.
type windowGrowth struct {
	blocks  int64 // with each block of tokens
	tokens  int32 // that the blocks of a full window hold: a multiple of the block size
	growing int64 // paged members with fewer computed tokens
	due     []int32
	turns   wheel // by the step at which a member has so many
}

// PageWindows has members of the set, which must be empty, take so many blocks more with each of their first blocksMax
// blocks.
func (s *DecodeSet) PageWindows(blocks, blocksMax int32, logWheel uint) {
	if blocks > 0 && !s.counted {
		s.windowed = true
		size := int32(len(s.due))
		s.growth = &windowGrowth{blocks: int64(blocks), tokens: blocksMax * size, due: make([]int32, size),
			turns: newWheel(logWheel)}
	}
}

// join adds the member in slot, which is due with those of residue r.
func (g *windowGrowth) join(slot, computed int32, r int, step int64) {
	if computed < g.tokens {
		g.growing++
		g.due[r]++
		g.turns.add(slot, step+int64(g.tokens-computed))
	}
}

func (g *windowGrowth) leave(slot, computed int32, r int) {
	if computed < g.tokens {
		g.growing--
		g.due[r]--
		g.turns.remove(slot)
	}
}

// turn takes out the members whose windows are full at the step of s: they were due with it, for they have computed a
// whole number of blocks. It returns scratch, for reuse.
func (g *windowGrowth) turn(s *DecodeSet, scratch []int32) []int32 {
	scratch = g.turns.take(s.step, scratch[:0])
	full := len(scratch)
	g.growing -= int64(full)
	g.due[s.residue(-s.step)] -= int32(full)
	return scratch
}

// empty reports whether no member grows.
func (g *windowGrowth) empty() bool {
	if g == nil {
		return true
	}
	empty := g.growing == 0 && g.turns.sum == 0
	for _, due := range g.due {
		empty = empty && due == 0
	}
	return empty
}
