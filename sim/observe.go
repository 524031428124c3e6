package sim

import "slices"

// Observation is the state of a run, or of one pool, at one instant: steps of a running segment that have ended by then
// count.
type Observation struct {
	Totals
	Running      int64 // requests in a batch
	Waiting      int64 // requests in a queue, at a gate, or handed over and without room or a seat
	Transferring int64 // requests on their way to an instance
	KVUsed       int64 // blocks
	KVTotal      int64
	Live         int // instances that take requests
	Starting     int
	Draining     int
}

// State returns the state of the whole run at now, which must not be later than the next event.
func (c *Cluster) State(now Time) Observation {
	var o Observation
	for i := range c.pools {
		p := c.PoolState(i, now)
		o.OutputTokens += p.OutputTokens
		o.Running, o.Waiting, o.Transferring = o.Running+p.Running, o.Waiting+p.Waiting, o.Transferring+p.Transferring
		o.KVUsed, o.KVTotal = o.KVUsed+p.KVUsed, o.KVTotal+p.KVTotal
		o.Live, o.Starting, o.Draining = o.Live+p.Live, o.Starting+p.Starting, o.Draining+p.Draining
	}
	underway := o.OutputTokens
	o.Totals = c.totals
	o.OutputTokens += underway
	return o
}

// PoolState returns the state of the i-th pool at now, which must not be later than the next event. Of the totals it has
// the tokens emitted to clients whose requests are there.
func (c *Cluster) PoolState(i int, now Time) Observation {
	p := c.pools[i]
	o := Observation{Waiting: int64(p.gated)}
	if p.gated > 0 {
		c.eachGated(p, func(r *Request) { o.OutputTokens += int64(r.Emitted) })
	}
	for _, in := range p.all {
		switch in.life {
		case down:
			continue
		case starting:
			o.Starting++
			continue
		case live:
			o.Live++
		case draining:
			o.Draining++
		}
		o.Running += int64(in.running - len(in.idle))
		o.Waiting += int64(in.Queued() + len(in.inbound) + len(in.landed))
		o.Transferring += int64(in.flying)
		o.KVTotal += in.kv.total
		o.KVUsed += in.BlocksUsedAt(now)
		o.OutputTokens += in.underway() + int64(in.ended(now))*(int64(in.reaching())+in.bursting())
	}
	return o
}

// UsedAt returns the blocks in use at now.
func (in *Instance) BlocksUsedAt(now Time) int64 {
	used := in.kv.total - in.kv.free
	if ended := in.ended(now); ended > 0 && in.decodes > 0 {
		used += in.set.blocksFor(1, int64(min(ended+1, in.steps)), &in.kv)
	}
	return used
}

// ended returns how many of the steps under way have ended by now.
func (in *Instance) ended(now Time) int {
	switch {
	case in.end == Forever, in.cold:
		return 0
	case now >= in.end:
		return in.steps
	}
	return in.seg.Ended(now.Sub(in.start))
}

// underway returns the tokens emitted so far, up to the steps under way, by requests that have not ended.
func (in *Instance) underway() int64 {
	var n int64
	for slot := in.head; slot != noSlot; slot = in.slab[slot].next {
		r := &in.slab[slot]
		if r.state == decoding {
			_, emitted := in.progress(r)
			n += int64(emitted)
		} else if r.state == prefilling {
			n += int64(r.Emitted)
		}
	}
	for _, list := range [][]int32{in.front, in.sorted, in.swapped, in.inbound, in.landed} {
		for _, slot := range list {
			n += int64(in.slab[slot].Emitted)
		}
	}
	if in.flying > 0 {
		n += in.cluster.links.emitted(in)
	}
	if in.again > 0 {
		in.queue.each(func(q queued) {
			if slot := q.slot(); slot != noSlot && in.slab[slot].state != gone {
				n += int64(in.slab[slot].Emitted)
			}
		})
	}
	return n
}

// reaching returns how many tokens reach their clients with each step under way.
func (in *Instance) reaching() int {
	if in.decodes == 0 {
		return 0
	}
	return in.emitting() - in.leaving()
}

// settle reports the steps that have ended by now, the horizon, of those under way, and then every request still here.
func (in *Instance) settle(now Time) {
	n := in.ended(now)
	if in.end != Forever && !in.cold {
		in.busy += now.Sub(in.start)
		in.cluster.totals.OutputTokens += int64(n) * int64(in.reaching())
	}
	in.cluster.totals.OutputTokens += in.underway()
	if n > 0 && in.decodes > 0 {
		in.tellOf(n)
	}
	for slot := in.head; slot != noSlot; slot = in.slab[slot].next {
		r := in.slab[slot]
		switch r.state {
		case decoding:
			r.Computed, r.Emitted = in.progress(&r)
			if in.decodes > 0 {
				r.Computed, r.Emitted = r.Computed+int32(n), r.Emitted+int32(n)
			}
		case leavingDecode, leavingPrefill, idle:
			continue // their clients have been told
		}
		in.cluster.sink.Done(&r, now, Unfinished)
	}
	slices.Sort(in.sorted) // a heap's own order may depend on when it was looked at
	for _, list := range [][]int32{in.swapped, in.front, in.sorted, in.landed} {
		for _, slot := range list {
			in.cluster.sink.Done(&in.slab[slot], now, Unfinished)
		}
	}
	in.queue.each(func(q queued) {
		if slot := q.slot(); slot == noSlot {
			in.cluster.sink.Done(q.request(), now, Unfinished)
		} else if in.slab[slot].state != gone {
			in.cluster.sink.Done(&in.slab[slot], now, Unfinished)
		}
	})
}

// tellOf reports n steps of a run that is not over.
func (in *Instance) tellOf(n int) {
	in.tell(n)
	in.stepCount += int64(n)
	in.decodeSum += int64(n) * int64(in.emitting())
	in.idleSum += int64(n) * int64(len(in.idle))
}

// PoolTotals is the load of a pool over a run.
type PoolTotals struct {
	Instances      int     // that take requests
	UpS            float64 // Σ time over instances from their start on: what is paid for
	BusyS          float64 // Σ length of steps over instances
	Steps          int64
	DecodeSum      int64 // Σ over steps of the decoding sequences
	KVBlocks       int64 // of one instance
	KVPeak         int64 // the most blocks one instance used at once
	FinishedRowSum int64 // Σ over steps of the rows that had ended
	Drafted        int64 // tokens drafted
	Accepted       int64 // of those, emitted to clients
	Preemptions    int64
	Swaps          int64 // of those, to host memory
	Prompted       int64 // prompt tokens of the requests admitted, each counted once
	Cached         int64 // of those, found in the cache
	Loaded         int64 // cached tokens that came from host memory
	Evictions      int64 // cached blocks of content that made room for others
}

// PoolTotals returns the load of the i-th pool so far.
func (c *Cluster) PoolTotals(i int) PoolTotals {
	p := c.pools[i]
	t := PoolTotals{
		Instances: len(p.instances), KVBlocks: p.KVBlocks, Preemptions: p.preemptions, Swaps: p.swaps, Prompted: p.prompted, Cached: p.cached,
		Loaded: p.loaded * int64(p.BlockSize), Evictions: p.evicted, KVPeak: p.peak, UpS: p.up.Seconds(),
	}
	for _, in := range p.all {
		t.BusyS += in.busy.Seconds()
		t.Steps += in.stepCount
		t.DecodeSum += in.decodeSum
		if in.prefix != nil {
			t.Evictions += in.prefix.evicted
			if in.prefix.host != nil {
				t.Loaded += in.prefix.host.loaded * int64(p.BlockSize)
			}
		}
		t.Drafted += in.draftedSum
		t.Accepted += in.acceptedSum
		t.FinishedRowSum += in.idleSum
		t.KVPeak = max(t.KVPeak, in.kv.total-in.kv.low)
		if in.life != down {
			t.UpS += c.now.Sub(in.since).Seconds()
		}
	}
	return t
}
