package schedulers_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/decodesim/decodesim/policies/internal/testcluster"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// TestPagesAreSetAside: of 8 pages of 4 tokens, or 12 for two, a radix tree has 4 that no request uses. A step evicts
// them where the others are fewer than the pages of its prompts and one more for each prompt, or than its decodes: with
// prompts of 13 tokens, and in the second decode behind 12, which leave no page for the next.
func TestPagesAreSetAside(t *testing.T) {
	for _, c := range []struct {
		prompt, output int32
		evicts         bool
	}{
		{8, 6, false}, {11, 3, false}, {11, 5, true}, {12, 1, false}, {12, 2, false}, {12, 3, true}, {13, 1, true},
		{16, 1, true},
	} {
		for n := range int64(2) {
			tree := new(sim.Contents)
			pool := testcluster.NewPool(1, routers.LeastLoaded{})
			pool.Scheduler, pool.KVBlocks, pool.MaxModelLen = sglang(), 8+4*n, 24
			pool.PrefixCaching, pool.RadixCache = true, true
			one := sim.Request{Prompt: c.prompt, Output: c.output, Arrival: testcluster.At(5)}
			requests := []sim.Request{{Prompt: 16, Output: 1, Content: tree.Add(0, 16)}, one, one}
			cluster, _ := testcluster.New(func(c *sim.Config) { c.Contents = tree }, requests[:2+n], pool)
			cluster.Run()
			want := int64(0)
			if c.evicts {
				want = 4
			}
			assert.Equal(t, want, cluster.PoolTotals(0).Evictions, "%d prompts: %+v", n+1, c)
		}
	}
}

// TestARetractionSaysWhatToExpect: of two requests with 8 tokens to emit at most, in 6 pages, one has emitted five when
// the other is retracted, or four that are known where the step is composed ahead. Room is made for two more: the ratio
// is 7/9 or 6/9 then, for one is added to what may be emitted, and it does not decay in the step at hand.
func TestARetractionSaysWhatToExpect(t *testing.T) {
	for i, change := range []func(*sim.PoolSpec){func(*sim.PoolSpec) {}, ahead} {
		p := sglang()
		p.ClipMaxNewTokens = 1
		pool := testcluster.NewPool(1, routers.LeastLoaded{})
		pool.Scheduler, pool.Model = p, new(steps)
		pool.KVBlocks, pool.MaxModelLen = 6, 24
		change(pool)
		ratio, decay := int64(-1), int64(0)
		c, _ := testcluster.New(func(c *sim.Config) {
			c.MaxRun = 1
			c.Observe = func(c *sim.Cluster, now sim.Time) sim.Time {
				if in := c.Pool(0).Instance(0); in.PolicyState[0] > 0 && ratio < 0 {
					ratio, decay = in.PolicyState[0]-1, in.DecodeSteps()-in.PolicyState[1]
				}
				return now.Add(sim.Second)
			}
		}, twice(), pool)
		c.Run()
		assert.Equal(t, []int64{schedulers.RatioOne * 7 / 9, schedulers.RatioOne * 6 / 9}[i], ratio)
		assert.EqualValues(t, -1, decay, "the next step is the first that counts")
	}
}

// TestAChunkIsAPageAtLeast: of chunks of 4 tokens a decode that rides along takes one, and no page is left. So the
// second prompt waits until the first request has ended, and is asked about in each step, as less is expected of it.
func TestAChunkIsAPageAtLeast(t *testing.T) {
	p := sglang()
	p.EnableMixedChunk, p.ChunkedPrefillSize = true, 4
	assert.Equal(t, []string{"p1:4", "6 × d1", "p1:4", "d1"}, segmentsOf(t, p, 100, nil, sim.Request{Prompt: 4, Output: 7},
		sim.Request{Prompt: 4, Output: 3, Arrival: testcluster.At(1)}))
}

// TestDraftsThatRideAlongTakeOfTheBudget: a decode with two drafts takes three tokens of it. A second prompt of a page
// is admitted where the first leaves more than that.
func TestDraftsThatRideAlongTakeOfTheBudget(t *testing.T) {
	for budget, want := range map[int32]string{12: "p2:8+d1:3", 11: "p1:4+d1:3"} {
		p := sglang()
		p.EnableMixedChunk, p.MaxPrefillTokens = true, budget
		second := sim.Request{Prompt: 4, Output: 2, Arrival: testcluster.At(2)}
		got := stepsOf(t, p, 100, func(pool *sim.PoolSpec) {
			pool.Speculation = &sim.Speculation{Tokens: 2, Acceptance: all{}}
		}, sim.Request{Prompt: 8, Output: 20}, second, second)
		assert.Equal(t, []string{"p1:8", "d1:3", want}, got[:3], "%d tokens", budget)
	}
}
