package sim

// Request is one generation: a prompt to read and tokens to emit. A Source sets the first group of fields; the rest is
// the engine's record of progress.
type Request struct {
	ID            int32 // in arrival order, from 0
	Prompt        int32 // tokens, ≥ 1
	Output        int32 // tokens it will emit, ≥ 1: the true length, already cut at MaxOutput
	MaxOutput     int32 // the client's max_tokens, ≥ Output; 0: the client asks for exactly Output
	Content       int32 // node of Contents, for prefix reuse; 0: nothing shared
	OutputContent int32 // node of Contents that ends with what it emits: Content's path, the prompt and Output tokens; 0: nobody asks for it
	Session       int32 // that it belongs to, for routers; 0: none
	Class         uint8 // index of its service class
	Priority      int8  // lower runs first where a policy looks at it
	Traced        bool  // told step by step to a Sink that is a Tracer
	Arrival       Time  // when the client sends it
	Deadline      Time  // when the client hangs up; 0: never

	Emitted         int32 // tokens emitted; in the decode set: as of joining it
	Computed        int32 // tokens whose KV entries exist; in the decode set: as of joining it
	Cached          int32 // prompt tokens found in the cache when it first entered a batch
	Preemptions     int32
	Admitted        Time // when it first entered a batch
	First           Time // when the client has the first token
	Last            Time // when the client has the latest token
	PendingTransfer Time // when its prompt was complete where it was handed over, last of all
	Allocated       Time // when the next pool had room for the cache that it is handed
	Transferred     Time // when that was there
	Resumed         Time // when it had a seat there
	Route           uint8
	Stage           uint8

	entered  bool // a batch, at least once
	state    state
	late     Cause // why its next token is; Preempted: for no other reason than waiting
	move     int32 // its hand-over; 0: none
	chunk    int32 // prompt tokens in the step under way
	held     int32 // KV blocks, except in the decode set, where they follow from the computed tokens
	reserved int32 // KV blocks that it holds at least, from its admission on
	came     Time  // when it reached the queue, less Config.Ingress: its arrival, unless it was elsewhere before
	key      int64 // its place in a queue that has an Order
	finish   int64 // step of the decode set with which it ends
	joined   int64 // step of the decode set at which it joined; in prefill: the time of its latest admission
	prev     int32 // running list, by slot; noSlot: none
	next     int32
	order    int64 // of its latest admission
	shared   int32 // of the blocks held, those whose content others may ask for: the first ones
	pieces   int32 // what they are
	own      int32 // extent of the cache that only this preempted request may ask for; 0: none
	filled   int32 // tokens computed when it joined the decode set
}

// Limit returns the most tokens r may emit, as the engine must plan for.
func (r *Request) Limit() int32 {
	if r.MaxOutput > 0 {
		return r.MaxOutput
	}
	return r.Output
}

// Pending returns how many tokens must still be prefilled before r can emit: the rest of the prompt and, after a
// preemption, the tokens it had emitted.
func (r *Request) Pending() int32 { return r.Prompt + r.Emitted - r.Computed }

// recallable reports whether a cache may know tokens of r.
func (r *Request) recallable() bool { return r.Content != 0 || r.OutputContent != 0 || r.own != 0 }
