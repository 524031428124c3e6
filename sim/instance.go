package sim

import (
	"github.com/decodesim/decodesim/sim/batch"
	"github.com/decodesim/decodesim/sim/kv"
)

// Instance is one engine: a queue, a batch, a cache, and the steps it is running.
//
// It alternates between plan and commit. plan asks the Scheduler for the step's composition, prices it and starts one
// mixed step or a segment of decode steps; commit, at its end, moves tokens, retires sequences and leaves the instance
// to be planned again. An arrival during a segment cuts it at the next step boundary, where continuous batching could
// admit the request (Orca, OSDI '22, §3.2), or one step later if batches are fixed a step ahead.
type Instance struct {
	ID      int32 // in the cluster
	cluster *Cluster
	pool    *Pool
	replica *Instance   // that it is a rank or a microbatch of; itself, if it has no other ranks and is none
	parts   []*Instance // its ranks; itself alone, if it has none
	group   *group      // what it has as a replica of several ranks; nil: it has no ranks but itself
	line    *pipeline   // its stages, and as many microbatches, which have it too; nil: it has one stage
	batched []*Instance // that have its batches: its ranks, its microbatches, or itself alone
	lane    uint8       // which of the microbatches it is
	joins   bool        // what Joins says
	usual   bool        // it composes a step when it knows what came of the one before, and no caches come to it
	lifecycle

	*shared
	batch    runningBatch
	freed    []int32 // slots whose blocks are to be freed when the step has been committed
	drafting drafting

	step   step
	work   Work
	report report
	tally  tally

	// PolicyState is for a scheduler's own use: what its policy remembers of an instance, if anything.
	PolicyState [5]int64

	scratch []int32
}

// shared is what the microbatches of an instance have in common with it.
type shared struct {
	requests   slab
	queue      queue
	cache      kv.Cache
	swap       swapSpace
	transfers  transfers
	tiers      tiers
	tokenizer  tokenizer
	adapters   *adapters // nil: no request has one
	admissions int64     // so far
	committed  int64     // Σ blocks of the running requests at their limits, if the scheduler asks for it
}

// step is the steps under way: a single one, or a segment of decode steps.
type step struct {
	ranks   []Shape  // what each rank in lock step computes: own, unless they are of a group
	own     [1]Shape // what an instance without ranks computes
	price   Segment
	start   Time     // when they began
	end     Time     // when they end; Forever: the instance is idle
	n       int      // steps
	decodes int      // members of the decode set that emit in them
	noise   Duration // by which they last longer at random
	wait    Duration // by which they last longer because pipeline stages worked on other batches
	woken   bool     // the instance is to be planned at this instant
}

// tally is what an instance has done so far.
type tally struct {
	busy        Duration // total length of its steps
	steps       int64
	decodeSum   int64 // Σ over steps of the decoding sequences
	finishedSum int64 // Σ over steps of the finished rows
	drafts      int64 // Σ over steps of the sequences that drafted
	drafted     int64 // Σ over steps of the drafted tokens
	accepted    int64 // drafted tokens that were emitted to clients
	firstTokens int64 // emitted
	overdue     int64 // first tokens emitted after Pool.FirstTokenDue
	preemptions int64
	swaps       int64 // preemptions to host memory
	prompted    int64 // prompt tokens of the requests admitted
	cached      int64 // prompt tokens that were cached
	phases      phases
	tierTally
	adapterTally
}

// add counts n steps, with so many decoding sequences and finished rows in each.
func (t *tally) add(n, decodes, finished int) {
	t.steps += int64(n)
	t.decodeSum += int64(n) * int64(decodes)
	t.finishedSum += int64(n) * int64(finished)
}

func newInstance(c *Cluster, p *Pool, id int32) *Instance {
	in := &Instance{ID: id, cluster: c, pool: p, step: step{end: Forever}, shared: new(shared)}
	in.replica, in.parts = in, []*Instance{in}
	in.batched = in.parts
	in.step.ranks, in.report.ranks = in.step.own[:], in.report.own[:]
	in.queue.requests, in.queue.order = &in.requests, p.Order
	_, in.queue.inTurn = p.Scheduler.(Retractor)
	in.connect()
	in.prepare()
	in.reset()
	return in
}

// prepare gives in what an instance composes and reports steps with.
func (in *Instance) prepare() {
	p := in.pool
	in.batch.requests = &in.requests
	if p.Classes > 1 {
		in.batch.byClass, in.report.byClass = make([]int32, p.Classes), make([]int32, p.Classes)
	}
	in.work = Work{in: in, shape: &in.step.ranks[0]}
	if k, ok := p.Scheduler.(Counter); ok {
		in.batch.asked = k.Counts()
	}
	if p.MaxNumSeqs > 0 {
		in.batch.asked |= CountPauses // for requests that join without a prompt
	}
	in.drafting.speculation = p.Speculation
}

// reset makes in, which has no request left, an engine that has just started.
func (in *Instance) reset() {
	p := in.pool
	in.queue.visible = Forever
	in.resetBatch()
	c := kv.Config{Blocks: p.KVBlocks, BlockSize: p.BlockSize, SequenceBlocks: p.SequenceBlocks,
		Windowed: p.Windowed, Passing: p.passing(), UnnamedFirst: p.UnnamedFirst, OffloadBlocks: p.OffloadBlocks,
		Drafter: p.Drafter, Unknown: p.unknown()}
	if p.PrefixCaching {
		c.Contents, c.Radix = in.cluster.contents, p.RadixCache
		c.Below, c.WriteBack = in.newStores(), p.WriteBack
	}
	in.cache = kv.New(c)
	in.swap = swapSpace{free: p.SwapBlocks}
	in.transfers, in.committed = transfers{}, 0
	in.tiers.fetching, in.tiers.begun, in.tiers.copied = 0, 0, 0
	in.tokenizer = tokenizer{}
	in.adapters = p.newAdapters()
	in.queue.join(in.adapters)
	if in.line != nil {
		in.line.reset()
	}
}

// resetBatch makes the batch of in that of an engine that has just started.
func (in *Instance) resetBatch() {
	p := in.pool
	in.batch.clear()
	in.batch.set = batch.NewDecodeSet(p.BlockSize, p.Windows, in.cluster.logWheel)
	in.batch.set.PageWindows(p.Windowed.Blocks, p.Windowed.BlocksMax, in.cluster.logWheel)
	passing := p.passing()
	in.batch.set.PassWindows(passing.Blocks, passing.Window, passing.Lag(), in.cluster.logWheel)
	if p.Speculation != nil {
		in.batch.set = batch.NewCounted(p.BlockSize)
	}
	in.freed = in.freed[:0]
	in.drafting.sum = 0
	in.step.n, in.step.decodes = 0, 0
	in.PolicyState = [5]int64{}
	in.usual = in.line == nil && p.BatchQueue < 2 && p.MaxNumSeqs == 0 && p.LoadLink == (Link{})
}

// forget frees the record in slot.
func (in *Instance) forget(slot int32) {
	in.cache.Forget(slot)
	in.requests.remove(slot)
}

// cut shortens the segment under way to the first step boundary at or after now, or so many steps more.
func (in *Instance) cut(now Time, more int) {
	in = in.replica
	s := &in.step
	if s.n <= 1 || s.end == now {
		return
	}
	if n := s.price.Cover(now.Sub(s.start)) + more; n < s.n {
		s.n = n
		s.end = s.start.Add(s.price.Span(n))
		in.cluster.ends.Set(in.ID, s.end)
		if in.group != nil {
			in.share()
		}
	}
}

// wake has in planned at the next step boundary from now on.
func (in *Instance) wake(now Time) {
	if in.replica.step.end == Forever {
		in.cluster.wake(in.replica)
		return
	}
	in.cut(in.nextBoundary(now), 0)
}

// nextBoundary returns now or, if the step of in that begins now has been composed already, the instant after: what
// comes must wait for the boundary after this one. In a segment a step may begin now, too.
func (in *Instance) nextBoundary(now Time) Time {
	in = in.replica
	c, s := in.cluster, &in.step
	if s.end != Forever && !in.cold && (s.start == now || c.planned == now && in.ID < c.turn) {
		return now + 1
	}
	return now
}

// plan starts the next step, or segment of steps, at now.
func (in *Instance) plan(now Time) {
	switch {
	case in.group != nil:
		in.planRanks(now)
		return
	case in.line != nil:
		in.planLanes(now)
		return
	}
	limit, s := in.fill(now), &in.step
	if !in.computes() {
		in.idle()
		return
	}
	in.price(now)
	if in.steady() {
		s.n = in.stepsAlike(min(s.price.Steps, in.cluster.maxRun), limit)
		if s.n > 1 {
			s.end = s.start.Add(s.price.Span(s.n))
		}
	}
}

// fill composes the step that begins at now, and returns for how many the composition holds.
func (in *Instance) fill(now Time) (limit int) {
	w, s, b := &in.work, &in.step, &in.batch
	limit = in.compose(w, now)
	w.settle()
	if in.pool.pushes {
		in.startPushes(now)
	}
	s.decodes = b.set.Len()
	if w.paused {
		b.overdue = b.overdue || s.decodes > 0
		s.decodes = 0
	}
	switch {
	case w.paused:
		w.shape.ClearDecodes()
	case in.drafting.speculation != nil:
		in.draft(w.shape)
	default:
		b.set.Shape(w.shape)
	}
	w.shape.Outputs += int(w.shape.DecodeTokens)
	if in.adapters != nil {
		in.adapt(w.shape)
	}
	if in.usual {
		return limit
	}
	if in.unseen() && !in.pool.serial() && in.endUnseen() {
		limit = 1
	}
	if len(in.transfers.awaiting) > 0 && in.loadsAhead() {
		in.loadAhead(w)
	}
	if in.pool.composesAhead() && in.computes() && in.receiveAhead(w) {
		limit = 1
	}
	return limit
}

// computes reports whether the step that has been composed has anything to compute.
func (in *Instance) computes() bool { return in.work.shape.Decodes+in.work.shape.Prefills > 0 }

// price prices the step that begins at now.
func (in *Instance) price(now Time) {
	s := &in.step
	in.pool.Model.Price(s.ranks, &s.price)
	if s.price.First < 1 {
		panic("sim: a step takes time")
	}
	if in.pool.Noise != nil {
		in.addNoise(now)
	}
	s.start, s.n = now, 1
	s.end = now.Add(s.price.First)
}

// steady reports whether the step that has been planned may be one of a segment: it is of decodes alone, one token
// each.
func (in *Instance) steady() bool {
	if in.drafting.speculation != nil || in.pool.Noise != nil {
		return false
	}
	for i := range in.step.ranks {
		if b := &in.step.ranks[i]; b.Prefills > 0 || b.SwapBlocks > 0 {
			return false
		}
	}
	return true
}

// stepsAlike returns in how many of n steps, of decodes alone, nothing can change for in; no more than limit, if that
// is not 0.
func (in *Instance) stepsAlike(n, limit int) int {
	set := &in.batch.set
	n = min(n, set.StepsToChange())
	if limit > 0 {
		n = min(n, limit)
	}
	if len(in.batch.astray) > 0 || in.work.growing || in.pool.AsyncScheduling && in.unseenLoads() {
		n = 1
	} else if in.pool.AsyncScheduling && in.anyAdmissible() {
		n = min(n, in.stepsUnseen()) // the scheduler sees them at the end of it
	}
	if in.usual {
		return set.StepsWithin(n, in.cache.Free())
	}
	if len(in.transfers.awaiting) > 0 && in.loadsAhead() {
		// The last step of a request leaves more to the one after it. One whose successor takes blocks is the first of its
		// segment: they are taken as it begins, and what is free by its end may be others.
		n = min(n, max(1, set.StepsToChange()-1), max(1, set.StepsWithin(n+1, 0)-1))
	}
	free := in.cache.Free()
	if in.pool.retractor != nil { // a step whose successor may lack blocks is one of its own
		free -= in.nextBlocksMax()
		if free < 0 {
			return 1
		}
	}
	return set.StepsWithin(n, free)
}

// idle leaves in without a step until something comes.
func (in *Instance) idle() {
	in.step.end, in.step.n = Forever, 0
	if in.empty() && in.life == draining {
		in.cluster.down(in)
	}
}

// empty reports whether in, which computes nothing, has no request either.
func (in *Instance) empty() bool {
	if in.transfers.outside()+in.tiers.fetching > 0 {
		return false // what is missing comes with them, or goes
	}
	if in.Queued() > 0 || in.Running() > 0 {
		panic("sim: the scheduler left an instance idle with work to do")
	}
	return len(in.transfers.awaiting) == 0 && in.tokenizer.prompts == 0
}

// addNoise makes the step that begins at now longer; what it adds is overhead.
func (in *Instance) addNoise(now Time) {
	s := &in.step
	number := in.tally.steps
	if in.line != nil {
		number = in.replica.tally.steps + int64(in.line.busy)
	}
	s.noise = in.pool.Noise.Stretch(in.ID, number, now, s.price.First)
	if s.noise < 0 {
		panic("sim: noise made a step shorter")
	}
	s.price.First += s.noise
	s.price.Part[Overhead].A += s.noise
}

// emitting returns how many sequences emit a token in a step under way.
func (in *Instance) emitting() int {
	if in.step.decodes == 0 {
		return 0
	}
	return in.step.decodes - len(in.batch.finished)
}
