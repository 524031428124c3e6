package sim_test

import (
	"fmt"
	"slices"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// naive is a pool of the obvious simulator that the fast one must equal to the picosecond: one step at a time, every
// request visited in every step, every policy written out as a walk over lists, and a linear search for the next event.
type naive struct {
	scenario
	*naiveFleet
	members                 []*naiveInstance // the first rank of each replica
	gate                    []gated
	after                   int // the ID behind which turns go on
	steps                   int
	decodes                 int64        // Σ over steps of the decoding sequences
	drafted                 int64        // tokens
	loaded                  int64        // tokens found in host memory
	prompted                int64        // tokens of prompts that entered a batch here first
	cached                  int64        // of them, cached
	fetchedTokens, fromTier [2]int64     // by tier: fetched, and of them found by an admission in host memory
	writtenTokens           [2]int64     // by tier
	below                   int64        // tokens that first admissions found in host memory
	shared                  []*hostStore // by tier: what instances share; nil: each has its own
	peak                    int64        // the most blocks in use at once
	evicted                 int          // blocks of content, in instances that are down
	empty                   int          // Σ over steps of the ranks without work
	adapted                 sim.AdapterTotals
	lockedNS                int64        // Σ ns for which requests waited for their adapters
	copying                 sim.Duration // Σ for which steps waited for adapters
	lost                    int          // blocks of host memory that were lost
	tally                   naiveTally
	gaps                    map[string]int // between two tokens of a request, by what came between
	cover                   map[string]int // how often what is worth testing came up
}

type naiveRequest struct {
	sim.Request
	key      int64 // of the queue's order
	outcome  string
	decoding bool
	want     int32 // tokens in the step under way
	had      bool  // it had tokens in the step before
	latest   int32 // tokens that it decoded in the step before
	filler   int32 // wrong drafts beside its last chunk
	missed   bool  // it decodes, and misses the step under way
	leftOut  bool  // it decodes, and has missed all steps since its latest token
	hoped    int32 // tokens by which they were fewer than an engine had taken them to be that did not know them yet
	prefill  int32 // of the tokens computed, those that were not decoded
	pad      int32 // tokens by which a static batch makes its prompt longer
	blocks   int64
	reserve  int64 // blocks that it took at its admission for tokens to come; 0: none
	naiveWindows
	ahead    *found   // with pages: what was found for it, if it waits and has the blocks of the next step already
	pages    []*block // with prefix caching: what it holds, the blocks it holds whatever its length last
	resumed  int      // blocks found after a preemption
	regained int      // blocks among them that only this request has
	admitted sim.Time
	entered  bool // a batch, once
	number   int  // of its admission
	naiveStages
	tokens         []sim.Time // when each was emitted
	cause          string     // what has held it up since the latest one
	left           bool       // the client cancelled
	removed, ghost bool       // the engine knows; and only its place in the batch is left
	hidden         int32      // tokens that it has emitted and does not count, because the engine does not know them
	stopped        bool       // it computes no more, although the engine does not know
	at             *naiveInstance
	noticed        bool         // it waited when a step began: the batch of the next may have it
	stamped        sim.Time     // when that was so first
	move           *naiveMove   // nil: its KV is not transferred
	host           *naiveMove   // nil: nothing of it comes, or has come, from host memory
	fetch          *naiveFetch  // that is under way; nil: none
	fetchedBy      *naiveFetch  // that brought what its next admission finds in host memory
	known          bool         // its next token is, and not released
	leaf           leaf         // with a radix tree: what that has of it
	added          bool         // some of it is or was in a radix tree
	life           int32        // how often it has gone elsewhere
	place          int          // in the batch as SGLang orders it; 0: none yet
	fill           int64        // tokens that SGLang has of it: while it waits, those it was to compute when tried last
	tokenizing     sim.Duration // until its prompt had been tokenised, before its first admission
	lockedOut      sim.Duration // that it has waited for its adapter in this queue
}

type naiveInstance struct {
	of       *naive
	team     []*naiveInstance // the ranks of its replica, itself among them
	turn     int              // of the first: the rank that a request went to last
	life     string
	switches func() // what to do when it has been drained
	cold     bool   // it is not up before end
	step     int64  // steps begun
	id       int
	load     int             // requests routed here
	running  []*naiveRequest // in order of admission
	away     []*naiveRequest // while a batch is composed: those that are in another one
	naivePipeline
	admitted      int // so far
	waiting       []*naiveRequest
	swapped       []*naiveRequest // in order of swapping out
	deferred      []*naiveRequest // that have left the batch, and whose blocks a step under way may write
	inbound       []*naiveMove    // without room
	transferring  []*naiveMove    // with room, or room that is committed
	arrived       []*naiveMove    // not yet admitted
	pending, sent []*naiveMove    // whose blocks are here until they have arrived, and until the engine knows it
	free          int64
	host          int64        // free blocks of host memory
	copied        int64        // blocks that the step copies from or to it
	pool          *blockPool   // nil: no prefix caching of blocks
	tree          *naiveTree   // nil: nor of sequences
	below         []*hostStore // tiers below that
	fetching      []*naiveRequest
	tokenizer     []tokenizing // what its tokenizer has, the first of which it works on
	store         *hostStore   // nil: no host memory for what the cache has no room for
	drafting      int32        // tokens that every sequence may draft in the step
	end           sim.Time
	woken         bool
	again         bool     // the step that has been composed computes nothing, and others have been preempted for it
	inTurns       bool     // requests take their blocks one after the other
	idle          bool     // no step was under way before
	everybody     bool     // the step that is composed may have the requests that came since the last one began
	unasked       int      // steps of decodes alone since the engine last looked for requests
	loaded        int      // KV connectors' loads begun
	copies        sim.Time // when the last one from host memory ends
	loading       naiveLoading
	stayed        []*naiveRequest // that have ended, while the next step has not been composed
	departed      bool            // others have left the batch for that
	left          bool            // either
	aside         []*block        // that the next step takes, while loads begin with it
	sglang        sglangState
	naiveWork
	waited   int       // steps that a prompt which could join has waited for others
	agreed   agreement // of the first rank
	adapters naiveAdapters
}

// plan composes the next step of an instance as its policy does.
func (n *naive) plan(in *naiveInstance) {
	in.woken, in.adapters.copying = false, 0
	n.useAdapters(in)
	if n.stagesAhead() { // planAhead has said what the engine knows
	} else if !n.ahead || len(in.running) == 0 && !n.queues() || in.idle {
		n.seeAll(in)
	} else {
		in.everybody = false
	}
	if !n.composesAhead() || in.everybody {
		in.copied = 0
	}
	if in.tree != nil {
		in.tree.taken = 0
	}
	for _, r := range in.running {
		r.had = r.want > 0
	}
	for again := true; again; again = n.again(in) {
		if n.composesAhead() && !in.everybody {
			n.joinAccepted(in)
		} else {
			n.preallocate(in)
			if !n.loads {
				n.admitTransferred(in)
			}
		}
		in.drafting = n.drafts(len(n.emitters(in)))
		for _, r := range in.running {
			r.want = 0
		}
		n.compose(in)
		for _, r := range in.waiting {
			n.dropAhead(in, r)
		}
		in.left, in.stayed, in.departed = in.departed || len(in.stayed) > 0, nil, false
		if (!n.loads || !n.queues()) && n.leavesFree().Tokens == 0 {
			n.admitInbound(in)
		}
	}
	if in.tree != nil {
		in.tree.evictTo(in.free)
	}
}

// computes reports whether the step, as composed so far, computes anything.
func (in *naiveInstance) computes() bool {
	return slices.ContainsFunc(in.running, func(r *naiveRequest) bool { return r.want > 0 })
}

// compose lets the policy of the pool compose a step.
func (n *naive) compose(in *naiveInstance) {
	switch p := n.policy.(type) {
	case *schedulers.Continuous:
		n.planContinuous(in, p)
	case *schedulers.PrefillFirst:
		n.planPrefillFirst(in, p)
	case *schedulers.SGLang:
		n.planSGLang(in, p)
	case *schedulers.Static:
		n.planStatic(in, p)
	default:
		panic(fmt.Sprintf("no twin of %T", p))
	}
}

// begin starts the step that the ranks of a replica have composed, which lasts as long as that of the slowest; the next
// one may have every request that waits by now.
func (n *naive) begin(team []*naiveInstance) {
	lead, empty := team[0], 0
	var shapes []sim.Shape
	for _, in := range team {
		shapes = append(shapes, n.shape(in))
		if !in.computes() {
			empty++
		}
	}
	end, idle := sim.Forever, empty == len(team)
	if !idle {
		price := n.price(shapes)
		if n.noise != nil {
			price += n.noise.Stretch(int32(lead.id), lead.step, n.now, price)
		}
		end = n.now.Add(price)
		n.beginsStep(lead, shapes)
		lead.step++
		n.steps++
		n.cover["ranks without work"] += empty
		n.empty += empty
	}
	for _, in := range team { // those of a rank load what they may before the next one does
		computes := in.computes() // if only in vain
		if !computes && in.sglang.joins {
			n.learn(in) // before loads begin with the step after this one
		}
		n.admitWithStep(in)
		if !computes && !in.sglang.joins {
			n.mayIdle(in)
		}
		in.end, in.idle = end, idle
		n.beginsOn(in)
		n.learn(in)
		if computes && n.loads && n.queues() {
			n.loadAhead(in)
		}
		if computes && n.composesAhead() {
			n.receiveAhead(in)
		}
	}
	if idle && lead.life == "draining" && lead.served() {
		n.down(lead)
	}
}

// beginsOn notes what begins with a step of an instance.
func (n *naive) beginsOn(in *naiveInstance) {
	n.peak = max(n.peak, n.blocks-in.free)
	n.listen(in)
	for _, m := range slices.Concat(in.arrived, in.inbound) {
		m.noticed = true
	}
	for _, r := range in.running {
		if r.cause == "held" && r.decoding && r.want > 0 && r.tokens[len(r.tokens)-1] == n.now {
			r.cause = "" // in no time
		}
		switch {
		case r.decoding && r.want > 0 && !r.removed:
			n.decodes++
		case r.decoding && r.want == 0 && r.cause == "":
			r.cause = "held"
		case !r.decoding && r.want > 0:
			n.pushLayers(r)
		}
	}
}

// commit emits the tokens of the step that ends, rank by rank.
func (n *naive) commit(lead *naiveInstance) {
	if lead.cold {
		n.up(lead)
		return
	}
	n.endsStep(lead, true)
	for _, in := range lead.team {
		n.commitRank(in)
	}
	n.endBatch(lead)
}

func (n *naive) commitRank(in *naiveInstance) {
	n.useAdapters(in)
	if p, ok := n.policy.(*schedulers.SGLang); ok && n.queues() && !n.composesAhead() { // else it has, as the step began
		n.retractAhead(in, p)
	}
	var prompts []*naiveRequest
	mixed := slices.ContainsFunc(in.running, func(r *naiveRequest) bool { return r.decoding && r.want > 0 && !r.removed })
	for _, r := range in.members() {
		tokens, hands := int32(1), false
		if !r.decoding {
			n.passed(r, r.want)
		}
		if r.decoding {
			tokens = n.verify(r)
			n.passed(r, tokens)
			r.Computed += tokens
			r.latest, r.leftOut = tokens, false
			r.hoped = n.hopes(r.want - tokens)
		} else if r.Pending() <= r.want && (len(r.yields) == 0 || r.Emitted+1 == r.Output) {
			r.Computed += r.want
			r.prefill, r.decoding = r.Computed, true
			r.latest, r.hoped, r.filler = 0, n.hopes(r.filler), 0
			r.leftOut = false
			if r.removed {
				n.cover["ended, and decode again"]++
			}
			if n.yields() && r.Emitted > 0 && r.cause == "" {
				r.cause = "preempted"
			}
			prompts = append(prompts, r)
			hands = n.hands(r)
			r.known = hands && n.stage(r).Tokens == 0
		} else {
			yields := r.yielding || len(r.yields) > 0 && r.Pending() <= r.want
			r.Computed += r.want
			r.prefill, r.yielding = r.Computed, false
			if yields && r.outcome == "" {
				n.emitInTwo(r)
			}
			continue
		}
		if r.outcome == "" && !r.known {
			n.emit(r, int(tokens))
		}
		if hands && r.outcome == "" {
			n.beginTransfer(in, r)
		}
	}
	in.sglang.place(prompts, mixed)
	if in.tree == nil {
		n.leaves(in)
	} else {
		n.leavesTree(in, prompts)
	}
	in.end, in.woken = sim.Forever, true
}

// leavesTree is leaves, in the order of SGLang's batch and with prompts that are complete, and the chunks of others
// behind it.
func (n *naive) leavesTree(in *naiveInstance, complete []*naiveRequest) {
	list := slices.DeleteFunc(complete, func(r *naiveRequest) bool { return r.outcome != "" })
	if n.queues() {
		in.sglang.read = list
		list = slices.DeleteFunc(slices.Clone(list), func(r *naiveRequest) bool { return r.at == in })
	}
	for _, r := range in.running {
		if n.ends(in, r) && !(n.queues() && r.outcome == "completed") {
			list = append(list, r)
		}
	}
	n.settleTree(in, list)
	for _, r := range in.running {
		if !r.decoding && !in.sglang.stashed {
			n.publish(in, r)
		}
	}
	in.sglang.stashed = false
}

// ends notes that r, which is in the batch, has ended, if it has, and reports whether it has.
func (n *naive) ends(in *naiveInstance, r *naiveRequest) bool {
	if r.outcome != "" && !r.removed && in.here(r) {
		r.removed = true
		in.load--
		if r.outcome == "completed" && !n.composesAhead() {
			in.stayed = append(in.stayed, r)
		}
	}
	return r.removed
}

// leaves takes finished requests out of the batch.
func (n *naive) leaves(in *naiveInstance) {
	for _, r := range in.running {
		n.ends(in, r)
	}
	if _, ok := n.policy.(*schedulers.Static); ok && !ended(in.running) {
		return
	}
	in.running = slices.DeleteFunc(in.running, func(r *naiveRequest) bool {
		if r.removed && n.queues() && r.outcome == "completed" {
			return false // the engine has composed the next step before it learns of it
		}
		if r.removed {
			n.release(in, r, r.Computed-n.unnamed(r))
			in.sglang.forget(r)
		}
		return r.removed
	})
}
