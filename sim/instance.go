package sim

// state says where a request is within an instance.
type state uint8

const (
	free state = iota
	waiting
	prefilling
	decoding
	gone           // its client hung up while it was queued
	leavingPrefill // its client hung up during the step under way
	leavingDecode
)

// Instance is one engine: a queue, a batch, a cache, and the steps it is running.
//
// Its life is a loop of plan and commit. plan asks the Scheduler for the step's composition, prices it and starts one
// mixed step or a run of decode steps; commit, at its end, moves tokens, retires sequences and leaves the instance to be
// planned again. An arrival during a run cuts it at the next step boundary, where continuous batching could admit it
// (Orca, OSDI '22, §3.2), or one step later if batches are fixed a step ahead.
type Instance struct {
	ID      int32 // in the cluster
	cluster *Cluster
	pool    *Pool
	index   int32 // in the pool

	kv      Cache
	prefix  *prefixes // what is cached, beyond how much; nil: nothing is found again
	freed   []int32   // requests to free when the step has been committed
	set     decodeSet
	slab    []Request // records, by slot
	spare   []int32   // free slots
	head    int32     // running list, in order of admission
	tail    int32
	running int
	order   int64   // admissions so far
	prefill []int32 // members of the running list that prefill, in its order
	traced  []int32 // decoding slots that are told step by step

	queue fifo
	front []int32 // preempted or materialised requests: a stack ahead of the queue
	dead  int     // entries of queue whose client hung up
	ahead int     // steps by which a batch is fixed before it runs: 0 or 1
	seen  Time    // the scheduler sees who arrived by then; Forever: everybody

	work    Work
	shapes  [1]Shape
	seg     Segment // price of the steps under way
	start   Time    // when they began
	end     Time    // when they end; Forever: idle
	steps   int
	decodes int  // members of the decode set during them
	woken   bool // to be planned at this instant
	hungup  []int32
	scratch []int32

	busy      Duration // total length of its steps
	stepCount int64
	decodeSum int64 // Σ over steps of the decoding sequences
}

func newInstance(c *Cluster, p *Pool, id, index int32) *Instance {
	in := &Instance{
		ID: id, cluster: c, pool: p, index: index, head: noSlot, tail: noSlot, end: Forever, seen: Forever,
		kv: newCache(p.KVBlocks, p.BlockSize, p.SequenceBlocks),
	}
	in.set = newDecodeSet(p.BlockSize, p.Windows, c.logWheel)
	in.work = Work{in: in, shape: &in.shapes[0]}
	if p.Ahead {
		in.ahead = 1
	}
	if p.PrefixCaching {
		in.prefix = newPrefixes(in, c.contents)
	}
	return in
}

// Queued returns the number of requests not in the batch, whether the scheduler sees them yet or not.
func (in *Instance) Queued() int { return in.queue.n - in.dead + len(in.front) }

// Running returns the number of requests in the batch.
func (in *Instance) Running() int { return in.running }

// Decoding returns the number of sequences that decode.
func (in *Instance) Decoding() int { return in.set.n }

// Prefilling returns the number of requests in the batch whose prompt is not complete.
func (in *Instance) Prefilling() int { return len(in.prefill) }

// Prefill returns the i-th of them, in order of admission. The pointer is good until Head is called.
func (in *Instance) Prefill(i int) *Request { return &in.slab[in.prefill[i]] }

// Cache returns the instance's KV cache.
func (in *Instance) Cache() *Cache { return &in.kv }

// Head returns the request at the head of the queue, or nil. The pointer is good until the next call.
//
// With Pool.Ahead it is nil, too, if the head reached the engine after the step that has just ended began. An engine that
// schedules asynchronously (vLLM, vllm/v1/core/sched/async_scheduler.py) composes a step when the one before begins, so an
// arrival waits for the rest of the step under way and for a whole step that was fixed without it. An engine with nothing
// in its batch takes everybody at once. What a step frees, seats and blocks, can be had at its end: a simplification, for
// such an engine composes the next step before it knows who has ended.
func (in *Instance) Head() *Request {
	r := in.first()
	if r == nil || r.Arrival > in.seen {
		return nil
	}
	return r
}

// first returns the request at the head of the queue, or nil, whether the scheduler sees it or not.
func (in *Instance) first() *Request {
	if n := len(in.front); n > 0 {
		return &in.slab[in.front[n-1]]
	}
	for in.queue.n > 0 {
		q := in.queue.pop()
		slot := q.slot()
		switch {
		case slot == noSlot:
			slot = in.record()
			in.slab[slot] = *q.request()
		case in.slab[slot].state == gone:
			in.dead--
			in.forget(slot)
			continue
		}
		in.front = append(in.front, slot)
		return &in.slab[slot]
	}
	return nil
}

func (in *Instance) popHead() int32 {
	n := len(in.front) - 1
	slot := in.front[n]
	in.front = in.front[:n]
	return slot
}

// record returns a free slot.
func (in *Instance) record() int32 {
	if n := len(in.spare); n > 0 {
		slot := in.spare[n-1]
		in.spare = in.spare[:n-1]
		return slot
	}
	in.slab = append(in.slab, Request{})
	return int32(len(in.slab) - 1)
}

func (in *Instance) forget(slot int32) {
	r := &in.slab[slot]
	if r.own != 0 {
		in.prefix.disown(r)
	}
	r.state = free
	in.spare = append(in.spare, slot)
}

func (in *Instance) link(slot int32) {
	r := &in.slab[slot]
	r.prev, r.next = in.tail, noSlot
	r.order = in.order
	in.order++
	if in.tail != noSlot {
		in.slab[in.tail].next = slot
	} else {
		in.head = slot
	}
	in.tail = slot
	in.running++
}

func (in *Instance) unlink(slot int32) {
	r := &in.slab[slot]
	if r.prev != noSlot {
		in.slab[r.prev].next = r.next
	} else {
		in.head = r.next
	}
	if r.next != noSlot {
		in.slab[r.next].prev = r.prev
	} else {
		in.tail = r.prev
	}
	in.running--
}

// progress returns the computed and emitted tokens of a decoding request.
func (in *Instance) progress(r *Request) (computed, emitted int32) {
	d := int32(in.set.step - r.joined)
	return r.Computed + d, r.Emitted + d
}

// enqueue adds r to the queue at now. The first in line gets its record at once, and so does a request that is more
// than the queue can say.
func (in *Instance) enqueue(now Time, r *Request) {
	slot, first := noSlot, in.queue.n == 0 && len(in.front) == 0
	if first || !r.plain() {
		slot = in.record()
		in.slab[slot] = *r
		in.slab[slot].state = waiting
		if r.Deadline != 0 {
			in.cluster.timers.push(timer{at: r.Deadline, id: r.ID, instance: in.ID, slot: slot})
		}
	}
	if first {
		in.front = append(in.front, slot)
	} else {
		in.queue.push(r.pack(slot))
	}
	switch {
	case in.end == Forever:
		in.cluster.wake(in)
	case in.steps > 1 && !in.work.closed:
		in.cut(now, in.ahead)
	}
}

// cut shortens the run under way to the first step boundary at or after now, or so many steps more.
func (in *Instance) cut(now Time, more int) {
	if in.steps == 1 || in.end == now {
		return
	}
	if n := in.seg.Cover(now.Sub(in.start)) + more; n < in.steps {
		in.steps = n
		in.end = in.start.Add(in.seg.Span(n))
		in.cluster.ends.set(in.ID, in.end)
	}
}

// plan starts the next step, or run of steps, at now.
func (in *Instance) plan(now Time) {
	w := &in.work
	w.reset(now)
	if in.ahead > 0 {
		in.look()
	}
	limit := in.pool.Scheduler.Schedule(in, w)
	if w.demand > in.kv.free {
		panic("sim: the scheduler composed a step that the cache cannot hold")
	}
	w.settle()
	in.decodes = in.set.n
	if in.decodes+w.shape.Prefills == 0 {
		if in.Queued() > 0 || in.running > 0 {
			panic("sim: the scheduler left an instance idle with work to do")
		}
		in.end = Forever
		return
	}
	b := &in.shapes[0]
	b.Outputs += in.decodes
	in.set.shape(b)
	in.pool.Model.Price(in.shapes[:], &in.seg)
	if in.seg.First < 1 {
		panic("sim: a step takes time")
	}
	in.start, in.steps, in.end = now, 1, now.Add(in.seg.First)
	if b.Prefills == 0 {
		n := min(in.seg.Steps, in.set.until(), in.cluster.maxRun)
		if limit > 0 {
			n = min(n, limit)
		}
		if in.ahead > 0 && !w.closed && in.Queued() > 0 {
			n = 1 // the scheduler sees them at the end of it
		}
		if in.steps = in.set.stepsWithin(n, &in.kv); in.steps > 1 {
			in.end = now.Add(in.seg.Span(in.steps))
		}
	}
}

// look sets what the scheduler sees: who had reached the engine when the step that has just ended began.
func (in *Instance) look() {
	in.seen = Forever
	if in.running > 0 {
		in.seen = in.start.Add(in.seg.Span(in.steps-1) - in.cluster.ingress)
	}
}
