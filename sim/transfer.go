package sim

import (
	"slices"

	"github.com/decodesim/decodesim/sim/kv"
	"github.com/decodesim/decodesim/sim/transfer"
)

// A request that has been served by one pool is transferred to the next. At the source it is pending transfer: its
// blocks stay allocated until the destination has allocated as many and received what is in them. At the destination it
// awaits allocation, is transferring, and then waits for admission. Requests that are pending transfer fill up the
// cache of their source, which is how a full pool throttles the one before it. Nothing is dropped.
//
// vLLM's NIXL connector pulls like this (vllm/distributed/kv_transfer/kv_connector/v1/nixl_connector.py); SGLang's
// decode side allocates first, and its prefill side pushes.
//
// vLLM begins to load a cache while fewer than max_num_seqs requests run, however many have been loaded or are about to
// be (vllm/v1/core/sched/scheduler.py, Scheduler.schedule). SGLang's decode side gives each a place among those of
// requests (python/sglang/srt/disaggregation/decode.py). TensorRT-LLM is taken to do the same; it was not read.

// transfers is the requests of an instance that are transferred, and so in neither queue nor batch.
type transfers struct {
	pending      int     // requests that leave: pending transfer
	awaiting     []int32 // slots of the requests that await allocation here
	preallocated int     // requests that have blocks here and are computed elsewhere
	transferring int     // requests on their way here
	cacheless    int     // the transferring requests that come without a cache and need no blocks
	transferred  []int32 // slots of the requests that have arrived and wait for admission to the batch
	ahead        []int32 // slots of the requests that the next step admits and that have its blocks already
	lacking      int64   // Σ blocks that requests which a KV connector loads, or has loaded, have too few
	staying      staying // see preallocate.go
	sent         []int32 // those pending that have arrived elsewhere, unknown to the engine
	restored     int64   // blocks that are copied to host memory or back with the next step
}

// outside returns how many requests have blocks here and are in neither queue nor batch.
func (t *transfers) outside() int {
	return t.pending + t.preallocated + t.transferring + len(t.transferred)
}

// admissible returns how many requests will be in the batch, besides those that run, once they have arrived.
func (t *transfers) admissible() int {
	return t.preallocated + t.transferring - t.cacheless + len(t.transferred)
}

// Incoming returns how many requests are transferred to in, or to one of its ranks, and wait for allocation or
// admission, or fetch some of their prompts from a tier.
func (in *Instance) Incoming() (n int) {
	for _, rank := range in.parts {
		n += len(rank.transfers.awaiting) + len(rank.transfers.transferred) + rank.tiers.fetching
	}
	return n
}

// send takes the request in slot, whose prompt is complete, out of the batch, and has it transferred.
func (in *Instance) send(slot int32, s *Stage) {
	c, r := in.cluster, &in.requests.at[slot]
	if in.pool.unseenSends { // it has its place until then
		in.batch.ended = append(in.batch.ended, slot)
	} else {
		in.exit(slot)
	}
	in.charge(r, -1)
	r.state, r.PendingTransfer = pendingTransfer, c.now
	in.transfers.pending++
	in.committed += int64(r.blocks) // its blocks are no longer committed to a running request
	if in.cache.Radix() {
		in.freed = append(in.freed, slot) // its prompt joins the tree
	}
	if r.transfer == 0 {
		r.transfer = c.links.Add(s.Link, s.Cache, false)
		c.links.Transfer(r.transfer).From = transfer.End{Instance: in.ID, Slot: slot}
		q := r.atNextStage()
		c.sendTo(c.nextPool(r), &q)
		return
	}
	t := c.links.Transfer(r.transfer)
	t.From.Slot = slot
	c.instances[t.To.Instance].receive(t.To.Slot, r.atNextStage())
	if t.Sent {
		c.links.Start(r.transfer, c.now, t.Last)
	}
}

// nextPool returns the pool of the stage that r enters next.
func (c *Cluster) nextPool(r *Request) *Pool { return c.pools[c.routes[r.Route][r.Stage+1].Pool] }

// startPush begins a transfer at its destination: r enters the pool of its stage when the next one has room for it.
func (c *Cluster) startPush(r *Request) {
	s := c.stage(r)
	r.transfer = c.links.Add(s.Link, s.Cache, true)
	c.sendTo(c.nextPool(r), r)
}

// sendTo brings r, which is transferred, to an instance of p, the pool of its next stage.
func (c *Cluster) sendTo(p *Pool, r *Request) {
	if p.Len() == 0 {
		c.waitAtGate(p, r)
		return
	}
	in, t := p.Router.Route(c.now, r, p).rankFor(c.now, r), c.links.Transfer(r.transfer)
	in.charge(r, 1)
	slot := in.requests.put(r)
	t.To = transfer.End{Instance: in.ID, Slot: slot}
	q := &in.requests.at[slot]
	q.state = awaitingAllocation
	in.watch(slot)
	if !t.Cache {
		q.Allocated, q.state = c.now, transferring
		in.transfers.transferring++
		in.transfers.cacheless++
		c.startTransfer(q.transfer, q.Computed)
		return
	}
	in.await(slot)
	in.wake(c.now)
}

// startTransfer sends the cache of so many tokens.
func (c *Cluster) startTransfer(i int32, tokens int32) {
	t := c.links.Transfer(i)
	t.Tokens = tokens
	c.links.Start(i, c.now.Add(t.Link.Latency), t.Link.Work(tokens))
}

// allocateAwaiting allocates blocks, in what the step leaves, to the requests that await them, in order. No request
// overtakes one of this instance that waits to be computed again.
func (in *Instance) allocateAwaiting(w *Work) {
	if in.queue.resuming == w.loads.Resumes {
		in.allocateBefore(w, nil)
	}
}

// allocateBefore does so for those that stand before r in the queue; nil is its end.
func (in *Instance) allocateBefore(w *Work, before *Request) {
	t := &in.transfers
	for len(t.awaiting) > 0 && in.receives(w.loads.Resumes) {
		slot := t.awaiting[0]
		r := &in.requests.at[slot]
		if !in.Precedes(r, before) {
			return
		}
		push, tokens := in.cluster.links.Transfer(r.transfer).Push, r.Computed
		w.match = kv.Match{}
		if push {
			tokens = r.Prompt + r.Emitted
		} else {
			w.CachedTokens(r)
		}
		match := kv.Match{Cached: w.match.Cached, Free: w.match.Free}
		w.match = kv.Match{}
		blocks, reused := in.cache.Blocks(tokens), int64(match.Cached-match.Free)
		if in.pool.ConnectorLoads && !w.loadFits(r, blocks, reused) {
			return
		}
		if blocks-reused > w.FreeBlocks() || in.overcommits(r, w, reused) || in.reserves(r, w, blocks-reused) {
			return
		}
		t.awaiting = append(t.awaiting[:0], t.awaiting[1:]...)
		if match.Cached > 0 {
			in.cache.Reuse(slot, r.prompt(), match)
		}
		in.cache.Allocate(blocks - int64(match.Cached))
		in.commitBlocks(r, 1)
		r.blocks, r.Allocated = int32(blocks), w.now
		r.admission = in.admissions
		in.admissions++
		t.lacking += in.lacks(r)
		in.startReceiving(r, push, tokens-match.Cached*in.cache.BlockSize())
	}
}

// overcommits reports whether the running requests could no longer emit up to their limits if r came too.
func (in *Instance) overcommits(r *Request, w *Work, reused int64) bool {
	return in.batch.asked&CountCommitted != 0 &&
		in.cache.Blocks(r.Prompt+r.Limit())-reused > w.FreeBlocks()-w.CommittedBlocks()
}

// startReceiving lets r, which has blocks now, come: the cache of so many tokens is sent or, for a push, computed
// first.
func (in *Instance) startReceiving(r *Request, push bool, tokens int32) {
	c := in.cluster
	if !push {
		r.state = transferring
		in.transfers.transferring++
		c.startTransfer(r.transfer, tokens)
		return
	}
	r.state = preallocated
	in.transfers.preallocated++
	t := c.links.Transfer(r.transfer)
	work, layers := t.Link.Work(tokens), Duration(t.Link.Layers)
	t.Tokens = tokens
	t.Layers = work / layers * (layers - 1)
	t.Last = work - t.Layers
	q := *r
	q.blocks = 0
	c.route(c.pools[c.routes[q.Route][q.Stage].Pool], &q)
}

// startPushes sends the layers of the prompts of which the step that begins at now computes the first chunk.
func (in *Instance) startPushes(now Time) {
	for _, slot := range in.batch.prefill {
		r := &in.requests.at[slot]
		if r.transfer == 0 || r.chunk == 0 {
			continue
		}
		if t := in.cluster.links.Transfer(r.transfer); !t.Begun {
			t.Begun, t.From.Instance = true, in.ID
			in.cluster.links.Start(r.transfer, now.Add(t.Link.Latency), t.Layers)
		}
	}
}

// receive makes the request in slot, which has been computed elsewhere meanwhile, one whose cache is on its way.
func (in *Instance) receive(slot int32, q Request) {
	r := &in.requests.at[slot]
	in.transfers.lacking -= in.lacks(r)
	q.slot, q.blocks = slot, r.blocks
	q.Allocated, q.admission = r.Allocated, r.admission
	*r = q
	in.transfers.lacking += in.lacks(r)
	r.state = transferring
	in.transfers.preallocated--
	in.transfers.transferring++
	in.watch(slot)
}

// advanceTransfers handles the link event that is due: a transfer begins to flow, or a part of it has ended.
func (c *Cluster) advanceTransfers() {
	i, ended := c.links.Advance(c.now)
	switch t := c.links.Transfer(i); {
	case !ended:
	case t.Write:
		c.links.Remove(i)
	case t.Fetch && t.Tier == hostMemory:
		c.completeLoad(i)
	case t.Fetch:
		c.completeFetch(i)
	case !t.Begun || t.Sent:
		c.completeTransfer(i)
	case t.From.Slot != noSlot: // the last layer has been computed
		t.Sent = true
		c.links.Start(i, c.now, t.Last)
	default:
		t.Sent = true
	}
}

// completeTransfer ends transfer i: its source frees its blocks, and its destination has the request.
func (c *Cluster) completeTransfer(i int32) {
	t := c.links.Remove(i)
	from, to := c.instances[t.From.Instance], c.instances[t.To.Instance]
	from.sentFrom(t.From.Slot)
	r := &to.requests.at[t.To.Slot]
	r.transfer, r.Transferred = 0, c.now
	r.Stage++
	to.transfers.transferring--
	c.totals.Transfers++
	if c.transferObserver != nil {
		c.transferObserver.Transferred(from, to, r)
	}
	if !t.Cache {
		q := *r
		q.Computed = 0
		to.transfers.cacheless--
		to.forget(t.To.Slot)
		to.enqueue(c.now, &q)
		return
	}
	c.totals.TransferredTokens += int64(t.Tokens)
	to.arrive(t.To.Slot)
	to.wake(c.now)
}

// resume makes the request in slot a member of the decode set, or of the prefills if a token of its prompt is
// left. The token that its source computed and did not emit comes now.
func (in *Instance) resume(slot int32, now Time) {
	r := &in.requests.at[slot]
	withheld := r.Computed == r.Prompt+r.Emitted
	recompute := withheld && in.pool.RecomputeLastToken
	if recompute {
		r.Computed--
	}
	in.name(r, r.Computed)
	if recompute {
		r.state = prefilling
		in.batch.prefill = append(in.batch.prefill, slot)
		return
	}
	r.state = decoding
	switch {
	case !withheld && r.delay == Swapped:
	case !withheld && r.Last < now: // else it took no time
		r.delay = Transferred
	case withheld:
		in.emit(r, now)
		if r.Emitted == r.Output {
			in.exit(slot)
			in.charge(r, -1)
			in.cluster.done(r, now, Completed)
			in.discard(slot)
			return
		}
	}
	if !r.accepted {
		in.batch.place(r, false, 0)
	}
	in.join(slot)
	in.batch.overdue = true
}

// sentFrom frees what the request in slot, which has arrived elsewhere, has here as soon as the engine knows: what has
// been sent unseen, when it has composed the next step.
func (in *Instance) sentFrom(slot int32) {
	if !in.pool.unseenSends || !in.underWay() && !slices.Contains(in.batch.ended, slot) {
		in.releaseSource(slot)
		return
	}
	in.requests.at[slot].transfer = 0
	in.transfers.sent = append(in.transfers.sent, slot)
	in.wake(in.cluster.now)
}

// sendsUnseen reports whether an engine of a pool that sends caches hears what has been sent during a step, and which
// prompts were complete with it, only when it has composed the next one. vLLM's EngineCore.step_with_batch_queue
// composes a step before it has what came of the one before (vllm/v1/engine/core.py:735 and 793, 0.33.0; 497 and 557,
// 0.22.1). Only then does Scheduler.update_from_output take requests that have ended from those that run, and
// _update_from_kv_xfer_finished free what has been sent (vllm/v1/core/sched/scheduler.py:2543 and 3579, 0.33.0; 1529
// and 2160, 0.22.1). A pipeline does as if it knew at once, and so does SGLang's prefill side, a Retractor.
func (p *PoolSpec) sendsUnseen() bool {
	_, retracts := p.Scheduler.(Retractor)
	return p.BatchQueue > 1 && len(p.Stages) < 2 && !retracts
}

// freeSent frees the blocks whose contents have been sent, in that order.
func (in *Instance) freeSent() {
	for _, slot := range in.transfers.sent {
		in.transfers.pending--
		in.committed -= int64(in.requests.at[slot].blocks)
		in.discard(slot)
	}
	in.transfers.sent = in.transfers.sent[:0]
}

// releaseSource frees what the request in slot, which has arrived elsewhere or ended, has here.
func (in *Instance) releaseSource(slot int32) {
	in.transfers.pending--
	in.committed -= int64(in.requests.at[slot].blocks)
	in.discard(slot)
	in.wake(in.cluster.now)
}

// discard frees the blocks of the request in slot, which is in neither queue nor batch, and its record. Its cache can
// be reused.
func (in *Instance) discard(slot int32) {
	if r := &in.requests.at[slot]; r.OutputContent != 0 && in.cache.Caches() && !in.fails() {
		in.cache.Publish(slot, r.prompt(), r.Computed)
	}
	in.releaseBlocks(slot, true)
}

// releaseBlocks frees the blocks of the request in slot, and its record. What was not computed here, because its cache
// was to come or to be admitted, is in blocks that no request finds, unless Work.Find has named them. What an instance
// has that fails is lost: neither it nor a tier that outlives it keeps any of it.
func (in *Instance) releaseBlocks(slot int32, computed bool) {
	r := &in.requests.at[slot]
	if in.fails() {
		in.forget(slot)
		return
	}
	in.batch.departures++
	in.allocateBegun() // before there are others to allocate
	switch {
	case computed || !in.cache.Caches():
		in.release(r, int64(r.blocks), r.Computed, false)
	case r.state == transferred && r.named:
		named := min(r.Computed, r.Prompt+r.Emitted-in.pool.Drafter.Ahead)
		in.cache.ReleaseUnread(slot, r.prompt(), int64(r.blocks), named)
	default:
		in.cache.ReleaseUnread(slot, r.prompt(), int64(r.blocks), 0)
	}
	in.forget(slot)
}
