// Package heap is a binary heap without boxing and without a function that compares: entries are ordered by two
// integers.
package heap

import "math/bits"

// Heap yields its entries by rising key, and those of equal keys by rising tie. The zero Heap is empty, and element 0
// is the first entry. Entries that are equal in both are popped in no particular order, so where order matters the tie
// is an identity.
type Heap[K ~int64, V any] []Entry[K, V]

// Entry is a value and its place in the order.
type Entry[K ~int64, V any] struct {
	Value V
	Key   K
	Tie   int64
}

// before returns 1 if e comes before f and otherwise 0: the borrow of e − f, as 128-bit numbers with the key above the
// tie and the sign bits flipped. It takes no branch, since which of two entries is the smaller one cannot be predicted.
func (e *Entry[K, V]) before(f *Entry[K, V]) uint64 {
	const sign = 1 << 63
	_, borrow := bits.Sub64(uint64(e.Tie)^sign, uint64(f.Tie)^sign, 0)
	_, borrow = bits.Sub64(uint64(e.Key)^sign, uint64(f.Key)^sign, borrow)
	return borrow
}

// Push adds an entry.
func (h *Heap[K, V]) Push(key K, tie int64, value V) {
	e := Entry[K, V]{value, key, tie}
	all := append(*h, e)
	all.up(len(all)-1, &e)
	*h = all
}

// up puts e at index i or above it, where its parent comes before it.
func (h Heap[K, V]) up(i int, e *Entry[K, V]) {
	for i > 0 {
		parent := (i - 1) / 2
		if e.before(&h[parent]) == 0 {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = *e
}

// Pop removes the first entry. The heap must not be empty. The gap moves down to a leaf, and the last entry from there
// up to its place, which is close to the leaves (Wegener, Bottom-up-heapsort, Theoretical Computer Science 118(1),
// 1993).
func (h *Heap[K, V]) Pop() Entry[K, V] {
	all := *h
	top, n := all[0], len(all)-1
	last := all[n]
	all = all[:n]
	*h = all
	if n == 0 {
		return top
	}
	i := 0
	for child := 1; child < n; child = 2*i + 1 {
		if right := child + 1; right < n {
			child += int(all[right].before(&all[child]))
		}
		all[i] = all[child]
		i = child
	}
	all.up(i, &last)
	return top
}
