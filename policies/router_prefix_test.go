package policies_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/decodesim/decodesim/policies"
	"github.com/decodesim/decodesim/sim"
)

// TestSessionsStayWhereTheyAre as long as their instance takes requests, whatever the load; then they settle anew.
func TestSessionsStayWhereTheyAre(t *testing.T) {
	w := watch(policies.NewSessionAffinity(0))
	var requests []sim.Request
	for i := range int64(8) { // two sessions, and somebody without between them
		for _, session := range []int32{7, 0, 1 << 30} {
			requests = append(requests, sim.Request{Session: session, Prompt: 8, Output: 30, Arrival: at(2 * i)})
		}
	}
	p := newPool(3, w)
	c, e := build(t, func(c *sim.Config) {
		c.Controller = must[*policies.Drains](t)(policies.NewDrains([]policies.Drain{{Instance: 0, At: at(9), Down: -1}}, []int{3}))
	}, requests, p)
	c.Run()
	assert.Equal(t, len(requests), e.count(sim.Completed))
	home := map[int32]int32{}
	for _, r := range requests {
		switch to := w.to[r.ID]; {
		case r.Session == 7 && r.Arrival < at(9):
			assert.Equal(t, int32(0), to)
		case r.Session == 0 && r.Arrival >= at(9):
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
		requests[i] = sim.Request{Content: content, Prompt: 100, Output: output, Arrival: at(int64(i))}
	}
	return requests
}

// TestPrefixesGoWhereTheyWent: a longer match counts before a shorter one, a match of less than half the prompt does not, and
// load counts when one instance has more than its share.
func TestPrefixesGoWhereTheyWent(t *testing.T) {
	tree := new(sim.Contents)
	system := tree.Add(0, 40) // of 100 tokens
	a, b := tree.Add(system, 50), tree.Add(system, 50)
	a2 := tree.Add(a, 5)
	route := func(limits policies.PrefixLimits, contents ...int32) []int32 {
		w := watch(policies.NewPrefixAware(tree, limits, 0))
		c, _ := build(t, func(c *sim.Config) { c.Contents = tree }, prompts(100, contents...), newPool(3, w))
		c.Run()
		to := make([]int32, len(contents))
		for i := range to {
			to[i] = w.to[int32(i)]
		}
		return to
	}
	all := policies.DefaultPrefixLimits()
	assert.Equal(t, []int32{0, 1, 0, 1, 0, 0}, route(all, a, b, a, b, a2, a2))
	assert.Equal(t, []int32{0, 1, 2, 0}, route(all, a, b, system, 0), "the system prompt is too little")
	all.MatchMin = 40
	assert.Equal(t, []int32{0, 0, 0, 1}, route(all, a, b, system, 0))
	all.Imbalance, all.ImbalanceShare = 2, 0
	assert.Equal(t, []int32{0, 0, 0, 1, 2, 2, 2, 2}, route(all, a, a, a, a, a, a, a, a), "spills, and goes on where it went")
	few := policies.DefaultPrefixLimits()
	few.Nodes = 1
	assert.Equal(t, []int32{0, 1, 2}, route(few, a, a, a), "only one node is remembered, the beginning, and that is too little")
}

// TestKVAwareWeighsCacheAgainstLoad: to where the prompt is cached, until the prompts there cost more.
func TestKVAwareWeighsCacheAgainstLoad(t *testing.T) {
	tree := new(sim.Contents)
	node := tree.Add(0, 96)
	route := func(w policies.Weights, router func(policies.Weights) sim.Router) map[int32]int32 {
		spy := watch(router(w))
		p := newPool(3, spy)
		p.PrefixCaching = true
		c, _ := build(t, func(c *sim.Config) { c.Contents = tree }, prompts(40, node, node, node, 0), p)
		c.Run()
		return spy.to
	}
	kv := func(w policies.Weights) sim.Router { return must[*policies.KVAware](t)(policies.NewKVAware(w, 0)) }
	weighted := func(w policies.Weights) sim.Router { return must[*policies.Weighted](t)(policies.NewWeighted(w, 0)) }
	// The first prompt's 96 tokens are known to instance 0 a second later: there, 4 and 100 for its load, elsewhere 100.
	assert.Equal(t, map[int32]int32{0: 0, 1: 0, 2: 0, 3: 1}, route(policies.Weights{Prefix: 1, Tokens: .4}, kv))
	assert.Equal(t, map[int32]int32{0: 0, 1: 0, 2: 1, 3: 2}, route(policies.Weights{Prefix: 1, Tokens: .9}, kv))
	assert.Equal(t, map[int32]int32{0: 0, 1: 1, 2: 2, 3: 0}, route(policies.Weights{Prefix: 1, Tokens: 1}, kv))
	assert.Equal(t, map[int32]int32{0: 0, 1: 0, 2: 0, 3: 0}, route(policies.Weights{Prefix: 1}, kv))
	assert.Equal(t, map[int32]int32{0: 0, 1: 0, 2: 0, 3: 0}, route(policies.Weights{Prefix: 1}, weighted))
	assert.Equal(t, map[int32]int32{0: 0, 1: 1, 2: 2, 3: 0}, route(policies.Weights{Prefix: 1, Queue: 1}, weighted))
	assert.Equal(t, map[int32]int32{0: 0, 1: 0, 2: 0, 3: 1}, route(policies.Weights{Prefix: 1, Queue: .9}, weighted))
}
