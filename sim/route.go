package sim

import (
	"fmt"

	"github.com/decodesim/decodesim/sim/transfer"
)

// Route is the way of a request through pools. Roles are data: a prefill pool is one whose stage transfers the KV
// cache, an encode pool one whose stage transfers something else.
type Route []Stage

// Stage is what one pool does for a request. The last stage of a route emits all tokens that remain.
type Stage struct {
	Pool   int   // index in Config.Pools
	Tokens int32 // that it emits before the transfer: 0 or 1
	Cache  bool  // the KV cache is transferred; false: something else is, and the next pool computes the prompt anew
	// the next pool allocates before this stage begins, and receives layer by layer; false: pulls when it has ended
	Push bool
	Link Link // to the next pool
}

// validate checks route i of a cluster with these pools.
func (route Route) validate(i int, pools []*PoolSpec) error {
	if len(route) == 0 || len(route) > 255 {
		return fmt.Errorf("sim: route %d has %d stages, must have 1 to 255", i, len(route))
	}
	for j, s := range route {
		last := j == len(route)-1
		switch l := s.Link; {
		case s.Pool < 0 || s.Pool >= len(pools):
			return fmt.Errorf("sim: stage %d of route %d is on pool %d, of %d", j, i, s.Pool, len(pools))
		case last:
		case s.Tokens < 0 || s.Tokens > 1 || s.Tokens == 1 && !s.Cache:
			return fmt.Errorf(
				"sim: stage %d of route %d emits %d tokens before its KV transfer, must be 0 or, with its cache, 1",
				j, i, s.Tokens)
		case s.Push && j > 0:
			return fmt.Errorf("sim: stage %d of route %d pushes, which only the first can", j, i)
		case l.Latency < 0 || l.Fixed < 0 || l.Token < 0 || l.Token > Second ||
			l.Windowed < 0 || l.Windowed > Second || l.Window < 0 || s.Push && (l.Layers < 1 || !s.Cache):
			return fmt.Errorf("sim: stage %d of route %d: a link needs no negative times, Token up to a second and, "+
				"to push a cache, layers: %+v", j, i, l)
		case s.Cache && pools[route[j+1].Pool].MaxNumSeqs < 1:
			return fmt.Errorf("sim: stage %d of route %d hands its cache to pool %q, which needs MaxNumSeqs", j, i,
				pools[route[j+1].Pool].Name)
		case s.Cache && pools[route[j+1].Pool].Passing.Blocks > 0:
			return fmt.Errorf("sim: stage %d of route %d hands its cache to pool %q, which has no Passing then", j, i,
				pools[route[j+1].Pool].Name)
		}
	}
	return nil
}

// fetch finds out when the next request arrives.
func (c *Cluster) fetch() {
	c.arrival = Forever
	if c.whole != nil {
		c.arrival = Forever
		if t := c.feed.when(); t != Forever {
			c.arrival = t.Add(c.ingress)
		}
		return
	}
	if c.follower != nil {
		if t := c.follower.When(); t != Forever {
			c.arrival = t.Add(c.ingress)
		}
	} else {
		c.next = Request{}
		if c.source.Next(&c.next) {
			c.arrival = c.next.Arrival.Add(c.ingress)
		}
	}
	if c.arrivals.observe != nil {
		c.scheduleArrivalObserver()
	}
}

// deliver brings the next request to an instance.
func (c *Cluster) deliver() {
	if c.whole != nil {
		c.deliverFed()
		return
	}
	r := &c.next
	if c.follower != nil {
		*r = Request{}
		c.source.Next(r)
	}
	c.totals.Arrived++
	c.totals.EndedBefore = c.totals.Ended
	c.totals.PromptTokens += int64(r.Prompt)
	if r.Content < 0 || int(r.Content) >= c.contents.Len() {
		panic(fmt.Sprintf("sim: request %d has content %d, of %d nodes", r.ID, r.Content, c.contents.Len()))
	}
	if c.traceEvery > 0 && r.ID%c.traceEvery == 0 {
		r.Traced = true
	}
	if c.splitter != nil {
		r.Route = uint8(c.splitter.Split(c.now, r, c))
	}
	switch {
	case c.tooLong(r):
		c.done(r, c.now, Rejected)
	case r.Deadline != 0 && r.Deadline <= c.now:
		c.done(r, c.now, Failed)
	case c.admission != nil && !c.admission.Admit(c.now, r, c):
		c.totals.NotAdmitted++
		c.done(r, c.now, Rejected)
	default:
		c.enter(r)
	}
	c.fetch()
	c.poll()
}

// tooLong reports whether some pool on the route of r cannot take it.
func (c *Cluster) tooLong(r *Request) bool {
	for i := range c.routes[r.Route] {
		p := c.pools[c.routes[r.Route][i].Pool]
		if int64(r.Prompt)+int64(r.Limit()) > int64(p.MaxModelLen) || p.PromptMax > 0 && r.Prompt > p.PromptMax {
			return true
		}
	}
	return false
}

// stage returns what r's pool does for it, if a KV transfer follows; else nil.
func (c *Cluster) stage(r *Request) *Stage {
	if route := c.routes[r.Route]; int(r.Stage) < len(route)-1 {
		return &route[r.Stage]
	}
	return nil
}

// enter begins the stage of r that its record names.
func (c *Cluster) enter(r *Request) {
	if s := c.stage(r); s != nil && s.Push {
		c.startPush(r)
		return
	}
	c.route(c.pools[c.routes[r.Route][r.Stage].Pool], r)
}

// route has the router of p, the pool of r's stage, pick an instance for r, and queues r there.
func (c *Cluster) route(p *Pool, r *Request) {
	if p.Len() == 0 {
		c.waitAtGate(p, r)
		return
	}
	in := p.Router.Route(c.now, r, p)
	if c.parts != nil {
		if c.routed[in.ID].empty() {
			c.fed = append(c.fed, in.ID)
		}
		c.routed[in.ID].push(r)
		return
	}
	in.rankFor(c.now, r).accept(r)
}

// accept takes r, which has been routed to in: its prompt is tokenised first, if that takes time.
func (in *Instance) accept(r *Request) {
	now := in.cluster.now
	in.charge(r, 1)
	if in.pool.Tokenize > 0 {
		in.tokenize(now, r)
		return
	}
	in.enqueue(now, r)
}

// tokenizer is what the API server of an instance does before requests reach the queue. One prompt is tokenised after
// the other, in the order of routing, so that a long one delays those behind it: vLLM 0.33.0 has a pool of one thread
// for it (vllm/renderers/base.py:143, renderer_num_workers in vllm/config/model.py:412), and SGLang 0.5.23 one process,
// which tokenises in its event loop (srt/managers/tokenizer_manager.py:1068). A client that leaves meanwhile saves no
// time of it.
type tokenizer struct {
	free    Time // when it has tokenised all prompts that have come
	prompts int  // of requests on their way to the queue
}

// tokenize has r join the queue when its prompt, and those before it, have been tokenised.
func (in *Instance) tokenize(now Time, r *Request) {
	server := in.replica
	if in.pool.RankTokenizers {
		server = in
	}
	done := max(now, server.tokenizer.free).Add(Duration(r.Prompt) * in.pool.Tokenize)
	server.tokenizer.free = min(done, ClockEnd+1) // later ones are as good, and would leave the range of the clock
	slot := in.requests.put(r)
	q := &in.requests.at[slot]
	q.state, q.queuedAt = tokenizing, done
	if !q.admitted {
		q.Tokenizing += done.Sub(now)
	}
	in.watch(slot)
	in.tokenizer.prompts++
	in.cluster.tokenizing.Push(done, int64(r.ID), place{in.ID, slot})
}

// nextTokenized returns when a prompt has been tokenised that is still wanted, or Forever.
func (c *Cluster) nextTokenized() Time {
	if len(c.tokenizing) == 0 {
		return Forever
	}
	return c.firstTokenized()
}

// tokenized brings the request whose prompt has been tokenised to its queue.
func (c *Cluster) tokenized() {
	at := c.tokenizing.Pop().Value
	in := c.instances[at.instance]
	q := in.requests.at[at.slot]
	in.tokenizer.prompts--
	in.forget(at.slot)
	in.enqueue(c.now, &q)
}

// cancelTokenizing ends the request in slot, whose prompt has not been tokenised, for its client.
func (in *Instance) cancelTokenizing(slot int32, now Time) {
	r := &in.requests.at[slot]
	in.cluster.done(r, now, Failed)
	in.charge(r, -1)
	in.dismiss(r)
	in.tokenizer.prompts--
	in.forget(slot)
	in.wake(now)
}

// Tokenizing returns how many requests are on their way to the queue of in, or of one of its ranks.
func (in *Instance) Tokenizing() (n int) {
	for _, rank := range in.parts {
		n += rank.tokenizer.prompts
	}
	return n
}

// eachTokenizing calls f with every request whose prompt has not been tokenised.
func (in *Instance) eachTokenizing(f func(r *Request)) {
	for slot, left := 0, in.tokenizer.prompts; left > 0; slot++ {
		if r := &in.requests.at[slot]; r.state == tokenizing {
			f(r)
			left--
		}
	}
}

// enqueue adds r to the queue at now or, if it has to fetch some of its prompt first, when it has.
func (in *Instance) enqueue(now Time, r *Request) {
	if len(in.pool.Tiers) == 0 || !in.fetch(now, r) {
		in.joinQueue(now, r)
	}
}

// joinQueue adds r to the queue at now. The first in the queue gets its record at once, and so does a request that is
// more than a packed one can say.
func (in *Instance) joinQueue(now Time, r *Request) {
	slot, order := noSlot, in.pool.Order
	seen := in.nextBoundary(now)
	queuedAt := seen.Add(-in.cluster.ingress)
	if order != nil || in.adapters != nil || in.queue.vacant() || queuedAt != r.Arrival.Add(r.Tokenizing) || !r.plain() {
		slot = in.requests.put(r)
		q := &in.requests.at[slot]
		q.state, q.queuedAt = waiting, queuedAt
		in.watch(slot)
		if order != nil {
			q.orderKey = order.Key(r)
		}
		if in.adapters != nil {
			in.adapters.queue(slot, q, now)
			in.queue.key(q)
		}
	}
	in.queue.push(r, slot)
	switch {
	case in.replica.step.end == Forever:
		in.cluster.wake(in.replica)
	case in.step.n > 1 && !in.closed():
		in.cut(seen, in.stepsSeen(seen))
	}
}

// done ends r for its client.
func (c *Cluster) done(r *Request, at Time, o Outcome) {
	c.totals.Ended++
	c.totals.OutputTokens += int64(r.Emitted)
	c.sink.Done(r, at, o)
	c.poll()
	if c.follower != nil {
		c.follower.Done(at.Add(c.egress), r)
		c.fetch()
	}
}

// gate is where requests wait that have found no instance that takes requests, each in a place of its own.
type gate struct {
	waits  []atGate
	unused []int32
}

// atGate is a request that waits for an instance of a pool.
type atGate struct {
	Request
	pool *Pool // nil: the place is empty
}

// waitAtGate lets r wait at the gate of p until an instance takes requests.
func (c *Cluster) waitAtGate(p *Pool, r *Request) {
	g := &c.gate
	if len(g.unused) == 0 {
		g.unused = append(g.unused, int32(len(g.waits)))
		g.waits = append(g.waits, atGate{})
	}
	at := g.unused[len(g.unused)-1]
	g.unused = g.unused[:len(g.unused)-1]
	g.waits[at] = atGate{*r, p}
	p.gate = append(p.gate, at)
	p.atGate++
	if r.Deadline != 0 {
		c.deadlines.Push(r.Deadline, int64(r.ID), place{noSlot, at})
	}
	if c.activator != nil {
		c.activator.Activate(c.now, p, c)
	}
}

// openGate lets the requests at the gate of p in, in order.
func (c *Cluster) openGate(p *Pool) {
	places := p.gate
	p.gate = nil
	for _, place := range places {
		waits := c.gate.waits[place].pool == p
		r := c.leaveGate(place)
		c.gate.unused = append(c.gate.unused, place)
		switch {
		case !waits: // its client has cancelled it, or it has begun its route again
		case c.pools[c.routes[r.Route][r.Stage].Pool] == p:
			c.route(p, &r)
		default:
			c.sendTo(p, &r)
		}
	}
}

// leaveGate takes the request away from its place. The place stays in the list of its pool, empty.
func (c *Cluster) leaveGate(place int32) Request {
	w := &c.gate.waits[place]
	if w.pool != nil {
		w.pool.atGate--
		w.pool = nil
	}
	return w.Request
}

// placeAtGate returns the place of the request with transfer i, or noSlot.
func (c *Cluster) placeAtGate(i int32) int32 {
	for place := range c.gate.waits {
		if w := &c.gate.waits[place]; w.pool != nil && w.transfer == i {
			return int32(place)
		}
	}
	return noSlot
}

// eachAtGate calls f with every request that waits at the gate of p, in order.
func (c *Cluster) eachAtGate(p *Pool, f func(r *Request)) {
	for _, place := range p.gate {
		if w := &c.gate.waits[place]; w.pool == p {
			f(&w.Request)
		}
	}
}

// eachArriving calls f with every request that awaits allocation at the destination of a transfer, is transferring,
// fetches or loads.
func (c *Cluster) eachArriving(f func(to *Instance, r *Request)) {
	for i := int32(1); i < c.links.Len(); i++ {
		t := c.links.Transfer(i)
		if t.To.Instance == transfer.None {
			continue
		}
		to := c.instances[t.To.Instance]
		if r := &to.requests.at[t.To.Slot]; r.state == awaitingAllocation || r.state == transferring ||
			r.state == fetching || r.state == loading {
			f(to, r)
		}
	}
}
