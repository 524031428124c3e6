package batch

import "math"

// Window is a limit on the tokens a layer attends to. The zero Window is none.
type Window struct {
	Tokens  int32
	Chunked bool // attention restarts at every multiple of Tokens instead of sliding
}

// visible returns how many of x tokens a layer with window w sees.
func (w *Window) visible(x int32) int32 {
	if w.Chunked {
		return (x-1)%w.Tokens + 1
	}
	return min(x, w.Tokens)
}

// pairs returns Σ visible(x) for x from 1 to n.
func (w *Window) pairs(n int64) int64 {
	size := int64(w.Tokens)
	full, remaining := n/size, n%size
	switch {
	case w.Chunked:
		return full*(size*(size+1)/2) + remaining*(remaining+1)/2
	case full > 0:
		return size*(size+1)/2 + (n-size)*size
	}
	return n * (n + 1) / 2
}

// addChunk adds what a chunk of t prompt tokens after c computed ones sees; a sign of −1 takes it out again.
func (w *Window) addChunk(b *Capped, c, t, sign int64) {
	b.PrefillPairs += sign * (w.pairs(c+t) - w.pairs(c))
	before := min(c, int64(w.Tokens)-1)
	if w.Chunked {
		before = c % int64(w.Tokens)
	}
	b.PrefillCtx += sign * (before + t)
}

// windowSum is the context that the members of a decode set have in a window: Σ min(ctx, W) or, where attention is
// chunked, Σ of the current chunk so far.
type windowSum struct {
	Window
	ctx     int64 // as of the step to come, its own token included
	growing int   // members whose part still grows by one token per step
	turns   wheel // by the step at which a member stops growing, or starts a new chunk
}

// join adds the member in slot, which attends to x tokens in the step to come.
func (w *windowSum) join(slot, x int32, step int64) {
	v := w.visible(x)
	w.ctx += int64(v)
	switch {
	case w.Chunked:
		w.growing++
		w.turns.add(slot, step+int64(w.Tokens-v)+1)
	case v < w.Tokens:
		w.growing++
		w.turns.add(slot, step+int64(w.Tokens-v))
	}
}

func (w *windowSum) leave(slot, x int32) {
	v := w.visible(x)
	w.ctx -= int64(v)
	if w.Chunked || v < w.Tokens {
		w.growing--
		w.turns.remove(slot)
	}
}

// turn handles the members whose windows are full at this step: they stop growing or, where attention is chunked, start
// a new chunk. It returns scratch, for reuse.
func (w *windowSum) turn(step int64, scratch []int32) []int32 {
	scratch = w.turns.take(step, scratch[:0])
	for _, slot := range scratch {
		if w.Chunked {
			w.ctx -= int64(w.Tokens) // it had grown to W+1: a chunk of one
			w.turns.add(slot, step+int64(w.Tokens))
		} else {
			w.growing--
		}
	}
	return scratch
}

// joinWindows is Join, as far as windows go. This and what follows is not called for a model without them.
func (s *DecodeSet) joinWindows(slot, computed int32, paged bool) {
	for i := range s.windows {
		s.windows[i].join(slot, computed+1, s.step)
	}
	if paged && s.growth != nil {
		s.growth.join(slot, computed, s.residue(int64(computed)-s.step), s.step)
	}
	if paged && s.passing != nil {
		s.passing.join(s, slot, computed)
	}
}

// leaveWindows is Leave, as far as windows go.
func (s *DecodeSet) leaveWindows(slot, computed int32, paged bool) {
	for i := range s.windows {
		s.windows[i].leave(slot, computed+1)
	}
	if paged && s.growth != nil {
		s.growth.leave(slot, computed, s.residue(int64(computed)-s.step))
	}
	if paged && s.passing != nil {
		s.passing.leave(s, slot, computed)
	}
}

// advanceWindows is Advance, as far as windows go.
func (s *DecodeSet) advanceWindows(n int) {
	for i := range s.windows {
		w := &s.windows[i]
		w.ctx += int64(n) * int64(w.growing)
		s.scratch = w.turn(s.step, s.scratch)
	}
	if s.growth != nil {
		s.scratch = s.growth.turn(s, s.scratch)
	}
	if s.passing != nil {
		s.scratch = s.passing.turn(s, s.scratch)
	}
}

// windowsTurn returns after how many steps a window is full, or has passed a block, for the first time of some member.
func (s *DecodeSet) windowsTurn() int {
	n := math.MaxInt
	for i := range s.windows {
		if w := &s.windows[i]; w.growing > 0 {
			n = min(n, w.turns.until(s.step))
		}
	}
	if s.growth != nil && s.growth.growing > 0 {
		n = min(n, s.growth.turns.until(s.step))
	}
	if s.passing != nil && s.passing.turns.sum != 0 {
		n = min(n, s.passing.turns.until(s.step))
	}
	return n
}
