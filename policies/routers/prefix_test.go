package routers_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/decodesim/decodesim/policies/fleet"
	"github.com/decodesim/decodesim/policies/internal/testcluster"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/sim"
)

// TestSessionsStayWhereTheyAre as long as their instance takes requests, whatever the load; then they settle anew.
func TestSessionsStayWhereTheyAre(t *testing.T) {
	w := testcluster.Watch(routers.NewSessionAffinity(0))
	var requests []sim.Request
	for i := range int64(8) { // two sessions, and requests without a session between them
		for _, session := range []int32{7, 0, 1 << 30} {
			r := sim.Request{Session: session, Prompt: 8, Output: 30, Arrival: testcluster.At(2 * i)}
			requests = append(requests, r)
		}
	}
	p := testcluster.NewPool(3, w)
	c, e := testcluster.New(func(c *sim.Config) {
		drain := fleet.Drain{Instance: 0, At: testcluster.At(9), Down: -1}
		c.Controller = testcluster.Must(fleet.NewDrains([]fleet.Drain{drain}, []int{3}))
	}, requests, p)
	c.Run()
	assert.Equal(t, len(requests), e.Count(sim.Completed))
	home := map[int32]int32{}
	for _, r := range requests {
		switch to := w.To[r.ID]; {
		case r.Session == 7 && r.Arrival < testcluster.At(9):
			assert.Equal(t, int32(0), to)
		case r.Session == 0 && r.Arrival >= testcluster.At(9):
			assert.NotEqual(t, int32(0), to)
		case r.Session != 0:
			if was, known := home[r.Session]; known {
				assert.Equal(t, was, to)
			}
			home[r.Session] = to
		}
	}
	assert.NotEqual(t, int32(0), home[7])
}

// prompts returns, second by second, requests that last, for each of these contents.
func prompts(output int32, contents ...int32) []sim.Request {
	requests := make([]sim.Request, len(contents))
	for i, content := range contents {
		requests[i] = sim.Request{Content: content, Prompt: 100, Output: output, Arrival: testcluster.At(int64(i))}
	}
	return requests
}

// TestPrefixesGoWhereTheyWent: a longer match counts before a shorter one, a match of less than half the prompt does
// not, and load counts when one instance has more than its share.
func TestPrefixesGoWhereTheyWent(t *testing.T) {
	tree := new(sim.Contents)
	system := tree.Add(0, 40) // of 100 tokens
	a, b := tree.Add(system, 50), tree.Add(system, 50)
	a2 := tree.Add(a, 5)
	route := func(limits routers.PrefixLimits, contents ...int32) []int32 {
		w := testcluster.Watch(testcluster.Must(routers.NewPrefixAware(tree, limits, 0)))
		config := func(c *sim.Config) { c.Contents = tree }
		c, _ := testcluster.New(config, prompts(100, contents...), testcluster.NewPool(3, w))
		c.Run()
		to := make([]int32, len(contents))
		for i := range to {
			to[i] = w.To[int32(i)]
		}
		return to
	}
	all := routers.DefaultPrefixLimits()
	assert.Equal(t, routers.PrefixLimits{MatchMin: 50, Imbalance: 32, ImbalanceShare: 10, Nodes: 1_048_576}, all)
	assert.Equal(t, []int32{0, 1, 0, 1, 0, 0}, route(all, a, b, a, b, a2, a2))
	assert.Equal(t, []int32{0, 1, 2, 0}, route(all, a, b, system, 0), "the system prompt is too short")
	all.MatchMin = 40
	assert.Equal(t, []int32{0, 0, 0, 1}, route(all, a, b, system, 0))
	all.Imbalance, all.ImbalanceShare = 2, 0
	assert.Equal(t, []int32{0, 0, 0, 1, 2, 2, 2, 2}, route(all, a, a, a, a, a, a, a, a), "spills over")
	all.Imbalance, all.ImbalanceShare = 0, 100
	assert.Equal(t, []int32{0, 1, 2, 2, 2, 0, 1, 1, 1, 1, 0}, route(all, a, a, a, a, a, a, a, a, a, a, a),
		"with the prefix up to twice what the instance with the fewest has")
	few := routers.DefaultPrefixLimits()
	few.Nodes = 1
	assert.Equal(t, []int32{0, 1, 2}, route(few, a, a, a), "it remembers one node, which is too short a prefix")
}

// TestKVAwareWeighsCacheAgainstLoad: to where the prompt is cached, until the prompts there cost more.
func TestKVAwareWeighsCacheAgainstLoad(t *testing.T) {
	tree := new(sim.Contents)
	node := tree.Add(0, 96)
	route := func(w routers.Weights, router func(routers.Weights) sim.Router) map[int32]int32 {
		spy := testcluster.Watch(router(w))
		p := testcluster.NewPool(3, spy)
		p.PrefixCaching = true
		c, _ := testcluster.New(func(c *sim.Config) { c.Contents = tree }, prompts(40, node, node, node, 0), p)
		c.Run()
		return spy.To
	}
	kv := func(w routers.Weights) sim.Router { return testcluster.Must(routers.NewKVAware(w, 0)) }
	weighted := func(w routers.Weights) sim.Router { return testcluster.Must(routers.NewWeighted(w, 0)) }
	// The first prompt's 96 tokens are known to instance 0 a second later: there, 4 and 100 for its load, elsewhere
	// 100.
	assert.Equal(t, map[int32]int32{0: 0, 1: 0, 2: 0, 3: 1}, route(routers.Weights{Prefix: 1, Tokens: .4}, kv))
	assert.Equal(t, map[int32]int32{0: 0, 1: 0, 2: 1, 3: 2}, route(routers.Weights{Prefix: 1, Tokens: .9}, kv))
	assert.Equal(t, map[int32]int32{0: 0, 1: 1, 2: 2, 3: 0}, route(routers.Weights{Prefix: 1, Tokens: 1}, kv))
	assert.Equal(t, map[int32]int32{0: 0, 1: 0, 2: 0, 3: 0}, route(routers.Weights{Prefix: 1}, kv))
	assert.Equal(t, map[int32]int32{0: 0, 1: 0, 2: 0, 3: 0}, route(routers.Weights{Prefix: 1}, weighted))
	assert.Equal(t, map[int32]int32{0: 0, 1: 1, 2: 2, 3: 0}, route(routers.Weights{Prefix: 1, Queue: 1}, weighted))
	assert.Equal(t, map[int32]int32{0: 0, 1: 0, 2: 0, 3: 1}, route(routers.Weights{Prefix: 1, Queue: .9}, weighted))
}
