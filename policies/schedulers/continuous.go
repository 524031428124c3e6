package schedulers

import (
	"fmt"

	"github.com/decodesim/decodesim/sim"
)

var _ sim.Scheduler = (*Continuous)(nil)

// Continuous gives prompts and decodes one common budget of tokens per step: continuous batching (Orca, OSDI '22), with
// chunked prefill (Sarathi-Serve, OSDI '24) unless it is Unchunked. It is the scheduler of vLLM V1
// (vllm/v1/core/sched/scheduler.py) and, depending on its arguments, of Sarathi, TensorRT-LLM and Orca.
//
// Running requests take tokens in order of admission, a decode one token and a prefill a chunk of its prompt. The
// remaining budget admits waiting requests. A running request that gets no KV block preempts. A waiting request never
// does, and if it does not fit, those behind it wait too. Its prompt is computed from the first token that is not in
// the prefix cache.
//
// vLLM walks the list of running requests; here decodes are a sum. The two agree because the budget can run out only
// at the end of that list: the demand of a running request never grows, and a request is admitted only with budget
// left. Drafts grow it, and a request whose cache has come from elsewhere takes no prompt's share of it, so a step that
// leaves no budget for all of them is composed by a walk here, too, as is one whose blocks do not suffice.
type Continuous struct {
	MaxNumSeqs                int     // requests in the batch
	MaxNumBatchedTokens       int32   // tokens per step, at least MaxNumSeqs
	LongPrefillTokenThreshold int32   // longest chunk of a prompt; 0: no limit
	SingleExempt              bool    // that limit does not bind a request that is alone, running or waiting: vLLM 0.33
	SchedulerReserveFullISL   bool    // admit a request only if its prompt fits whole, although only a chunk is allocated
	Unchunked                 bool    // a prompt runs whole in one step, or waits
	Reserve                   Reserve // what a request takes from the KV cache at admission
	MaxModelLen               int32   // tokens that Reserve MaxModelLen takes
	NoEvict                   bool    // admit a request only if it fits with all others at their limit: no preemption
	WatermarkBlocks           int64   // blocks that admission leaves free while any request runs
	Victim                    Victim  // which request is preempted
	// a request that preempts itself ends the step for those behind it, and one that preempts another before it, which
	// had no tokens in the step, has the next miss it: vLLM 0.22
	StopsAtSelf bool
	// a KV connector leaves blocks for what prompts under way still lack: vLLM 0.33
	LoadsReserve bool
	// each request in a step takes so many tokens of the budget beside those that it computes: a draft model's own, vLLM
	// 0.33
	DraftSlots int32
	// so many steps of decodes alone a prompt that could join them waits for others to join with, or for one on each of
	// the data-parallel ranks: TensorRT-LLM's batch_wait_timeout_iters, or timeout_iters. It goes with Unchunked.
	BatchWaitIters int
}

// Validate reports arguments that vLLM refuses too.
func (p *Continuous) Validate() error {
	switch {
	case p.MaxNumSeqs < 1:
		return fmt.Errorf("policies: max_num_seqs is %d, must be at least 1", p.MaxNumSeqs)
	case int(p.MaxNumBatchedTokens) < p.MaxNumSeqs:
		return fmt.Errorf("policies: max_num_batched_tokens is %d, must be at least max_num_seqs (%d)",
			p.MaxNumBatchedTokens, p.MaxNumSeqs)
	case p.DraftSlots < 0 || p.DraftSlots >= p.MaxNumBatchedTokens:
		return fmt.Errorf("policies: a draft model takes %d tokens for each request of a step, must be less than "+
			"max_num_batched_tokens (%d)", p.DraftSlots, p.MaxNumBatchedTokens)
	case p.LongPrefillTokenThreshold < 0:
		return fmt.Errorf("policies: long_prefill_token_threshold is %d, must be 0 (no limit) or more",
			p.LongPrefillTokenThreshold)
	case p.WatermarkBlocks < 0:
		return fmt.Errorf("policies: the watermark is %d blocks, must be 0 or more", p.WatermarkBlocks)
	case p.BatchWaitIters < 0 || p.BatchWaitIters > 0 && !p.Unchunked:
		return fmt.Errorf("policies: batch_wait_timeout_iters is %d, must be 0 or more, and 0 where prompts run in chunks",
			p.BatchWaitIters)
	case p.Reserve == MaxModelLen && p.MaxModelLen < 1:
		return fmt.Errorf("policies: max_model_len is %d, must be at least 1 to be reserved", p.MaxModelLen)
	}
	return nil
}

// Counts implements sim.Counter.
func (p *Continuous) Counts() sim.Counts {
	if p.NoEvict {
		return sim.CountPauses | sim.CountCommitted
	}
	return sim.CountPauses
}

// Schedule implements sim.Scheduler.
func (p *Continuous) Schedule(in *sim.Instance, w *sim.Work) int {
	if p.SingleExempt && p.LongPrefillTokenThreshold > 0 && in.Running()+in.Visible(2-in.Running()) <= 1 {
		free := *p
		free.LongPrefillTokenThreshold = 0
		return free.Schedule(in, w)
	}
	if in.ConnectorLoads() && p.unload(in, w) {
		return 1
	}
	budget, enough := p.resume(in, w)
	if enough && w.Fits() {
		return p.fill(in, w, budget)
	}
	if t := p.takeInTurn(in, w); !t.preempted {
		p.fill(in, w, t.budget)
	}
	return 1 // vLLM admits no request in a step that preempts, but may in the next
}

// fill spends the remaining budget of the step on what has been loaded, then on waiting requests, and returns for how
// many steps that holds; 0: no limit. If they leave some, more may be loaded.
func (p *Continuous) fill(in *sim.Instance, w *sim.Work, budget int32) (steps int) {
	alike := w.Prompts() == 0
	if !in.ConnectorLoads() {
		_, steps = p.admit(in, w, budget, alike, false)
		return steps
	}
	ordered := in.LoadsInOrder()
	budget, all := p.join(in, w, budget, alike)
	if !all {
		w.HeadBlocked()
		return 0
	}
	budget, steps = p.admit(in, w, budget, alike, ordered)
	if budget > p.DraftSlots && !ordered {
		w.AllowLoads(p.loadRules(in.Running()))
	}
	return steps
}

// leaves returns the blocks that admissions leave free.
func (p *Continuous) leaves(in *sim.Instance) int64 { return p.leavesBeside(in.Running()) }

// leavesBeside returns the blocks that an admission leaves free beside so many requests that run.
func (p *Continuous) leavesBeside(running int) int64 {
	if running == 0 {
		return 0
	}
	return p.WatermarkBlocks
}

// resume gives running prefills their next chunks and returns the remaining budget, and whether it is enough for those
// that take their tokens after a prompt.
func (p *Continuous) resume(in *sim.Instance, w *sim.Work) (budget int32, enough bool) {
	budget = p.MaxNumBatchedTokens - int32(in.Decoding())*(1+p.DraftSlots) - int32(in.DraftTokens())
	enough = budget >= 0
	for i := range in.Prefilling() {
		r := in.Prefill(i)
		if want := p.chunk(r.Pending(), p.MaxNumBatchedTokens); want > budget-p.DraftSlots && in.AdmittedAfter(r) != nil {
			enough = false
		}
		if n := p.chunk(r.Pending(), budget-p.DraftSlots); n > 0 { // drafts may leave no budget
			w.Chunk(r, n)
			budget -= n + p.DraftSlots
		}
	}
	return budget, enough
}

// turns is what is left of a step in which requests take their blocks one after the other.
type turns struct {
	budget    int32
	miss      int // requests that come next and miss the step
	preempted bool
}

// takeInTurn gives the running requests their tokens and blocks one after the other.
func (p *Continuous) takeInTurn(in *sim.Instance, w *sim.Work) turns {
	w.TakeInTurn()
	t := turns{budget: p.MaxNumBatchedTokens}
	for r := in.FirstAdmitted(); r != nil; {
		if t.miss > 0 || t.budget <= p.DraftSlots {
			t.miss = max(0, t.miss-1)
			next := in.AdmittedAfter(r)
			w.LeaveOut(r)
			r = next
			continue
		}
		if n := p.share(in.Wants(r), !in.Prefills(r), t.budget); n == 0 {
			r = in.AdmittedAfter(r)
		} else {
			r = p.take(in, w, r, n, &t)
		}
	}
	w.EndTurns()
	return t
}

// take has r take blocks for n tokens and, while there are not enough, preempts; it returns the request whose turn is
// next. What a victim had taken before is free for those that come now. If a victim's blocks would not be, r and those
// behind it miss the step.
func (p *Continuous) take(in *sim.Instance, w *sim.Work, r *sim.Request, n int32, t *turns) *sim.Request {
	for !w.Take(r, n) {
		victim := p.Victim.anywhere(in)
		if !w.Frees(victim) {
			t.miss = in.Running()
			return r
		}
		t.preempted = true
		if victim == r {
			next := in.AdmittedAfter(r)
			w.Preempt(r, sim.Recompute)
			if p.StopsAtSelf {
				t.miss = in.Running()
			}
			return next
		}
		if p.StopsAtSelf && w.Taken(victim) == 0 && in.Has(victim) && in.AdmittedEarlier(victim, r) {
			t.miss++
		}
		if taken := w.Taken(victim); taken > 0 {
			t.budget += taken + p.DraftSlots
		}
		w.Preempt(victim, sim.Recompute)
	}
	t.budget -= n + p.DraftSlots
	return in.AdmittedAfter(r)
}

// share returns how many of the tokens that a running request wants it gets of such a budget.
func (p *Continuous) share(want int32, decodes bool, budget int32) int32 {
	if decodes {
		return min(want, budget-p.DraftSlots)
	}
	return p.chunk(want, budget-p.DraftSlots)
}

// chunk returns how many of the pending tokens of a prompt fit into a step.
func (p *Continuous) chunk(pending, budget int32) int32 {
	n := min(pending, budget)
	if p.LongPrefillTokenThreshold > 0 {
		n = min(n, p.LongPrefillTokenThreshold)
	}
	return n
}
