package sim

import "github.com/decodesim/decodesim/sim/kv"

// Work is how a Scheduler acts on an instance: it admits, chunks and preempts, and sees what that leaves. It is the
// composition of the next step, kept as sums.
type Work struct {
	in          *Instance
	now         Time
	demand      int64  // blocks that the step needs beyond those already allocated: decodes and chunks
	frees       int64  // blocks that windows have passed when it is composed
	shape       *Shape // its prefill half
	full        bool   // no request can be admitted before a member of the batch ends
	headBlocked bool   // the head of the queue cannot be admitted before that
	paused      bool   // decodes get no token

	inTurn    bool     // requests take their blocks one after the other, see TakeInTurn
	tookTurns bool     // they have
	allocated bool     // some of the blocks that the step needs have been allocated
	settled   int      // members of the prefill list whose chunks others may reuse
	match     kv.Match // what the cache has of the request that CachedTokens was asked of last
	ahead     int64    // blocks that it has beside those, see AdmitNext

	passesOver bool // no request that waits has an adapter that may join the batch
	growing    bool // how much those that run have grown may let a cache come
	ends       bool // a Retractor is asked as a step ends that is one of decodes
	loads      loadRules
}

// reset starts the composition of another step.
func (w *Work) reset(now Time) {
	in, s := w.in, w.shape
	w.now, w.full, w.headBlocked = now, false, false
	w.paused, w.inTurn, w.tookTurns = false, false, false
	w.allocated, w.settled = false, 0
	w.match, w.passesOver, w.growing = kv.Match{}, false, false
	if in.pool.ConnectorLoads {
		w.loads = loadRules{}
	}
	if in.batch.leftOut {
		in.rejoin()
	}
	if in.drafting.speculation == nil {
		w.demand = in.batch.set.BlocksDue()
	} else {
		w.demand = in.planDrafts()
	}
	w.frees = w.decodesFree()
	s.SwapBlocks, s.AdapterCopies = in.transfers.restored, 0
	if s.Prefills > 0 {
		s.ClearPrefill()
	}
	s.Outputs = 0
}

// FreeBlocks returns the free KV blocks that the step, as composed so far, leaves; negative if it does not fit.
func (w *Work) FreeBlocks() int64 { return w.in.cache.Free() - w.demand + w.frees }

// CachedTokens returns how many tokens of r, which waits, the cache has already: those that r need not compute if it is
// admitted next. In a step that needs blocks so far, no request can be preempted after this call, because the blocks
// are then allocated.
func (w *Work) CachedTokens(r *Request) int32 {
	w.match, w.ahead = kv.Match{}, 0
	if r.ahead > 0 {
		w.match.Cached, w.ahead = r.ahead-1, int64(r.blocks-r.ahead+1)
		return w.matched()
	}
	if cache := &w.in.cache; cache.Matchable(r.slot, r.prompt()) {
		if !cache.Radix() {
			w.settle()
		}
		w.match = cache.Match(r.slot, r.prompt(), r.Prompt+r.Emitted)
	}
	return w.matched()
}

// matched returns the tokens of the latest match.
func (w *Work) matched() int32 { return (w.match.Cached + w.match.Offloaded) * w.in.cache.BlockSize() }

// CachedFree returns how many tokens of the cache the request that CachedTokens was asked of last takes from what is
// free before it computes any: cached blocks that no sequence has.
func (w *Work) CachedFree() int64 { return int64(w.match.Free) * int64(w.in.cache.BlockSize()) }

// CachedPath appends to path the nodes, from the root on, that have what is cached of r, which waits: of Contents or,
// with a radix tree, of that. It touches none.
func (w *Work) CachedPath(r *Request, path []int32) []int32 {
	if cache := &w.in.cache; cache.Radix() {
		path = cache.Branch(r.slot, r.prompt(), r.Prompt+r.Emitted, path)
	} else if w.CachedTokens(r) > 0 {
		path = cache.Nodes(r.prompt(), w.match, path)
	}
	return path
}

// Touch is CachedTokens for a policy that sorts a queue. A radix tree may have the last token of a prompt, too.
func (w *Work) Touch(r *Request) int32 {
	cache := &w.in.cache
	if !cache.Radix() {
		return w.CachedTokens(r)
	}
	w.match = kv.Match{}
	if cache.Matchable(r.slot, r.prompt()) {
		w.match = cache.Match(r.slot, r.prompt(), r.Prompt+r.Emitted+1)
	}
	return w.matched()
}

// Begins returns the node of Contents in which the n-th token of r lies, or 0 if it is r's own: requests with the same
// node begin with the same n tokens.
func (w *Work) Begins(r *Request, n int32) int32 {
	tree, node := w.in.cluster.contents, r.Content
	if n > min(r.Prompt, tree.Tokens(node)) {
		return 0
	}
	for n <= tree.Tokens(tree.Parent(node)) {
		node = tree.Parent(node)
	}
	return node
}

// EvictFor has a radix tree evict what it can until n blocks are free that hold nothing.
func (w *Work) EvictFor(n int64) { w.in.cache.EvictFor(n) }

// Empty reports whether the step, as composed so far, computes nothing.
func (w *Work) Empty() bool { return w.shape.Prefills == 0 && (w.paused || w.in.batch.set.Len() == 0) }

// Prompts returns how many prompts have tokens in the step, as composed so far.
func (w *Work) Prompts() int { return w.shape.Prefills }

// settle allocates the blocks that the step needs so far and lets others reuse what its chunks compute.
func (w *Work) settle() {
	in := w.in
	w.allocated = w.allocated || w.demand+w.frees > 0
	w.allocate()
	if !in.cache.Caches() || in.cache.Radix() {
		return
	}
	prefill := in.batch.prefill
	for _, slot := range prefill[w.settled:] {
		r := &in.requests.at[slot]
		in.name(r, r.Computed+r.chunk)
	}
	w.allocated = w.allocated || w.settled < len(prefill)
	w.settled = len(prefill)
}

// name lets others reuse the blocks that n tokens of r fill. The engine knows no token after those of its prompt and
// those emitted, so it cannot name a block together with one.
func (in *Instance) name(r *Request, n int32) {
	in.cache.Publish(r.slot, r.prompt(), min(n, r.Prompt+r.Emitted-in.pool.Drafter.Ahead))
}

// decodesFree returns the blocks that windows have passed of the decodes.
func (w *Work) decodesFree() int64 {
	if !w.in.cache.Passes() {
		return 0
	}
	return w.in.decodesFree()
}

// PauseDecodes makes it a prefill-only step: decodes get no token and need no block. It comes before any admission, and
// takes CountPauses.
func (w *Work) PauseDecodes() {
	if !w.paused {
		w.in.batch.must(CountPauses)
		w.paused = true
		w.demand -= w.decodeDemand()
		w.frees -= w.decodesFree()
	}
}

// ResumeDecodes makes it a step with decodes after all.
func (w *Work) ResumeDecodes() {
	if w.paused {
		w.paused = false
		w.demand += w.decodeDemand()
		w.frees += w.decodesFree()
	}
}

// Paused reports whether decodes get no token in the step.
func (w *Work) Paused() bool { return w.paused }

// decodeDemand returns the blocks that the decodes need for the step.
func (w *Work) decodeDemand() int64 {
	if w.in.drafting.speculation != nil {
		return w.in.planDrafts()
	}
	return w.in.batch.set.BlocksDue()
}

// CommittedBlocks returns the blocks that the running requests will take after this step, as composed so far, if each
// emits up to its limit. It takes CountCommitted.
func (w *Work) CommittedBlocks() int64 {
	in := w.in
	in.batch.must(CountCommitted)
	return in.committed - in.cache.Allocated() - in.cache.Repeated() - w.demand
}

// BlocksToAdmit returns the free blocks that it takes to admit the request that CachedTokens was asked of last, and to
// compute the next n of its tokens.
func (w *Work) BlocksToAdmit(n int32) int64 {
	k, cached := &w.in.cache, w.matched()
	return max(0, k.BlocksToAdmit(cached, cached+n)-int64(w.match.Cached-w.match.Free)-w.ahead)
}

// BlocksToFit is BlocksToAdmit for tokens that several steps may compute: windows will have passed some of their
// blocks before others are taken.
func (w *Work) BlocksToFit(n int32) int64 {
	k, cached := &w.in.cache, w.matched()
	return max(0, k.BlocksToFit(cached, cached+n)-int64(w.match.Cached-w.match.Free)-w.ahead)
}

// EvictionsMakeRoom reports whether BlocksToAdmit may fall faster than free blocks do while decodes evict what the
// cache has of that request: with another end of what is found, it may take fewer free blocks of windows before that.
func (w *Work) EvictionsMakeRoom() bool { return w.match.Free > 0 && w.in.cache.Windows() }

// BlocksToExtend returns the blocks that the next n tokens of r, which prefills, take.
func (w *Work) BlocksToExtend(r *Request, n int32) int64 {
	return max(0, w.in.cache.Blocks(r.Computed+n)-int64(r.blocks))
}

// Admit moves the head of the queue, which CachedTokens was asked of, into the batch. If reserve is not 0, the blocks
// of so many tokens are allocated at once. The caller gives it a chunk next.
func (w *Work) Admit(r *Request, reserve int32) {
	in := w.in
	slot := in.queue.pop()
	if r != &in.requests.at[slot] {
		panic("sim: admitted a request that is not the head of the queue")
	}
	r.Computed = w.matched()
	if r.ahead == 0 {
		r.blocks = w.match.Cached
	}
	if r.ahead > 0 {
		r.ahead = 0
		in.transfers.ahead = without(in.transfers.ahead, slot)
	} else if r.Computed > 0 {
		in.cache.Reuse(slot, r.prompt(), w.match)
		w.shape.SwapBlocks += int64(w.match.Offloaded)
	} else if !in.cache.Radix() {
		in.cache.Forget(slot) // what it had is too little to be reused
	}
	if in.cache.Passes() {
		r.passed, r.underWay = in.cache.Passed(r.Computed), 0
		r.blocks += int32(in.cache.PassedOf(in.cache.Without(r.Computed)))
	}
	if len(in.pool.Tiers) > 0 {
		in.countLoaded(r, &w.match)
	}
	w.match = kv.Match{}
	if in.adapters != nil {
		w.admitAdapter(r, !r.admitted)
	}
	w.begin(r)
	if reserve > 0 {
		w.reserve(r, reserve)
	}
}

// begin has r, of which the cache and host memory had that, enter the batch to compute the rest of its prompt.
func (w *Work) begin(r *Request) {
	in := w.in
	if !r.admitted {
		r.admitted, r.Admitted, r.Cached = true, w.now, r.Computed
		in.cluster.totals.CachedTokens += int64(r.Computed)
		in.tally.prompted += int64(r.Prompt)
		in.tally.cached += int64(r.Computed)
	}
	r.state, r.readmitted, r.entering = prefilling, w.now, true
	in.enter(r.slot)
	in.batch.prefill = append(in.batch.prefill, r.slot)
	r.learnAll()
	r.blocksMin, r.leftOut = 0, false
}

// reserve allocates the blocks of so many tokens to r.
func (w *Work) reserve(r *Request, tokens int32) {
	r.blocksMin = int32(w.in.cache.Blocks(tokens))
	if more := r.blocksMin - r.blocks; more > 0 {
		w.demand += int64(more)
		r.blocks = r.blocksMin
	}
}

// Pad makes the prompts of a batch that has just been admitted as long as one of so many tokens, and reserves so many
// for each. The batch is static: requests that have ended keep their rows and their blocks until all have.
func (w *Work) Pad(tokens, reserve int32) {
	in := w.in
	if in.drafting.speculation != nil {
		panic("sim: a static batch does not speculate")
	}
	for _, slot := range in.batch.prefill {
		w.count(&in.requests.at[slot], -1)
	}
	in.batch.padded = tokens
	for _, slot := range in.batch.prefill {
		w.reserve(&in.requests.at[slot], reserve)
		w.count(&in.requests.at[slot], 1)
	}
}

// Chunk runs the next n tokens of r's prompt in the step. FreeBlocks may turn negative: then the caller preempts.
func (w *Work) Chunk(r *Request, n int32) {
	if n < 1 || n > r.Pending() || r.chunk != 0 || r.state != prefilling {
		panic("sim: a chunk must be of a request in prefill, once, and within what it has pending")
	}
	r.chunk = n
	w.count(r, 1)
}

// count adds r's chunk to the step, or takes it out again.
func (w *Work) count(r *Request, sign int64) {
	in := w.in
	w.demand += sign * max(0, in.chunked(r)-int64(r.blocks))
	if in.cache.Passes() && r.chunk > 0 {
		w.frees += sign * in.freesNext(r)
	}
	w.shape.AddChunk(in.pool.Windows, int64(r.Computed), in.chunkRows(r), sign)
	if r.chunk == r.Pending() {
		w.shape.Outputs += int(sign) * int(1+r.filler)
	}
}

// BatchFull says that no arrival can change the batch before one of its members ends: max_num_seqs are running.
// Segments are then not cut at arrivals.
func (w *Work) BatchFull() { w.full = true }

// HeadBlocked says that the head of the queue cannot be admitted before a member of the batch ends. Segments are then
// cut at arrivals only if one may come before the head.
func (w *Work) HeadBlocked() { w.headBlocked = true }

// compose has the scheduler compose the step that begins at now, and returns for how many it holds.
func (in *Instance) compose(w *Work, now Time) (limit int) {
	if in.pool.AsyncScheduling && in.line == nil {
		in.updateVisible()
	}
	if in.usual {
		return in.composeUsual(w, now)
	}
	t := &in.transfers
	if !in.pool.composesAhead() || !in.guesses() {
		t.restored = 0
	}
	for {
		ahead := in.pool.composesAhead() && in.guesses()
		growing := !ahead && in.preallocate(w, now)
		departures, retracted := in.batch.departures, in.retracted()
		if ahead {
			in.joinAccepted(now)
		} else {
			running := in.Running()
			in.admitTransferred(now)
			// a cache that is to come may share blocks with those that have, from the next step on
			growing = growing || in.cache.Caches() && in.pool.Reserved.Tokens > 0 && in.Running() > running
		}
		w.reset(now)
		limit = in.pool.Scheduler.Schedule(in, w)
		stayed := in.leaveBatch(w, departures)
		w.growing = w.growing || growing || stayed || in.retracted() > retracted
		in.releaseAhead()
		if w.FreeBlocks() < 0 {
			panic("sim: the scheduler composed a step that the cache cannot hold")
		}
		if len(t.awaiting) > 0 && !in.loadsAhead() && in.pool.Reserved.Tokens == 0 {
			in.allocateAwaiting(w)
		}
		switch {
		case in.line != nil && in.pool.BatchQueue > 1: // a batch of nothing has its place in the queue
			return limit
		case w.Empty() && in.joins:
			return limit
		case w.Empty() && stayed:
		case w.Empty() && in.unseen(): // so was the step that the engine composed; then it knows
			in.releaseEnded()
			in.queue.seeAll(in.queuedBy(now))
		case w.Empty() && in.pool.BatchQueue > 1 && in.queue.visible != Forever:
			in.queue.seeAll(in.queuedBy(now))
		case w.Empty() && w.tookTurns && (in.line == nil || in.line.busy == 0): // vLLM composes the next step at once
		case w.Empty() && in.unseenLoads(): // nothing runs that the engine would wait for
			in.queue.seeAll(in.queuedBy(now))
		case len(t.transferred) == 0 || in.pool.ConnectorLoads || !w.Empty() || in.Running() == in.pool.MaxNumSeqs:
			return limit
		}
	}
}

// composeUsual is compose for a usual instance.
func (in *Instance) composeUsual(w *Work, now Time) (limit int) {
	for {
		w.reset(now)
		limit = in.pool.Scheduler.Schedule(in, w)
		if w.FreeBlocks() < 0 {
			panic("sim: the scheduler composed a step that the cache cannot hold")
		}
		if !w.tookTurns || !w.Empty() { // else vLLM composes the next step at once
			return limit
		}
	}
}
