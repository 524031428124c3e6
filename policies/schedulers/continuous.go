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
	// so many steps of decodes alone a prompt that could join them waits for others to join with: TensorRT-LLM's
	// batch_wait_timeout_iters. It goes with Unchunked.
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
	if r := in.Loaded(); r != nil && in.Running() == 0 && w.BlocksToJoin(r, 0, 1) > w.FreeBlocks() {
		w.Unload(r) // others that are loaded have the blocks, and vLLM would wait for ever
		return 1
	}
	budget, enough := p.resume(in, w)
	if enough && w.FreeBlocks() >= 0 {
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
	budget, all := p.join(in, w, budget, alike)
	if !all {
		w.HeadBlocked()
		return 0
	}
	budget, steps = p.admit(in, w, budget, alike)
	if budget > p.DraftSlots {
		w.AllowLoads(sim.LoadRules{Leave: p.leaves(in), Reserves: p.LoadsReserve, Whole: p.SchedulerReserveFullISL})
	}
	return steps
}

// join admits what KV connectors have loaded, and returns the budget that is left, and whether no request waits for
// blocks or for a row of the others' width, if those that run have alike rows.
func (p *Continuous) join(in *sim.Instance, w *sim.Work, budget int32, alike bool) (left int32, all bool) {
	for budget > p.DraftSlots && in.Running() < p.MaxNumSeqs {
		r := in.Loaded()
		if r == nil {
			break
		}
		w.Find(r)
		fill, room := int32(0), budget-p.DraftSlots
		if alike && r.Pending() == 0 && (in.Decoding() > 0 || r.Computed > 1) {
			fill = p.filler(w, r.Computed-1)
		}
		if blocks := w.BlocksToJoin(r, fill, room); fill >= room || blocks > w.FreeBlocks()-p.leaves(in) {
			return budget, false
		}
		budget -= w.Join(r, fill, room) + p.DraftSlots
	}
	return budget, true
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
		n := in.Wants(r)
		if in.Prefills(r) {
			n = p.chunk(n, t.budget-p.DraftSlots)
		} else {
			n = min(n, t.budget-p.DraftSlots)
		}
		if n == 0 {
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
		victim := p.Victim.of(in)
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
		if p.StopsAtSelf && w.Taken(victim) == 0 && in.AdmittedEarlier(victim, r) {
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

// admit spends the remaining budget of the step on waiting requests, and returns what is left of it, and for how many
// steps that holds; 0: no limit. Alike says that all rows are of decodes so far.
func (p *Continuous) admit(in *sim.Instance, w *sim.Work, budget int32, alike bool) (left int32, steps int) {
	for prompts := in.Prefilling(); budget > p.DraftSlots && in.Running() < p.MaxNumSeqs; prompts++ {
		r := in.Head()
		if r == nil {
			return budget, 0
		}
		cached := w.CachedTokens(r)
		pending := r.Pending() - cached
		room := budget - p.DraftSlots
		n := p.chunk(pending, room)
		if p.Unchunked {
			n = pending
			if n > room && (prompts > 0 || r.Preemptions == 0 && r.Emitted == 0) {
				break
			}
		}
		fill := int32(0)
		if pending == 1 && alike && (in.Decoding() > 0 || cached > 0) {
			fill = p.filler(w, cached)
		}
		if n+fill > room && fill > 0 {
			break // vLLM: rather not admitted than of another width
		}
		need, reserve := n, int32(0)
		if p.Reserve != AsComputed || p.SchedulerReserveFullISL {
			need, reserve = p.need(r, pending)
		}
		need = max(need, w.Slots(n+fill))
		ahead := w.Ahead(r) // it has been admitted, and takes no more than it computes
		if ahead {
			need = max(n, w.Slots(n+fill), reserve-cached)
		}
		blocks := w.BlocksToAdmit(need)
		if blocks > w.FreeBlocks() || !ahead && p.withholds(in, w, r, blocks, cached) {
			if need < pending && w.EvictionsMakeRoom(need) {
				return budget, 1
			}
			break
		}
		if p.BatchWaitIters > 0 && prompts == 0 && p.waits(in) {
			return budget, 1 // in the next it may wait for blocks
		}
		w.Admit(r, reserve)
		w.Chunk(r, n)
		if fill > 0 {
			w.Fill(r, fill)
		}
		budget -= n + fill + p.DraftSlots
	}
	if in.Running() >= p.MaxNumSeqs {
		w.BatchFull()
	} else {
		w.HeadBlocked()
	}
	return budget, 0
}

// waited is what Continuous keeps in an instance's PolicyState, with BatchWaitIters: the steps of decodes that prompts
// have waited for others, since the last that did not.
const waited = 0

// waits reports whether a prompt that could join decodes waits for others in this step, and counts the step if so. As
// in TensorRT-LLM (tensorrt_llm/_torch/pyexecutor/py_executor.py, _waiting_requests; from memory, unverified) all steps
// count in which some prompt waited, of whichever microbatch of a pipeline, and the count goes on where no decode is
// left to wait with.
func (p *Continuous) waits(in *sim.Instance) bool {
	if in.Decoding() == 0 {
		return false
	}
	state := &in.PolicyState
	if line := in.Pipeline(); line != nil {
		state = &line.PolicyState
	}
	if int(state[waited]) >= p.BatchWaitIters {
		state[waited] = 0
		return false
	}
	state[waited]++
	return true
}

// filler returns how many drafts stand beside the only token of a request that is admitted, as far as the longest
// sequence has room for them and for a token more. vLLM would wait for ever for a row that no step is wide enough for.
func (p *Continuous) filler(w *sim.Work, cached int32) int32 {
	if k := w.Filler(); cached+1+k+1 <= p.MaxModelLen && 1+k+p.DraftSlots <= p.MaxNumBatchedTokens {
		return k
	}
	return 0
}

// need returns the tokens beyond the cached ones for which there must be free blocks to admit r, where that is more
// than its next chunk, and the tokens to reserve blocks for, cached ones included.
func (p *Continuous) need(r *sim.Request, pending int32) (need, reserve int32) {
	switch p.Reserve {
	case WholePrompt:
		return pending, r.Prompt + r.Emitted
	case MaxOutput:
		return r.Prompt + r.Limit(), r.Prompt + r.Limit()
	case MaxModelLen:
		return p.MaxModelLen, p.MaxModelLen
	}
	return pending, 0
}

// withholds reports whether r, of which so many tokens are cached, must wait although the blocks that it takes are
// free.
func (p *Continuous) withholds(in *sim.Instance, w *sim.Work, r *sim.Request, blocks int64, cached int32) bool {
	if blocks > w.FreeBlocks()-p.leaves(in) {
		return true
	}
	return p.NoEvict && w.BlocksToAdmit(r.Prompt+r.Limit()-cached) > w.FreeBlocks()-w.CommittedBlocks()
}

// chunk returns how many of the pending tokens of a prompt fit into a step.
func (p *Continuous) chunk(pending, budget int32) int32 {
	n := min(pending, budget)
	if p.LongPrefillTokenThreshold > 0 {
		n = min(n, p.LongPrefillTokenThreshold)
	}
	return n
}
