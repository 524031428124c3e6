// Package heap is a binary heap without boxing or calls to compare: entries are ordered by two integers.
package heap

// Heap yields its entries by rising key, and those of equal keys by rising tie. The zero Heap is empty. Entries that are
// equal in both are popped in no particular order, so where order matters the tie is an identity.
type Heap[K ~int64, V any] []Entry[K, V]

// Entry is a value and its place in the order.
type Entry[K ~int64, V any] struct {
	Value V
	Key   K
	Tie   int64
}

func (e *Entry[K, V]) before(f *Entry[K, V]) bool {
	return e.Key < f.Key || e.Key == f.Key && e.Tie < f.Tie
}

// Push adds an entry.
func (h *Heap[K, V]) Push(key K, tie int64, value V) {
	e := Entry[K, V]{value, key, tie}
	all := append(*h, e)
	i := len(all) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(&all[parent]) {
			break
		}
		all[i] = all[parent]
		i = parent
	}
	all[i] = e
	*h = all
}

// Pop removes the first entry. The heap must not be empty.
func (h *Heap[K, V]) Pop() Entry[K, V] {
	all := *h
	top, n := all[0], len(all)-1
	e := all[n]
	all = all[:n]
	i := 0
	for child := 1; child < n; child = 2*i + 1 {
		if child+1 < n && all[child+1].before(&all[child]) {
			child++
		}
		if !all[child].before(&e) {
			break
		}
		all[i] = all[child]
		i = child
	}
	if n > 0 {
		all[i] = e
	}
	*h = all
	return top
}
