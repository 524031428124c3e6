package sim

import (
	"slices"

	"github.com/decodesim/decodesim/sim/heap"
	"github.com/decodesim/decodesim/sim/transfer"
)

// A client that cancels its request (time-out, disconnect) does so at its deadline. The engine learns of it between
// steps: until the boundary at or after the deadline the sequence keeps its place in the batch and its blocks, as in an
// engine that aborts requests between steps, but tokens of that boundary reach no client.

// deadlines is when clients cancel their requests, by time and then by ID. A deadline is void once its request has
// ended.
type deadlines = heap.Heap[Time, place]

// place is where the request of a deadline was when the deadline was noted.
type place struct{ instance, slot int32 } // instance noSlot: it waits at a gate, in that place

// watch notes the deadline of the request in slot, if it has one.
func (in *Instance) watch(slot int32) {
	if r := &in.requests.at[slot]; r.Deadline != 0 {
		in.cluster.deadlines.Push(r.Deadline, int64(r.ID), place{in.ID, slot})
	}
}

// nextDeadline returns the earliest deadline of a request that has not ended, or Forever.
func (c *Cluster) nextDeadline() Time {
	if len(c.deadlines) == 0 {
		return Forever
	}
	return c.firstDeadline()
}

// firstDeadline is nextDeadline where there are deadlines. It drops void ones: they are no events, and a run must not
// last until them.
func (c *Cluster) firstDeadline() Time {
	for len(c.deadlines) > 0 {
		if t := &c.deadlines[0]; c.applies(t.Value, int32(t.Tie)) {
			return t.Key
		}
		c.deadlines.Pop()
	}
	return Forever
}

// applies reports whether the deadline of request id, noted at a place, is not void.
func (c *Cluster) applies(at place, id int32) bool {
	if at.instance == noSlot {
		w := &c.gate.waits[at.slot]
		return w.pool != nil && w.ID == id
	}
	r := &c.instances[at.instance].requests.at[at.slot]
	if r.ID != id {
		return false
	}
	return !r.finished && r.state != unused && r.state != finishedRow && r.state != ended &&
		r.state != pendingTransfer && r.state != preallocated
}

// firstTokenized is nextTokenized where prompts are being tokenised. It drops void entries, too: a prompt is void once
// its client has left.
func (c *Cluster) firstTokenized() Time {
	for len(c.tokenizing) > 0 {
		t := &c.tokenizing[0]
		r := &c.instances[t.Value.instance].requests.at[t.Value.slot]
		if r.state == tokenizing && r.ID == int32(t.Tie) && r.queuedAt == t.Key {
			return t.Key
		}
		c.tokenizing.Pop()
	}
	return Forever
}

// cancel handles the earliest deadline: it ends the request for its client.
func (c *Cluster) cancel() {
	t := c.deadlines.Pop()
	if at := t.Value; at.instance != noSlot {
		c.instances[at.instance].cancel(at.slot, t.Key)
		return
	}
	r := c.leaveGate(t.Value.slot)
	c.done(&r, t.Key, Failed)
	if r.transfer != 0 {
		c.cancelTransfer(r.transfer)
	}
}

// cancel ends the request in slot for its client at now.
func (in *Instance) cancel(slot int32, now Time) {
	r := &in.requests.at[slot]
	if in.line != nil && (r.state == prefilling || r.state == decoding) {
		in = in.line.lanes[r.lane]
	}
	switch r.state {
	case waiting, swappedOut:
		r.learnAll()
		in.cluster.done(r, now, Failed)
		in.charge(r, -1)
		in.dismiss(r)
		if r.state == swappedOut {
			in.dropSwapped(slot)
		} else {
			if r.ahead > 0 {
				in.dropAhead(r)
			}
			in.cache.Forget(slot)
			in.queue.cancel(slot)
		}
		in.wake(now) // the requests behind it may fit
	case tokenizing:
		in.cancelTokenizing(slot, now)
	case fetching:
		in.cancelFetch(slot, now)
	case loading:
		in.cancelLoad(slot, now)
	case awaitingAllocation, transferring:
		in.cluster.done(r, now, Failed)
		in.cluster.cancelTransfer(r.transfer)
	case transferred:
		in.cluster.done(r, now, Failed)
		in.charge(r, -1)
		in.dismiss(r)
		in.unload(slot)
		in.releaseBlocks(slot, false)
		in.wake(now)
	case prefilling:
		r.state = cancelledPrefill
		in.batch.cancelled = append(in.batch.cancelled, slot)
		in.cluster.done(r, now, Failed)
		in.dismiss(r)
		if !in.underWay() { // no step will end that it could leave with: it waited for room
			in.dropCancelled(now)
			if len(in.freed) > 0 {
				in.freeBlocks()
			}
			in.wake(now)
		}
	case decoding:
		r.state = cancelledDecode
		in.batch.cancelled = append(in.batch.cancelled, slot)
		in.cluster.done(in.seenAt(r, now), now, Failed)
		in.cut(now, 0)
	}
}

// stopFetch ends the fetch of r, which is not to come any more.
func (c *Cluster) stopFetch(r *Request) {
	c.links.Stop(r.fetch, c.now)
	c.links.Remove(r.fetch)
	r.fetch = 0
}

// cancelFetch ends the request in slot, which fetches, for its client.
func (in *Instance) cancelFetch(slot int32, now Time) {
	r := &in.requests.at[slot]
	in.cluster.done(r, now, Failed)
	in.cluster.stopFetch(r)
	in.charge(r, -1)
	in.dismiss(r)
	in.tiers.fetching--
	in.forget(slot)
	in.wake(now)
}

// cancelLoad ends the request in slot, which is being loaded, for its client.
func (in *Instance) cancelLoad(slot int32, now Time) {
	r := &in.requests.at[slot]
	in.cluster.done(r, now, Failed)
	in.cluster.stopFetch(r)
	in.charge(r, -1)
	in.dismiss(r)
	in.transfers.transferring--
	in.transfers.lacking -= in.lacks(r)
	in.commitBlocks(r, -1)
	in.releaseBlocks(slot, false)
	in.wake(now)
}

// seenAt returns r, which decodes, as its client has seen it at now: without a token of a boundary at now itself.
func (in *Instance) seenAt(r *Request, now Time) *Request {
	seen := &in.report.request
	*seen = *r
	_, seen.Emitted = in.batch.progress(r)
	if in.step.decodes > 0 {
		n := in.step.price.Ended(now.Sub(in.step.start) - 1)
		seen.show(seen.Emitted, n, in.step.start, &in.step.price)
		seen.Emitted += int32(n)
	}
	return seen
}

// dismiss frees what is allocated elsewhere to r, which has ended.
func (in *Instance) dismiss(r *Request) {
	if r.transfer != 0 {
		in.cluster.cancelTransfer(r.transfer)
		r.transfer = 0
	}
}

// cancelTransfer ends transfer i of a request that has ended, or starts again: both ends free what they have for it. A
// record that is in a queue or a batch stays there.
func (c *Cluster) cancelTransfer(i int32) {
	c.links.Stop(i, c.now)
	t := c.links.Remove(i)
	if t.From.Slot != noSlot {
		c.instances[t.From.Instance].releaseSource(t.From.Slot)
	}
	if t.To.Instance == transfer.None {
		return
	}
	in := c.instances[t.To.Instance]
	r := &in.requests.at[t.To.Slot]
	in.charge(r, -1)
	switch r.state {
	case awaitingAllocation:
		in.transfers.awaiting = without(in.transfers.awaiting, t.To.Slot)
		in.forget(t.To.Slot)
	case preallocated:
		in.transfers.preallocated--
		in.deallocate(t.To.Slot)
	case transferring:
		in.transfers.transferring--
		in.deallocate(t.To.Slot)
	}
	in.wake(c.now)
}

// deallocate frees what has been allocated to the request in slot, if anything.
func (in *Instance) deallocate(slot int32) {
	r := &in.requests.at[slot]
	if r.blocks == 0 { // it comes without a cache
		in.transfers.cacheless--
		in.forget(slot)
		return
	}
	in.transfers.lacking -= in.lacks(r)
	in.commitBlocks(r, -1)
	in.releaseBlocks(slot, false)
}

// dropSwapped frees the host memory of the request in slot, whose client has cancelled it.
func (in *Instance) dropSwapped(slot int32) {
	in.swap.free += in.allocated(&in.requests.at[slot])
	i := slices.Index(in.swap.slots, slot)
	in.swap.slots = slices.Delete(in.swap.slots, i, i+1)
	in.forget(slot)
}

// dropCancelled frees what the cancelled requests of the batch still have. In a static batch their rows stay.
func (in *Instance) dropCancelled(now Time) {
	b := &in.batch
	for _, slot := range b.cancelled {
		r := &in.requests.at[slot]
		prefilled := r.state == cancelledPrefill
		ended := !prefilled && r.finishStep <= b.set.Step() // with the step just taken; see retire
		if prefilled {
			b.removePrefill(slot)
			if b.padded > 0 {
				in.join(slot)
			}
		}
		if r.state != cancelledPrefill && !ended { // a padded prompt has joined
			b.set.DropEnd(slot)
			b.untrace(r, slot)
		}
		in.charge(r, -1)
		switch {
		case b.padded > 0 && !ended:
			r.state = cancelledDecode
			in.finishRow(slot, now)
		case b.padded > 0:
		default:
			in.dropFrom(slot, r, ended)
		}
	}
	b.cancelled = b.cancelled[:0]
}

// dropFrom takes the request in slot out of the batch. The engine aborts it before it looks at what the step that ends
// has computed, and never learns those tokens: blocks that accepted drafts have filled cannot be found.
func (in *Instance) dropFrom(slot int32, r *Request, ended bool) {
	if r.state == cancelledDecode && !ended {
		in.leave(slot)
	}
	if r.state == cancelledDecode && in.step.decodes > 0 {
		r.Emitted -= 1 + r.burst
	}
	if !ended {
		in.vacate(slot)
	}
	in.exit(slot)
	in.forget(slot)
}

// poll asks whether the run is cancelled; if so, every event to come is past the pause.
func (c *Cluster) poll() {
	if c.cancelled != nil && c.cancelled() {
		c.halted, c.pause = true, -1
	}
}

// Halted reports whether the run was cancelled. What was under way then has no outcome.
func (c *Cluster) Halted() bool { return c.halted }

// halt ends a run that was cancelled in the middle of an event, see unwind.
func (c *Cluster) halt() {
	c.running = false
	if !c.halted {
		return
	}
	if r := recover(); r != nil && r != (unwound{}) {
		panic(r)
	}
}

// unwound is what a run that is cancelled in the middle of an event panics with.
type unwound struct{}

// unwind leaves the event at hand if the run is cancelled: a router that looks at a million instances has them built
// for the first request, which takes seconds.
func (c *Cluster) unwind(built, of int) {
	stop := c.building != nil && c.building(built, of)
	if !c.running {
		return
	}
	if c.building == nil {
		c.poll()
	} else if stop {
		c.halted, c.pause = true, -1
	}
	if c.halted {
		panic(unwound{})
	}
}
