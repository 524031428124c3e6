package batch

import (
	"math"
	"math/bits"
)

// DecodeSet is the set of sequences that emit one token per step, each of them known by a slot of its owner's choice.
// It keeps what a step costs (how many sequences, Σ of their context) and when something changes, so that advancing k
// steps touches no sequence: a member's own counters follow from the step at which it joined.
//
// With speculation, sequences progress at different speeds. Such a set is made by NewCounted: it counts members and
// context alone, and its owner moves each member on with Move.
type DecodeSet struct {
	n       int
	paged   int   // members that take a block when they need one; the others have reserved theirs
	step    int64 // steps taken since the start of the run
	ctx     int64 // Σ computed tokens of the members, as of step
	counted bool  // members move on one by one: their ends, windows and blocks are not kept here
	shift   int8  // log2 of the block size, or −1 if it is no power of two
	each    int64 // blocks that a paged member takes with each block of tokens, if no window stops that
	due     []int32
	ends    wheel // by the step with which a member emits its last token

	windowed bool // some of the three that follow are there, see joinWindows
	windows  []windowSum
	growth   *windowGrowth // nil: no layers stop taking blocks
	passing  *passing      // nil: no layers free blocks
	scratch  []int32
}

// NewDecodeSet returns an empty set over blocks of so many tokens, whose wheels have 2^logWheel buckets.
//
// due[r] counts the paged members whose computed tokens are congruent to r + step modulo the block size: those with
// r + step ≡ 0 need a new block in the step to come.
func NewDecodeSet(blockSize int32, windows []Window, logWheel uint) DecodeSet {
	s := DecodeSet{each: 1, due: make([]int32, blockSize), ends: newWheel(logWheel), shift: -1}
	if blockSize&(blockSize-1) == 0 {
		s.shift = int8(bits.TrailingZeros32(uint32(blockSize)))
	}
	s.windowed = len(windows) > 0
	for _, w := range windows {
		s.windows = append(s.windows, windowSum{Window: w, turns: newWheel(logWheel)})
	}
	return s
}

// NewCounted returns an empty set that counts members and their context alone.
func NewCounted(blockSize int32) DecodeSet {
	return DecodeSet{each: 1, due: make([]int32, blockSize), ends: newWheel(0), shift: -1, counted: true}
}

// Counted reports whether the members move on one by one, see NewCounted.
func (s *DecodeSet) Counted() bool { return s.counted }

// Len returns the number of members.
func (s *DecodeSet) Len() int { return s.n }

// Step returns how many steps the set has taken.
func (s *DecodeSet) Step() int64 { return s.step }

// residue returns x mod block size, in [0, block size), for negative x too.
func (s *DecodeSet) residue(x int64) int {
	if s.shift >= 0 {
		return int(x & int64(len(s.due)-1))
	}
	r := x % int64(len(s.due))
	if r < 0 {
		r += int64(len(s.due))
	}
	return int(r)
}

// before returns the residue that is due in the step after that of r.
func (s *DecodeSet) before(r int) int {
	if r == 0 {
		r = len(s.due)
	}
	return r - 1
}

// Join adds the sequence in slot, with computed tokens in the cache and remaining tokens to emit, which takes blocks as
// it grows if it is paged. It returns the step with which the sequence ends, if that is known.
func (s *DecodeSet) Join(slot, computed, remaining int32, paged bool) (finish int64) {
	finish = s.step + int64(remaining)
	s.n++
	s.ctx += int64(computed)
	if s.counted {
		return math.MaxInt64
	}
	if paged {
		s.paged++
		s.due[s.residue(int64(computed)-s.step)]++
	}
	s.ends.add(slot, finish)
	if s.windowed {
		s.joinWindows(slot, computed, paged)
	}
	return finish
}

// Leave removes the sequence in slot, whose computed tokens are as of now. Its end must have been taken or dropped.
func (s *DecodeSet) Leave(slot, computed int32, paged bool) {
	s.n--
	s.ctx -= int64(computed)
	if s.counted {
		return
	}
	if paged {
		s.paged--
		s.due[s.residue(int64(computed)-s.step)]--
	}
	if s.windowed {
		s.leaveWindows(slot, computed, paged)
	}
}

// DropEnd removes the sequence in slot from the finish order: it leaves the set before it has emitted its last token.
func (s *DecodeSet) DropEnd(slot int32) {
	if !s.counted {
		s.ends.remove(slot)
	}
}

// Advance takes n steps, none beyond the next change.
func (s *DecodeSet) Advance(n int) {
	s.step += int64(n)
	s.ctx += int64(n) * int64(s.n)
	if s.windowed {
		s.advanceWindows(n)
	}
}

// Move takes one step of a counted set, in which members computed so many tokens in all.
func (s *DecodeSet) Move(tokens int64) {
	s.step++
	s.ctx += tokens
}

// Skip counts a step in which no member computes.
func (s *DecodeSet) Skip() { s.step++ }

// AnyEnds reports whether some sequence may have emitted its last token with the latest step.
func (s *DecodeSet) AnyEnds() bool { return !s.ends.none(s.step) }

// TakeEnded appends to out the slots of the members that emitted their last token with the latest step, and removes
// them from the finish order. They must leave the set next.
func (s *DecodeSet) TakeEnded(out []int32) []int32 { return s.ends.take(s.step, out) }

// StepsToChange returns after how many steps the set may change by itself.
func (s *DecodeSet) StepsToChange() int {
	n := s.ends.until(s.step)
	if s.windowed {
		n = min(n, s.windowsTurn())
	}
	return n
}

// BlocksDue returns the new KV blocks that the members need in the step to come.
func (s *DecodeSet) BlocksDue() int64 { return s.blocksDue(0) }

// blocksDue returns the new KV blocks that the members need in the step that is i steps ahead.
func (s *DecodeSet) blocksDue(i int64) int64 {
	return s.dueOf(s.residue(-s.step - i))
}

// dueOf returns the new KV blocks that the members of residue r need in the step that they are due in.
func (s *DecodeSet) dueOf(r int) int64 {
	n := s.each * int64(s.due[r])
	if s.growth != nil {
		n += s.growth.blocks * int64(s.growth.due[r])
	}
	return n
}

// blocksPerCycle returns the new KV blocks that the members need in as many steps as a block has tokens.
func (s *DecodeSet) blocksPerCycle() int64 {
	n := s.each * int64(s.paged)
	if s.growth != nil {
		n += s.growth.blocks * s.growth.growing
	}
	return n
}

// BlocksFor returns the new blocks that steps [from, to) ahead need: whole cycles by division, the others by count.
func (s *DecodeSet) BlocksFor(from, to int64) int64 {
	n := int64(0)
	if size := int64(len(s.due)); to-from >= size {
		cycles := (to - from) / size
		n, from = cycles*s.blocksPerCycle(), from+cycles*size
	}
	for r := s.residue(-s.step - from); from < to; from++ {
		n += s.dueOf(r)
		r = s.before(r)
	}
	return n
}

// StepsWithin returns the greatest n ≤ limit such that steps [1, n) ahead need no more than so many free blocks. The
// step at hand has its blocks already, and what windows have passed is free when all of a step have theirs.
func (s *DecodeSet) StepsWithin(limit int, free int64) int {
	size, more, each := int64(len(s.due)), int64(limit-1), s.blocksPerCycle()
	if (more+size)*each <= free*size { // at most ⌈more/size⌉ times what a cycle needs
		return limit
	}
	if s.passing != nil {
		return s.passing.within(s, limit, free)
	}
	cycles := free / each
	left := free - cycles*each
	i := cycles * size
	for r := s.residue(-s.step - i - 1); i < more; i++ {
		b := s.dueOf(r)
		if b > left {
			break
		}
		left -= b
		r = s.before(r)
	}
	return int(min(i, more)) + 1
}

// Shape fills in the decode half of a step's shape: every member attends to its context and its own new token.
func (s *DecodeSet) Shape(b *Shape) {
	b.Decodes, b.DecodeTokens = s.n, int64(s.n)
	b.DecodeCtx, b.Drafts = s.ctx+int64(s.n), 0
	for i := range s.windows {
		b.Capped[i].Ctx, b.Capped[i].Growing = s.windows[i].ctx, s.windows[i].growing
	}
}

// Empty reports whether the set is as empty as a new one: a law of every run that has served all requests.
func (s *DecodeSet) Empty() bool {
	empty := s.n == 0 && s.paged == 0 && s.ctx == 0 && s.ends.sum == 0
	for _, due := range s.due {
		empty = empty && due == 0
	}
	for i := range s.windows {
		w := &s.windows[i]
		empty = empty && w.ctx == 0 && w.growing == 0 && w.turns.sum == 0
	}
	return empty && s.growth.empty() && s.passing.empty()
}
