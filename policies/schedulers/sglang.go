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
	InitNewTokenRatio  int64 // in 1/RatioOne, as are the next two
	MinNewTokenRatio   int64
	NewTokenRatioDecay int64 // per decode step
	ClipMaxNewTokens   int32 // the most tokens that any request is expected to emit
	RetractDecodeSteps int32 // decode steps for which a retraction makes room
	Order              CacheOrder

	sorter sorter
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
	}
	return nil
}

// Sequential implements sim.Sequential: queues that are sorted by what the cache holds share the room to sort them in.
func (p *SGLang) Sequential() bool { return p.Order != FCFS }

// Counts implements sim.Counter.
func (p *SGLang) Counts() sim.Counts { return sim.CountPauses | sim.CountRemaining }

// Schedule implements sim.Scheduler.
func (p *SGLang) Schedule(in *sim.Instance, w *sim.Work) int {
	steps := p.compose(in, w)
	if in.Running() == 0 { // an engine without a batch starts over
		p.setRatio(in, p.InitNewTokenRatio)
	}
	return steps
}

// compose composes a step, and returns for how many steps it is valid.
func (p *SGLang) compose(in *sim.Instance, w *sim.Work) int {
	if in.Running() == 0 && in.Head() == nil {
		return 0
	}
	steps := 0
	if in.Prefilling() > 0 || !full(in) && in.Running() < p.MaxRunningRequests && in.Head() != nil {
		if p.EnableMixedChunk && w.FreeBlocks() < 0 {
			p.retract(in, w)
			return 1
		}
		if p.prefill(in, w) {
			if p.EnableMixedChunk && in.Decoding() > 0 {
				in.PolicyState[ratioStep]++ // only decode-only steps decay SGLang's ratio
			}
			return 1
		}
		if !full(in) || in.Prefilling() > 0 {
			steps = 1 // the tokens that are expected shrink with every step
		}
	}
	if w.FreeBlocks() < 0 {
		p.retract(in, w)
		return 1
	}
	if full(in) || in.Running() >= p.MaxRunningRequests {
		w.BatchFull()
	}
	return steps
}

// full reports whether an attempt to admit a request has failed since the last departure.
func full(in *sim.Instance) bool { return in.PolicyState[fullSince] == in.Departures()+1 }

// setFull records that no request can be admitted before the next departure.
func setFull(in *sim.Instance) { in.PolicyState[fullSince] = in.Departures() + 1 }

// budget is what a prefill batch may still take, in tokens.
type budget struct {
	total int64 // of the KV cache, less the tokens that running requests are expected to emit
	now   int64 // of the KV cache
	input int64 // of MaxPrefillTokens
	chunk int64 // of ChunkedPrefillSize
}

func (b *budget) charge(n, expected int32) {
	b.total -= int64(n) + int64(expected)
	b.now -= int64(n)
	b.input -= int64(n)
	b.chunk -= int64(n)
}

// budget returns what an empty prefill batch may take. The tokens of decodes that ride along count in all of it.
func (p *SGLang) budget(in *sim.Instance) budget {
	cache := in.Cache()
	free, ride := cache.Free()*int64(cache.BlockSize()), int64(0)
	if p.EnableMixedChunk {
		ride = int64(in.Decoding()) + in.DraftTokens()
	}
	b := budget{total: free - ride, now: free - ride, input: int64(p.MaxPrefillTokens) - ride, chunk: 1 << 40}
	if expected := in.RemainingTokens(p.ClipMaxNewTokens); expected > 0 {
		b.total -= (p.ratio(in)*expected + RatioOne - 1) / RatioOne
	}
	if p.ChunkedPrefillSize > 0 {
		b.chunk = int64(p.ChunkedPrefillSize) - ride
	}
	return b
}

// prefill composes a batch of prompts, or reports that there is none.
func (p *SGLang) prefill(in *sim.Instance, w *sim.Work) bool {
	b := p.budget(in)
	if !p.EnableMixedChunk {
		w.PauseDecodes()
	}
	composed := false
	if in.Prefilling() > 0 {
		composed = p.resume(in, w, &b)
	}
	if (composed || in.Prefilling() == 0) && !full(in) {
		composed = p.admit(in, w, &b, composed)
	}
	if !composed {
		w.ResumeDecodes()
	}
	return composed
}

// resume gives the prompt under way its next chunk, or reports that there is no room for one.
func (p *SGLang) resume(in *sim.Instance, w *sim.Work, b *budget) bool {
	r := in.Prefill(0)
	n := int32(max(0, min(int64(r.Pending()), b.chunk, b.total)))
	expected := p.expected(r)
	if n < r.Pending() {
		n, expected = n-n%in.Cache().BlockSize(), 0
	}
	if n < 1 || w.BlocksToExtend(r, n) > w.FreeBlocks() {
		return false
	}
	w.Chunk(r, n)
	b.charge(n, expected)
	return true
}

// admit adds waiting requests to a batch, which may have a chunk already, and reports whether the batch has any then.
func (p *SGLang) admit(in *sim.Instance, w *sim.Work, b *budget, composed bool) bool {
	if p.Order != FCFS {
		p.sorter.sort(p.Order, in, w)
	}
	for {
		r := in.Head()
		if r == nil {
			return composed
		}
		first := in.Running() == 0
		n, expected := r.Pending()-w.CachedTokens(r), p.expected(r)
		switch {
		case !first && (b.total <= 0 || b.now <= 0):
			setFull(in)
			return composed
		case b.input <= 0, b.chunk <= 0:
			return composed
		case in.Running() >= p.MaxRunningRequests, !first && int64(n)+int64(expected) >= b.total:
			setFull(in)
			return composed
		case int64(n) > b.input && composed:
			return composed
		}
		whole := int64(n) <= b.chunk
		if !whole {
			n, expected = max(0, int32(b.chunk)-int32(b.chunk)%in.Cache().BlockSize()), 0
			if n == 0 {
				return composed
			}
		}
		if w.BlocksToAdmit(n) > w.FreeBlocks() {
			setFull(in)
			return composed
		}
		w.Admit(r, 0)
		w.Chunk(r, n)
		b.charge(n, expected)
		composed = true
		if !whole {
			return true
		}
	}
}

// expected returns the most tokens that r is expected to emit.
func (p *SGLang) expected(r *sim.Request) int32 { return min(r.Limit()-r.Emitted, p.ClipMaxNewTokens) }
