package sim

import (
	"slices"
)

// Who waits for an instance stands in one of three places: the front, a stack of requests that have records, its top the
// head of the queue; behind it the queue, packed; and, if the pool has an Order, a heap instead of both, which whoever
// arrives joins as soon as the scheduler can see him.

// Head returns the request at the head of the queue, or nil. The pointer is good until the next call.
//
// With Pool.Ahead it is nil, too, if the head reached the engine after the step that has just ended began. An engine that
// schedules asynchronously (vLLM, vllm/v1/core/sched/async_scheduler.py) composes a step when the one before begins, so an
// arrival waits for the rest of the step under way and for a whole step that was fixed without it. An engine with nothing
// in its batch takes everybody at once. What a step frees, seats and blocks, can be had at its end: a simplification, for
// such an engine composes the next step before it knows who has ended.
func (in *Instance) Head() *Request {
	r := in.first()
	if r == nil || r.came > in.seen {
		return nil
	}
	return r
}

// Queued returns the number of requests not in the batch, whether the scheduler sees them yet or not.
func (in *Instance) Queued() int {
	return in.queue.n - in.dead + len(in.front) + len(in.sorted) + len(in.swapped)
}

// Waiting returns the i-th request of a queue without an Order, or nil if it has one, or not so many that the scheduler
// sees. The pointer is good until the next call.
func (in *Instance) Waiting(i int) *Request {
	if in.pool.Order != nil {
		return nil
	}
	for len(in.front) <= i {
		slot := in.unpack()
		if slot == noSlot {
			return nil
		}
		in.front = slices.Insert(in.front, 0, slot)
	}
	r := &in.slab[in.front[len(in.front)-1-i]]
	if r.came > in.seen {
		return nil
	}
	return r
}

// Arrange gives the first requests of a queue without an Order another order, for good: the i-th is then the one that
// Waiting(order[i]) returned.
func (in *Instance) Arrange(order []int32) {
	last := len(in.front) - 1
	in.scratch = in.scratch[:0]
	for _, i := range order {
		in.scratch = append(in.scratch, in.front[last-int(i)])
	}
	for i, slot := range in.scratch {
		in.front[last-i] = slot
	}
}

// first returns the request at the head of the queue, or nil, whether the scheduler sees it or not.
func (in *Instance) first() *Request {
	if in.pool.Order != nil {
		in.sort()
		if len(in.sorted) == 0 {
			return nil
		}
		return &in.slab[in.sorted[0]]
	}
	if n := len(in.front); n > 0 {
		return &in.slab[in.front[n-1]]
	}
	slot := in.unpack()
	if slot == noSlot {
		return nil
	}
	in.front = append(in.front, slot)
	return &in.slab[slot]
}

// unpack takes the oldest request whose client waits out of the queue and returns its record, or noSlot if there is none.
func (in *Instance) unpack() int32 {
	for in.queue.n > 0 {
		if slot := in.unpackOne(); slot != noSlot {
			return slot
		}
	}
	return noSlot
}

// unpackOne takes the oldest entry out of the queue and returns its record, or noSlot if its client has hung up.
func (in *Instance) unpackOne() int32 {
	q := in.queue.pop()
	slot := q.slot()
	if slot == noSlot {
		slot = in.record()
		in.slab[slot] = *q.request()
		return slot
	}
	r := &in.slab[slot]
	if r.Emitted > 0 {
		in.again--
	}
	if r.state == gone {
		in.dead--
		in.forget(slot)
		return noSlot
	}
	return slot
}

// sort moves whom the scheduler sees from the queue, which is in order of arrival, to their places in the order.
func (in *Instance) sort() {
	for in.queue.n > 0 && in.slab[in.queue.peek().slot()].came <= in.seen {
		if slot := in.unpackOne(); slot != noSlot {
			in.sorted.push(in.slab, slot)
		}
	}
}

func (in *Instance) popHead() int32 {
	if in.pool.Order != nil {
		return in.sorted.pop(in.slab)
	}
	n := len(in.front) - 1
	slot := in.front[n]
	in.front = in.front[:n]
	return slot
}

// enqueue adds r to the queue at now. The first in line gets its record at once, and so does a request that is more
// than the queue can say.
func (in *Instance) enqueue(now Time, r *Request) {
	sorted := in.pool.Order != nil
	slot, first := noSlot, in.queue.n == 0 && len(in.front) == 0 && !sorted
	seen := in.open(now)
	came := seen.Add(-in.cluster.ingress)
	if first || sorted || came != r.Arrival || !r.plain() {
		slot = in.record()
		in.slab[slot] = *r
		in.slab[slot].state, in.slab[slot].came = waiting, came
		in.watch(slot)
		if r.again() {
			in.back++
		}
	}
	if sorted {
		in.slab[slot].key = in.pool.Order.Key(r)
	}
	if first {
		in.front = append(in.front, slot)
	} else {
		in.queue.push(r.pack(slot))
		if r.Emitted > 0 {
			in.again++
		}
	}
	switch {
	case in.end == Forever:
		in.cluster.wake(in)
	case in.steps > 1 && !in.shut():
		in.cut(seen, in.ahead)
	}
}

// open returns now or, if the step of in that begins now has been composed already, the instant after: what comes must wait for
// the next boundary. In a run of steps a step may begin now, too.
func (in *Instance) open(now Time) Time {
	if c := in.cluster; in.end != Forever && !in.cold && (in.start == now || c.planned == now && in.ID < c.turn) {
		return now + 1
	}
	return now
}

// shut reports whether no arrival can change the batch before one of its members ends.
func (in *Instance) shut() bool {
	return in.work.closed || in.work.blocked && in.pool.Order == nil // with an order, whoever comes may be the new head
}

// unseen reports whether somebody waits who may join the batch before a member of it ends: not those behind a head that
// cannot, and whom the scheduler sees.
func (in *Instance) unseen() bool {
	if in.work.blocked && !in.work.closed {
		return in.pool.Order != nil && in.queue.n > in.dead
	}
	return !in.work.closed && in.Queued() > 0
}

// requeue puts the preempted request in slot back: to the head of the queue, to its end, or to its place in the order.
func (in *Instance) requeue(slot int32, last bool) {
	in.back++
	switch r := &in.slab[slot]; {
	case in.pool.Order != nil:
		in.sorted.push(in.slab, slot)
	case last && in.Queued() > 0:
		in.queue.push(r.pack(slot))
		if r.Emitted > 0 {
			in.again++
		}
	default:
		in.front = append(in.front, slot)
	}
}

// unqueue takes the waiting request in slot, whose client has hung up, out of the queue.
func (in *Instance) unqueue(slot int32) {
	if in.slab[slot].again() {
		in.back--
	}
	if i := slices.Index(in.front, slot); i >= 0 {
		in.front = slices.Delete(in.front, i, i+1)
	} else if i := int(in.slab[slot].next); i >= 0 && i < len(in.sorted) && in.sorted[i] == slot {
		in.sorted.remove(in.slab, i)
	} else { // somewhere in the pages of the queue
		in.slab[slot].state = gone
		in.dead++
		return
	}
	in.forget(slot)
}

// before reports whether a comes before b in the pool's order.
func before(a, b *Request) bool {
	switch {
	case a.key != b.key:
		return a.key < b.key
	case a.Arrival != b.Arrival:
		return a.Arrival < b.Arrival
	}
	return a.ID < b.ID
}

// sorted is a binary heap of the slots of waiting requests, in a pool's order. Request.next is a request's place in it.
type sorted []int32

func (h *sorted) push(slab []Request, slot int32) {
	slab[slot].next = int32(len(*h))
	*h = append(*h, slot)
	h.up(slab, len(*h)-1)
}

func (h *sorted) pop(slab []Request) int32 {
	top := (*h)[0]
	h.remove(slab, 0)
	return top
}

func (h *sorted) remove(slab []Request, i int) {
	q, n := *h, len(*h)-1
	q[i] = q[n]
	*h = q[:n]
	if i < n {
		slab[q[i]].next = int32(i)
		h.down(slab, i)
		h.up(slab, i)
	}
}

func (h sorted) swap(slab []Request, i, j int) {
	h[i], h[j] = h[j], h[i]
	slab[h[i]].next, slab[h[j]].next = int32(i), int32(j)
}

func (h *sorted) up(slab []Request, i int) {
	q := *h
	for i > 0 {
		parent := (i - 1) / 2
		if !before(&slab[q[i]], &slab[q[parent]]) {
			return
		}
		q.swap(slab, i, parent)
		i = parent
	}
}

func (h *sorted) down(slab []Request, i int) {
	q := *h
	for {
		child := 2*i + 1
		if child >= len(q) {
			return
		}
		if child+1 < len(q) && before(&slab[q[child+1]], &slab[q[child]]) {
			child++
		}
		if !before(&slab[q[child]], &slab[q[i]]) {
			return
		}
		q.swap(slab, i, child)
		i = child
	}
}
