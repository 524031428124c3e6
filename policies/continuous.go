package policies

import (
	"fmt"

	"github.com/decodesim/decodesim/sim"
)

// Continuous is the default scheduler of vLLM V1 (vllm/v1/core/sched/scheduler.py): continuous batching in arrival order
// with chunked prefill. Each step has a budget of tokens; running requests take theirs in order of admission, one token
// if they decode and a chunk of prompt otherwise; what is left admits waiting requests. A running request that finds no
// KV block preempts the one admitted last, which is recomputed later; a waiting request never preempts. It starts behind
// what the prefix cache holds of it.
//
// vLLM walks the running list; here decodes are a sum. The two agree because the budget can run out only at the tail of
// the list: nobody's demand grows while it runs, and a request is admitted only with budget left over. For the same
// reason the tails preempted are as few as it takes to fit the whole step.
type Continuous struct {
	MaxNumSeqs                int   // requests in the batch
	MaxNumBatchedTokens       int32 // tokens per step, at least MaxNumSeqs
	LongPrefillTokenThreshold int32 // longest chunk of prompt; 0: no limit
	SchedulerReserveFullISL   bool  // admit only what fits whole, although only a chunk is allocated
}

var _ sim.Scheduler = (*Continuous)(nil)

// Validate reports arguments that vLLM refuses too.
func (p *Continuous) Validate() error {
	switch {
	case p.MaxNumSeqs < 1:
		return fmt.Errorf("policies: max_num_seqs is %d, must be at least 1", p.MaxNumSeqs)
	case int(p.MaxNumBatchedTokens) < p.MaxNumSeqs:
		return fmt.Errorf("policies: max_num_batched_tokens is %d, must be at least max_num_seqs (%d)", p.MaxNumBatchedTokens, p.MaxNumSeqs)
	case p.LongPrefillTokenThreshold < 0:
		return fmt.Errorf("policies: long_prefill_token_threshold is %d, must be 0 (no limit) or more", p.LongPrefillTokenThreshold)
	}
	return nil
}

// Schedule implements sim.Scheduler.
func (p *Continuous) Schedule(in *sim.Instance, w *sim.Work) int {
	budget := p.MaxNumBatchedTokens - int32(in.Decoding())
	for i := range in.Prefilling() {
		r := in.Prefill(i)
		n := p.chunk(r.Pending(), budget)
		w.Chunk(r, n)
		budget -= n
	}
	if w.Room() < 0 {
		for w.Room() < 0 {
			w.PreemptTail()
		}
		return 1 // vLLM admits nobody in a step that preempts, but may in the next
	}
	for budget > 0 && in.Running() < p.MaxNumSeqs {
		r := in.Head()
		if r == nil {
			return 0
		}
		pending := r.Pending() - w.Cached(r)
		n := p.chunk(pending, budget)
		need := n
		if p.SchedulerReserveFullISL {
			need = pending
		}
		if w.Need(need) > w.Room() {
			break
		}
		w.Admit(r)
		w.Chunk(r, n)
		budget -= n
	}
	w.Close()
	return 0
}

// chunk returns how many of the pending tokens of a prompt fit a step.
func (p *Continuous) chunk(pending, budget int32) int32 {
	n := min(pending, budget)
	if p.LongPrefillTokenThreshold > 0 {
		n = min(n, p.LongPrefillTokenThreshold)
	}
	return n
}
