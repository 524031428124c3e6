package sim_test

import (
	"math/rand/v2"
	"slices"

	"github.com/decodesim/decodesim/sim"
)

// newStore returns a store of so many blocks for the content of a run.
func (n *naive) newStore(blocks int64) *hostStore {
	return &hostStore{tree: n.contents, size: n.blockSize, limit: blocks}
}

// newTiers gives an instance its stores below host memory; the pool has those that it shares.
func (n *naive) newTiers(in *naiveInstance) {
	in.below = nil
	for i, t := range n.tiers {
		s := n.newStore(t.Blocks)
		if t.Shared {
			if i >= len(n.shared) {
				n.shared = append(n.shared, make([]*hostStore, i+1-len(n.shared))...)
			}
			if n.shared[i] == nil {
				n.shared[i] = s
			}
			s = n.shared[i]
		}
		in.below = append(in.below, s)
	}
	above := in.store
	for _, s := range in.below {
		if n.writeBack {
			above.spills = s
		}
		above = s
	}
}

// storeFrom has the stores keep what r holds.
func (in *naiveInstance) storeFrom(r *naiveRequest) {
	in.store.keep(r)
	if in.store.spills == nil {
		for _, s := range in.below {
			s.keep(r)
		}
	}
	in.writes()
}

// writes begins to write what tiers have got.
func (in *naiveInstance) writes() {
	n := in.of
	for i, t := range n.tiers {
		tokens := in.below[i].added * n.blockSize
		in.below[i].added = 0
		if tokens == 0 || t.WriteShare == 0 {
			continue
		}
		n.writtenTokens[i] += int64(tokens)
		n.moves = append(n.moves, &naiveMove{number: n.moved, from: in, write: true, tier: i,
			begin: n.now.Add(t.Write.Latency), left: wholeWork(t.Write, tokens)})
		n.moved++
		n.cover["writes"]++
	}
}

// stopWrites ends what an instance that has failed was writing.
func (in *naiveInstance) stopWrites() {
	for _, m := range slices.Clone(in.of.moves) {
		if m.write && m.from == in {
			in.of.stop(m)
			in.of.moves = remove(in.of.moves, m)
			in.of.cover["writes that a failure ends"]++
		}
	}
}

// naiveFetch is what a request fetches, tier by tier.
type naiveFetch struct {
	in   *naiveInstance
	tier int
	have int32   // blocks in the cache and in host memory when it came
	ends []int32 // where what each tier gives ends
}

// from returns where what a tier gives begins.
func (f *naiveFetch) from(tier int) int32 {
	if tier == 0 {
		return f.have
	}
	return f.ends[tier-1]
}

// fetches begins to fetch what tiers have of r, or reports that there is nothing.
func (n *naive) fetches(in *naiveInstance, r *naiveRequest) bool {
	if in.store == nil || len(in.below) == 0 {
		return false
	}
	hits, _ := in.pool.lookup(r)
	f := &naiveFetch{in: in, have: int32(len(hits))}
	f.have += in.store.beyond(in.pool, r, len(hits))
	end := f.have
	for _, s := range in.below {
		end += s.beyond(in.pool, r, int(end))
		f.ends = append(f.ends, end)
	}
	n.choose(in, r, f)
	if f.ends[len(f.ends)-1] == f.have {
		return false
	}
	r.fetch, r.at = f, in
	in.fetching = append(in.fetching, r)
	n.fetchTier(r, 0)
	return true
}

// choose has r compute what it would take longer to fetch.
func (n *naive) choose(in *naiveInstance, r *naiveRequest, f *naiveFetch) {
	for i := len(f.ends) - 1; i >= 0 && n.fetchOrRecompute; i-- {
		from := f.from(i)
		if f.ends[i] == from {
			continue
		}
		m := &naiveMove{fetch: true, to: in, tier: i}
		beside := 0
		for _, other := range n.moves {
			if other.flowing && slices.ContainsFunc(ports(m), func(p naivePort) bool { return other.passes()[p] > 0 }) {
				beside++
			}
		}
		link := n.tiers[i].Link
		rate := uint64(whole)
		for p, weight := range m.passes() {
			rate = min(rate, max(1, (whole-n.reservedOf(p))*whole/weight))
		}
		single := exactly(wholeWork(link, (f.ends[i]-from)*n.blockSize), whole, rate, rate-1)
		takes := link.Latency + single*sim.Duration(1+beside)
		if takes+n.priceOne(r, f.ends[i], f.ends[i]-from) < n.priceOne(r, from, 0) {
			n.cover["fetches that are worth it"]++
			return
		}
		n.cover["tokens computed rather than fetched"] += int((f.ends[i] - from) * n.blockSize)
		for j := i; j < len(f.ends); j++ {
			f.ends[j] = from
		}
	}
}

func ports(m *naiveMove) (list []naivePort) {
	for p := range m.passes() {
		list = append(list, p)
	}
	return list
}

// priceOne returns how long a step takes that computes r alone, after so many blocks, some of them copied.
func (n *naive) priceOne(r *naiveRequest, blocks, copied int32) sim.Duration {
	b := sim.Shape{SwapBlocks: int64(copied)}
	n.prefill(&b, int64(blocks*n.blockSize), int64(r.Prompt+r.Emitted-blocks*n.blockSize), true)
	return n.price(append([]sim.Shape{b}, make([]sim.Shape, max(1, n.ranks)-1)...))
}

// fetchTier begins to fetch from the next tier that has some.
func (n *naive) fetchTier(r *naiveRequest, tier int) {
	f := r.fetch
	for f.ends[tier] == f.from(tier) {
		tier++
	}
	f.tier = tier
	link := n.tiers[tier].Link
	m := &naiveMove{number: n.moved, r: r, to: f.in, fetch: true, tier: tier,
		begin: n.now.Add(link.Latency), left: wholeWork(link, (f.ends[tier]-f.from(tier))*n.blockSize)}
	n.moved++
	n.moves = append(n.moves, m)
	n.cover["fetches"]++
}

// fetched ends a fetch.
func (f *naiveFleet) fetched(m *naiveMove) {
	r, in, n := m.r, m.to, m.to.of
	g := r.fetch
	f.moves = remove(f.moves, m)
	n.fetchedTokens[m.tier] += int64((g.ends[m.tier] - g.from(m.tier)) * n.blockSize)
	in.store.put(r.path(), int(g.ends[m.tier]))
	in.writes()
	if g.ends[len(g.ends)-1] > g.ends[m.tier] {
		f.cover["fetches from one tier after another"]++
		n.fetchTier(r, m.tier+1)
		return
	}
	in.fetching = remove(in.fetching, r)
	r.fetch, r.fetchedBy = nil, g
	n.enqueue(in, r)
	in.wake()
}

// path returns the node to which what others may read of r leads.
func (r *naiveRequest) path() int32 {
	if r.OutputContent != 0 {
		return r.OutputContent
	}
	return r.Content
}

// unfetch stops the fetch of r.
func (f *naiveFleet) unfetch(r *naiveRequest) {
	if r.host != nil {
		f.dropHost(r)
		return
	}
	for _, m := range slices.Clone(f.moves) {
		if m.fetch && m.r == r {
			f.stop(m)
			f.moves = remove(f.moves, m)
		}
	}
	r.fetch.in.fetching = remove(r.fetch.in.fetching, r)
	r.fetch = nil
	f.cover["fetches that were cancelled"]++
}

// countFetched counts which of the blocks that an admission loads from host memory had come from which tier.
func (n *naive) countFetched(r *naiveRequest, f found) {
	if !r.entered {
		n.below += int64(f.loads * n.blockSize)
	}
	if g := r.fetchedBy; g != nil && !r.entered {
		for i := int32(len(f.hits)); i < int32(len(f.hits))+f.loads; i++ {
			for tier := range g.ends {
				if g.from(tier) <= i && i < g.ends[tier] {
					n.fromTier[tier] += int64(n.blockSize)
				}
			}
		}
	}
	r.fetchedBy = nil
}

// drawTiers puts tiers of all sizes and speeds under most host memory.
func (sc *scenario) drawTiers(seed int64) {
	rnd := rand.New(rand.NewPCG(uint64(seed), 5))
	if sc.offload == 0 || rnd.IntN(4) == 0 {
		return
	}
	for range 1 + rnd.IntN(2) {
		us := func(v ...int64) sim.Duration { return sim.Duration(v[rnd.IntN(len(v))]) * sim.Microsecond }
		share := func(v ...uint64) uint64 { return v[rnd.IntN(len(v))] }
		sc.tiers = append(sc.tiers, sim.Tier{Name: "tier", Shared: rnd.IntN(2) == 0,
			Blocks:         []int64{1, 5, sc.offload, 10 * sc.offload, sc.blocks, 10 * sc.blocks}[rnd.IntN(6)],
			Link:           sim.Link{Latency: us(0, 3, 1000, 500_000), Fixed: us(0, 0, 13), Token: us(0, 1, 33, 1000)},
			Share:          share(sim.FullPort, sim.FullPort/3, 1+uint64(rnd.IntN(sim.FullPort))),
			ReceivingShare: share(0, sim.FullPort, 1+uint64(rnd.IntN(sim.FullPort)))})
	}
	sc.writeBack, sc.fetchOrRecompute = rnd.IntN(3) == 0, rnd.IntN(3) == 0
	if sc.writeBack && sc.tiers[0].Shared { // what makes room in it is no instance's own
		sc.tiers[len(sc.tiers)-1].Shared = true
	}
	sc.drawWrites(seed)
}

// drawWrites lets writing to most tiers take time, and collectives keep some of the network.
func (sc *scenario) drawWrites(seed int64) {
	rnd := rand.New(rand.NewPCG(uint64(seed), 8))
	us := func(v ...int64) sim.Duration { return sim.Duration(v[rnd.IntN(len(v))]) * sim.Microsecond }
	share := func(v ...uint64) uint64 { return v[rnd.IntN(len(v))] }
	for i := range sc.tiers {
		t := &sc.tiers[i]
		t.Write = sim.Link{Latency: us(0, 3, 500_000), Fixed: us(0, 0, 13), Token: us(0, 1, 33, 1000)}
		t.WriteShare = share(0, sim.FullPort, sim.FullPort/3, 1+uint64(rnd.IntN(sim.FullPort)))
		t.SendingShare = share(0, sim.FullPort, 1+uint64(rnd.IntN(sim.FullPort)))
	}
	sc.reserved = share(0, 0, sim.FullPort/3, sim.FullPort-1-uint64(rnd.IntN(sim.FullPort/2)))
}
