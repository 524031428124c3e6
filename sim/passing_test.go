package sim_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/soak"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// A prompt of 1000 tokens in chunks of 256, in blocks of 16, beside one group of windows of 64 tokens: with its last
// chunk it has 63 blocks of all tokens, and of the window those of tokens 705 to 1000, ⌈1000/16⌉ − ⌊705/16⌋ = 19. If
// the step before counts only when its result is known, the window begins at token 449, and there are 35.
func TestAChunkHasTheWindowBeforeIt(t *testing.T) {
	for _, c := range []struct {
		lags bool
		most int64
	}{{false, 63 + 19}, {true, 63 + 35}} {
		sc := scenario{
			size: 1, blocks: 200, blockSize: 16, maxLen: 1100, model: prices{weights: sim.Millisecond}, ahead: c.lags,
			requests: []sim.Request{{Prompt: 1000, Output: 3}},
			policy:   &schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 256},
			passing:  sim.Passing{Blocks: 1, Window: 64, TokensMax: 512, Lags: c.lags},
		}
		assert.Equal(t, c.most, run(t, sc.config(newJournal())).PoolTotals(0).KVPeak)
		sc.blocks = 100
		_, err := sim.New(sc.config(newJournal()))
		require.ErrorContains(t, err, "one request of 1100 tokens needs", "windows and chunks of the longest prompt must fit")
	}
}

// passChunks gives two in three scenarios, where requests are admitted chunk by chunk and preempted, blocks of windows
// until the windows have passed them, and room for the longest sequence to do that.
func (sc *scenario) passChunks(n int) {
	p, ok := sc.policy.(*schedulers.Continuous)
	if !ok || p.NoEvict || p.Reserve != schedulers.AsComputed || n%3 == 1 || sc.radix {
		return
	}
	sc.windowed = sim.Windowed{}
	sc.passing = sim.Passing{Blocks: []int32{1, 6}[n/2%2], Window: []int32{1, 5, 33, 400}[n%4],
		TokensMax: p.MaxNumBatchedTokens, Lags: n%5 < 2 || len(sc.stages) > 1}
	if p.Unchunked {
		sc.passing.TokensMax = sc.maxLen
	}
	if sc.passing.Lags {
		sc.passing.TokensMax *= int32(1 + max(1, len(sc.stages)))
	}
	tokens := sc.passing.TokensMax
	if v := sc.speculation; v != nil {
		tokens += v.Tokens + v.LookAhead
	}
	most := (sc.passing.Window-1+tokens+sc.blockSize-1)/sc.blockSize + 1
	sc.blocks += int64(sc.passing.Blocks * min((sc.maxLen+sc.blockSize-1)/sc.blockSize, most))
}

// Two prompts of 40 and 44 tokens with the same 40, in blocks of 4, come in one step. Beside one group of windows of 8
// tokens the first has ten blocks in each group. The second finds all ten of full attention and, of the window, the two
// of tokens 34 to 40; it takes one in each group.
func TestWindowsShareWhatIsCached(t *testing.T) {
	tree := new(sim.Contents)
	node := tree.Add(0, 40)
	sc := scenario{size: 1, blocks: 100, blockSize: 4, maxLen: 60, model: ticks(sim.Second), tree: tree,
		requests: []sim.Request{{Prompt: 40, Output: 1, Content: node}, {ID: 1, Prompt: 44, Output: 1, Content: node}},
		policy:   &schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 100},
		passing:  sim.Passing{Blocks: 1, Window: 8, TokensMax: 100},
	}
	j := newJournal()
	assert.Equal(t, int64(22), run(t, sc.config(j)).PoolTotals(0).KVPeak)
	assert.Equal(t, int32(40), j.cached[1])
}

// TestFullCachesWithWindowsEqualTheNaiveTwin: many small loads on caches that hold a sequence or two. Steps of a run
// free blocks of windows, which may admit the head of the queue, and evict what it would have found; some of them a
// victim finds again.
func TestFullCachesWithWindowsEqualTheNaiveTwin(t *testing.T) {
	t.Parallel()
	cover, seeds := 0, soak.Cases(soak.Part(600), 1400)
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 7))
		sc := fullWithWindows(r)
		if seed%3 == 0 { // windows of several pass blocks in one step, and the victim need not be the last of them
			sc.order, sc.policy.(*schedulers.Continuous).Victim = schedulers.Priority{}, schedulers.LastInOrder
			for i := range sc.requests {
				q := &sc.requests[i]
				q.Arrival, q.Prompt, q.Priority = 0, min(sc.requests[0].Prompt, sc.maxLen-q.Output), int8(r.IntN(3))
			}
		}
		twin, j := runNaive(sc), newJournal()
		compare(t, fmt.Sprint("seed ", seed), twin, j, run(t, sc.config(j)))
		cover += twin.cover["blocks that windows had passed, and a victim finds again"]
	}
	assert.Greater(t, cover, seeds/70)
}

// TestWindowsInPipelinesEqualTheNaiveTwin: with stages, whose batches compute chunks of one prompt at once.
func TestWindowsInPipelinesEqualTheNaiveTwin(t *testing.T) {
	t.Parallel()
	cover, seeds := 0, soak.Cases(soak.Part(600), 1400)
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 8))
		sc := fullWithWindows(r)
		sc.stages = [][]int32{{1, 1}, {3, 1}, {1, 1, 1, 1}}[r.IntN(3)]
		if seed%7 == 0 { // which compute as many tokens in vain as a short window has
			sc.stages = []int32{1, 1, 1, 1, 1, 1, 1, 1}
		}
		if v := &sc.passing; v.Lags {
			v.TokensMax = v.TokensMax / 2 * int32(1+len(sc.stages))
		}
		blocks := int64((sc.maxLen+sc.blockSize-1)/sc.blockSize) * int64(1+sc.passing.Blocks)
		sc.blocks = blocks*int64(1+r.IntN(8)) + int64(r.IntN(2))
		sc.settleStages()
		twin, j := runNaive(sc), newJournal()
		compare(t, fmt.Sprint("seed ", seed), twin, j, run(t, sc.config(j)))
		cover += twin.cover["windows that wait for several chunks"]
	}
	assert.Greater(t, cover, 3*seeds)
}

// fullWithWindows draws a load.
func fullWithWindows(r *rand.Rand) scenario {
	size, maxLen := []int32{1, 2, 4, 16}[r.IntN(4)], int32(20+r.IntN(100))
	v := sim.Passing{Window: int32(1 + r.IntN(40)), TokensMax: int32(2 + r.IntN(40))}
	v.Blocks, v.Lags = int32(1+r.IntN(3)), r.IntN(2) == 0
	budget := v.TokensMax
	if v.Lags {
		v.TokensMax *= 2
	}
	blocks := func(tokens int32) int32 { return (tokens + size - 1) / size }
	one := int64(blocks(maxLen) + v.Blocks*min(blocks(maxLen), blocks(v.Window-1+v.TokensMax)+1))
	sc := scenario{size: 1, blocks: one + int64(r.IntN(int(one))), blockSize: size, maxLen: maxLen,
		model: ticks(sim.Second), ahead: r.IntN(2) == 0, passing: v}
	if r.IntN(2) == 0 {
		sc.tree = new(sim.Contents)
		for range 1 + r.IntN(4) {
			sc.tree.Add(int32(r.IntN(sc.tree.Len())), 1+r.Int32N(20))
		}
	}
	p := &schedulers.Continuous{MaxNumSeqs: int(min(budget, 1+r.Int32N(8))), MaxNumBatchedTokens: budget,
		SchedulerReserveFullISL: r.IntN(2) == 0, StopsAtSelf: r.IntN(2) == 0}
	if r.IntN(2) == 0 {
		p.LongPrefillTokenThreshold = 1 + r.Int32N(10)
	}
	if r.IntN(3) == 0 {
		p.WatermarkBlocks = int64(r.IntN(5))
	}
	sc.policy = p
	at := sim.Time(0)
	for i := range int32(2 + r.IntN(12)) {
		output := 1 + r.Int32N(maxLen-1)
		q := sim.Request{ID: i, Prompt: 1 + r.Int32N(maxLen-output), Output: output, Arrival: at, Traced: true}
		if r.IntN(3) > 0 {
			at = at.Add(sim.Duration(r.IntN(20)) * sim.Second / 2)
		}
		if sc.tree != nil {
			q.Content = int32(r.IntN(sc.tree.Len()))
		}
		if r.IntN(4) == 0 {
			q.MaxOutput = q.Output + r.Int32N(4)
		}
		sc.requests = append(sc.requests, q)
	}
	return sc
}

// TestVictimsThatPassedBlocksTogetherEqualTheNaiveTwin: the windows of several requests pass a block in one
// step, and then some of these requests are preempted. Each must find its own block again: that of another is evicted
// at another time.
func TestVictimsThatPassedBlocksTogetherEqualTheNaiveTwin(t *testing.T) {
	t.Parallel()
	cover := 0
	for seed := range uint64(soak.Part(400)) {
		sc := passingTogether(rand.New(rand.NewPCG(seed, 9)))
		twin, j := runNaive(sc), newJournal()
		compare(t, fmt.Sprint("seed ", seed), twin, j, run(t, sc.config(j)))
		cover += twin.cover["blocks that windows had passed, and a victim finds again"]
	}
	assert.Greater(t, cover, soak.Least(50))
}

// passingTogether draws requests that arrive one by one, each of higher priority and with one token more than the one
// before, so that they are equally long while they decode. Chunks of prompts that come later take many blocks at once.
func passingTogether(r *rand.Rand) scenario {
	const longest = 48
	size := []int32{2, 4, 8}[r.IntN(3)]
	v := sim.Passing{Blocks: 1 + r.Int32N(2), Window: 2 + r.Int32N(8), TokensMax: 64, Lags: r.IntN(2) == 0}
	if v.Lags {
		v.TokensMax *= 2
	}
	one := (longest + size - 1) / size * (1 + v.Blocks)
	sc := scenario{size: 1, blockSize: size, maxLen: longest, model: ticks(sim.Second), ahead: v.Lags, passing: v,
		tree: new(sim.Contents), order: schedulers.Priority{}, blocks: int64(one+r.Int32N(one/2)) / 2 * 2}
	second := func(n int32) sim.Time { return sim.Time(0).Add(sim.Duration(n) * sim.Second) }
	prompt, members := 4+r.Int32N(8), 3+r.Int32N(3)
	for i := range members {
		q := sim.Request{Prompt: prompt + i, Arrival: second(i), Priority: int8(5 - i + r.Int32N(3)), Traced: true}
		q.Output = longest - q.Prompt - r.Int32N(10)
		sc.requests = append(sc.requests, q)
	}
	for range 1 + r.IntN(2) {
		sc.requests = append(sc.requests, sim.Request{Prompt: 20 + r.Int32N(25), Output: 1 + r.Int32N(3),
			Arrival: second(8 + r.Int32N(25)), Traced: true})
	}
	slices.SortFunc(sc.requests, func(a, b sim.Request) int { return cmp.Compare(a.Arrival, b.Arrival) })
	for i := range sc.requests {
		sc.requests[i].ID = int32(i)
	}
	sc.policy = &schedulers.Continuous{MaxNumSeqs: 8, MaxNumBatchedTokens: 64, Victim: schedulers.LastInOrder,
		LongPrefillTokenThreshold: 4 * (1 + r.Int32N(5))}
	return sc
}

// TestFewDecodesDraftMore than num_speculative_tokens: a window that is shorter than what they draft passes no block
// before that has a name.
func TestFewDecodesDraftMore(t *testing.T) {
	sc := scenario{size: 1, blocks: 60, blockSize: 1, maxLen: 20, model: ticks(sim.Second), tree: new(sim.Contents),
		passing: sim.Passing{Blocks: 1, Window: 1, TokensMax: 64},
		policy:  &schedulers.Continuous{MaxNumSeqs: 2, MaxNumBatchedTokens: 64, MaxModelLen: 20, StopsAtSelf: true}}
	sc.speculation = speculate(0, random{rates: []float64{1}})
	sc.speculation.Adaptive = []sim.DraftRow{{Decodes: 2, Tokens: 1}}
	node := sc.tree.Add(0, 6)
	sc.requests = []sim.Request{{Prompt: 8, Output: 9, Content: node, Traced: true},
		{ID: 1, Prompt: 8, Output: 4, Content: node, Traced: true, Arrival: sim.Time(2 * sim.Second)}}
	_, cl := play(t, sc, "adaptive drafts")
	require.NoError(t, sim.CheckCaches(cl))
}

// TestATurnFindsWhatWindowsPassedLast: windows of 6 tokens in blocks of 4 have passed two blocks of the answer of
// request 0 when it ends after 15 tokens, and request 1, which begins with three full blocks of it, needs the second
// for the window before its own tokens. Windows of 8 tokens pass the second with the token that is computed in vain.
func TestATurnFindsWhatWindowsPassedLast(t *testing.T) {
	for _, window := range []int32{6, 8} {
		for _, ahead := range []bool{false, true} {
			for _, limit := range []int32{0, 20} {
				tree := new(sim.Contents)
				prompt := tree.Add(0, 3)
				turn := tree.Add(prompt, 13)
				sc := scenario{size: 1, blocks: 40, blockSize: 4, maxLen: 40, tree: tree, ahead: ahead,
					model: ticks(sim.Second), policy: &schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 100},
					passing: sim.Passing{Blocks: 1, Window: window, TokensMax: 100}}
				sc.requests = []sim.Request{
					{Prompt: 3, Output: 13, MaxOutput: limit, Content: prompt, OutputContent: turn, Traced: true},
					{ID: 1, Prompt: 30, Output: 1, Content: turn, Arrival: sim.Time(100 * sim.Second), Traced: true}}
				j, _ := play(t, sc, "turns")
				require.Equal(t, int32(12), j.cached[1])
			}
		}
	}
}
