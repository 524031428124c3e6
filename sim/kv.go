package sim

import "math/bits"

// Cache accounts for the paged key–value cache of one instance, in blocks.
type Cache struct {
	size  int32 // tokens per block
	shift int8  // log2 of size, or -1
	fixed int32 // blocks a sequence holds whatever its length (recurrent state, short windows)
	total int64
	free  int64
	low   int64 // the fewest blocks ever free
}

func newCache(blocks int64, size, fixed int32) Cache {
	k := Cache{size: size, shift: -1, fixed: fixed, total: blocks, free: blocks, low: blocks}
	if size&(size-1) == 0 {
		k.shift = int8(bits.TrailingZeros32(uint32(size)))
	}
	return k
}

// Blocks returns the blocks that a sequence of n tokens holds.
func (k *Cache) Blocks(n int32) int64 { return int64(k.fixed) + int64(k.paged(n)) }

// paged returns ⌈n / block size⌉.
func (k *Cache) paged(n int32) int32 {
	if k.shift >= 0 {
		return (n + k.size - 1) >> (uint(k.shift) & 31)
	}
	return (n + k.size - 1) / k.size
}

// full returns ⌊n / block size⌋.
func (k *Cache) full(n int32) int32 {
	if k.shift >= 0 {
		return n >> (uint(k.shift) & 31)
	}
	return n / k.size
}

// residue returns x mod block size, in [0, size), also for negative x.
func (k *Cache) residue(x int64) int {
	if k.shift >= 0 {
		return int(x & int64(k.size-1))
	}
	r := x % int64(k.size)
	if r < 0 {
		r += int64(k.size)
	}
	return int(r)
}

func (k *Cache) take(n int64) {
	if n > k.free {
		panic("sim: took more KV blocks than are free")
	}
	k.free -= n
	k.low = min(k.low, k.free)
}

func (k *Cache) release(n int64) {
	if k.free += n; k.free > k.total {
		panic("sim: released more KV blocks than were taken")
	}
}

// take takes n blocks, the next to be evicted.
func (in *Instance) take(n int64) {
	in.kv.take(n)
	if in.prefix != nil {
		in.prefix.evict(n)
	}
}

// vacate frees what the request in slot holds. With prefix caching the order counts, and it waits for the others that
// this step frees.
func (in *Instance) vacate(slot int32) {
	if in.prefix == nil {
		in.kv.release(in.kv.Blocks(in.slab[slot].Computed))
	} else {
		in.freed = append(in.freed, slot)
	}
}

// free frees what the requests in freed hold, in order of admission.
func (in *Instance) free() {
	for i := 1; i < len(in.freed); i++ { // most steps free few, in order
		for j := i; j > 0 && in.slab[in.freed[j]].order < in.slab[in.freed[j-1]].order; j-- {
			in.freed[j], in.freed[j-1] = in.freed[j-1], in.freed[j]
		}
	}
	for _, slot := range in.freed {
		r := &in.slab[slot]
		in.prefix.release(r, slot, in.kv.Blocks(r.Computed), false)
	}
	in.freed = in.freed[:0]
}
