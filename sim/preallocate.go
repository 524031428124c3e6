package sim

import (
	"fmt"
	"slices"
)

// SGLang's decode side allocates blocks for the caches that are to come before it composes a step
// (python/sglang/srt/disaggregation/decode.py of 0.5.23, DecodePreallocQueue). Its batch still has the requests that
// ended with the step before, as far as what is left free and the places for caches that have arrived are concerned:
// they leave it only as the step is composed.

// Reserved is what SGLang's decode side leaves free when it allocates blocks for a cache that is to come: some tokens
// for each request that runs or is on its way, and enough for any one of them to end if all others that run were
// retracted. If there is no request to wait for, it leaves nothing here; SGLang then lets no request come that may
// never end.
type Reserved struct {
	Tokens int32 // for each request: num_reserved_decode_tokens; 0: nothing is left, and blocks are given after a step
	Most   int32 // of what a request may emit, so many tokens count
	// caches that may come beside those of MaxNumSeqs: disaggregation_decode_extra_slots
	Slots int
	// what is retracted is copied to host memory, and back as soon as there is room, before others may come:
	// disaggregation_decode_retraction_backup; false: it is computed again
	Restores bool
}

// validateReserved refuses rules that are not modelled together.
func (p *PoolSpec) validateReserved() error {
	r := p.Reserved
	switch {
	case r.Tokens < 0 || r.Most < 0 || r.Slots < 0 || r.Tokens == 0 && (r.Slots > 0 || r.Restores):
		return fmt.Errorf("sim: pool %q: Reserved is %+v; must not be negative, and nothing without Tokens", p.Name, r)
	case r.Tokens > 0 && (p.MaxNumSeqs < 1 || len(p.Stages) > 1 || p.ConnectorLoads):
		return fmt.Errorf("sim: pool %q: Reserved needs MaxNumSeqs, and excludes Stages and ConnectorLoads", p.Name)
	case p.composesAhead() && (p.Ranks > 1 || !r.Restores):
		return fmt.Errorf("sim: pool %q: Reserved with a BatchQueue needs Restores and excludes Ranks", p.Name)
	case r.Restores && (p.SwapBlocks == 0 || p.Speculation != nil):
		return fmt.Errorf("sim: pool %q: Reserved.Restores needs SwapBlocks and excludes Speculation", p.Name)
	}
	return nil
}

// whole returns the tokens of r at its end, as far as they count.
func (r Reserved) whole(x *Request) int64 { return int64(x.Prompt + min(x.Limit(), r.Most)) }

// staying is the requests that ended with the step before, while the next one has not been composed.
type staying struct {
	requests int
	tokens   int64 // Σ of them
	longest  int64 // tokens that one of them might have come to
}

// stay counts r, which has ended, until the next step has been composed.
func (in *Instance) stay(r *Request) {
	if rule := in.pool.Reserved; rule.Tokens > 0 {
		s := &in.transfers.staying
		s.requests++
		s.tokens += int64(r.Prompt + r.Emitted)
		s.longest = max(s.longest, rule.whole(r))
	}
}

// leaveBatch takes those that had stayed out of the batch, now that a step has been composed, and reports whether the
// next one may give blocks or a place to others because of them, or because as many requests had departed before.
func (in *Instance) leaveBatch(w *Work, departures int64) bool {
	t := &in.transfers
	if in.pool.Reserved.Tokens == 0 {
		return false
	}
	left := t.staying.requests > 0 || in.batch.departures != departures
	t.staying = staying{}
	if in.pool.Reserved.Restores {
		t.restored = w.shape.SwapBlocks // if nothing is computed the step is composed once more
	}
	return left && len(t.awaiting)+len(t.transferred)+in.retracted() > 0
}

// preallocate allocates blocks, before the step takes its own: to the requests that have been retracted, the first one
// first, and if none of them has to wait to those whose caches are to come. It reports whether the next step may give
// blocks to more.
func (in *Instance) preallocate(w *Work, now Time) (growing bool) {
	if in.pool.Reserved.Tokens == 0 || len(in.transfers.awaiting)+in.retracted() == 0 {
		return false
	}
	w.reset(now)
	w.demand = 0
	in.allocateFor(w)
	return w.growing
}

// allocateFor allocates blocks to the requests that have been retracted and, if none of them has to wait, to those
// whose caches are to come.
func (in *Instance) allocateFor(w *Work) {
	for in.retracted() > 0 && in.restores(w) {
		in.restore(w)
	}
	if in.retracted() == 0 {
		in.allocateAwaiting(w)
	}
}

// retracted returns how many requests are in host memory and wait for blocks.
func (in *Instance) retracted() int {
	if !in.pool.Reserved.Restores {
		return 0
	}
	return len(in.swap.slots)
}

// restores reports whether there is room for the first of them.
func (in *Instance) restores(w *Work) bool {
	r, active := &in.requests.at[in.swap.slots[0]], in.Running()+in.transfers.staying.requests+in.transfers.admissible()
	blocks, left := in.allocated(r), int64(in.pool.Reserved.Tokens)*int64(active+1)
	if in.Decoding()+in.transfers.staying.requests+in.transfers.admissible() == 0 {
		left = 0 // there is nothing to wait for
	}
	return in.receives(0) && blocks*int64(in.cache.BlockSize())+left <= in.cache.Free()*int64(in.cache.BlockSize())
}

// restore copies the first of them back. It has its place when those that have arrived before it have theirs.
func (in *Instance) restore(w *Work) {
	slot := in.swap.slots[0]
	in.swap.slots = append(in.swap.slots[:0], in.swap.slots[1:]...)
	r := &in.requests.at[slot]
	blocks := in.allocated(r)
	in.swap.free += blocks
	in.cache.Allocate(blocks)
	r.state, r.polled, r.blocks = transferred, true, int32(blocks)
	in.transfers.restored += blocks
	in.transfers.lacking += in.lacks(r)
	in.commitBlocks(r, 1)
	list := in.transfers.transferred
	at := slices.IndexFunc(list, func(slot int32) bool { return !in.requests.at[slot].polled })
	if at < 0 {
		at = len(list)
	}
	in.transfers.transferred = slices.Insert(list, at, slot)
}

// arriveUnpolled adds the request in slot, whose cache has arrived, to those that wait for admission. While a
// step runs they come in the order in which their blocks were allocated.
func (in *Instance) arriveUnpolled(slot int32) {
	t, r := &in.transfers, &in.requests.at[slot]
	at := len(t.transferred)
	for ; at > 0; at-- {
		if x := &in.requests.at[t.transferred[at-1]]; x.polled || x.admission < r.admission {
			break
		}
	}
	t.transferred = slices.Insert(t.transferred, at, slot)
}

// poll has the engine learn which caches have arrived. While requests are retracted it does not ask, unless nothing
// runs that could make room for them; SGLang then stands still.
func (in *Instance) poll() {
	t := &in.transfers
	runs := in.Decoding()+t.staying.requests > 0 || in.requests.at[t.transferred[0]].polled
	if in.retracted() > 0 && runs {
		return
	}
	for i := len(in.transfers.transferred) - 1; i >= 0; i-- {
		r := &in.requests.at[in.transfers.transferred[i]]
		if r.polled {
			return
		}
		r.polled = true
	}
}

// reserves reports whether a cache of so many blocks for r would take what the pool leaves free. If it would, and those
// that run may make that otherwise as they grow, the step is a single one.
func (in *Instance) reserves(r *Request, w *Work, blocks int64) bool {
	rule, stay := in.pool.Reserved, in.transfers.staying
	running := in.Running() + stay.requests
	active := int64(running + in.transfers.admissible())
	if rule.Tokens == 0 || active == 0 {
		return false
	}
	size := int64(in.cache.BlockSize())
	free := w.FreeBlocks() * size
	left, takes := int64(rule.Tokens)*active, blocks*size+int64(rule.Tokens)
	tokens, longest := stay.tokens, stay.longest
	for x := in.LastAdmitted(); x != nil; x = in.AdmittedBefore(x) {
		tokens += int64(x.Prompt + in.Emitted(x))
		longest = max(longest, rule.whole(x))
	}
	single, whole := longest-tokens, rule.whole(r)-tokens
	if running == 0 {
		single = 0
	}
	if max(takes, whole) <= free-max(left, single) {
		return false
	}
	w.growing = w.growing || single > left || whole > takes
	return true
}

// receives reports whether another request may have blocks before its cache comes, where so many resume before it.
func (in *Instance) receives(resumes int) bool {
	n := in.Running() + resumes
	if !in.pool.ConnectorLoads {
		n += in.transfers.admissible()
	}
	return n < in.pool.MaxNumSeqs+in.pool.Reserved.Slots
}

// admitTransferred admits the requests that have arrived to the batch, up to max_num_seqs. If the first token of one is
// its last, others may come in its place; under SGLang with the next step.
func (in *Instance) admitTransferred(now Time) {
	t := &in.transfers
	if len(t.transferred) == 0 || in.pool.ConnectorLoads {
		return
	}
	asks := in.pool.Reserved.Tokens > 0
	if asks {
		in.poll()
	}
	places := in.pool.MaxNumSeqs - t.staying.requests - in.Running()
	for n := 0; len(t.transferred) > 0 && in.Running() < in.pool.MaxNumSeqs; n++ {
		slot := t.transferred[0]
		r := &in.requests.at[slot]
		if asks && (n >= places || !r.polled) {
			return
		}
		in.admit(slot, now)
	}
}

// admit has the request in slot, which has arrived, join the batch.
func (in *Instance) admit(slot int32, now Time) {
	r := &in.requests.at[slot]
	in.unload(slot)
	in.enter(slot)
	if r.delay != Swapped {
		r.Resumed = now
	}
	in.resume(slot, now)
}

// With its overlap scheduler SGLang's decode side composes a step as the one before begins
// (event_loop_overlap_disagg_decode): it allocates blocks for the caches that are to come, learns which have arrived,
// and lets clients have the first tokens of requests with a place in the step that it composes. It leaves out no
// request that ends at its limit with the step under way, so that a token more is computed in vain of each.
//
// Here the rest of that step is composed when the one under way ends, see batch_queue.go: nothing but these
// allocations comes between.

// composesAhead reports whether the pool is the decode side of SGLang with its overlap scheduler.
func (p *PoolSpec) composesAhead() bool { return p.Reserved.Tokens > 0 && p.BatchQueue > 1 }

// retracting returns the scheduler, if it drops tokens of the step under way. With drafts, and where blocks are named
// before they are computed, it retracts when that step has ended.
func (p *PoolSpec) retracting() Retractor {
	if p.BatchQueue < 2 || p.Speculation != nil || p.Passing.Blocks > 0 || p.PrefixCaching && !p.RadixCache {
		return nil
	}
	retractor, _ := p.Scheduler.(Retractor)
	return retractor
}

// retractsAhead returns the scheduler of a pool that caches come to, if it drops tokens of the step under way: others
// have what they compute.
func (p *Pool) retractsAhead() Retractor {
	if p.composesAhead() {
		return p.retractor
	}
	return nil
}

// validateAhead refuses prompts that such a pool is to compute: SGLang's computes none.
func (c *Config) validateAhead() error {
	for i, route := range c.Routes {
		for j, stage := range route {
			if p := c.Pools[stage.Pool]; p.composesAhead() && (j == 0 || !route[j-1].Cache) {
				return fmt.Errorf("sim: route %d has pool %q compute prompts, which Reserved with a BatchQueue excludes", i, p.Name)
			}
		}
	}
	return nil
}

// receiveAhead does what SGLang does with caches as the step that has just been composed begins, and reports whether
// the next step may differ from it.
func (in *Instance) receiveAhead(w *Work) (differs bool) {
	t := &in.transfers
	t.restored = 0
	departures := in.batch.departures
	if in.retracted()+len(t.awaiting) > 0 {
		in.allocateFor(w)
	}
	joins := in.acceptAhead(w.now)
	if in.Prefilling() == 0 && in.Queued() == len(in.swap.slots) &&
		in.cache.Free() < in.nextBlocksMax()+int64(len(t.transferred)) {
		in.pool.retractor.Retract(in, w)
	}
	left := t.staying.requests > 0 || in.batch.departures != departures
	t.staying = staying{}
	return joins || t.restored > 0 || left && len(t.awaiting)+len(t.transferred)+in.retracted() > 0
}

// acceptAhead gives requests that have arrived their places in the next step, and lets their clients have the tokens
// that came with their caches. It reports whether there are any.
func (in *Instance) acceptAhead(now Time) (joins bool) {
	t := &in.transfers
	if len(t.transferred) == 0 {
		return false
	}
	in.poll()
	i := 0
	for places := in.pool.MaxNumSeqs - t.staying.requests - in.Running(); places > 0 && i < len(t.transferred); places-- {
		slot := t.transferred[i]
		r := &in.requests.at[slot]
		if !r.polled {
			break
		}
		r.accepted, joins = true, true
		in.batch.place(r, false, 0)
		if r.Computed < r.Prompt+r.Emitted {
			i++
			continue
		}
		t.lacking -= in.lacks(r)
		in.emit(r, now)
		t.lacking += in.lacks(r)
		if r.Emitted < r.Output {
			i++
			continue
		}
		in.unload(slot)
		in.charge(r, -1)
		in.cluster.done(r, now, Completed)
		in.discard(slot)
	}
	return joins
}

// Accepted returns the i-th request that joins the batch with the next step, or nil.
func (in *Instance) Accepted(i int) *Request {
	if i >= len(in.transfers.transferred) {
		return nil
	}
	if r := &in.requests.at[in.transfers.transferred[i]]; r.accepted {
		return r
	}
	return nil
}

// dropAccepted retracts r, which was to join the batch.
func (w *Work) dropAccepted(r *Request) {
	in := w.in
	in.unload(r.slot)
	r.accepted = false
	r.Preemptions++
	if r.delay != Restarted {
		r.delay = Preempted
	}
	in.tally.preemptions++
	in.batch.departures++
	in.retreatAhead(r, int64(r.blocks))
}

// retreatAhead frees so many blocks of r, which has been retracted as a step begins. What is known of its cache is
// copied to host memory with the next step, if there is room.
func (in *Instance) retreatAhead(r *Request, blocks int64) {
	copied := in.allocated(r)
	if copied > in.swap.free {
		in.release(r, blocks, 0, true)
		in.requeue(r, true)
		return
	}
	in.swapOut(r, r.slot, blocks)
	in.swap.free += blocks - copied
	in.work.shape.SwapBlocks -= blocks
	in.transfers.restored += copied
}

// joinAccepted has those join the batch that acceptAhead has given places.
func (in *Instance) joinAccepted(now Time) {
	t := &in.transfers
	for len(t.transferred) > 0 && in.requests.at[t.transferred[0]].accepted {
		slot := t.transferred[0]
		in.admit(slot, now)
		in.requests.at[slot].accepted = false
	}
}
