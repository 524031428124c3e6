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

// naiveChunk is tokens of a prompt that a batch computes.
type naiveChunk struct {
	of     *naiveBatch
	tokens int32
}

// naivePipeline is what an engine with pipeline stages has more than others.
type naivePipeline struct {
	queue     []*naiveBatch // the batches under way
	ended     *naiveBatch   // the one that has ended last, if the engine does not know what came of it
	stageFree []sim.Time    // by stage: when it has ended on the latest one
	sampled   sim.Time      // when the latest batch ended of which tokens are needed
	seen      sim.Time      // when the engine last learned what came of a batch
	rests     bool          // it had no request then
	drained   bool          // nor before
	past      []naivePast   // of an engine whose batches are one after the other, all of them
	knew      int           // the latest of which it knew what came when it composed the latest
	composed  sim.Time      // when it did that
	earlier   sim.Time      // when it composed the one before
}

// naivePast is a batch that has been composed.
type naivePast struct {
	left             sim.Time // the queue
	nothing, drained bool     // it was of nothing, and none was composed when it left
}

// stagesAhead reports whether the batches of stages are composed ahead.
func (n *naive) stagesAhead() bool { return len(n.stages) > 1 && n.queues() }

// stagesSerial reports whether the batches of stages are, and one begins when the tokens of the one before are there.
func (n *naive) stagesSerial() bool { return n.stagesAhead() && !n.fillsQueue() }

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
	switch {
	case n.stagesSerial():
		n.planSerial(in)
		return
	case n.queues():
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
			in.ended = nil
			n.seeAll(in)
			n.learn(in)
		} else {
			in.everybody, began = false, in.seen
		}
		n.composeBatch(in, began)
		in.ended = nil
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

// planSerial composes the next batch of something where each has every request. The engine's queue has one for each
// stage, so it composed that when another had left, of what was there then, and knew no more.
func (n *naive) planSerial(in *naiveInstance) {
	if in.past == nil {
		in.past = []naivePast{{}}
	}
	for _, r := range in.waiting {
		if !r.noticed {
			r.noticed, r.stamped = true, n.now
		}
	}
	in.leftQueue(n.now)
	for in.load > 0 || len(in.running) > 0 || in.waitsInVain() {
		in.earlier, in.composed = in.composed, in.composes(len(n.stages))
		in.everybody = in.composed == n.now
		for _, r := range in.waiting {
			r.noticed = r.stamped <= in.composed
		}
		n.learnBy(in)
		running := len(in.running)
		for _, r := range in.waiting {
			r.hide(len(r.tokens) - r.knownBy(in.composed))
		}
		n.composeBatch(in, in.composed)
		for _, r := range in.waiting {
			r.hide(0)
		}
		for _, r := range in.waiting {
			r.noticed = true
		}
		nothing := in.queue[0].end == 0
		in.past = append(in.past, naivePast{nothing: nothing})
		if !nothing {
			in.end = in.queue[0].end
			return
		}
		n.cover["places of nothing"]++
		in.queue = nil
		in.leftQueue(n.now)
		if in.knew == len(in.past)-2 || in.composed == n.now && len(in.running) == running {
			break
		}
	}
	in.end, in.knew = sim.Forever, len(in.past)-1
	n.mayIdle(in)
	if in.life == "draining" && in.served() {
		n.down(in)
	}
}

// leftQueue notes that the latest batch has left the queue.
func (in *naiveInstance) leftQueue(now sim.Time) {
	idle := in.load == 0 && ended(in.running)
	latest := &in.past[len(in.past)-1]
	latest.left, latest.drained = now, idle && in.rests
	in.rests = idle
}

// composes returns when the engine composes the next batch: at once, if the latest is of something and the queue of so
// many has room, or when the oldest has left and there are requests.
func (in *naiveInstance) composes(depth int) sim.Time {
	latest := len(in.past) - 1
	room := func() bool {
		return !in.past[latest].nothing && latest-in.knew < depth && !in.past[in.knew+1].nothing
	}
	if in.knew < latest && !room() {
		in.knew++
	}
	for in.knew < latest && in.past[in.knew].drained {
		in.knew++
	}
	return in.past[in.knew].left
}

// learnBy tells the engine which requests had ended when it composed the batch.
func (n *naive) learnBy(in *naiveInstance) {
	n.peak = max(n.peak, n.blocks-in.free)
	known := func(r *naiveRequest) bool { return r.removed && r.tokens[len(r.tokens)-1] <= in.composed }
	in.waiting = slices.DeleteFunc(in.waiting, known)
	in.running = slices.DeleteFunc(in.running, func(r *naiveRequest) bool {
		finished := known(r)
		if finished {
			n.release(in, r, r.Computed)
		} else if r.removed {
			n.cover["ended a while ago"]++
		}
		return finished
	})
}

// knowsLimit reports whether an engine that composes one batch after the other knows that r, which has ended, has all
// tokens that it may have when the batches under way have ended.
func (n *naive) knowsLimit(in *naiveInstance, r *naiveRequest) bool {
	reserved := r.reserve > 0 && n.needs(r.Prompt+r.Output-1) <= r.reserve
	return int32(r.knownBy(in.composed))+1 >= r.Limit() || r.Computed+1 >= n.maxLen || reserved
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
	if !n.stagesSerial() {
		n.learn(in)
	}
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
			r.leaves(r.batch)
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
	var before, passed int64
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
		return r.want > 0 && (r.decoding || r.Pending() <= r.want && (r.Emitted+1 < r.Limit() || n.stagesSerial()))
	})}
	in.queue = append(in.queue, b)
	if in.underWay() > 1 {
		n.cover["batches under way at once"]++
	}
	in.step, n.steps = in.step+1, n.steps+1
	n.beginsOn(in)
	for _, r := range in.running {
		r.batch = b
		if !r.decoding && r.want > 0 {
			r.chunks = append(r.chunks, naiveChunk{b, r.want})
		}
	}
}

// passesAhead reports whether windows pass what chunks compute only when the engine knows what came of their batches.
func (n *naive) passesAhead() bool { return len(n.stages) > 1 && n.passing.Lags && !n.stagesSerial() }

// lags reports whether the latest token of a sequence that decodes does not count as computed for its windows.
func (n *naive) lags() bool { return n.passing.Lags && (n.queues() || !n.passesAhead()) }

// chunksUnknown returns how many tokens of the prompt of r are in batches of which the engine does not know what came.
func (n *naive) chunksUnknown(r *naiveRequest) (tokens int32) {
	batches := 0
	for _, c := range r.chunks {
		if c.of == r.at.ended || slices.Contains(r.at.queue, c.of) {
			tokens += c.tokens
			batches++
		}
	}
	if batches > 1 {
		n.cover["windows that wait for several chunks"]++
	}
	return tokens
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
	n.commitStale(in)
	for _, r := range n.all {
		if r.batch == in.queue[0] {
			r.batch = nil
		}
	}
	if in.queue[0].samples {
		in.sampled = n.now
	}
	if n.queues() {
		in.ended = in.queue[0]
	}
	in.queue = in.queue[1:]
	for _, b := range in.queue {
		if b.end != 0 {
			in.end = min(in.end, b.end)
		}
	}
}
