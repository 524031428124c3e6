package sim_test

import (
	"slices"

	"github.com/decodesim/decodesim/sim"
)

// naiveFleet is the obvious simulator: its pools, and what happens between them.
type naiveFleet struct {
	sc       scenario
	now      sim.Time
	feed     sim.Source
	contents *sim.Contents // of this run; nil: no prefix caching
	next     *sim.Request  // the source's next request, unless it is a Follower
	pools    []*naive
	insts    []*naiveInstance // rank by rank
	leads    []*naiveInstance // of them, the first of each replica
	all      []*naiveRequest
	patient  []*naiveRequest // those with a deadline
	moves    []*naiveMove    // under way
	moved    int             // moves ever begun
	aheads   []ahead         // requests that had blocks of the step after the one that began then
	script   []action        // what the controller will do
	counts   sim.Totals
	gaps     map[string]int // of all pools
	cover    map[string]int
	live     bool // commands to the fleet of the run go on when all requests have ended
}

func runNaive(sc scenario) *naiveFleet {
	f := &naiveFleet{sc: sc, script: sc.script, gaps: map[string]int{}, cover: map[string]int{}}
	f.feed, f.contents = sc.source()
	for _, p := range append([]scenario{sc}, sc.pools...) {
		n := &naive{scenario: p, naiveFleet: f, after: -1, gaps: map[string]int{}, cover: map[string]int{}}
		for i := range max(p.size, p.sizeMax) {
			lead := n.replica()
			if i < p.size {
				lead.become("live")
				if p.startsCold && p.coldStart > 0 {
					lead.comesUp(sim.Time(0).Add(p.coldStart))
				}
			}
		}
		f.pools = append(f.pools, n)
	}
	for f.event() {
	}
	f.sum()
	return f
}

// replica adds an instance of as many ranks as the pool's have.
func (n *naive) replica() *naiveInstance {
	f := n.naiveFleet
	team := make([]*naiveInstance, max(1, n.ranks))
	for i := range team {
		team[i] = &naiveInstance{of: n, id: len(f.leads), team: team, turn: -1, end: sim.Forever}
		f.insts = append(f.insts, team[i])
		n.fresh(team[i])
	}
	team[0].become("down")
	n.members, f.leads = append(n.members, team[0]), append(f.leads, team[0])
	return team[0]
}

// become changes the life of a replica.
func (in *naiveInstance) become(life string) {
	for _, rank := range in.team {
		rank.life = life
	}
}

// comesUp has a replica be cold until then; Forever: it is no longer.
func (in *naiveInstance) comesUp(at sim.Time) {
	for _, rank := range in.team {
		rank.cold, rank.end = at != sim.Forever, at
	}
}

// sum adds up the pools, and ends the requests that are still under way.
func (f *naiveFleet) sum() {
	for _, n := range f.pools {
		for what, count := range n.cover {
			f.cover[what] += count
		}
		for what, count := range n.gaps {
			f.gaps[what] += count
		}
	}
	for _, r := range f.all {
		if r.outcome == "" {
			r.outcome = "unfinished"
			f.cover["unfinished"]++
		}
	}
}

// arrival returns when the next request reaches the engine.
func (f *naiveFleet) arrival() sim.Time {
	if source, ok := f.feed.(sim.Follower); ok {
		if t := source.When(); t != sim.Forever {
			return t.Add(f.sc.ingress)
		}
		return sim.Forever
	}
	if f.next == nil {
		f.next = new(sim.Request)
		if !f.feed.Next(f.next) {
			f.next.Arrival = sim.Forever
		}
	}
	if f.next.Arrival == sim.Forever {
		return sim.Forever
	}
	return f.next.Arrival.Add(f.sc.ingress)
}

// event handles the earliest event, in the order that the package promises for one instant.
func (f *naiveFleet) event() bool {
	end, ended := sim.Forever, (*naiveInstance)(nil)
	for _, in := range f.insts {
		if in.end < end {
			end, ended = in.end, in
		}
	}
	cancel, leaver := f.impatient()
	flow, move := f.flow()
	control := sim.Forever
	if len(f.script) > 0 {
		control = f.script[0].at
	}
	tokenized, server := f.tokenizes()
	t := min(end, cancel, f.arrival(), tokenized, flow, control)
	if t > f.now && f.round() {
		return true
	}
	if t == sim.Forever {
		return false
	}
	f.waitForAdapters(t)
	f.now = t
	switch t {
	case control:
		f.act()
	case cancel:
		f.cancel(leaver)
	case f.arrival():
		f.deliver()
	case tokenized:
		f.tokenized(server)
	case flow:
		f.turn(move)
	default:
		ended.of.commit(ended)
	}
	return true
}

// round lets the woken instances plan, and then the instances that they woke, and reports whether there were any.
func (f *naiveFleet) round() (planned bool) {
	for {
		var woken []*naiveInstance
		for _, in := range f.leads {
			if slices.ContainsFunc(in.team, func(rank *naiveInstance) bool { return rank.woken }) {
				woken = append(woken, in)
			}
		}
		for _, in := range woken {
			if len(in.of.stages) > 1 {
				in.of.planStages(in)
				continue
			}
			for _, rank := range in.team {
				rank.sglang.joins = in.of.ranksJoin()
				in.of.plan(rank)
			}
			in.of.rejoin(in.team)
			in.of.begin(in.team)
		}
		if len(woken) == 0 {
			return planned
		}
		planned = true
	}
}

// impatient returns the request that is cancelled next.
func (f *naiveFleet) impatient() (at sim.Time, leaver *naiveRequest) {
	for _, r := range f.patient {
		if r.outcome == "" && (leaver == nil || r.Deadline < leaver.Deadline) {
			leaver = r
		}
	}
	if leaver == nil {
		return sim.Forever, nil
	}
	return leaver.Deadline, leaver
}

func (f *naiveFleet) deliver() {
	r := &naiveRequest{}
	if f.next != nil {
		r.Request, f.next = *f.next, nil
	} else {
		f.feed.Next(&r.Request)
	}
	f.countArrival(r)
	f.all = append(f.all, r)
	if r.Deadline != 0 {
		f.patient = append(f.patient, r)
	}
	for _, in := range f.insts {
		if in.end == f.now {
			f.cover["arrivals on a step boundary"]++
		}
	}
	r.Route = uint8(f.sc.split(&r.Request))
	for _, s := range f.route(r) {
		p := f.pools[s.Pool]
		long := p.promptMax > 0 && r.Prompt > p.promptMax
		if long {
			f.cover["prompts over the engine's limit"]++
		}
		if long || r.Prompt+r.Limit() > p.maxLen {
			f.done(r, "rejected")
			return
		}
	}
	if r.Deadline != 0 && r.Deadline <= f.now {
		f.done(r, "failed")
		return
	}
	if f.sc.refuses(&r.Request) {
		f.counts.NotAdmitted++
		f.done(r, "rejected")
		return
	}
	f.start(r)
}

func (f *naiveFleet) route(r *naiveRequest) sim.Route {
	if len(f.sc.routes) == 0 {
		return sim.Route{{}}
	}
	return f.sc.routes[r.Route]
}

func (f *naiveFleet) stage(r *naiveRequest) sim.Stage { return f.route(r)[r.Stage] }

// hands reports whether r goes to another instance when its prompt has been read.
func (f *naiveFleet) hands(r *naiveRequest) bool { return int(r.Stage) < len(f.route(r))-1 }

// receiver returns the pool that r goes to then.
func (f *naiveFleet) receiver(r *naiveRequest) *naive {
	return f.pools[f.route(r)[r.Stage+1].Pool]
}

// start begins the stage of r: the receiver of a cache that is pushed comes first.
func (f *naiveFleet) start(r *naiveRequest) {
	if f.hands(r) && f.stage(r).Push {
		f.newMove(r)
		f.receiver(r).offer(gated{r, true})
		return
	}
	f.pools[f.stage(r).Pool].offer(gated{r, false})
}

// gated is a request that reaches a pool: to be transferred, or to be computed.
type gated struct {
	r    *naiveRequest
	move bool
}

// offer routes a request to an instance of the pool, or lets it wait until there is one.
func (n *naive) offer(g gated) {
	in := n.pick()
	if in == nil {
		n.gate = append(n.gate, g)
		n.activate()
		n.cover["waits at a gate"]++
		if g.move {
			n.cover["KV transfers at a gate"]++
		}
		return
	}
	in = n.rankOf(in)
	in.load++
	if g.move {
		n.expect(in, g.r.move)
		return
	}
	n.join(in, g.r)
}

// pick returns the instance that the pool's router picks.
func (n *naive) pick() (best *naiveInstance) {
	var live []*naiveInstance
	for _, in := range n.members {
		if in.life == "live" {
			live = append(live, in)
		}
	}
	if len(live) == 0 {
		return nil
	}
	if !n.roundRobin {
		return slices.MinFunc(live, func(a, b *naiveInstance) int { return a.loads() - b.loads() })
	}
	best = live[0]
	if i := slices.IndexFunc(live, func(in *naiveInstance) bool { return in.id > n.after }); i >= 0 {
		best = live[i]
	}
	n.after = best.id
	if best == live[len(live)-1] {
		n.after = -1
	}
	return best
}

// loads returns how many requests a replica has.
func (in *naiveInstance) loads() (sum int) {
	for _, rank := range in.team {
		sum += rank.load
	}
	return sum
}

// rankOf returns the rank of a replica that serves the next request: one after the other, or that with the fewest.
func (n *naive) rankOf(in *naiveInstance) *naiveInstance {
	if n.ranksInTurn {
		in.turn = (in.turn + 1) % len(in.team)
		return in.team[in.turn]
	}
	return slices.MinFunc(in.team, func(a, b *naiveInstance) int { return a.load - b.load })
}

func (f *naiveFleet) done(r *naiveRequest, outcome string) {
	r.outcome = outcome
	if source, ok := f.feed.(sim.Follower); ok {
		source.Done(f.now.Add(f.sc.egress), &r.Request)
	}
	if r.move != nil { // what was to come is not wanted
		f.drop(r)
	}
}

// cancel forgets a request that is in no batch; one that is in a batch goes at the end of the step.
func (f *naiveFleet) cancel(r *naiveRequest) {
	f.ungate(r)
	f.done(r, "failed")
	r.left = true
	in := r.at
	if in == nil {
		return
	}
	if in.of.staysStale(r) {
		return
	}
	if in.end == sim.Forever || len(in.of.stages) > 1 && r.batch == nil { // no step of it will end
		in.of.leaves(in)
		in.wake()
	}
	if in.leavesLine(r) {
		in.load--
		in.wake()
		f.cover["hang-ups before a tokenizer is done"]++
	}
	if r.fetch != nil || r.host != nil {
		f.unfetch(r)
		in.load--
		in.wake()
	}
	if i := slices.Index(in.waiting, r); i >= 0 {
		in.of.dropAhead(in, r)
		in.waiting = slices.Delete(in.waiting, i, i+1)
		in.load--
		in.wake()
	}
	if i := slices.Index(in.swapped, r); i >= 0 {
		in.swapped = slices.Delete(in.swapped, i, i+1)
		in.host += r.blocks
		in.load--
		in.wake()
		in.of.cover["hang-ups while swapped out"]++
	}
}

// ungate takes r from a gate.
func (f *naiveFleet) ungate(r *naiveRequest) {
	for _, n := range f.pools {
		before := len(n.gate)
		n.gate = slices.DeleteFunc(n.gate, func(g gated) bool { return g.r == r })
		if len(n.gate) < before {
			n.cover["cancellations and failures at a gate"]++
		}
	}
}
