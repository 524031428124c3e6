package sim

// Work is how a Scheduler acts on an instance: it admits, chunks and preempts, and sees what that leaves. It is the
// composition of the next step, kept as sums.
type Work struct {
	in      *Instance
	demand  int64  // blocks that the step needs beyond those held and those taken: decodes and chunks
	shape   *Shape // its prefill half
	closed  bool   // nobody can be admitted before a member of the batch ends
	blocked bool   // the head of the queue cannot
	held    bool   // decodes get no token
	now     Time

	taken   bool  // some of the blocks that the step needs have been taken
	settled int   // members of the prefill list whose chunks others may find
	found   int32 // blocks that the head of the queue finds in the cache
	idle    int32 // of those, free ones
	beyond  int32 // and, beyond those, in host memory
}

// reset starts the composition of another step.
func (w *Work) reset(now Time) {
	b := w.shape
	w.now, w.closed, w.blocked, w.held = now, false, false, false
	if in := w.in; in.spec == nil {
		w.demand = in.set.blocksDue(0, &in.kv)
	} else {
		w.demand = in.lookAhead()
	}
	w.taken, w.settled, w.found, w.idle, w.beyond = false, 0, 0, 0, 0
	b.SwapBlocks = 0
	if b.Prefills > 0 {
		b.Prefills, b.PrefillTokens, b.PrefillPairs, b.PrefillCtx = 0, 0, 0, 0
		b.Capped = [2]Capped{}
	}
	b.Outputs = 0
}

// Room returns the free KV blocks that the step, as composed so far, leaves; negative if it does not fit.
func (w *Work) FreeBlocks() int64 { return w.in.kv.free - w.demand }

// Cached returns how many tokens of r, which waits, the cache holds already: what r need not compute if it is admitted
// next. Nobody can be preempted after that in a step that needs blocks so far, for they have been taken.
func (w *Work) CachedTokens(r *Request) int32 {
	w.found, w.idle, w.beyond = 0, 0, 0
	if p := w.in.prefix; p != nil && r.recallable() {
		w.settle()
		w.found, w.idle, w.beyond = p.find(r)
	}
	return (w.found + w.beyond) * w.in.kv.size
}

// Path appends to path the nodes of Contents, from the root on, that the cache holds blocks of and r, of whom Cached was
// asked last, finds.
func (w *Work) CachedPath(r *Request, path []int32) []int32 {
	if p := w.in.prefix; p != nil && w.found+w.beyond > 0 {
		return p.walk(r, w.found+w.beyond, path)
	}
	return path
}

// Empty reports whether the step, as composed so far, computes nothing.
func (w *Work) Empty() bool { return w.shape.Prefills == 0 && (w.held || w.in.set.n == 0) }

// settle takes the blocks that the step needs so far and lets others find what its chunks compute.
func (w *Work) settle() {
	in := w.in
	if w.demand > 0 {
		in.take(w.demand)
		w.demand, w.taken = 0, true
	}
	if in.prefix == nil {
		return
	}
	for _, slot := range in.prefill[w.settled:] {
		r := &in.slab[slot]
		in.prefix.publish(r, r.Computed+r.chunk)
	}
	w.taken = w.taken || w.settled < len(in.prefill)
	w.settled = len(in.prefill)
}

// Hold makes it a step of prompts alone: decodes get no token and take no block. It comes before anybody is admitted, and
// takes KeepWaits.
func (w *Work) PauseDecodes() {
	if !w.held {
		w.in.mustKeep(CountPauses)
		w.held = true
		w.demand -= w.due()
	}
}

// Release makes it a step of decodes after all.
func (w *Work) ResumeDecodes() {
	if w.held {
		w.held = false
		w.demand += w.due()
	}
}

// due returns the blocks that the decodes need for the step.
func (w *Work) due() int64 {
	if w.in.spec != nil {
		return w.in.lookAhead()
	}
	return w.in.set.blocksDue(0, &w.in.kv)
}

// Promised returns the blocks that the running requests will take after this step, as composed so far, if each emits as
// much as it may. It takes KeepPromised.
func (w *Work) CommittedBlocks() int64 {
	in := w.in
	in.mustKeep(CountCommitted)
	return in.ceiling - (in.kv.total - in.kv.free) - in.repeats - w.demand
}

// Need returns the free blocks that it takes to admit the request that Cached was asked of last, and to compute the next
// n of its tokens.
func (w *Work) BlocksToAdmit(n int32) int64 {
	kv := &w.in.kv
	return kv.Blocks((w.found+w.beyond)*kv.size+n) - int64(w.found-w.idle)
}

// More returns the blocks that the next n tokens of r, which prefills, take.
func (w *Work) BlocksToExtend(r *Request, n int32) int64 {
	return max(0, w.in.kv.Blocks(r.Computed+n)-int64(r.held))
}

// Admit moves the head of the queue, which Cached was asked of, into the batch. If reserve is not 0 it takes the blocks of
// so many tokens at once. The caller gives it a chunk next.
func (w *Work) Admit(r *Request, reserve int32) {
	in := w.in
	slot := in.popHead()
	if r != &in.slab[slot] {
		panic("sim: admitted a request that is not the head of the queue")
	}
	if r.again() {
		in.back--
	}
	r.held, r.Computed = w.found, (w.found+w.beyond)*in.kv.size
	if w.found > 0 {
		in.repeats += int64(w.found - w.idle)
		in.kv.take(int64(w.idle))
		in.prefix.hold(r, w.found)
	}
	if w.beyond > 0 {
		w.shape.SwapBlocks += int64(w.beyond)
		in.prefix.host.loaded += int64(w.beyond)
	}
	w.found, w.idle, w.beyond = 0, 0, 0
	if !r.entered {
		r.entered, r.Admitted, r.Cached = true, w.now, r.Computed
		in.cluster.totals.CachedTokens += int64(r.Computed)
		in.pool.prompted += int64(r.Prompt)
		in.pool.cached += int64(r.Computed)
	}
	r.state, r.joined = prefilling, int64(w.now)
	in.link(slot)
	in.prefill = append(in.prefill, slot)
	if r.reserved = 0; reserve > 0 {
		w.reserve(r, reserve)
	}
}

// reserve takes the blocks of so many tokens for r.
func (w *Work) reserve(r *Request, tokens int32) {
	r.reserved = int32(w.in.kv.Blocks(tokens))
	if more := r.reserved - r.held; more > 0 {
		w.demand += int64(more)
		r.held = r.reserved
	}
}

// Pad makes the prompts of a batch that has just been admitted as long as one of so many tokens, and reserves so many for
// each. The batch stays together: who has ended keeps its row and its blocks until all have.
func (w *Work) Pad(tokens, reserve int32) {
	in := w.in
	if in.spec != nil {
		panic("sim: a static batch does not speculate")
	}
	for _, slot := range in.prefill {
		w.count(&in.slab[slot], -1)
	}
	in.padded = tokens
	for _, slot := range in.prefill {
		w.reserve(&in.slab[slot], reserve)
		w.count(&in.slab[slot], 1)
	}
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
	t, c := int64(max(r.chunk, w.in.padded)), int64(r.Computed)
	w.demand += sign * max(0, w.in.kv.Blocks(r.Computed+r.chunk)-int64(r.held))
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

// Close says that no arrival can change the batch before one of its members ends: the seats are taken. Runs of steps are
// then not cut at arrivals.
func (w *Work) BatchFull() { w.closed = true }

// Block says that the head of the queue cannot be admitted before a member of the batch ends. Runs of steps are then cut
// at arrivals only if one may come before it.
func (w *Work) HeadBlocked() { w.blocked = true }
