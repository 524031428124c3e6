package sim

// queued is a request that waits, packed: a million waiting requests cost 32 MB.
type queued struct {
	arrival   Time
	id        int32
	prompt    int32
	output    int32
	maxOutput int32
	slot      int32 // its record, if it has one already; else noSlot
	class     uint8
	priority  int8
	traced    bool
}

// page is a stretch of the queue. Pages are recycled, so a queue neither doubles nor leaves garbage.
type page struct {
	item [127]queued
	next *page
}

// fifo is a first-in-first-out queue of waiting requests. The zero fifo is empty.
type fifo struct {
	head, tail *page
	spare      *page
	from, to   int // first item in head, one past the last in tail
	n          int
}

func (q *fifo) push(r *Request, slot int32) {
	if q.tail == nil || q.to == len(q.tail.item) {
		q.grow()
	}
	q.tail.item[q.to] = queued{
		arrival: r.Arrival, id: r.ID, prompt: r.Prompt, output: r.Output, maxOutput: r.MaxOutput,
		slot: slot, class: r.Class, priority: r.Priority, traced: r.Traced,
	}
	q.to++
	q.n++
}

func (q *fifo) grow() {
	p := q.spare
	if p != nil {
		q.spare = p.next
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
func (q *fifo) pop() queued {
	x := q.head.item[q.from]
	q.from++
	q.n--
	switch {
	case q.n == 0: // start over in the same page
		q.from, q.to = 0, 0
	case q.from == len(q.head.item):
		p := q.head
		q.head, q.from = p.next, 0
		p.next = q.spare
		q.spare = p
	}
	return x
}
