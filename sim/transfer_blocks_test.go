package sim_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// TestNoTierKeepsWhatIsLostWithItsInstance: the cache of a prompt of two shared blocks is on its way when its source
// fails. Nothing of it has reached the tier that the replicas share, so the other one computes all of it and fetches
// nothing.
func TestNoTierKeepsWhatIsLostWithItsInstance(t *testing.T) {
	tree := new(sim.Contents)
	begin := tree.Add(0, 32)
	sc := handing(sim.Stage{Link: sim.Link{Latency: 100 * sim.Second, Layers: 1}},
		sim.Request{Prompt: 40, Output: 2, Content: begin})
	sc.tree, sc.size, sc.offload = tree, 2, 10
	sc.tiers = []sim.Tier{{Name: "store", Blocks: 100, Shared: true, Share: sim.FullPort, WriteShare: sim.FullPort}}
	sc.script = []action{{at: sim.Time(5 * sim.Second), what: "fail", instance: 0, retry: true}}
	sc.sizeMax = 2
	j, cl := play(t, sc, "lost")
	require.Equal(t, int64(1), cl.Totals().Restarted)
	require.Equal(t, int64(1), j.Outcomes[sim.Completed])
	require.Equal(t, int64(0), cl.PoolTotals(0).Tiers[0].Fetched)
}

// TestBlocksThatACacheNeverReachedAreTheFirstToBeEvicted: request 1 is cancelled while its cache is on its way to the 6
// blocks that it has been given. They name nothing, so request 2, whose tokens take 8 blocks, has them and 2 others
// that nothing was in, and the 10 that request 0 left stay.
func TestBlocksThatACacheNeverReachedAreTheFirstToBeEvicted(t *testing.T) {
	tree := new(sim.Contents)
	begin := tree.Add(0, 10)
	at := func(seconds float64) sim.Time { return sim.Time(sim.Seconds(seconds)) }
	sc := handing(sim.Stage{Link: sim.Link{Latency: sim.Second, Layers: 1}},
		sim.Request{Prompt: 10, Output: 2, Content: begin},
		sim.Request{Prompt: 6, Output: 2, Arrival: at(10), Deadline: at(10.5)},
		sim.Request{Prompt: 7, Output: 2, Arrival: at(20)},
		sim.Request{Prompt: 10, Output: 2, Content: begin, Arrival: at(30)})
	sc.tree = tree
	decode := &sc.pools[0]
	decode.blocks, decode.blockSize, decode.maxLen = 20, 1, 20
	sc.maxLen = 20
	require.True(t, decode.unnamedFirst())
	j, cl := play(t, sc, "cancelled")
	require.Equal(t, int64(1), j.Outcomes[sim.Failed])
	require.Equal(t, int64(0), cl.PoolTotals(1).Evictions)
	require.Equal(t, int64(10+7+1), cl.Totals().TransferredTokens, "all but the last token of request 3 are there")
}

// TestASourceKnowsTheTokenAfterAPrompt: a block of 16 tokens is named together with the token after it. Request 1
// has two blocks of nothing, and request 2 finds four to evict: the two that request 0 had named and, freed after them,
// those of request 1, of which the last has a name because the step that ends its prompt gives the token after it,
// whichever pool emits that (vLLM 0.33.0, v1/core/sched/scheduler.py, Scheduler.update_from_output caches blocks once
// it has the token).
func TestASourceKnowsTheTokenAfterAPrompt(t *testing.T) {
	for tokens := range int32(2) {
		tree := new(sim.Contents)
		sc := handing(sim.Stage{Tokens: tokens, Link: sim.Link{Layers: 1}},
			sim.Request{Prompt: 40, Output: 2, Content: tree.Add(0, 33)},
			sim.Request{Prompt: 32, Output: 2, Arrival: sim.Time(10 * sim.Second)},
			sim.Request{Prompt: 20, Output: 2, Arrival: sim.Time(20 * sim.Second)})
		sc.tree, sc.blocks, sc.maxLen = tree, 4, 64
		sc.speculation = &sim.Speculation{Tokens: 1, Acceptance: random{rates: []float64{0}}}
		require.True(t, sc.unnamedFirst())
		require.Equal(t, sim.Drafter{Ahead: 1}, sc.drafter())
		_, cl := play(t, sc, fmt.Sprintf("%d tokens at the source", tokens))
		require.Equal(t, int64(2), cl.PoolTotals(0).Evictions)
	}
}

// TestAPrefillPoolFindsThePromptsThatItSends: a prompt joins a radix tree when it is complete, and not when its cache
// has arrived elsewhere.
func TestAPrefillPoolFindsThePromptsThatItSends(t *testing.T) {
	for _, overlap := range []bool{false, true} {
		tree := new(sim.Contents)
		begin := tree.Add(0, 32)
		sc := handing(sim.Stage{Tokens: 1, Link: sim.Link{Latency: 100 * sim.Second, Layers: 1}},
			sim.Request{Prompt: 40, Output: 2, Content: begin},
			sim.Request{Prompt: 40, Output: 2, Content: begin, Arrival: sim.Time(5 * sim.Second)})
		sc.tree, sc.radix, sc.ahead = tree, true, overlap
		sc.maxLen, sc.pools[0].uncached = 1001, true
		sc.policy = &schedulers.SGLang{MaxRunningRequests: 4, MaxPrefillTokens: 1000, ClipMaxNewTokens: 10,
			RetractDecodeSteps: 1}
		require.Equal(t, overlap, sc.queues())
		_, cl := play(t, sc, "radix")
		require.Equal(t, int64(32), cl.PoolTotals(0).Cached)
	}
}

// TestChunksOfOneInstantHaveTheirLookAhead: both microbatches of a pipeline are composed at once, with a chunk of four
// tokens each. The first one after the admission has no blocks for what a drafter looks ahead, and the second has them.
func TestChunksOfOneInstantHaveTheirLookAhead(t *testing.T) {
	sc := scenario{size: 1, blocks: 100, blockSize: 1, maxLen: 40, stages: []int32{1, 1}, model: ticks(sim.Second),
		policy: &schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 4}}
	sc.speculation = &sim.Speculation{Tokens: 2, LookAhead: 9, DelayedLookAhead: true,
		Acceptance: random{rates: []float64{0}}}
	sc.requests = []sim.Request{{Prompt: 8, Output: 1, Traced: true}}
	_, cl := play(t, sc, "chunks")
	require.Equal(t, int64(8+9), cl.PoolTotals(0).KVPeak)
}

// TestLoadsHaveWhatTheNextStepLeaves: the last token of a prompt that has been loaded is computed with the blocks for
// what its drafter looks ahead, and the step after it needs fewer beside those. Another load begins while that token is
// computed if there is room for it and for those: at any instant, and with any number of blocks.
func TestLoadsHaveWhatTheNextStepLeaves(t *testing.T) {
	for blocks := int64(12); blocks < 20; blocks++ {
		for offset := sim.Duration(0); offset < 4*promptTime; offset += promptTime / 5 {
			sc := handing(sim.Stage{Link: sim.Link{Latency: promptTime, Layers: 1}},
				sim.Request{Prompt: 4, Output: 30}, // decodes all the time
				sim.Request{Prompt: 8, Output: 20, Arrival: sim.Time(100 * sim.Millisecond)},
				sim.Request{Prompt: 16, Output: 2, Arrival: sim.Time(100 * sim.Millisecond).Add(offset)})
			decode := &sc.pools[0]
			sc.maxLen = 50
			decode.blocks, decode.blockSize, decode.maxLen = blocks, 4, 46
			sc.maxLen, decode.loads, decode.ahead = 46, true, true
			decode.speculation = &sim.Speculation{Tokens: 1, LookAhead: 4, Acceptance: random{rates: []float64{0}}}
			require.True(t, decode.queues())
			play(t, sc, "load")
		}
	}
}

// TestRanksBeginLoadsInTurn: requests 0 and 1 end at one instant, each on its rank of a replica, and make room for
// requests 4 and 3. Request 4 comes first because its rank does, although that begins the load while its step runs, and
// the other one, which has nothing to run, at once. Their prompts do not fit into one step of the pool before.
func TestRanksBeginLoadsInTurn(t *testing.T) {
	later := sim.Time(promptTime + stepTime)
	sc := handing(sim.Stage{Push: true, Link: sim.Link{Layers: 1}},
		sim.Request{Prompt: 80, Output: 6}, sim.Request{Prompt: 80, Output: 6}, sim.Request{Prompt: 16, Output: 40},
		sim.Request{Prompt: 110, Output: 2, Arrival: later}, sim.Request{Prompt: 110, Output: 2, Arrival: later})
	sc.policy = &schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 200}
	decode := &sc.pools[0]
	decode.loads, decode.ahead = true, true
	decode.ranks, decode.blocks = 2, 10
	sc.maxLen, decode.maxLen = 121, 121
	require.True(t, decode.queues())
	j, _ := play(t, sc, "two ranks")
	require.Less(t, j.tokens[4][0], j.tokens[3][0])
}

// TestWhatIsTransferredIsBehindSGLangsBatch: request 2 is read elsewhere and comes as the step ends that reads request
// 1, which has as many tokens, behind request 0. When blocks run out, 1 and 2 have emitted as many tokens, and the last
// one is retracted: request 2, whose batch was merged into that of the others (sglang 0.5.23,
// srt/disaggregation/decode.py, merge_batch of new_prebuilt_batch). Request 1 goes on until request 0 has ended and 2
// is read again.
func TestWhatIsTransferredIsBehindSGLangsBatch(t *testing.T) {
	for _, overlap := range []bool{false, true} {
		sc := handing(sim.Stage{Tokens: 1, Push: true, Link: sim.Link{Layers: 1}},
			sim.Request{Prompt: 5, Output: 8},
			sim.Request{Prompt: 20, Output: 20, Arrival: sim.Time(10 * sim.Millisecond)},
			sim.Request{Prompt: 20, Output: 20, Arrival: sim.Time(20 * sim.Millisecond)})
		sc.routes = []sim.Route{{{Pool: 1}}, {{Pool: 1}}, sc.routes[0]}
		decode := &sc.pools[0]
		decode.policy = &schedulers.SGLang{MaxRunningRequests: 4, MaxPrefillTokens: 1000, ClipMaxNewTokens: 1,
			RetractDecodeSteps: 1}
		sc.maxLen, decode.maxLen = 50, 50
		decode.blocks, decode.blockSize = 61, 1
		decode.ahead, decode.uncached = overlap, true
		require.Equal(t, overlap, decode.queues())
		j, cl := play(t, sc, fmt.Sprintf("overlap %v", overlap))
		require.Positive(t, cl.PoolTotals(1).Preemptions)
		read := j.tokens[1][0]
		for i, at := range j.tokens[1][:8] {
			require.Equal(t, read.Add(sim.Duration(i)*stepTime), at)
		}
		require.Equal(t, []sim.Time{sim.Time(2 * promptTime), read.Add(stepTime)}, j.tokens[2][:2])
		require.Greater(t, j.tokens[2][19], j.tokens[1][19])
	}
}

// TestBlocksOfAStepAreTakenBeforeOthersAreFree: request 1 fills a block in each fourth step, and takes the next one as
// the step after it begins: one that request 0 has named, for no other is free. That of request 2, which is cancelled
// during that step, comes too late; of steps that are taken at once, too. While request 3 awaits blocks, that step is
// composed as the one before it begins, and takes its block then.
func TestBlocksOfAStepAreTakenBeforeOthersAreFree(t *testing.T) {
	at := func(ms sim.Duration) sim.Time { return sim.Time(ms * sim.Millisecond) }
	requests := []sim.Request{
		{Prompt: 9, Output: 2},
		{Prompt: 4, Output: 20, Arrival: at(1500)},
		{Prompt: 23, Output: 2, Arrival: at(1900)},
		{Prompt: 36, Output: 2, Arrival: at(1950), Deadline: at(2650)}}
	for _, test := range []struct {
		requests int
		want     map[int64]int
	}{{4, map[int64]int{0: 11, 1: 16, 2: 13}}, {3, map[int64]int{0: 15, 1: 16, 2: 9}}} {
		evictions := map[int64]int{}
		for into := sim.Duration(0); into < 100*sim.Millisecond; into += stepTime / 4 {
			sc := handing(sim.Stage{Tokens: 1, Link: sim.Link{Latency: sim.Second, Layers: 1}},
				requests[:test.requests]...)
			sc.tree = new(sim.Contents)
			sc.requests[0].Content = sc.tree.Add(0, 9)
			sc.requests[2].Deadline = at(2530).Add(into)
			decode := &sc.pools[0]
			decode.blocks, decode.blockSize, decode.maxLen = 10, 4, 40
			sc.maxLen, decode.loads, decode.ahead = 40, true, true
			require.True(t, decode.queues() && decode.unnamedFirst())
			_, cl := play(t, sc, fmt.Sprintf("%d requests, cancelled %v later", test.requests, into))
			evictions[cl.PoolTotals(1).Evictions]++
		}
		require.Equal(t, test.want, evictions)
	}
}

// TestWhatCannotGoOnIsComputedAgainAtOnce: the cache of request 1 has arrived, and its next token takes a third block.
// The cache of request 0, which is still on its way, has the four others. So request 1 gives its two blocks back, and
// has one of them in the same step for the first four tokens of its prompt.
func TestWhatCannotGoOnIsComputedAgainAtOnce(t *testing.T) {
	sc := handing(sim.Stage{Tokens: 1, Link: sim.Link{Latency: sim.Second, Token: sim.Second, Layers: 1}},
		sim.Request{Prompt: 16, Output: 4}, sim.Request{Prompt: 8, Output: 4})
	sc.maxLen = 24
	decode := &sc.pools[0]
	decode.blocks, decode.blockSize, decode.maxLen = 6, 4, 24
	decode.policy = &schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 4, MaxModelLen: 24}
	decode.loads, decode.ahead, decode.recomputes = true, true, true
	j, cl := play(t, sc, "unloaded")
	require.Equal(t, int64(2), j.Outcomes[sim.Completed])
	require.Greater(t, cl.PoolTotals(1).Preemptions, int64(1), "it has no room for its third block again and again")
}

// TestADestinationThatFailsIsReplaced: a prompt is computed, or waits for that, as the instance fails that has the
// blocks for its cache. Another one gets them, and the cache when it is there.
func TestADestinationThatFailsIsReplaced(t *testing.T) {
	for _, at := range []sim.Time{1, sim.Time(promptTime) - 1} {
		for _, push := range []bool{false, true} {
			sc := handing(sim.Stage{Push: push, Link: sim.Link{Latency: sim.Second, Layers: 1}},
				sim.Request{Prompt: 5, Output: 3}, sim.Request{Prompt: 5, Output: 3})
			sc.policy = &schedulers.Continuous{MaxNumSeqs: 1, MaxNumBatchedTokens: 1000}
			sc.pools[0].size, sc.pools[0].sizeMax = 2, 2
			sc.sizeMax = 1
			sc.script = []action{{at: at, what: "fail", instance: 1, retry: true}}
			j, cl := play(t, sc, fmt.Sprintf("pushed %v, fails at %v", push, at))
			require.Equal(t, int64(2), j.Outcomes[sim.Completed])
			require.Equal(t, int64(1), cl.Totals().InstancesFailed)
			require.Equal(t, int64(2), cl.Totals().Transfers)
		}
	}
}

// TestWhatIsSentDuringAStepIsFreeForTheOneAfterTheNext: request 0 is read in step 1 and sent during step 2, in which
// request 1 begins. Request 2 needs its blocks. An engine that composes a step when it knows what came of the one
// before has it join the rest of request 1 in step 3; one that queues batches has composed that by then.
func TestWhatIsSentDuringAStepIsFreeForTheOneAfterTheNext(t *testing.T) {
	for step, queues := range map[sim.Duration]bool{3: false, 4: true} {
		sc := handing(sim.Stage{Tokens: 1, Link: sim.Link{Latency: promptTime / 2, Layers: 1}},
			sim.Request{Prompt: 32, Output: 2},
			sim.Request{Prompt: 96, Output: 2, Arrival: sim.Time(promptTime / 2)},
			sim.Request{Prompt: 32, Output: 2, Arrival: sim.Time(promptTime / 2)})
		sc.policy = &schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 64}
		sc.ahead, sc.blocks = queues, 8
		sc.maxLen, sc.pools[0].maxLen = 100, 100
		require.Equal(t, queues, sc.queues())
		j, _ := play(t, sc, "few blocks")
		require.Equal(t, sim.Time(3*promptTime), j.tokens[1][0])
		require.Equal(t, sim.Time(step*promptTime), j.tokens[2][0])
	}
}

// TestACompletePromptHasItsPlaceForAnotherStep: two requests may run. Request 0 is read in step 1, beside the first
// tokens of request 1, and request 2 could be read beside the rest of them in step 2. An engine that queues batches
// composes that while request 0 has its place, and reads request 2 in step 3.
func TestACompletePromptHasItsPlaceForAnotherStep(t *testing.T) {
	for step, queues := range map[sim.Duration]bool{2: false, 3: true} {
		sc := handing(sim.Stage{Tokens: 1, Link: sim.Link{Latency: promptTime / 2, Layers: 1}},
			sim.Request{Prompt: 32, Output: 2}, sim.Request{Prompt: 80, Output: 2}, sim.Request{Prompt: 16, Output: 2})
		sc.policy, sc.ahead = &schedulers.Continuous{MaxNumSeqs: 2, MaxNumBatchedTokens: 64}, queues
		require.Equal(t, queues, sc.queues())
		j, _ := play(t, sc, "few places")
		require.Equal(t, sim.Time(2*promptTime), j.tokens[1][0])
		require.Equal(t, sim.Time(step*promptTime), j.tokens[2][0])
	}
}
