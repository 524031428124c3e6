package sim_test

import (
	"slices"

	"github.com/decodesim/decodesim/internal/small"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// preallocate gives blocks to those that have been retracted and, if none of them has to wait, to caches that are to
// come, before a step has any.
func (n *naive) preallocate(in *naiveInstance) {
	if n.leavesFree().Tokens == 0 {
		return
	}
	for len(n.retracted(in)) > 0 {
		if !n.restores(in) {
			n.cover["retracted requests that wait"]++
			return
		}
		r := in.swapped[0]
		in.swapped = in.swapped[1:]
		in.free -= r.blocks
		in.host += r.blocks
		in.copied += r.blocks
		m := &naiveMove{r: r, to: in, blocks: r.blocks, computed: r.Computed, begin: sim.Forever, reserved: true,
			polled: true, restored: true, load: in.loaded}
		in.loaded++
		r.move = m
		at := slices.IndexFunc(in.arrived, func(m *naiveMove) bool { return !m.polled })
		if at < 0 {
			at = len(in.arrived)
		}
		in.arrived = slices.Insert(in.arrived, at, m)
		n.cover["retracted requests restored"]++
	}
	n.admitInbound(in)
}

// retracted returns the requests that are restored from host memory.
func (n *naive) retracted(in *naiveInstance) []*naiveRequest {
	if !n.leavesFree().Restores {
		return nil
	}
	return in.swapped
}

// restores reports whether there is room for the first of them, and what is left free.
func (n *naive) restores(in *naiveInstance) bool {
	others, decode := len(in.reserved()), len(decodes(in.running))+len(in.stayed)
	left := int64(n.leavesFree().Tokens) * int64(len(in.running)+len(in.stayed)+others+1)
	if decode+others == 0 {
		left = 0
	}
	size := int64(n.blockSize)
	return len(in.running)+others < n.maxNumSeqs+n.leavesFree().Slots && in.swapped[0].blocks*size+left <= in.free*size
}

// retract makes room of r, which decodes.
func (n *naive) retract(in *naiveInstance, r *naiveRequest) {
	if !n.leavesFree().Restores || r.removed || !n.swapOut(in, r) {
		n.recompute(in, r)
	}
}

// poll has the engine learn which caches have arrived, and returns how many may be admitted with this step.
func (n *naive) poll(in *naiveInstance) (places int) {
	if len(in.arrived) == 0 {
		return 0
	}
	runs := len(decodes(in.running))+len(in.stayed) > 0 || in.arrived[0].polled
	for _, m := range in.arrived {
		m.polled = m.polled || len(n.retracted(in)) == 0 || !runs
	}
	return n.maxNumSeqs - len(in.running) - len(in.stayed)
}

// again reports whether a step that computes nothing is composed once more, because more is known or has come.
func (n *naive) again(in *naiveInstance) bool {
	if in.computes() || n.stagesAhead() || in.sglang.joins { // what computes nothing has its place in a queue of stages
		return false
	}
	if in.left && n.leavesFree().Tokens > 0 && len(in.inbound)+len(in.arrived)+len(n.retracted(in)) > 0 {
		n.cover["steps composed again for caches"]++
		return true
	}
	again := in.again
	in.again = false
	if n.queues() && (n.learn(in) || !in.everybody) {
		n.seeAll(in)
		n.cover["steps composed twice"]++
		return true
	}
	if unseen := func(m *naiveMove) bool { return !m.noticed }; !again && (n.loads || n.loadLink != (sim.Link{})) &&
		!in.everybody && slices.ContainsFunc(in.arrived, unseen) {
		n.seeAll(in)
		n.cover["steps composed again for loads"]++
		return true
	}
	return again || !n.loads && len(in.arrived) > 0 && in.runs() < n.maxNumSeqs
}

// sortUnpolled sorts the caches that the engine does not know of by when they had blocks.
func (n *naive) sortUnpolled(in *naiveInstance) {
	if n.leavesFree().Tokens == 0 {
		return
	}
	slices.SortStableFunc(in.arrived, func(a, b *naiveMove) int {
		if a.polled || b.polled {
			return 0
		}
		return a.load - b.load
	})
}

// leavesTooFew reports whether a cache of so many blocks that is to come takes what SGLang leaves free for those that
// run or come, or for any one of them to end alone. Those that ended with the latest step run still.
func (n *naive) leavesTooFew(in *naiveInstance, r *naiveRequest, blocks int64) bool {
	rule, batch := n.leavesFree(), slices.Concat(in.running, in.stayed)
	active := int64(len(batch) + len(in.reserved()))
	if rule.Tokens == 0 || active == 0 {
		return false
	}
	whole := func(x *naiveRequest) int64 { return int64(x.Prompt + min(x.Limit(), rule.Most)) }
	retractable, single := int64(0), int64(0)
	for _, x := range batch {
		retractable += int64(x.Prompt + x.Emitted)
		single = max(single, whole(x))
	}
	takes := max(blocks*int64(n.blockSize)+int64(rule.Tokens), whole(r)-retractable)
	if takes <= in.free*int64(n.blockSize)-max(int64(rule.Tokens)*active, single-retractable) {
		return false
	}
	n.cover["KV transfers stopped by what is left free"]++
	return true
}

// leavesFree returns what a pool of SGLang leaves free that caches come to.
func (sc *scenario) leavesFree() sim.Reserved {
	if _, ok := sc.policy.(*schedulers.SGLang); !ok || sc.maxNumSeqs == 0 {
		return sim.Reserved{}
	}
	r := small.Reserved(sc.blocks, sc.speculation == nil && sc.uncached)
	if sc.queues() && (!r.Restores || !sc.onlyCaches) {
		return sim.Reserved{}
	}
	return r
}

// hostBlocks returns how many blocks of host memory there are for requests that have been preempted.
func (sc *scenario) hostBlocks() int64 {
	if r := sc.leavesFree(); r.Restores {
		return small.HostBlocks(sc.blocks, r, sc.queues())
	}
	return sc.swapBlocks
}
