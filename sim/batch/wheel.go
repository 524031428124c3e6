package batch

import (
	"math/bits"
	"slices"
)

// noSlot marks the absence of a slot.
const noSlot int32 = -1

// wheel is a timing wheel over the steps of a decode set: it answers in constant time when the next entry is due. Slots
// that are due in the same step modulo the size of the wheel share a bucket, an intrusive list. An entry that is due
// more than a revolution ahead stays in its bucket: the wheel then stops for it too early, which only divides a
// segment.
type wheel struct {
	mask  uint64
	head  []int32  // first slot of each bucket
	words []uint64 // occupied buckets, a bit each
	sum   uint64   // occupied words, a bit each
	entry []entry  // by slot
}

// entry is a slot's place in a wheel.
type entry struct {
	due  int64 // the step at which it is due
	next int32 // slot behind it in the bucket
}

// LogWheelMax is the binary logarithm of the largest wheel: 4096 buckets of 4 bytes, so that outputs of a few thousand
// tokens rarely take more than one revolution.
const LogWheelMax = 12

// emptyBuckets and emptyWords are what wheels read to which nothing was added yet, so that an instance that never
// decodes takes no memory for them. They are never written.
var (
	emptyBuckets = func() (head [1 << LogWheelMax]int32) {
		for i := range head {
			head[i] = noSlot
		}
		return head
	}()
	emptyWords [1 << LogWheelMax / 64]uint64
)

// newWheel returns an empty wheel with 2^logSize buckets, at least 64 and at most 4096.
func newWheel(logSize uint) wheel {
	size := 1 << max(6, min(logSize, LogWheelMax))
	return wheel{mask: uint64(size - 1), head: emptyBuckets[:size], words: emptyWords[:size/64]}
}

func (w *wheel) add(slot int32, due int64) {
	for int(slot) >= len(w.entry) {
		if len(w.entry) == 0 {
			w.head, w.words = slices.Clone(w.head), slices.Clone(w.words)
		}
		w.entry = append(w.entry, entry{})
	}
	b := uint64(due) & w.mask
	w.entry[slot] = entry{due, w.head[b]}
	w.head[b] = slot
	w.words[b>>6] |= 1 << (b & 63)
	w.sum |= 1 << (b >> 6)
}

func (w *wheel) remove(slot int32) {
	b := uint64(w.entry[slot].due) & w.mask
	p := &w.head[b]
	for *p != slot {
		p = &w.entry[*p].next
	}
	*p = w.entry[slot].next
	w.tidy(b)
}

// tidy clears the bits of bucket b if it is empty.
func (w *wheel) tidy(b uint64) {
	if w.head[b] != noSlot {
		return
	}
	w.words[b>>6] &^= 1 << (b & 63)
	if w.words[b>>6] == 0 {
		w.sum &^= 1 << (b >> 6)
	}
}

// none reports whether nothing can be due at step now: a cheap test before take.
func (w *wheel) none(now int64) bool { return w.head[uint64(now)&w.mask] == noSlot }

// take appends the slots due at step now to out, removes them, and returns out.
func (w *wheel) take(now int64, out []int32) []int32 {
	b := uint64(now) & w.mask
	p := &w.head[b]
	if *p == noSlot {
		return out
	}
	for *p != noSlot {
		s := *p
		e := &w.entry[s]
		if e.due != now {
			p = &e.next
			continue
		}
		*p = e.next
		out = append(out, s)
	}
	w.tidy(b)
	return out
}

// until returns how many steps after now something may be due: from 1 to the size of the wheel.
func (w *wheel) until(now int64) int {
	b := uint64(now+1) & w.mask
	word := b >> 6
	if v := w.words[word] >> (b & 63); v != 0 {
		return bits.TrailingZeros64(v) + 1
	}
	n := uint64(len(w.words))
	// The words after this one, rotated so that bit j stands for word+1+j. The last of them is the beginning of this word.
	later := (w.sum>>(word+1) | w.sum<<(n-word-1)) & (^uint64(0) >> (64 - n))
	if later == 0 {
		return int(w.mask) + 1
	}
	j := (word + 1 + uint64(bits.TrailingZeros64(later))) & (n - 1)
	at := j<<6 + uint64(bits.TrailingZeros64(w.words[j]))
	return int((at-b)&w.mask) + 1
}
