package sim_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/traces"
)

// drawSharing draws a small scenario in which much is shared, computed twice, evicted and preempted.
func drawSharing(t *rapid.T) scenario {
	one := func(label string, v ...int32) int32 { return rapid.SampledFrom(v).Draw(t, label) }
	sc := scenario{
		size: int(one("replicas", 1, 1, 2)), blockSize: one("block_size", 1, 2, 4, 7), fixed: one("fixed", 0, 0, 0, 2),
		model: drawModel(t, 0), roundRobin: true,
	}
	sc.clients = int(one("clients", 0, 0, 3))
	if sc.clients == 0 {
		sc.sessions = int(one("sessions", 0, 0, 1, 5))
	}
	prompt, output := one("prompt", 3, 20, 60), one("output", 1, 5, 60)
	sc.maxLen = 4*prompt + output
	sc.blocks = int64((sc.maxLen+sc.blockSize-1)/sc.blockSize+sc.fixed) * int64(one("tenths", 10, 12, 20, 100)) / 10
	switch rapid.SampledFrom([]string{"continuous", "sorting", "any"}).Draw(t, "policies") {
	case "continuous":
		maxNumSeqs := one("max_num_seqs", 1, 3, 8, 30)
		sc.policy = &schedulers.Continuous{
			MaxNumSeqs: int(maxNumSeqs), MaxNumBatchedTokens: max(maxNumSeqs, one("max_num_batched_tokens", 4, 16, 64, 1000)),
			LongPrefillTokenThreshold: one("threshold", 0, 1, 3, 10), SchedulerReserveFullISL: rapid.Bool().Draw(t, "full_isl"),
			Victim: []schedulers.Victim{schedulers.LastAdmitted, schedulers.LastInOrder}[sc.maxLen%2], // as good as a draw
		}
		if sc.maxLen%2 > 0 {
			sc.order = shuffled{}
		}
	case "sorting":
		drawSGLang(t, &sc, int(one("max_running_requests", 2, 4, 16)))
		sc.policy.(*schedulers.SGLang).Order = rapid.SampledFrom([]schedulers.CacheOrder{schedulers.LPM, schedulers.DFSWeight,
			schedulers.DFSWeight}).Draw(t, "sorting")
	default:
		for sc.policy == nil || sc.anonymous {
			sc.anonymous, sc.order = false, nil
			sc.promptMax, sc.swapBlocks = 0, 0
			drawPolicy(t, &sc, sc.maxLen)
		}
	}
	sc.drawRequests(t, prompt, output)
	sc.drawContents(t)
	sc.ahead = rapid.Bool().Draw(t, "ahead")
	sc.windowCache(len(sc.requests))
	drawSpeculation(t, &sc)
	sc.drawRadix(t)
	return sc
}

// TestExtentsAreBlocks: a cache that knows extents finds, request by request, what a cache of single blocks finds,
// evicts as many, and has every block back in the end.
func TestExtentsAreBlocks(t *testing.T) {
	t.Parallel()
	cover, drawn := map[string]int{}, 0
	rapid.Check(t, func(t *rapid.T) {
		drawn++
		sc := drawSharing(t)
		twin := runNaive(sc)
		equalsTwin(t, sc, twin, func(cl *sim.Cluster) {
			require.NoError(t, sim.CheckCaches(cl))
			cover["evictions"] += int(cl.PoolTotals(0).Evictions)
		})
		for _, what := range []string{"preemptions", "loaded blocks", "loads after a preemption", "sorted by weight",
			"waits for another with its prefix"} {
			cover[what] += twin.cover[what]
		}
		for _, in := range twin.insts {
			if in.store != nil {
				cover["blocks lost from host memory"] += in.store.lost
			}
			if in.pool != nil {
				cover["blocks computed twice"] += in.pool.doubles
				cover["found where computed twice"] += in.pool.doubled
			} else {
				cover["blocks of a radix tree that are evicted"] += in.tree.evicted
			}
		}
		for _, r := range twin.all {
			cover["requests"]++
			cover["blocks a resumed request finds"] += r.resumed
			cover["of them, for this request only"] += r.regained
			if r.Cached > 0 {
				cover["hits"]++
			}
		}
	})
	least := map[string]int{}
	for _, what := range []string{
		"evictions", "preemptions", "hits", "blocks computed twice", "found where computed twice",
		"blocks a resumed request finds", "of them, for this request only",
		"blocks of a radix tree that are evicted", "waits for another with its prefix",
		"loaded blocks", "loads after a preemption", "blocks lost from host memory", "sorted by weight",
	} {
		least[what] = 1
	}
	wantCovered(t, drawn, cover, least)
}

// TestWithoutSharingOnlyPreemptionFeelsTheCache: where prompts share nothing and no request is preempted, prefix
// caching changes no token of any request. The most blocks in use may be more than without it where windows pass some:
// with a cache the order counts, and what a window passes in a step is free only when requests admitted before have
// their blocks of it.
func TestWithoutSharingOnlyPreemptionFeelsTheCache(t *testing.T) {
	t.Parallel()
	same := 0
	rapid.Check(t, func(t *rapid.T) {
		if onOther(t) {
			return
		}
		sc := drawScenario(t)
		for i := range sc.requests {
			sc.requests[i].Content = 0
		}
		sc.tree, sc.sessions = nil, 0
		if sc.anonymous {
			return
		}
		off, on := newJournal(), newJournal()
		without := run(t, sc.config(off))
		sc.tree = new(sim.Contents)
		with := run(t, sc.config(on))
		require.NoError(t, sim.CheckCaches(with))
		if without.PoolTotals(0).Preemptions > 0 {
			return
		}
		same++
		off.runs, on.runs = 0, 0 // how many events that takes is no matter
		require.Equal(t, off, on)
		totals := with.PoolTotals(0)
		require.Equal(t, make([]sim.TierTotals, len(sc.tiers)), totals.Tiers, "nothing is fetched")
		totals.Tiers = without.PoolTotals(0).Tiers
		if peak := without.PoolTotals(0).KVPeak; sc.passing.Blocks > 0 {
			require.GreaterOrEqual(t, totals.KVPeak, peak)
			totals.KVPeak = peak
		}
		require.Equal(t, without.PoolTotals(0), totals)
		require.Equal(t, without.Totals(), with.Totals())
	})
	require.Positive(t, same)
}

// TestAWindowPassesWhenItsRequestHasItsTurn: a token takes two blocks. Request 0 has 4, and request 1 has 14 after its
// prompt of 7 tokens, of which its window of 5 passes 3 when it gets 2 more. Without a cache they are free before
// either takes its 2, so that 18 − 3 + 4 = 19 are the most in use. With one request 0 has taken its 2 by then: 20.
func TestAWindowPassesWhenItsRequestHasItsTurn(t *testing.T) {
	for _, tree := range []*sim.Contents{nil, new(sim.Contents)} {
		sc := scenario{size: 1, blocks: 22, blockSize: 1, maxLen: 10,
			passing: sim.Passing{Blocks: 1, Window: 5, TokensMax: 8192}, model: ticks(sim.Second), tree: tree,
			policy: &schedulers.Continuous{MaxNumSeqs: 2, MaxNumBatchedTokens: 8192, MaxModelLen: 10}}
		ms := sim.Time(sim.Millisecond)
		sc.requests = []sim.Request{{Prompt: 1, Output: 3, Traced: true},
			{ID: 1, Arrival: 10 * ms, Prompt: 7, Output: 2, Traced: true}}
		_, cl := play(t, sc, "windows")
		require.EqualValues(t, map[bool]int{false: 19, true: 20}[tree != nil], cl.PoolTotals(0).KVPeak)
	}
}

// TestEvictionsMakeRoomForAWindow: a token takes a block in a window of 40 beside its own. Request 0, which was
// preempted, may come back as soon as request 1 has evicted enough of what the cache has of it: each token that is not
// found is one after which its chunk ends earlier, by two blocks. A segment of decodes must not pass that step.
func TestEvictionsMakeRoomForAWindow(t *testing.T) {
	sc := scenario{size: 1, blocks: 92, blockSize: 1, windowed: sim.Windowed{Blocks: 1, BlocksMax: 40}, maxLen: 48,
		order: schedulers.Priority{}, tree: new(sim.Contents), model: ticks(sim.Second), policy: &schedulers.Continuous{
			MaxNumSeqs: 4, MaxNumBatchedTokens: 4, Victim: schedulers.LastInOrder}}
	s := sim.Time(sim.Second)
	sc.requests = []sim.Request{{Prompt: 26, Output: 8, Priority: 1, Traced: true},
		{ID: 1, Arrival: 6 * s, Prompt: 1, Output: 37, Traced: true},
		{ID: 2, Arrival: 7 * s, Prompt: 1, Output: 12, Traced: true}}
	twin := runNaive(sc)
	require.Positive(t, twin.cover["preemptions"])
	for _, most := range []int{0, 1} {
		j := newJournal()
		c := sc.config(j)
		c.MaxRun = most
		compare(t, fmt.Sprintf("%d steps at once", most), twin, j, run(t, c))
	}
}

// TestASharedPromptIsComputedOnce tells the rules on one prompt of 40 tokens in blocks of 16, of which 35 are shared.
func TestASharedPromptIsComputedOnce(t *testing.T) {
	tree := new(sim.Contents)
	system := tree.Add(0, 32)
	question := tree.Add(system, 3)
	for _, test := range []struct {
		name         string
		first, later sim.Request
		cached       int32
	}{
		{"two full blocks", sim.Request{Content: question, Prompt: 40}, sim.Request{Content: question, Prompt: 40}, 32},
		{"never the last token", sim.Request{Content: system, Prompt: 32}, sim.Request{Content: system, Prompt: 32}, 16},
		{"nor a block that is not full", sim.Request{Content: system, Prompt: 31}, sim.Request{Content: system, Prompt: 32},
			16},
		{"another tail", sim.Request{Content: question, Prompt: 60}, sim.Request{Content: system, Prompt: 90}, 32},
		{"its own tail is not shared", sim.Request{Prompt: 40}, sim.Request{Prompt: 40}, 0},
	} {
		sc := scenario{size: 1, blocks: 100, blockSize: 16, maxLen: 200, tree: tree, model: ticks(sim.Second),
			policy: &schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 100}}
		test.first.Output, test.later.Output, test.later.ID = 2, 2, 1
		for _, gap := range []sim.Time{0, sim.Time(10 * sim.Second)} { // in the same step, or after the first has ended
			test.later.Arrival = gap
			sc.requests = []sim.Request{test.first, test.later}
			j := newJournal()
			cl := run(t, sc.config(j))
			require.Equal(t, map[int32]int32{0: 0, 1: test.cached}, j.cached, test.name)
			require.Equal(t, int64(test.cached), cl.Totals().CachedTokens, test.name)
		}
	}
}

// TestABlockIsNamedWithTheTokenAfterIt: the client of request 0 leaves during the step that reads its prompt, which
// fills three blocks. Its output would be read again, but no token of that is known, so the third block has no name and
// is the first that request 1 takes, then the one that was never taken, and one of the two others.
func TestABlockIsNamedWithTheTokenAfterIt(t *testing.T) {
	tree := new(sim.Contents)
	prompt := tree.Add(0, 48)
	sc := scenario{size: 1, blocks: 4, blockSize: 16, maxLen: 64, tree: tree, model: ticks(sim.Second),
		policy: &schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 100}}
	sc.speculation = &sim.Speculation{Tokens: 1, Acceptance: random{rates: []float64{0}}}
	sc.requests = []sim.Request{
		{Prompt: 48, Output: 2, Content: prompt, OutputContent: tree.Add(prompt, 2), Deadline: sim.Time(sim.Millisecond)},
		{ID: 1, Prompt: 40, Output: 1, Arrival: sim.Time(10 * sim.Second)}}
	require.True(t, sc.unnamedFirst())
	require.Equal(t, sim.Drafter{Ahead: 1}, sc.drafter())
	_, cl := play(t, sc, "cancelled")
	require.Equal(t, int64(1), cl.PoolTotals(0).Evictions)
}

// TestADrafterLacksTheEndOfACachedPrompt: of two cached blocks of 16 tokens, one that drops the last finds one, and one
// that wants the next token finds the second only where the prompts have that in common too.
func TestADrafterLacksTheEndOfACachedPrompt(t *testing.T) {
	tree := new(sim.Contents)
	system := tree.Add(0, 32)
	question := tree.Add(system, 3)
	for _, test := range []struct {
		content, cached int32
		drafter         sim.Drafter
	}{
		{system, 32, sim.Drafter{}},
		{system, 16, sim.Drafter{DropsLast: true}},
		{system, 16, sim.Drafter{Ahead: 1}},
		{question, 32, sim.Drafter{Ahead: 1}},
		{question, 16, sim.Drafter{DropsLast: true}},
	} {
		sc := scenario{size: 1, blocks: 100, blockSize: 16, maxLen: 200, tree: tree, model: ticks(sim.Second),
			policy: &schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 100}}
		sc.requests = []sim.Request{{Content: test.content, Prompt: 60, Output: 2},
			{ID: 1, Content: test.content, Prompt: 90, Output: 2, Arrival: sim.Time(10 * sim.Second)}}
		j := newJournal()
		cfg := sc.config(j)
		cfg.Pools[0].Drafter = test.drafter
		run(t, cfg)
		require.Equal(t, map[int32]int32{0: 0, 1: test.cached}, j.cached, "%+v", test)
	}
}

// TestWhatAnAbortedRequestHasAcceptedIsNeverFound: request 1, of 2 tokens, is cancelled in the step in which 3 drafts
// of it are accepted. The engine does not look at that step's output, so it names 3 of the 6 blocks, and those of the
// drafts are the first to be evicted: request 2 needs 7 blocks, finds 4 that nothing was in and takes no block of
// request 0, of which request 3 finds all but the last token.
func TestWhatAnAbortedRequestHasAcceptedIsNeverFound(t *testing.T) {
	tree := new(sim.Contents)
	system := tree.Add(0, 10)
	sc := scenario{size: 1, blocks: 20, blockSize: 1, maxLen: 20, tree: tree, model: ticks(sim.Second),
		policy:      &schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 100},
		speculation: speculate(3, random{rates: []float64{1}})}
	at := func(seconds float64) sim.Time { return sim.Time(sim.Seconds(seconds)) }
	sc.requests = []sim.Request{{Content: system, Prompt: 10, Output: 1},
		{ID: 1, Prompt: 2, Output: 18, Arrival: at(10), Deadline: at(11.5)},
		{ID: 2, Prompt: 7, Output: 1, Arrival: at(20)}, {ID: 3, Content: system, Prompt: 10, Output: 1, Arrival: at(30)}}
	for i := range sc.requests {
		sc.requests[i].Traced = true
	}
	twin, j := runNaive(sc), newJournal()
	compare(t, "aborted", twin, j, run(t, sc.config(j)))
	require.Equal(t, map[int32]int32{0: 0, 1: 0, 2: 0, 3: 9}, j.cached)
}

// TestAPreemptedRequestComputesItsLastToken: request 0 has taken blocks for its fourth or eighth token, which fills
// one, when the more urgent request 1 lacks a block and takes that of the windows of request 0. That does not find the
// block that it has filled, because its last token must be computed, be there others or not.
func TestAPreemptedRequestComputesItsLastToken(t *testing.T) {
	for _, test := range []struct {
		blocks        int64
		first, urgent sim.Request
	}{
		{6, sim.Request{Prompt: 3, Output: 8}, sim.Request{Prompt: 5, Output: 6}},
		{4, sim.Request{Prompt: 2, Output: 3}, sim.Request{Prompt: 4, Output: 2}}, // and so it finds none
	} {
		sc := scenario{
			size: 1, blocks: test.blocks, blockSize: 4, fixed: 1, maxLen: 12, tree: new(sim.Contents),
			model: prices{token: sim.Second}, order: schedulers.Priority{},
			policy: &schedulers.Continuous{MaxNumSeqs: 2, MaxNumBatchedTokens: 100, Victim: schedulers.LastInOrder},
		}
		test.first.Priority, test.urgent.ID, test.urgent.Arrival = 1, 1, 1
		sc.requests = []sim.Request{test.first, test.urgent}
		for i := range sc.requests {
			sc.requests[i].Traced = true
		}
		_, cl := play(t, sc, fmt.Sprintf("%d blocks", test.blocks))
		require.NoError(t, sim.CheckCaches(cl))
		require.Equal(t, int64(1), cl.PoolTotals(0).Preemptions)
	}
}

// TestWhatEndsTogetherIsFreedInOrderOfAdmission: request 0, whose prompt takes as many steps as request 1 takes for
// prompt and output, is freed first and evicted first.
func TestWhatEndsTogetherIsFreedInOrderOfAdmission(t *testing.T) {
	tree := new(sim.Contents)
	a, b := tree.Add(0, 40), tree.Add(0, 40)
	found := map[int32]int{}
	for evict := int32(1); evict < 16; evict++ {
		sc := scenario{
			size: 1, blocks: 20, blockSize: 4, maxLen: 80, tree: tree, model: ticks(sim.Second),
			policy: &schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 100, LongPrefillTokenThreshold: 10},
		}
		sc.requests = []sim.Request{
			{ID: 0, Content: a, Prompt: 40, Output: 1}, {ID: 1, Content: b, Prompt: 10, Output: 4},
			{ID: 2, Prompt: 4 * evict, Output: 1, Arrival: sim.Time(20 * sim.Second)},
			{ID: 3, Content: a, Prompt: 40, Output: 1, Arrival: sim.Time(60 * sim.Second)},
		}
		for i := range sc.requests {
			sc.requests[i].Traced = true
		}
		j := newJournal()
		cl := run(t, sc.config(j))
		compare(t, fmt.Sprintf("%d blocks evicted", evict), runNaive(sc), j, cl)
		require.Equal(t, j.end[0], j.end[1], "they end together")
		found[j.cached[3]]++
	}
	require.Greater(t, len(found), 5)
}

// TestARealTraceIsCachedBlockByBlock: conversations with shared beginnings, on the small cache on which they were
// measured.
func TestARealTraceIsCachedBlockByBlock(t *testing.T) {
	dir := os.Getenv("DECODESIM_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared")
	}
	file := filepath.Join(dir, "workloads", "D_sharegpt_llama31_300.jsonl")
	if _, err := os.Stat(file); err != nil {
		t.Skipf("no trace at %s; set DECODESIM_SHARED to the folder that has workloads/", file)
	}
	trace, err := traces.Open(file, traces.Options{Contents: true})
	require.NoError(t, err)
	defer trace.Close()
	sc := scenario{
		size: 1, blocks: 2588, blockSize: 16, maxLen: 2588 * 16, tree: trace.Contents(),
		policy: &schedulers.Continuous{MaxNumSeqs: 256, MaxNumBatchedTokens: 2048, SchedulerReserveFullISL: true},
		model: prices{weights: 16 * sim.Millisecond, token: 100 * sim.Microsecond, ctx: 130 * sim.Nanosecond,
			overhead: sim.Millisecond},
	}
	for r := (sim.Request{}); trace.Next(&r); r = (sim.Request{}) {
		r.Traced = true
		sc.requests = append(sc.requests, r)
	}
	twin, j := runNaive(sc), newJournal()
	cl := run(t, sc.config(j))
	compare(t, file, twin, j, cl)
	require.NoError(t, sim.CheckCaches(cl))
	require.Positive(t, cl.PoolTotals(0).Preemptions)
	t.Logf("%d of %d prompt tokens cached, %d blocks of prompts evicted, %d preemptions",
		cl.Totals().CachedTokens, cl.Totals().PromptTokens, cl.PoolTotals(0).Evictions, cl.PoolTotals(0).Preemptions)
}

// TestWhatEndedUnseenLeavesItsOutput: both requests have filled their five blocks, which is all there are. Request 1 is
// preempted for request 0 although it has just ended, which its engine does not know yet. All that it had emitted by
// the step before can be found, and request 2 reads it again.
func TestWhatEndedUnseenLeavesItsOutput(t *testing.T) {
	tree := new(sim.Contents)
	prompt := tree.Add(0, 4)
	turn := tree.Add(prompt, 17)
	sc := scenario{size: 1, blocks: 10, blockSize: 4, maxLen: 40, tree: tree, ahead: true, model: ticks(sim.Second),
		policy: &schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 100}}
	sc.requests = []sim.Request{{Prompt: 4, Output: 18, Traced: true},
		{ID: 1, Prompt: 4, Output: 17, MaxOutput: 30, Content: prompt, OutputContent: turn, Traced: true},
		{ID: 2, Prompt: 30, Output: 1, Content: turn, Arrival: sim.Time(100 * sim.Second), Traced: true}}
	require.True(t, sc.queues())
	require.Equal(t, 1, runNaive(sc).cover["victims that had ended"])
	j, _ := play(t, sc, "ended")
	require.Equal(t, int32(16), j.cached[2])
}
