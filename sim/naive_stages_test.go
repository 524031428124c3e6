package sim_test

import (
	"cmp"
	"slices"

	"github.com/decodesim/decodesim/sim"
)

// naiveBatch is one of the batches that an engine with pipeline stages has under way. A request in one is in no other,
// until its tokens have come; but a prompt's next chunk is composed while the one before it is under way.
type naiveBatch struct {
	end     sim.Time // 0: it is of nothing
	samples bool     // some of its tokens are needed by a later one
}

// naivePipeline is what an engine with pipeline stages has more than others.
type naivePipeline struct {
	queue     []*naiveBatch // the batches under way
	stageFree []sim.Time    // by stage: when it has ended on the latest one
	sampled   sim.Time      // when the latest batch ended of which tokens are needed
	seen      sim.Time      // when the engine last learned what came of a batch
	rests     bool          // it had no request then
	drained   bool          // nor before
}

// stagesAhead reports whether the batches of stages are composed ahead.
func (n *naive) stagesAhead() bool { return len(n.stages) > 1 && n.queues() }

// enlist makes r the latest of the batch.
func (in *naiveInstance) enlist(r *naiveRequest) {
	r.number = in.admitted
	in.admitted++
	in.running = append(in.running, r)
}

// runs returns how many requests run, whatever batch they are in.
func (in *naiveInstance) runs() int { return len(in.running) + len(in.away) }

// planStages is a turn of an engine's loop: it composes a batch, even if that is of nothing, and appends it to a queue
// that is as long as there are stages; then it waits for the oldest of the queue, unless there is room for more.
func (n *naive) planStages(in *naiveInstance) {
	in.woken = false
	if n.queues() {
		n.planAhead(in)
		return
	}
	busy := func(b *naiveBatch) bool { return b.end != 0 }
	for in.load > 0 || len(in.running) > 0 {
		n.composeBatch(in, n.now)
		if !slices.ContainsFunc(in.queue, busy) {
			break
		}
		latest := in.queue[len(in.queue)-1]
		switch room := len(in.queue) < len(n.stages); {
		case room && n.fillsQueue():
			continue
		case room && busy(latest) && busy(in.queue[0]):
			continue
		case busy(in.queue[0]):
		default:
			n.cover["places of nothing"]++
			in.queue = in.queue[1:]
			continue
		}
		break
	}
	for len(in.queue) > 0 && !busy(in.queue[0]) {
		in.queue = in.queue[1:]
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

// planAhead is a turn of an engine's loop that schedules a pipeline asynchronously: with a batch more in the queue than
// there are stages. That one is composed here when the oldest has ended, of what was there when the engine composed it,
// and without knowing what came of the oldest, in which its decodes were last.
func (n *naive) planAhead(in *naiveInstance) {
	if len(in.queue) == 0 {
		in.seen = n.now
	}
	knows := len(in.queue) < len(n.stages)-1 || in.seen == n.now || in.drained
	for tries := 0; tries <= len(n.stages) && (in.load > 0 || len(in.running) > 0); tries++ {
		began := n.now
		if knows {
			n.seeAll(in)
			n.learn(in)
		} else {
			in.everybody, began = false, in.seen
		}
		n.composeBatch(in, began)
		switch oldest := in.queue[0]; {
		case len(in.queue) < len(n.stages):
		case oldest.end == 0:
			n.cover["places of nothing"]++
			in.queue, knows = in.queue[1:], true
			continue
		default:
			tries = len(n.stages)
		}
	}
	for len(in.queue) > 0 && in.queue[0].end == 0 {
		in.queue = in.queue[1:]
	}
	idle := in.load == 0 && len(in.running) == 0
	in.drained, in.rests = idle && in.rests, idle
	n.listen(in)
	in.seen, in.end = n.now, sim.Forever
	if len(in.queue) > 0 {
		in.end = in.queue[0].end
		return
	}
	n.mayIdle(in)
	if in.life == "draining" && in.served() {
		n.down(in)
	}
}

// composeBatch composes a batch of the requests that are in none, which the first stage begins with as of began.
func (n *naive) composeBatch(in *naiveInstance, began sim.Time) {
	n.releaseChunks(in)
	in.away = slices.DeleteFunc(slices.Clone(in.running), func(r *naiveRequest) bool { return r.batch == nil })
	in.running = slices.DeleteFunc(in.running, func(r *naiveRequest) bool { return r.batch != nil })
	n.plan(in)
	n.admitWithStep(in)
	if in.computes() {
		n.beginBatch(in, began)
	} else {
		in.queue = append(in.queue, &naiveBatch{})
	}
	n.learn(in)
	in.running, in.away = append(in.running, in.away...), nil
	slices.SortFunc(in.running, func(a, b *naiveRequest) int { return cmp.Compare(a.number, b.number) })
}

// underWay returns how many batches of something are in the queue.
func (in *naiveInstance) underWay() (busy int) {
	for _, b := range in.queue {
		if b.end != 0 {
			busy++
		}
	}
	return busy
}

// releaseChunks lets prompts of which a chunk is under way, and not the last, be in another batch too.
func (n *naive) releaseChunks(in *naiveInstance) {
	for _, r := range in.running {
		if r.batch != nil && !r.decoding && r.outcome == "" && r.Pending() > r.want {
			if r.want > 0 {
				n.cover["chunks under way at once"]++
			}
			n.passed(r, r.want)
			r.Computed += r.want
			r.prefill = r.Computed
			r.want, r.batch = 0, nil
		}
	}
}

// beginBatch has the batch that was composed pass through the stages: each takes the part of the price that its layers
// are of all, once the stage before has ended on this batch and the stage itself on the batch before. The first waits
// for the tokens of the batch that is as many before as there are stages, if any of them is needed, and so for all that
// its members decode after.
func (n *naive) beginBatch(in *naiveInstance, at sim.Time) {
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
	if n.queues() {
		at = max(at, in.sampled)
		if at < n.now {
			n.cover["batches that had begun before"]++
		}
	}
	before, passed := int64(0), int64(0)
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
	b := &naiveBatch{end: at, samples: slices.ContainsFunc(in.running, func(r *naiveRequest) bool {
		return r.want > 0 && (r.decoding || r.Pending() <= r.want && r.Emitted+1 < r.Limit())
	})}
	in.queue = append(in.queue, b)
	if in.underWay() > 1 {
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
	if in.queue[0].samples {
		in.sampled = n.now
	}
	in.queue = in.queue[1:]
	for _, b := range in.queue {
		if b.end != 0 {
			in.end = min(in.end, b.end)
		}
	}
}
