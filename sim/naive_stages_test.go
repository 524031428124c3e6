package sim_test

import (
	"cmp"
	"slices"

	"github.com/decodesim/decodesim/sim"
)

// naiveBatch is one of the batches that an engine with pipeline stages has under way. A request in one is in no other,
// until its tokens have come; but a prompt's next chunk is composed while the one before it is under way.
type naiveBatch struct{ end sim.Time }

// enlist makes r the latest of the batch.
func (in *naiveInstance) enlist(r *naiveRequest) {
	r.number = in.admitted
	in.admitted++
	in.running = append(in.running, r)
}

// runs returns how many requests run, whatever batch they are in.
func (in *naiveInstance) runs() int { return len(in.running) + len(in.away) }

// planStages composes as many batches as there is room for in a queue that is as long as there are stages.
func (n *naive) planStages(in *naiveInstance) {
	in.woken = false
	for range len(n.stages) - len(in.queue) {
		n.releaseChunks(in)
		in.away = slices.DeleteFunc(slices.Clone(in.running), func(r *naiveRequest) bool { return r.batch == nil })
		in.running = slices.DeleteFunc(in.running, func(r *naiveRequest) bool { return r.batch != nil })
		n.plan(in)
		if in.computes() {
			n.beginBatch(in)
		}
		in.running, in.away = append(in.running, in.away...), nil
		slices.SortFunc(in.running, func(a, b *naiveRequest) int { return cmp.Compare(a.number, b.number) })
	}
	in.end = sim.Forever
	if len(in.queue) > 0 {
		in.end = in.queue[0].end
		return
	}
	n.mayIdle(in)
	if in.life == "draining" && in.served() {
		n.down(in)
	}
}

// releaseChunks lets prompts of which a chunk is under way, and not the last, be in another batch too.
func (n *naive) releaseChunks(in *naiveInstance) {
	for _, r := range in.running {
		if r.batch != nil && !r.decoding && r.outcome == "" && r.Pending() > r.want {
			if r.want > 0 {
				n.cover["chunks under way at once"]++
			}
			r.Computed += r.want
			r.prefill = r.Computed
			r.want, r.batch = 0, nil
		}
	}
}

// beginBatch has the batch that was composed pass through the stages: each takes the part of the price that its layers
// are of all, once the stage before has ended on this batch and the stage itself on the batch before.
func (n *naive) beginBatch(in *naiveInstance) {
	price := n.price([]sim.Shape{n.shape(in)})
	if n.noise != nil {
		price += n.noise.Stretch(int32(in.id), in.step, n.now, price)
	}
	if in.stageFree == nil {
		in.stageFree = make([]sim.Time, len(n.stages))
	}
	all := int64(0)
	for _, layers := range n.stages {
		all += int64(layers)
	}
	at, before, passed := n.now, int64(0), int64(0)
	for i, layers := range n.stages {
		if in.stageFree[i] > at {
			n.cover["waits for a stage"]++
			at = in.stageFree[i]
		}
		passed += int64(layers)
		until := int64(price) * passed / all
		at = at.Add(max(1, sim.Duration(until-before)))
		in.stageFree[i], before = at, until
	}
	b := &naiveBatch{end: at}
	in.queue = append(in.queue, b)
	if len(in.queue) > 1 {
		n.cover["batches under way at once"]++
	}
	in.step++
	n.steps++
	n.beginsOn(in)
	for _, r := range in.running {
		r.batch = b
	}
}

// members returns the requests of which the step that ends has tokens.
func (in *naiveInstance) members() []*naiveRequest {
	return slices.DeleteFunc(slices.Clone(in.running), func(r *naiveRequest) bool {
		return !in.here(r) || len(in.queue) > 0 && r.batch == nil
	})
}

// here reports whether r is in no batch under way but the one that ends, if any does.
func (in *naiveInstance) here(r *naiveRequest) bool {
	return r.batch == nil || r.batch == in.queue[0] && in.end == in.of.now
}

// endBatch takes the batch that has ended out of the queue.
func (n *naive) endBatch(in *naiveInstance) {
	if len(in.queue) == 0 {
		return
	}
	for _, r := range n.all {
		if r.batch == in.queue[0] {
			r.batch = nil
		}
	}
	in.queue = in.queue[1:]
	if len(in.queue) > 0 {
		in.end = in.queue[0].end
	}
}
