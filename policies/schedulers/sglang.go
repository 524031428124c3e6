package schedulers

import (
	"fmt"

	"github.com/decodesim/decodesim/sim"
)

var _ sim.Scheduler = (*SGLang)(nil)

// SGLang runs prompts before decodes, in batches of their own unless EnableMixedChunk lets decodes ride along. It
// admits a request only if there is room for the tokens that this request and the running ones are expected to emit
// (python/sglang/srt/managers/: scheduler.py, schedule_policy.py, schedule_batch.py).
//
// Running requests are expected to emit a share of the tokens that they may emit: the new-token ratio, which falls with
// every decode step and is raised when the estimate was too low. The sequences that have emitted least are then
// retracted: they wait at the end of the queue, and their prompts may still be in the prefix cache when they return.
//
// An attempt to admit a request that fails for want of cache, or at MaxRunningRequests, is not repeated before a
// request has left the batch.
type SGLang struct {
	MaxRunningRequests int
	MaxPrefillTokens   int32 // prompt tokens in a step, unless it has only one prompt
	ChunkedPrefillSize int32 // prompt tokens in a step, to which longer prompts are chunked; 0: no limit
	EnableMixedChunk   bool
	IgnoreEOS          bool  // requests emit as many tokens as they may: none of their room is given to others
	InitNewTokenRatio  int64 // in 1/RatioOne, as are the next two
	MinNewTokenRatio   int64
	NewTokenRatioDecay int64 // per decode step
	ClipMaxNewTokens   int32 // the most tokens that any request is expected to emit
	RetractDecodeSteps int32 // decode steps for which a retraction makes room
	ByPriority         bool  // those with the lowest priority are retracted first
	Preemption         bool  // urgent requests take the places of others
	PreemptionMargin   int32 // by which priorities must differ for that, and more
	Order              CacheOrder

	sorter  sorter
	victims []*sim.Request // scratch
}

// Validate reports arguments with which nothing could run.
func (p *SGLang) Validate() error {
	switch {
	case p.MaxRunningRequests < 1 || p.MaxPrefillTokens < 1 || p.ChunkedPrefillSize < 0:
		return fmt.Errorf("policies: max_running_requests is %d, max_prefill_tokens %d and chunked_prefill_size %d; "+
			"must be at least 1, chunked_prefill_size at least 0",
			p.MaxRunningRequests, p.MaxPrefillTokens, p.ChunkedPrefillSize)
	case p.ClipMaxNewTokens < 1 || p.RetractDecodeSteps < 1:
		return fmt.Errorf("policies: the clip of new tokens is %d and the steps to make room for %d; must be at least 1",
			p.ClipMaxNewTokens, p.RetractDecodeSteps)
	case p.MinNewTokenRatio < 0 || p.InitNewTokenRatio < p.MinNewTokenRatio || p.InitNewTokenRatio > RatioOne ||
		p.NewTokenRatioDecay < 0:
		return fmt.Errorf("policies: the new-token ratio falls from %d to %d by %d (1e-9); must fall, from at most %d",
			p.InitNewTokenRatio, p.MinNewTokenRatio, p.NewTokenRatioDecay, RatioOne)
	case p.PreemptionMargin < 0:
		return fmt.Errorf("policies: priority_scheduling_preemption_threshold is %d; must be at least 0", p.PreemptionMargin)
	}
	return nil
}

// Sequential implements sim.Sequential: queues that are sorted by what the cache holds share the room to sort them in,
// and batches out of which requests are preempted, that for those.
func (p *SGLang) Sequential() bool { return p.Order != FCFS || p.Preemption }

// Counts implements sim.Counter.
func (p *SGLang) Counts() sim.Counts { return sim.CountPauses | sim.CountRemaining }

// Schedule implements sim.Scheduler.
func (p *SGLang) Schedule(in *sim.Instance, w *sim.Work) int {
	departures := in.Departures()
	steps := p.compose(in, w)
	if in.Running() == 0 && !in.Joins() { // an engine without a batch starts over
		p.setRatio(in, p.InitNewTokenRatio)
		if p.Preemption && in.Departures() > departures { // and tries again those for which others have made room
			steps = p.compose(in, w)
		}
	}
	return steps
}

// compose composes a step, and returns for how many it is valid.
func (p *SGLang) compose(in *sim.Instance, w *sim.Work) int {
	if in.Running() == 0 && in.Head() == nil {
		return 0
	}
	steps, ahead := 0, in.PolicyState[aheadState]
	in.PolicyState[aheadState] = notAhead
	if ahead == retractedAhead {
		in.PolicyState[ratioStep] = in.DecodeSteps() + 1 // the step at hand does not decay the ratio
	}
	if p.Preemption {
		clearFull(in)
	}
	if in.Prefilling() > 0 || ahead != notAhead || p.mayAdmit(in) {
		if ahead == plannedAhead && p.prefillPlanned(in, w) ||
			ahead <= sortedAhead && p.prefill(in, w, ahead == sortedAhead) {
			return 1
		}
		if p.Preemption || !full(in) || in.Prefilling() > 0 {
			steps = 1 // the tokens that are expected shrink with every step
		}
	}
	if w.FreeBlocks() < 0 && in.Ending() > 0 {
		w.EvictFor(demand(in, w))
		w.PauseDecodes() // what is about to end makes room
		return 1
	}
	if w.FreeBlocks() < 0 {
		p.retract(in, w)
		setAside(in, w, int64(in.Decoding()), 0)
		return 1
	}
	setAside(in, w, int64(in.Decoding()), 0)
	if !p.Preemption && (full(in) || in.Running() >= p.MaxRunningRequests) {
		w.BatchFull()
	}
	return steps
}

// mayAdmit reports whether an attempt to admit a request is worth making.
func (p *SGLang) mayAdmit(in *sim.Instance) bool {
	return !full(in) && (p.Preemption || in.Running() < p.MaxRunningRequests) && in.Head() != nil
}

// setAside has the cache evict what it can until so many pages hold nothing, and more for so many tokens: an allocator
// of pages of several tokens wants one more than it may need for each prompt and each decode.
func setAside(in *sim.Instance, w *sim.Work, pages, tokens int64) {
	if page := int64(in.Cache().BlockSize()); page > 1 {
		w.EvictFor((tokens+page-1)/page + pages)
	}
}

// full reports whether an attempt to admit a request has failed since the last departure.
func full(in *sim.Instance) bool { return in.PolicyState[fullSince] == in.Departures()+1 }

// clearFull has the next attempt made whether or not a request has left.
func clearFull(in *sim.Instance) { in.PolicyState[fullSince] = 0 }

// setFull records that no request can be admitted before the next departure.
func setFull(in *sim.Instance) { in.PolicyState[fullSince] = in.Departures() + 1 }

// budget is what a prefill batch may still take, in tokens. SGLang also asks for what the cache has without those that
// are expected, which is never less than with them.
type budget struct {
	total int64 // of the KV cache, less the tokens that running requests are expected to emit
	input int64 // of MaxPrefillTokens
	chunk int64 // of ChunkedPrefillSize
	page  int64 // by which each request may exceed what it computes

	remaining int64 // tokens that running requests may emit yet
	reserved  int64 // of them, those that are kept out of total, rounded down
	fraction  bool  // by which they are more

	prompts, tokens int64 // taken so far
	rows            int   // requests in the batch, with these
	blocks          int64 // free ones, but for those of these

	preempts  bool // others may lose their places
	ahead     bool // and with them what the step under way computes of them
	preempted bool // some have
}

// unlimited is more tokens than any step has.
const unlimited = 1 << 40

// charge deducts n tokens that are computed, in whole pages, one page more, and the tokens expected after them.
func (b *budget) charge(n, expected int32) {
	paged := (int64(n) + b.page - 1) / b.page * b.page
	b.total -= paged + b.page + int64(expected)
	b.input -= paged
	b.chunk -= paged
	b.prompts++
	b.tokens += int64(n)
}

// budget returns what an empty prefill batch may take. The tokens of decodes that ride along count in all of it.
func (p *SGLang) budget(in *sim.Instance) (b budget) {
	cache := in.Cache()
	b.page = int64(cache.BlockSize())
	b.total, b.input, b.chunk = cache.Free()*b.page, int64(p.MaxPrefillTokens), unlimited
	if p.ChunkedPrefillSize > 0 {
		b.chunk = int64(p.ChunkedPrefillSize)
	}
	if p.EnableMixedChunk {
		ride := int64(in.Decoding()+in.Ending()+completing(in)) + in.DraftTokens()
		b.total, b.input, b.chunk = b.total-ride, b.input-ride, b.chunk-ride
	}
	b.remaining = p.remaining(in)
	b.reserved, b.fraction = p.reserve(in, b.remaining)
	b.total -= b.reserved
	return b
}

// prefill composes a batch of prompts, with decodes if they ride along and fit, or reports that there is none. sorted
// says that the queue has its order already.
func (p *SGLang) prefill(in *sim.Instance, w *sim.Work, sorted bool) bool {
	w.PauseDecodes()
	b := p.budget(in)
	b.preempts = p.Preemption && !sorted
	if in.Prefilling() > 0 {
		clearFull(in) // SGLang takes a prompt that is not complete for a departure from the step before
		p.resume(in, w, &b)
	}
	if b.prompts > 0 || in.Prefilling() == 0 {
		if !sorted {
			p.order(in, w)
		}
		p.admit(in, w, &b)
	}
	return p.complete(in, w, &b)
}

// complete ends what prefill does for the prompts of b.
func (p *SGLang) complete(in *sim.Instance, w *sim.Work, b *budget) bool {
	composed := b.prompts > 0
	if composed {
		setAside(in, w, b.prompts, b.tokens)
	}
	chunks := demand(in, w)
	if !composed || p.EnableMixedChunk && in.Decoding() > 0 {
		w.ResumeDecodes()
	}
	if composed && w.FreeBlocks() < 0 {
		w.PauseDecodes()
	}
	rides := composed && !w.Paused()
	if rides {
		in.PolicyState[ratioStep]++ // only decode-only steps decay the ratio
		setAside(in, w, chunks+int64(in.Decoding()), 0)
		if p.Preemption {
			countRiding(in, w)
		}
	}
	if composed && (rides || in.Decoding() == 0) {
		clearFull(in) // the step's batch takes the place of the running one, in which that was noted
	}
	return composed
}

// resume gives the prompt under way its next chunk, if there is room for one.
func (p *SGLang) resume(in *sim.Instance, w *sim.Work, b *budget) {
	r := in.Prefill(0)
	n, expected := p.chunk(r, r.Pending(), b)
	if n < 1 || w.BlocksToExtend(r, n) > w.FreeBlocks() {
		return
	}
	w.Chunk(r, n)
	b.charge(n, expected)
}

// chunk returns how many of the pending tokens of r the next chunk has, and how many r is expected to emit after it.
// With less than a token of the cache to room it is a whole chunk, so that r goes on.
func (p *SGLang) chunk(r *sim.Request, pending int32, b *budget) (n, expected int32) {
	room := b.total
	if b.fraction {
		room--
	}
	limit := min(room, b.chunk)
	if limit <= 0 {
		limit = b.chunk
	}
	n = int32(min(int64(pending), limit))
	if n == pending {
		expected = min(r.Limit(), p.ClipMaxNewTokens)
	}
	return n, expected
}

// order gives the queue the order in which its requests are tried.
func (p *SGLang) order(in *sim.Instance, w *sim.Work) {
	if !p.sorter.sort(p.Order, in, w) {
		refresh(in, w)
	}
}

// admit adds waiting requests to a batch, which may have a chunk already.
func (p *SGLang) admit(in *sim.Instance, w *sim.Work, b *budget) {
	for {
		r, n, expected := p.next(in, w, b)
		if r == nil {
			return
		}
		taken := w.CachedFree()
		p.enter(w, r, n)
		b.total -= taken
		b.charge(n, expected)
		if b.total <= 0 {
			setFull(in)
			return
		}
	}
}

// enter admits r, and has the step compute n of its tokens.
func (p *SGLang) enter(w *sim.Work, r *sim.Request, n int32) {
	if p.Preemption {
		w.Count(r, r.Prompt+r.Emitted)
	}
	w.Admit(r, 0)
	w.Chunk(r, n)
}

// next returns the head of the queue if it may join a batch, how many of its tokens, and how many it is expected to
// emit; or nil.
func (p *SGLang) next(in *sim.Instance, w *sim.Work, b *budget) (r *sim.Request, n, expected int32) {
	r = in.Head()
	b.rows, b.blocks = in.Running(), w.FreeBlocks()
	return p.candidate(in, w, b, r)
}

// candidate returns r, a request that waits or nil, if it may join a batch; see next.
func (p *SGLang) candidate(in *sim.Instance, w *sim.Work, b *budget,
	r *sim.Request) (_ *sim.Request, n, expected int32) {
	switch {
	case r == nil, b.total > 0 && (b.input <= 0 || b.chunk <= 0):
		return nil, 0, 0
	case b.rows >= p.MaxRunningRequests || p.Preemption && full(in):
		preempted := b.preempts && p.preempt(in, w, b, r)
		setFull(in)
		if !preempted {
			return nil, 0, 0
		}
	}
	n = r.Pending() - w.CachedTokens(r)
	if p.Preemption {
		w.Count(r, n)
	}
	paged := (int64(n) + b.page - 1) / b.page * b.page
	more := int64(min(r.Limit()-r.Emitted, p.ClipMaxNewTokens))
	if b.rows > 0 && int64(n)+more+b.page >= b.total-w.CachedFree() {
		setFull(in)
		return nil, 0, 0
	}
	if p.ChunkedPrefillSize == 0 && b.prompts > 0 && paged >= b.input {
		return nil, 0, 0
	}
	expected = min(r.Limit(), p.ClipMaxNewTokens)
	if paged > b.chunk {
		n, expected = int32(b.chunk-b.chunk%b.page), 0
		if n <= 0 {
			return nil, 0, 0
		}
	}
	if w.BlocksToAdmit(n) > b.blocks {
		setFull(in)
		return nil, 0, 0
	}
	return r, n, expected
}
