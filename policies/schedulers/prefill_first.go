package schedulers

import (
	"errors"
	"fmt"

	"github.com/decodesim/decodesim/sim"
)

var _ sim.Scheduler = (*PrefillFirst)(nil)

// PrefillFirst computes whole prompts in steps of their own as soon as they fit, while decodes are paused: the default
// scheduler of vLLM V0 (vllm/core/scheduler.py). With PrefillBelow decodes come first instead: prompts wait until few
// sequences decode.
//
// When a decode gets no KV block, a request is preempted: recomputed, or swapped to host memory. The copies precede the
// step and make it longer. No request is admitted while another is swapped out.
type PrefillFirst struct {
	MaxNumSeqs          int
	MaxNumBatchedTokens int32          // prompt tokens in a step
	WatermarkBlocks     int64          // blocks that admission leaves free
	PrefillBelow        int            // prompts run only while fewer sequences decode; 0: always
	Preempt             sim.Preemption // Recompute or Swap
	Victim              Victim
}

// Validate reports arguments with which nothing could run.
func (p *PrefillFirst) Validate() error {
	switch {
	case p.MaxNumSeqs < 1 || int(p.MaxNumBatchedTokens) < p.MaxNumSeqs:
		return fmt.Errorf("policies: max_num_seqs is %d and max_num_batched_tokens %d, "+
			"must be at least 1 and at least max_num_seqs", p.MaxNumSeqs, p.MaxNumBatchedTokens)
	case p.WatermarkBlocks < 0 || p.PrefillBelow < 0:
		return fmt.Errorf("policies: the watermark is %d blocks and prefill_below %d, must be 0 or more",
			p.WatermarkBlocks, p.PrefillBelow)
	case p.Preempt == sim.Retract:
		return errors.New("policies: vLLM V0 preempts by recompute or swap, and never retracts")
	}
	return nil
}

// Counts implements sim.Counter.
func (p *PrefillFirst) Counts() sim.Counts { return sim.CountPauses }

// Schedule implements sim.Scheduler.
func (p *PrefillFirst) Schedule(in *sim.Instance, w *sim.Work) int {
	if in.SwappedOut() > 0 || p.PrefillBelow > 0 && in.Decoding() >= p.PrefillBelow {
		w.BatchFull()
	} else if p.prefill(in, w) {
		return 1
	}
	if w.FreeBlocks() < 0 {
		for w.FreeBlocks() < 0 {
			w.Preempt(p.Victim.of(in), p.Preempt)
		}
		return 1
	}
	p.swapIn(in, w)
	return 0
}

// prefill composes a prefill-only step, or reports that there is none.
func (p *PrefillFirst) prefill(in *sim.Instance, w *sim.Work) bool {
	w.PauseDecodes()
	admitted := 0
	for budget := p.MaxNumBatchedTokens; in.Running() < p.MaxNumSeqs; admitted++ {
		r := in.Head()
		if r == nil {
			break
		}
		n := r.Pending() - w.CachedTokens(r)
		if n > budget && (admitted > 0 || r.Preemptions == 0 && r.Emitted == 0) || w.BlocksToAdmit(n) > p.free(in, w) {
			w.HeadBlocked()
			break
		}
		w.Admit(r, 0)
		w.Chunk(r, n)
		budget -= n
	}
	if admitted > 0 {
		return true
	}
	if in.Running() >= p.MaxNumSeqs {
		w.BatchFull()
	}
	w.ResumeDecodes()
	return false
}

// free returns the blocks that admission may take: all free blocks if no request runs, else those above the watermark.
func (p *PrefillFirst) free(in *sim.Instance, w *sim.Work) int64 {
	if in.Running() == 0 {
		return w.FreeBlocks()
	}
	return w.FreeBlocks() - p.WatermarkBlocks
}

// swapIn copies swapped requests back while they fit, in the order in which they were swapped out.
func (p *PrefillFirst) swapIn(in *sim.Instance, w *sim.Work) {
	for in.Running() < p.MaxNumSeqs {
		r, blocks := in.Swapped()
		if r == nil || blocks+1 > p.free(in, w) && (in.Running() > 0 || !w.SwapInFits()) {
			return
		}
		w.SwapIn()
	}
}
