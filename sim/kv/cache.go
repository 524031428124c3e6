package kv

import (
	"math"
	"math/bits"
)

// Cache accounts for the paged key–value cache of one instance, in blocks.
type Cache struct {
	size      int32 // tokens per block
	shift     int8  // log2 of size, or −1 if it is no power of two
	fixed     int32 // blocks that a sequence needs whatever its length (recurrent state, short windows)
	windowed  Windowed
	passing   Passing
	passedMax int32 // the most blocks of tokens that an admission counts in a group that frees what its window has passed
	total     int64
	free      int64
	freeMin   int64     // the fewest blocks ever free
	repeated  int64     // Σ blocks over sequences less the blocks allocated: a block of several sequences is there once
	prefix    *prefixes // what free and allocated blocks hold, if blocks are what is kept
	radix     *radix    // or sequences, in a tree; neither: prefix caching is off
}

// Config describes a cache.
type Config struct {
	Blocks         int64
	BlockSize      int32     // tokens per block
	SequenceBlocks int32     // blocks that a sequence needs whatever its length
	Windowed       Windowed  // blocks that a sequence needs up to the length of a window
	Passing        Passing   // or that it needs as long as a window has not passed them
	Contents       *Contents // what prompts have in common; nil: no prefix caching
	UnnamedFirst   bool      // blocks that no sequence can ask for are evicted before all others
	OffloadBlocks  int64     // host memory for what the prefix cache evicts; 0: none
	Below          []*Store  // stores below host memory, the nearest first, at most TiersMax
	WriteBack      bool      // each of them gets what makes room in the one above; false: what leaves a batch
	Radix          bool      // keep sequences in a radix tree, as SGLang does, and not blocks, as vLLM does
	Drafter        Drafter   // whose cache is that of the model, too
	Unknown        int32     // the most tokens of a sequence that a step computes and its blocks are not named by yet
}

// Drafter says what of a cached prompt a drafter like EAGLE or MTP lacks: its layer reads the token after the one that
// it is at, which need not be the same in the next prompt. The zero value is no such drafter.
type Drafter struct {
	DropsLast bool  // the last of the blocks that are found is computed again: vLLM 0.22
	Ahead     int32 // a block is found only together with so many tokens after it: vLLM 0.33
}

// Windowed is what layers with a sliding window take in a cache that has groups for them: Blocks more for each block of
// tokens, but for no more than BlocksMax of these. The zero value is a cache without such groups.
//
// A window of W tokens is within ⌈W / block size⌉ + 1 blocks, wherever it begins (vLLM 0.33.0,
// v1/kv_cache_interface.py, SlidingWindowSpec). Passing is exact, and the two exclude each other.
type Windowed struct{ Blocks, BlocksMax int32 }

// New returns an empty cache.
func New(c Config) Cache {
	k := Cache{size: c.BlockSize, shift: -1, fixed: c.SequenceBlocks, windowed: c.Windowed, total: c.Blocks,
		free: c.Blocks, freeMin: c.Blocks}
	if c.BlockSize&(c.BlockSize-1) == 0 {
		k.shift = int8(bits.TrailingZeros32(uint32(c.BlockSize)))
	}
	if c.Passing.Blocks > 0 {
		k.passing, k.windowed = c.Passing, Windowed{c.Passing.Blocks, math.MaxInt32}
		k.passedMax = k.blocksMax()
	}
	switch {
	case c.Contents == nil:
	case c.Radix:
		k.radix = newRadix(&k, c)
	default:
		k.prefix = newPrefixes(&k, c)
	}
	return k
}

// Blocks returns the blocks that a sequence of n tokens needs, those that windows have passed among them.
func (k *Cache) Blocks(n int32) int64 {
	paged, w := k.paged(n), &k.windowed
	blocks := int64(k.fixed) + int64(paged)
	if w.Blocks > 0 {
		blocks += int64(w.Blocks) * int64(min(paged, w.BlocksMax))
	}
	return blocks
}

// Total returns the blocks of the cache.
func (k *Cache) Total() int64 { return k.total }

// Free returns the blocks that no sequence has.
func (k *Cache) Free() int64 { return k.free }

// Allocated returns the blocks that sequences have.
func (k *Cache) Allocated() int64 { return k.total - k.free }

// AllocatedMax returns the most blocks ever allocated at once.
func (k *Cache) AllocatedMax() int64 { return k.total - k.freeMin }

// Repeated returns Σ blocks over sequences less the blocks allocated: what prefix caching saves just now.
func (k *Cache) Repeated() int64 { return k.repeated }

// BlockSize returns the tokens of a block.
func (k *Cache) BlockSize() int32 { return k.size }

// Caches reports whether prefix caching is on.
func (k *Cache) Caches() bool { return k.prefix != nil || k.radix != nil }

// Radix reports whether prefix caching keeps sequences in a radix tree. They join it when they have been computed.
func (k *Cache) Radix() bool { return k.radix != nil }

// paged returns ⌈n / block size⌉.
func (k *Cache) paged(n int32) int32 {
	if k.shift >= 0 {
		return (n + k.size - 1) >> (uint(k.shift) & 31)
	}
	return (n + k.size - 1) / k.size
}

// Allocate allocates n blocks; with prefix caching, those that are the next to be evicted.
func (k *Cache) Allocate(n int64) {
	k.take(n)
	if k.prefix != nil {
		k.prefix.evict(n)
	} else if k.radix != nil {
		k.radix.evict(k.free)
	}
}

// SetAside evicts the n free blocks that are next, for a step that is composed before it begins: until Return, others
// are allocated. They count as free.
func (k *Cache) SetAside(n int64) {
	if k.prefix != nil {
		k.prefix.evict(n)
	}
}

// Return makes n blocks that have been set aside the next to be allocated.
func (k *Cache) Return(n int64) {
	if k.prefix != nil {
		k.prefix.freeUnnamed(int32(n), true)
	}
}

// EvictFor has a radix tree evict what it can until n blocks are free that hold nothing.
func (k *Cache) EvictFor(n int64) {
	if k.radix != nil {
		k.radix.evict(k.free - n)
	}
}

// take counts n blocks as allocated.
func (k *Cache) take(n int64) {
	if n > k.free {
		panic("sim: allocated more KV blocks than are free")
	}
	k.free -= n
	k.freeMin = min(k.freeMin, k.free)
}

// Release frees n blocks of a cache without prefix caching.
func (k *Cache) Release(n int64) {
	k.free += n
	if k.free > k.total {
		panic("sim: released more KV blocks than were allocated")
	}
}

// Prompt says what a sequence reads, as far as others may read it too: its content and the length of its prompt.
type Prompt struct {
	Content int32 // node of Contents, 0: nothing that others read
	Output  int32 // node of Contents that ends with its output, 0: its output is not read again
	Tokens  int32
	Passed  int32 // blocks of tokens that the windows of the sequence have passed
}

// Match is what the cache has of a waiting request, in blocks from the beginning of its prompt.
type Match struct {
	Cached    int32 // in GPU memory
	Windows   int32 // beside them, those of windows that have not passed them, of all groups
	Free      int32 // of the cached ones, those of windows among them, those that no sequence has
	Offloaded int32 // those after the cached ones, in host memory

	node int32 // of the radix tree, if that is what is kept: the end of the cached ones
}

// Match returns what the cache has of the request in slot, which has so many tokens to compute: the last one is
// computed in any case. A slot below 0 is a request that is on no instance yet.
func (k *Cache) Match(slot int32, p Prompt, tokens int32) Match {
	switch {
	case k.radix == nil:
		return k.prefix.match(slot, p, tokens)
	case slot < 0:
		return k.radix.peek(slot, p, k.radix.full(tokens-1))
	}
	return k.radix.match(slot, p, k.radix.full(tokens-1))
}

// Matchable reports whether the cache may have anything of the request in slot.
func (k *Cache) Matchable(slot int32, p Prompt) bool {
	if k.radix != nil {
		return p.Content != 0 || p.Output != 0 || slot >= 0 && k.radix.table(slot).owner != 0
	}
	return k.prefix != nil && (p.Content != 0 || p.Output != 0 || slot >= 0 && k.prefix.table(slot).retained != 0)
}

// Reuse gives the cached blocks of a match to the sequence in slot, and counts those that are loaded from host memory,
// which the sequence has to allocate.
func (k *Cache) Reuse(slot int32, p Prompt, m Match) {
	if m.Cached > 0 {
		k.repeated += int64(m.Cached + m.Windows - m.Free)
		k.take(int64(m.Free))
		if k.radix != nil {
			k.radix.reuse(slot, m)
			return
		}
		k.prefix.reuse(slot, p, m.Cached)
	}
	if m.Offloaded > 0 {
		k.prefix.loaded += int64(m.Offloaded)
	}
}

// Publish lets others reuse the full blocks among the first computed tokens of the sequence in slot, as far as its
// content says that they may. Without prefix caching it does nothing. A radix tree may have some of them already; those
// of the sequence are freed then.
func (k *Cache) Publish(slot int32, p Prompt, computed int32) {
	if k.radix != nil {
		freed := k.radix.publish(slot, p, computed)
		k.repeated += freed
		k.take(-freed)
		return
	}
	if k.prefix != nil && (p.Content != 0 || p.Output != 0) {
		k.prefix.publish(slot, p, computed)
	}
}

// ReleaseSequence frees the blocks of the sequence in slot, with prefix caching: the content of computed tokens stays
// until it is evicted. A sequence that is retained is preempted, and can reuse its own blocks as well.
func (k *Cache) ReleaseSequence(slot int32, p Prompt, blocks int64, computed int32, retain bool) {
	freed := int64(0)
	if k.radix != nil {
		freed = k.radix.release(slot, p, blocks, computed, retain)
	} else {
		freed = k.prefix.release(slot, p, blocks, computed, retain)
	}
	k.Release(freed)
	k.repeated -= blocks - freed
}

// ReleaseUnread is ReleaseSequence of a sequence that no step has read: no store keeps anything for having held it.
func (k *Cache) ReleaseUnread(slot int32, p Prompt, blocks int64, computed int32) {
	if k.radix != nil {
		k.ReleaseSequence(slot, p, blocks, computed, false)
		return
	}
	freed := k.prefix.releaseBlocks(slot, p, blocks, computed, false)
	k.Release(freed)
	k.repeated -= blocks - freed
}

// Forget leaves what a preempted request in slot could have reused to eviction.
func (k *Cache) Forget(slot int32) {
	if k.radix != nil {
		k.radix.forget(slot)
		return
	}
	if k.prefix != nil {
		k.prefix.forget(slot)
	}
}

// Nodes appends to path the nodes of Contents, from the root on, in which the blocks of a match of a prompt end.
func (k *Cache) Nodes(p Prompt, m Match, path []int32) []int32 {
	return k.prefix.walk(p, m.Cached+m.Offloaded, path)
}

// Branch appends to path the nodes of the radix tree, from the root on, that have so many tokens of the request in
// slot, as far as the tree has them. It leaves the order of eviction as it is.
func (k *Cache) Branch(slot int32, p Prompt, tokens int32, path []int32) []int32 {
	return k.radix.walk(k.radix.peek(slot, p, k.radix.full(tokens)).node, path)
}

// Evicted returns how many blocks of content have been evicted so far.
func (k *Cache) Evicted() int64 {
	if k.radix != nil {
		return k.radix.evicted
	}
	if k.prefix == nil {
		return 0
	}
	return k.prefix.evicted
}

// Loaded returns how many blocks have been loaded from host memory so far.
func (k *Cache) Loaded() int64 {
	if k.prefix == nil {
		return 0
	}
	return k.prefix.loaded
}
