package sim_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// small draws an instance with blocks of 4 tokens for one sequence or two and 2 to 5 requests, each step of which takes
// a millisecond or two: budgets, blocks and places are all about as large as what asks for them, so that each token of
// them decides something.
type small struct{ *rand.Rand }

func (r small) flag() bool { return r.IntN(2) == 0 }

func (r small) one(v ...int32) int32 { return v[r.IntN(len(v))] }

func (r small) scenario() scenario {
	sc := scenario{size: 1, blockSize: 4, maxLen: 25 + r.one(0, 1), blocks: 7 + r.Int64N(3)}
	sc.model = prices{overhead: sim.Millisecond * sim.Duration(r.one(1, 2)), token: sim.Duration(r.one(0, 0, 33_000_001))}
	sc.ahead = r.flag()
	at := sim.Time(0)
	for i := range 2 + r.Int32N(4) {
		q := sim.Request{ID: i, Arrival: at, Traced: true, Prompt: 1 + r.Int32N(12), Output: 1 + r.Int32N(12),
			Priority: int8(r.IntN(2))}
		if r.IntN(4) == 0 {
			q.MaxOutput = min(q.Output+r.Int32N(4), sc.maxLen-q.Prompt)
		}
		sc.requests = append(sc.requests, q)
		if r.flag() {
			at = at.Add(sim.Millisecond * sim.Duration(r.Int64N(5)))
		}
	}
	if r.IntN(3) == 0 {
		sc.tree = new(sim.Contents)
		nodes := []int32{0, sc.tree.Add(0, 8), sc.tree.Add(0, 5)}
		nodes = append(nodes, sc.tree.Add(nodes[1], 4))
		for i := range sc.requests {
			if n := nodes[r.IntN(len(nodes))]; sc.tree.Tokens(n) < sc.requests[i].Prompt {
				sc.requests[i].Content = n
			}
		}
	}
	return sc
}

// speculate gives every third scenario drafts.
func (r small) speculate(sc *scenario) {
	if r.IntN(3) > 0 {
		return
	}
	rate := []float64{.3, .9, 1}[r.IntN(3)]
	s := &sim.Speculation{Tokens: r.one(1, 2, 3), Acceptance: random{r.Uint64(), []float64{rate}}}
	if p, ok := sc.policy.(*schedulers.Continuous); ok {
		s.LookAhead, s.Fills = r.one(0, s.Tokens), r.flag()
		p.DraftSlots = min(r.one(0, 0, 1), p.MaxNumBatchedTokens-1)
	}
	sc.speculation = s
}

// sglang draws a scheduler whose expectations are as low as they may be, or whatever they are.
func (r small) sglang(sc *scenario) {
	p := &schedulers.SGLang{MaxRunningRequests: int(r.one(1, 2, 3, 8, 8)), MaxPrefillTokens: r.one(6, 8, 12, 20, 100),
		ChunkedPrefillSize: r.one(0, 0, 4, 5, 8, 12), EnableMixedChunk: r.flag(), IgnoreEOS: r.IntN(8) == 0,
		ClipMaxNewTokens: r.one(1, 1, 4, 4096), RetractDecodeSteps: r.one(1, 2, 5), ByPriority: r.IntN(3) == 0,
		InitNewTokenRatio: schedulers.Ratio([]float64{.1, .7, 1}[r.IntN(3)]), MinNewTokenRatio: schedulers.Ratio(.1),
		NewTokenRatioDecay: schedulers.Ratio([]float64{0, .05, .3}[r.IntN(3)])}
	sc.policy = p
	sc.uncached = sc.tree == nil
	if sc.tree != nil {
		sc.radix = r.IntN(4) > 0
		p.Order = []schedulers.CacheOrder{schedulers.FCFS, schedulers.LPM, schedulers.DFSWeight}[r.IntN(3)]
	}
}

// continuous draws the scheduler of vLLM.
func (r small) continuous(sc *scenario) {
	seqs := r.one(1, 2, 3, 8)
	sc.policy = &schedulers.Continuous{MaxNumSeqs: int(seqs), MaxNumBatchedTokens: max(seqs, r.one(3, 4, 5, 8, 12, 40)),
		LongPrefillTokenThreshold: r.one(0, 0, 3), SchedulerReserveFullISL: r.flag(), SingleExempt: r.flag(),
		MaxModelLen: sc.maxLen, WatermarkBlocks: r.Int64N(3), StopsAtSelf: r.flag(), LoadsReserve: r.flag(),
		Victim: []schedulers.Victim{schedulers.LastAdmitted, schedulers.LastInOrder}[r.IntN(2)]}
	if r.flag() {
		sc.order = schedulers.Priority{}
	}
}

// TestSmallScenariosEqualTheNaiveTwin, in which each token of a budget counts.
func TestSmallScenariosEqualTheNaiveTwin(t *testing.T) {
	t.Parallel()
	r := small{rand.New(rand.NewPCG(17, 1))}
	for i := range 4000 {
		sc := r.scenario()
		if r.flag() {
			r.sglang(&sc)
		} else {
			r.continuous(&sc)
		}
		r.speculate(&sc)
		smallEqualsTwin(t, i, sc)
	}
}

// TestSmallLoadsEqualTheNaiveTwin: the same for pools that load what others have computed.
func TestSmallLoadsEqualTheNaiveTwin(t *testing.T) {
	t.Parallel()
	r := small{rand.New(rand.NewPCG(17, 2))}
	for i := range 2000 {
		sc := r.scenario()
		sc.policy, sc.blocks = &schedulers.Continuous{MaxNumSeqs: 8, MaxNumBatchedTokens: 40, MaxModelLen: sc.maxLen}, 40
		d := scenario{size: 1, blockSize: 4, maxLen: sc.maxLen, blocks: sc.blocks, model: sc.model}
		d.blocks, d.ahead = 7+r.Int64N(8), r.IntN(3) > 0
		d.loads, d.recomputes = true, r.flag()
		r.continuous(&d)
		d.maxNumSeqs = d.policy.(*schedulers.Continuous).MaxNumSeqs
		d.uncached = sc.tree == nil || r.IntN(3) == 0
		r.speculate(&d)
		sc.pools = []scenario{d}
		sc.drawRoutes(r.Rand, "pd")
		smallEqualsTwin(t, i, sc)
	}
}

// smallEqualsTwin compares a scenario with its naive twin.
func smallEqualsTwin(t *testing.T, i int, sc scenario) {
	twin := runNaive(sc)
	for _, most := range []int{0, 1} {
		j := newJournal()
		c := sc.config(j)
		c.MaxRun = most
		compare(t, fmt.Sprintf("scenario %d, %d steps at once: %+v", i, most, sc.policy), twin, j, run(t, c))
	}
}
