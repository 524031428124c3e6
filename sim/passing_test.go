package sim_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
		TokensMax: p.MaxNumBatchedTokens, Lags: n%5 < 2}
	if p.Unchunked {
		sc.passing.TokensMax = sc.maxLen
	}
	if sc.passing.Lags {
		sc.passing.TokensMax *= 2
	}
	tokens := sc.passing.TokensMax
	if v := sc.speculation; v != nil {
		tokens += v.Tokens + v.LookAhead
	}
	most := (sc.passing.Window-1+tokens+sc.blockSize-1)/sc.blockSize + 1
	sc.blocks += int64(sc.passing.Blocks * min((sc.maxLen+sc.blockSize-1)/sc.blockSize, most))
}

// TestEvictionsMakeRoomForAPromptWithWindows: a prompt waits of which the cache has more than a window. Each token that
// decodes compute evicts a block of that, which is a block less to find and one less to find it in. But when less than
// a window is left, there is less of a window to have blocks for, too, and it is admitted, although no request has
// ended.
func TestEvictionsMakeRoomForAPromptWithWindows(t *testing.T) {
	tree := new(sim.Contents)
	shared, other, second := tree.Add(0, 12), tree.Add(0, 16), sim.Time(sim.Second)
	sc := scenario{size: 1, blocks: 106, blockSize: 1, maxLen: 60, model: ticks(sim.Second), tree: tree,
		passing: sim.Passing{Blocks: 1, Window: 8, TokensMax: 6},
		policy:  &schedulers.Continuous{MaxNumSeqs: 8, MaxNumBatchedTokens: 100, LongPrefillTokenThreshold: 6}}
	sc.requests = []sim.Request{{Prompt: 12, Output: 1, Content: shared}, {ID: 1, Prompt: 10, Output: 50},
		{ID: 2, Prompt: 30, Output: 30}, {ID: 3, Prompt: 16, Output: 1, Content: other, Arrival: 2 * second},
		{ID: 4, Prompt: 40, Output: 2, Content: shared, Arrival: 16 * second}}
	for i := range sc.requests {
		sc.requests[i].Traced = true
	}
	j, _ := play(t, sc, "evictions")
	require.Less(t, j.cached[4], int32(8), "less than a window")
	require.Less(t, j.admit[4], min(j.end[1], j.end[2]))
	require.Greater(t, j.admit[4], 16*second)
}
