package sim_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/policies/fleet"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// scenario is a random configuration for the laws.
type scenario struct {
	size                        int
	ranks                       int     // of an instance; 0: 1
	ranksInTurn                 bool    // requests go to one after the other
	stages                      []int32 // layers of each pipeline stage; nil: there is one
	blocks                      int64
	blockSize                   int32
	fixed                       int32
	windowed                    sim.Windowed
	passing                     sim.Passing
	maxLen                      int32
	crowded                     bool // much comes at once
	onlyCaches                  bool // no prompt is computed where SGLang's decode side has its overlap scheduler
	promptMax                   int32
	windows                     []sim.Window
	policy                      sim.Scheduler
	anonymous                   bool      // the policy knows no prefix caching
	order                       sim.Order // nil: first come, first served
	swapBlocks                  int64
	radix                       bool       // the cache is a radix tree of sequences
	offload                     int64      // host memory for what the cache has no room for
	loadLink                    sim.Link   // over which it comes back beside steps; the zero value: in a step
	tiers                       []sim.Tier // below that
	writeBack, fetchOrRecompute bool
	reserved                    uint64 // of the ports of an instance
	classes                     int
	reasons                     bool // outputs begin with tokens that are hidden
	model                       sim.StepModel
	ahead                       bool
	roundRobin                  bool
	speculation                 *sim.Speculation
	ingress                     sim.Duration
	tokenize                    sim.Duration // each prompt token
	coldStart                   sim.Duration
	noise                       sim.Noise
	adapters                    sim.Adapters
	requests                    []sim.Request
	tree                        *sim.Contents // nil: no prefix caching
	clients                     int           // > 0: closed loop
	sessions                    int           // > 0: the requests are turns of conversations, or of agents
	think                       sim.Duration  // of a client
	fleetScenario
}

// windowCache gives every third scenario layers whose windows take blocks up to a length, by a number that is as good
// as a draw, and as many more blocks as the longest sequence then needs.
func (sc *scenario) windowCache(n int) {
	if n%3 != 0 {
		return
	}
	sc.windowed = sim.Windowed{Blocks: []int32{1, 6}[n/3%2], BlocksMax: []int32{1, 2, 5, 40}[n/6%4]}
	blocks := (sc.maxLen + sc.blockSize - 1) / sc.blockSize
	sc.blocks += int64(sc.windowed.Blocks * min(blocks, sc.windowed.BlocksMax))
}

// drawScenario draws sizes that are often tight: full caches, single sequences, budgets of a few tokens, prices that
// switch regime, windows that fill, arrivals that coincide with step boundaries and clients that cancel.
func drawScenario(t *rapid.T) scenario {
	one := func(label string, v ...int32) int32 { return rapid.SampledFrom(v).Draw(t, label) }
	sc := scenario{
		size: int(one("replicas", 1, 1, 1, 2, 5)), blockSize: one("block_size", 1, 7, 16, 16, 32),
		fixed:      one("fixed", 0, 0, 2),
		roundRobin: rapid.Bool().Draw(t, "round_robin"), classes: int(one("classes", 0, 1, 3)),
		ingress: sim.Duration(one("ingress", 0, 0, 5)) * sim.Millisecond,
	}
	prompt, output := one("prompt", 1, 20, 300, 2000), one("output", 1, 5, 60, 500, 2000)
	sc.crowded = rapid.IntRange(0, 2).Draw(t, "crowded") == 0
	cache := []float64{1, 1.3, 2, 5, 20, 1000}
	if sc.crowded { // more than its memory holds
		prompt, output, cache = one("prompt", 5, 40, 100), one("output", 40, 100, 300), []float64{1, 1.3, 2, 4}
	}
	sc.maxLen = prompt + output - one("reject", 0, 0, 0, 1)
	sc.maxLen = max(2, sc.maxLen)
	sc.think = sim.Duration(one("think", 0, 0, 50)) * sim.Millisecond
	switch rapid.SampledFrom([]string{"open", "open", "open", "closed", "sessions"}).Draw(t, "source") {
	case "closed":
		sc.clients = int(one("clients", 1, 3, 20))
	case "sessions":
		sc.sessions = int(one("sessions", 1, 3, 20))
		sc.maxLen *= one("turns", 1, 3, 6) // and not all of them find room
	}
	tight := rapid.SampledFrom(cache).Draw(t, "cache")
	sc.blocks = int64(float64((sc.maxLen+sc.blockSize-1)/sc.blockSize+sc.fixed) * tight)
	for range one("windows", 0, 0, 0, 1, 2) {
		sc.windows = append(sc.windows,
			sim.Window{Tokens: one("window", 1, 16, 100, 700), Chunked: rapid.Bool().Draw(t, "chunked")})
	}
	drawPolicy(t, &sc, prompt)
	sc.drawPreemption()
	sc.model = drawModel(t, len(sc.windows))
	sc.drawRequests(t, prompt, output)
	sglang, sorts := sc.policy.(*schedulers.SGLang)
	sorts = sorts && sglang.Order != schedulers.FCFS
	if (rapid.Bool().Draw(t, "prefix_caching") || sorts) && !sc.anonymous {
		sc.drawContents(t)
	}
	sc.ahead = rapid.Bool().Draw(t, "ahead")
	if first := sc.requests[0]; first.Output%3 == 0 { // as good as a draw
		sc.coldStart = []sim.Duration{1, 500, 20_000}[first.Prompt%3] * sim.Millisecond
		sc.startsCold = first.Prompt%2 == 0
	}
	if n := len(sc.requests); n%5 == 0 { // as above, for another fifth
		noise, err := fleet.NewNoise(fleet.Noise{Jitter: .1, NeighbourShare: .3, NeighbourSlowdown: 1.5,
			Period: 300 * sim.Millisecond}, uint64(n))
		require.NoError(t, err)
		sc.noise = noise
	}
	if last := sc.requests[len(sc.requests)-1]; last.Prompt%3 == 0 { // and for a third
		sc.drawRanks(last.Output)
	}
	sc.drawStages(int32(len(sc.requests)) + sc.maxLen)
	sc.windowCache(len(sc.requests))
	drawSpeculation(t, &sc)
	sc.drawRadix(t)
	sc.passChunks(len(sc.requests) + int(sc.blockSize))
	sc.drawAdapters()
	sc.drawTokenizer(len(sc.requests) + int(sc.maxLen))
	sc.settleStages()
	sc.settleLoads()
	return sc
}

// drawRanks gives the instances of a pool two to eight ranks, which wait for what they share, by a number.
func (sc *scenario) drawRanks(n int32) {
	sc.ranks, sc.ranksInTurn = []int{2, 3, 8}[n%3], n%2 == 0
	if m, ok := sc.model.(prices); ok {
		m.shared = sim.Duration(n%2) * 7_000_001
		sc.model = m
	}
}

// drawRadix lets the cache of SGLang be a radix tree, mostly.
func (sc *scenario) drawRadix(t *rapid.T) {
	if _, ok := sc.policy.(*schedulers.SGLang); ok && sc.tree != nil && sc.offload == 0 {
		sc.radix = rapid.IntRange(0, 3).Draw(t, "radix") > 0
	}
}

func (sc *scenario) drawRequests(t *rapid.T, prompt, output int32) {
	seed := rapid.Uint64().Draw(t, "seed")
	rnd, hidden := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 3))
	sc.reasons = hidden.IntN(4) == 0
	n := rapid.IntRange(1, 150).Draw(t, "requests")
	rate := math.Pow(10, rapid.Float64Range(-0.5, 3.5).Draw(t, "log10 rate"))
	if sc.crowded {
		rate = 300
	}
	grid := sim.Time(rapid.SampledFrom([]sim.Duration{1, 1, sim.Millisecond, 500 * sim.Millisecond}).Draw(t, "grid"))
	patience := rapid.SampledFrom([]float64{0, 0, 0, 0.05, 2, 50}).Draw(t, "patience_s")
	at := 0.0
	for i := range n {
		at += rnd.ExpFloat64() / rate
		r := sim.Request{ID: int32(i), Prompt: 1 + rnd.Int32N(prompt), Output: 1 + rnd.Int32N(output), Traced: true}
		if rnd.IntN(4) == 0 {
			r.MaxOutput = min(r.Output+rnd.Int32N(5), output)
		}
		r.Arrival = sim.Time(at*1e12) / grid * grid
		r.Class, r.Priority = uint8(rnd.IntN(max(1, sc.classes))), int8(rnd.IntN(3)-1)
		if sc.reasons {
			r.Reasoning = hidden.Int32N(r.Output + 1)
		}
		if patience > 0 && rnd.IntN(2) == 0 {
			r.Deadline = r.Arrival.Add(1 + sim.Seconds(rnd.ExpFloat64()*patience))
			if d := r.Deadline / grid * grid; d > r.Arrival {
				r.Deadline = d
			}
		}
		sc.requests = append(sc.requests, r)
	}
}

// drawContents turns prefix caching on and lets prompts begin with the paths of a random tree, or with a part of one.
// The cache is of a size that a block-by-block reference can follow.
func (sc *scenario) drawContents(t *rapid.T) {
	sc.tree = new(sim.Contents)
	sc.blocks = min(sc.blocks, 5000+int64(sc.maxLen))
	rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "content seed"), 2))
	depth := []int32{0}
	longest := 1 + rnd.Int32N(sc.requests[0].Prompt+40)
	for range rapid.SampledFrom([]int{0, 1, 3, 10, 40}).Draw(t, "nodes") {
		parent := rnd.Int32N(int32(len(depth)))
		for depth[parent] == 4 {
			parent = rnd.Int32N(int32(len(depth)))
		}
		sc.tree.Add(parent, 1+rnd.Int32N(longest))
		depth = append(depth, depth[parent]+1)
	}
	if rapid.Bool().Draw(t, "offloading") {
		sc.offload = rapid.SampledFrom([]int64{1, 7, sc.blocks / 4, sc.blocks, 10 * sc.blocks}).Draw(t, "offload_blocks")
	}
	sc.drawTiers(int64(len(sc.requests))<<20 + 31*sc.offload + int64(sc.maxLen))
	tail := rapid.SampledFrom([]int32{1, 20, 300}).Draw(t, "tail")
	for i := range sc.requests {
		r := &sc.requests[i]
		r.Content = rnd.Int32N(int32(sc.tree.Len()))
		if r.Content == 0 || rnd.IntN(4) == 0 {
			continue
		}
		if room := sc.maxLen - r.Limit(); room > 0 {
			r.Prompt = min(room, sc.tree.Tokens(r.Content)+rnd.Int32N(tail))
		}
	}
}

// source returns a fresh source of the scenario's requests, and the tree of their contents.
func (sc *scenario) source() (sim.Source, *sim.Contents) {
	if sc.agentic() {
		a := newAgents(sc)
		if !a.cached {
			return a, nil
		}
		return a, a.Contents()
	}
	if sc.sessions > 0 {
		tree := sc.tree
		if tree != nil {
			tree = clone(tree)
		}
		return newConversations(sc, tree), tree
	}
	if sc.clients > 0 {
		c := &closedLoop{requests: sc.requests, think: sc.think, client: map[int32]int{}}
		for range sc.clients {
			c.ready = append(c.ready, 0)
		}
		return c, sc.tree
	}
	return &open{requests: sc.requests}, sc.tree
}

// open yields requests as they are.
type open struct {
	requests []sim.Request
	n        int
}

func (s *open) Next(r *sim.Request) bool {
	if s.n == len(s.requests) {
		return false
	}
	*r = s.requests[s.n]
	s.n++
	return true
}

// closedLoop yields each request when a client is ready for it.
type closedLoop struct {
	requests []sim.Request
	n        int
	think    sim.Duration
	ready    []sim.Time // by client; Forever: it waits for an answer
	client   map[int32]int
}

func (s *closedLoop) first() int {
	best := 0
	for i, t := range s.ready {
		if t < s.ready[best] {
			best = i
		}
	}
	return best
}

func (s *closedLoop) When() sim.Time {
	if s.n == len(s.requests) {
		return sim.Forever
	}
	return s.ready[s.first()]
}

func (s *closedLoop) Next(r *sim.Request) bool {
	i := s.first()
	*r = s.requests[s.n]
	if r.Deadline != 0 {
		r.Deadline = s.ready[i].Add(r.Deadline.Sub(r.Arrival))
	}
	r.Arrival = s.ready[i]
	s.client[r.ID] = i
	s.ready[i] = sim.Forever
	s.n++
	return true
}

func (s *closedLoop) Done(at sim.Time, r *sim.Request) { s.ready[s.client[r.ID]] = at.Add(s.think) }

// queues reports whether batches are queued, which follows from what was drawn. No engine without eviction does so.
func (sc *scenario) queues() bool {
	switch p := sc.policy.(type) {
	case *schedulers.Continuous:
		return !p.NoEvict && sc.ahead && (sc.maxLen+sc.blockSize)%3 > 0
	case *schedulers.SGLang:
		return sc.ahead && sc.speculation == nil && (sc.radix || sc.uncached) && (sc.maxLen+sc.blockSize)%4 > 0
	}
	return false
}

// unnamedFirst reports whether blocks that no request can ask for are evicted first.
func (sc *scenario) unnamedFirst() bool { return sc.blocks%2 == 0 }

// drafter returns what a drafter needs of cached prompts.
func (sc *scenario) drafter() (d sim.Drafter) {
	p, ok := sc.policy.(*schedulers.Continuous)
	if !ok || p.NoEvict || sc.speculation == nil || sc.speculation.Tokens == 0 || sc.offload > 0 {
		return d
	}
	d.DropsLast, d.Ahead = sc.maxLen%3 == 0, sc.maxLen%3%2
	return d
}

// config returns the scenario for the simulator.
func (sc *scenario) config(sink sim.Sink) sim.Config {
	source, tree := sc.source()
	if j, ok := sink.(*journal); ok && sc.streamInterval() > 1 {
		j.chunks = metrics.NewChunks(sc.streamInterval())
	}
	c := sim.Config{Source: source, Sink: sink, Ingress: sc.ingress, Contents: tree,
		Pools: []*sim.PoolSpec{sc.pool(tree != nil)}}
	sc.extend(&c)
	return c
}

// streamInterval returns how many tokens clients get together; it follows from what was drawn.
func (sc *scenario) streamInterval() int32 {
	tokens := int32(0)
	for i := range sc.requests {
		tokens += sc.requests[i].Output
	}
	return []int32{1, 2, 3, 10}[tokens%4]
}

// pool returns a pool of the scenario for the simulator.
func (sc *scenario) pool(contents bool) *sim.PoolSpec {
	var router sim.Router = routers.LeastLoaded{}
	if sc.roundRobin {
		router = new(routers.RoundRobin)
	}
	p := &sim.PoolSpec{
		Tokenize: sc.tokenize, RankTokenizers: sc.rankTokenizers(),
		Ranks: sc.ranks, Balancer: sc.balancer, Stages: sc.stages, FillsQueue: sc.fillsQueue(),
		Name: "test", Size: sc.size, SizeMax: sc.sizeMax, MaxNumSeqs: sc.maxNumSeqs, RecomputeLastToken: sc.recomputes,
		ConnectorLoads: sc.loads, DefersFrees: sc.defers(), Reserved: sc.leavesFree(),
		KVBlocks: sc.blocks, BlockSize: sc.blockSize, SequenceBlocks: sc.fixed, Windowed: sc.windowed,
		Passing: sc.passing, MaxModelLen: sc.maxLen,
		PromptMax: sc.promptMax, Windows: sc.windows,
		AsyncScheduling: sc.ahead, ColdStart: sc.coldStart, StartsCold: sc.startsCold, Noise: sc.noise,
		SwapBlocks: sc.hostBlocks(), Speculation: sc.speculation, Adapters: sc.adapters,
		Classes: sc.classes, Order: sc.order, Model: sc.model, Scheduler: sc.freshPolicy(), Router: router,
	}
	if sc.queues() {
		p.BatchQueue = 2
	}
	p.RecvInterval, p.NetworkReserved = sc.recvInterval(), sc.reserved
	p.UnnamedFirst, p.Drafter = sc.unnamedFirst(), sc.drafter()
	if contents && !sc.uncached {
		p.PrefixCaching, p.OffloadBlocks, p.RadixCache = true, sc.offload, sc.radix
		p.LoadLink = sc.loadLink
		p.Tiers, p.WriteBack, p.FetchOrRecompute = sc.tiers, sc.writeBack, sc.fetchOrRecompute
	}
	return p
}

// balancer returns what picks the rank of a request.
func (sc *scenario) balancer() sim.Router {
	if sc.ranksInTurn {
		return new(routers.RoundRobin)
	}
	return routers.LeastLoaded{}
}

func run(t require.TestingT, c sim.Config) *sim.Cluster {
	if h, ok := t.(testing.TB); ok {
		h.Helper()
	}
	cl, err := sim.New(c)
	require.NoError(t, err)
	cl.Run()
	return cl
}
