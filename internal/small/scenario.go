package small

import (
	"fmt"
	"math/rand/v2"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
)

// BlockSize is how many tokens a block has.
const BlockSize = 4

// Scenario is requests that come to one pool, or to one whose prompts a second one loads.
type Scenario struct {
	Pools    []Pool
	Link     sim.Link // to the second pool
	Push     bool
	Tokens   int32 // that the first pool emits
	Requests []sim.Request
	Tree     *sim.Contents // nil: nothing is shared
}

// Pool is one instance.
type Pool struct {
	Scheduler   sim.Scheduler
	ByPriority  bool
	Blocks      int64
	Host        int64 // blocks of host memory to which vLLM V0 swaps
	MaxLen      int32
	Ahead       bool // steps are composed while others run
	Caches      bool
	Radix       bool
	Receives    bool // what another has computed
	Loads       bool // what it receives, as vLLM's KV connectors do
	Recomputes  bool // the last token of a prompt
	Speculation *sim.Speculation
	Step, Token sim.Duration // what a step takes, and each of its tokens
}

// String is what a test says of a scenario that fails.
func (s *Scenario) String() string {
	text := ""
	for i := range s.Pools {
		p := &s.Pools[i]
		text += fmt.Sprintf("%T %+v in %+v; ", p.Scheduler, p.Scheduler, *p)
	}
	return fmt.Sprintf("%s%+v", text, s.Requests)
}

// draw draws an instance with blocks for one sequence or two and 2 to 5 requests, each step of which takes a
// millisecond or two: budgets, blocks and places are all about as large as what asks for them.
type draw struct{ *rand.Rand }

func (r draw) flag() bool { return r.IntN(2) == 0 }

func (r draw) one(v ...int32) int32 { return v[r.IntN(len(v))] }

// All draws 2n scenarios of one pool, n in which a second one loads what it gets and n in which it receives it. They
// are the same each time.
func All(n int) []Scenario {
	all := make([]Scenario, 0, 4*n)
	r := draw{rand.New(rand.NewPCG(17, 1))}
	for range 2 * n {
		s, p := r.requests()
		r.scheduler(&p)
		r.speculate(&p)
		s.Pools = []Pool{p}
		all = append(all, s)
	}
	r = draw{rand.New(rand.NewPCG(17, 2))}
	for range n {
		all = append(all, r.two(func(d *Pool) {
			d.Loads, d.Recomputes = true, r.flag()
			r.continuous(d)
		}))
	}
	r = draw{rand.New(rand.NewPCG(17, 4))}
	for range n {
		all = append(all, r.two(r.scheduler))
	}
	return all
}

// scheduler draws one of either engine.
func (r draw) scheduler(p *Pool) {
	if r.flag() {
		r.sglang(p)
	} else {
		r.continuous(p)
	}
}

// requests draws all of a scenario but its schedulers.
func (r draw) requests() (s Scenario, p Pool) {
	p = Pool{MaxLen: 25 + r.one(0, 1), Blocks: 7 + r.Int64N(3), Step: sim.Millisecond * sim.Duration(r.one(1, 2)),
		Token: sim.Duration(r.one(0, 0, 33_000_001)), Ahead: r.flag()}
	at := sim.Time(0)
	for i := range 2 + r.Int32N(4) {
		q := sim.Request{ID: i, Arrival: at, Traced: true, Prompt: 1 + r.Int32N(12), Output: 1 + r.Int32N(12),
			Priority: int8(r.IntN(2))}
		if r.IntN(4) == 0 {
			q.MaxOutput = min(q.Output+r.Int32N(4), p.MaxLen-q.Prompt)
		}
		s.Requests = append(s.Requests, q)
		if r.flag() {
			at = at.Add(sim.Millisecond * sim.Duration(r.Int64N(5)))
		}
	}
	if r.IntN(3) > 0 {
		return s, p
	}
	s.Tree, p.Caches = new(sim.Contents), true
	nodes := []int32{0, s.Tree.Add(0, 8), s.Tree.Add(0, 5)}
	nodes = append(nodes, s.Tree.Add(nodes[1], 4))
	for i := range s.Requests {
		if n := nodes[r.IntN(len(nodes))]; s.Tree.Tokens(n) < s.Requests[i].Prompt {
			s.Requests[i].Content = n
		}
	}
	return s, p
}

// speculate gives every third pool drafts.
func (r draw) speculate(p *Pool) {
	if r.IntN(3) > 0 {
		return
	}
	p.Speculation = &sim.Speculation{Tokens: r.one(1, 2, 3),
		Acceptance: acceptance{rng.NewKeyed(r.Uint64(), "small.acceptance"), []float64{.3, .9, 1}[r.IntN(3)]}}
	if c, ok := p.Scheduler.(*schedulers.Continuous); ok {
		p.Speculation.LookAhead, p.Speculation.Fills = r.one(0, p.Speculation.Tokens), r.flag()
		c.DraftSlots = min(r.one(0, 0, 1), c.MaxNumBatchedTokens-1)
	}
}

// sglang draws a scheduler whose expectations are as low as they may be, or whatever they are.
func (r draw) sglang(p *Pool) {
	s := &schedulers.SGLang{MaxRunningRequests: int(r.one(1, 2, 3, 8, 8)), MaxPrefillTokens: r.one(6, 8, 12, 20, 100),
		ChunkedPrefillSize: r.one(0, 0, 4, 5, 8, 12), EnableMixedChunk: r.flag(), IgnoreEOS: r.IntN(8) == 0,
		ClipMaxNewTokens: r.one(1, 1, 4, 4096), RetractDecodeSteps: r.one(1, 2, 5), ByPriority: r.IntN(3) == 0,
		InitNewTokenRatio: schedulers.Ratio([]float64{.1, .7, 1}[r.IntN(3)]), MinNewTokenRatio: schedulers.Ratio(.1),
		NewTokenRatioDecay: schedulers.Ratio([]float64{0, .05, .3}[r.IntN(3)])}
	p.Scheduler = s
	if p.Caches {
		p.Radix = r.IntN(4) > 0
		s.Order = []schedulers.CacheOrder{schedulers.FCFS, schedulers.LPM, schedulers.DFSWeight}[r.IntN(3)]
	}
	p.ByPriority = s.Order == schedulers.FCFS && p.MaxLen%2 == 0
}

// continuous draws the scheduler of vLLM.
func (r draw) continuous(p *Pool) {
	seqs := r.one(1, 2, 3, 8)
	p.Scheduler = &schedulers.Continuous{MaxNumSeqs: int(seqs), MaxNumBatchedTokens: max(seqs, r.one(3, 4, 5, 8, 12, 40)),
		LongPrefillTokenThreshold: r.one(0, 0, 3), SchedulerReserveFullISL: r.flag(), SingleExempt: r.flag(),
		MaxModelLen: p.MaxLen, WatermarkBlocks: r.Int64N(3), StopsAtSelf: r.flag(), LoadsReserve: r.flag(),
		Victim: []schedulers.Victim{schedulers.LastAdmitted, schedulers.LastInOrder}[r.IntN(2)]}
	p.ByPriority = r.flag()
}

// two draws a pool that gets what another has computed.
func (r draw) two(scheduler func(*Pool)) Scenario {
	s, p := r.requests()
	p.Scheduler, p.Blocks = &schedulers.Continuous{MaxNumSeqs: 8, MaxNumBatchedTokens: 40, MaxModelLen: p.MaxLen}, 40
	d := Pool{MaxLen: p.MaxLen, Step: p.Step, Token: p.Token, Blocks: 7 + r.Int64N(8), Ahead: r.IntN(3) > 0,
		Receives: true, Caches: p.Caches && r.IntN(3) > 0}
	scheduler(&d)
	d.Radix = false // which no scenario file asks for where prompts come from elsewhere
	r.speculate(&d)
	s.Pools = []Pool{p, d}
	us := func(v ...int32) sim.Duration { return sim.Microsecond * sim.Duration(r.one(v...)) }
	s.Link = sim.Link{Latency: us(1, 7, 1000), Fixed: us(0, 0, 13, 5000), Token: us(0, 1, 33, 1000),
		Layers: r.one(1, 2, 7, 80)}
	s.Push, s.Tokens = r.IntN(3) == 0, r.one(0, 1)
	return s
}

// acceptance accepts drafts one by one until one is not, the same ones at the same position of a request whenever it
// gets there.
type acceptance struct {
	draws *rng.Keyed
	rate  float64
}

// Verify implements sim.Acceptance.
func (a acceptance) Verify(batch []sim.Draft) {
	for i := range batch {
		d := &batch[i]
		for d.Accepted = 0; d.Accepted < d.Drafts; d.Accepted++ {
			if a.draws.At(uint64(d.Request), uint64(d.Position+d.Accepted)).Float64() >= a.rate {
				break
			}
		}
	}
}
