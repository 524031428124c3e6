package sim_test

import (
	"slices"

	"github.com/decodesim/decodesim/policies"
	"github.com/decodesim/decodesim/sim"
)

// naive is the obvious simulator that the fast one must equal to the picosecond: one step at a time, every request
// visited in every step, vLLM's scheduler as it is written (a walk of the running list that allocates as it goes), and
// a linear search for the next event.
type naive struct {
	scenario
	now      sim.Time
	source   sim.Source
	next     *sim.Request // the source's next request, unless it is a Follower
	insts    []*naiveInstance
	loads    []int32
	all      []*naiveRequest
	patient  []*naiveRequest // those with a deadline
	steps    int
	preempts int
	spent    int // steps whose token budget ran out
	boundary int // arrivals at the very end of a step
	missed   int // steps that somebody could have joined who came during the one before
}

type naiveRequest struct {
	sim.Request
	outcome  string
	decoding bool
	want     int32 // tokens in the step under way
	blocks   int64
	pages    []*block // with prefix caching: what it holds, the blocks it holds whatever its length last
	hashes   []int    // of its blocks, as far as anybody asked
	content  []bool
	resumed  int // blocks found after a preemption
	regained int // of those, blocks that only this request has
	admitted sim.Time
	tokens   []sim.Time // when each was emitted
	left     bool       // the client hung up
	running  *naiveInstance
	noticed  bool // it waited when a step began: the batch of the next may have it
}

type naiveInstance struct {
	id      int
	running []*naiveRequest
	waiting []*naiveRequest
	free    int64
	pool    *blockPool // nil: no prefix caching
	end     sim.Time
	woken   bool
}

func runNaive(sc scenario) *naive {
	n := &naive{scenario: sc, source: sc.source(), loads: make([]int32, sc.size)}
	for i := range sc.size {
		in := &naiveInstance{id: i, free: sc.blocks, end: sim.Forever}
		if sc.tree != nil {
			in.pool = newBlockPool(sc.blocks, sc.blockSize, sc.tree)
		}
		n.insts = append(n.insts, in)
	}
	for n.event() {
	}
	return n
}

// arrival returns when the next request reaches the engine.
func (n *naive) arrival() sim.Time {
	if f, ok := n.source.(sim.Follower); ok {
		if t := f.When(); t != sim.Forever {
			return t.Add(n.ingress)
		}
		return sim.Forever
	}
	if n.next == nil {
		n.next = new(sim.Request)
		if !n.source.Next(n.next) {
			n.next.Arrival = sim.Forever
		}
	}
	if n.next.Arrival == sim.Forever {
		return sim.Forever
	}
	return n.next.Arrival.Add(n.ingress)
}

// event handles the earliest event, in the order that the package promises for one instant.
func (n *naive) event() bool {
	end, ended := sim.Forever, (*naiveInstance)(nil)
	for _, in := range n.insts {
		if in.end < end {
			end, ended = in.end, in
		}
	}
	var leaver *naiveRequest
	for _, r := range n.patient {
		if r.outcome == "" && (leaver == nil || r.Deadline < leaver.Deadline) {
			leaver = r
		}
	}
	hangup := sim.Forever
	if leaver != nil {
		hangup = leaver.Deadline
	}
	t := min(end, hangup, n.arrival())
	if t > n.now {
		planned := false
		for _, in := range n.insts {
			if in.woken {
				n.plan(in)
				planned = true
			}
		}
		if planned {
			return true
		}
	}
	if t == sim.Forever {
		return false
	}
	switch n.now = t; t {
	case hangup:
		n.hangup(leaver)
	case n.arrival():
		n.deliver()
	default:
		n.commit(ended)
	}
	return true
}

func (n *naive) deliver() {
	r := &naiveRequest{}
	if n.next != nil {
		r.Request, n.next = *n.next, nil
	} else {
		n.source.Next(&r.Request)
	}
	n.all = append(n.all, r)
	if r.Deadline != 0 {
		n.patient = append(n.patient, r)
	}
	for _, in := range n.insts {
		if in.end == n.now {
			n.boundary++
		}
	}
	if r.Prompt+r.Limit() > n.maxLen {
		n.done(r, "rejected")
		return
	}
	if r.Deadline != 0 && r.Deadline <= n.now {
		n.done(r, "failed")
		return
	}
	i := n.route()
	in := n.insts[i]
	n.loads[i]++
	r.running = in
	in.waiting = append(in.waiting, r)
	if in.end == sim.Forever {
		in.woken = true
	}
}

func (n *naive) route() int {
	if n.roundRobin {
		n.turn++
		return (n.turn - 1) % n.size
	}
	return slices.Index(n.loads, slices.Min(n.loads))
}

func (n *naive) done(r *naiveRequest, outcome string) {
	r.outcome = outcome
	if f, ok := n.source.(sim.Follower); ok {
		f.Done(n.now, &r.Request)
	}
}

func (n *naive) hangup(r *naiveRequest) {
	n.done(r, "failed")
	r.left = true
	in := r.running
	if i := slices.Index(in.waiting, r); i >= 0 {
		in.waiting = slices.Delete(in.waiting, i, i+1)
		n.loads[in.id]--
	}
}

func (n *naive) needs(r *naiveRequest, tokens int32) int64 {
	return int64(n.fixed) + int64((tokens+n.blockSize-1)/n.blockSize)
}

// plan is Scheduler.schedule() of vLLM V1.
func (n *naive) plan(in *naiveInstance) {
	in.woken = false
	p, budget, preempted := n.policy, n.policy.MaxNumBatchedTokens, false
	everybody := !n.ahead || len(in.running) == 0
	for _, r := range in.running {
		r.want = 0
	}
	for i := 0; i < len(in.running) && budget > 0; i++ {
		r := in.running[i]
		want := n.want(p, r, budget)
		fits := true
		for fits && n.needs(r, r.Computed+want)-r.blocks > in.free {
			victim := in.running[len(in.running)-1]
			in.running = in.running[:len(in.running)-1]
			in.release(victim)
			victim.blocks, victim.Computed, victim.want, victim.decoding = 0, 0, 0, false
			victim.Preemptions++
			n.preempts++
			in.waiting = slices.Insert(in.waiting, 0, victim)
			preempted, fits = true, victim != r
		}
		if !fits {
			break
		}
		n.allocate(in, r, want)
		budget -= want
	}
	for !preempted && len(in.waiting) > 0 && budget > 0 && len(in.running) < p.MaxNumSeqs {
		r := in.waiting[0]
		if !everybody && !r.noticed {
			n.missed++
			break
		}
		var hits []*block
		if in.pool != nil {
			hits = in.pool.lookup(r)
		}
		found := int32(len(hits)) * n.blockSize
		r.Computed = found
		want := n.want(p, r, budget)
		more := idle(hits) - int64(len(hits))
		if p.SchedulerReserveFullISL && n.needs(r, r.Prompt+r.Emitted)+more > in.free || n.needs(r, found+want)+more > in.free {
			r.Computed = 0
			break
		}
		in.waiting = in.waiting[1:]
		in.running = append(in.running, r)
		if r.Preemptions == 0 {
			r.admitted, r.Cached = n.now, found
		}
		if r.Preemptions > 0 {
			r.resumed += len(hits)
			r.regained += len(hits) - len(shared(hits))
		}
		if in.free -= idle(hits); in.pool != nil {
			in.pool.touch(hits)
		}
		r.pages, r.blocks = hits, int64(len(hits))
		n.allocate(in, r, want)
		budget -= want
	}
	if budget == 0 {
		n.spent++
	}
	n.begin(in)
}

// begin starts the step that was composed; the next one may have everybody who waits by now.
func (n *naive) begin(in *naiveInstance) {
	in.end = sim.Forever
	if len(in.running) > 0 {
		in.end = n.now.Add(n.price(in))
		n.steps++
	}
	for _, r := range in.waiting {
		r.noticed = true
	}
}

// allocate gives r the blocks for so many more tokens.
func (n *naive) allocate(in *naiveInstance, r *naiveRequest, want int32) {
	blocks := n.needs(r, r.Computed+want)
	more := blocks - r.blocks
	in.free -= more
	r.blocks, r.want = blocks, want
	if in.pool == nil {
		return
	}
	for range more {
		r.pages = append(r.pages, in.pool.allocate())
	}
	in.pool.cache(r, r.Computed+want)
}

// release frees the blocks of r.
func (in *naiveInstance) release(r *naiveRequest) {
	if in.pool == nil {
		in.free += r.blocks
	} else {
		in.pool.release(r.pages)
		in.free = int64(in.pool.free.Len())
	}
	r.pages = nil
}

func (n *naive) want(p *policies.Continuous, r *naiveRequest, budget int32) int32 {
	want := min(r.Pending(), budget)
	if p.LongPrefillTokenThreshold > 0 {
		want = min(want, p.LongPrefillTokenThreshold)
	}
	return want
}

func (n *naive) price(in *naiveInstance) sim.Duration {
	var b sim.Shape
	for _, r := range in.running {
		t, c := int64(r.want), int64(r.Computed)
		switch {
		case r.decoding:
			b.Decodes++
			b.DecodeTokens++
			b.DecodeCtx += c + 1
			b.Outputs++
			for i, w := range n.windows {
				see, grows := min(c+1, int64(w.Tokens)), c+1 < int64(w.Tokens)
				if w.Chunked {
					see, grows = c%int64(w.Tokens)+1, true
				}
				b.Capped[i].Ctx += see
				if grows {
					b.Capped[i].Growing++
				}
			}
		case t > 0:
			b.Prefills++
			b.PrefillTokens += t
			b.PrefillPairs += t*c + t*(t+1)/2
			b.PrefillCtx += c + t
			for i, w := range n.windows {
				n.chunk(&b.Capped[i], w, c, t)
			}
			if r.want == r.Pending() {
				b.Outputs++
			}
		}
	}
	var g sim.Segment
	n.model.Price([]sim.Shape{b}, &g)
	return g.First
}

// chunk looks at every query of a chunk and every key that it attends to in a window.
func (n *naive) chunk(b *sim.Capped, w sim.Window, c, t int64) {
	first := c + 1
	for query := c + 1; query <= c+t; query++ {
		oldest := max(1, query-int64(w.Tokens)+1)
		if w.Chunked {
			oldest = (query-1)/int64(w.Tokens)*int64(w.Tokens) + 1
		}
		b.PrefillPairs += query - oldest + 1
		first = min(first, oldest)
	}
	b.PrefillCtx += c + t - first + 1
}

// commit emits the tokens of the step that ends.
func (n *naive) commit(in *naiveInstance) {
	for _, r := range in.running {
		r.Computed += r.want
		if r.left || r.Pending() > 0 {
			continue
		}
		r.Emitted++
		r.tokens = append(r.tokens, n.now)
		r.decoding = true
		if r.Emitted == r.Output {
			n.loads[in.id]--
			n.done(r, "completed")
		}
	}
	in.running = slices.DeleteFunc(in.running, func(r *naiveRequest) bool {
		if r.outcome == "" {
			return false
		}
		in.release(r)
		if r.left {
			n.loads[in.id]--
		}
		return true
	})
	in.end, in.woken = sim.Forever, true
}
