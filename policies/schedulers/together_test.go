package schedulers_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/policies/internal/testcluster"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// ends is a log of when requests ended, too.
type ends struct {
	*testcluster.Log
	at map[int32]sim.Time
}

// Done implements sim.Sink.
func (e ends) Done(r *sim.Request, at sim.Time, o sim.Outcome) {
	e.Log.Done(r, at, o)
	e.at[r.ID] = at
}

// anyScheduler draws one with small budgets, so that requests wait for each of them.
func anyScheduler(r *rand.Rand) sim.Scheduler {
	flag := func() bool { return r.IntN(2) == 0 }
	switch r.IntN(5) {
	case 0:
		return &schedulers.Static{MaxBatchSize: 1 + r.IntN(4), MaxNumBatchedTokens: 40}
	case 1:
		return &schedulers.PrefillFirst{MaxNumSeqs: 1 + r.IntN(8), MaxNumBatchedTokens: 40, WatermarkBlocks: r.Int64N(3),
			PrefillBelow: r.IntN(4), Preempt: []sim.Preemption{sim.Recompute, sim.Swap}[r.IntN(2)]}
	case 2:
		p := &schedulers.Continuous{MaxNumSeqs: 1 + r.IntN(8), MaxNumBatchedTokens: 8 + r.Int32N(40),
			WatermarkBlocks: r.Int64N(3), NoEvict: flag(), StopsAtSelf: flag(), Unchunked: flag(),
			SchedulerReserveFullISL: flag(), Reserve: []schedulers.Reserve{schedulers.AsComputed, schedulers.WholePrompt,
				schedulers.MaxOutput}[r.IntN(3)]}
		if p.Unchunked {
			p.BatchWaitIters, p.MaxNumBatchedTokens = r.IntN(4), 40
		} else {
			p.LongPrefillTokenThreshold, p.SingleExempt = []int32{0, 5}[r.IntN(2)], flag()
		}
		return p
	}
	p := sglang()
	p.ChunkedPrefillSize, p.EnableMixedChunk = []int32{0, 4, 8, 13}[r.IntN(4)], flag()
	p.ClipMaxNewTokens, p.MaxRunningRequests = []int32{1, 4, 4096}[r.IntN(3)], 1+r.IntN(8)
	p.MaxPrefillTokens, p.IgnoreEOS, p.ByPriority = 8+r.Int32N(40), r.IntN(4) == 0, flag()
	p.Order = []schedulers.CacheOrder{schedulers.FCFS, schedulers.LPM, schedulers.DFSWeight}[r.IntN(3)]
	return p
}

// TestStepsTakenTogetherAreThoseTakenOneByOne: for how many steps a batch is valid, and what may change it, changes how
// often a scheduler is asked, and no instant at which a request has its first token or its last.
func TestStepsTakenTogetherAreThoseTakenOneByOne(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	together, oneByOne := 0, 0
	for i := range 600 {
		p, tree := anyScheduler(r), new(sim.Contents)
		requests := append(burst(r, 0), burst(r, 12)...)
		nodes := []int32{0, tree.Add(0, 8), tree.Add(0, 11), tree.Add(0, 20)}
		for j := range requests {
			requests[j].Content, requests[j].Priority = nodes[r.IntN(len(nodes))], int8(r.IntN(3))
			if r.IntN(4) == 0 {
				requests[j].MaxOutput = requests[j].Output + r.Int32N(9)
			}
		}
		caching, radix := r.IntN(2) == 0, r.IntN(2) == 0
		queues, urgency, blocks := r.IntN(3) == 0, r.IntN(2) == 0, 12+r.Int64N(6)
		serve := func(most int) (e ends, asked int) {
			pool, model := testcluster.NewPool(1, routers.LeastLoaded{}), &counted{}
			pool.Scheduler, pool.Model, pool.PrefixCaching = p, model, caching
			pool.KVBlocks, pool.MaxModelLen = blocks, 48
			if v0, ok := p.(*schedulers.PrefillFirst); ok && v0.Preempt == sim.Swap {
				pool.SwapBlocks, pool.PrefixCaching = 100, false
			}
			if sg, ok := p.(*schedulers.SGLang); ok {
				pool.RadixCache = caching && radix
				if sg.Order != schedulers.FCFS {
					pool.PrefixCaching, pool.RadixCache = true, true
				}
				if queues {
					ahead(pool)
				}
			}
			if urgency {
				urgent(pool)
			}
			e = ends{testcluster.NewLog(), map[int32]sim.Time{}}
			c, _ := testcluster.New(func(c *sim.Config) { c.MaxRun, c.Contents, c.Sink = most, tree, e }, requests, pool)
			c.Run()
			return e, model.n
		}
		a, asked := serve(0)
		b, askedAlways := serve(1)
		require.Equal(t, b.FirstToken, a.FirstToken, "%d: %T %+v: %+v", i, p, p, requests)
		require.Equal(t, b.at, a.at, "%d: %T %+v: %+v", i, p, p, requests)
		require.Equal(t, b.Outcome, a.Outcome)
		require.Equal(t, b.Gaps, a.Gaps)
		together, oneByOne = together+asked, oneByOne+askedAlways
	}
	require.Less(t, together, oneByOne*3/4, "steps are taken together")
}

// counted is a step model that counts how often it is asked. A step takes a second.
type counted struct{ n int }

// Price implements sim.StepModel.
func (m *counted) Price(_ []sim.Shape, g *sim.Segment) {
	m.n++
	*g = sim.Segment{First: sim.Second, Steps: 1 << 30}
}
