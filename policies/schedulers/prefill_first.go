package schedulers

import (
	"fmt"

	"github.com/decodesim/decodesim/sim"
)

// PrefillFirst runs prompts whole, in steps of their own, as soon as there is room for them, and decodes wait: the
// default scheduler of vLLM V0 (vllm/core/scheduler.py). With PrefillBelow it is the other way round: prompts wait
// until few sequences decode.
//
// When decodes find no KV block, one is preempted: recomputed, or swapped to host memory; the copies precede the step,
// which lasts longer by them. Nobody is admitted while somebody is in host memory.
type PrefillFirst struct {
	MaxNumSeqs          int
	MaxNumBatchedTokens int32          // prompt tokens in a step
	WatermarkBlocks     int64          // that admission leaves free
	PrefillBelow        int            // prompts run only while fewer sequences decode; 0: always
	Preempt             sim.Preemption // Recompute or Swap
	Victim              Victim
}

var _ sim.Scheduler = (*PrefillFirst)(nil)

// Validate reports arguments with which nothing could run.
func (p *PrefillFirst) Validate() error {
	switch {
	case p.MaxNumSeqs < 1 || int(p.MaxNumBatchedTokens) < p.MaxNumSeqs:
		return fmt.Errorf("policies: max_num_seqs is %d and max_num_batched_tokens %d, must be at least 1 and at least max_num_seqs",
			p.MaxNumSeqs, p.MaxNumBatchedTokens)
	case p.WatermarkBlocks < 0 || p.PrefillBelow < 0:
		return fmt.Errorf("policies: the watermark is %d blocks and prefill_below %d, must be 0 or more", p.WatermarkBlocks, p.PrefillBelow)
	case p.Preempt == sim.Retract:
		return fmt.Errorf("policies: vLLM V0 recomputes or swaps, and retracts nobody")
	}
	return nil
}

// Keeps implements sim.Counter.
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

// prefill composes a step of prompts alone, or reports that there is none.
func (p *PrefillFirst) prefill(in *sim.Instance, w *sim.Work) bool {
	w.PauseDecodes()
	admitted := 0
	for budget := p.MaxNumBatchedTokens; in.Running() < p.MaxNumSeqs; admitted++ {
		r := in.Head()
		if r == nil {
			break
		}
		n := r.Pending() - w.CachedTokens(r)
		if n > budget && (admitted > 0 || r.Preemptions == 0 && r.Emitted == 0) {
			w.HeadBlocked()
			break
		}
		room := w.FreeBlocks()
		if in.Running() > 0 {
			room -= p.WatermarkBlocks
		}
		if w.BlocksToAdmit(n) > room {
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

// swapIn brings back who fits, first come first served.
func (p *PrefillFirst) swapIn(in *sim.Instance, w *sim.Work) {
	for in.Running() < p.MaxNumSeqs {
		r, blocks := in.Swapped()
		room := w.FreeBlocks()
		if in.Running() > 0 {
			room -= p.WatermarkBlocks
		}
		if r == nil || blocks+1 > room && (in.Running() > 0 || !w.SwapInFits()) {
			return
		}
		w.SwapIn()
	}
}
