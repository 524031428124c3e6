package sim

// queued is a request that waits, packed: a million waiting requests cost 24 MB. One that is more than these fields say
// has a record already, and its slot stands in place of the prompt, as −1 − slot.
type queued struct {
	arrival   Time
	id        int32
	prompt    int32
	output    int32
	maxOutput int32
}

// plain reports whether r, not yet in the engine, is only what queued can say.
func (r *Request) plain() bool {
	return r.Deadline == 0 && r.Content == 0 && r.OutputContent == 0 && r.Session == 0 && r.Class == 0 && r.Priority == 0 && !r.Traced &&
		r.Route == 0 && r.Stage == 0 && r.move == 0 && !r.entered && r.late == Preempted && !r.again()
}

// pack returns r as an entry of the queue; slot is its record, or noSlot.
func (r *Request) pack(slot int32) queued {
	q := queued{arrival: r.Arrival, id: r.ID, prompt: r.Prompt, output: r.Output, maxOutput: r.MaxOutput}
	if slot != noSlot {
		q.prompt = -1 - slot
	}
	return q
}

// slot returns the record of q, or noSlot.
func (q *queued) slot() int32 {
	if q.prompt < 0 {
		return -1 - q.prompt
	}
	return noSlot
}

// request returns the record of a q that has none.
func (q *queued) request() *Request {
	return &Request{ID: q.id, Prompt: q.prompt, Output: q.output, MaxOutput: q.maxOutput, Arrival: q.arrival, came: q.arrival, state: waiting}
}

// page is a stretch of the queue. Pages are recycled, so a queue neither doubles nor leaves garbage.
type page struct {
	item [170]queued
	next *page
}

// fifo is a first-in-first-out queue of waiting requests. The zero fifo is empty.
type fifo struct {
	head, tail *page
	spare      *page
	from, to   int // first item in head, one past the last in tail
	n          int
}

func (q *fifo) push(x queued) {
	if q.tail == nil || q.to == len(q.tail.item) {
		q.grow()
	}
	q.tail.item[q.to] = x
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

// peek returns the oldest item; the queue must not be empty.
func (q *fifo) peek() *queued { return &q.head.item[q.from] }

// each calls f with every item, the oldest first.
func (q *fifo) each(f func(queued)) {
	at, left := q.from, q.n
	for p := q.head; left > 0; p, at = p.next, 0 {
		for ; at < len(p.item) && left > 0; at++ {
			f(p.item[at])
			left--
		}
	}
}
