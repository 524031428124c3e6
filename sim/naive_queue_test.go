package sim_test

import (
	"fmt"
	"slices"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// An engine that queues batches learns what has ended in a step when it has composed the next.

// learn tells the engine which requests had ended before the step was composed, and reports whether there were any.
func (n *naive) learn(in *naiveInstance) bool {
	before := len(in.running)
	if !n.queues() {
		return false
	}
	n.peak = max(n.peak, n.blocks-in.free)
	freed, sent := in.deferred, len(in.sent) > 0
	for _, r := range in.deferred {
		n.release(in, r, r.Computed)
	}
	in.deferred = nil
	if in.tree != nil {
		list := slices.DeleteFunc(in.sglang.read, func(r *naiveRequest) bool { return !r.decoding })
		for _, r := range in.running {
			if r.removed {
				list = append(list, r)
				n.cover["tokens in vain"] += int(r.want)
				r.Computed += r.want // the last token of the output, which the tree gets
			}
		}
		in.sglang.read = nil
		n.settleTree(in, list)
		return len(in.running) < before
	}
	in.running = slices.DeleteFunc(in.running, func(r *naiveRequest) bool {
		switch {
		case r.ghost:
			return true
		case r.removed && n.defers() && r.want > 0:
			in.deferred = append(in.deferred, r)
			n.cover["blocks freed a step later"]++
		case r.removed:
			n.release(in, r, r.Computed)
			in.sglang.forget(r)
		}
		if r.removed {
			n.cover["tokens in vain"] += int(r.want)
			if n.composesAhead() {
				in.stayed = append(in.stayed, r)
			}
		}
		return r.removed
	})
	n.freeSent(in)
	return sent || len(freed) > 0 || len(in.running) < before
}

// sendsUnseen reports whether the engine hears what has been sent during a step only when it has composed the next one.
func (n *naive) sendsUnseen() bool {
	_, ok := n.policy.(*schedulers.Continuous)
	return ok && n.queues() && len(n.stages) < 2
}

// freeSent frees what has been sent, as the engine knows now.
func (n *naive) freeSent(in *naiveInstance) {
	for _, m := range in.sent {
		n.naiveFleet.releaseSource(m)
		n.cover["blocks sent and freed a step later"]++
	}
	in.sent = nil
}

// inFlight reports whether r has tokens in a step of which the engine knows nothing yet.
func (n *naive) inFlight(in *naiveInstance, r *naiveRequest) bool {
	return n.queues() && !in.everybody && r.had
}

// emitters returns the members of the batch that decode in the next step, as far as the engine knows.
func (n *naive) emitters(in *naiveInstance) []*naiveRequest {
	return slices.DeleteFunc(decodes(in.running), func(r *naiveRequest) bool {
		return !n.emits(in, r)
	})
}

// atLimit reports whether the engine can tell, before it knows the tokens of the latest step, that r has ended: with
// the one token that each step yields, r has all that it may have.
func (n *naive) atLimit(r *naiveRequest) bool {
	return !n.composesAhead() && r.Emitted-max(1, r.latest)+1 >= r.Limit()
}

// single reports whether the engine knows of one request at most.
func (n *naive) single(in *naiveInstance) bool {
	known := in.runs()
	for _, r := range in.waiting {
		if in.everybody || r.noticed || r.recalled || r.stale != nil {
			known++
		}
	}
	if n.loads {
		known += len(in.inbound) + len(in.reserved())
	}
	return known <= 1
}

// hopes returns by how many tokens the engine takes a step for more than it was.
func (n *naive) hopes(rejected int32) int32 {
	if n.queues() {
		return rejected
	}
	return 0
}

// unknown returns how many tokens r has emitted that the engine does not know of while it composes a step.
func (n *naive) unknown(in *naiveInstance, r *naiveRequest) int32 {
	if n.queues() && !n.composesAhead() && !in.everybody && r.decoding &&
		len(r.tokens) > 0 && r.tokens[len(r.tokens)-1] == n.now {
		return 1
	}
	return 0
}

// decodes returns those of a batch that decode.
func decodes(batch []*naiveRequest) (list []*naiveRequest) {
	for _, r := range batch {
		if r.decoding {
			list = append(list, r)
		}
	}
	return list
}

// defers reports whether what a step under way may write is not freed before it has ended.
func (sc *scenario) defers() bool { return sc.loads && sc.blocks/2%2 == 0 }

// recvInterval returns how often requests are looked for, which follows from what was drawn.
func (sc *scenario) recvInterval() int {
	if !sc.ahead || sc.ranks > 1 || len(sc.stages) > 1 || sc.maxNumSeqs > 0 || sc.blocks%3 > 0 {
		return 0
	}
	return []int{2, 3, 10, 30}[sc.blocks/3%4]
}

// seeAll lets the step that is composed have all requests that wait.
func (n *naive) seeAll(in *naiveInstance) {
	in.everybody, in.unasked = true, 0
	in.noticeAll()
}

// listen has the engine look for requests as a step begins, unless it did so a few steps of decodes ago.
func (n *naive) listen(in *naiveInstance) {
	prompts := slices.ContainsFunc(in.running, func(r *naiveRequest) bool { return !r.decoding && r.want > 0 })
	in.unasked++
	if in.computes() && !prompts && in.unasked < n.recvInterval() {
		if slices.ContainsFunc(in.waiting, func(r *naiveRequest) bool { return !r.noticed }) {
			n.cover["steps without a look"]++
		}
		return
	}
	in.unasked = 0
	in.noticeAll()
}

// noticeAll has the engine know all requests that wait.
func (in *naiveInstance) noticeAll() {
	for _, r := range in.waiting {
		r.noticed = true
		if r.entry == 0 {
			in.sglang.entries++
			r.entry = in.sglang.entries
		}
	}
}

// mayIdle checks that an instance which computes nothing has nothing to do.
func (n *naive) mayIdle(in *naiveInstance) {
	if left := len(in.running) + len(in.waiting) + len(in.swapped) + len(in.inbound); left > 0 &&
		len(in.pending)+len(in.transferring)+len(in.arrived)+len(in.fetching) == 0 {
		panic(fmt.Sprintf("at %v instance %d has nothing to do and %d requests", n.now, in.id, left))
	}
}

// hide has so many of the latest tokens of r not count as emitted, because the engine does not know them.
func (r *naiveRequest) hide(tokens int) {
	r.Emitted += r.hidden - int32(tokens)
	r.hidden = int32(tokens)
}

// knownBy returns how many tokens of r had come by an instant.
func (r *naiveRequest) knownBy(t sim.Time) (known int) {
	for _, at := range r.tokens {
		if at <= t {
			known++
		}
	}
	return known
}
