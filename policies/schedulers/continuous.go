package schedulers

import (
	"fmt"

	"github.com/decodesim/decodesim/sim"
)

// Continuous gives prompts and decodes alike one budget of tokens per step: continuous batching, iteration by
// iteration (Orca, OSDI '22), with chunked prefill (Sarathi-Serve, OSDI '24) unless it is Unchunked. It is the
// scheduler of vLLM V1 (vllm/v1/core/sched/scheduler.py) and, by its arguments, of Sarathi, TensorRT-LLM and Orca.
//
// Running requests take tokens in order of admission, one if they decode and a chunk of prompt otherwise; what is left
// admits waiting requests. A running request that finds no KV block preempts; a waiting one never does, and one that
// does not fit holds up those behind it. It starts behind what the prefix cache holds of it.
//
// vLLM walks the running list; here decodes are a sum. The two agree because the budget can run out only at the tail
// of the list: nobody's demand grows while it runs, and a request is admitted only with budget left over. For the same
// reason the tails preempted are as few as it takes to fit the whole step. Of victims by order, vLLM also leaves out
// of the step whoever comes behind a request that preempts itself; here they run.
type Continuous struct {
	MaxNumSeqs                int     // requests in the batch
	MaxNumBatchedTokens       int32   // tokens per step, at least MaxNumSeqs
	LongPrefillTokenThreshold int32   // longest chunk of prompt; 0: no limit
	SchedulerReserveFullISL   bool    // admit only what fits whole, although only a chunk is allocated
	Unchunked                 bool    // a prompt runs whole in one step, or waits
	Reserve                   Reserve // what admission takes from the cache
	MaxModelLen               int32   // tokens that Reserve MaxModelLen takes
	NoEvict                   bool    // admit only what fits with everybody at its limit: nobody is ever preempted
	WatermarkBlocks           int64   // that admission leaves free while anything runs
	Victim                    Victim  // who is preempted
}

var _ sim.Scheduler = (*Continuous)(nil)

// Reserve says how much of the cache a request takes when it is admitted.
type Reserve uint8

// The reservations.
const (
	AsComputed  Reserve = iota // what its next chunk needs: paged attention (vLLM, SOSP '23)
	WholePrompt                // its prompt
	MaxOutput                  // its prompt and all it may emit
	MaxModelLen                // the longest sequence of the model
)

// Victim says who is preempted when the cache is full.
type Victim uint8

// The victims.
const (
	Tail        Victim = iota // who was admitted last
	LastInOrder               // who would come last in the queue; without an order of it, the tail
)

// of returns the next victim.
func (v Victim) of(in *sim.Instance) *sim.Request {
	worst := in.LastAdmitted()
	if v == LastInOrder {
		for r := in.AdmittedBefore(worst); r != nil; r = in.AdmittedBefore(r) {
			if in.Later(r, worst) {
				worst = r
			}
		}
	}
	return worst
}

// Validate reports arguments that vLLM refuses too.
func (p *Continuous) Validate() error {
	switch {
	case p.MaxNumSeqs < 1:
		return fmt.Errorf("policies: max_num_seqs is %d, must be at least 1", p.MaxNumSeqs)
	case int(p.MaxNumBatchedTokens) < p.MaxNumSeqs:
		return fmt.Errorf("policies: max_num_batched_tokens is %d, must be at least max_num_seqs (%d)", p.MaxNumBatchedTokens, p.MaxNumSeqs)
	case p.LongPrefillTokenThreshold < 0:
		return fmt.Errorf("policies: long_prefill_token_threshold is %d, must be 0 (no limit) or more", p.LongPrefillTokenThreshold)
	case p.WatermarkBlocks < 0:
		return fmt.Errorf("policies: the watermark is %d blocks, must be 0 or more", p.WatermarkBlocks)
	case p.Reserve == MaxModelLen && p.MaxModelLen < 1:
		return fmt.Errorf("policies: max_model_len is %d, must be at least 1 to be reserved", p.MaxModelLen)
	}
	return nil
}

// Keeps implements sim.Counter.
func (p *Continuous) Counts() sim.Counts {
	if p.NoEvict {
		return sim.CountCommitted
	}
	return 0
}

// Schedule implements sim.Scheduler.
func (p *Continuous) Schedule(in *sim.Instance, w *sim.Work) int {
	budget := p.resume(in, w)
	if w.FreeBlocks() >= 0 {
		p.admit(in, w, budget)
		return 0
	}
	for p.preempt(in, w); w.Empty() && in.Running() > 0; p.preempt(in, w) {
		p.resume(in, w) // prompts that drafts had left nothing are alone now
	}
	return 1 // vLLM admits nobody in a step that preempts, but may in the next
}

// resume gives the prompts under way their next chunks and returns what is left of the budget.
func (p *Continuous) resume(in *sim.Instance, w *sim.Work) int32 {
	budget := p.MaxNumBatchedTokens - int32(in.Decoding()) - int32(in.DraftTokens())
	for i := range in.Prefilling() {
		r := in.Prefill(i)
		if n := p.chunk(r.Pending(), budget); n > 0 { // drafts may leave none
			w.Chunk(r, n)
			budget -= n
		}
	}
	return budget
}

// preempt makes room for the step.
func (p *Continuous) preempt(in *sim.Instance, w *sim.Work) {
	for w.FreeBlocks() < 0 {
		w.Preempt(p.Victim.of(in), sim.Recompute)
	}
}

// admit fills what is left of the step's budget with requests that wait.
func (p *Continuous) admit(in *sim.Instance, w *sim.Work, budget int32) {
	for prompts := in.Prefilling(); budget > 0 && in.Running() < p.MaxNumSeqs; prompts++ {
		r := in.Head()
		if r == nil {
			return
		}
		cached := w.CachedTokens(r)
		pending := r.Pending() - cached
		n := p.chunk(pending, budget)
		if p.Unchunked {
			if n = pending; n > budget && (prompts > 0 || r.Preemptions == 0 && r.Emitted == 0) {
				break
			}
		}
		need, reserve := n, int32(0)
		if p.Reserve != AsComputed || p.SchedulerReserveFullISL {
			need, reserve = p.need(r, pending)
		}
		if blocks := w.BlocksToAdmit(need); blocks > w.FreeBlocks() || p.withholds(in, w, r, blocks, cached) {
			break
		}
		w.Admit(r, reserve)
		w.Chunk(r, n)
		budget -= n
	}
	if in.Running() >= p.MaxNumSeqs {
		w.BatchFull()
	} else {
		w.HeadBlocked()
	}
}

// need returns the tokens for which there must be blocks to admit r, beyond those cached, and those to reserve of all.
// More than the next chunk is asked for.
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

// withholds reports whether r, of which so many tokens are cached, must wait although there is room for the blocks
// that it takes.
func (p *Continuous) withholds(in *sim.Instance, w *sim.Work, r *sim.Request, blocks int64, cached int32) bool {
	if p.WatermarkBlocks > 0 && in.Running() > 0 && blocks > w.FreeBlocks()-p.WatermarkBlocks {
		return true
	}
	return p.NoEvict && w.BlocksToAdmit(r.Prompt+r.Limit()-cached) > w.FreeBlocks()-w.CommittedBlocks()
}

// chunk returns how many of the pending tokens of a prompt fit a step.
func (p *Continuous) chunk(pending, budget int32) int32 {
	n := min(pending, budget)
	if p.LongPrefillTokenThreshold > 0 {
		n = min(n, p.LongPrefillTokenThreshold)
	}
	return n
}
