package sim_test

import "slices"

// needs returns the blocks of a sequence of so many tokens, as if windows had passed none.
func (n *naive) needs(tokens int32) int64 {
	blocks := int64(0)
	for i := int32(0); i*n.blockSize < tokens; i++ {
		blocks++
		if i < n.windowed.BlocksMax {
			blocks += int64(n.windowed.Blocks)
		}
		blocks += int64(n.passing.Blocks)
	}
	return int64(n.fixed) + blocks
}

// before returns how many blocks of tokens are before the window of a sequence of which so many are computed.
func (n *naive) before(computed int32) (blocks int32) {
	for n.passing.Blocks > 0 && (blocks+1)*n.blockSize <= computed-n.passing.Window+1 {
		blocks++
	}
	return blocks
}

// passes returns how many blocks of tokens the windows of r have passed when it gets blocks for its next tokens.
func (n *naive) passes(r *naiveRequest) int32 {
	switch {
	case n.passesAhead() && !r.decoding:
		return max(r.passed, n.before(r.Computed-n.chunksUnknown(r)))
	case n.lags():
		return max(r.passed, n.before(r.Computed-r.underWay))
	}
	return max(r.passed, n.before(r.Computed+r.hoped))
}

// passed notes how many tokens of r are those of the latest step.
func (n *naive) passed(r *naiveRequest, tokens int32) {
	r.underWay = 0
	if n.lags() {
		r.underWay = tokens
	}
}

// pass frees what the windows of r have passed, which gets blocks for its next tokens.
func (n *naive) pass(in *naiveInstance, r *naiveRequest) {
	if r.want == 0 || n.passing.Blocks == 0 {
		return
	}
	passes := n.passes(r)
	blocks := n.has(r) - r.blocks + int64(n.passing.Blocks*passes)
	r.passed = passes
	n.cover["blocks that windows have passed"] += int(blocks)
	if blocks > 0 && n.passing.Lags && r.underWay > 1 {
		n.cover["blocks that windows have passed before a chunk"]++
	}
	if n.sharesWindows(in) {
		in.pool.pass(r, passes)
		in.free = int64(in.pool.free.Len())
		return
	}
	in.free += blocks
	if in.pool != nil {
		rest := len(r.pages) - int(blocks)
		in.pool.release(r.pages[rest:])
		r.pages = r.pages[:rest]
	}
}

// has returns the blocks of r that its windows have not passed.
func (n *naive) has(r *naiveRequest) int64 { return r.blocks - int64(n.passing.Blocks*r.passed) }

// grows returns how many free blocks r must find for the tokens it has in the step, once its windows have passed some.
func (n *naive) grows(r *naiveRequest) int64 {
	if r.want == 0 {
		return 0
	}
	return n.lasts(r) - int64(n.passing.Blocks*(n.passes(r)-r.passed))
}

// lasts returns the blocks that r must take.
func (n *naive) lasts(r *naiveRequest) int64 {
	tokens := r.Computed + r.want + n.lookAhead(false)
	if r.decoding {
		tokens += r.hoped
	}
	if n.speculation != nil {
		tokens = min(tokens, n.maxLen)
	}
	return max(0, n.needs(tokens)-r.blocks)
}

// demand returns the blocks that the step takes, whatever it frees.
func (n *naive) demand(batch []*naiveRequest) (blocks int64) {
	for _, r := range batch {
		if r.want > 0 {
			blocks += n.lasts(r)
		}
	}
	return blocks
}

// grow gives every one of a batch the blocks for its step: in turn, so that one has some before windows of the next
// have passed others, or all at once.
func (n *naive) grow(in *naiveInstance, inTurn bool) {
	inTurn = inTurn || n.passesSeparately(in)
	in.inTurns = inTurn
	defer func() { in.inTurns = false }()
	for _, r := range in.running {
		if !inTurn {
			n.pass(in, r)
		}
	}
	for _, r := range in.running {
		if r.want > 0 {
			n.allocate(in, r, r.blocks+n.lasts(r))
			if inTurn {
				n.peak = max(n.peak, n.blocks-in.free)
			}
		}
	}
}

// allocate lets r have so many blocks in all, with the contents that the step computes.
func (n *naive) allocate(in *naiveInstance, r *naiveRequest, blocks int64) {
	n.pass(in, r)
	more := blocks - r.blocks
	in.free -= more
	r.blocks = blocks
	if in.free < 0 {
		panic("the cache is overdrawn")
	}
	if in.tree != nil {
		in.tree.private, in.tree.taken = in.tree.private+more, in.tree.taken+more
	}
	if in.pool == nil {
		return
	}
	if n.sharesWindows(in) {
		more -= n.allocateWindows(in, r)
	}
	for range more {
		r.pages = append(r.pages, in.pool.allocate())
	}
	// Drafts are not known to be its tokens, and what is computed after the last one is in no block with a name.
	in.pool.cache(r, min(r.Computed+r.want, r.Prompt+r.Emitted, r.Prompt+r.Output-1))
}

// release frees the blocks of r, of which others may find those of the first tokens.
func (n *naive) release(in *naiveInstance, r *naiveRequest, tokens int32) {
	if in.tree != nil {
		n.releaseTree(in, r, tokens)
	} else if in.pool == nil {
		in.free += n.has(r)
	} else {
		tokens = min(tokens, r.Prompt+r.Output-1) // what is computed after the last token is in no block with a name
		in.pool.cache(r, tokens)
		in.pool.forget(r.pages[min(len(r.pages), int(tokens/n.blockSize)):])
		if in.store != nil {
			in.storeFrom(r)
		}
		in.pool.release(r.pages)
		for _, w := range r.windows {
			in.pool.forget(w[min(len(w), int(tokens/n.blockSize)):])
			in.pool.release(w)
		}
		in.free = int64(in.pool.free.Len())
	}
	r.pages, r.windows = nil, nil
	r.before = r.passed
	r.passed, r.underWay, r.readable = 0, 0, 0
}

// found is what the cache has of a request that waits.
type found struct {
	hits   []*block
	drops  []*block   // found after them, and computed again
	loads  int32      // blocks that host memory has beyond them
	tokens int32      // of both
	within [][]*block // of each group of windows: by position, nil: passed
	more   int64      // blocks to be deducted from its need: those of the hits, unless they are free and so to be taken

	node     *naiveNode // of a radix tree, in place of hits
	unlocked int64      // blocks up to there that no request has
}

// idle returns the blocks that are free as long as no request has found them.
func (f *found) idle() int64 {
	n := idle(f.hits) + f.unlocked
	for _, w := range f.within {
		n += idle(w)
	}
	return n
}

func (n *naive) lookup(in *naiveInstance, r *naiveRequest) found {
	if r.ahead != nil {
		return *r.ahead
	}
	if in.tree != nil {
		return n.lookupTree(in, r, r.Prompt+r.Emitted-1)
	}
	if in.pool == nil {
		return found{}
	}
	hits, dropped := in.pool.lookup(r)
	if n.sharesWindows(in) {
		return n.lookupWindows(in, r, hits)
	}
	f := found{hits: hits, drops: dropped, more: int64(len(hits)) - idle(hits)}
	if in.store != nil {
		f.loads = in.store.beyond(in.pool, r, len(hits))
	}
	f.tokens = (int32(len(hits)) + f.loads) * n.blockSize
	return f
}

// take gives r the blocks that were found for it.
func (n *naive) take(in *naiveInstance, r *naiveRequest, f found) {
	if n.sharesWindows(in) {
		n.takeWindows(in, r, f)
		return
	}
	in.free -= idle(f.hits)
	if in.pool != nil {
		in.pool.touch(f.hits)
		for _, b := range f.drops {
			if !b.content {
				in.pool.forget([]*block{b}) // no other request can ask for it
			}
		}
	}
	r.pages, r.blocks = slices.Clone(f.hits), int64(len(f.hits))
}

// admit moves r from the queue to the batch with a chunk of so many tokens, and gives it so many blocks in all.
func (n *naive) admit(in *naiveInstance, r *naiveRequest, f found, want int32, blocks int64) {
	n.dequeue(in, r)
	in.enlist(r)
	if r.hidden > 0 {
		n.cover["admitted with tokens under way"]++
		r.hide(0)
	}
	n.bringAdapter(in, r)
	n.countFetched(r, f)
	n.enter(r, f.tokens)
	if r.Preemptions > 0 {
		r.resumed += len(f.hits)
		r.regained += len(f.hits) - len(shared(f.hits))
	}
	if r.ahead == nil {
		n.take(in, r, f)
	}
	r.ahead, r.recalled = nil, false
	r.Computed, r.want = f.tokens, want
	r.passed, r.underWay, r.chunks = n.before(f.tokens), 0, nil
	r.blocks += int64(n.passing.Blocks * n.without(in, f.tokens))
	if in.tree != nil {
		n.adopt(in, r, f)
	}
	n.allocate(in, r, max(r.blocks, blocks))
	in.copied += int64(f.loads)
	n.loaded += int64(f.loads * n.blockSize)
	n.cover["loaded blocks"] += int(f.loads)
	if f.loads > 0 && r.Preemptions > 0 {
		n.cover["loads after a preemption"]++
	}
}

// enter notes when r first entered a batch, and what was cached of it then.
func (n *naive) enter(r *naiveRequest, cached int32) {
	if !r.entered {
		r.entered, r.admitted, r.Cached = true, n.now, cached
		n.prompted += int64(r.Prompt)
		n.cached += int64(cached)
	}
}

// swapOut moves a member of the batch to host memory, if there is room.
func (n *naive) swapOut(in *naiveInstance, r *naiveRequest) bool {
	if r.blocks > in.host {
		n.cover["recomputed for want of host memory"]++
		return false
	}
	n.leave(in, r)
	n.release(in, r, r.Computed)
	in.host -= r.blocks
	in.copied += r.blocks
	in.swapped = append(in.swapped, r)
	r.cause = "swapped"
	n.cover["swapped out"]++
	return true
}

// swapIn moves the request that has been longest in host memory back to the batch, where it decodes.
func (n *naive) swapIn(in *naiveInstance) {
	r := in.swapped[0]
	in.swapped = in.swapped[1:]
	in.enlist(r)
	in.free -= r.blocks
	in.host += r.blocks
	in.copied += r.blocks
	r.want = n.decodeOf(in, r)
	n.allocate(in, r, r.blocks+n.lasts(r))
	n.cover["swapped in"]++
	if r.want > 1 {
		n.cover["swapped in with drafts"]++
	}
}
