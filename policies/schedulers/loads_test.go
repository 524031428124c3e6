package schedulers_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/policies/internal/testcluster"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// loadsOf returns what an instance computes whose KV connector loads the caches of prompts, at once: another instance
// reads those, in a step for what has come together, and emits so many tokens of each.
func loadsOf(t *testing.T, p schedulers.Continuous, blocks int64, emits int32, change func(*sim.PoolSpec),
	requests ...sim.Request) []string {
	t.Helper()
	pool := func() *sim.PoolSpec { return testcluster.NewPool(1, routers.LeastLoaded{}) }
	reads, decodes, model := pool(), pool(), &steps{}
	decodes.Name, decodes.Scheduler, decodes.Model = "d", &p, model
	decodes.KVBlocks = blocks
	decodes.MaxNumSeqs, decodes.ConnectorLoads, decodes.RecomputeLastToken = p.MaxNumSeqs, true, true
	decodes.MaxModelLen = int32(min(blocks*4, 40))
	if change != nil {
		change(decodes)
	}
	stage := sim.Stage{Tokens: emits, Cache: true, Link: sim.Link{Layers: 1}}
	c, log := testcluster.New(func(c *sim.Config) { c.Routes = []sim.Route{{stage, {Pool: 1}}} }, requests, reads, decodes)
	c.Run()
	require.Equal(t, len(requests), log.Count(sim.Completed), "all are served: %v", model.all)
	return model.all
}

// TestLoadsJoinTheBatch: of two prompts of two blocks each, the last token is computed again, unless the instance that
// read them has emitted the token after it.
func TestLoadsJoinTheBatch(t *testing.T) {
	oneByOne := []string{"p1:1", "3 × d1", "p1:1", "3 × d1"}
	for _, c := range []struct {
		name   string
		blocks int64
		tokens int32
		rule   func(*schedulers.Continuous)
		want   []string
	}{
		{"both", 100, 0, func(*schedulers.Continuous) {}, []string{"p2:2", "3 × d2"}},
		{"with a token", 100, 1, func(*schedulers.Continuous) {}, []string{"3 × d2"}},
		{"one place", 100, 0, func(p *schedulers.Continuous) { p.MaxNumSeqs = 1 }, oneByOne},
		{"one token a step", 100, 0, func(p *schedulers.Continuous) { p.MaxNumSeqs, p.MaxNumBatchedTokens = 1, 1 }, oneByOne},
		{"two tokens, one for a draft model", 100, 0, func(p *schedulers.Continuous) {
			p.MaxNumSeqs, p.MaxNumBatchedTokens, p.DraftSlots = 2, 2, 1
		}, oneByOne},
		{"no block for a third of either", 4, 0, func(*schedulers.Continuous) {},
			[]string{"p2:2", "3 × d1", "p1:9", "2 × d1"}},
		// the first gives its blocks to the second: without it neither could go on
		{"no block to begin with", 4, 1, func(*schedulers.Continuous) {}, []string{"3 × d1", "p1:9", "2 × d1"}},
		{"a watermark", 6, 1, func(p *schedulers.Continuous) { p.WatermarkBlocks = 1 }, []string{"6 × d1"}},
		{"a block above it", 7, 1, func(p *schedulers.Continuous) { p.WatermarkBlocks = 1 }, []string{"3 × d2"}},
	} {
		p := schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 20}
		c.rule(&p)
		got := loadsOf(t, p, c.blocks, c.tokens, nil, sim.Request{Prompt: 8, Output: 4}, sim.Request{Prompt: 8, Output: 4})
		assert.Equal(t, c.want, got, c.name)
	}
}

// TestLoadsBeginInWhatAStepLeaves: the first of two requests decodes from 1 s on, and the cache of the second can be
// loaded from 2 s on, if it fits: then it joins the step after, or, where an engine composes each step while the one
// before runs, one step later. Otherwise it waits until the first has ended. At the end that one has 3 blocks, the last
// of them from 2 s on.
func TestLoadsBeginInWhatAStepLeaves(t *testing.T) {
	knowing, later := []string{"p1:1", "d1", "p1:1+d1", "2 × d1"}, []string{"p1:1", "2 × d1", "p1:1+d1", "d1"}
	waits := []string{"p1:1", "4 × d1", "p1:1"}
	draftModel := func(budget int32) func(*schedulers.Continuous) {
		return func(p *schedulers.Continuous) { p.MaxNumSeqs, p.MaxNumBatchedTokens, p.DraftSlots = 2, budget, 1 }
	}
	for _, c := range []struct {
		name   string
		blocks int64
		rule   func(*schedulers.Continuous)
		fits   bool
	}{
		{"at once", 100, func(*schedulers.Continuous) {}, true},
		{"just", 5, func(*schedulers.Continuous) {}, true},
		{"a block too few", 4, func(*schedulers.Continuous) {}, false},
		{"just above a watermark", 7, func(p *schedulers.Continuous) { p.WatermarkBlocks = 2 }, true},
		{"below a watermark", 6, func(p *schedulers.Continuous) { p.WatermarkBlocks = 2 }, false},
		{"one place", 100, func(p *schedulers.Continuous) { p.MaxNumSeqs = 1 }, false},
		{"a token for each and its draft model", 100, draftModel(4), true},
		{"no token for the second's draft model", 100, draftModel(3), false},
	} {
		p := schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 20}
		c.rule(&p)
		for i, change := range []func(*sim.PoolSpec){nil, ahead} {
			want := waits
			if c.fits {
				want = [][]string{knowing, later}[i]
			}
			got := loadsOf(t, p, c.blocks, 0, change, sim.Request{Prompt: 8, Output: 5},
				sim.Request{Prompt: 8, Output: 1, Arrival: testcluster.At(1)})
			assert.Equal(t, want, got, "%s, ahead %v", c.name, i > 0)
		}
	}
}

// TestALoadBeginsBesideOneThatIsAboutToJoin: with three tokens a step, one for the request that decodes, one for what
// has been loaded and joins the next step, and one for what joins the step after it.
func TestALoadBeginsBesideOneThatIsAboutToJoin(t *testing.T) {
	p := schedulers.Continuous{MaxNumSeqs: 3, MaxNumBatchedTokens: 3}
	got := loadsOf(t, p, 100, 0, ahead, sim.Request{Prompt: 8, Output: 12},
		sim.Request{Prompt: 8, Output: 3, Arrival: testcluster.At(1)},
		sim.Request{Prompt: 8, Output: 1, Arrival: testcluster.At(2)})
	assert.Equal(t, []string{"p1:1", "2 × d1", "p1:1+d1", "p1:1+d2", "d2", "6 × d1"}, got)
}

// TestNoLoadBeginsWithAStepThatPreempts: of two requests in 7 blocks the second goes at its 13th token, and returns
// with 7 of its 13 in two of the three blocks that the first leaves. The other 6 take two more, so that it goes again:
// the block that is free then is no other's, and the third request, which needs no more, comes behind it.
func TestNoLoadBeginsWithAStepThatPreempts(t *testing.T) {
	p := schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 8}
	got := loadsOf(t, p, 7, 1, ahead, sim.Request{Prompt: 8, Output: 8}, sim.Request{Prompt: 8, Output: 8},
		sim.Request{Prompt: 3, Output: 2, Arrival: testcluster.At(5)})
	assert.Equal(t, []string{"4 × d2", "d1", "p1:7+d1", "d1", "p1:8", "p1:5", "d2", "d1"}, got)
}

// TestAPromptFromHostMemoryWaitsForItsStep: host memory has two blocks of the third prompt, which come in 0.8 s beside
// the second step of a request that decodes in one block. Its other 11 tokens are one chunk, as prompts are not
// divided: it joins where a step has that many beside the decode, and three blocks for them, and else waits until that
// has ended.
func TestAPromptFromHostMemoryWaitsForItsStep(t *testing.T) {
	joins, waits := []string{"p1:1", "d1", "p1:11+d1", "5 × d1"}, []string{"p1:1", "7 × d1", "p1:11"}
	for _, c := range []struct {
		name              string
		budget            int32
		blocks, watermark int64
		want              []string
	}{
		{"both fit", 12, 20, 0, joins},
		{"a token too few", 11, 20, 0, waits},
		{"blocks to the last", 12, 6, 0, joins},
		{"a block too few", 12, 5, 0, waits},
		{"blocks to the watermark", 12, 8, 2, joins},
		{"a block below it", 12, 7, 2, waits},
	} {
		tree, model := new(sim.Contents), &steps{}
		node := tree.Add(0, 8)
		p := testcluster.NewPool(1, routers.LeastLoaded{})
		p.Scheduler = &schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: c.budget, Unchunked: true,
			WatermarkBlocks: c.watermark}
		p.KVBlocks, p.MaxModelLen, p.Model = c.blocks, int32(4*c.blocks), model
		p.PrefixCaching = true
		p.OffloadBlocks, p.ConnectorLoads, p.LoadLink = 100, true, sim.Link{Token: sim.Second / 10}
		filling := int32(4*c.blocks - 11) // which evicts both blocks
		cluster, log := testcluster.New(func(g *sim.Config) { g.Contents = tree }, []sim.Request{
			{Prompt: 9, Output: 1, Content: node},
			{Prompt: 11, Output: filling, Arrival: testcluster.At(10)},
			{Prompt: 1, Output: 8, Arrival: testcluster.At(100)},
			{Prompt: 19, Output: 1, Content: node, Arrival: testcluster.At(100) + 1},
		}, p)
		cluster.Run()
		require.Equal(t, 4, log.Count(sim.Completed), "%s: %v", c.name, model.all)
		before := []string{"p1:9", "p1:11", fmt.Sprintf("%d × d1", filling-1)}
		assert.Equal(t, slices.Concat(before, c.want), model.all, c.name)
	}
}

// TestWhatHasNoTokenInTheNextStepTakesNoBlockOfIt: of two requests whose caches are loaded at once only one has a token
// in each step, so that the other waits, and so does the load of a third. In 6 blocks they leave two of a prompt that
// has ended, and the one that decodes has one of them from 11 s on, for four tokens. The other stays until the last of
// these is under way, and the one that waits is about to have a token.
func TestWhatHasNoTokenInTheNextStepTakesNoBlockOfIt(t *testing.T) {
	pool := func() *sim.PoolSpec { return testcluster.NewPool(1, routers.LeastLoaded{}) }
	tree, at := new(sim.Contents), testcluster.At(10)
	reads, decodes, model := pool(), pool(), &steps{}
	decodes.Name, decodes.Model = "d", model
	decodes.Scheduler = &schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 1}
	decodes.KVBlocks, decodes.MaxModelLen, decodes.PrefixCaching = 6, 24, true
	decodes.MaxNumSeqs, decodes.ConnectorLoads, decodes.RecomputeLastToken = 4, true, true
	ahead(decodes)
	stage := sim.Stage{Tokens: 1, Cache: true, Link: sim.Link{Layers: 1}}
	c, log := testcluster.New(func(c *sim.Config) {
		c.Routes, c.Contents, c.Until = []sim.Route{{stage, {Pool: 1}}}, tree, testcluster.At(27)/2
	}, []sim.Request{
		{Prompt: 8, Output: 2, Content: tree.Add(0, 8)},
		{Prompt: 8, Output: 5, Arrival: at}, {Prompt: 8, Output: 2, Arrival: at}, {Prompt: 4, Output: 2, Arrival: at + 1},
	}, reads, decodes)
	c.Run()
	require.Equal(t, 1, log.Count(sim.Completed), "%v", model.all)
	assert.EqualValues(t, 1, c.PoolTotals(1).Evictions)
}
