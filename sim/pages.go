package sim

import "slices"

// packed is a request that waits, in 32 bytes: a million waiting requests cost 32 MB. A request that is more than these
// fields say has a record already, and its slot stands in place of the prompt, as −1 − slot.
type packed struct {
	arrival   Time
	tokenized Duration // what it took to tokenise it
	id        int32
	prompt    int32
	output    int32
	maxOutput int32
}

// plain reports whether r, not yet on an instance, is only what a packed request can say.
func (r *Request) plain() bool {
	return r.Deadline == 0 && r.Content == 0 && r.OutputContent == 0 && r.Session == 0 && r.Class == 0 &&
		r.Priority == 0 && r.Adapter == 0 && r.Reasoning == 0 && !r.Traced && r.Route == 0 && r.Stage == 0 &&
		r.transfer == 0 && !r.admitted && r.delay == Preempted && !r.resumes()
}

// pack returns r in packed form; slot is that of its record, or noSlot.
func (r *Request) pack(slot int32) packed {
	x := packed{arrival: r.Arrival, tokenized: r.Tokenizing, id: r.ID, prompt: r.Prompt, output: r.Output,
		maxOutput: r.MaxOutput}
	if slot != noSlot {
		x.prompt = -1 - slot
	}
	return x
}

// slot returns the slot of x, or noSlot.
func (x *packed) slot() int32 {
	if x.prompt < 0 {
		return -1 - x.prompt
	}
	return noSlot
}

// request returns the request that an x without a slot is.
func (x *packed) request() *Request {
	return &Request{
		ID: x.id, Prompt: x.prompt, Output: x.output, MaxOutput: x.maxOutput, Arrival: x.arrival,
		Record:      Record{Tokenizing: x.tokenized},
		engineState: engineState{queuedAt: x.arrival.Add(x.tokenized), state: waiting},
	}
}

// page is a part of a queue. Pages are recycled, so a queue neither doubles nor leaves garbage.
type page struct {
	item [127]packed
	next *page
}

// pages is a first-in-first-out queue of packed requests. The zero value is empty.
type pages struct {
	head, tail *page
	unused     *page
	from, to   int // first item in head, one past the last in tail
	n          int
}

func (q *pages) push(x packed) {
	if q.tail == nil || q.to == len(q.tail.item) {
		q.grow()
	}
	q.tail.item[q.to] = x
	q.to++
	q.n++
}

func (q *pages) grow() {
	p := q.unused
	if p != nil {
		q.unused = p.next
		p.next = nil
	} else {
		p = new(page)
	}
	if q.tail == nil {
		q.head, q.from = p, 0
	} else {
		q.tail.next = p
	}
	q.tail, q.to = p, 0
}

// pop removes and returns the oldest item; the queue must not be empty.
func (q *pages) pop() packed {
	x := q.head.item[q.from]
	q.from++
	q.n--
	switch {
	case q.n == 0: // start over in the same page
		q.from, q.to = 0, 0
	case q.from == len(q.head.item):
		p := q.head
		q.head, q.from = p.next, 0
		p.next = q.unused
		q.unused = p
	}
	return x
}

// peek returns the oldest item; the queue must not be empty.
func (q *pages) peek() *packed { return &q.head.item[q.from] }

// each calls f with every item, the oldest first.
func (q *pages) each(f func(packed)) {
	at, left := q.from, q.n
	for p := q.head; left > 0; p, at = p.next, 0 {
		for ; at < len(p.item) && left > 0; at++ {
			f(p.item[at])
			left--
		}
	}
}

// at returns the i-th item. It is found at once if it is in the last page.
func (q *pages) at(i int) *packed {
	if behind := q.n - i; behind <= q.to && (q.head != q.tail || q.to-behind >= q.from) {
		return &q.tail.item[q.to-behind]
	}
	p, i := q.head, i+q.from
	for ; i >= len(p.item); i -= len(p.item) {
		p = p.next
	}
	return &p.item[i]
}

// before reports whether a comes before b in the pool's order.
func before(a, b *Request) bool {
	switch {
	case a.orderKey != b.orderKey:
		return a.orderKey < b.orderKey
	case a.turn != b.turn:
		return a.turn < b.turn
	case a.Arrival != b.Arrival:
		return a.Arrival < b.Arrival
	}
	return a.ID < b.ID
}

// inOrder compares a and b as slices.SortFunc does: by their places in the pool's order.
func inOrder(a, b *Request) int {
	switch {
	case before(a, b):
		return -1
	case before(b, a):
		return 1
	}
	return 0
}

// orderHeap is a binary heap of the slots of waiting requests, in a pool's order. Request.next is a request's place in
// it, so that one that is cancelled can be removed.
type orderHeap []int32

func (h *orderHeap) push(requests []Request, slot int32) {
	requests[slot].next = int32(len(*h))
	*h = append(*h, slot)
	h.up(requests, len(*h)-1)
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

// heaped returns how many requests stand in heaps.
func (q *queue) heaped() int {
	if q.heaps != nil {
		return q.heaps.n
	}
	return len(q.heap)
}

// key gives r, which is about to be pushed to a queue without an Order whose requests have adapters, its place in it.
func (q *queue) key(r *Request) {
	if q.order == nil {
		q.heaps.last++
		r.orderKey = q.heaps.last
	}
}

// pushHeap puts the request in slot to its place.
func (q *queue) pushHeap(slot int32) {
	q.ranked = false
	if q.inTurn {
		q.turns++
		q.requests.at[slot].turn = q.turns
	}
	if q.heaps != nil {
		q.heaps.push(q.requests.at, slot)
	} else {
		q.heap.push(q.requests.at, slot)
	}
}

// firstOfHeaps returns the slot of the first request that may join the batch, or noSlot.
func (q *queue) firstOfHeaps() int32 {
	switch {
	case q.heaps != nil:
		return q.heaps.first(q.requests.at, q.adapters)
	case len(q.heap) > 0:
		return q.heap[0]
	}
	return noSlot
}

// removeHeaped takes the request in slot out of its heap, if it is in one, and reports whether it was.
func (q *queue) removeHeaped(slot int32) bool {
	r := &q.requests.at[slot]
	heap := q.heap
	if q.heaps != nil {
		heap = q.heaps.of[r.Adapter]
	}
	i := int(r.next)
	if i < 0 || i >= len(heap) || heap[i] != slot {
		return false
	}
	q.ranked = q.ranked && i == len(heap)-1
	if q.heaps != nil {
		q.heaps.remove(q.requests.at, r.Adapter, i)
	} else {
		q.heap.remove(q.requests.at, i)
	}
	return true
}

// waitingInOrder is waiting where requests stand in a heap, which it sorts: that is a heap, too.
func (q *queue) waitingInOrder(i int) *Request {
	q.sort()
	if i >= len(q.heap) {
		return nil
	}
	if !q.ranked {
		slices.SortFunc(q.heap, func(a, b int32) int { return inOrder(&q.requests.at[a], &q.requests.at[b]) })
		for i, slot := range q.heap {
			q.requests.at[slot].next = int32(i)
		}
		q.ranked = true
	}
	return &q.requests.at[q.heap[i]]
}

// settle sorts the heaps by slot: their own order may depend on when they were observed.
func (q *queue) settle() {
	slices.Sort(q.heap)
	if q.heaps != nil {
		for _, heap := range q.heaps.of {
			slices.Sort(heap)
		}
	}
}

// rank writes the slots of the requests that wait to scratch, in their order: those too that the scheduler does not yet
// see, for a server that failed may have sent one of them.
func (q *queue) rank() {
	q.scratch = append(q.scratch[:0], q.heap...)
	q.pages.each(func(x packed) {
		if slot := x.slot(); q.requests.at[slot].state != cancelled {
			q.scratch = append(q.scratch, slot)
		}
	})
	slices.SortFunc(q.scratch, func(a, b int32) int { return inOrder(&q.requests.at[a], &q.requests.at[b]) })
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
	count := func(r *Request) {
		if !r.finished {
			n += int64(r.Emitted + r.unlearned)
		}
	}
	q.eachListed(count)
	if q.started > 0 {
		q.eachPacked(count)
	}
	return n
}
