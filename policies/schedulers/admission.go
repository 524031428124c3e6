package schedulers

import "github.com/decodesim/decodesim/sim"

// admit spends the remaining budget of the step on waiting requests, and returns what is left of it, and for how many
// steps that holds; 0: no limit. Alike says that all rows are of decodes so far, and ordered that loads are admitted in
// the order of the queue.
func (p *Continuous) admit(in *sim.Instance, w *sim.Work, budget int32, alike, ordered bool) (left int32, steps int) {
	for budget > p.DraftSlots && in.Running() < p.MaxNumSeqs {
		r := in.Head()
		if ordered && !w.LoadBefore(r, p.loadRules(in.Running())) {
			break
		}
		if r == nil {
			return budget, 0
		}
		cached, fill := w.CachedTokens(r), int32(0)
		if w.Loads() {
			if w.Load(r, p.hostRules(in)) {
				continue
			}
			if w.CachedFree() > 0 {
				return budget, 1 // what decodes evict of it may be all that host memory goes on from
			}
			break
		}
		prompts := in.Prefilling()
		if r.Pending()-cached == 1 && alike && (in.Decoding() > 0 || cached > 0) {
			fill = p.filler(w, cached)
		}
		a, fits := p.admission(w, r, cached, fill, budget, prompts)
		if !fits {
			break
		}
		ahead := w.Ahead(r) // it has been admitted, and takes no more than it computes
		need := a.need
		if ahead {
			need = a.takes
		}
		blocks := w.BlocksToAdmit(a.takes)
		if need > a.takes {
			blocks = max(blocks, w.BlocksToFit(need))
		}
		if blocks > w.FreeBlocks() || !ahead && p.withholds(in, w, r, blocks, cached) {
			if blocks == w.BlocksToAdmit(a.takes) && w.EvictionsMakeRoom() {
				return budget, 1
			}
			steps = w.StepsToFree(blocks + p.leaves(in))
			break
		}
		if p.BatchWaitIters > 0 && prompts == 0 && p.waits(in) {
			return budget, 1 // in the next it may wait for blocks
		}
		w.Admit(r, a.reserve)
		w.Chunk(r, a.tokens)
		if fill > 0 {
			w.Fill(r, fill)
		}
		budget -= a.tokens + fill + p.DraftSlots
	}
	if in.Running() >= p.MaxNumSeqs {
		w.BatchFull()
	} else {
		w.HeadBlocked()
	}
	return budget, steps
}

// admission is what a waiting request takes of a step that admits it. Of the cached tokens it has the blocks.
type admission struct {
	tokens  int32 // of its prompt, that it computes
	need    int32 // tokens beyond the cached ones for which there must be free blocks
	takes   int32 // and for which it takes them
	reserve int32 // tokens to reserve blocks for, cached ones included; 0: for none
}

// admission returns what r, of which so many tokens are cached, takes of a step with such a budget in which so many
// prompts have tokens, with so many wrong drafts beside its own, and whether it fits. vLLM admits no request
// rather than one with a row of another width.
func (p *Continuous) admission(w *sim.Work, r *sim.Request, cached, fill, budget int32, prompts int) (admission, bool) {
	pending, room := r.Pending()-cached, budget-p.DraftSlots
	a := admission{tokens: p.chunk(pending, room)}
	if p.Unchunked {
		a.tokens = pending
		if pending > room && (prompts > 0 || r.Preemptions == 0 && r.Emitted == 0) {
			return a, false
		}
	}
	if fill > 0 && a.tokens+fill > room {
		return a, false
	}
	a.need = a.tokens
	if p.Reserve != AsComputed || p.SchedulerReserveFullISL {
		a.need, a.reserve = p.need(r, pending)
	}
	a.takes = max(a.tokens, w.Slots(a.tokens+fill), a.reserve-cached)
	a.need = max(a.need, a.takes)
	return a, true
}

// waited is what Continuous keeps in an instance's PolicyState, with BatchWaitIters: the steps of decodes that prompts
// have waited for others, since the last that did not.
const waited = 0

// waits reports whether a prompt that could join decodes waits for others in this step, and counts the step if so. As
// in TensorRT-LLM (tensorrt_llm/_torch/pyexecutor/py_executor.py, _waiting_requests; from memory, unverified) all steps
// count in which some prompt waited, of whichever microbatch of a pipeline, and the count goes on where no decode is
// left to wait with.
func (p *Continuous) waits(in *sim.Instance) bool {
	state, line := &in.PolicyState, in.Pipeline()
	switch replica := in.Replica(); {
	case line != nil:
		state = &line.PolicyState
	case replica != in:
		return p.waitsForRanks(replica)
	}
	if in.Decoding() == 0 {
		return false
	}
	if int(state[waited]) >= p.BatchWaitIters {
		state[waited] = 0
		return false
	}
	state[waited]++
	return true
}

// What Continuous keeps in the PolicyState of a replica of several ranks, with BatchWaitIters: one more than the steps
// before the one for which it was last asked whether prompts wait, whether they do, and the steps before the last one
// in which they did not.
const (
	asked = iota
	waiting
	passed
)

// waitsForRanks reports whether the prompts of all ranks of a replica wait in this step: while each rank decodes, until
// each has a prompt, and at most until every BatchWaitIters-th step since one in which they did not wait, whenever a
// prompt came. As in TensorRT-LLM with attention data parallelism (tensorrt_llm/_torch/pyexecutor/py_executor.py,
// _balance_adp_requests: enable_balance and timeout_iters of attention_dp_config, without batching_wait_iters; from
// memory, unverified). The ranks agree before any of them has taken a prompt.
func (p *Continuous) waitsForRanks(replica *sim.Instance) bool {
	state, step := &replica.PolicyState, replica.StepsEnded()
	if state[asked] == step+1 {
		return state[waiting] > 0
	}
	state[asked], state[waiting] = step+1, 0
	decode, prompts := true, true
	for i := range replica.Ranks() {
		rank := replica.Rank(i)
		decode = decode && rank.Decoding() > 0
		prompts = prompts && rank.Queued() > 0 && rank.Running() < p.MaxNumSeqs
	}
	since := step - state[passed]
	if !decode || prompts || since > 0 && since%int64(p.BatchWaitIters) == 0 {
		state[passed] = step
		return false
	}
	state[waiting] = 1
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
