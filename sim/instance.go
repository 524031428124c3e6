package sim

// state says where a request is within an instance.
type state uint8

const (
	free state = iota
	waiting
	prefilling
	decoding
	gone           // its client hung up while it was queued
	swappedOut     // its cache is in host memory
	parked         // it has been handed over, and its blocks are still here
	inbound        // it is handed over, and waits for room
	promised       // there is room for it, and it is computed elsewhere
	flying         // there is room for it, and it is on its way
	landed         // it waits for a seat
	idle           // it has ended, and keeps its row and its blocks until the batch has
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
	life    life
	place   int32 // among those of the pool that take requests; -1: it does not
	load    int32 // requests routed to it that have not ended or moved on
	prompts int64 // Σ tokens of their prompts

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
	left    int64   // departures from the running list so far
	prefill []int32 // members of the running list that prefill, in its order
	traced  []int32 // decoding slots that are told step by step
	classes []int32 // members of the decode set by class; nil: there is one class
	told    []int32 // by class, of the tokens that the sink is being told of
	repeats int64   // Σ blocks that they hold, less the blocks in use: those that several hold count once in the cache

	queue   fifo
	front   []int32 // preempted or materialised requests: a stack ahead of the queue
	sorted  sorted  // who waits, with an Order
	swapped []int32 // whose cache is in host memory, the longest there first
	host    int64   // blocks free there
	dead    int     // entries of queue whose client hung up
	again   int     // entries of queue that have emitted tokens
	ahead   int     // steps by which a batch is fixed before it runs: 0 or 1
	seen    Time    // the scheduler sees who arrived by then; Forever: everybody

	spec        *Speculation // nil: off
	drafting    int32        // tokens that a sequence drafts in the step being composed
	draftSum    int64        // Σ over the decodes
	drafts      []Draft      // of the step under way
	draftedSum  int64        // Σ over steps
	acceptedSum int64        // of those, emitted to clients

	cold   bool    // it is not up yet; end is when it is
	padded int32   // tokens to which the prompts of the batch are padded; 0: none
	idle   []int32 // members of the decode set that have ended
	decode Time    // end of the latest step in which the decode set emitted

	kept
	handing
	lifetime

	// Memory is for a scheduler's own use: the state of an instance that its policy goes by, if it has any.
	PolicyState [3]int64

	work    Work
	shapes  [2]Shape // of the step; and of a part of it, while a sink is told of it
	seg     Segment  // price of the steps under way
	start   Time     // when they began
	end     Time     // when they end; Forever: idle
	steps   int
	noise   Duration // of that, what they last longer by chance
	decodes int      // members of the decode set that emit in them
	woken   bool     // to be planned at this instant
	hungup  []int32
	scratch []int32
	part    Segment // of the steps under way, while a sink is told of it
	alone   Segment // price of a part of the step, likewise
	shown   Request // a request as the sink is told of it

	busy      Duration // total length of its steps
	stepCount int64
	decodeSum int64 // Σ over steps of the decoding sequences
	idleSum   int64 // Σ over steps of the rows that have ended
}

func newInstance(c *Cluster, p *Pool, id int32) *Instance {
	in := &Instance{ID: id, cluster: c, pool: p, end: Forever}
	in.empty()
	if p.Classes > 1 {
		in.classes, in.told = make([]int32, p.Classes), make([]int32, p.Classes)
	}
	in.work = Work{in: in, shape: &in.shapes[0]}
	if k, ok := p.Scheduler.(Counter); ok {
		in.keeps = k.Counts()
	}
	if p.MaxNumSeqs > 0 {
		in.keeps |= CountPauses // for those who join without a prompt
	}
	if p.AsyncScheduling {
		in.ahead = 1
	}
	return in
}

// empty makes in an engine that has just started: with nothing in queue, batch and cache.
func (in *Instance) empty() {
	p := in.pool
	in.head, in.tail, in.seen, in.PolicyState = noSlot, noSlot, Forever, [3]int64{}
	in.kv, in.host = newCache(p.KVBlocks, p.BlockSize, p.SequenceBlocks), p.SwapBlocks
	in.set = newDecodeSet(p.BlockSize, p.Windows, in.cluster.logWheel)
	in.spec, in.set.walked = p.Speculation, p.Speculation != nil
	if p.PrefixCaching {
		in.prefix = newPrefixes(in, in.cluster.contents)
	}
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
	if in.keeps&CountCommitted != 0 {
		in.ceiling += in.kv.Blocks(r.Prompt + r.Limit())
	}
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
	in.left++
	if in.keeps&CountCommitted != 0 {
		in.ceiling -= in.kv.Blocks(r.Prompt + r.Limit())
	}
}

// progress returns the computed and emitted tokens of a decoding request.
func (in *Instance) progress(r *Request) (computed, emitted int32) {
	if in.spec != nil {
		return r.Computed, r.Emitted
	}
	d := int32(in.set.step - r.joined)
	return r.Computed + d, r.Emitted + d
}

// cut shortens the run under way to the first step boundary at or after now, or so many steps more.
func (in *Instance) cut(now Time, more int) {
	if in.steps <= 1 || in.end == now {
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
	limit := in.compose(w, now)
	w.settle()
	if in.pool.pushes {
		in.push(now)
	}
	in.decodes = in.set.n
	if w.held {
		in.decodes, in.late = 0, in.late || in.set.n > 0
	}
	if in.decodes+w.shape.Prefills == 0 {
		in.doze()
		return
	}
	b := &in.shapes[0]
	switch {
	case w.held:
		in.set.hide(b)
	case in.spec != nil:
		in.draft(b)
	default:
		in.set.shape(b)
	}
	b.Outputs += int(b.DecodeTokens)
	in.pool.Model.Price(in.shapes[:1], &in.seg)
	if in.seg.First < 1 {
		panic("sim: a step takes time")
	}
	if in.pool.Noise != nil {
		in.disturb(now)
	}
	in.start, in.steps, in.end = now, 1, now.Add(in.seg.First)
	if b.Prefills == 0 && b.SwapBlocks == 0 && in.spec == nil && in.pool.Noise == nil {
		n := min(in.seg.Steps, in.set.until(), in.cluster.maxRun)
		if limit > 0 {
			n = min(n, limit)
		}
		if in.ahead > 0 && in.unseen() {
			n = 1 // the scheduler sees them at the end of it
		}
		if in.steps = in.set.stepsWithin(n, &in.kv); in.steps > 1 {
			in.end = now.Add(in.seg.Span(in.steps))
		}
	}
}

// compose has the scheduler compose the step that begins at now, and returns for how many it holds.
func (in *Instance) compose(w *Work, now Time) (limit int) {
	if in.ahead > 0 {
		in.look()
	}
	for {
		if len(in.landed) > 0 {
			in.board(now)
		}
		w.reset(now)
		limit = in.pool.Scheduler.Schedule(in, w)
		if w.demand > in.kv.free {
			panic("sim: the scheduler composed a step that the cache cannot hold")
		}
		if len(in.inbound) > 0 {
			in.pull(w)
		}
		if len(in.landed) == 0 || !w.Empty() || in.running == in.pool.MaxNumSeqs {
			return limit
		}
	}
}

// doze leaves in idle, until something comes.
func (in *Instance) doze() {
	in.end, in.steps = Forever, 0
	if in.outside() > 0 {
		return // what is missing comes with them, or goes
	}
	if in.Queued() > 0 || in.running > 0 {
		panic("sim: the scheduler left an instance idle with work to do")
	}
	if in.life == draining && len(in.inbound) == 0 {
		in.cluster.down(in)
	}
}

// disturb makes the step that begins at now longer, by what is overhead.
func (in *Instance) disturb(now Time) {
	if in.noise = in.pool.Noise.Stretch(in.ID, in.stepCount, now, in.seg.First); in.noise < 0 {
		panic("sim: noise made a step shorter")
	}
	in.seg.First += in.noise
	in.seg.Part[Overhead].A += in.noise
}

// look sets what the scheduler sees: who had reached the engine when the step that has just ended began.
func (in *Instance) look() {
	in.seen = Forever
	if in.running > 0 && in.steps > 0 {
		in.seen = in.start.Add(in.seg.Span(in.steps-1) - in.cluster.ingress)
	}
}
