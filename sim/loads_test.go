package sim_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/internal/soak"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// loadsCovered are the least numbers of what the usual cases of decode pools with few blocks must draw.
var loadsCovered = map[string]int{
	"gaps preempted": 1000, "loads behind those that resume": 300, "loads that wait for preemptions": 300,
	"loads beside those that lack blocks": 100, "steps missed for want of blocks": 300, "steps that preempt": 1000,
	"blocks set aside for the next step": 1000, "requests with blocks of the next step": 100,
	"blocks freed a step later": 300, "loads that leave blocks for others": 300, "loaded requests without blocks": 100,
}

// TestLoadsIntoFewBlocksEqualTheNaiveTwin: where blocks are few, an engine that queues batches and has a KV connector
// preempts, frees and begins loads as the naive simulator does.
func TestLoadsIntoFewBlocksEqualTheNaiveTwin(t *testing.T) {
	t.Parallel()
	cover := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		sc := drawLoads(t)
		twin := runNaive(sc)
		equalsTwin(t, sc, twin, func(cl *sim.Cluster) {
			if twin.cover["unfinished"] == 0 {
				require.NoError(t, sim.CheckCaches(cl))
			}
		})
		coverFleet(cover, twin)
	})
	wantCovered(t, cover["cases"], cover, loadsCovered)
}

// TestACancellationFreesWhatTheNextStepHas: a request has the blocks of the step that is to admit it since that was
// composed. Its client cancels it before the step begins, or that of another request does.
func TestACancellationFreesWhatTheNextStepHas(t *testing.T) {
	soak.TakesLong(t)
	t.Parallel()
	cover, drawn := map[string]int{}, 0
	rapid.Check(t, func(t *rapid.T) {
		drawn++
		sc := drawLoads(t)
		for sc.agentic() || sc.sessions+sc.clients > 0 {
			sc = drawLoads(t)
		}
		aheads := runNaive(sc).aheads
		if len(aheads) == 0 {
			return
		}
		cover["scenarios with such a request"]++
		a := rapid.SampledFrom(aheads).Draw(t, "ahead")
		cancelled := a.request
		if rapid.Bool().Draw(t, "another") {
			cancelled = int32(rapid.IntRange(0, len(sc.requests)-1).Draw(t, "cancelled"))
		}
		r := &sc.requests[cancelled]
		require.Equal(t, cancelled, r.ID)
		r.Deadline = max(r.Arrival, a.at) + sim.Time(rapid.SampledFrom([]sim.Duration{1, sim.Microsecond, sim.Millisecond}).
			Draw(t, "later"))
		twin := runNaive(sc)
		equalsTwin(t, sc, twin, func(cl *sim.Cluster) {
			if twin.cover["unfinished"] == 0 {
				require.NoError(t, sim.CheckCaches(cl))
			}
		})
		coverFleet(cover, twin)
	})
	wantCovered(t, drawn, cover, map[string]int{"blocks of the next step for nothing": 5})
}

// TestAStepMayNotAdmitWhatItWasToAdmit: a request has the blocks of the next step, for what others leave of the 14
// tokens of a step. A client cancels one of the others. So the step would compute more of its prompt than there are
// blocks for, because those of the cancelled request are free only later: it is not admitted, and gives them back.
func TestAStepMayNotAdmitWhatItWasToAdmit(t *testing.T) {
	ms := func(n sim.Duration) sim.Time { return sim.Time(n * sim.Millisecond) }
	for _, cancelled := range []int32{2, 3} {
		sc := handing(sim.Stage{Tokens: 1, Link: sim.Link{Latency: sim.Second, Layers: 1}},
			sim.Request{Prompt: 2, Output: 23}, sim.Request{Prompt: 10, Output: 15, Arrival: ms(20)},
			sim.Request{Prompt: 2, Output: 13, Arrival: ms(40)}, sim.Request{Prompt: 14, Output: 21},
			sim.Request{Prompt: 14, Output: 13}, sim.Request{Prompt: 5, Output: 4, Arrival: ms(50)})
		sc.tree = new(sim.Contents)
		sc.requests[0].Content = sc.tree.Add(0, 9)
		decode := &sc.pools[0]
		decode.policy = &schedulers.Continuous{MaxNumSeqs: 5, MaxNumBatchedTokens: 14, MaxModelLen: 40}
		decode.maxNumSeqs, decode.maxLen = 5, 40
		decode.blocks, decode.blockSize = 13, 4
		sc.maxLen, decode.loads, decode.ahead = 40, true, true
		require.True(t, decode.queues())
		require.Zero(t, runNaive(sc).cover["blocks of the next step for nothing"])
		sc.requests[cancelled].Deadline = ms(1200) + sim.Time(sim.Nanosecond)
		play(t, sc, "cancelled")
		twin := runNaive(sc)
		require.Equal(t, 1, twin.cover["blocks of the next step for nothing"])
		require.NotContains(t, twin.aheads, ahead{cancelled, ms(1200)}, "it was another's")
	}
}

// drawLoads draws a pool that computes prompts, and one with few blocks that loads their caches.
func drawLoads(t *rapid.T) scenario {
	sc := drawScenario(t)
	caches := rapid.IntRange(0, 3).Draw(t, "prefix caching") > 0
	for caches && sc.tree == nil {
		sc = drawScenario(t)
	}
	for i := range sc.requests {
		r := &sc.requests[i]
		r.Output = min(r.Output, 100)
		if r.MaxOutput > 0 {
			r.MaxOutput = min(r.MaxOutput, r.Output+5)
		}
	}
	p := drawPool(t, sc)
	sc.pools, sc.adapters = []scenario{p}, sim.Adapters{}
	for !hands(sc.policy) || sc.tree != nil && sc.anonymous {
		redrawPolicy(t, &sc)
	}
	sc.drawRoutes(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "links"), 3)), "pd")
	d := &sc.pools[0]
	d.uncached = d.uncached && !caches
	d.drawFewBlocks(t)
	return sc
}

// drawFewBlocks makes a pool one of vLLM's decode pools under asynchronous scheduling, with blocks for few requests.
func (sc *scenario) drawFewBlocks(t *rapid.T) {
	sc.ahead, sc.loads, sc.recomputes = true, true, true
	sc.ranks, sc.stages, sc.size = 0, nil, 1
	sc.anonymous, sc.promptMax, sc.swapBlocks = false, 0, 0
	sc.windowed, sc.passing, sc.speculation = sim.Windowed{}, sim.Passing{}, nil
	for (sc.maxLen+sc.blockSize)%3 == 0 { // batches are not queued then
		sc.blockSize++
	}
	if rapid.IntRange(0, 3).Draw(t, "ordered") > 0 {
		sc.order = nil
	}
	longest := int64(sc.maxLen+sc.blockSize-1)/int64(sc.blockSize) + int64(sc.fixed)
	sc.blocks = longest + rapid.Int64Range(0, 2*longest).Draw(t, "blocks")
	seqs := int32(rapid.SampledFrom([]int{2, 4, 16, 64}).Draw(t, "max_num_seqs"))
	sc.maxNumSeqs = int(seqs)
	sc.policy = &schedulers.Continuous{
		MaxNumSeqs: int(seqs), MaxModelLen: sc.maxLen,
		MaxNumBatchedTokens:     max(seqs, rapid.SampledFrom([]int32{16, 64, 256, 2048}).Draw(t, "max_num_batched_tokens")),
		SchedulerReserveFullISL: rapid.Bool().Draw(t, "full_isl"),
		WatermarkBlocks:         drawWatermark(t, sc), Victim: drawVictim(t),
		StopsAtSelf: sc.blocks%2 == 0, LoadsReserve: sc.blocks%3 > 0,
	}
}
