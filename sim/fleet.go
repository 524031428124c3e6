package sim

import (
	"slices"

	"github.com/decodesim/decodesim/sim/transfer"
)

// life is what an instance does beyond its steps.
type life uint8

const (
	down     life = iota
	starting      // it comes up at the end of what it does now
	live          // it takes requests
	draining      // it serves the requests that it has
)

// lifecycle is the life of an instance, and the load that it has been given.
type lifecycle struct {
	life    life
	cold    bool  // it is not up yet; its step ends when it is
	listed  *Pool // among whose instances it is: its pool, or the ranks of its replica
	place   int32 // among the instances there that take requests; −1: it does not
	load    int32 // requests routed to it that have not ended or moved on
	prompts int64 // Σ tokens of their prompts
	since   Time  // when it was started; GPUs are paid for from then on
	next    *Pool // to which its GPUs go when it is down; nil: to none
	after   Duration
}

// charge counts r among the requests routed to in, or takes it out again.
func (in *Instance) charge(r *Request, n int32) {
	in.load += n
	in.prompts += int64(n) * int64(r.Prompt)
	if in.place >= 0 {
		in.listed.outstanding[in.place] = in.load
	}
	if in.replica != in {
		in.replica.charge(r, n)
	}
}

// settled reports whether every request has ended, and no other is to come: what a controller does then affects
// nothing.
func (c *Cluster) settled() bool {
	return c.present == Forever && c.arrival == Forever && c.totals.Arrived > 0 && c.totals.Ended == c.totals.Arrived
}

// waitsForControl reports whether requests wait, at a gate or for room that never comes, and a controller will act
// again.
func (c *Cluster) waitsForControl() bool {
	return c.controlAt < Forever && c.totals.Ended < c.totals.Arrived
}

// Start starts the first instance of p that is down: after a while, to provision GPUs, and the pool's cold start it
// takes requests. It returns nil if none is down.
func (c *Cluster) Start(p *Pool, after Duration) *Instance {
	for i, in := range p.all {
		if in == nil && i >= p.Size {
			in = p.at(i)
		}
		if in != nil && in.life == down {
			in.life, in.since, in.cold = starting, c.now, true
			in.step.end = c.now.Add(after + p.ColdStart)
			c.ends.Set(in.ID, in.step.end)
			return in
		}
	}
	return nil
}

// up has in take requests, first of all those that wait at the gate.
func (c *Cluster) up(in *Instance) {
	in.life = live
	in.pool.list()
	c.openGate(in.pool)
}

// Drain has in take no more requests. It is down when it has served those that it has.
func (c *Cluster) Drain(in *Instance) {
	switch in.life {
	case starting:
		in.cold, in.step.end = false, Forever
		c.ends.Set(in.ID, Forever)
		c.down(in)
	case live:
		in.life = draining
		in.pool.list()
		if in.step.end == Forever {
			c.wake(in)
		}
	}
}

// Switch drains in and starts an instance of another pool on its GPUs, after a while.
func (c *Cluster) Switch(in *Instance, to *Pool, after Duration) {
	if in.life == live || in.life == starting {
		in.next, in.after = to, after
		c.Drain(in)
	}
}

// down ends the life of in, which has no request left.
func (c *Cluster) down(in *Instance) {
	in.life = down
	in.pool.up.AddOne(uint64(c.now.Sub(in.since)))
	in.clear()
	if to := in.next; to != nil {
		in.next = nil
		c.Start(to, in.after)
	}
}

// clear makes in, which has no request left, and its ranks engines that have just started.
func (in *Instance) clear() {
	for _, rank := range in.parts {
		rank.retireCache()
		rank.reset()
	}
	if in.group != nil {
		in.group.ranks.list()
		in.reset()
	}
}

// retireCache adds what has been counted of a cache that is about to be dropped to the counts of its pool.
func (in *Instance) retireCache() {
	p := in.pool
	p.peak = max(p.peak, in.cache.AllocatedMax())
	p.evicted += in.cache.Evicted()
	p.loaded += in.cache.Loaded()
}

// Fail takes in down at once, with its queue, its batch and its cache. Steps that have ended by now count. Its requests
// end as Failed or, to be retried, begin again elsewhere and keep what they have emitted.
func (c *Cluster) Fail(in *Instance, retry bool) {
	switch in.life {
	case down:
		return
	case starting:
		c.Drain(in)
		return
	}
	c.totals.InstancesFailed++
	c.failing = in
	lost := c.takeRequests(in)
	c.failing = nil
	for _, rank := range in.parts {
		c.stopWrites(rank)
	}
	in.life = down
	in.pool.list()
	in.pool.up.AddOne(uint64(c.now.Sub(in.since)))
	for _, rank := range in.parts {
		rank.requests.clear()
		rank.queue.clear()
		rank.load, rank.prompts = 0, 0
	}
	in.load, in.prompts = 0, 0
	in.clear()
	if to := in.next; to != nil {
		in.next = nil
		c.Start(to, in.after)
	}
	for i := range lost {
		if !retry {
			c.done(&lost[i], c.now, Failed)
			continue
		}
		c.restart(&lost[i])
	}
}

// fails reports whether in, or the replica that it is a rank of, fails at this moment.
func (in *Instance) fails() bool { return in.replica == in.cluster.failing }

// interrupt ends the steps under way as far as they have come. It returns how many of a segment that is not over have
// ended, after which its decodes had emitted their latest token.
func (in *Instance) interrupt(now Time) (n int) {
	s := &in.step
	if s.end != Forever && !in.cold {
		n = in.interruptSteps(now)
	}
	s.end, in.cold = Forever, false
	if in.replica == in {
		in.cluster.ends.Set(in.ID, Forever)
	}
	return n
}

func (in *Instance) interruptSteps(now Time) int {
	s := &in.step
	n := in.ended(now)
	if n == s.n {
		in.commit()
		return 0
	}
	in.countTime(n, now.Sub(s.start))
	if in.group != nil {
		in.countRanks(n)
	}
	if s.decodes == 0 {
		return 0
	}
	if begun, from := s.price.Ended(now.Sub(s.start)-1)+1, max(1, in.tiers.begun); begun > from {
		in.takeSteps(int64(from), int64(begun))
	}
	in.tiers.begun = 0
	if n > 0 {
		in.reportEnded(n)
	}
	return n
}

// takeRequests ends the steps under way and returns every request that in or a rank of it has something of, in order of
// ID and as it is then, and cancels its KV transfers.
func (c *Cluster) takeRequests(in *Instance) (lost []Request) {
	if in.group != nil {
		in.interrupt(c.now)
	}
	for _, rank := range in.parts {
		lost = append(lost, c.takeRequestsOf(rank, rank.interrupt(c.now))...)
	}
	slices.SortFunc(lost, func(a, b Request) int { return int(a.ID) - int(b.ID) })
	for i := range lost { // in order, because what is freed first elsewhere is evicted first
		if t := lost[i].transfer; t != 0 {
			c.cancelTransfer(t)
		}
		if lost[i].fetch != 0 {
			c.stopFetch(&lost[i])
		}
	}
	return lost
}

// takeRequestsOf returns those requests of an instance without ranks, or of a rank, as they are after n steps of the
// segment under way.
func (c *Cluster) takeRequestsOf(in *Instance, n int) (lost []Request) {
	keep := func(r *Request) {
		if r.finished {
			return
		}
		lost = append(lost, *r)
		q := &lost[len(lost)-1]
		q.learnAll()
		q.ahead = 0
		q.planned, q.counted = 0, 0
	}
	for _, lane := range in.batches() {
		for slot := lane.batch.first; slot != noSlot; slot = in.requests.at[slot].next {
			if r := &in.requests.at[slot]; (r.state == prefilling || r.state == decoding) && !r.finished {
				lost = append(lost, lane.afterSteps(r, n))
			}
		}
	}
	for _, list := range [][]int32{in.swap.slots, in.transfers.transferred} {
		for _, slot := range list {
			keep(&in.requests.at[slot])
		}
	}
	in.queue.eachListed(keep)
	in.queue.eachPacked(keep)
	in.eachTokenizing(func(r *Request) {
		if !r.admitted {
			r.Tokenizing -= r.queuedAt.Sub(c.now)
		}
		keep(r)
	})
	return append(lost, c.takeTransfers(in)...)
}

// afterSteps returns r as it is after n steps of the segment under way.
func (in *Instance) afterSteps(r *Request, n int) Request {
	q := *r
	if q.state == decoding {
		q.Computed, q.Emitted = in.batch.progress(&q)
		if !in.batch.isNew(&q) {
			q.Last = in.batch.emittedAt
		}
		if n > 0 {
			q.Emitted += int32(n)
			q.Last = in.step.start.Add(in.step.price.Span(n))
		}
	}
	return q
}

// takeTransfers returns the requests that are transferred from or to in and are in no queue or batch. Those that are
// have lost what was allocated to them here.
func (c *Cluster) takeTransfers(in *Instance) (lost []Request) {
	for i := int32(1); i < c.links.Len(); i++ {
		t := c.links.Transfer(i)
		leaves := t.From.Instance == in.ID && t.From.Slot != noSlot
		if !t.Active() || t.To.Instance != in.ID && !leaves {
			continue
		}
		if t.To.Instance == transfer.None { // at a gate, with its blocks here
			lost = append(lost, c.leaveGate(c.placeAtGate(i)))
		} else if r := &c.instances[t.To.Instance].requests.at[t.To.Slot]; r.state == preallocated {
			c.disownTransfer(i)
			c.cancelTransfer(i)
		} else {
			lost = append(lost, *r)
		}
	}
	return lost
}

// disownTransfer has the source of transfer i, which has lost the blocks at its destination, begin another one when it
// has finished.
func (c *Cluster) disownTransfer(i int32) {
	for in := range built(c.instances) {
		for slot := range in.requests.at {
			r := &in.requests.at[slot]
			if r.transfer == i && (r.state == waiting || r.state == prefilling || r.state == fetching ||
				r.state == tokenizing || r.state == loading || r.state == transferred) {
				r.transfer = 0
			}
		}
	}
	if place := c.placeAtGate(i); place != noSlot {
		c.gate.waits[place].transfer = 0
	}
}

// restart lets r, whose instance failed, begin its route again.
func (c *Cluster) restart(r *Request) {
	c.totals.Restarted++
	q := r.atNextStage()
	q.Stage, q.Computed, q.transfer = 0, 0, 0
	q.state, q.orderKey = unused, 0
	if q.Emitted > 0 {
		q.delay = Restarted
	}
	c.enter(&q)
}
