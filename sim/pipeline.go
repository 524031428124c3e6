package sim

import "slices"

// Pipeline stages have some of the layers each, and a batch passes through them one after the other. So that no stage
// waits, an engine has a batch under way for each stage, its microbatches: vLLM's batch queue is as deep as its
// pipeline (vLLM 0.33.0, vllm/config/vllm.py, max_concurrent_batches; vllm/v1/engine/core.py, step_with_batch_queue).
// Whenever the oldest batch has left the last stage, the engine composes others until the queue is full, of the
// requests that are in no batch. A sequence that decodes is in one batch at a time, so the batch that a request is
// admitted to is the one it decodes in. A prompt is not: its next chunk follows while the one before it is still under
// way, because every stage computes them in this order.
//
// An instance with stages has queue and cache and no batch; each of its microbatches is an instance with a batch of its
// own and the same queue and cache. A stage takes its share of the price of a batch by its layers, and begins when the
// stage before it has ended on that batch and it has itself ended on the batch before. What a batch waits for that is
// part of its step.
//
// Where a batch finds no block, a request of any batch may make room for it, see stale.go. An engine that schedules
// asynchronously is in pipeline_ahead.go.
type pipeline struct {
	lanes   []*Instance // the microbatches
	upTo    []int64     // by stage: the layers up to its end
	free    []Time      // by stage: when it has ended on the latest batch
	queue   []*Instance // the microbatches under way, the oldest first; nil: one of nothing
	busy    int         // those of something
	turn    int         // the microbatch that was under way last
	chunks  [][]chunk   // by microbatch: those of its latest batch, see passing.go
	yielded [][]yield   // by microbatch: what its step yields of requests that it has no more, see stale.go
	began   []int64     // by microbatch: the number of its latest batch of something
	number  int64       // of the latest of all
	ended   int64       // of the latest that has ended
	turns   int64       // requests that have been preempted
	ahead
	serial
}

// addStages gives the instances of p microbatches, if they have several stages.
func (p *Pool) addStages(c *Cluster) {
	if len(p.Stages) <= 1 {
		return
	}
	for _, in := range p.all {
		line := &pipeline{free: make([]Time, len(p.Stages))}
		line.samples, line.past = make([]bool, len(p.Stages)), make([]past, len(p.Stages)+2)
		layers := int64(0)
		for i, n := range p.Stages {
			layers += int64(n)
			line.upTo = append(line.upTo, layers)
			if i > 0 && p.serial() {
				continue
			}
			lane := &Instance{ID: in.ID, cluster: c, pool: p, replica: in, step: step{end: Forever}, shared: in.shared,
				lifecycle: lifecycle{place: -1}, line: line, lane: uint8(i)}
			lane.parts = []*Instance{lane}
			lane.step.ranks, lane.report.ranks = lane.step.own[:], lane.report.own[:]
			lane.prepare()
			line.lanes = append(line.lanes, lane)
		}
		line.chunks, line.began = make([][]chunk, len(line.lanes)), make([]int64, len(line.lanes))
		line.yielded = make([][]yield, len(line.lanes))
		in.line, in.batched = line, line.lanes
		for _, lane := range line.lanes {
			lane.batched = line.lanes
		}
		line.reset()
	}
}

// reset makes the stages and microbatches those of an engine that has just started.
func (l *pipeline) reset() {
	clear(l.free)
	l.queue, l.busy, l.turn = l.queue[:0], 0, 0
	l.ahead = ahead{samples: l.samples}
	l.serial = serial{past: l.past, unknown: l.serial.unknown[:0], finished: l.finished[:0]}
	clear(l.samples)
	clear(l.past)
	clear(l.began)
	l.number, l.ended, l.turns = 0, 0, 0
	for i := range l.chunks {
		l.chunks[i], l.yielded[i] = l.chunks[i][:0], l.yielded[i][:0]
	}
	for _, lane := range l.lanes {
		lane.resetBatch()
		lane.step.end = Forever
	}
}

// batches returns the instances that have the batches of in: itself, if it has one stage. Batches of ranks are theirs.
func (in *Instance) batches() []*Instance {
	switch {
	case in.group != nil:
		return nil
	case in.line != nil:
		return in.line.lanes
	}
	return in.parts
}

// planLanes composes what has a place in the queue of batches, and starts it. As in vLLM's loop, a batch of nothing has
// a place too, until those before it have ended.
func (in *Instance) planLanes(now Time) {
	line := in.line
	switch {
	case in.pool.serial():
		in.planSerial(now)
		return
	case in.pool.BatchQueue > 1:
		in.planAhead(now)
		return
	}
	for in.Queued()+in.Running()+in.Incoming() > 0 {
		lane := in.composeLane(now)
		line.queue = append(line.queue, lane)
		if line.busy == 0 {
			break
		}
		room := len(line.queue) < len(line.lanes)
		if room && (in.pool.FillsQueue || lane != nil && line.queue[0] != nil) {
			continue
		}
		if line.queue[0] != nil {
			break
		}
		line.queue = append(line.queue[:0], line.queue[1:]...)
	}
	in.awaitOldest(now)
}

// awaitOldest has in wait for the oldest of the batches under way, if there are any.
func (in *Instance) awaitOldest(now Time) {
	line := in.line
	if line.busy == 0 {
		line.queue = line.queue[:0]
		in.idle()
		return
	}
	for line.queue[0] == nil {
		line.pop(now)
	}
	s := &in.step
	s.start, s.end, s.n = now, line.queue[0].step.end, 1
	s.price = Segment{First: s.end.Sub(now), Steps: 1}
}

// composeLane composes a batch of the requests that are in none, and starts it; or returns nil, if it computes nothing.
// Those that have just come back are in the microbatch of the latest turn.
func (in *Instance) composeLane(now Time) *Instance {
	line := in.line
	for i := range line.lanes {
		lane := line.lanes[(line.turn+i)%len(line.lanes)]
		if lane.step.end == Forever {
			return lane.composeMicrobatch(now, now)
		}
	}
	panic("sim: a pipeline has more batches under way than stages")
}

// composeMicrobatch composes a batch of in, a microbatch, and starts it as of began; or returns nil, if it computes
// nothing.
func (in *Instance) composeMicrobatch(now, began Time) *Instance {
	if len(in.batch.cancelled) > 0 {
		in.dropCancelled(now)
		in.freeBlocks()
	}
	in.adopt()
	in.queue.recall()
	in.fill(now)
	if !in.computes() {
		return nil
	}
	in.passChunks()
	in.price(now)
	in.enterStages(now, began)
	line := in.line
	line.busy++
	line.number++
	line.began[in.lane] = line.number
	return in
}

// adopt takes the prompts of which other microbatches have a chunk, and not the last, into the batch of in: the next
// chunk is the business of the next step. So is the token of a request that has missed a step.
func (in *Instance) adopt() {
	for _, other := range in.line.lanes {
		for i := 0; other != in && i < len(other.batch.prefill); {
			slot := other.batch.prefill[i]
			r := &in.requests.at[slot]
			if r.state != prefilling || r.stale || r.chunk == r.Pending() {
				i++
				continue
			}
			r.blocks = max(r.blocks, int32(in.chunked(r)))
			if in.cache.Passes() {
				in.pass(r)
			}
			r.Computed += r.chunk
			if r.chunk > 0 {
				r.chunkBatch = in.line.began[other.lane]
			}
			if r.yielding {
				other.yieldsTo(r)
			}
			r.chunk, r.entering = 0, false
			other.batch.remove(slot)
			other.batch.prefill = slices.Delete(other.batch.prefill, i, i+1)
			in.batch.insert(slot)
			r.lane = in.lane
			in.batch.insertPrefill(slot)
			in.batch.leftOut = in.batch.leftOut || r.leftOut
		}
	}
}

// enterStages has the step of in, which is composed at now and has been priced, pass through the stages from began on.
func (in *Instance) enterStages(now, began Time) {
	s, line := &in.step, in.line
	layers, t, done := line.upTo[len(line.upTo)-1], began, int64(0)
	for i, n := range line.upTo {
		at := int64(s.price.First) / layers * n
		at += int64(s.price.First) % layers * n / layers
		t = max(t, line.free[i]).Add(max(1, Duration(at-done)))
		line.free[i], done = t, at
	}
	s.end, s.wait = t, t.Sub(now)-s.price.First
	if s.wait < 0 {
		in.shorten()
		return
	}
	s.price.First += s.wait
	s.price.Part[Overhead].A += s.wait
}

// commitLane ends the step of the oldest microbatch under way.
func (in *Instance) commitLane() {
	line, s := in.line, &in.step
	lane := line.queue[0]
	in.tally.busy += lane.step.end.Sub(s.start)
	in.tally.phases.count(&lane.step, 1, lane.step.end.Sub(s.start), len(line.upTo))
	in.tally.steps++
	if in.pool.serial() {
		p := line.at(line.serial.number)
		p.left, p.decodes = lane.step.end, lane.step.decodes > 0
	}
	lane.commitSteps()
	if in.pool.BatchQueue < 2 {
		in.learnChunks(lane)
	}
	in.learnStale(lane)
	in.commitYields(lane, in.cluster.now)
	lane.step.end, lane.step.n = Forever, 0
	line.busy--
	line.turn = int(lane.lane)
	line.pop(in.cluster.now)
}

// underWay reports whether a step of in is under way, or of the ranks that it steps together with.
func (in *Instance) underWay() bool {
	if in.line != nil {
		return in.step.end != Forever
	}
	return in.replica.step.end != Forever
}

// A prompt has chunks in several batches of a pipeline at once. Where they count as computed only when the engine knows
// what came of their batch, each batch has a list of them.
type chunk struct {
	slot, tokens int32
	admission    int64 // of the request that was in slot
}

// passesAhead reports whether there are such lists.
func (p *PoolSpec) passesAhead() bool {
	return len(p.Stages) > 1 && p.Passing.Lags && p.Passing.Blocks > 0 && !p.serial()
}

// passing returns Passing as it is of sequences that decode: without BatchQueue one has no token under way when a
// pipeline's engine composes its next.
func (p *PoolSpec) passing() Passing {
	v := p.Passing
	v.Lags = v.Lags && (p.BatchQueue > 1 || !p.passesAhead())
	return v
}

// passChunks frees what windows have passed before the chunks of the batch of in, a microbatch, which has its blocks.
// What the batch before it in the same microbatch computed counts from now on.
func (in *Instance) passChunks() {
	if !in.pool.passesAhead() {
		return
	}
	for _, slot := range in.batch.prefill {
		if r := &in.requests.at[slot]; r.chunk > 0 {
			in.passTo(r, in.passes(r))
		}
	}
	in.learnChunks(in)
	list := &in.line.chunks[in.lane]
	for _, slot := range in.batch.prefill {
		if r := &in.requests.at[slot]; r.chunk > 0 {
			r.underWay += r.chunk
			*list = append(*list, chunk{slot: slot, tokens: r.chunk, admission: r.admission})
		}
	}
}

// learnChunks has what the latest batch of a microbatch computed of prompts count as computed.
func (in *Instance) learnChunks(lane *Instance) {
	list := &in.line.chunks[lane.lane]
	for _, c := range *list {
		if r := &in.requests.at[c.slot]; r.state == prefilling && r.admission == c.admission {
			r.underWay -= c.tokens
		}
	}
	*list = (*list)[:0]
}
