package sim

// The ports: everything the model needs from outside. Each is implemented by one directory of the module.

// Source yields requests in arrival order. Next fills *r, which is zero, and reports whether there was one; after false
// it is asked again when a request has ended. Implemented in workloads.
type Source interface {
	Next(r *Request) bool
}

// Follower is a Source whose later requests depend on how earlier ones went (closed loop, sessions, retries). The run
// asks When before every event and takes Next only when that instant has come.
type Follower interface {
	When() Time               // arrival of the earliest request known so far; Forever: none
	Done(at Time, r *Request) // r has ended for the client, whatever its outcome
}

// Router picks the instance of a pool that will serve r. It is asked once, when r reaches the pool, and sees the
// instances that take requests: at least one. Implemented in policies.
type Router interface {
	Route(now Time, r *Request, pool *Pool) *Instance
}

// Blind is a Router that goes by requests alone and observes no instance: where it routes one does not depend on how
// others fare.
type Blind interface {
	Blind()
}

// Splitter picks the route of r, an index in Config.Routes. It is asked once, when r reaches the cluster. Implemented
// in policies.
type Splitter interface {
	Split(now Time, r *Request, c *Cluster) int
}

// Admission reports whether r, which reaches the cluster, may enter; otherwise it is rejected. Implemented in policies.
type Admission interface {
	Admit(now Time, r *Request, c *Cluster) bool
}

// Controller changes the fleet while it runs, by Cluster.Start, Drain, Fail and Switch. It is asked at time 0, and then
// at each instant that it names, before anything else happens then. Implemented in policies.
type Controller interface {
	Control(now Time, c *Cluster) (next Time)
}

// Activator is a Controller that acts as soon as a request begins to wait at the gate of p, where no instance takes
// requests: it need not wait for an instant that it named before.
type Activator interface {
	Activate(now Time, p *Pool, c *Cluster)
}

// Scheduler decides what an instance runs next. It is asked when a batch may change, not per token: its answer holds
// for the number of steps it returns (0: no limit) unless something arrives, finishes or fails to fit. It acts only
// through w and must depend only on queue, batch and cache. Implemented in policies.
type Scheduler interface {
	Schedule(in *Instance, w *Work) (steps int)
}

// Retractor is a Scheduler that drops what a step computes of requests which the next one has no blocks for: its engine
// queues batches, and composes the next step while this one runs. Retract is asked as a step ends whose successor may
// lack blocks, before its tokens are emitted; it acts through Work.Drop.
type Retractor interface {
	Retract(in *Instance, w *Work)
}

// Counter is a Scheduler that asks an instance to count more than most schedulers need.
type Counter interface {
	Counts() Counts
}

// Counts is a set of what an instance counts for its Scheduler.
type Counts uint8

// What a Scheduler may ask for.
const (
	CountPauses    Counts = 1 << iota // decodes that are paused: for Work.PauseDecodes, LeaveOut and SwapIn
	CountRemaining                    // tokens that may still be emitted: for Instance.RemainingTokens
	CountCommitted                    // blocks that may still be allocated: for Work.CommittedBlocks
)

// Order sorts a queue: by Key, the smaller first, then by arrival. It is asked once, when r reaches an instance, so its
// answer must not depend on time: an order by the time left to a deadline is one by the deadline. Implemented in
// policies.
type Order interface {
	Key(r *Request) int64
}

// Acceptance draws how many drafted tokens a model accepts: for each sequence of the batch, the first Accepted of its
// Drafts. What it draws depends on the request, the position and a seed alone, so neither preemption nor another
// deployment changes it. Implemented in policies.
type Acceptance interface {
	Verify(batch []Draft)
}

// StepModel prices steps: one Shape per rank that runs in lock step (one otherwise); the busiest rank decides. It fills
// *g, whose every field it must set. Implemented in hardware.
type StepModel interface {
	Price(ranks []Shape, g *Segment)
}

// Noise lengthens steps at random: jitter, neighbours. Stretch returns what the step-th step of an instance, which
// begins at now and should last d, lasts longer; not less than 0. It must depend on its arguments and a seed alone.
// With it, a run has one step. Implemented in policies.
type Noise interface {
	Stretch(instance int32, step int64, now Time, d Duration) Duration
}

// Sink observes a run in time order. Tokens are reported by the segment of steps, never one by one. Implemented in
// sim/metrics.
type Sink interface {
	// First: r emitted its first token at r.Last.
	First(r *Request)
	// Run: n steps of g began at start; in each of them, tokens sequences that had emitted a token at the end of the
	// step before emitted one more. n is 1 and tokens may be 0 in a step with prefill. Instance.Classes and
	// Instance.Prompts say more of it.
	Run(in *Instance, start Time, g *Segment, n, tokens int)
	// Paused: with the first step of g, which began at start, tokens sequences emitted one token each, after their latest
	// at since: prefill-only steps came between.
	Paused(in *Instance, since, start Time, g *Segment, tokens int)
	// Burst: at t, sequences that emitted a token at t emitted so many more: drafts that were accepted.
	Burst(in *Instance, t Time, tokens int)
	// Gap: r emitted a token at t, the end of the first step under way, for the first time since r.Last: something other
	// than that step delayed it.
	Gap(in *Instance, r *Request, t Time, cause Cause)
	// Done: r has ended at `at`. A completed request emitted its last token then. At the horizon of a run every request
	// that is still under way is reported, as Unfinished.
	Done(r *Request, at Time, o Outcome)
}

// Sharder is a Sink that can hear of several instances at the same time: Shard returns a Sink with the same settings
// that has heard of nothing, and Merge adds what such a Sink has heard. A shard hears of an instance for some of the
// time, and another one for the remainder; which it is, and the order of merging, must not matter.
type Sharder interface {
	Shard() Sink
	Merge(shard Sink)
}

// Sequential is a Scheduler that may remember something between calls, other than in an instance. If it reports true,
// it is never asked about two instances at the same time.
type Sequential interface {
	Sequential() bool
}

// Tracer is a Sink to which every token of the requests marked Traced is reported as well.
type Tracer interface {
	// Tokens: r, which had emitted a token at start, emitted one at the end of each of the first n steps of g; r.Emitted
	// counts those before.
	Tokens(r *Request, emitted int32, start Time, g *Segment, n int)
	// Delayed: r, which had emitted so many tokens, the last of them at since, emitted one at t and was delayed in
	// between.
	Delayed(r *Request, emitted int32, since, t Time)
	// Accepted: r, which had emitted so many tokens, the last of them at t, emitted n accepted drafts at t.
	Accepted(r *Request, emitted int32, t Time, n int)
}

// TransferObserver is a Sink to which KV transfers are reported as well.
type TransferObserver interface {
	// Transferred: the KV transfer of r from one instance to another has arrived; r.TransferTimes say when it did what.
	Transferred(from, to *Instance, r *Request)
}

// Cause says why a gap between two tokens is longer than a step.
type Cause uint8

// The causes of a long gap.
const (
	Preempted   Cause = iota // the KV cache was dropped and recomputed
	Swapped                  // the KV cache was in host memory
	Paused                   // it joined the decodes while prefill-only steps paused them
	Transferred              // the KV cache went to another instance
	Restarted                // its instance failed, and another computed it again
)

// Outcome says how a request ended.
type Outcome uint8

// The outcomes; they sum to the arrivals.
const (
	Completed Outcome = iota
	// it exceeds a limit of the model or of the cache, or was not admitted
	Rejected
	Failed     // the client cancelled it (time-out, disconnect), or its instance failed
	Unfinished // the run ended first
	NumOutcomes
)

var outcomeNames = [NumOutcomes]string{"completed", "rejected", "failed", "unfinished"}

func (o Outcome) String() string { return outcomeNames[o] }
