package batch

// passing is the groups of layers with a sliding window that free what their window has passed: they take some blocks
// more with each block of tokens, and free as many when the window has passed one.
type passing struct {
	blocks int64 // with each block of tokens
	// a member frees blocks in the steps before which it has computed so many tokens more than a multiple, at least 1,
	// of the block size
	offset  int32
	freeing int64 // members that have computed more than the offset
	due     []int32
	turns   wheel // by the step at which a member has computed one token more than the offset
}

// PassWindows has members of the set, which must be empty, take so many blocks more with each block of tokens, and
// free as many when a window of so many tokens has passed them, as of lag tokens before the latest.
func (s *DecodeSet) PassWindows(blocks, window, lag int32, logWheel uint) {
	if blocks > 0 && !s.counted {
		s.windowed = true
		s.each += int64(blocks)
		s.passing = &passing{blocks: int64(blocks), offset: window - 1 + lag, due: make([]int32, len(s.due)),
			turns: newWheel(logWheel)}
	}
}

// join adds the member in slot, which has computed so many tokens.
func (p *passing) join(s *DecodeSet, slot, computed int32) {
	if computed <= p.offset {
		p.turns.add(slot, s.step+int64(p.offset+1-computed))
		return
	}
	p.freeing++
	p.due[s.residue(int64(computed-p.offset)-s.step)]++
}

func (p *passing) leave(s *DecodeSet, slot, computed int32) {
	if computed <= p.offset {
		p.turns.remove(slot)
		return
	}
	p.freeing--
	p.due[s.residue(int64(computed-p.offset)-s.step)]--
}

// turn adds the members that have computed one token more than the offset to those that free blocks. It returns
// scratch, for reuse.
func (p *passing) turn(s *DecodeSet, scratch []int32) []int32 {
	scratch = p.turns.take(s.step, scratch[:0])
	p.freeing += int64(len(scratch))
	p.due[s.residue(1-s.step)] += int32(len(scratch))
	return scratch
}

// blocksFreed returns the blocks that the members free in the step that is i steps ahead.
func (p *passing) blocksFreed(s *DecodeSet, i int64) int64 {
	return p.blocks * int64(p.due[s.residue(-s.step-i)])
}

// within is DecodeSet.StepsWithin: a step first takes what it needs, as far as it can be known to fit.
func (p *passing) within(s *DecodeSet, limit int, free int64) int {
	for i := 1; i < limit; i++ {
		takes := s.blocksDue(int64(i))
		if takes > free {
			return i
		}
		free += p.blocksFreed(s, int64(i)) - takes
	}
	return limit
}

// empty reports whether no member has or takes any.
func (p *passing) empty() bool {
	if p == nil {
		return true
	}
	empty := p.freeing == 0 && p.turns.sum == 0
	for _, due := range p.due {
		empty = empty && due == 0
	}
	return empty
}

// Passes reports whether windows free what they have passed.
func (s *DecodeSet) Passes() bool { return s.passing != nil }

// BlocksFreed returns the blocks that the members free in the step that is i steps ahead, because windows have passed
// them.
func (s *DecodeSet) BlocksFreed(i int64) int64 {
	if s.passing == nil {
		return 0
	}
	return s.passing.blocksFreed(s, i)
}

// BlocksNeeded returns the new blocks that the members need in the step that is i steps ahead.
func (s *DecodeSet) BlocksNeeded(i int64) int64 { return s.blocksDue(i) }

// StepsToFree returns the first step ahead that leaves so many free blocks more than the step to come does; 0: as long
// as the members stay, none does. In as many steps as a block has tokens they never free more than they take.
func (s *DecodeSet) StepsToFree(blocks int64) int {
	if s.passing == nil {
		return 0
	}
	for i := 1; i <= len(s.due); i++ {
		blocks -= s.passing.blocksFreed(s, int64(i)) - s.blocksDue(int64(i))
		if blocks <= 0 {
			return i
		}
	}
	return 0
}
