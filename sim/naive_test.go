package sim_test

import (
	"fmt"
	"slices"

	"github.com/decodesim/decodesim/policies"
	"github.com/decodesim/decodesim/sim"
)

// naive is the obvious simulator that the fast one must equal to the picosecond: one step at a time, every request
// visited in every step, every policy written out as a walk over lists, and a linear search for the next event.
type naive struct {
	scenario
	now     sim.Time
	source  sim.Source
	tree    *sim.Contents // of this run; nil: no prefix caching
	next    *sim.Request  // the source's next request, unless it is a Follower
	insts   []*naiveInstance
	loads   []int32
	all     []*naiveRequest
	patient []*naiveRequest // those with a deadline
	steps   int
	decodes int64          // Σ over steps of the decoding sequences
	drafted int64          // tokens
	loaded  int64          // tokens found in host memory
	peak    int64          // the most blocks in use at once
	gaps    map[string]int // between two tokens of a request, by what came between
	cover   map[string]int // how often what is worth testing came up
}

type naiveRequest struct {
	sim.Request
	key      int64 // of the queue's order
	outcome  string
	decoding bool
	want     int32 // tokens in the step under way
	prefill  int32 // of the tokens computed, those that were not decoded
	pad      int32 // tokens by which a static batch makes its prompt longer
	blocks   int64
	pages    []*block // with prefix caching: what it holds, the blocks it holds whatever its length last
	hashes   []int    // of its blocks, as far as anybody asked
	content  []bool
	resumed  int // blocks found after a preemption
	regained int // of those, blocks that only this request has
	admitted sim.Time
	tokens   []sim.Time // when each was emitted
	cause    string     // what has held it up since the latest one
	left     bool       // the client hung up
	gone     bool       // the engine knows
	running  *naiveInstance
	noticed  bool // it waited when a step began: the batch of the next may have it
}

type naiveInstance struct {
	cold      bool  // it is not up before end
	step      int64 // steps begun
	id        int
	running   []*naiveRequest // in order of admission
	waiting   []*naiveRequest
	swapped   []*naiveRequest // in order of swapping out
	free      int64
	host      int64      // free blocks of host memory
	copied    int64      // blocks that the step copies from or to it
	pool      *blockPool // nil: no prefix caching
	store     *hostStore // nil: no host memory for what the cache has no room for
	drafting  int32      // tokens that every sequence may draft in the step
	end       sim.Time
	woken     bool
	everybody bool // the step that is composed may have those who came since the last one began
	sglang    sglangState
}

func runNaive(sc scenario) *naive {
	n := &naive{scenario: sc, loads: make([]int32, sc.size), gaps: map[string]int{}, cover: map[string]int{}}
	n.source, n.tree = sc.source()
	for i := range sc.size {
		in := &naiveInstance{id: i, free: sc.blocks, host: sc.swapBlocks, end: sim.Forever}
		if sc.coldStart > 0 {
			in.cold, in.end = true, sim.Time(0).Add(sc.coldStart)
		}
		if n.tree != nil {
			in.pool = newBlockPool(sc.blocks, sc.blockSize, n.tree)
			if sc.offload > 0 {
				in.store = &hostStore{tree: n.tree, size: sc.blockSize, limit: sc.offload}
			}
		}
		if p, ok := sc.policy.(*policies.SGLang); ok {
			in.sglang.ratio = p.InitNewTokenRatio
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
			n.cover["arrivals on a step boundary"]++
		}
	}
	long := n.promptMax > 0 && r.Prompt > n.promptMax
	if long {
		n.cover["prompts over the engine's limit"]++
	}
	if long || r.Prompt+r.Limit() > n.maxLen {
		n.done(r, "rejected")
		return
	}
	if r.Deadline != 0 && r.Deadline <= n.now {
		n.done(r, "failed")
		return
	}
	in := n.insts[n.route()]
	n.loads[in.id]++
	r.running = in
	n.enqueue(in, r)
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

// hangup forgets a request that is in no batch; one that is in a batch goes at the end of the step.
func (n *naive) hangup(r *naiveRequest) {
	n.done(r, "failed")
	r.left = true
	in := r.running
	if i := slices.Index(in.waiting, r); i >= 0 {
		in.waiting = slices.Delete(in.waiting, i, i+1)
		n.loads[in.id]--
	}
	if i := slices.Index(in.swapped, r); i >= 0 {
		in.swapped = slices.Delete(in.swapped, i, i+1)
		in.host += r.blocks
		n.loads[in.id]--
		n.cover["hang-ups while swapped out"]++
	}
}

// plan composes the next step of an instance as its policy does, and begins it.
func (n *naive) plan(in *naiveInstance) {
	in.woken, in.copied = false, 0
	in.everybody = !n.ahead || len(in.running) == 0
	in.drafting = n.drafts(len(decodes(in.running)))
	for _, r := range in.running {
		r.want = 0
	}
	switch p := n.policy.(type) {
	case *policies.Continuous:
		n.planContinuous(in, p)
	case *policies.PrefillFirst:
		n.planPrefillFirst(in, p)
	case *policies.SGLang:
		n.planSGLang(in, p)
	case *policies.Static:
		n.planStatic(in, p)
	default:
		panic(fmt.Sprintf("no twin of %T", p))
	}
	n.begin(in)
}

// begin starts the step that was composed; the next one may have everybody who waits by now.
func (n *naive) begin(in *naiveInstance) {
	in.end = sim.Forever
	if len(in.running) > 0 {
		price := n.price(in)
		if n.noise != nil {
			price += n.noise.Stretch(int32(in.id), in.step, n.now, price)
		}
		in.end = n.now.Add(price)
		in.step++
		n.steps++
	} else if len(in.waiting)+len(in.swapped) > 0 {
		panic(fmt.Sprintf("at %v instance %d has nothing to do and %d requests", n.now, in.id, len(in.waiting)+len(in.swapped)))
	}
	n.peak = max(n.peak, n.blocks-in.free)
	for _, r := range in.waiting {
		r.noticed = true
	}
	for _, r := range in.running {
		switch {
		case r.decoding && r.want > 0 && !r.gone:
			n.decodes++
		case r.decoding && r.want == 0 && r.cause == "":
			r.cause = "held"
		}
	}
}

// commit emits the tokens of the step that ends.
func (n *naive) commit(in *naiveInstance) {
	if in.cold {
		in.cold, in.end, in.woken = false, sim.Forever, true
		return
	}
	for _, r := range in.running {
		tokens := int32(1)
		if r.decoding {
			tokens = n.verify(r)
			r.Computed += tokens
		} else if r.Computed += r.want; r.Pending() <= 0 {
			r.prefill, r.decoding = r.Computed, true
		} else {
			r.prefill = r.Computed
			continue
		}
		if r.outcome == "" {
			n.emit(r, int(tokens))
		}
	}
	for _, r := range in.running {
		if r.outcome != "" && !r.gone {
			r.gone = true
			n.loads[in.id]--
		}
	}
	if _, ok := n.policy.(*policies.Static); !ok || ended(in.running) {
		in.running = slices.DeleteFunc(in.running, func(r *naiveRequest) bool {
			if r.gone {
				n.release(in, r, r.Computed)
				in.sglang.forget(r)
			}
			return r.gone
		})
	}
	in.end, in.woken = sim.Forever, true
}

// emit lets the client of r have so many tokens at once.
func (n *naive) emit(r *naiveRequest, tokens int) {
	for range tokens {
		if r.Emitted > 0 {
			n.gaps[r.cause]++
		}
		r.cause = "burst"
		r.Emitted++
		r.tokens = append(r.tokens, n.now)
	}
	if tokens > 0 {
		r.cause = ""
	}
	if r.Emitted == r.Output {
		n.done(r, "completed")
	}
}

// decodes returns those of a batch that decode.
func decodes(batch []*naiveRequest) (list []*naiveRequest) {
	for _, r := range batch {
		if r.decoding {
			list = append(list, r)
		}
	}
	return list
}
