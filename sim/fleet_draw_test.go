package sim_test

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// drawFleetScenario turns a scenario of one pool into one of up to three, through which requests are handed, with links
// from free to very slow, and instances that come and go at any time.
func drawFleetScenario(t *rapid.T) scenario {
	sc := drawScenario(t)
	for i := range sc.requests { // long outputs say no more
		r := &sc.requests[i]
		r.Output = min(r.Output, 200)
		if r.MaxOutput > 0 {
			r.MaxOutput = min(r.MaxOutput, r.Output+5)
		}
	}
	rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "fleet seed"), 3))
	one := func(v ...int) int { return v[rnd.IntN(len(v))] }
	sc.egress = sim.Duration(one(0, 0, 3)) * sim.Millisecond
	sc.refusal = int32(one(0, 0, 0, 0, 2, 7))
	shape := rapid.SampledFrom([]string{"alone", "pd", "pd", "pd", "pd", "epd", "mixed", "mixed"}).Draw(t, "shape")
	pools := map[string]int{"alone": 0, "pd": 1, "epd": 2, "mixed": one(1, 2)}[shape]
	for range pools {
		sc.pools = append(sc.pools, drawPool(t, sc))
	}
	if pools > 0 {
		sc.adapters = sim.Adapters{}
		for !hands(sc.policy) || sc.tree != nil && sc.anonymous {
			redrawPolicy(t, &sc)
		}
	}
	sc.drawRoutes(rnd, shape)
	if shape == "alone" || one(0, 1) == 0 {
		sc.drawScript(rnd)
	}
	for _, p := range append([]*scenario{&sc}, pointers(sc.pools)...) {
		p.settleStages()
		p.settleLoads()
	}
	return sc
}

// drawPool draws another pool for the requests of a scenario.
func drawPool(t *rapid.T, sc scenario) scenario {
	one := func(label string, v ...int32) int32 { return rapid.SampledFrom(v).Draw(t, label) }
	p := scenario{
		size: int(one("replicas", 1, 1, 2, 3)), blockSize: one("block_size", 1, 7, 16, 16, 32), fixed: one("fixed", 0, 0, 2),
		maxLen:     sc.maxLen,
		roundRobin: rapid.Bool().Draw(t, "round_robin"), crowded: sc.crowded, classes: sc.classes,
		ahead: rapid.Bool().Draw(t, "ahead"),
	}
	tight := rapid.SampledFrom([]float64{1, 1, 1.3, 2, 4, 100}).Draw(t, "cache")
	p.blocks = int64(float64((p.maxLen+p.blockSize-1)/p.blockSize+p.fixed) * tight)
	p.blocks = min(p.blocks, 5000+int64(p.maxLen))
	p.model = drawModel(t, 0)
	if p.blocks%3 == 0 { // as good as a draw
		p.drawRanks(int32(p.blocks / 3 % 6))
	}
	redrawPolicy(t, &p)
	for !hands(p.policy) {
		redrawPolicy(t, &p)
	}
	p.uncached = p.anonymous || rapid.Bool().Draw(t, "uncached")
	if !p.uncached && rapid.IntRange(0, 3).Draw(t, "offloading") == 0 {
		p.offload = rapid.SampledFrom([]int64{1, 7, p.blocks}).Draw(t, "offload_blocks")
		p.drawTiers(p.blocks)
	}
	p.maxNumSeqs = int(one("max_num_seqs", 1, 2, 4, 16, 64, 256))
	if c, ok := p.policy.(*schedulers.Continuous); ok {
		p.maxNumSeqs = min(p.maxNumSeqs, c.MaxNumSeqs)
		p.recomputes = rapid.Bool().Draw(t, "recompute")
		p.loads = (p.maxLen+p.blockSize)%2 == 0 // as good as a draw
	}
	if one("cold", 0, 0, 0, 1) == 1 {
		p.coldStart = sim.Duration(one("cold_start_ms", 1, 500)) * sim.Millisecond
		p.startsCold = rapid.Bool().Draw(t, "starts cold")
	}
	p.drawStages(int32(p.blocks) + 1) // a third of the pools without ranks
	p.windowCache(len(sc.requests) + int(p.blockSize))
	p.drawTokenizer(len(sc.requests) + int(p.blocks))
	drawSpeculation(t, &p)
	if p.speculation != nil && sc.speculation != nil {
		p.speculation.Acceptance = sc.speculation.Acceptance
	}
	return p
}

func redrawPolicy(t *rapid.T, sc *scenario) {
	sc.anonymous, sc.order = false, nil
	sc.promptMax, sc.swapBlocks = 0, 0
	drawPolicy(t, sc, sc.maxLen)
	if _, ok := sc.policy.(*schedulers.Continuous); !ok {
		sc.stages = nil
		if s := sc.speculation; s != nil { // what drafters of vLLM V1 alone do
			sc.speculation = &sim.Speculation{Tokens: s.Tokens, Adaptive: s.Adaptive, Acceptance: s.Acceptance,
				Uncapped: s.Uncapped}
		}
	}
}

// hands reports whether a policy can work where caches come from or go to elsewhere.
func hands(policy sim.Scheduler) bool {
	switch p := policy.(type) {
	case *schedulers.Static:
		return false
	case *schedulers.Continuous:
		return p.Reserve != schedulers.MaxOutput && p.Reserve != schedulers.MaxModelLen
	}
	return true
}

func (sc *scenario) drawRoutes(rnd *rand.Rand, shape string) {
	link := func() sim.Link {
		us := func(v ...int64) sim.Duration { return sim.Duration(v[rnd.IntN(len(v))]) * sim.Microsecond }
		l := sim.Link{Latency: us(0, 0, 7, 1000, 500_000), Fixed: us(0, 0, 13, 5000, 500_000),
			Token: us(0, 1, 33, 1000, 5000), Layers: []int32{1, 2, 7, 80}[rnd.IntN(4)]}
		if rnd.IntN(3) == 0 {
			l.Token += sim.Duration(rnd.IntN(1000))
		}
		own := rand.New(rand.NewPCG(uint64(l.Token), uint64(l.Fixed))) // which leaves the other draws as they are
		if own.IntN(3) == 0 {
			l.Windowed, l.Window = sim.Duration(own.Int64N(1e9)), []int32{1, 16, 100, 100_000}[own.IntN(4)]
		}
		return l
	}
	hop := func(pool int) sim.Stage {
		return sim.Stage{Pool: pool, Cache: true, Tokens: int32(rnd.IntN(2)), Push: rnd.IntN(3) == 0, Link: link()}
	}
	encode := sim.Stage{Pool: 0, Link: link()}
	switch shape {
	case "pd":
		sc.routes = []sim.Route{{hop(0), {Pool: 1}}}
	case "epd":
		pull := hop(1)
		pull.Push = false
		sc.routes = []sim.Route{{encode, pull, {Pool: 2}}}
	case "mixed":
		last := len(sc.pools)
		sc.routes = []sim.Route{{hop(0), {Pool: 1}}, {{Pool: rnd.IntN(last + 1)}}, {hop(0), {Pool: last}},
			{encode, {Pool: last}}}[:2+rnd.IntN(3)]
		if last == 1 && len(sc.routes) > 2 { // caches are pushed or pulled between two pools, and not both
			sc.routes[2][0].Push = sc.routes[0][0].Push
		}
		if rnd.IntN(2) == 0 {
			sc.byLength = 1 + rnd.Int32N(sc.maxLen)
		}
	}
}

// drawScript lets instances start, drain, fail and switch at random instants, of which some are arrivals or on their
// grid, and in the end starts some of each pool.
func (sc *scenario) drawScript(rnd *rand.Rand) {
	pools := append([]*scenario{sc}, pointers(sc.pools)...)
	insts := 0
	for _, p := range pools {
		p.sizeMax = p.size + rnd.IntN(3)
		insts += p.sizeMax
		if rnd.IntN(3) == 0 {
			p.size = rnd.IntN(p.size + 1)
		}
	}
	sc.activates = rnd.IntN(2) == 0
	sc.activation = sim.Duration(rnd.IntN(3)) * 7 * sim.Millisecond
	end := sc.requests[len(sc.requests)-1].Arrival + sim.Time(sim.Second)
	for range 1 + rnd.IntN(12) {
		at := sim.Time(rnd.Int64N(int64(end)))
		switch rnd.IntN(3) {
		case 0:
			at = sc.requests[rnd.IntN(len(sc.requests))].Arrival
		case 1:
			at = at / sim.Time(sim.Millisecond) * sim.Time(sim.Millisecond)
		}
		sc.script = append(sc.script, action{
			at: at, what: []string{"start", "start", "fail", "fail", "drain", "switch"}[rnd.IntN(6)], instance: rnd.IntN(insts),
			pool:  rnd.IntN(len(pools)),
			after: sim.Duration(rnd.IntN(3)) * 20 * sim.Millisecond, retry: rnd.IntN(4) > 0,
		})
	}
	for i := range pools {
		for range 2 {
			sc.script = append(sc.script, action{at: end + sim.Time(i), what: "start", pool: i})
		}
	}
	slices.SortStableFunc(sc.script, func(a, b action) int { return cmp.Compare(a.at, b.at) })
}

func pointers(list []scenario) (all []*scenario) {
	for i := range list {
		all = append(all, &list[i])
	}
	return all
}
