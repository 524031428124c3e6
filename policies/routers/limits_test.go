package routers_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/policies/internal/testcluster"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// TestLimitsOfRoutersBelongToThem: the first and the last value that an error names are accepted, their neighbours are
// not.
func TestLimitsOfRoutersBelongToThem(t *testing.T) {
	above := func(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }
	below := func(x float64) float64 { return math.Nextafter(x, math.Inf(-1)) }
	weights := func(w routers.Weights) error {
		_, err := routers.NewWeighted(w, 0)
		return err
	}
	prefix := func(match int32, imbalance, share int64, nodes int) error {
		_, err := routers.NewPrefixAware(nil, routers.PrefixLimits{
			MatchMin: match, Imbalance: imbalance, ImbalanceShare: share, Nodes: nodes}, 0)
		return err
	}
	split := func(name string, a routers.SplitterArguments) error {
		_, err := routers.NewSplitter(name, a)
		return err
	}
	prompt := func(below int32, pool, local, remote int) error {
		return split("prompt", routers.SplitterArguments{Entries: []int{0, 1, 2},
			Prompt: routers.ByPrompt{LocalBelow: below, Pool: pool, Local: local, Remote: remote}})
	}
	class := func(routes ...int) error {
		return split("class", routers.SplitterArguments{Entries: []int{0, 1, 2}, Classes: routes})
	}
	share := func(weights ...float64) error {
		return split("share", routers.SplitterArguments{Entries: make([]int, len(weights)), Weights: weights})
	}
	stale := func(d sim.Duration) error {
		_, err := routers.New("least-kv", routers.Arguments{Staleness: d})
		return err
	}
	for i, err := range []error{
		weights(routers.Weights{Queue: 1024}), weights(routers.Weights{Tokens: 1, KV: 1024, Prefix: 1024}),
		prefix(0, 0, 0, 1), prefix(100, 1, 1, 1), prompt(0, 0, 0, 0), prompt(1, 5, 2, 2), class(0, 1, 2), share(1e9, 0),
		stale(0),
	} {
		assert.NoError(t, err, i)
	}
	for i, err := range []error{
		weights(routers.Weights{Queue: above(1024)}), weights(routers.Weights{Queue: 1, Tokens: below(0)}),
		weights(routers.Weights{Queue: 1, Prefix: math.NaN()}), prefix(-1, 0, 0, 1), prefix(101, 0, 0, 1),
		prefix(0, -1, 0, 1), prefix(0, 0, -1, 1), prefix(0, 0, 0, 0), prompt(-1, 0, 0, 0), prompt(0, -1, 0, 0),
		prompt(0, 0, -1, 0), prompt(0, 0, 0, -1), prompt(0, 0, 3, 0), prompt(0, 0, 0, 3), class(), class(0, 3), class(-1),
		share(above(1e9)), share(below(0), 1), share(math.NaN(), 1), share(0, 0), stale(-1),
	} {
		assert.Error(t, err, i)
	}
	_, err := routers.NewKVAware(routers.Weights{Tokens: 1e-9}, 0)
	assert.Error(t, err, "a weight below one in 2048 is none")
}

// TestASnapshotIsRenewedAtItsAge: a router that knows loads as they were at most 4 s ago does not see after 3 s that
// the first instance has become idle, and sees it after 4.
func TestASnapshotIsRenewedAtItsAge(t *testing.T) {
	for second, want := range map[int64]int32{3: 1, 4: 0} {
		w := testcluster.Watch(routers.NewLeast(routers.Requests, 4*sim.Second))
		c, _ := testcluster.New(nil, []sim.Request{
			{Prompt: 8, Output: 1}, {Prompt: 8, Output: 50}, {Prompt: 8, Output: 1}, // two on the first, for a second
			{Prompt: 8, Output: 1, Arrival: testcluster.At(second)},
		}, testcluster.NewPool(2, w))
		c.Run()
		assert.Equal(t, want, w.To[3], "after %d s", second)
	}
}

// TestScoresAreWeightedSumsOfShares. The first instance has one request of 300 tokens, the second two of 100. So the
// shares are ½ and 1 of requests, 1 and ⅔ of tokens, and of 200 blocks of 4 tokens, after a step, 76 and 52. A weight
// of queues draws to the first, one of tokens or blocks to the second, and they meet where the sums are equal.
func TestScoresAreWeightedSumsOfShares(t *testing.T) {
	for _, c := range []struct {
		w    routers.Weights
		want int32
	}{
		{routers.Weights{Queue: 2, Tokens: 2.9}, 0}, {routers.Weights{Queue: 2, Tokens: 3.1}, 1},
		{routers.Weights{Queue: 6, KV: 24.9}, 0}, {routers.Weights{Queue: 6, KV: 25.1}, 1},
		{routers.Weights{Queue: 2, Tokens: 2, KV: 2.7}, 0}, {routers.Weights{Queue: 2, Tokens: 2, KV: 2.9}, 1},
	} {
		p := testcluster.NewPool(2, new(routers.RoundRobin))
		requests := []sim.Request{{Prompt: 300, Output: 9}, {Prompt: 100, Output: 9}, {Prompt: 1, Output: 1},
			{Prompt: 100, Output: 9}}
		c2, _ := testcluster.New(func(c *sim.Config) { c.Until = testcluster.At(3) / 2 }, requests, p)
		c2.Run()
		pool := c2.Pool(0)
		for i, blocks := range []int64{76, 52} {
			require.Equal(t, blocks, pool.Instance(i).BlocksUsedAt(c2.Now()))
		}
		router := testcluster.Must(routers.NewWeighted(c.w, 0))
		assert.Equal(t, c.want, router.Route(c2.Now(), &sim.Request{Prompt: 1}, pool).ID, "%+v", c.w)
	}
}

// TestTheLeastWeightThatIsOneCounts: a 1024th of what is allocated, of two ranks of 200 blocks each, and of what is not
// cached. With several of them the shares of a replica are of all its ranks.
func TestTheLeastWeightThatIsOneCounts(t *testing.T) {
	tree := new(sim.Contents)
	node := tree.Add(0, 96)
	for _, c := range []struct {
		w     routers.Weights
		ranks int
		want  int32
	}{
		{routers.Weights{KV: 1. / 1024}, 1, 1}, {routers.Weights{Prefix: 1. / 1024}, 1, 1},
		{routers.Weights{Queue: 6, KV: 49}, 2, 0}, {routers.Weights{Queue: 6, KV: 51}, 2, 1},
	} {
		p := testcluster.NewPool(2, new(routers.RoundRobin))
		p.PrefixCaching, p.Ranks = true, c.ranks
		p.Balancer = func() sim.Router { return new(routers.RoundRobin) }
		cluster, _ := testcluster.New(func(c *sim.Config) { c.Until, c.Contents = testcluster.At(3)/2, tree }, []sim.Request{
			{Prompt: 300, Output: 9}, {Prompt: 100, Output: 9, Content: node}, {Prompt: 1, Output: 1},
			{Prompt: 100, Output: 9}}, p)
		cluster.Run()
		router := testcluster.Must(routers.NewWeighted(c.w, 0))
		to := router.Route(cluster.Now(), &sim.Request{Prompt: 100, Content: node}, cluster.Pool(0))
		assert.Equal(t, c.want, to.ID, "%+v", c)
	}
	assert.Equal(t, routers.Weights{Queue: 1, Tokens: 1, KV: 1, Prefix: 1}, routers.EqualWeights())
}

// TestTheTurnGoesOnFromTheFirstAfterTheLast: also where the last, whose turn it is, takes no requests any more.
func TestTheTurnGoesOnFromTheFirstAfterTheLast(t *testing.T) {
	router := new(routers.RoundRobin)
	c, _ := testcluster.New(nil, testcluster.Together(1, 0), testcluster.NewPool(3, routers.LeastLoaded{}))
	c.Run()
	pool, to := c.Pool(0), []int32(nil)
	route := func(n int) {
		for range n {
			to = append(to, router.Route(0, nil, pool).ID)
		}
	}
	route(5)
	c.Drain(pool.Instance(2))
	route(3)
	c.Drain(pool.Instance(0))
	route(2)
	assert.Equal(t, []int32{0, 1, 2, 0, 1, 0, 1, 0, 1, 1}, to)
}

// TestVLLMAvoidsARankWithAFullCache. The first rank runs one request in so many blocks of 200, the second runs two in a
// few. With each request that a rank was sent since the statistics its score grows by 200 for the request, and where it
// has more than half of its blocks in use, by 6 · (used − 100) too:
//
//	150 blocks: 200, 700, 1200, 1700 against 400, 600, 800, 1000, 1200
//	100 blocks: 200, 400, 600, 800, 1000 against the same
//
// Of equals the first rank comes first every other time. Statistics are taken anew after 100 ms.
func TestVLLMAvoidsARankWithAFullCache(t *testing.T) {
	for _, c := range []struct {
		prompt int32
		blocks int64
		want   []int32
	}{{599, 150, []int32{0, 1, 1, 0, 1, 1}}, {399, 100, []int32{0, 1, 0, 1, 0, 1}}} {
		p := testcluster.NewPool(2, new(routers.RoundRobin))
		p.MaxModelLen = 700
		p.Scheduler = &schedulers.Continuous{MaxNumSeqs: 8, MaxNumBatchedTokens: 1024}
		requests := []sim.Request{{Prompt: c.prompt, Output: 9}, {Prompt: 1, Output: 9}, {Prompt: 1, Output: 1},
			{Prompt: 1, Output: 9}}
		cluster, _ := testcluster.New(func(c *sim.Config) { c.Until = testcluster.At(3) / 2 }, requests, p)
		cluster.Run()
		pool, now := cluster.Pool(0), cluster.Now()
		require.Equal(t, c.blocks, pool.Instance(0).BlocksUsedAt(now))
		router := new(routers.VLLMRanks)
		var to []int32
		for range c.want {
			to = append(to, router.Route(now, &sim.Request{}, pool).ID)
		}
		assert.Equal(t, c.want, to, "%d blocks", c.blocks)
		// Of vLLM 0.22, what waits counts four times, and ties go to the first.
		before, first := &routers.VLLMRanks{ByWaiting: true}, pool.Instance(0)
		score, want := [2]int{4*first.Queued() + first.Running()}, []int32(nil)
		score[1] = 4*pool.Instance(1).Queued() + pool.Instance(1).Running()
		to = nil
		for range 6 {
			to = append(to, before.Route(now, &sim.Request{}, pool).ID)
			least := 0
			if score[1] < score[0] {
				least = 1
			}
			want = append(want, int32(least))
			score[least] += 4
		}
		assert.Equal(t, want, to, "%d blocks, 0.22", c.blocks)
		for i, one := range []struct {
			after sim.Duration
			want  int32
		}{{0, 0}, {100*sim.Millisecond - 1, 1}, {100 * sim.Millisecond, 0}} {
			assert.Equal(t, one.want, router.Route(now.Add(one.after), &sim.Request{}, pool).ID, i)
		}
	}
}
