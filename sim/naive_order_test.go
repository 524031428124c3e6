package sim_test

import (
	"cmp"
	"slices"

	"github.com/decodesim/decodesim/policies/schedulers"
)

// inOrder compares two requests of a queue that has an order.
func inOrder(a, b *naiveRequest) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.Arrival, b.Arrival), cmp.Compare(a.ID, b.ID))
}

// enqueue puts r at the end of the queue, or where the order has it.
func (n *naive) enqueue(in *naiveInstance, r *naiveRequest) {
	r.entry = 0
	in.waiting, r.lockedOut = append(in.waiting, r), 0
	if n.order != nil {
		r.key = n.order.Key(&r.Request)
		if _, ok := n.policy.(*schedulers.SGLang); ok {
			slices.SortStableFunc(in.waiting, func(a, b *naiveRequest) int { return cmp.Compare(a.key, b.key) })
			return
		}
		slices.SortFunc(in.waiting, inOrder)
	}
}

// requeue puts r, which is retracted, behind all requests that the engine knows of, or where the order has it.
func (n *naive) requeue(in *naiveInstance, r *naiveRequest) {
	if _, ok := n.policy.(*schedulers.SGLang); n.order != nil && !ok {
		n.enqueue(in, r)
		return
	}
	unknown := slices.IndexFunc(in.waiting, func(o *naiveRequest) bool {
		if n.order != nil && o.key != r.key { // without an order, keys are those of another pool
			return o.key > r.key
		}
		return !in.everybody && !o.noticed
	})
	if unknown < 0 {
		n.enqueue(in, r)
	} else {
		in.waiting = slices.Insert(in.waiting, unknown, r)
	}
	in.sglang.entries++
	r.entry = in.sglang.entries
}

// head returns the request that the engine takes next; nil: it knows of none.
func (n *naive) head(in *naiveInstance) *naiveRequest {
	for _, r := range in.waiting {
		if n.passesOver(in, r) {
			n.cover["passed over for their adapters"]++
			continue
		}
		if r.stale != nil {
			if !n.fillsQueue() {
				n.cover["behind others with tokens under way"]++
				return nil
			}
			n.cover["passed over for tokens under way"]++
			continue
		}
		if in.everybody || r.noticed {
			return r
		}
		n.cover["steps fixed before an arrival"]++
	}
	return nil
}

// dequeue takes r from the queue.
func (n *naive) dequeue(in *naiveInstance, r *naiveRequest) {
	i := slices.Index(in.waiting, r)
	in.waiting = slices.Delete(in.waiting, i, i+1)
	for _, other := range in.waiting[:i] {
		if (in.everybody || other.noticed) && !n.passesOver(in, other) && other.stale == nil {
			panic("another request was before")
		}
	}
	if slices.ContainsFunc(in.waiting, func(o *naiveRequest) bool {
		return (in.everybody || o.noticed) && (o.Arrival < r.Arrival || o.Arrival == r.Arrival && o.ID < r.ID)
	}) {
		n.cover["overtakings"]++
	}
}

// victim returns the request that must make room: of all that run, in whatever batch, but for those whose clients have
// left.
func (n *naive) victim(in *naiveInstance, which schedulers.Victim) *naiveRequest {
	all := slices.Clone(in.running)
	for _, r := range in.away {
		if r.outcome == "" {
			all = append(all, r)
		}
	}
	last := slices.MaxFunc(all, func(a, b *naiveRequest) int { return cmp.Compare(a.number, b.number) })
	if which == schedulers.LastInOrder && n.order != nil {
		v := slices.MaxFunc(all, inOrder)
		if v != last {
			n.cover["victims that were not the last admitted"]++
		}
		return v
	}
	return last
}

// known returns how many tokens of r its engine knows.
func (n *naive) known(r *naiveRequest) int32 {
	known := r.Prompt + r.Emitted
	if n.queues() && (r.decoding && !r.leftOut || r.missed) {
		known -= max(1, r.latest)
	}
	return known
}

// unnamed returns how many accepted drafts of the latest step of r are in no block with a name.
func (n *naive) unnamed(r *naiveRequest) int32 {
	if !r.decoding || n.queues() || n.speculation == nil || !n.speculation.DelayedNames {
		return 0
	}
	return max(0, r.latest-1)
}

// recompute preempts a member of the batch: its cache is dropped, and it waits before all others, or where the order
// has it. SGLang lets it wait behind all others, and what it decoded is not found again.
func (n *naive) recompute(in *naiveInstance, r *naiveRequest) {
	if r.batch != nil {
		n.recomputeAway(in, r)
		return
	}
	_, retracted := n.policy.(*schedulers.SGLang)
	computed := r.Computed
	if retracted {
		computed = r.prefill
	}
	if n.queues() && r.decoding {
		computed -= r.latest
	} else if !retracted {
		computed -= n.unnamed(r)
	}
	if in.inTurns && r.want > 0 { // it had taken blocks, which were named then
		computed += n.named(r)
	}
	computed = min(computed, n.known(r)-n.drafter().Ahead)
	if n.stagesSerial() {
		computed = min(r.Computed+r.want, n.namedBy(in, r))
	}
	if in.tree != nil {
		computed = -1
	}
	n.leave(in, r)
	if r.ghost {
		return
	}
	n.release(in, r, computed)
	r.leftOut = false
	if r.removed {
		n.cover["victims that had ended"]++
		if !n.stagesSerial() {
			return
		}
		n.cover["victims that had ended, and wait"]++
		r.stopped = false
	}
	r.blocks, r.Computed = 0, 0
	r.prefill, r.filler, r.hoped = 0, 0, 0
	r.decoding, r.noticed = false, true
	if r.cause != "restarted" {
		r.cause = "preempted"
	}
	n.cover["preemptions"]++
	if i := len(r.chunks); i > 0 && slices.Contains(in.queue, r.chunks[i-1].of) && !n.delivers(r) && !n.yields() {
		r.stale = r.chunks[i-1].of
		n.cover["preempted with a chunk under way"]++
	}
	n.comesBack(in, r, retracted)
}

// namedBy returns how many tokens of r, which is preempted, an engine with one batch after the other knew when r last
// got blocks, or all but the latest that it knows.
func (n *naive) namedBy(in *naiveInstance, r *naiveRequest) int32 {
	known := r.knownBy(in.composed)
	if taken := in.inTurns && r.want > 0; !taken && r.knownBy(in.earlier) < known {
		known--
	}
	return r.Prompt + int32(known)
}

// comesBack puts r, which was preempted, before all others that wait, or where the order has it.
func (n *naive) comesBack(in *naiveInstance, r *naiveRequest, retracted bool) {
	if n.order != nil || retracted {
		n.requeue(in, r)
		return
	}
	in.waiting = slices.Insert(in.waiting, 0, r)
}

// leave takes r from the batch before its time.
func (n *naive) leave(in *naiveInstance, r *naiveRequest) {
	i := slices.Index(in.running, r)
	in.running = slices.Delete(in.running, i, i+1)
	in.sglang.forget(r)
	r.want, in.departed = 0, true
	if r.removed {
		return
	}
	r.Preemptions++
	n.cover["any preemptions"]++
}
