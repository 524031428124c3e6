package sim_test

import (
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// planPrefillFirst runs the prompts that may run, whole and alone; if there are none, it decodes.
func (n *naive) planPrefillFirst(in *naiveInstance, p *schedulers.PrefillFirst) {
	if len(in.swapped) == 0 && (p.PrefillBelow == 0 || len(in.running) < p.PrefillBelow) {
		tokens, admitted := int32(0), 0
		for len(in.running) < p.MaxNumSeqs {
			want := n.admitWhole(in, p, tokens, admitted)
			if want == 0 {
				break
			}
			tokens += want
			admitted++
		}
		if admitted > 0 {
			return
		}
	}
	for _, r := range in.running {
		r.want = n.decodeOf(in, r)
	}
	preempted := false
	for n.demand(in.running) > in.free {
		v := n.victim(in, p.Victim)
		if p.Preempt != sim.Swap || !n.swapOut(in, v) {
			n.recompute(in, v)
		}
		preempted = true
	}
	n.grow(in, false)
	for !preempted && len(in.swapped) > 0 && len(in.running) < p.MaxNumSeqs {
		room := in.free
		if len(in.running) > 0 {
			room -= p.WatermarkBlocks
		}
		need := n.swapNeed(in, in.swapped[0]) + 1 + int64(n.windowed.Blocks)
		if len(in.running) == 0 { // alone, it takes what it needs and no more
			need = max(in.swapped[0].blocks, n.needs(in.swapped[0].Computed+n.decodeOf(in, in.swapped[0])))
		}
		if need > room {
			n.cover["kept swapped out"]++
			break
		}
		n.swapIn(in)
	}
}

// admitWhole admits the head of the queue to a step of prompts if it may join, and returns its tokens; 0: it may not.
func (n *naive) admitWhole(in *naiveInstance, p *schedulers.PrefillFirst, tokens int32, admitted int) int32 {
	r := n.head(in)
	if r == nil {
		return 0
	}
	f := n.lookup(in, r)
	want := r.Prompt + r.Emitted - f.tokens
	if tokens+want > p.MaxNumBatchedTokens && (admitted > 0 || r.Preemptions+r.Emitted == 0) {
		n.cover["prompts that wait for a whole budget"]++
		return 0
	}
	room := in.free
	if len(in.running) > 0 {
		room -= p.WatermarkBlocks
	}
	takes := n.needs(r.Prompt + r.Emitted)
	if takes-f.more > room {
		if takes-f.more <= in.free {
			n.cover["stopped by the watermark"]++
		}
		return 0
	}
	n.admit(in, r, f, want, takes)
	return want
}
