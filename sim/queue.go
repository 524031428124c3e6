package sim

import "slices"

// queue is the requests that wait for admission to a batch. They stand in one of three places: the front, a stack of
// requests that have records, whose top is the head of the queue; behind it the pages, which hold requests in packed
// form; and, if the pool has an Order, a heap that takes the place of the front, to which requests go from the pages as
// soon as the scheduler may see them.
type queue struct {
	requests  *slab
	order     Order // nil: first come, first served
	visible   Time  // the scheduler sees the requests that arrived by then; Forever: all
	front     []int32
	pages     pages
	heap      orderHeap
	cancelled int // entries of pages whose clients have cancelled them
	started   int // entries of pages that have emitted tokens
	resuming  int // requests that have been in a batch before
	scratch   []int32
}

// clear empties q.
func (q *queue) clear() {
	q.pages, q.front, q.heap = pages{}, q.front[:0], q.heap[:0]
	q.cancelled, q.started, q.resuming = 0, 0, 0
}

// len returns the number of requests that wait, whether the scheduler sees them yet or not.
func (q *queue) len() int { return q.pages.n - q.cancelled + len(q.front) + len(q.heap) }

// head returns the request at the head of the queue, or nil, whether the scheduler sees it or not.
func (q *queue) head() *Request {
	if q.order != nil {
		q.sort()
		if len(q.heap) == 0 {
			return nil
		}
		return &q.requests.at[q.heap[0]]
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

// waiting returns the i-th request of a queue without an order, or nil if there are not so many that the scheduler
// sees.
func (q *queue) waiting(i int) *Request {
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
	if q.order != nil {
		q.sort()
		return min(most, len(q.heap))
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
			q.heap.push(q.requests.at, slot)
		}
	}
}

// pop takes the head off the queue and returns its slot.
func (q *queue) pop() int32 {
	slot := noSlot
	if q.order != nil {
		slot = q.heap.pop(q.requests.at)
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
func (q *queue) vacant() bool { return q.order == nil && q.pages.n == 0 && len(q.front) == 0 }

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
	switch r := &q.requests.at[slot]; {
	case q.order != nil:
		q.heap.push(q.requests.at, slot)
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
		q.front = append(q.front, slot)
	}
}

// seen reports whether the scheduler sees the request of an entry of the pages.
func (q *queue) seen(x *packed) bool {
	if slot := x.slot(); slot != noSlot {
		return q.requests.at[slot].queuedAt <= q.visible
	}
	return x.arrival <= q.visible
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
	} else if i := int(r.next); i >= 0 && i < len(q.heap) && q.heap[i] == slot {
		q.heap.remove(q.requests.at, i)
	} else {
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
}

// eachPacked calls f with every request of the pages, in order of arrival; with a copy, if it has no record.
func (q *queue) eachPacked(f func(r *Request)) {
	q.pages.each(func(x packed) {
		if slot := x.slot(); slot == noSlot {
			f(x.request())
		} else if q.requests.at[slot].state != cancelled {
			f(&q.requests.at[slot])
		}
	})
}

// emitted returns the tokens that the requests in q have emitted before they were preempted.
func (q *queue) emitted() (n int64) {
	count := func(r *Request) { n += int64(r.Emitted) }
	q.eachListed(count)
	if q.started > 0 {
		q.eachPacked(count)
	}
	return n
}

// before reports whether a comes before b in the pool's order.
func before(a, b *Request) bool {
	switch {
	case a.orderKey != b.orderKey:
		return a.orderKey < b.orderKey
	case a.Arrival != b.Arrival:
		return a.Arrival < b.Arrival
	}
	return a.ID < b.ID
}

// orderHeap is a binary heap of the slots of waiting requests, in a pool's order. Request.next is a request's place in
// it, so that one that is cancelled can be removed.
type orderHeap []int32

func (h *orderHeap) push(requests []Request, slot int32) {
	requests[slot].next = int32(len(*h))
	*h = append(*h, slot)
	h.up(requests, len(*h)-1)
}

func (h *orderHeap) pop(requests []Request) int32 {
	top := (*h)[0]
	h.remove(requests, 0)
	return top
}

func (h *orderHeap) remove(requests []Request, i int) {
	q, n := *h, len(*h)-1
	q[i] = q[n]
	*h = q[:n]
	if i < n {
		requests[q[i]].next = int32(i)
		h.down(requests, i)
		h.up(requests, i)
	}
}

func (h orderHeap) swap(requests []Request, i, j int) {
	h[i], h[j] = h[j], h[i]
	requests[h[i]].next, requests[h[j]].next = int32(i), int32(j)
}

func (h orderHeap) up(requests []Request, i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !before(&requests[h[i]], &requests[h[parent]]) {
			return
		}
		h.swap(requests, i, parent)
		i = parent
	}
}

func (h orderHeap) down(requests []Request, i int) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && before(&requests[h[child+1]], &requests[h[child]]) {
			child++
		}
		if !before(&requests[h[child]], &requests[h[i]]) {
			return
		}
		h.swap(requests, i, child)
		i = child
	}
}
