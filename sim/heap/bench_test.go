package heap

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkHeap pushes and pops with 256 entries in the heap.
func BenchmarkHeap(b *testing.B) {
	var h Heap[int64, struct{}]
	r := rand.New(rand.NewPCG(1, 2))
	var delay [4096]int64
	for i := range delay {
		delay[i] = r.Int64N(1 << 40)
	}
	for i := range 256 {
		h.Push(delay[i], 0, struct{}{})
	}
	for i := range b.N {
		e := h.Pop()
		h.Push(e.Key+delay[i&4095], 0, struct{}{})
	}
}
