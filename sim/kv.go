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

// Total returns the blocks of the cache.
func (k *Cache) Total() int64 { return k.total }

// Free returns the blocks that nobody holds.
func (k *Cache) Free() int64 { return k.free }

// BlockSize returns the tokens of a block.
func (k *Cache) BlockSize() int32 { return k.size }

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
