package sim_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// TestWhatMostWaitForRunsFirst tells the order by weight on three prompts of two blocks that the cache has, of which
// the first two begin alike, but by less than a block, so that no block stands for what they share.
func TestWhatMostWaitForRunsFirst(t *testing.T) {
	tree := new(sim.Contents)
	begin := tree.Add(0, 2)
	one, other, third := tree.Add(begin, 6), tree.Add(begin, 6), tree.Add(0, 8)
	sc := scenario{
		size: 1, blocks: 100, blockSize: 4, maxLen: 20, tree: tree, model: ticks(sim.Second),
		policy: &schedulers.SGLang{MaxRunningRequests: 1, MaxPrefillTokens: 100, ClipMaxNewTokens: 10, RetractDecodeSteps: 1,
			Order: schedulers.DFSWeight},
	}
	for i, content := range []int32{one, other, third, 0, other, other, 0, third, one, third, third, one} {
		r := sim.Request{ID: int32(i), Content: content, Prompt: 9, Output: 1, Traced: true}
		if i > 2 { // the others have been served
			r.Arrival = sim.Time(10 * sim.Second)
		}
		sc.requests = append(sc.requests, r)
	}
	j := newJournal()
	compare(t, "nine wait", runNaive(sc), j, run(t, sc.config(j)))
	var order []int32
	for _, r := range sc.requests[3:] {
		order = append(order, r.ID)
	}
	slices.SortFunc(order, func(a, b int32) int { return int(j.admit[a] - j.admit[b]) })
	// Three wait for the third prompt and two for each of the others, then two for each, of which the first node comes
	// first, and so on. Requests that share nothing come last.
	require.Equal(t, []int32{7, 8, 4, 9, 11, 5, 10, 3, 6}, order)
}

// TestWhatEndsTogetherIsFreedInTheOrderOfSGLangsBatch: prompts that are read beside decodes stand before them in the
// batch. Of three requests that end with the same step, the second and the third have been read beside the first, and
// are evicted before it, in that order.
func TestWhatEndsTogetherIsFreedInTheOrderOfSGLangsBatch(t *testing.T) {
	tree := new(sim.Contents)
	contents := []int32{tree.Add(0, 10), tree.Add(0, 10), tree.Add(0, 10)}
	for evicted, want := range [][]int32{{10, 10, 10}, {10, 0, 10}, {10, 0, 0}, {0, 0, 0}} {
		for i, content := range contents {
			sc := scenario{size: 1, blocks: 39, blockSize: 1, maxLen: 38, tree: tree, radix: true, model: ticks(sim.Second),
				policy: &schedulers.SGLang{MaxRunningRequests: 4, MaxPrefillTokens: 100, ChunkedPrefillSize: 100,
					EnableMixedChunk: true, ClipMaxNewTokens: 1, RetractDecodeSteps: 1}}
			sc.requests = []sim.Request{
				{Content: contents[0], Prompt: 10, Output: 4},
				{Content: contents[1], Prompt: 10, Output: 3, Arrival: sim.Time(sim.Second / 2)},
				{Content: contents[2], Prompt: 10, Output: 3, Arrival: sim.Time(sim.Second / 2)},
				{Prompt: max(1, int32(10*evicted)), Output: 1, Arrival: sim.Time(10 * sim.Second)},
				{Content: content, Prompt: 11, Output: 1, Arrival: sim.Time(20 * sim.Second)},
			}
			for k := range sc.requests {
				sc.requests[k].ID, sc.requests[k].Traced = int32(k), true
			}
			j, _ := play(t, sc, fmt.Sprintf("%d evicted", evicted))
			require.Equal(t, want[i], j.cached[4], "%d evicted: request %d", evicted, i)
			require.Equal(t, j.end[0], j.end[1])
			require.Equal(t, j.end[0], j.end[2])
		}
	}
}

// TestATurnIsThatOfOneQueue: two prefill sides of SGLang count what comes to each of them in turn. In the queue of the
// decode side of vLLM, where requests with the same priority stand by arrival, that says nothing.
func TestATurnIsThatOfOneQueue(t *testing.T) {
	preempted := int64(0)
	for blocks := range int64(8) {
		requests := make([]sim.Request, 12)
		for i := range requests {
			requests[i] = sim.Request{Prompt: 10, Output: 60, Arrival: sim.Time(i) * sim.Time(promptTime)}
		}
		requests[0].Prompt = 350
		sc := handing(sim.Stage{Tokens: 1, Link: sim.Link{Layers: 1}}, requests...)
		sc.size, sc.order, sc.policy = 2, schedulers.Priority{}, &schedulers.SGLang{MaxRunningRequests: 2,
			MaxPrefillTokens: 1000, ChunkedPrefillSize: 50, ClipMaxNewTokens: 60, RetractDecodeSteps: 1,
			InitNewTokenRatio: schedulers.RatioOne}
		decode := &sc.pools[0]
		sc.maxLen, decode.maxLen = 410, 410
		decode.blocks, decode.order, decode.recomputes = 26+blocks, schedulers.Priority{}, true
		decode.policy = &schedulers.Continuous{MaxNumSeqs: 8, MaxNumBatchedTokens: 1000, Victim: schedulers.LastInOrder}
		decode.maxNumSeqs = 8
		_, cl := play(t, sc, fmt.Sprint(blocks, " more blocks"))
		preempted += cl.PoolTotals(1).Preemptions
	}
	require.NotZero(t, preempted)
}

// TestWhatIsSplitOffIsEvictedBeforeWhatIsAdded: two prompts that begin alike end with the same step. What the first has
// alone, which the second splits off as it joins the tree, goes before what the second has alone.
func TestWhatIsSplitOffIsEvictedBeforeWhatIsAdded(t *testing.T) {
	tree := new(sim.Contents)
	begin := tree.Add(0, 10)
	contents := []int32{tree.Add(begin, 10), tree.Add(begin, 10)}
	for evicted, want := range [][]int32{{20, 20}, {10, 20}, {10, 10}, {0, 0}} {
		for i, content := range contents {
			sc := scenario{size: 1, blocks: 50, blockSize: 1, maxLen: 49, tree: tree, radix: true, model: ticks(sim.Second),
				policy: &schedulers.SGLang{MaxRunningRequests: 4, MaxPrefillTokens: 100, ClipMaxNewTokens: 1,
					RetractDecodeSteps: 1}}
			sc.requests = []sim.Request{
				{Content: contents[0], Prompt: 20, Output: 1}, {Content: contents[1], Prompt: 20, Output: 1},
				{Prompt: int32(15 + 10*evicted), Output: 1, Arrival: sim.Time(10 * sim.Second)},
				{Content: content, Prompt: 21, Output: 1, Arrival: sim.Time(20 * sim.Second)},
			}
			for k := range sc.requests {
				sc.requests[k].ID, sc.requests[k].Traced = int32(k), true
			}
			j, _ := play(t, sc, fmt.Sprintf("%d evicted", evicted))
			require.Equal(t, want[i], j.cached[3], "%d evicted: request %d", evicted, i)
		}
	}
}
