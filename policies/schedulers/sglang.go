package schedulers

import (
	"fmt"

	"github.com/decodesim/decodesim/sim"
)

// SGLang runs prompts before decodes, in batches of their own unless EnableMixedChunk lets decodes ride along, and
// admits a request only if there is room for what it and the running ones are expected to emit
// (python/sglang/srt/managers/ scheduler.py, schedule_policy.py, schedule_batch.py). The running ones are expected to
// emit a share of what they may: the new-token ratio, which falls with every decode step and is raised when the
// estimate was too low. Then those that have emitted least are retracted: they wait at the end of the queue and find
// their prompts' cache again.
//
// An attempt that ends for want of seats or cache is not repeated before somebody has left the batch.
type SGLang struct {
	MaxRunningRequests int
	MaxPrefillTokens   int32 // prompt tokens in a step, unless it has one prompt only
	ChunkedPrefillSize int32 // prompt tokens in a step; longer prompts are chunked; 0: no limit
	EnableMixedChunk   bool
	InitNewTokenRatio  int64 // in 1e-9, as the others
	MinNewTokenRatio   int64
	NewTokenRatioDecay int64 // per decode step
	ClipMaxNewTokens   int32 // nobody is expected to emit more
	RetractDecodeSteps int32 // for which retracting makes room
	Order              CacheOrder

	sorter cacheOrder
}

var _ sim.Scheduler = (*SGLang)(nil)

// RatioOne is a new-token ratio of 1.
const RatioOne = 1_000_000_000

// Validate reports arguments with which nothing could run.
func (p *SGLang) Validate() error {
	switch {
	case p.MaxRunningRequests < 1 || p.MaxPrefillTokens < 1 || p.ChunkedPrefillSize < 0 || p.ClipMaxNewTokens < 1 || p.RetractDecodeSteps < 1:
		return fmt.Errorf("policies: max_running_requests is %d, max_prefill_tokens %d, chunked_prefill_size %d, the clip of new tokens %d and the steps to make room for %d; must be at least 1, chunked_prefill_size at least 0",
			p.MaxRunningRequests, p.MaxPrefillTokens, p.ChunkedPrefillSize, p.ClipMaxNewTokens, p.RetractDecodeSteps)
	case p.MinNewTokenRatio < 0 || p.InitNewTokenRatio < p.MinNewTokenRatio || p.InitNewTokenRatio > RatioOne || p.NewTokenRatioDecay < 0:
		return fmt.Errorf("policies: the new-token ratio falls from %d to %d by %d (1e-9); must fall, from at most %d",
			p.InitNewTokenRatio, p.MinNewTokenRatio, p.NewTokenRatioDecay, RatioOne)
	}
	return nil
}

// What an instance remembers: its ratio, plus one, as it was last set (0: never), the decode step of that, and by how
// many had departed, plus one, when an attempt found it full.
const (
	ratioSet = iota
	ratioStep
	fullSince
)

// Keeps implements sim.Counter.
func (p *SGLang) Counts() sim.Counts { return sim.CountPauses | sim.CountRemaining }

// Schedule implements sim.Scheduler.
func (p *SGLang) Schedule(in *sim.Instance, w *sim.Work) int {
	steps := p.compose(in, w)
	if in.Running() == 0 { // an engine without a batch starts over
		p.setRatio(in, p.InitNewTokenRatio)
	}
	return steps
}

// compose composes a step, and returns for how many it holds.
func (p *SGLang) compose(in *sim.Instance, w *sim.Work) int {
	if in.Running() == 0 && in.Head() == nil {
		return 0
	}
	steps := 0
	full := in.PolicyState[fullSince] == in.Departures()+1
	if in.Prefilling() > 0 || !full && in.Running() < p.MaxRunningRequests && in.Head() != nil {
		if p.EnableMixedChunk && w.FreeBlocks() < 0 {
			p.retract(in, w)
			return 1
		}
		if p.prefill(in, w) {
			if p.EnableMixedChunk && in.Decoding() > 0 {
				in.PolicyState[ratioStep]++ // SGLang decays the ratio in steps of decodes alone
			}
			return 1
		}
		if full = in.PolicyState[fullSince] == in.Departures()+1; !full || in.Prefilling() > 0 {
			steps = 1 // what is expected to be emitted shrinks with every step
		}
	}
	if w.FreeBlocks() < 0 {
		p.retract(in, w)
		return 1
	}
	if full || in.Running() >= p.MaxRunningRequests {
		w.BatchFull()
	}
	return steps
}

// budget is what a prefill batch may still take, in tokens.
type budget struct {
	total, now   int64 // of the cache: with what everybody is expected to emit, and without
	input, chunk int64
}

func (b *budget) charge(n, expected int32) {
	b.total -= int64(n) + int64(expected)
	b.now -= int64(n)
	b.input -= int64(n)
	b.chunk -= int64(n)
}

// budget returns what a batch may take before anybody is in it.
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
	some := false
	if in.Prefilling() > 0 {
		some = p.resume(in, w, &b)
	}
	if (some || in.Prefilling() == 0) && in.PolicyState[fullSince] != in.Departures()+1 {
		some = p.admit(in, w, &b, some)
	}
	if !some {
		w.ResumeDecodes()
	}
	return some
}

// resume continues the prompt that is under way, or reports that it cannot.
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

// admit adds requests that wait to a batch, which has some already or none, and reports whether it has some then.
func (p *SGLang) admit(in *sim.Instance, w *sim.Work, b *budget, some bool) bool {
	if p.Order != FCFS {
		p.sorter.sort(p.Order, in, w)
	}
	for {
		r := in.Head()
		if r == nil {
			return some
		}
		alone := in.Running() == 0
		n, expected := r.Pending()-w.CachedTokens(r), p.expected(r)
		switch {
		case !alone && (b.total <= 0 || b.now <= 0):
			p.full(in)
			return some
		case b.input <= 0, b.chunk <= 0:
			return some
		case in.Running() >= p.MaxRunningRequests, !alone && int64(n)+int64(expected) >= b.total:
			p.full(in)
			return some
		case int64(n) > b.input && some:
			return some
		}
		whole := int64(n) <= b.chunk
		if !whole {
			n = int32(b.chunk) - int32(b.chunk)%in.Cache().BlockSize()
			if n, expected = max(n, 0), 0; n == 0 {
				return some
			}
		}
		if w.BlocksToAdmit(n) > w.FreeBlocks() {
			p.full(in)
			return some
		}
		w.Admit(r, 0)
		w.Chunk(r, n)
		b.charge(n, expected)
		some = true
		if !whole {
			return true
		}
	}
}

// expected returns how many tokens r is expected to emit at most.
func (p *SGLang) expected(r *sim.Request) int32 { return min(r.Limit()-r.Emitted, p.ClipMaxNewTokens) }

// full notes that nobody else can be admitted before somebody departs.
func (p *SGLang) full(in *sim.Instance) { in.PolicyState[fullSince] = in.Departures() + 1 }

// victim returns the sequence that has emitted least; of those the one with the longest prompt, and of those the
// latest.
func (p *SGLang) victim(in *sim.Instance) (worst *sim.Request) {
	least := int32(0)
	for r := in.LastAdmitted(); r != nil; r = in.AdmittedBefore(r) {
		if !in.Decodes(r) {
			continue
		}
		n := in.Emitted(r)
		if worst == nil || n < least || n == least && r.Prompt > worst.Prompt {
			worst, least = r, n
		}
	}
	return worst
}
