package sim

import (
	"cmp"
	"fmt"
	"slices"
)

// vLLM's KV connectors load caches as its scheduler goes through its queues: the running requests take their tokens and
// blocks first; then what has been loaded joins the batch, in the order in which loads began; then requests are
// admitted, and loads begin, as far as budget, max_num_seqs and blocks go. A step that preempts does neither
// (vllm/v1/core/sched/scheduler.py, Scheduler.schedule, of 0.22.1 and 0.33.0). So the Scheduler of a pool with
// ConnectorLoads is a Loader.

// Loader is a Scheduler that admits what KV connectors have loaded by Work.Join, and says by Work.AllowLoads what may
// be loaded. LoadAhead says it of the next step: an engine that queues batches composes that while this one runs.
type Loader interface {
	LoadAhead(in *Instance, w *Work)
}

// LoadRules say which caches KV connectors may begin to load in what a step leaves.
type LoadRules struct {
	Leave    int64 // blocks that stay free, or that the step after this one takes
	Reserves bool  // so do those that prompts under way still lack
	Whole    bool  // there must be blocks for all that is known of a request
	// of the step after this one: the requests that have run before and that it admits, and what prompts under way lack
	// behind it
	Resumes int
	Lacking int64
}

// loadRules is what Work.AllowLoads has said of the step that is being composed.
type loadRules struct {
	LoadRules
	allowed bool
	ahead   bool  // or of the one after it
	aside   int64 // blocks that have been set aside for that
}

// ConnectorLoads reports whether KV connectors load caches that come to in.
func (in *Instance) ConnectorLoads() bool { return in.pool.ConnectorLoads }

// AllowLoads lets KV connectors begin to load caches. Without it none begins.
func (w *Work) AllowLoads(rules LoadRules) { w.loads.LoadRules, w.loads.allowed = rules, true }

// loadFits reports whether the cache of r, for which there must be so many blocks and which reuses some of them, may
// be loaded.
func (w *Work) loadFits(r *Request, blocks, reused int64) bool {
	if !w.loads.allowed || w.loads.Whole && w.in.cache.Blocks(r.Prompt+r.Emitted)-reused > w.FreeBlocks()-w.loads.Leave {
		return false
	}
	return blocks-reused <= w.loadBlocks()
}

// loadBlocks returns the blocks that are free for a load.
func (w *Work) loadBlocks() int64 {
	free := w.FreeBlocks() - w.loads.Leave
	if !w.loads.Reserves {
		return free
	}
	free -= w.in.transfers.lacking + w.loads.Lacking
	for _, lane := range w.in.batches() {
		if w.loads.ahead {
			break
		}
		for _, slot := range lane.batch.prefill {
			r := &lane.requests.at[slot]
			if !r.stale { // else it has no blocks any more
				free -= max(0, lane.lacks(r)-max(0, lane.chunked(r)-int64(r.blocks)))
			}
		}
	}
	if w.in.Running()+w.in.transfers.admissible() == 0 { // vLLM would wait for ever
		return free
	}
	return free - w.in.cache.Blocks(w.in.drafting.speculation.slots())
}

// lacks returns how many blocks r has too few for all that is known of it, and for what is drafted then.
func (in *Instance) lacks(r *Request) int64 {
	return max(0, in.cache.Blocks(r.Prompt+r.Emitted+in.drafting.speculation.slots())-int64(r.blocks))
}

// slots returns for how many tokens of a sequence a step that drafts has blocks; 0: none drafts.
func (s *Speculation) slots() int32 {
	if s == nil || s.Tokens == 0 {
		return 0
	}
	return 1 + s.Tokens + s.LookAhead
}

// Loaded returns the request that joins the batch next of all whose caches a KV connector has loaded, as far as the
// scheduler knows; or nil.
func (in *Instance) Loaded() *Request {
	if !in.pool.ConnectorLoads {
		return nil
	}
	for _, slot := range in.transfers.transferred {
		if r := &in.requests.at[slot]; r.queuedAt <= in.queue.visible {
			return r
		}
	}
	return nil
}

// arrive adds the request in slot, whose cache has arrived, to those that wait for admission: in the order in which
// loads began, or in that of the queue.
func (in *Instance) arrive(slot int32) {
	t, r := &in.transfers, &in.requests.at[slot]
	r.state, r.accepted = transferred, false
	r.named, r.polled = false, false
	if in.pool.Reserved.Tokens > 0 {
		in.arriveUnpolled(slot)
		return
	}
	if !in.pool.ConnectorLoads {
		t.transferred = append(t.transferred, slot)
		return
	}
	r.queuedAt = in.nextBoundary(in.cluster.now).Add(-in.cluster.ingress)
	if in.pool.Order != nil {
		r.orderKey = in.pool.Order.Key(r)
	}
	at, _ := slices.BinarySearchFunc(t.transferred, r, func(slot int32, r *Request) int {
		x := &in.requests.at[slot]
		if in.pool.Order != nil {
			return inOrder(x, r)
		}
		return cmp.Compare(x.admission, r.admission)
	})
	t.transferred = slices.Insert(t.transferred, at, slot)
}

// unseenLoads reports whether caches have arrived of which the scheduler does not know yet.
func (in *Instance) unseenLoads() bool {
	if !in.pool.ConnectorLoads {
		return false
	}
	for _, slot := range in.transfers.transferred {
		if in.requests.at[slot].queuedAt > in.queue.visible {
			return true
		}
	}
	return false
}

// BlocksToJoin returns the free blocks that it takes for r, which Loaded returned, to compute its next token, and so
// many wrong drafts beside it if that is the last of its prompt; no more than room in all.
func (w *Work) BlocksToJoin(r *Request, filler, room int32) int64 {
	in, q := w.in, *r
	if r.Pending() > 0 { // it has emitted one that its cache has no entry of
		if in.drafting.speculation != nil {
			q.rejected, q.cut = 0, 0
			q.cut = max(0, 1+in.draftsOf(&q)-room)
			return in.blocksToDraft(&q)
		}
		return max(0, in.cache.Blocks(q.Computed+1)-int64(q.blocks))
	}
	q.Computed, q.chunk, q.filler = q.Computed-1, 1, filler
	blocks := max(0, in.chunked(&q)-int64(q.blocks))
	return blocks
}

// Join admits r, which Loaded returned, and returns how many tokens it computes in the step, at most room: the last of
// its prompt again, and so many wrong drafts beside it; or, if it has emitted a token, the next one and its drafts.
func (w *Work) Join(r *Request, filler, room int32) int32 {
	in, slot := w.in, r.slot
	w.Find(r)
	in.unload(slot)
	in.enter(slot)
	r.Resumed = w.now
	if r.Pending() == 0 {
		r.Computed--
		r.state = prefilling
		in.batch.prefill = append(in.batch.prefill, slot)
		w.Chunk(r, 1)
		if filler > 0 {
			w.Fill(r, filler)
		}
		return 1 + filler
	}
	r.state, r.delay = decoding, Transferred
	in.join(slot)
	in.batch.overdue = true
	if in.drafting.speculation == nil {
		w.demand += in.blocksDue(r)
		return 1
	}
	r.cut = 0
	r.cut = max(0, 1+in.draftsOf(r)-room)
	drafts := in.draftsOf(r)
	in.drafting.sum += int64(drafts)
	w.demand += in.blocksToDraft(r)
	return 1 + drafts
}

// Unload drops the cache of r, which Loaded returned and for which there are no blocks to go on: it is computed again.
func (w *Work) Unload(r *Request) {
	in := w.in
	in.unload(r.slot)
	in.name(r, r.Computed)
	r.had = 0
	r.Preemptions++
	if r.delay != Restarted {
		r.delay = Preempted
	}
	in.tally.preemptions++
	in.batch.departures++
	in.release(r, int64(r.blocks), min(r.Computed, r.Prompt+r.Emitted-in.pool.Drafter.Ahead), true)
	in.requeue(r, false)
	w.tookTurns = true
}

// unload takes the request in slot, which has been loaded, out of the list of such requests.
func (in *Instance) unload(slot int32) {
	r := &in.requests.at[slot]
	in.transfers.transferred = without(in.transfers.transferred, slot)
	in.transfers.lacking -= in.lacks(r)
	in.commitBlocks(r, -1)
	if in.pool.Order != nil {
		r.orderKey = in.pool.Order.Key(r)
	}
}

// loadAhead begins loads while the step that has just been composed runs. If the engine knew all when it composed that,
// it begins them with it, too.
func (in *Instance) loadAhead(w *Work) {
	if in.queue.visible == Forever || !in.computes() {
		in.allocateAwaiting(w)
	}
	if in.computes() && len(in.transfers.awaiting) > 0 {
		w.loads = loadRules{ahead: true}
		in.pool.Scheduler.(Loader).LoadAhead(in, w)
		in.allocateAwaiting(w)
		in.cache.Return(w.loads.aside)
	}
}

// loadsAhead reports whether loads begin while a step runs, with the next one.
func (in *Instance) loadsAhead() bool { return in.pool.ConnectorLoads && in.pool.BatchQueue > 1 }

// WantsNext returns how many tokens r, which runs, has to compute in the step after the one that has been composed, as
// far as its engine can tell.
func (in *Instance) WantsNext(r *Request) int32 {
	decodes, ends := in.Continues(r)
	switch {
	case ends:
		return 0
	case !decodes:
		return r.Pending() - r.chunk
	case in.drafting.speculation != nil:
		return 1 + in.drafting.tokens
	}
	return 1
}

// DecodesNext reports whether r, which runs, decodes in that step.
func (in *Instance) DecodesNext(r *Request) bool {
	decodes, _ := in.Continues(r)
	return decodes
}

// FreesNext reports whether the blocks of r, which runs, are free at once if that step preempts it.
func (w *Work) FreesNext(r *Request) bool {
	return !w.in.pool.DefersFrees || r.state == prefilling && r.chunk == 0
}

// BlocksNextOf returns the blocks that r, which runs, takes for n tokens in that step.
func (w *Work) BlocksNextOf(r *Request, n int32) int64 {
	in := w.in
	tokens := in.computedAfter(r) + n
	if s := in.drafting.speculation; s != nil {
		if r.state == decoding {
			tokens += in.draftsOf(r)
		}
		tokens = min(tokens+s.LookAhead, in.pool.MaxModelLen)
	}
	return max(0, in.cache.Blocks(tokens)-in.blocksBefore(r))
}

// blocksBefore returns the blocks that r, which runs, has when that step begins.
func (in *Instance) blocksBefore(r *Request) int64 {
	had := max(int64(r.blocks), int64(r.blocksMin))
	if r.state == prefilling {
		return max(had, in.chunked(r)) // with what a drafter looks ahead
	}
	return max(had, in.cache.Blocks(in.computedAfter(r)))
}

// LacksNextOf returns how many blocks the prompt of r, which runs, lacks when that step has given it so many.
func (w *Work) LacksNextOf(r *Request, blocks int64) int64 {
	in := w.in
	if _, ends := in.Continues(r); ends || in.DecodesNext(r) || r.leftOut || r.state != prefilling {
		return 0
	}
	all := in.cache.Blocks(r.Prompt + r.Emitted + in.drafting.speculation.slots())
	return max(0, all-in.blocksBefore(r)-blocks)
}

// SetAside has that step take n free blocks before a load may have any.
func (w *Work) SetAside(n int64) {
	w.in.cache.SetAside(n)
	w.loads.aside += n
}

// ResumesNext returns the i-th request of the queue, if as many wait that have been in a batch before; all says that
// there are no more.
func (in *Instance) ResumesNext(i int) (r *Request, all bool) {
	q := &in.queue
	switch {
	case i >= q.resuming:
		return nil, true
	case q.sorts:
		if i == 0 {
			q.rank()
		}
		return &in.requests.at[q.scratch[i]], false
	}
	for len(q.front) <= i { // one that was restarted may stand behind others
		q.front = slices.Insert(q.front, 0, q.unpack())
	}
	return &in.requests.at[q.front[len(q.front)-1-i]], false
}

// LacksNext returns how many blocks the prompt of r, which waits, lacks when that step has admitted it and computed so
// many of its tokens, cached ones among them.
func (w *Work) LacksNext(r *Request, tokens int32) int64 {
	in := w.in
	if tokens >= r.Prompt+r.Emitted {
		return 0
	}
	return in.cache.Blocks(r.Prompt+r.Emitted+in.drafting.speculation.slots()) - in.cache.Blocks(tokens)
}

// LoadedNext returns the i-th request that has been loaded when the engine composes that step, or nil.
func (in *Instance) LoadedNext(i int) *Request {
	if i >= len(in.transfers.transferred) {
		return nil
	}
	return &in.requests.at[in.transfers.transferred[i]]
}

// Find lets others reuse what has been loaded of r, which Loaded or LoadedNext returned: the engine looks at r, and
// whether r can join makes no difference. What those that run compute in the step has been named before.
func (w *Work) Find(r *Request) {
	if !r.named {
		w.settle()
		w.in.name(r, r.Computed)
		r.named = true
	}
}

// validateLoads refuses a scheduler that does not admit what KV connectors have loaded, where they load.
func (p *PoolSpec) validateLoads() error {
	if _, ok := p.Scheduler.(Loader); p.ConnectorLoads && !ok {
		return fmt.Errorf("sim: pool %q has ConnectorLoads, which needs a Scheduler that is a Loader", p.Name)
	}
	l := &p.LoadLink
	switch {
	case *l == Link{}:
		return nil
	case !p.ConnectorLoads || p.OffloadBlocks == 0 || p.MaxNumSeqs > 0 || len(p.Stages) > 1 || p.Speculation != nil ||
		p.Passing.Blocks > 0 || p.Adapters.Slots > 0 || p.RecvInterval > 1:
		return fmt.Errorf("sim: pool %q: LoadLink needs ConnectorLoads and OffloadBlocks, and excludes MaxNumSeqs, Stages, "+
			"Speculation, Passing, Adapters and RecvInterval above 1", p.Name)
	case l.Fixed < 0 || l.Token < 1 || l.Token > Second || l.Latency != 0 || l.Windowed != 0:
		return fmt.Errorf("sim: pool %q: LoadLink is %+v, needs a Token above 0 and no Latency", p.Name, *l)
	}
	return nil
}

// validateHops refuses routes of which one pushes caches and another has them pulled, from one pool to another: caches
// that are to be pulled keep the blocks of the first pool until the second has room, and those that are to be pushed
// the room of the second until the first has computed them, so that they may wait for each other for ever.
func validateHops(routes []Route, pools []*PoolSpec) error {
	for i, pushes := range routes {
		if len(pushes) < 2 || !pushes[0].Push {
			continue
		}
		from, to := pushes[0].Pool, pushes[1].Pool
		for j, other := range routes {
			if other.pulls(from, to) {
				return fmt.Errorf("sim: route %d pushes caches from pool %q to pool %q, and route %d has them pulled: they may "+
					"wait for each other for ever; want one of the two", i, pools[from].Name, pools[to].Name, j)
			}
		}
	}
	return nil
}

// pulls reports whether caches are pulled on route from one pool to another.
func (route Route) pulls(from, to int) bool {
	for j, s := range route[:max(1, len(route))-1] {
		if s.Pool == from && route[j+1].Pool == to && s.Cache && !s.Push {
			return true
		}
	}
	return false
}
