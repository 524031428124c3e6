package schedulers_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/decodesim/decodesim/policies/internal/testcluster"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// served returns requests in order of their first tokens, as an engine serves them that runs so many at once and keeps
// what it has computed in a radix tree. Those after the first two come when these have ended.
func served(order schedulers.CacheOrder, atOnce int, tree *sim.Contents, requests ...sim.Request) []int32 {
	p := testcluster.NewPool(1, routers.LeastLoaded{})
	policy := sglang()
	policy.Order, policy.MaxRunningRequests, policy.MaxPrefillTokens = order, atOnce, 1000
	p.Scheduler, p.KVBlocks = policy, 400
	p.PrefixCaching, p.RadixCache = true, true
	for i := range requests {
		if i >= 2 {
			requests[i].Arrival = testcluster.At(20)
		}
	}
	c, log := testcluster.New(func(c *sim.Config) { c.Contents = tree }, requests, p)
	c.Run()
	ids := make([]int32, len(requests))
	for i := range ids {
		ids[i] = int32(i)
	}
	slices.SortStableFunc(ids, func(a, b int32) int { return cmp.Compare(log.FirstToken[a], log.FirstToken[b]) })
	return ids
}

// TestQueuesAreSortedByWhatIsCached: the first two requests leave a long prefix, which one that waits shares, and a
// short one, which two share. The last to arrive shares nothing.
func TestQueuesAreSortedByWhatIsCached(t *testing.T) {
	tree := new(sim.Contents)
	long, short, other := tree.Add(0, 80), tree.Add(0, 40), tree.Add(0, 60)
	request := func(content, prompt int32) sim.Request {
		return sim.Request{Content: content, Prompt: prompt, Output: 4}
	}
	requests := func() []sim.Request {
		return []sim.Request{request(long, 81), request(short, 41),
			request(other, 61), request(long, 81), request(short, 41), request(short, 41)}
	}
	for order, want := range map[schedulers.CacheOrder][]int32{
		schedulers.FCFS:      {0, 1, 2, 3, 4, 5},
		schedulers.LPM:       {0, 1, 3, 4, 5, 2},
		schedulers.DFSWeight: {0, 1, 4, 3, 5, 2}, // with one of the two served, the older node of equals
	} {
		assert.Equal(t, want, served(order, 1, tree, requests()...), "%v", order)
	}
}

// TestARequestWaitsForOneThatBeginsAlike and has nothing in the cache either: it would compute the same prefix twice.
func TestARequestWaitsForOneThatBeginsAlike(t *testing.T) {
	tree := new(sim.Contents)
	first, second := tree.Add(0, 80), tree.Add(0, 80)
	alike, other := tree.Add(0, 60), tree.Add(0, 60)
	requests := func() (all []sim.Request) {
		for _, content := range []int32{first, second, alike, alike, other} {
			all = append(all, sim.Request{Content: content, Prompt: 80, Output: 4})
		}
		return all
	}
	assert.Equal(t, []int32{0, 1, 2, 3, 4}, served(schedulers.FCFS, 2, tree, requests()...))
	assert.Equal(t, []int32{0, 1, 2, 4, 3}, served(schedulers.LPM, 2, tree, requests()...))
}

// TestALongQueueIsNotSorted: SGLang sorts no more than 128 waiting requests by the longest prefix.
func TestALongQueueIsNotSorted(t *testing.T) {
	tree := new(sim.Contents)
	node := tree.Add(0, 80)
	for waiting, sorted := range map[int]bool{128: true, 129: false} {
		requests := make([]sim.Request, 2+waiting)
		for i := range requests {
			requests[i] = sim.Request{Prompt: 8, Output: 2, Content: tree.Add(0, 8)}
		}
		requests[0] = sim.Request{Prompt: 81, Output: 3, Content: node}
		requests[len(requests)-1] = sim.Request{Prompt: 81, Output: 2, Content: node}
		at := slices.Index(served(schedulers.LPM, 1, tree, requests...), int32(len(requests)-1))
		assert.Equal(t, sorted, at <= 2, "with %d waiting, the one with a cached prefix is number %d", waiting, at)
	}
}

// TestANodeThatMoreShareComesFirst: each time the first request of the node that most waiting ones share, and of the
// older of two nodes that as many do, wherever in the queue they stand.
func TestANodeThatMoreShareComesFirst(t *testing.T) {
	for bits := range 1 << 7 {
		tree := new(sim.Contents)
		nodes, waiting := []int32{tree.Add(0, 40), tree.Add(0, 40)}, [2][]int32{}
		requests := []sim.Request{{Content: nodes[0], Prompt: 41, Output: 4}, {Content: nodes[1], Prompt: 41, Output: 4}}
		for i := range 7 {
			of := bits >> i & 1
			waiting[of] = append(waiting[of], int32(len(requests)))
			requests = append(requests, sim.Request{Content: nodes[of], Prompt: 41, Output: 4})
		}
		want := []int32{0, 1}
		for len(want) < len(requests) {
			first := 0
			if len(waiting[1]) > len(waiting[0]) {
				first = 1
			}
			want, waiting[first] = append(want, waiting[first][0]), waiting[first][1:]
		}
		assert.Equal(t, want, served(schedulers.DFSWeight, 1, tree, requests...), "%b", bits)
	}
}

// TestThirtyTwoTokensAreFew: a request of which the cache has as many waits for one that begins alike; with a page more
// it waits for none.
func TestThirtyTwoTokensAreFew(t *testing.T) {
	for cached, want := range map[int32][]int32{
		28: {0, 1, 2, 4, 3}, 32: {0, 1, 2, 4, 3}, 36: {0, 1, 2, 3, 4},
	} {
		tree := new(sim.Contents)
		node := tree.Add(0, cached)
		alike, other := tree.Add(node, 60), tree.Add(0, 60)
		var requests []sim.Request
		for _, r := range []struct{ content, prompt int32 }{
			{node, cached}, {tree.Add(0, 40), 40}, {alike, 80}, {alike, 80}, {other, 60},
		} {
			requests = append(requests, sim.Request{Content: r.content, Prompt: r.prompt, Output: 4})
		}
		assert.Equal(t, want, served(schedulers.LPM, 2, tree, requests...), "%d tokens are cached", cached)
	}
}

// TestTheLastTokenOfAPromptIsComputed: of 40 tokens 39 count as cached, no more and no fewer than of a longer prompt
// that begins with as many; of equals the first to come is served first.
func TestTheLastTokenOfAPromptIsComputed(t *testing.T) {
	for cached, want := range map[int32][2][]int32{
		36: {{0, 1, 2, 3}, {0, 1, 3, 2}}, 40: {{0, 1, 3, 2}, {0, 1, 2, 3}},
	} {
		tree := new(sim.Contents)
		whole, longer := tree.Add(0, 40), tree.Add(0, cached)
		requests := []sim.Request{{Content: whole, Prompt: 40, Output: 4}, {Content: longer, Prompt: cached, Output: 4},
			{Content: whole, Prompt: 40, Output: 4}, {Content: longer, Prompt: 60, Output: 4}}
		assert.Equal(t, want[0], served(schedulers.LPM, 1, tree, requests...), "%d tokens", cached)
		requests[2], requests[3] = requests[3], requests[2]
		assert.Equal(t, want[1], served(schedulers.LPM, 1, tree, requests...), "%d tokens", cached)
	}
}
