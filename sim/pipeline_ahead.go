package sim

import "math/bits"

// A pipeline whose engine schedules asynchronously has one batch more in its queue than stages (vLLM 0.33.0,
// vllm/config/vllm.py, max_concurrent_batches), and a request that has got a token in a batch decodes in the one that is
// as many batches later as there are stages, whether or not those between compute anything
// (vllm/v1/core/sched/async_scheduler.py, next_decode_eligible_step). So a request keeps its microbatch, and that is
// composed as the batch queue of one stage has it (batch_queue.go): without knowing what came of its latest batch.
//
// The engine composes a batch when the result of the one that is a stage's worth before its microbatch's latest has
// come, and the first stage begins with it when that latest batch has ended, which it waits for if any token of that is
// needed (vllm/v1/worker/gpu/pp_utils.py, PPHandler.get_prev_sampled_outputs). Here the batch is composed when its
// microbatch's latest has ended, of the requests that had come when the engine composed it. If nobody waited for that,
// because it was of chunks of prompts alone, the first stage has begun before: then the step, which is reported as of
// now, is shorter than the batch took.
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
		if nothing++; lane != nil {
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
	return composed
}

// samples reports whether a later batch needs a token of the step that has been composed: all but the only one of a
// request.
func (in *Instance) samples() bool {
	if in.work.shape.Decodes > 0 {
		return true
	}
	for _, slot := range in.batch.prefill {
		if r := &in.requests.at[slot]; r.chunk > 0 && r.chunk == r.Pending() && r.Emitted+1 < r.Limit() {
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
