package sim_test

import (
	"slices"

	"github.com/decodesim/decodesim/policies/schedulers"
)

// turns composes a step whose blocks do not suffice, as vLLM does every step: one request after the other computes what
// it can, and takes blocks for it. While there are too few, others are preempted, or itself is. It returns what is left
// of the budget, and whether any was.
func (n *naive) turns(in *naiveInstance, p *schedulers.Continuous) (left int32, preempted bool) {
	budget, misses := p.MaxNumBatchedTokens, 0
	wants := map[*naiveRequest]int32{}
	in.inTurns = true
	for _, r := range in.running {
		wants[r], r.want = r.want, 0
		if r.decoding && n.emits(in, r) {
			wants[r] = n.decodeOf(in, r)
		}
	}
	for i := 0; i < len(in.running); i++ {
		r := in.running[i]
		room := budget - p.DraftSlots
		want := min(wants[r], room)
		if !r.decoding {
			want = n.chunkOf(p, r.Pending(), room)
		}
		if misses > 0 || room <= 0 {
			misses = max(0, misses-1)
			if wants[r] > 0 {
				n.leaveOut(r)
			}
			continue
		}
		if want == 0 {
			continue
		}
		n.passInTurn(in, r, want)
		for r.want = want; n.grows(r) > in.free; r.want = want {
			r.want = 0
			v := n.victim(in, p.Victim)
			if n.defers() && (v.batch != nil || n.inFlight(in, v)) {
				n.leaveOut(r)
				misses = len(in.running)
				n.cover["steps missed for want of blocks"]++
				break
			}
			preempted = true
			at := slices.Index(in.running, v)
			if v.want > 0 && at >= 0 {
				budget += v.want + p.DraftSlots
				n.cover["victims that had taken blocks"]++
			}
			if p.StopsAtSelf && at >= 0 && at < i && v.want == 0 {
				misses++
			}
			n.recompute(in, v)
			if at >= 0 && at <= i {
				i--
			}
			if v == r {
				if p.StopsAtSelf {
					misses = len(in.running)
				}
				break
			}
		}
		if r.want > 0 {
			n.allocate(in, r, r.blocks+n.lasts(r))
			n.peak = max(n.peak, n.blocks-in.free)
			budget -= r.want + p.DraftSlots
		}
	}
	in.inTurns = false
	if preempted {
		n.cover["steps that preempt"]++
	}
	return budget, preempted
}

// emits reports whether r decodes in the next step, as far as the engine knows.
func (n *naive) emits(in *naiveInstance, r *naiveRequest) bool {
	if n.stagesSerial() {
		return !(r.removed && (r.stopped || n.knowsLimit(in, r)))
	}
	return !(n.queues() && r.removed && (r.stopped || n.atLimit(r)))
}

// leaveOut has r, which has tokens to compute, miss the step. If it decodes, it does so again in the next one.
func (n *naive) leaveOut(r *naiveRequest) {
	if !r.decoding {
		return
	}
	n.cover["tokens left out"]++
	if r.removed {
		r.stopped = true
		return
	}
	r.decoding, r.missed, r.leftOut = false, true, true
	r.hoped, r.latest = 0, 0
	if n.speculation != nil {
		n.cover["drafts left out"]++
	}
	if r.cause == "" {
		r.cause = "held"
	}
}

// named returns how many tokens of r more are in blocks with names, because it has taken blocks for the step: those of
// a chunk, and of drafts and a token the one that was known. With a queue of batches it is not known right after a
// prompt.
func (n *naive) named(r *naiveRequest) int32 {
	switch {
	case !r.decoding:
		return r.want
	case n.queues() && r.latest == 0 && !r.leftOut:
		return 0
	}
	return 1
}
