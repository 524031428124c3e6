package sim_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// drawStages gives the instances of every third pool of continuous batching without ranks pipeline stages, equal or
// not, by a number.
func (sc *scenario) drawStages(n int32) {
	if _, ok := sc.policy.(*schedulers.Continuous); ok && sc.ranks <= 1 && n%3 == 0 {
		sc.stages = [][]int32{{1, 1}, {3, 1}, {5, 6, 5}, {1, 1, 1, 1, 1, 1, 1, 1}}[n/3%4]
	}
}

// settleStages has an engine with stages schedule synchronously, where it cannot do otherwise.
func (sc *scenario) settleStages() {
	if len(sc.stages) > 1 {
		serial := sc.speculation == nil
		sc.ahead = sc.queues() && sc.maxNumSeqs == 0 && (sc.fillsQueue() || serial)
	}
}

// fillsQueue reports whether the queue of microbatches is filled up; it follows from what was drawn.
func (sc *scenario) fillsQueue() bool { return sc.blocks%2 == 0 }

// staged returns requests on an instance whose steps take a second each, over the stages of a pipeline.
func staged(stages []int32, tokens int32, requests ...sim.Request) scenario {
	sc := scenario{size: 1, blocks: 10_000, blockSize: 16, maxLen: 10_000, model: ticks(sim.Second), stages: stages,
		policy: &schedulers.Continuous{MaxNumSeqs: 64, MaxNumBatchedTokens: max(64, tokens)}}
	for i := range requests {
		requests[i].ID, requests[i].Traced = int32(i), true
		sc.requests = append(sc.requests, requests[i])
	}
	return sc
}

// TestChunksOfAPromptFollowEachOtherThroughThePipeline: k chunks of a prompt pass s equal stages in k + s − 1 times
// what a stage takes; a token of a sequence that is alone takes all stages.
func TestChunksOfAPromptFollowEachOtherThroughThePipeline(t *testing.T) {
	t.Parallel()
	for _, s := range []int32{2, 4, 8} {
		stages := make([]int32, s)
		for i := range stages {
			stages[i] = 10
		}
		for _, k := range []int32{1, 2, 5, 20} {
			j := newJournal()
			sc := staged(stages, 100, sim.Request{Prompt: 100 * k, Output: 3})
			run(t, sc.config(j))
			stage := sim.Second / sim.Duration(s)
			first := sim.Time(0).Add(stage * sim.Duration(k+s-1))
			require.Equal(t, []sim.Time{first, first.Add(sim.Second), first.Add(2 * sim.Second)}, j.tokens[0],
				"%d stages, %d chunks", s, k)
		}
	}
}

// TestAPlaceInAPipelineComesBackWithTheNextBatchComposed: of three requests two may run. The first ends in the third
// batch, at 2 s. An engine that composes a batch as the one before leaves begins with the last request then; one that
// composes ahead has composed the fifth batch without it, and the sixth decodes with the second one, of which a token
// is under way until 2.5 s. Where all decode in each batch, the second one's prompt waits for the first one's token at
// 1 s and is complete at 3 s, when the fourth batch begins, with the last request.
func TestAPlaceInAPipelineComesBackWithTheNextBatchComposed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ahead       bool
		blocks      int64
		first, last sim.Duration // the last request's first token, and the second one's last
	}{
		{false, 10_000, 3 * sim.Second, 9500 * sim.Millisecond},
		{true, 10_000, 3500 * sim.Millisecond, 9500 * sim.Millisecond},
		{true, 10_001, 4 * sim.Second, 11 * sim.Second},
	} {
		j := newJournal()
		sc := staged([]int32{1, 1}, 100, sim.Request{Prompt: 100, Output: 2}, sim.Request{Prompt: 100, Output: 9},
			sim.Request{Prompt: 10, Output: 1})
		sc.ahead, sc.blocks = c.ahead, c.blocks
		sc.policy = &schedulers.Continuous{MaxNumSeqs: 2, MaxNumBatchedTokens: 100}
		config := sc.config(j)
		require.Equal(t, c.ahead, config.Pools[0].BatchQueue == 2)
		run(t, config)
		require.Equal(t, []sim.Time{sim.Time(0).Add(c.first)}, j.tokens[2], "%+v", c)
		require.Equal(t, sim.Time(0).Add(c.last), j.tokens[1][8], "%+v", c)
	}
}

// TestThePipelineIsAsFastAsItsSlowestStage: prompts that each fill a step leave it one after the other, as far apart as
// the slowest stage takes, and not as all stages do.
func TestThePipelineIsAsFastAsItsSlowestStage(t *testing.T) {
	t.Parallel()
	var requests []sim.Request
	for range 30 {
		requests = append(requests, sim.Request{Prompt: 100, Output: 1})
	}
	for _, stages := range [][]int32{{5, 5}, {3, 7}, {7, 3}, {2, 3, 4, 1}} {
		j := newJournal()
		sc := staged(stages, 100, requests...)
		run(t, sc.config(j))
		slowest := int32(0)
		for _, layers := range stages {
			slowest = max(slowest, layers)
		}
		gap := sim.Second / 10 * sim.Duration(slowest)
		for i := int32(1); i < 30; i++ {
			require.Equal(t, gap, j.tokens[i][0].Sub(j.tokens[i-1][0]), "%v: prompt %d", stages, i)
		}
	}
}

// TestASequenceDecodesInOneMicrobatch: requests that are admitted together decode together, at one token per passage of
// the pipeline. One that comes meanwhile joins them when they have come back, although other places of the queue are
// empty: vLLM composes a batch of whatever waits.
func TestASequenceDecodesInOneMicrobatch(t *testing.T) {
	t.Parallel()
	j := newJournal()
	arrival := sim.Time(250 * sim.Millisecond)
	sc := staged([]int32{1, 1, 1, 1}, 1000, sim.Request{Prompt: 10, Output: 9}, sim.Request{Prompt: 10, Output: 9},
		sim.Request{Prompt: 10, Output: 9, Arrival: arrival})
	run(t, sc.config(j))
	for i := range 9 {
		end := sim.Time(0).Add(sim.Second * sim.Duration(i+1))
		require.Equal(t, end, j.tokens[0][i])
		require.Equal(t, end, j.tokens[1][i])
		require.Equal(t, end.Add(sim.Second), j.tokens[2][i])
	}
}

// TestMicrobatchesCountTheWaitsOfPromptsTogether: a prompt that waits for others joins a microbatch after as many steps
// as it may wait, whichever microbatches took them.
func TestMicrobatchesCountTheWaitsOfPromptsTogether(t *testing.T) {
	sc := scenario{size: 1, stages: []int32{1, 1}, blocks: 100, blockSize: 16, maxLen: 100, model: ticks(sim.Second),
		policy: &schedulers.Continuous{MaxNumSeqs: 8, MaxNumBatchedTokens: 64, Unchunked: true, BatchWaitIters: 4}}
	for i := range int32(6) {
		sc.requests = append(sc.requests, sim.Request{ID: i, Prompt: 10, Output: 20, Traced: true,
			Arrival: sim.Time(i) * sim.Time(700*sim.Millisecond)})
	}
	twin, j := runNaive(sc), newJournal()
	compare(t, "waits", twin, j, run(t, sc.config(j)))
	require.Positive(t, twin.cover["steps without a prompt that waits for others"])
	require.Positive(t, twin.cover["batches under way at once"])
}

// TestRanksAgreeOnWhetherPromptsWait, in every case that there is, with room for all and with too few blocks.
func TestRanksAgreeOnWhetherPromptsWait(t *testing.T) {
	cover := map[string]int{}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		sc := scenario{size: 1 + r.IntN(2), ranks: 2 + r.IntN(2), ranksInTurn: seed%2 == 0, blocks: 12 + r.Int64N(40),
			blockSize: 4, maxLen: 40, model: ticks(sim.Second), policy: &schedulers.Continuous{MaxNumSeqs: 2 + r.IntN(6),
				MaxNumBatchedTokens: 30, Unchunked: true, BatchWaitIters: 1 + r.IntN(9), NoEvict: seed%3 == 0}}
		for i := range int32(60) {
			sc.requests = append(sc.requests, sim.Request{ID: i, Prompt: 1 + r.Int32N(12), Output: 1 + r.Int32N(25),
				Traced: true, Arrival: sim.Time(r.Int64N(120 * int64(sim.Second)))})
		}
		slices.SortFunc(sc.requests, func(a, b sim.Request) int { return cmp.Compare(a.Arrival, b.Arrival) })
		for i := range sc.requests {
			sc.requests[i].ID = int32(i)
		}
		twin, j := runNaive(sc), newJournal()
		compare(t, fmt.Sprintf("seed %d", seed), twin, j, run(t, sc.config(j)))
		for what, n := range twin.cover {
			cover[what] += n
		}
	}
	for what, least := range map[string]int{
		"steps in which the prompts of ranks wait": 1000, "prompts that have waited for other ranks": 200,
		"prompts that join on every rank": 200, "prompts that join where a rank has no decodes": 200,
		"stopped by no-evict": 100, "preemptions": 20,
	} {
		require.Greater(t, cover[what], least, what)
	}
}

// TestAPromptThatWaitsForBlocksDoesNotWaitForOthers: request 2 could join the two decodes at 1 s and waits for others.
// From 2 s on there are too few blocks for it, until request 0 ends at 8 s: then it waits for two more steps.
func TestAPromptThatWaitsForBlocksDoesNotWaitForOthers(t *testing.T) {
	second := sim.Time(sim.Second)
	sc := scenario{size: 1, blocks: 30, blockSize: 1, maxLen: 24, model: ticks(sim.Second),
		policy: &schedulers.Continuous{MaxNumSeqs: 8, MaxNumBatchedTokens: 64, Unchunked: true, BatchWaitIters: 3}}
	sc.requests = []sim.Request{{Prompt: 10, Output: 8}, {ID: 1, Prompt: 2, Output: 20},
		{ID: 2, Prompt: 15, Output: 1, Arrival: second / 2}}
	for i := range sc.requests {
		sc.requests[i].Traced = true
	}
	j, _ := play(t, sc, "waits")
	require.Equal(t, []sim.Time{11 * second}, j.tokens[2])
}

// TestWhatMissesAMicrobatchDraftsInTheNext: of three requests that decode, two spend the budget of a microbatch, and
// the third is in the next one, with its drafts.
func TestWhatMissesAMicrobatchDraftsInTheNext(t *testing.T) {
	sc := scenario{size: 1, blocks: 100, blockSize: 16, maxLen: 100, stages: []int32{1, 1}, model: ticks(sim.Second),
		policy:      &schedulers.Continuous{MaxNumSeqs: 8, MaxNumBatchedTokens: 4},
		speculation: speculate(1, random{rates: []float64{1}})}
	for i := range int32(3) {
		sc.requests = append(sc.requests, sim.Request{ID: i, Prompt: 1, Output: 9, Traced: true})
	}
	twin, j := runNaive(sc), newJournal()
	compare(t, "missed", twin, j, run(t, sc.config(j)))
	require.Positive(t, twin.cover["drafts left out"])
}

// TestWhatMissesAMicrobatchDecodesOnceInTheNext: a request that makes room for itself has those behind it miss the
// microbatch. The next one takes them in at once, where each gets its token, which is counted once.
func TestWhatMissesAMicrobatchDecodesOnceInTheNext(t *testing.T) {
	sc := scenario{size: 1, blocks: 6, blockSize: 1, maxLen: 6, stages: []int32{1, 1}, model: ticks(sim.Second),
		order: schedulers.Priority{}, policy: &schedulers.Continuous{MaxNumSeqs: 8, MaxNumBatchedTokens: 64,
			Victim: schedulers.LastInOrder, StopsAtSelf: true}}
	for i := range int32(3) {
		sc.requests = append(sc.requests, sim.Request{ID: i, Prompt: 1, Output: 3, Priority: int8(2 - i), Traced: true})
	}
	sc.requests[2].Arrival = sim.Time(sim.Second / 2)
	twin, j := runNaive(sc), newJournal()
	cl := run(t, sc.config(j))
	compare(t, "missed", twin, j, cl)
	require.Positive(t, twin.cover["tokens left out"])
	require.Equal(t, int64(3*(3-1)), j.ITL.N(), "gaps")
}

// TestOneStageIsNone: an engine of one stage composes its steps as one without stages does, ahead of time too.
func TestOneStageIsNone(t *testing.T) {
	for _, ahead := range []bool{false, true} {
		var runs [2]*journal
		for i, stages := range [][]int32{nil, {10}} {
			sc := staged(stages, 100)
			sc.ahead, sc.model = ahead, twoTimes{}
			for i := range int32(12) {
				sc.requests = append(sc.requests, sim.Request{ID: i, Prompt: 1 + 30*i, Output: 1 + 7*i%20, Traced: true,
					Arrival: sim.Time(i*i) * sim.Time(5*sim.Millisecond)})
			}
			runs[i] = newJournal()
			run(t, sc.config(runs[i]))
		}
		require.Equal(t, runs[0].tokens, runs[1].tokens, "ahead %v", ahead)
	}
}

// TestAPipelineWaitsForCachesToLeave: prompts wait for the blocks of caches that have yet to leave. The engine of
// vLLM 0.22 composes batches of nothing until one has left, and at one instant each is the same as the one before.
func TestAPipelineWaitsForCachesToLeave(t *testing.T) {
	for stages := 2; stages <= 4; stages++ {
		for blocks := int64(5); blocks <= 11; blocks += 2 {
			var requests []sim.Request
			for i := range 20 {
				requests = append(requests, sim.Request{Prompt: 40, Output: 3, Arrival: sim.Time(i/3) * sim.Time(promptTime)})
			}
			sc := handing(sim.Stage{Tokens: 1, Link: sim.Link{Latency: sim.Second, Layers: 1}}, requests...)
			sc.blocks, sc.maxLen, sc.ahead = blocks, 60, true
			sc.stages = slices.Repeat([]int32{1}, stages)
			play(t, sc, fmt.Sprint(stages, " stages, ", blocks, " blocks"))
		}
	}
}

// TestWhatMissesAMicrobatchOnArrivalIsPaused: a cache that arrives in no time does not delay its request, but a prompt
// that is computed again takes the budget of the microbatch that the request joins, and the request misses it.
func TestWhatMissesAMicrobatchOnArrivalIsPaused(t *testing.T) {
	paused := 0
	for tick := range sim.Time(40) {
		sc := handing(sim.Stage{Tokens: 1, Push: true, Link: sim.Link{Layers: 1}}, sim.Request{Prompt: 8, Output: 12},
			sim.Request{Prompt: 8, Output: 12}, sim.Request{Prompt: 2, Output: 4, Arrival: tick * sim.Time(sim.Second)})
		sc.model = ticks(sim.Second)
		decode := &sc.pools[0]
		decode.blocks, decode.blockSize = 24, 1
		decode.maxLen, sc.maxLen = 20, 20
		decode.model, decode.stages, decode.maxNumSeqs = sc.model, []int32{1, 1}, 2
		decode.policy = &schedulers.Continuous{MaxNumSeqs: 2, MaxNumBatchedTokens: 2, MaxModelLen: 20,
			Victim: schedulers.LastInOrder, SingleExempt: true}
		j, _ := play(t, sc, fmt.Sprint("third request at ", tick))
		paused += j.gaps["held"]
	}
	require.Positive(t, paused)
}

// TestNoTurnFindsWhatIsComputedInVain: request 0 ends with its 16th token, which later batches of the pipeline have
// computed before the engine knows. Request 1 begins with all 16, and finds only the blocks of 4 before the last.
func TestNoTurnFindsWhatIsComputedInVain(t *testing.T) {
	tree := new(sim.Contents)
	prompt := tree.Add(0, 3)
	turn := tree.Add(prompt, 13)
	sc := scenario{size: 1, blocks: 101, blockSize: 4, maxLen: 100, stages: []int32{2, 2, 1}, tree: tree, ahead: true,
		model: ticks(sim.Second), policy: &schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 100}}
	sc.requests = []sim.Request{
		{Prompt: 3, Output: 13, MaxOutput: 40, Content: prompt, OutputContent: turn, Traced: true},
		{ID: 1, Prompt: 30, Output: 1, Content: turn, Arrival: sim.Time(1000 * sim.Second), Traced: true}}
	require.False(t, sc.fillsQueue())
	j, _ := play(t, sc, "turns")
	require.Equal(t, int32(12), j.cached[1])
}
