package sim

import "github.com/decodesim/decodesim/sim/kv"

// Request is one generation: a prompt to read and tokens to emit. The first fields are what a client asks for, set by a
// Source; the Record and the TransferTimes are what has become of it, for every package to read; the others are the
// engine's.
type Request struct {
	ID        int32 // in arrival order, from 0
	Prompt    int32 // tokens, ≥ 1
	Output    int32 // tokens it will emit, ≥ 1: the true length, already cut at MaxOutput
	MaxOutput int32 // the client's max_tokens, ≥ Output; 0: the client asks for exactly Output
	Arrival   Time  // when the client sends it
	Deadline  Time  // when the client cancels it; 0: never
	Content   int32 // node of Contents, for prefix reuse; 0: nothing shared
	Reasoning int32 // tokens at the beginning of the output that its user does not see, ≤ Output

	// OutputContent is the node of Contents that ends with the output: Content's path, the prompt and Output tokens;
	// 0: no later request continues it.
	OutputContent int32

	Session  int32  // that it belongs to, for routers; 0: none
	Class    uint8  // index of its service class
	Priority int8   // lower runs first where a policy goes by it
	Traced   bool   // reported step by step to a Sink that is a Tracer
	Adapter  uint16 // LoRA adapter that it has, see Adapters; 0: the model itself

	Record
	engineState
	TransferTimes
}

// Record is what has become of a request so far.
type Record struct {
	Route       uint8
	Stage       uint8 // of the route
	Emitted     int32 // tokens emitted; in the decode set: as of joining it
	Computed    int32 // tokens whose KV entries exist; in the decode set: as of joining it
	Cached      int32 // prompt tokens that were cached when it was first admitted to a batch
	Preemptions int32
	// until its prompt, and those before it, were tokenised, from its routing on; before its first admission
	Tokenizing Duration
	Admitted   Time // when it was first admitted to a batch
	First      Time // when the client has the first token
	Last       Time // when the client has the latest token
	Visible    Time // when the client has the first token after the Reasoning; 0: not yet, or there is no Reasoning
}

// TransferTimes is when the latest KV transfer of a request went through its states.
type TransferTimes struct {
	PendingTransfer Time // its prompt was complete at the source
	Allocated       Time // the destination had allocated blocks for it
	Transferred     Time // its cache had arrived there
	Resumed         Time // it was admitted to the batch there
}

// engineState is the engine's own account of a request.
type engineState struct {
	state          state
	delay          Cause // why its next token is delayed; Preempted: for no other reason than waiting
	admitted       bool  // to a batch, at least once
	lane           uint8 // the microbatch that it runs in
	slot           int32 // in the records of its instance
	chunk          int32 // prompt tokens in the step under way
	blocks         int32 // KV blocks, except in the decode set, where they follow from the computed tokens
	passed         int32 // blocks of tokens that its windows have passed; in the decode set: only if it is astray
	underWay       int32 // tokens that do not count as computed yet for them
	astray         bool  // it is in runningBatch.astray
	blocksMin      int32 // KV blocks that it has at least, from its admission on
	filler         int32 // drafts beside its last chunk, of which none is right
	burst          int32 // drafts accepted in the latest step that decoded it
	rejected       int32 // drafts rejected in it, where the next step was composed without knowing
	cut            int32 // drafts that the step under way has no budget for
	leftOut        bool  // it decodes, and has missed the step under way or the one before
	inFlight       bool  // it prefills, and had a chunk in the latest step
	entering       bool  // its chunk is the first since its latest admission
	stale          bool  // it has been preempted, and a batch under way still yields tokens of it, see stale.go
	yielding       bool  // its chunk under way yields a token, although it has got another since it was composed
	yields         uint8 // microbatches that it has left and that yield tokens of it, see stale.go
	finished       bool  // it has ended, and waits or prefills again before the engine knows, see serial
	unlearned      int32 // while it waits: tokens that its client has and its engine does not know, not in Emitted
	ahead          int32 // 1 + the blocks found for it, if it waits and has those of the next step already; see AdmitNext
	planned        int32 // tokens that the next step computes of it, if that has been said, see PlanAdmission
	counted        int32 // see Work.Count
	named          bool  // it has been transferred, and others can find its blocks before it is admitted
	polled         bool  // it has been transferred, and a step has been composed since, see preallocate.go
	accepted       bool  // and it has its place in the next step, see acceptAhead
	computedAtJoin int32 // tokens computed when it joined the decode set
	prev           int32 // the request admitted before it, by slot; noSlot: none
	next           int32 // the request admitted after it, by slot; in an ordered queue, its place in the heap
	joinStep       int64 // step of the decode set at which it joined
	steadyStep     int64 // and since which what its windows pass follows from its length, unless it is astray
	finishStep     int64 // step of the decode set with which it ends
	admission      int64 // number of its latest admission
	place          int64 // in the batch of SGLang, see runningBatch.place
	chunkBatch     int64 // of a pipeline: the latest one with a chunk of it that another microbatch had
	readmitted     Time  // of its latest admission
	penultimate    Time  // when it had the token before its last, if it has ended; see serial
	queuedAt       Time  // when it reached the queue, less Config.Ingress: its arrival, unless it was elsewhere before;
	// while it is tokenised, when it will have been
	orderKey int64 // its place in a queue that has an Order
	turn     int64 // its place among those with the same key, see queue.inTurn; 0: by arrival
	transfer int32 // its KV transfer; 0: none
	fetch    int32 // the transfer that fetches what it needs from a tier or from host memory; 0: none
	had      int32 // 1 + the blocks that were cached of it when others began to come from host memory; 0: none did
	below    kv.Below
}

// state says where a request is within an instance.
type state uint8

const (
	unused             state = iota // a record without a request
	waiting                         // in the queue
	tokenizing                      // on its way there
	prefilling                      // running, and its prompt is not complete
	decoding                        // running, and it emits a token per step
	cancelled                       // its client cancelled it while it was queued
	swappedOut                      // its cache is in host memory
	pendingTransfer                 // its prefill has ended, and its cache still has to leave
	awaitingAllocation              // it is transferred here, and no blocks are allocated yet
	preallocated                    // it has blocks here, and its prompt is computed elsewhere
	transferring                    // its cache is on its way here
	transferred                     // its cache has arrived, and it waits to be admitted
	fetching                        // what a tier has of its prompt is on its way to host memory
	loading                         // what host memory has of it is on its way to its blocks
	finishedRow                     // it has ended, and its row and its blocks stay: in the decode set
	ended                           // it has ended, and its place in the batch and its blocks stay: out of the decode set
	cancelledPrefill                // its client cancelled it during the step under way, while it prefilled
	cancelledDecode                 // its client cancelled it during the step under way, while it decoded
)

// noSlot marks the absence of a slot.
const noSlot int32 = -1

// Limit returns the most tokens r may emit, as the engine must plan for.
func (r *Request) Limit() int32 {
	if r.MaxOutput > 0 {
		return r.MaxOutput
	}
	return r.Output
}

// Pending returns how many tokens must still be prefilled before r can emit: what is left of the prompt and, after a
// preemption, the tokens it had emitted.
func (r *Request) Pending() int32 { return r.Prompt + r.Emitted - r.Computed }

// Chunk returns the prompt tokens of r in the step that is being composed or under way.
func (r *Request) Chunk() int32 { return r.chunk }

// prompt returns what r reads, as the KV cache goes by it.
func (r *Request) prompt() kv.Prompt {
	return kv.Prompt{Content: r.Content, Output: r.OutputContent, Tokens: r.Prompt, Passed: r.passed}
}

// resumes reports whether r, which waits, has been in a batch before.
func (r *Request) resumes() bool { return r.Emitted > 0 || r.Preemptions > 0 }

// learnAll counts the tokens of r that its engine does not know yet among those it has emitted.
func (r *Request) learnAll() { r.Emitted, r.unlearned = r.Emitted+r.unlearned, 0 }

// recompute has r, which has no blocks any more, begin again.
func (r *Request) recompute() {
	r.blocks, r.Computed = 0, 0
	r.chunk, r.filler, r.blocksMin = 0, 0, 0
	r.passed, r.underWay = 0, 0
	r.burst = 0
	r.state = waiting
}

// atNextStage returns r as the next instance on its route receives it.
func (r *Request) atNextStage() Request {
	q := *r
	q.blocks, q.blocksMin = 0, 0
	q.chunk, q.filler = 0, 0
	q.passed, q.underWay, q.astray = 0, 0, false
	q.fetch, q.had, q.turn = 0, 0, 0
	q.below = kv.Below{}
	q.planned, q.counted = 0, 0
	q.stale, q.chunkBatch = false, 0
	q.yields, q.yielding = 0, false
	return q
}

// slab is the records of the requests on one instance. A request is known by its slot, which it has until it leaves.
type slab struct {
	at     []Request
	unused []int32
}

// put copies r to a free slot and returns it.
func (s *slab) put(r *Request) int32 {
	slot := s.free()
	s.at[slot] = *r
	s.at[slot].slot = slot
	return slot
}

// free returns a free slot.
func (s *slab) free() int32 {
	if n := len(s.unused); n > 0 {
		slot := s.unused[n-1]
		s.unused = s.unused[:n-1]
		return slot
	}
	s.at = append(s.at, Request{})
	return int32(len(s.at) - 1)
}

// remove makes slot free again.
func (s *slab) remove(slot int32) {
	s.at[slot].state = unused
	s.unused = append(s.unused, slot)
}

// clear makes every slot free. Records stay, because deadlines may refer to them.
func (s *slab) clear() {
	s.unused = s.unused[:0]
	for slot := range s.at {
		s.at[slot] = Request{}
		s.unused = append(s.unused, int32(slot))
	}
}

// request returns the record in slot, or nil.
func (s *slab) request(slot int32) *Request {
	if slot == noSlot {
		return nil
	}
	return &s.at[slot]
}

// chunkRows returns how many tokens the step computes for the chunk of r.
func (in *Instance) chunkRows(r *Request) int64 { return int64(max(r.chunk+r.filler, in.batch.padded)) }

// attends returns how many tokens the chunk of r attends to at its end.
func (in *Instance) attends(r *Request) int64 { return int64(r.Computed) + in.chunkRows(r) }

// leaveLongest finds the longest of the chunks that are left once that of a request is out.
func (w *Work) leaveLongest(out *Request) {
	if w.in.attends(out) < w.shape.PrefillLongest {
		return
	}
	w.shape.PrefillLongest = 0
	for _, slot := range w.in.batch.prefill {
		if r := &w.in.requests.at[slot]; r != out && r.chunk > 0 {
			w.shape.PrefillLongest = max(w.shape.PrefillLongest, w.in.attends(r))
		}
	}
}
