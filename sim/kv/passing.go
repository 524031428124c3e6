package kv

// Passing is what layers with a sliding window take for a chunk of a prompt while it is computed, beyond what a
// sequence has in any case: Blocks more for each block of tokens. A chunk reads the window before its first token and
// writes all of its tokens, so a sequence has the last W − 1 computed tokens and those of the chunk,
//
//	⌈(c + t) / block size⌉ − ⌊max(0, c − W + 1) / block size⌋ blocks of tokens,
//
// and ⌈W / block size⌉ + 1 in any case. vLLM frees what is before the window when it next allocates for the sequence
// (0.33.0, v1/core/single_type_kv_cache_manager.py, get_num_skipped_tokens of SlidingWindowManager, and
// v1/core/kv_cache_manager.py, allocate_slots). Here that is when the step has ended, which is the same instant; only a
// sequence that gets no tokens in the next step has them for longer there, and one whose prompt is complete for its
// first decode, if steps are queued.
//
// The zero value is a cache whose chunks take no more.
type Passing struct {
	Blocks    int32
	Window    int32 // W, in tokens
	TokensMax int32 // of a sequence, in all steps under way
	// the tokens of a chunk count as computed when its step has ended, not when it has been composed
	Lags bool
}

// passing is what a cache does with Passing.
type passing struct {
	Passing
	steady    int32 // blocks of tokens that a sequence has in any case
	blocksMax int32 // that it has at most
}

func (k *Cache) newPassing(c Passing) passing {
	if c.Blocks == 0 {
		return passing{}
	}
	return passing{c, k.paged(c.Window) + 1, k.paged(c.Window-1+c.TokensMax) + 1}
}

// Passes reports whether chunks take blocks for as long as they are computed.
func (k *Cache) Passes() bool { return k.passing.Blocks > 0 }

// Lags reports whether they do until the step after is composed.
func (k *Cache) Lags() bool { return k.passing.Lags }

// Passing returns the blocks that a sequence has for as long as its n-th token and those before it are computed, of
// which so many count as computed.
func (k *Cache) Passing(computed, n int32) int64 {
	p := &k.passing
	if p.Blocks == 0 {
		return 0
	}
	skipped := k.floor(max(0, computed-p.Window+1))
	return int64(p.Blocks) * int64(max(0, min(k.paged(n)-skipped, p.blocksMax)-p.steady))
}

// BlocksMax returns the most blocks that a sequence of n tokens ever has.
func (k *Cache) BlocksMax(n int32) int64 { return k.Blocks(n) + k.Passing(0, n) }

// floor returns ⌊n / block size⌋.
func (k *Cache) floor(n int32) int32 {
	if k.shift >= 0 {
		return n >> (uint(k.shift) & 31)
	}
	return n / k.size
}

// ReleasePassing frees n blocks that a chunk took, which no request can reuse here.
func (k *Cache) ReleasePassing(n int64) {
	k.Release(n)
	if k.prefix != nil {
		k.prefix.freeUnnamed(int32(n), k.prefix.first)
	}
}
