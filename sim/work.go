package sim

// Work is how a Scheduler acts on an instance: it admits, chunks and preempts, and sees what that leaves. It is the
// composition of the next step, kept as sums.
type Work struct {
	in     *Instance
	demand int64  // blocks that the step needs beyond those held and those taken: decodes and chunks
	shape  *Shape // its prefill half
	closed bool
	now    Time

	looked  bool  // into the cache
	settled int   // members of the prefill list whose chunks others may find
	found   int32 // blocks that the head of the queue finds in the cache
	idle    int32 // of those, free ones
}

// reset starts the composition of another step.
func (w *Work) reset(now Time) {
	in, b := w.in, w.shape
	w.now, w.demand, w.closed = now, in.set.blocksDue(0, &in.kv), false
	w.looked, w.settled, w.found, w.idle = false, 0, 0, 0
	if b.Prefills > 0 {
		b.Prefills, b.PrefillTokens, b.PrefillPairs, b.PrefillCtx = 0, 0, 0, 0
		b.Capped = [2]Capped{}
	}
	b.Outputs = 0
}

// Room returns the free KV blocks that the step, as composed so far, leaves; negative if it does not fit.
func (w *Work) Room() int64 { return w.in.kv.free - w.demand }

// Cached returns how many tokens of r, the head of the queue, the cache holds already: what r need not compute if it is
// admitted next. Nobody can be preempted after that, for what this step takes from the cache has been taken.
func (w *Work) Cached(r *Request) int32 {
	w.found, w.idle = 0, 0
	if p := w.in.prefix; p != nil && (r.Content != 0 || r.own != 0) {
		w.settle()
		w.looked = true
		w.found, w.idle = p.find(r)
	}
	return w.found * w.in.kv.size
}

// settle takes the blocks that the step needs so far and lets others find what its chunks compute.
func (w *Work) settle() {
	in := w.in
	in.take(w.demand)
	w.demand = 0
	if in.prefix == nil {
		return
	}
	for _, slot := range in.prefill[w.settled:] {
		r := &in.slab[slot]
		in.prefix.publish(r, r.Computed+r.chunk)
	}
	w.settled = len(in.prefill)
}

// Need returns the free blocks that it takes to admit the request that Cached was asked of last, and to compute the next
// n of its tokens.
func (w *Work) Need(n int32) int64 {
	kv := &w.in.kv
	return kv.Blocks(w.found*kv.size+n) - int64(w.found-w.idle)
}

// Admit moves the head of the queue, which Cached was asked of, into the batch. The caller gives it a chunk next.
func (w *Work) Admit(r *Request) {
	in := w.in
	slot := in.popHead()
	if r != &in.slab[slot] {
		panic("sim: admitted a request that is not the head of the queue")
	}
	r.held, r.Computed = w.found, w.found*in.kv.size
	if w.found > 0 {
		in.kv.take(int64(w.idle))
		in.prefix.hold(r, w.found)
		w.found, w.idle = 0, 0
	}
	if r.Admitted == 0 && r.Preemptions == 0 {
		r.Admitted, r.Cached = w.now, r.Computed
		in.cluster.totals.CachedTokens += int64(r.Computed)
		in.pool.prompted += int64(r.Prompt)
		in.pool.cached += int64(r.Computed)
	}
	r.state = prefilling
	in.link(slot)
	in.prefill = append(in.prefill, slot)
}

// Chunk runs the next n tokens of r's prompt in the step. Room may turn negative: then the caller preempts.
func (w *Work) Chunk(r *Request, n int32) {
	if n < 1 || n > r.Pending() || r.chunk != 0 || r.state != prefilling {
		panic("sim: a chunk must be of a request in prefill, once, and within what it has pending")
	}
	r.chunk = n
	w.count(r, 1)
}

// count adds r's chunk to the step, or takes it out again.
func (w *Work) count(r *Request, sign int64) {
	t, c := int64(r.chunk), int64(r.Computed)
	w.demand += sign * (w.in.kv.Blocks(r.Computed+r.chunk) - int64(r.held))
	w.shape.Prefills += int(sign)
	w.shape.PrefillTokens += sign * t
	w.shape.PrefillPairs += sign * (t*c + t*(t+1)/2)
	w.shape.PrefillCtx += sign * (c + t)
	for i := range w.in.set.windows {
		w.in.set.windows[i].chunk(&w.shape.Capped[i], c, t, sign)
	}
	if r.chunk == r.Pending() {
		w.shape.Outputs += int(sign)
	}
}

// PreemptTail drops the cache of the latest admitted request and puts it back at the head of the queue, to be computed
// again. The batch must not be empty: a single request always fits.
func (w *Work) PreemptTail() {
	in := w.in
	if in.running == 0 {
		panic("sim: nobody is left to preempt")
	}
	if w.looked {
		panic("sim: preempted after looking into the cache")
	}
	slot := in.tail
	r := &in.slab[slot]
	held := int64(r.held)
	if r.state == decoding {
		r.Computed, r.Emitted = in.progress(r)
		held = in.kv.Blocks(r.Computed)
		if in.kv.residue(int64(r.Computed)) == 0 {
			w.demand--
		}
		in.set.ends.remove(slot)
		in.set.leave(slot, r.Computed, &in.kv)
		r.Last = w.now
		in.untrace(r, slot)
	} else {
		if r.chunk > 0 {
			w.count(r, -1)
		}
		in.prefill = in.prefill[:len(in.prefill)-1]
	}
	if in.prefix != nil {
		in.prefix.release(r, slot, held, true)
	} else {
		in.kv.release(held)
	}
	r.held, r.Computed, r.chunk = 0, 0, 0
	r.state = waiting
	r.Preemptions++
	in.pool.preemptions++
	in.unlink(slot)
	in.front = append(in.front, slot)
}

// Close says that no arrival can change the batch before one of its members ends: the queue's head is blocked, or the
// seats are taken. Runs of steps are then not cut at arrivals.
func (w *Work) Close() { w.closed = true }
