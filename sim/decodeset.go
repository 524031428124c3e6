package sim

import "math"

// decodeSet is the set of sequences that emit one token per step. It keeps what a step costs (how many sequences, Σ of
// their context) and when something changes, so that advancing k steps touches no sequence: a member's own counters
// follow from the step at which it joined.
type decodeSet struct {
	n       int
	paged   int   // members that take a block when they need one; the others have reserved theirs
	step    int64 // steps taken since the start of the run
	ctx     int64 // Σ computed tokens of the members, as of step
	walked  bool  // members are moved on one by one: their ends, windows and blocks are not kept here
	due     []int32
	ends    wheel // by the step with which a member emits its last token
	windows []window
}

// window keeps the context that layers with a limited window see: Σ min(ctx, W), or Σ of the chunk so far.
type window struct {
	Window
	ctx     int64 // as of the step to come, its own token included
	growing int   // members whose part still grows by one token per step
	turns   wheel // by the step at which a member stops growing, or starts a new chunk
}

// newDecodeSet returns an empty set over blocks of size tokens. due[r] counts paged members whose computed tokens are
// congruent to r + step modulo the block size: those with r + step ≡ 0 need a new block.
func newDecodeSet(size int32, windows []Window, logWheel uint) decodeSet {
	s := decodeSet{due: make([]int32, size), ends: newWheel(logWheel)}
	for _, w := range windows {
		s.windows = append(s.windows, window{Window: w, turns: newWheel(logWheel)})
	}
	return s
}

// join adds the sequence in slot, with computed tokens in the cache and remaining tokens to emit, which takes blocks as it
// grows if it is paged.
func (s *decodeSet) join(slot, computed, remaining int32, paged bool, kv *Cache) (finish int64) {
	finish = s.step + int64(remaining)
	s.n++
	s.ctx += int64(computed)
	if s.walked {
		return math.MaxInt64
	}
	if paged {
		s.paged++
		s.due[kv.residue(int64(computed)-s.step)]++
	}
	s.ends.add(slot, finish)
	for i := range s.windows {
		s.windows[i].join(slot, computed+1, s.step)
	}
	return finish
}

// leave removes the sequence in slot, whose computed tokens are as of now. Its end must have been taken or removed.
func (s *decodeSet) leave(slot, computed int32, paged bool, kv *Cache) {
	s.n--
	s.ctx -= int64(computed)
	if s.walked {
		return
	}
	if paged {
		s.paged--
		s.due[kv.residue(int64(computed)-s.step)]--
	}
	for i := range s.windows {
		s.windows[i].leave(slot, computed+1)
	}
}

// advance takes n steps, none beyond the next change.
func (s *decodeSet) advance(n int) {
	s.step += int64(n)
	s.ctx += int64(n) * int64(s.n)
	for i := range s.windows {
		w := &s.windows[i]
		w.ctx += int64(n) * int64(w.growing)
	}
}

// turn lets the windows that end at this step stop growing. It uses scratch and returns it.
func (s *decodeSet) turn(scratch []int32) []int32 {
	for i := range s.windows {
		scratch = s.windows[i].turn(s.step, scratch)
	}
	return scratch
}

// until returns after how many steps the set may change by itself.
func (s *decodeSet) until() int {
	n := s.ends.until(s.step)
	for i := range s.windows {
		if w := &s.windows[i]; w.growing > 0 {
			n = min(n, w.turns.until(s.step))
		}
	}
	return n
}

// blocksDue returns how many members need a new KV block in the step that is i steps ahead.
func (s *decodeSet) blocksDue(i int64, kv *Cache) int64 {
	return int64(s.due[kv.residue(-s.step-i)])
}

// blocksFor returns the new blocks that steps [from, to) ahead need: whole cycles by division, the rest by count.
func (s *decodeSet) blocksFor(from, to int64, kv *Cache) int64 {
	n := int64(0)
	if size := int64(kv.size); to-from >= size {
		cycles := (to - from) / size
		n, from = cycles*int64(s.paged), from+cycles*size
	}
	for i := from; i < to; i++ {
		n += s.blocksDue(i, kv)
	}
	return n
}

// stepsWithin returns the greatest n ≤ limit such that steps [1, n) ahead need no more than the free blocks. The step at
// hand has its blocks already.
func (s *decodeSet) stepsWithin(limit int, kv *Cache) int {
	size, more := int64(kv.size), int64(limit-1)
	if (more+size)*int64(s.paged) <= kv.free*size { // at most ⌈more/size⌉ blocks each
		return limit
	}
	cycles := kv.free / int64(s.paged)
	left := kv.free - cycles*int64(s.paged)
	i := cycles * size
	for i < more {
		b := s.blocksDue(i+1, kv)
		if b > left {
			break
		}
		left -= b
		i++
	}
	return int(min(i, more)) + 1
}

// hide fills in the decode half of the shape of a step without decodes.
func (s *decodeSet) hide(b *Shape) {
	b.Decodes, b.DecodeTokens, b.DecodeCtx, b.Drafts = 0, 0, 0, 0
	for i := range s.windows {
		b.Capped[i].Ctx, b.Capped[i].Growing = 0, 0
	}
}

// shape fills in the decode half of a step's shape: every member attends to its context and its own new token.
func (s *decodeSet) shape(b *Shape) {
	b.Decodes, b.DecodeTokens, b.DecodeCtx, b.Drafts = s.n, int64(s.n), s.ctx+int64(s.n), 0
	for i := range s.windows {
		b.Capped[i].Ctx, b.Capped[i].Growing = s.windows[i].ctx, s.windows[i].growing
	}
}

// view returns what a layer with window w sees of x tokens.
func (w *window) view(x int32) int32 {
	if w.Chunked {
		return (x-1)%w.Tokens + 1
	}
	return min(x, w.Tokens)
}

// pairs returns Σ view(x) for x from 1 to n.
func (w *window) pairs(n int64) int64 {
	size := int64(w.Tokens)
	full, rest := n/size, n%size
	switch {
	case w.Chunked:
		return full*(size*(size+1)/2) + rest*(rest+1)/2
	case full > 0:
		return size*(size+1)/2 + (n-size)*size
	}
	return n * (n + 1) / 2
}

// chunk adds what a chunk of t prompt tokens after c computed ones sees, or takes it out again.
func (w *window) chunk(b *Capped, c, t, sign int64) {
	b.PrefillPairs += sign * (w.pairs(c+t) - w.pairs(c))
	before := min(c, int64(w.Tokens)-1)
	if w.Chunked {
		before = c % int64(w.Tokens)
	}
	b.PrefillCtx += sign * (before + t)
}

func (w *window) join(slot, x int32, step int64) {
	v := w.view(x)
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

func (w *window) leave(slot, x int32) {
	v := w.view(x)
	w.ctx -= int64(v)
	if w.Chunked || v < w.Tokens {
		w.growing--
		w.turns.remove(slot)
	}
}

func (w *window) turn(step int64, scratch []int32) []int32 {
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
