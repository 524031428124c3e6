package sim

// Data-parallel ranks share the experts of a model: each has requests, a batch and a cache of its own, and no layer
// ends on one before it ends on all. So the ranks of a replica step together. Each composes its own batch, a step lasts
// as long as that of the slowest, and a rank with nothing to compute takes part with an empty batch, because the others
// need its experts (vLLM 0.33.0, vllm/v1/engine/core.py, DPEngineCoreProc.run_busy_loop and execute_dummy_batch).
//
// A replica of several ranks is an instance without requests. It has the events and the life of all its ranks, which
// are instances with neither. Routers, controllers and observers see the replica; a balancer then picks the rank.
//
// vLLM's ranks learn only every 32 steps (dp_sync_interval) that all are done, and compute empty batches until then. A
// request that comes meanwhile is a step late at most, which is not modelled.

// group is what a replica of several ranks has.
type group struct {
	ranks    Pool   // as routers see them
	balancer Router // picks one for a request
	totals   RankTotals
}

// RankTotals is how evenly the ranks of a pool's instances were busy.
type RankTotals struct {
	Steps     int64 // of instances with ranks
	DecodeMax int64 // Σ over these steps of the decoding sequences of the rank that had most
	TokenMax  int64 // Σ of the tokens computed by the rank that computed most
	TokenSum  int64 // Σ of the tokens computed by all ranks
	Empty     int64 // Σ of the ranks that computed nothing
}

func (t *RankTotals) add(other *RankTotals) {
	t.Steps += other.Steps
	t.DecodeMax += other.DecodeMax
	t.TokenMax += other.TokenMax
	t.TokenSum += other.TokenSum
	t.Empty += other.Empty
}

// addRanks makes the instances of p replicas of several ranks, if they have any. Their IDs follow those of all
// instances.
func (p *Pool) addRanks(c *Cluster) {
	if p.Ranks <= 1 {
		return
	}
	for _, in := range p.all {
		g := &group{balancer: p.Balancer()}
		g.ranks = Pool{PoolSpec: p.PoolSpec}
		in.group, in.parts = g, nil
		in.step.ranks = make([]Shape, p.Ranks)
		for i := range p.Ranks {
			rank := newInstance(c, p, int32(len(c.instances)))
			c.instances, in.parts = append(c.instances, rank), append(in.parts, rank)
			rank.life, rank.replica, rank.listed = live, in, &g.ranks
			rank.step.ranks, rank.work.shape = in.step.ranks, &in.step.ranks[i]
			rank.report.ranks = make([]Shape, p.Ranks)
		}
		g.ranks.all, g.ranks.built, in.batched = in.parts, in.parts, in.parts
		g.ranks.list()
	}
}

// Preemptions returns how often requests have been preempted on in, or on its ranks or microbatches.
func (in *Instance) Preemptions() (n int64) {
	for _, rank := range in.parts {
		for _, lane := range rank.batches() {
			n += lane.tally.preemptions
		}
	}
	return n
}

// Drafting returns how often sequences have drafted on in, or on its ranks or microbatches, and how many tokens.
func (in *Instance) Drafting() (drafts, tokens int64) {
	for _, rank := range in.parts {
		for _, lane := range rank.batches() {
			drafts, tokens = drafts+lane.tally.drafts, tokens+lane.tally.drafted
		}
	}
	return drafts, tokens
}

// Replica returns the instance that in is a rank of; in itself, if it has no ranks or is none.
func (in *Instance) Replica() *Instance { return in.replica }

// rankFor returns the rank of in that serves r; in itself, if it has no ranks.
func (in *Instance) rankFor(now Time, r *Request) *Instance {
	if in.group == nil {
		return in
	}
	return in.group.balancer.Route(now, r, &in.group.ranks)
}

// planRanks composes the batch of each rank and starts the step, or segment of steps, of all.
func (in *Instance) planRanks(now Time) {
	s, n, joins := &in.step, in.cluster.maxRun, in.pool.ranksJoin()
	computes := in.fillRanks(now, joins)
	if !computes && joins { // nor had the step that the engines composed; then they know
		s.n = 0
		in.share()
		computes = in.fillRanks(now, false)
	}
	limits := in.scratch
	if !computes {
		in.idleRanks()
		return
	}
	in.price(now)
	if in.steady() {
		n = min(n, s.price.Steps)
		for i, rank := range in.parts {
			n = rank.stepsAlike(n, int(limits[i]))
		}
		s.n, s.end = n, s.start.Add(s.price.Span(n))
	}
	for _, rank := range in.parts {
		if !rank.computes() && !joins {
			rank.empty()
		}
		rank.step.price, rank.step.noise, rank.step.start = s.price, s.noise, s.start
	}
	in.share()
}

// fillRanks composes the batch of each rank, in.scratch says for how many steps, and reports whether any computes
// something. joins is what Joins says meanwhile.
func (in *Instance) fillRanks(now Time, joins bool) (computes bool) {
	limits := in.scratch[:0]
	for _, rank := range in.parts {
		rank.joins = joins
		limits = append(limits, int32(rank.fill(now)))
		computes = computes || rank.computes()
	}
	in.scratch = limits
	return computes
}

// ranksJoin reports whether a rank without a batch joins the step that others compose as if it had one: it composes it
// once and learns no sooner than they do of what has come. So does SGLang's with the overlap scheduler (sglang 0.5.23,
// managers/scheduler.py, get_next_batch_to_run, and scheduler_components/dp_attn.py, get_idle_batch), and vLLM's whose
// engine queues batches: while a step runs all have launched the next, an empty one if need be (vLLM 0.33.0,
// vllm/v1/engine/core.py, DPEngineCoreProc.run_busy_loop).
func (p *PoolSpec) ranksJoin() bool {
	if _, retracts := p.Scheduler.(Retractor); retracts {
		return p.MaxNumSeqs == 0 && p.Speculation == nil
	}
	return p.BatchQueue > 1
}

// Joins reports whether in is a rank that takes part in the step which is composed though it may have nothing to
// compute: other ranks may.
func (in *Instance) Joins() bool { return in.joins }

// share lets the ranks of in know how many steps are under way.
func (in *Instance) share() {
	for _, rank := range in.parts {
		rank.step.n, rank.step.end = in.step.n, in.step.end
	}
}

// idleRanks leaves in and its ranks without a step until something comes.
func (in *Instance) idleRanks() {
	in.step.end, in.step.n = Forever, 0
	in.share()
	empty := true
	for _, rank := range in.parts {
		empty = rank.empty() && empty
	}
	if empty && in.life == draining {
		in.cluster.down(in)
	}
}

// commitRanks ends the steps under way on each rank.
func (in *Instance) commitRanks() {
	s := &in.step
	in.countTime(s.n, s.end.Sub(s.start))
	in.countRanks(s.n)
	for _, rank := range in.parts {
		rank.commitSteps()
		rank.step.end = Forever
	}
}

// countRanks counts n steps of in, and how evenly its ranks had work.
func (in *Instance) countRanks(n int) {
	if n == 0 {
		return
	}
	var decodes, most, sum, empty int64
	for i := range in.step.ranks {
		b := &in.step.ranks[i]
		tokens := b.DecodeTokens + b.PrefillTokens
		decodes, most, sum = max(decodes, int64(b.Decodes)), max(most, tokens), sum+tokens
		if tokens == 0 {
			empty++
		}
	}
	in.tally.steps += int64(n)
	in.group.totals.add(&RankTotals{int64(n), int64(n) * decodes, int64(n) * most, int64(n) * sum, int64(n) * empty})
}

// sum adds up a number of each rank.
func (in *Instance) sum(of func(rank *Instance) int) (n int) {
	for _, rank := range in.parts {
		n += of(rank)
	}
	return n
}

// Ranks returns how many data-parallel ranks in has, and Rank the i-th; it is one of its own.
func (in *Instance) Ranks() int { return len(in.parts) }

// Rank returns the i-th data-parallel rank of in.
func (in *Instance) Rank(i int) *Instance { return in.parts[i] }

// runningOfAll is Running of several ranks or microbatches.
func (in *Instance) runningOfAll() (n int) {
	for _, part := range in.batched {
		n += part.batch.n
	}
	return n
}

// PublishChunks adds prompts to a radix tree as far as they have been computed when the step under way has ended which
// does not complete them. It is for a Retractor.
func (w *Work) PublishChunks() {
	in := w.in
	if !in.cache.Radix() {
		return
	}
	in.batch.published = true
	for _, slot := range in.batch.prefill {
		if r := &in.requests.at[slot]; r.chunk < r.Pending() {
			in.cache.Publish(slot, r.prompt(), r.Computed+r.chunk)
		}
	}
}

// PlanAdmission is AdmitNext for a Retractor: it says that the next step admits r, which CachedTokens was asked of
// last, and computes n of its tokens. Until then nothing that was found for r is evicted.
func (w *Work) PlanAdmission(r *Request, n int32) {
	in := w.in
	in.cache.Reuse(r.slot, r.prompt(), w.match)
	r.blocks, r.ahead, r.planned = w.match.Cached, 1+w.match.Cached, n
	in.transfers.ahead = append(in.transfers.ahead, r.slot)
}

// PlanChunk says that the next step computes n more tokens of r, which prefills.
func (w *Work) PlanChunk(r *Request, n int32) { r.planned = n }

// Planned returns what PlanAdmission or PlanChunk has said of r for the step that is being composed, and forgets it.
func (w *Work) Planned(r *Request) int32 {
	n := r.planned
	r.planned = 0
	return n
}

// Unplan takes back what PlanAdmission and PlanChunk have said.
func (w *Work) Unplan() {
	for _, slot := range w.in.batch.prefill {
		w.in.requests.at[slot].planned = 0
	}
	w.in.releaseAhead()
}

// Count notes a number of tokens of r for the scheduler's own use. It lasts until r leaves the instance.
func (w *Work) Count(r *Request, tokens int32) { r.counted = tokens }

// Counted returns what Count has noted of r last; 0: nothing.
func (w *Work) Counted(r *Request) int32 { return r.counted }

// DecodeSteps returns how many decode steps the instance has taken; while a Retractor is asked, with that which ends.
func (in *Instance) DecodeSteps() int64 {
	if in.work.ends {
		return in.batch.set.Step() + 1
	}
	return in.batch.set.Step()
}

// QueuedAfter reports whether a came to the queue after b, or was retracted after that. Both run, and the Scheduler of
// their pool, which has an Order, is a Retractor.
func (in *Instance) QueuedAfter(a, b *Request) bool { return a.turn > b.turn }
