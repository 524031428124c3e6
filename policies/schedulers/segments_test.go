package schedulers_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/decodesim/decodesim/policies/internal/testcluster"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// segments is a step model that writes down what it is asked of: a step with prompts, or as many steps of decodes as
// are alike. A step takes a second.
type segments struct{ steps }

// Price implements sim.StepModel.
func (s *segments) Price(ranks []sim.Shape, g *sim.Segment) {
	s.steps.Price(ranks, g)
	g.Steps = 1 << 30
}

// segmentsOf returns in what segments an instance serves the requests, in so many blocks of 4 tokens.
func segmentsOf(t *testing.T, p sim.Scheduler, blocks int64, change func(*sim.PoolSpec),
	requests ...sim.Request) []string {
	t.Helper()
	model := &segments{}
	serve(t, p, model, blocks, change, requests)
	return model.all
}

// TestStepsAreComposedAnewWhenTheBatchMayChange: decodes are one segment until one of them ends or a request arrives
// that may join. None may where the batch is full, and none may behind a head of the queue that waits for blocks.
func TestStepsAreComposedAnewWhenTheBatchMayChange(t *testing.T) {
	requests := []sim.Request{{Prompt: 8, Output: 20}, {Prompt: 8, Output: 4, Arrival: testcluster.At(2)},
		{Prompt: 4, Output: 4, Arrival: testcluster.At(10)}}
	continuous := func(change func(*schedulers.Continuous)) sim.Scheduler {
		p := &schedulers.Continuous{MaxNumSeqs: 8, MaxNumBatchedTokens: 8}
		change(p)
		return p
	}
	prompts := func(change func(*schedulers.PrefillFirst)) sim.Scheduler {
		p := &schedulers.PrefillFirst{MaxNumSeqs: 8, MaxNumBatchedTokens: 18}
		change(p)
		return p
	}
	sg := func(change func(*schedulers.SGLang)) sim.Scheduler {
		p := sglang()
		change(p)
		return p
	}
	oneByOne := []string{"p1:8", "d1", "p1:8", "d1", "p1:4", "d1"}
	// the arrival at 2 s is looked at, which the one at 10 s is behind; at 20 s both run
	behind := []string{"p1:8", "2 × d1", "p2:12", "d2"}
	for _, c := range []struct {
		name   string
		p      sim.Scheduler
		blocks int64
		want   []string
	}{
		{"a static batch", &schedulers.Static{MaxBatchSize: 2, MaxNumBatchedTokens: 16}, 100,
			[]string{"p1:8", "d1", "p2:16", "d2"}},
		{"one place", continuous(func(p *schedulers.Continuous) { p.MaxNumSeqs = 1 }), 100, oneByOne},
		{"no blocks", continuous(func(p *schedulers.Continuous) { p.NoEvict = true }), 8,
			[]string{"p1:8", "2 × d1", "p1:8", "p1:4+d1", "d2", "d1"}},
		{"room for all", continuous(func(*schedulers.Continuous) {}), 100,
			[]string{"p1:8", "d1", "p1:7+d1", "p1:1+d1", "d2", "d1", "p1:4+d1", "d2", "d1"}},
		{"one place, prompts first", prompts(func(p *schedulers.PrefillFirst) { p.MaxNumSeqs = 1 }), 100, oneByOne},
		{"no blocks, prompts first", prompts(func(p *schedulers.PrefillFirst) { p.WatermarkBlocks = 4 }), 8, behind},
		{"decodes first", prompts(func(p *schedulers.PrefillFirst) { p.PrefillBelow = 1 }), 100,
			[]string{"p1:8", "d1", "p2:12", "d2"}},
		{"room for all, prompts first", prompts(func(*schedulers.PrefillFirst) {}), 100,
			[]string{"p1:8", "d1", "p1:8", "d2", "d1", "p1:4", "d2", "d1"}},
		{"one place in SGLang", sg(func(p *schedulers.SGLang) { p.MaxRunningRequests = 1 }), 100, oneByOne},
		{"no room that SGLang expects", sg(func(p *schedulers.SGLang) { p.IgnoreEOS = true }), 8, behind},
	} {
		assert.Equal(t, c.want, segmentsOf(t, c.p, c.blocks, nil, requests...), c.name)
	}
}

// TestNothingJoinsBesideOneThatIsSwappedOut: one of two is swapped out at 5 s, and back in when the other has ended, at
// 8 s. The arrival of a third meanwhile is no segment of its own; it joins in the step after.
func TestNothingJoinsBesideOneThatIsSwappedOut(t *testing.T) {
	p := &schedulers.PrefillFirst{MaxNumSeqs: 8, MaxNumBatchedTokens: 18, Preempt: sim.Swap}
	swap := func(pool *sim.PoolSpec) { pool.SwapBlocks = 100 }
	third := sim.Request{Prompt: 4, Output: 2, Arrival: testcluster.At(7)}
	got := segmentsOf(t, p, 6, swap, append(twice(), third)...)
	assert.Equal(t, []string{"p2:16", "d2", "3 × d1", "p1:4", "d2", "d1"}, got)
}

// TestWhatIsCachedIsNotComputed: of a prompt of 9 tokens that came before, two blocks of 4 are cached. A prompt takes
// room for what it computes, and not for all of it: two of 9 tokens and one of 12 are more than a step of 18 otherwise.
func TestWhatIsCachedIsNotComputed(t *testing.T) {
	for _, p := range []sim.Scheduler{
		&schedulers.PrefillFirst{MaxNumSeqs: 8, MaxNumBatchedTokens: 18},
		&schedulers.Continuous{MaxNumSeqs: 8, MaxNumBatchedTokens: 18},
		&schedulers.Continuous{MaxNumSeqs: 8, MaxNumBatchedTokens: 18, Unchunked: true},
		sglang(),
	} {
		tree, model := new(sim.Contents), &steps{}
		node := tree.Add(0, 9)
		pool := testcluster.NewPool(1, routers.LeastLoaded{})
		pool.Scheduler, pool.Model, pool.PrefixCaching = p, model, true
		again := sim.Request{Prompt: 9, Output: 2, Content: node, Arrival: testcluster.At(5)}
		c, _ := testcluster.New(func(c *sim.Config) { c.Contents = tree }, []sim.Request{
			{Prompt: 9, Output: 2, Content: node}, again, again, {Prompt: 12, Output: 2, Arrival: again.Arrival}}, pool)
		c.Run()
		assert.Equal(t, []string{"p1:9", "d1", "p3:14", "d3"}, model.all, "%T", p)
		assert.EqualValues(t, 16, c.Totals().CachedTokens)
	}
}
