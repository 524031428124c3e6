package sim

import "math/bits"

// A pipeline whose engine schedules asynchronously has one batch more in its queue than stages (vLLM 0.33.0,
// vllm/config/vllm.py, max_concurrent_batches), and a request that has a token in a batch decodes in the one as many
// later as there are stages, whether or not those between compute anything
// (vllm/v1/core/sched/async_scheduler.py, next_decode_eligible_step). So a request keeps its microbatch, and that is
// composed as the batch queue of one stage has it (batch_queue.go): without knowing what came of its latest batch.
//
// The engine composes a batch when the result of the one that is a stage's worth before its microbatch's latest has
// come, and the first stage begins with it when that latest batch has ended, which it waits for if any token of that is
// needed (vllm/v1/worker/gpu/pp_utils.py, PPHandler.get_prev_sampled_outputs). Here the batch is composed when its
// microbatch's latest has ended, of the requests that had come when the engine composed it. If that was of chunks of
// prompts alone, which nothing waits for, the first stage has begun before: then the step, which is reported as of now,
// is shorter than the batch took.
type ahead struct {
	next    int    // the microbatch that is composed next
	samples []bool // by microbatch: a token of its latest batch is needed
	latest  Time   // when the latest batch left the queue
	before  Time   // when the one before it did
	idle    bool   // the engine had no request then
	drained bool   // nor before that, and composed no batch
}

// planAhead composes batches until the queue is full, and starts them. Those of nothing that are the oldest leave it at
// once.
func (in *Instance) planAhead(now Time) {
	line := in.line
	if len(line.queue) == 0 {
		line.before, line.latest = now, now
	}
	for nothing := 0; nothing <= len(line.lanes) && in.Queued()+in.Running()+in.Incoming() > 0; {
		lane := in.composeAhead(now)
		line.queue = append(line.queue, lane)
		nothing++
		if lane != nil {
			nothing = 0
		}
		if len(line.queue) < len(line.lanes) {
			continue
		}
		if line.queue[0] != nil {
			break
		}
		line.pop(now)
	}
	idle := in.Queued()+in.Running()+in.Incoming() == 0
	line.idle, line.drained = idle, idle && line.idle
	in.awaitOldest(now)
}

// pop takes the oldest batch out of the queue.
func (l *pipeline) pop(now Time) {
	l.queue = append(l.queue[:0], l.queue[1:]...)
	l.before, l.latest = l.latest, now
}

// composeAhead composes a batch of the next microbatch, and starts it; or returns nil, if it computes nothing.
func (in *Instance) composeAhead(now Time) *Instance {
	line := in.line
	lane, began := line.lanes[line.next], now
	line.next = (line.next + 1) % len(line.lanes)
	if len(line.queue) == len(line.lanes)-1 && line.before < now && !line.drained {
		in.queue.visible = in.queuedBy(line.before)
		if !line.samples[lane.lane] {
			began = line.before
		}
	} else { // there was room in the queue, or the latest batch was of nothing: the engine knows all
		in.queue.seeAll(in.queuedBy(now))
		if lane.unseen() {
			lane.releaseEnded()
		}
	}
	composed := lane.composeMicrobatch(now, began)
	line.samples[lane.lane] = composed != nil && lane.samples()
	if composed == nil {
		in.learnChunks(lane)
	}
	return composed
}

// samples reports whether stages wait for a token of the step that has been composed: for any or, where the queue is
// filled, any but the only one of a request.
func (in *Instance) samples() bool {
	if in.work.shape.Decodes > 0 {
		return true
	}
	for _, slot := range in.batch.prefill {
		r := &in.requests.at[slot]
		if r.chunk > 0 && r.chunk == r.Pending() && (r.Emitted+1 < r.Limit() || in.pool.serial()) {
			return true
		}
	}
	return false
}

// shorten makes the price of the step that has been composed, which began before, what is left of it, and each part of
// it in proportion.
func (in *Instance) shorten() {
	s := &in.step
	whole := s.price.First
	s.price.First += s.wait
	var parts Breakdown
	s.price.FirstParts((*Parts)(parts[:NumParts]))
	parts.shorten(s.price.First, whole)
	for i := range s.price.Part {
		s.price.Part[i].A = parts[i]
	}
	s.price.Bound.A = share(s.price.Bound.A, s.price.First, whole)
}

// shorten makes b, which sums to whole, sum to left, each wait in proportion.
func (b *Breakdown) shorten(left, whole Duration) {
	rest := left
	for i := range b {
		b[i] = share(b[i], left, whole)
		rest -= b[i]
	}
	b[Overhead] += rest
}

// share returns d · part / whole, rounded down.
func share(d, part, whole Duration) Duration {
	high, low := bits.Mul64(uint64(d), uint64(part))
	quotient, _ := bits.Div64(high, low, uint64(whole))
	return Duration(quotient)
}

// vLLM 0.22 schedules a pipeline asynchronously, too, and then no request has a microbatch: all decode in every batch,
// and no stage but the last begins with one before the tokens of the one before are there, if it yields any
// (vllm/v1/worker/gpu_model_runner.py, _pp_receive_prev_sampled_token_ids_to_input_batch). The queue is as deep as the
// pipeline, so the engine may not know what came of the latest batches, of one fewer than there are stages, and a
// request that has ended has its blocks and computes tokens in vain until it does (vllm/v1/engine/core.py,
// step_with_batch_queue). Here a batch is composed when the one before has ended, of the requests that had come when
// the engine composed it, and without those of which it knew by then that they had ended. Such an engine has one
// microbatch.
type serial struct {
	number   int     // batches composed so far
	known    int     // the latest of which the engine knew what came when it composed the latest
	composed Time    // when it did that
	earlier  Time    // when it composed the one before it
	past     []past  // the latest batches, by number
	yields   bool    // the latest batch of something has tokens that stages wait for
	tokens   Time    // when the latest ones were there
	rested   bool    // the engine had no request when the latest batch left the queue
	unknown  []token // of which it may not have known then, but for those of the decode set
	finished []int32 // requests that wait or prefill, and have ended
}

// token is a token that the request in slot emitted.
type token struct {
	slot, id int32
	at       Time
}

// past is a batch that has been composed.
type past struct {
	left    Time // the queue
	nothing bool // it computed nothing
	decodes bool // the decode set emitted tokens with it
	drained bool // the engine composed none when it left, because it had no request then, nor before
}

// serial reports whether the stages of p work on one batch after the other.
func (p *PoolSpec) serial() bool { return len(p.Stages) > 1 && p.BatchQueue > 1 && !p.FillsQueue }

// planSerial composes the next batch that computes something, and starts it.
func (in *Instance) planSerial(now Time) {
	line, s, lane := in.line, &in.line.serial, in.line.lanes[0]
	if s.yields {
		s.tokens = now
	}
	in.leaveQueue(now)
	for in.Queued()+in.Running()+in.Incoming() > 0 {
		composed := s.composes(len(line.upTo))
		s.earlier, s.composed = s.composed, composed
		in.queue.visible = in.queuedBy(composed)
		if composed == now {
			in.queue.seeAll(in.queuedBy(now))
		}
		in.learnTokens()
		lane.releaseEndedBy(composed)
		running := lane.batch.n
		one := lane.composeMicrobatch(now, max(composed, s.tokens))
		s.number++
		s.at(s.number).nothing, s.at(s.number).decodes = one == nil, false
		if one != nil {
			s.yields = lane.samples()
			line.queue = append(line.queue, one)
			break
		}
		in.leaveQueue(now)
		if s.known == s.number-1 || composed == now && lane.batch.n == running { // it knew all, and would do the same again
			break
		}
	}
	if line.busy == 0 {
		s.known = s.number
	}
	in.awaitOldest(now)
}

// at returns the batch of a number.
func (s *serial) at(number int) *past { return &s.past[number%len(s.past)] }

// composes returns when the engine composes the next batch. It does so as long as the latest computes something and the
// queue, whose oldest has not ended, is not full; else when the oldest has left.
func (s *serial) composes(depth int) Time {
	latest := s.number
	if s.known < latest {
		if s.at(latest).nothing || latest-s.known == depth || s.at(s.known+1).nothing {
			s.known++
		}
	}
	for s.known < latest && s.at(s.known).drained {
		s.known++
	}
	return s.at(s.known).left
}

// leaveQueue notes that the latest batch has left the queue of in.
func (in *Instance) leaveQueue(now Time) {
	s, b := &in.line.serial, &in.line.lanes[0].batch
	idle := in.Queued()+in.Running()+in.Incoming() == len(b.ended)+len(b.finished)+len(s.finished)
	latest := s.at(s.number)
	latest.left, latest.drained = now, idle && s.rested
	s.rested = idle
}

// finishSerial ends the request in slot, a member of the decode set, for its client. The engine has it decode on until
// it knows that this was its last token: it has learned of all before that, or of this one.
func (in *Instance) finishSerial(slot int32, now Time) {
	r, s := &in.requests.at[slot], &in.line.serial
	in.noteTokens(r)
	r.penultimate = Forever
	if _, emitted := in.batch.progress(r); emitted >= r.Limit() {
		r.penultimate = 0
		for _, t := range s.unknown {
			if t.slot == slot && t.id == r.ID && t.at < now {
				r.penultimate = max(r.penultimate, t.at)
			}
		}
	}
	r.Last = now
	in.finishRow(slot, now)
}

// A request that is preempted waits with the tokens of which the engine knows, and those that it learns of meanwhile.
// If it admits the request before it knows all, it has computed what it knew as of then, and next what is under way.
// That goes for a request, too, that has ended and of which it does not know that.

// noteTokens notes the tokens of r, which leaves the decode set or its finish order, as far as the engine may not know
// them.
func (in *Instance) noteTokens(r *Request) {
	s := &in.line.serial
	n := in.batch.set.Step() - r.joinStep
	for i := s.number; i > max(0, s.number-len(s.past)) && n > 0; i-- {
		p := s.at(i)
		if p.left <= s.earlier {
			break
		}
		if p.decodes {
			s.unknown = append(s.unknown, token{slot: r.slot, id: r.ID, at: p.left})
			n--
		}
	}
}

// unlearned returns how many tokens of r, which is not in the decode set, the engine did not know at t.
func (s *serial) unlearned(r *Request, t Time) (n int32) {
	for _, x := range s.unknown {
		if x.slot == r.slot && x.id == r.ID && x.at > t {
			n++
		}
	}
	return n
}

// named returns how many tokens of r, which is preempted and has left the decode set, are in blocks that can be found
// again: those of which the engine knew when r got its latest blocks, and all but the last of which it has known since.
func (s *serial) named(r *Request, taken bool) int32 {
	unknown := s.unlearned(r, s.composed)
	if !taken && s.unlearned(r, s.earlier) > unknown {
		unknown++
	}
	return r.Prompt + min(r.Emitted, r.Output) - unknown
}

// unlearn has r, which is preempted, wait without the tokens that the engine does not know.
func (in *Instance) unlearn(r *Request) {
	r.unlearned = in.line.serial.unlearned(r, in.line.composed)
	r.Emitted -= r.unlearned
}

// learnTokens has the engine know all tokens that had come when it composed the batch.
func (in *Instance) learnTokens() {
	s := &in.line.serial
	left := s.unknown[:0]
	for _, t := range s.unknown {
		if t.at > s.earlier {
			left = append(left, t)
		}
		if r := &in.requests.at[t.slot]; r.ID == t.id && r.unlearned > 0 && t.at > s.earlier && t.at <= s.composed {
			r.unlearned--
			r.Emitted++
		}
	}
	s.unknown = left
}

// releaseFinished drops the requests that had ended by t and wait or prefill.
func (in *Instance) releaseFinished(t Time) {
	s := &in.line.serial
	left := s.finished[:0]
	for _, slot := range s.finished {
		r := &in.requests.at[slot]
		switch {
		case r.Last <= t && r.state == waiting:
			in.cache.Forget(slot)
			in.queue.cancel(slot)
		case r.Last <= t:
			in.batch.removePrefill(slot)
			in.dropEnded(slot)
		default:
			left = append(left, slot)
		}
	}
	s.finished = left
}

// joinFinished has the request in slot, which has ended and whose tokens are computed again, decode in vain.
func (in *Instance) joinFinished(slot int32) {
	r, b := &in.requests.at[slot], &in.batch
	in.line.finished = without(in.line.finished, slot)
	in.join(slot)
	b.set.DropEnd(slot)
	b.untrace(r, slot)
	if b.byClass != nil {
		b.byClass[r.Class]--
	}
	r.state = finishedRow
	b.finished = append(b.finished, slot)
}

// releaseEndedBy takes the requests that had ended by t out of the batch. Those that ended later compute no more if the
// engine knew then that they would have, or has reserved no more blocks for them.
func (in *Instance) releaseEndedBy(t Time) {
	b := &in.batch
	in.releaseFinished(t)
	rows := b.finished[:0]
	for _, slot := range b.finished {
		r := &in.requests.at[slot]
		computed, _ := b.progress(r)
		switch {
		case r.Last <= t:
			in.leave(slot)
			in.dropEnded(slot)
		case r.penultimate <= t || computed+1 >= in.pool.MaxModelLen || !in.paged(r):
			in.leave(slot)
			r.state = ended
			b.ended = append(b.ended, slot)
		default:
			rows = append(rows, slot)
		}
	}
	b.finished = rows
	left := b.ended[:0]
	for _, slot := range b.ended {
		if in.requests.at[slot].Last <= t {
			in.dropEnded(slot)
		} else {
			left = append(left, slot)
		}
	}
	b.ended = left
	if len(in.freed) > 0 {
		in.freeBlocks()
	}
}
