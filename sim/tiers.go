package sim

import (
	"fmt"

	"github.com/decodesim/decodesim/sim/kv"
	"github.com/decodesim/decodesim/sim/transfer"
)

// Tier is a store of KV blocks below host memory: an NVMe drive of an instance, or a store that a cluster shares. A
// request that reaches an instance waits until what the tiers have of its prompt, beyond what the GPUs' cache and host
// memory have, has been fetched to host memory, the nearest tier first, while the instance goes on with its steps. Then
// it joins the queue, and is admitted like one whose prompt host memory has.
//
// SGLang's hierarchical cache prefetches like this with the policy wait_complete when a request joins its queue, where
// it keeps its place (SGLang 0.5.5, srt/managers/scheduler.py:1395 and 1793).
type Tier struct {
	Name   string
	Blocks int64 // of each instance, or rank; if it is shared, of all
	Shared bool  // by the instances of the pool, which find what any of them has stored
	Link   Link  // what it takes to fetch from it alone: its Windowed tokens and Layers do not count
	// of what it sends, and of what an instance receives from others, that a fetch takes alone, of FullPort
	Share, ReceivingShare uint64

	// What it takes to write to it alone, and of what it receives and an instance sends to others, the shares that this
	// takes. Without WriteShare writing takes no time and no port.
	Write                    Link
	WriteShare, SendingShare uint64
}

// FullPort is all that a port has to give.
const FullPort = transfer.One

// tiers is what an instance has below host memory.
type tiers struct {
	through  [kv.TiersMax][2]transfer.Use // ports that fetches pass
	writes   [kv.TiersMax][2]transfer.Use // and that what is written passes
	fetching int                          // requests
	host     int32                        // port that loads from host memory pass
	copied   Time                         // when the last load that has begun ends
	begun    int                          // of the steps under way, those for which blocks were allocated before their end
	shapes   []Shape                      // scratch
	price    Segment                      // scratch
}

// tierTally counts what came from tiers.
type tierTally struct {
	fetched    [kv.TiersMax]int64 // blocks
	written    [kv.TiersMax]int64 // blocks, to tiers where writing takes time
	loaded     [kv.TiersMax]int64 // of them, those that the next admission found in host memory
	copied     int64              // blocks that first admissions found there
	recomputed int64              // blocks that would have taken longer to fetch than to compute
}

func (p *PoolSpec) validateTiers() error {
	if p.NetworkReserved >= FullPort {
		return fmt.Errorf("sim: pool %q reserves %d of its ports, must be less than %d", p.Name, p.NetworkReserved,
			uint64(FullPort))
	}
	if len(p.Tiers) > 0 && (len(p.Tiers) > kv.TiersMax || p.OffloadBlocks == 0) {
		return fmt.Errorf("sim: pool %q has %d tiers, must have at most %d, below OffloadBlocks of host memory", p.Name,
			len(p.Tiers), kv.TiersMax)
	}
	for i, t := range p.Tiers {
		if p.WriteBack && !t.Shared && i > 0 && p.Tiers[i-1].Shared {
			return fmt.Errorf("sim: pool %q: tier %q of each instance cannot be written back to from a shared one", p.Name,
				t.Name)
		}
		if t.Blocks < 1 || t.Link.Latency < 0 || t.Link.Fixed < 0 || t.Link.Token < 0 || t.Link.Token > Second ||
			t.Share < 1 || t.Share > FullPort || t.ReceivingShare > FullPort ||
			t.Write.Latency < 0 || t.Write.Fixed < 0 || t.Write.Token < 0 || t.Write.Token > Second ||
			t.WriteShare > FullPort || t.SendingShare > FullPort {
			return fmt.Errorf("sim: pool %q: tier %q needs blocks, a link without negative times and shares of ports: %+v",
				p.Name, t.Name, t)
		}
	}
	return nil
}

// addTiers gives p the stores and the ports that its instances share.
func (p *Pool) addTiers(c *Cluster) {
	for i := range p.Tiers {
		if t := &p.Tiers[i]; t.Shared {
			p.stores[i], p.ports[i] = kv.NewStore(t.Blocks), c.links.AddPort()
			p.writePorts[i] = c.links.AddPort()
		}
	}
}

// connect gives in the ports that its fetches pass.
func (in *Instance) connect() {
	p, links := in.pool, &in.cluster.links
	if p.NetworkReserved > 0 && links.Between(in.ID) {
		links.Reserve(transfer.Sending(in.ID), p.NetworkReserved)
		links.Reserve(transfer.Receiving(in.ID), p.NetworkReserved)
	}
	if p.LoadLink != (Link{}) {
		in.tiers.host = links.AddPort()
	}
	for i := range p.Tiers {
		t := &p.Tiers[i]
		port, write := p.ports[i], p.writePorts[i]
		if !t.Shared {
			port, write = links.AddPort(), links.AddPort()
		}
		in.tiers.writes[i] = [2]transfer.Use{{Port: write, Weight: t.WriteShare},
			{Port: transfer.Sending(in.ID), Weight: t.SendingShare}}
		in.tiers.through[i] = [2]transfer.Use{{Port: port, Weight: t.Share},
			{Port: transfer.Receiving(in.ID), Weight: t.ReceivingShare}}
	}
	if p.FetchOrRecompute {
		in.tiers.shapes = make([]Shape, max(1, p.Ranks))
	}
}

// newStores returns the stores of in below host memory, of which those of its own are empty.
func (in *Instance) newStores() (stores []*kv.Store) {
	for i := range in.pool.Tiers {
		s := in.pool.stores[i]
		if s == nil {
			s = kv.NewStore(in.pool.Tiers[i].Blocks)
		}
		stores = append(stores, s)
	}
	return stores
}

// fetch begins to fetch what tiers have of the prompt of r, which has reached in, or reports that there is nothing to
// fetch.
func (in *Instance) fetch(now Time, r *Request) bool {
	if !in.cache.Matchable(noSlot, r.prompt()) {
		return false
	}
	in.allocateBegun()
	r.below = in.cache.Below(r.prompt(), r.Prompt+r.Emitted)
	if in.pool.FetchOrRecompute {
		in.preferComputing(r)
	}
	if r.below.End() == r.below.Have {
		r.below = kv.Below{}
		return false
	}
	slot := in.requests.put(r)
	in.requests.at[slot].state = fetching
	in.watch(slot)
	in.tiers.fetching++
	in.fetchNext(now, slot, 0)
	return true
}

// allocateBegun allocates what the steps of a segment have taken that have begun by now, as if each had been composed
// by itself: what they evict cannot be found, and is other than what they would evict once more is free.
func (in *Instance) allocateBegun() {
	if begun := in.stepsBegun(); begun > max(1, in.tiers.begun) {
		in.allocateSteps(begun)
		in.tiers.begun = begun
	}
}

// fetchNext has the request in slot fetch from the next tier, from the given one on, that has some of its prompt.
func (in *Instance) fetchNext(now Time, slot int32, tier int) {
	r, links := &in.requests.at[slot], &in.cluster.links
	for r.below.Blocks(tier) == 0 {
		tier++
	}
	link, tokens := in.pool.Tiers[tier].Link, r.below.Blocks(tier)*in.cache.BlockSize()
	r.fetch = links.Add(link, false, false)
	t := links.Transfer(r.fetch)
	t.Fetch, t.Through, t.Tokens = true, in.tiers.through[tier], tokens
	t.To = transfer.End{Instance: in.ID, Slot: slot}
	t.Tier = int8(tier)
	links.Start(r.fetch, now.Add(link.Latency), link.Work(tokens))
}

// completeFetch ends the transfer i of a request from a tier: host memory has what came, and the request fetches from
// the next tier or joins the queue.
func (c *Cluster) completeFetch(i int32) {
	t := c.links.Remove(i)
	in, slot, tier := c.instances[t.To.Instance], t.To.Slot, int(t.Tier)
	r := &in.requests.at[slot]
	r.fetch = 0
	in.tally.fetched[tier] += int64(r.below.Blocks(tier))
	in.cache.Fetched(r.prompt(), r.below.Ends[tier])
	in.write()
	if r.below.End() > r.below.Ends[tier] {
		in.fetchNext(c.now, slot, tier+1)
		return
	}
	q := *r
	in.tiers.fetching--
	in.forget(slot)
	in.joinQueue(c.now, &q)
}

// write begins to write what tiers have got since it was called last. It can be read at once: what is written in a
// moment is asked for after more than that.
func (in *Instance) write() {
	if len(in.pool.Tiers) == 0 {
		return
	}
	if in.line != nil { // a microbatch, whose replica has the ports
		in = in.replica
	}
	links := &in.cluster.links
	for i := range in.pool.Tiers {
		t := &in.pool.Tiers[i]
		if t.WriteShare == 0 {
			continue
		}
		blocks := in.cache.Added(i)
		if blocks == 0 {
			continue
		}
		in.tally.written[i] += blocks
		k := links.Add(t.Write, false, false)
		w := links.Transfer(k)
		w.Write, w.Through = true, in.tiers.writes[i]
		w.Tokens, w.Tier = int32(blocks)*in.cache.BlockSize(), int8(i)
		w.From.Instance = in.ID
		links.Start(k, in.cluster.now.Add(t.Write.Latency), t.Write.Work(w.Tokens))
	}
}

// onlyWrites reports whether nothing is under way but what is written to tiers, and nothing is to come: a run ends
// with its last request.
func (c *Cluster) onlyWrites() bool {
	t, _ := c.ends.Min()
	return t == Forever && c.settled()
}

// stopAllWrites ends what is written.
func (c *Cluster) stopAllWrites() {
	for i := int32(1); i < c.links.Len(); i++ {
		if c.links.Transfer(i).Write {
			c.links.Stop(i, c.now)
			c.links.Remove(i)
		}
	}
}

// stopWrites ends what in, which has failed, was writing.
func (c *Cluster) stopWrites(in *Instance) {
	for i := int32(1); i < c.links.Len(); i++ {
		if t := c.links.Transfer(i); t.Write && t.From.Instance == in.ID {
			c.links.Stop(i, c.now)
			c.links.Remove(i)
		}
	}
}

// countLoaded counts from which tier the blocks had been fetched that a request which is admitted for the first time
// finds in host memory.
func (in *Instance) countLoaded(r *Request, m *kv.Match) {
	from, to := m.Cached, m.Cached+m.Offloaded
	if r.admitted {
		to = from
	}
	in.tally.copied += int64(to - from)
	for i := range r.below.Ends {
		before := r.below.Ends[i] - r.below.Blocks(i)
		in.tally.loaded[i] += int64(max(0, min(to, r.below.Ends[i])-max(from, before)))
	}
	r.below = kv.Below{}
}

// preferComputing leaves to the prompt of r what it would take longer to fetch than to compute, from the furthest tier
// on: fetches that go on at their share of the ports, as they are now, against one step of r alone.
func (in *Instance) preferComputing(r *Request) {
	b := &r.below
	for i := len(in.pool.Tiers) - 1; i >= 0; i-- {
		n := b.Blocks(i)
		if n == 0 {
			continue
		}
		t, through := &in.pool.Tiers[i], in.tiers.through[i]
		beside := Duration(1 + in.cluster.links.Beside(through))
		single := transfer.Takes(t.Link.Work(n*in.cache.BlockSize()), in.cluster.links.Single(through))
		fetch := t.Link.Latency + single*beside
		from := b.Ends[i] - n
		if fetch+in.stepOf(r, b.Ends[i], n) < in.stepOf(r, from, 0) {
			return
		}
		in.tally.recomputed += int64(n)
		for j := i; j < len(b.Ends); j++ {
			b.Ends[j] = from
		}
	}
}

// stepOf returns how long a step takes that computes the prompt of r alone, after its first blocks, some of which
// are copied from host memory.
func (in *Instance) stepOf(r *Request, blocks, copied int32) Duration {
	computed := blocks * in.cache.BlockSize()
	s := in.tiers.shapes
	s[0] = Shape{SwapBlocks: int64(copied), Outputs: 1}
	s[0].AddChunk(in.pool.Windows, int64(computed), int64(r.Prompt+r.Emitted-computed), 1)
	in.pool.Model.Price(s, &in.tiers.price)
	return in.tiers.price.First
}

// addTiers counts what came from the tiers of an instance without ranks, or of a rank.
func (t *PoolTotals) addTiers(in *Instance) {
	size := int64(in.pool.BlockSize)
	t.Recomputed += in.tally.recomputed * size
	for i := range t.Tiers {
		t.Tiers[i].Fetched += in.tally.fetched[i] * size
		t.Tiers[i].Written += in.tally.written[i] * size
	}
	for _, lane := range in.batches() {
		t.CachedBelow += lane.tally.copied * size
		for i := range t.Tiers {
			t.Tiers[i].Cached += lane.tally.loaded[i] * size
		}
	}
}

// With a LoadLink, what host memory has of a prompt comes while other requests go on, as KV connectors of vLLM load it
// that say so (load_kv_async in vllm/v1/core/sched/scheduler.py, Scheduler.schedule, of 0.33.0). OffloadingConnector
// does, but for what its sync_load_budget_bytes take, which are 0 by default (kv_transfer/kv_connector/v1/offloading/
// scheduler.py:1277; 0.22.1 has none). A request has blocks for all of it before it comes, and joins the batch when it
// is there; those behind it are admitted meanwhile. Copies of a worker come one after the other
// (vllm/v1/kv_offload/cpu/gpu_worker.py:699).
//
// There, a request that asks for blocks which are just being loaded waits for them (offloading/scheduler.py:1022), and
// here it loads its own. A request whose client has cancelled it keeps its blocks there until they have come
// (v1/core/sched/scheduler.py:3016), and here it frees them at once.

// hostMemory is what a load comes from, in place of a tier.
const hostMemory = -1

// Loads reports whether some of the request that CachedTokens was asked of last comes from host memory before it can be
// admitted.
func (w *Work) Loads() bool { return w.match.Offloaded > 0 && w.in.pool.LoadLink != (Link{}) }

// Load begins to load that request, the head of the queue, if the rules leave blocks for it.
func (w *Work) Load(r *Request, rules LoadRules) bool {
	in, m := w.in, w.match
	blocks := in.cache.Blocks(w.matched())
	w.AllowLoads(rules)
	fits := w.loadFits(r, blocks, int64(m.Cached-m.Free))
	w.loads = loadRules{}
	if !fits {
		return false
	}
	slot := in.queue.pop()
	r.Computed, r.blocks, r.had = w.matched(), int32(blocks), 1+m.Cached
	w.match = kv.Match{}
	in.cache.Reuse(slot, r.prompt(), m)
	in.cache.Allocate(blocks - int64(m.Cached))
	in.commitBlocks(r, 1)
	r.state, r.admission = loading, in.admissions
	in.admissions++
	in.transfers.transferring++
	in.transfers.lacking += in.lacks(r)
	in.startLoad(r, w.now, m.Offloaded*in.cache.BlockSize())
	return true
}

// startLoad begins to copy so many tokens of r when what has been asked for before has come.
func (in *Instance) startLoad(r *Request, now Time, tokens int32) {
	links, link := &in.cluster.links, in.pool.LoadLink
	begin := max(now, in.tiers.copied)
	in.tiers.copied = begin.Add(link.Work(tokens))
	r.fetch = links.Add(link, false, false)
	t := links.Transfer(r.fetch)
	t.Fetch, t.Tier, t.Tokens = true, hostMemory, tokens
	t.Through[0] = transfer.Use{Port: in.tiers.host, Weight: FullPort}
	t.To = transfer.End{Instance: in.ID, Slot: r.slot}
	links.Start(r.fetch, begin, link.Work(tokens))
}

// completeLoad ends the transfer i of a request from host memory.
func (c *Cluster) completeLoad(i int32) {
	t := c.links.Remove(i)
	in := c.instances[t.To.Instance]
	in.requests.at[t.To.Slot].fetch = 0
	in.transfers.transferring--
	in.arrive(t.To.Slot)
	in.wake(c.now)
}

// Sending returns how many requests have blocks until others have received what is in them.
func (in *Instance) Sending() int { return in.transfers.pending }

// FromHost reports whether r, which Loaded returned, came from host memory, so that it has a prompt to go on with.
func (in *Instance) FromHost(r *Request) bool { return r.had > 0 }

// JoinPrompt admits r, which came from host memory. The caller gives it a chunk next.
func (w *Work) JoinPrompt(r *Request) {
	in := w.in
	w.Find(r)
	in.unload(r.slot)
	m := kv.Match{Cached: r.had - 1}
	m.Offloaded = r.Computed/in.cache.BlockSize() - m.Cached
	r.had = 0
	if len(in.pool.Tiers) > 0 {
		in.countLoaded(r, &m)
	}
	w.begin(r)
}
