package sim_test

import (
	"cmp"
	"slices"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// action is something that a controller does to an instance, if that can be done to it, or to a pool.
type action struct {
	at       sim.Time
	what     string
	instance int
	pool     int
	after    sim.Duration
	retry    bool
}

// act does what the controller does at this instant.
func (f *naiveFleet) act() {
	if f.settled() {
		f.script = nil
	}
	for len(f.script) > 0 && f.script[0].at == f.now {
		a := f.script[0]
		f.script = f.script[1:]
		in := f.leads[a.instance]
		switch {
		case a.what == "start":
			f.pools[a.pool].begins(a.after)
		case in.life == "down":
		case a.what == "fail":
			f.cover["failures"]++
			in.of.fail(in, a.retry)
		case in.life == "draining":
		case a.what == "drain":
			f.cover["drains"]++
			in.of.drain(in)
		case a.what == "switch":
			f.cover["switches"]++
			in.switches = func() { f.pools[a.pool].begins(a.after) }
			in.of.drain(in)
		}
	}
}

// settled reports whether every request has ended, and no other is known: then controllers rest.
func (f *naiveFleet) settled() bool {
	return f.arrival() == sim.Forever && len(f.all) > 0 &&
		!slices.ContainsFunc(f.all, func(r *naiveRequest) bool { return r.outcome == "" })
}

// begins starts an instance that is down.
func (n *naive) begins(after sim.Duration) {
	for _, in := range n.members {
		if in.life == "down" {
			n.cover["starts"]++
			for _, rank := range in.team {
				n.fresh(rank)
			}
			in.become("starting")
			in.since = n.now
			in.comesUp(n.now.Add(after).Add(n.coldStart))
			return
		}
	}
}

// activate starts an instance for the first request that waits at the gate, where the controller does so.
func (n *naive) activate() {
	if !n.sc.activates || slices.ContainsFunc(n.members, func(in *naiveInstance) bool {
		return in.life == "live" || in.life == "starting"
	}) {
		return
	}
	n.cover["woken by a request"]++
	n.begins(n.sc.activation)
}

// up ends the start of an instance.
func (n *naive) up(in *naiveInstance) {
	in.comesUp(sim.Forever)
	if in.life == "starting" {
		in.become("live")
		n.cover["came up"]++
		gate := n.gate
		n.gate = nil
		for _, g := range gate {
			n.offer(g)
		}
	}
	in.wake()
}

func (n *naive) drain(in *naiveInstance) {
	if in.life == "starting" {
		n.down(in)
		return
	}
	in.become("draining")
	in.wake()
}

// served reports whether a drained instance has nothing left.
func (in *naiveInstance) served() bool {
	left := 0
	for _, rank := range in.team {
		left += len(rank.running) + len(rank.waiting) + len(rank.swapped) + len(rank.inbound) + len(rank.transferring) +
			len(rank.arrived) + len(rank.pending) + len(rank.fetching) + rank.inLine()
	}
	return left == 0
}

// down ends the life of an instance.
func (n *naive) down(in *naiveInstance) {
	in.become("down")
	n.tally.upS += n.now.Sub(in.since).Seconds()
	in.comesUp(sim.Forever)
	for _, rank := range in.team {
		n.empties(rank)
	}
	if then := in.switches; then != nil {
		in.switches = nil
		then()
	}
}

// empties drops whatever a rank still has.
func (n *naive) empties(in *naiveInstance) {
	if in.pool != nil {
		n.evicted += in.pool.evicted
	}
	if in.tree != nil {
		n.evicted += in.tree.evicted
	}
	if in.store != nil {
		n.lost += in.store.lost
	}
	in.woken, in.load = false, 0
	for _, r := range in.waiting {
		r.blocks, r.pages, r.ahead = 0, nil, nil
	}
	in.running, in.waiting = nil, nil
	in.swapped, in.deferred, in.stayed = nil, nil, nil
	in.naivePipeline = naivePipeline{}
	in.inbound, in.transferring = nil, nil
	in.sent = nil
	in.arrived, in.pending, in.fetching = nil, nil, nil
	in.tokenizer = nil
	n.fresh(in)
}

// fail takes an instance down, with everything that is there.
func (n *naive) fail(in *naiveInstance, retry bool) {
	if in.life != "starting" {
		n.counts.InstancesFailed++
	}
	if in.end == n.now && !in.cold {
		n.commit(in)
		n.cover["failures on a step boundary"]++
	}
	n.endsStep(in, false)
	if in.end != sim.Forever && !in.cold {
		under := int64(max(1, in.underWay()))
		in.step -= under
		n.steps -= int(under)
		for _, rank := range in.team {
			n.undo(rank)
		}
		n.cover["steps lost"]++
	}
	var lost []*naiveRequest
	here := func(at *naiveInstance) bool { return slices.Contains(in.team, at) }
	for _, r := range n.all {
		m := r.move
		switch {
		case r.outcome != "":
		case here(r.at), m != nil && m.read && here(m.from), m != nil && here(m.to) && (m.read || !m.reserved):
			lost = append(lost, r)
		case m != nil && here(m.to):
			n.drop(r)
			n.cover["reservations lost"]++
		}
	}
	slices.SortFunc(lost, func(a, b *naiveRequest) int { return cmp.Compare(a.ID, b.ID) })
	for _, rank := range in.team {
		rank.stopTokenizing()
	}
	n.down(in)
	for _, r := range lost {
		n.sever(in, r)
	}
	for _, rank := range in.team {
		rank.stopWrites()
	}
	for _, r := range lost {
		n.lose(r, retry)
	}
}

// undo takes the step under way, which will not end, out of what is counted.
func (n *naive) undo(in *naiveInstance) {
	if !in.computes() && len(n.stages) == 0 {
		n.empty--
	}
	for _, r := range in.running {
		switch {
		case len(n.stages) > 1 && r.batch == nil: // the latest step that had it has ended
		case r.decoding && r.want > 0 && !r.removed:
			n.decodes--
		case r.removed && !n.stagesSerial():
			n.cover["rows that have ended"]--
		}
	}
	for _, r := range in.waiting {
		if r.stale != nil && r.decoding {
			n.decodes--
		}
	}
}

// sever takes a request from an instance that has failed, and from others that have something of it.
func (n *naive) sever(in *naiveInstance, r *naiveRequest) {
	n.ungate(r)
	if m := r.move; m != nil {
		n.stop(m)
		if slices.Contains(in.team, m.to) {
			m.to, m.reserved = nil, false
		}
		if slices.Contains(in.team, m.from) {
			m.from = nil
		}
		n.drop(r)
	}
	if r.at != nil && !slices.Contains(in.team, r.at) {
		panic("it was elsewhere")
	}
	if r.fetch != nil {
		n.unfetch(r)
	}
	if r.host != nil {
		n.stop(r.host)
		n.moves = remove(n.moves, r.host)
		r.host = nil
		n.cover["loads from host memory that a failure ends"]++
	}
	r.fetchedBy = nil
	r.at, r.blocks = nil, 0
	r.pages, r.windows = nil, nil
	r.passed, r.underWay = 0, 0
	r.Computed, r.prefill, r.want = 0, 0, 0
	r.decoding, r.known, r.noticed = false, false, false
	r.missed, r.leftOut, r.stopped = false, false, false
	r.latest, r.hoped, r.filler = 0, 0, 0
	r.batch, r.stale, r.recalled = nil, nil, false
	r.yields, r.yielding = nil, false
}

// lose ends or restarts a request whose instance has failed.
func (n *naive) lose(r *naiveRequest, retry bool) {
	if !retry {
		n.done(r, "failed")
		n.cover["lost"]++
		return
	}
	n.counts.Restarted++
	r.cause = "restarted"
	if r.Emitted > 0 {
		n.cover["restarts between two tokens"]++
	}
	r.Stage = 0
	n.start(r)
}

// fresh gives an instance an empty engine.
func (n *naive) fresh(in *naiveInstance) {
	in.free, in.host = n.blocks, n.hostBlocks()
	in.sglang, in.waited, in.agreed = sglangState{}, 0, agreement{}
	in.copies = 0
	in.adapters = n.freshAdapters()
	if n.radix {
		in.tree = &naiveTree{root: &naiveNode{}}
	} else if n.contents != nil && !n.uncached {
		in.pool = newBlockPool(n.blocks, n.blockSize, n.contents)
		in.pool.unnamedFirst, in.pool.drafter = n.unnamedFirst(), n.drafter()
		if n.passing.Blocks > 0 && n.offload == 0 && n.passing.Window > n.unknownMax() {
			in.pool.groups, in.pool.window = 1+int(n.passing.Blocks), n.passing.Window
		}
		if n.offload > 0 {
			in.store = n.newStore(n.offload)
			n.newTiers(in)
		}
	}
	if p, ok := n.policy.(*schedulers.SGLang); ok {
		in.sglang.ratio = p.InitNewTokenRatio
	}
}
