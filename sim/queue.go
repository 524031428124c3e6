package sim

import "slices"

// queue is the requests that wait for admission to a batch. They stand in one of three places: the front, a stack of
// requests that have records, whose top is the head of the queue; behind it the pages, which hold requests in packed
// form; and, if the pool has an Order, a heap that takes the place of the front, to which requests go from the pages
// as soon as the scheduler may see them. Where requests have adapters, a heap for each takes its place.
type queue struct {
	requests  *slab
	order     Order // nil: first come, first served
	sorts     bool  // requests stand in heaps
	inTurn    bool  // and those with the same key in the order in which they have come, or come back
	turns     int64 // that have come in turn so far
	ranked    bool  // the heap is in its order throughout
	visible   Time  // the scheduler sees the requests that arrived by then; Forever: all
	received  Time  // the engine last looked for requests when these had arrived; see PoolSpec.RecvInterval
	unasked   int   // steps of decodes since then
	front     []int32
	pages     pages
	heap      orderHeap
	heaps     *heaps    // nil: requests have no adapters
	adapters  *adapters // of its instance
	aside     []aside   // requests that wait for what they have in batches under way, and then for their place
	stale     int       // and those that such batches still have as members
	cancelled int       // entries of pages whose clients have cancelled them
	started   int       // entries of pages that have emitted tokens
	resuming  int       // requests that have been in a batch before
	scratch   []int32
}

// clear empties q.
func (q *queue) clear() {
	q.pages, q.front, q.heap = pages{}, q.front[:0], q.heap[:0]
	q.cancelled, q.started, q.resuming = 0, 0, 0
	q.aside, q.stale = q.aside[:0], 0
	q.ranked = false
}

// join makes q, which is empty, that of an instance with such adapters; nil: it has none.
func (q *queue) join(a *adapters) {
	q.heaps, q.adapters = nil, a
	q.sorts = q.order != nil || a != nil
	if a != nil {
		q.heaps = newHeaps(len(a.of) - 1)
	}
}

// len returns the number of requests that wait, whether the scheduler sees them yet or not.
func (q *queue) len() int {
	return q.pages.n - q.cancelled + len(q.front) + q.heaped() + len(q.aside) + q.stale
}

// head returns the request at the head of the queue, or nil, whether the scheduler sees it or not. One whose adapter
// may not join the batch is passed over.
func (q *queue) head() *Request {
	if q.sorts {
		q.sort()
		return q.requests.request(q.firstOfHeaps())
	}
	if n := len(q.front); n > 0 {
		return &q.requests.at[q.front[n-1]]
	}
	slot := q.unpack()
	if slot == noSlot {
		return nil
	}
	q.front = append(q.front, slot)
	return &q.requests.at[slot]
}

// waiting returns the i-th request of a queue without adapters, or nil if the scheduler does not see so many.
func (q *queue) waiting(i int) *Request {
	if q.sorts {
		return q.waitingInOrder(i)
	}
	for len(q.front) <= i {
		slot := q.unpack()
		if slot == noSlot {
			return nil
		}
		q.front = slices.Insert(q.front, 0, slot)
	}
	r := &q.requests.at[q.front[len(q.front)-1-i]]
	if r.queuedAt > q.visible {
		return nil
	}
	return r
}

// countVisible returns how many requests wait that the scheduler sees, up to a number.
func (q *queue) countVisible(most int) (n int) {
	if q.sorts {
		q.sort()
		return min(most, q.heaped())
	}
	for n < most && q.waiting(n) != nil {
		n++
	}
	return n
}

// arrange permutes the first requests: the i-th is then the one that was the order[i]-th.
func (q *queue) arrange(order []int32) {
	last := len(q.front) - 1
	q.scratch = q.scratch[:0]
	for _, i := range order {
		q.scratch = append(q.scratch, q.front[last-int(i)])
	}
	for i, slot := range q.scratch {
		q.front[last-i] = slot
	}
}

// unpack takes the oldest request whose client still waits out of the pages and returns its slot, or noSlot.
func (q *queue) unpack() int32 {
	for q.pages.n > 0 {
		if slot := q.unpackOne(); slot != noSlot {
			return slot
		}
	}
	return noSlot
}

// unpackOne takes the oldest entry out of the pages and returns its slot, or noSlot if its client has cancelled it.
func (q *queue) unpackOne() int32 {
	x := q.pages.pop()
	slot := x.slot()
	if slot == noSlot {
		return q.requests.put(x.request())
	}
	r := &q.requests.at[slot]
	if r.Emitted > 0 {
		q.started--
	}
	if r.state == cancelled {
		q.cancelled--
		q.requests.remove(slot)
		return noSlot
	}
	return slot
}

// sort moves the requests that the scheduler sees from the pages, which are in order of arrival, to the heap.
func (q *queue) sort() {
	for q.pages.n > 0 && q.requests.at[q.pages.peek().slot()].queuedAt <= q.visible {
		if slot := q.unpackOne(); slot != noSlot {
			q.pushHeap(slot)
		}
	}
}

// pop takes the head off the queue and returns its slot.
func (q *queue) pop() int32 {
	slot := noSlot
	if q.sorts {
		slot = q.firstOfHeaps()
		q.removeHeaped(slot)
	} else {
		n := len(q.front) - 1
		slot = q.front[n]
		q.front = q.front[:n]
	}
	if q.requests.at[slot].resumes() {
		q.resuming--
	}
	return slot
}

// vacant reports whether the next request to be pushed becomes the head.
func (q *queue) vacant() bool { return !q.sorts && q.pages.n == 0 && len(q.front) == 0 }

// push appends r. The record of r is in slot or, if the entry says all there is to say of it, nowhere: noSlot.
func (q *queue) push(r *Request, slot int32) {
	if slot == noSlot {
		q.pages.push(r.pack(slot))
		return
	}
	if r.resumes() {
		q.resuming++
	}
	switch {
	case q.vacant():
		q.front = append(q.front, slot)
	default:
		q.pages.push(r.pack(slot))
		if r.Emitted > 0 {
			q.started++
		}
	}
}

// pushBack puts the preempted request in slot to the head of the queue, to its end, or to its place in the order. The
// end is that of the requests which the scheduler sees: others came later.
func (q *queue) pushBack(slot int32, last bool) {
	q.resuming++
	q.requests.at[slot].queuedAt = 0 // the scheduler, which had it run, sees it, whenever it was queued elsewhere
	switch r := &q.requests.at[slot]; {
	case q.heaps != nil && q.order == nil && last:
		panic("sim: no scheduler of adapters puts a request behind others")
	case q.heaps != nil && q.order == nil:
		q.heaps.front--
		r.orderKey = q.heaps.front
		q.pushHeap(slot)
	case q.order != nil:
		q.sort() // what the scheduler sees came before
		q.pushHeap(slot)
	case last && (q.visible == Forever || q.pages.n > 0 && q.seen(q.pages.peek())):
		q.pages.push(r.pack(slot))
		for i := q.pages.n - 1; i > 0 && !q.seen(q.pages.at(i-1)); i-- {
			a, b := q.pages.at(i-1), q.pages.at(i)
			*a, *b = *b, *a
		}
		if r.Emitted > 0 {
			q.started++
		}
	case last:
		i := 0
		for i < len(q.front) && q.requests.at[q.front[i]].queuedAt > q.visible {
			i++
		}
		q.front = slices.Insert(q.front, i, slot)
	default:
		i := len(q.front)
		for i > 0 && q.requests.at[q.front[i-1]].turn < r.turn { // it was preempted later
			i--
		}
		q.front = slices.Insert(q.front, i, slot)
	}
}

// seen reports whether the scheduler sees the request of an entry of the pages.
func (q *queue) seen(x *packed) bool {
	if slot := x.slot(); slot != noSlot {
		return q.requests.at[slot].queuedAt <= q.visible
	}
	return x.arrival.Add(x.tokenized) <= q.visible
}

// cancel takes the request in slot, which waits and whose client has cancelled it, out of the queue. If its entry is
// somewhere in the pages, its record is freed with the entry.
func (q *queue) cancel(slot int32) {
	r := &q.requests.at[slot]
	if r.resumes() {
		q.resuming--
	}
	if i := slices.Index(q.front, slot); i >= 0 {
		q.front = slices.Delete(q.front, i, i+1)
	} else if q.dropAside(slot) {
		// it stood nowhere else
	} else if !q.removeHeaped(slot) {
		r.state = cancelled
		q.cancelled++
		return
	}
	q.requests.remove(slot)
}

// eachListed calls f with every request of the front, from its end, and of the heap.
func (q *queue) eachListed(f func(r *Request)) {
	for _, list := range [][]int32{q.front, q.heap} {
		for _, slot := range list {
			f(&q.requests.at[slot])
		}
	}
	for i := range q.aside {
		f(&q.requests.at[q.aside[i].slot])
	}
	if q.heaps == nil {
		return
	}
	for _, heap := range q.heaps.of {
		for _, slot := range heap {
			f(&q.requests.at[slot])
		}
	}
}

// seeAll lets the scheduler see all that wait: they arrived by then.
func (q *queue) seeAll(by Time) { q.visible, q.received, q.unasked = Forever, by, 0 }

// queuedBy returns by when requests arrived that are in the queue at now.
func (in *Instance) queuedBy(now Time) Time { return now.Add(-in.cluster.ingress) }

// updateVisible sets which requests the scheduler sees: those that had reached the engine when the step that has just
// ended began or, if it looks for requests only now and then, when it last did.
func (in *Instance) updateVisible() {
	s := &in.step
	switch {
	case s.n == 0 || in.batch.n == 0 && in.pool.BatchQueue < 2:
		in.queue.seeAll(in.queuedBy(in.cluster.now))
	case in.pool.RecvInterval > 1:
		in.queue.visible = in.queue.received
	default:
		in.queue.visible = in.queuedBy(s.start.Add(s.price.Span(s.n - 1)))
	}
}

// listen notes when in has looked for requests while the steps that end ran: as those began that compute prompts, and
// as every RecvInterval-th of decodes alone did. SGLang counts a step of prompts as a thousand
// (sglang 0.5.23, managers/scheduler_components/recv_skipper.py).
func (in *Instance) listen() {
	q, s, every := &in.queue, &in.step, in.pool.RecvInterval
	if in.work.shape.Prefills > 0 {
		q.unasked = every - 1
	}
	if since := q.unasked + s.n; since < every {
		q.unasked = since
	} else {
		q.unasked = since % every
		q.received = in.queuedBy(s.start.Add(s.price.Span(s.n - 1 - q.unasked)))
	}
}

// stepsUnseen returns after how many steps the scheduler sees all requests that wait.
func (in *Instance) stepsUnseen() int {
	if r := in.queue.head(); in.pool.RecvInterval < 2 || r != nil && r.queuedAt <= in.queue.visible {
		return 1
	}
	return in.pool.RecvInterval - in.queue.unasked
}

// stepsSeen returns how many more steps than the one under way at t, which ends at t or later, pass until the scheduler
// sees a request that comes then.
func (in *Instance) stepsSeen(t Time) int {
	s, every := &in.step, in.pool.RecvInterval
	switch {
	case !in.pool.AsyncScheduling || in.batch.n == 0:
		return 0
	case every > 1:
		return every - (in.queue.unasked+s.price.Cover(t.Sub(s.start)))%every - in.pool.singleSteps()
	}
	return 1 - in.pool.singleSteps()
}

// singleSteps returns how many steps before the one that may have a new request are not of a segment, because Retract
// is asked as they end.
func (p *Pool) singleSteps() int {
	if p.preempts() {
		return 1
	}
	return 0
}

// preempts reports whether the scheduler may drop tokens of any step under way.
func (p *Pool) preempts() bool {
	preemptor, ok := p.retractor.(Preemptor)
	return ok && !p.composesAhead() && preemptor.Preempts()
}

// In a pool with an Order all that waits for a KV connector stands in one queue: caches that are to be loaded, and
// requests that were preempted and are computed again. So a load begins when its turn has come, and if it has to wait,
// those behind it do too (vllm/v1/core/sched/scheduler.py, Scheduler.schedule, of 0.22.1 and 0.33.0). First come, first
// served, those that were preempted stand before all others.

// LoadsInOrder reports whether in has such a queue.
func (in *Instance) LoadsInOrder() bool { return in.pool.ConnectorLoads && in.pool.Order != nil }

// Precedes reports whether a stands before b in it; nil is its end.
func (in *Instance) Precedes(a, b *Request) bool { return b == nil || before(a, b) }

// await adds the request in slot, which is transferred, to those that await blocks.
func (in *Instance) await(slot int32) {
	t, r := &in.transfers, &in.requests.at[slot]
	if !in.LoadsInOrder() {
		t.awaiting = append(t.awaiting, slot)
		return
	}
	r.queuedAt, r.orderKey = in.queuedBy(in.cluster.now), in.pool.Order.Key(r)
	at, _ := slices.BinarySearchFunc(t.awaiting, r, func(x int32, r *Request) int {
		return inOrder(&in.requests.at[x], r)
	})
	t.awaiting = slices.Insert(t.awaiting, at, slot)
}

// LoadBefore lets the caches be loaded that stand before r in the queue, and reports whether none of them has to wait;
// nil is the end of the queue. If a step is composed while another runs, loads have begun as it was, so that this only
// asks.
func (w *Work) LoadBefore(r *Request, rules LoadRules) bool {
	in := w.in
	if w.loads.ahead || in.queue.visible == Forever || !in.loadsAhead() {
		w.AllowLoads(rules)
		n := len(in.transfers.awaiting)
		in.allocateBefore(w, r)
		w.loads.allowed = false
		if w.loads.ahead && len(in.transfers.awaiting) < n && in.queue.resuming > 0 {
			w.growing = true // the next step may admit what stands behind them
		}
	}
	for _, slot := range in.transfers.awaiting {
		x := &in.requests.at[slot]
		if !in.Precedes(x, r) {
			break
		}
		if w.loads.ahead || x.queuedAt <= in.queue.visible {
			return false
		}
	}
	return true
}
