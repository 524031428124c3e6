package kv

// Passing is layers with a sliding window that have groups of their own in the cache, and free what their window has
// passed: Blocks more for each block of tokens. When a sequence of which c tokens are computed gets its next t, it
// first frees the blocks before the window, and then takes those of its tokens. From then on it has
//
//	⌈(c + t) / block size⌉ − ⌊max(0, c − W + 1) / block size⌋ blocks of tokens
//
// in each group, until it gets its next tokens. That is how vLLM does it (0.33.0,
// v1/core/single_type_kv_cache_manager.py, remove_skipped_blocks of SlidingWindowManager, and
// v1/core/kv_cache_manager.py, allocate_slots). A request whose first tokens are cached begins without the blocks
// before the window.
//
// It is for schedulers that admit requests as they are computed, and by no commitment.
//
// The zero value is a cache without such groups.
type Passing struct {
	Blocks    int32
	Window    int32 // W, in tokens
	TokensMax int32 // of a sequence, in all steps under way
	// tokens count as computed when the step after theirs has been composed, not with it: those of the step under way may
	// still need what is before the window. In pipelines: when the engine knows what came of their batch
	Lags bool
}

// blocksMax returns the most blocks of tokens that a sequence ever has in a group, as far as an admission goes by it
// (vLLM's SlidingWindowSpec.max_admission_blocks_per_request).
func (k *Cache) blocksMax() int32 { return k.paged(k.passing.Window-1+k.passing.TokensMax) + 1 }

// Passes reports whether windows free what they have passed.
func (k *Cache) Passes() bool { return k.passing.Blocks > 0 }

// Windows reports whether a block of tokens may take blocks of windows beside its own.
func (k *Cache) Windows() bool { return k.windowed.Blocks > 0 }

// Lag returns how many of the latest tokens of a sequence that gets one in each step do not count as computed.
func (k *Cache) Lag() int32 { return k.passing.Lag() }

// Lag is Cache.Lag.
func (p *Passing) Lag() int32 {
	if p.Lags {
		return 1
	}
	return 0
}

// Passed returns how many blocks of tokens are before the window of a sequence of which so many are computed.
func (k *Cache) Passed(computed int32) int32 {
	if computed < k.passing.Window {
		return 0
	}
	return k.floor(computed - k.passing.Window + 1)
}

// PassesAt returns of how many computed tokens windows pass a block of tokens: it is the first that they need no more.
func (k *Cache) PassesAt(block int32) int32 { return (block+1)*k.size + k.passing.Window - 1 }

// PassedOf returns the blocks that all groups free for so many of tokens.
func (k *Cache) PassedOf(blocks int32) int64 { return int64(k.passing.Blocks) * int64(blocks) }

// BlocksToAdmit returns the blocks of a sequence of n tokens of which so many are cached, if all are computed at once.
func (k *Cache) BlocksToAdmit(cached, n int32) int64 {
	if k.passing.Blocks == 0 {
		return k.Blocks(n)
	}
	return k.Blocks(n) - k.PassedOf(k.Without(cached))
}

// BlocksToFit returns the blocks of a sequence of n tokens of which so many are cached, as an admission counts them
// that goes by what a sequence has at most while its prompt is computed in chunks.
func (k *Cache) BlocksToFit(cached, n int32) int64 {
	if k.passing.Blocks == 0 {
		return k.Blocks(n)
	}
	paged := k.paged(n)
	return k.Blocks(n) - k.PassedOf(paged-max(0, min(paged, k.passedMax)-k.Without(cached)))
}

// Without returns how many blocks of tokens a sequence takes none of in a group of windows if so many tokens are
// cached: what these have passed or, where they share blocks, all that are cached.
func (k *Cache) Without(cached int32) int32 {
	if k.SharesWindows() {
		return k.floor(cached)
	}
	return k.Passed(cached)
}

// BlocksMax returns the most blocks that a sequence of n tokens ever has.
func (k *Cache) BlocksMax(n int32) int64 { return k.BlocksToFit(0, n) }

// Full reports whether n tokens fill their blocks.
func (k *Cache) Full(n int32) bool { return k.floor(n)*k.size == n }

// floor returns ⌊n / block size⌋.
func (k *Cache) floor(n int32) int32 {
	if k.shift >= 0 {
		return n >> (uint(k.shift) & 31)
	}
	return n / k.size
}

// Pass frees n blocks that windows have passed, which no request can reuse. Where windows share blocks they have been
// named, and take their place in the order of eviction.
func (k *Cache) Pass(n int64) {
	k.Release(n)
	if k.prefix != nil {
		k.prefix.freeUnnamed(int32(n), k.prefix.first && !k.SharesWindows())
	}
}
