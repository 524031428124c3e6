package schedulers_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/policies/internal/testcluster"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// steps is a step model that writes down what each step computes: prompts and their tokens, and decodes, with their
// tokens if they draft. A step takes a second.
type steps struct {
	all  []string
	same int // steps that were as the last of all
}

// Price implements sim.StepModel.
func (s *steps) Price(ranks []sim.Shape, g *sim.Segment) {
	*g = sim.Segment{First: sim.Second, Steps: 1}
	r := &ranks[0]
	now := fmt.Sprintf("d%d", r.Decodes)
	if r.Drafts > 0 {
		now += fmt.Sprintf(":%d", r.DecodeTokens)
	}
	prompts := fmt.Sprintf("p%d:%d", r.Prefills, r.PrefillTokens)
	switch {
	case r.Prefills > 0 && r.Decodes > 0:
		now = prompts + "+" + now
	case r.Prefills > 0:
		now = prompts
	}
	if n := len(s.all); n > 0 && s.last() == now {
		s.same++
		s.all[n-1] = fmt.Sprintf("%d × %s", s.same, now)
		return
	}
	s.all, s.same = append(s.all, now), 1
}

func (s *steps) last() string {
	last := s.all[len(s.all)-1]
	var n int
	var what string
	if k, _ := fmt.Sscanf(last, "%d × %s", &n, &what); k == 2 {
		return what
	}
	return last
}

// stepsOf returns what an instance computes that serves the requests, in so many blocks of 4 tokens.
func stepsOf(t *testing.T, p sim.Scheduler, blocks int64, change func(*sim.PoolSpec),
	requests ...sim.Request) []string {
	if v, ok := p.(interface{ Validate() error }); ok {
		require.NoError(t, v.Validate())
	}
	model := &steps{}
	serve(t, p, model, blocks, change, requests)
	return model.all
}

// serve runs the requests on an instance whose steps model prices, in so many blocks of 4 tokens.
func serve(t *testing.T, p sim.Scheduler, model sim.StepModel, blocks int64, change func(*sim.PoolSpec),
	requests []sim.Request) {
	t.Helper()
	pool := testcluster.NewPool(1, routers.LeastLoaded{})
	pool.Scheduler, pool.Model = p, model
	pool.KVBlocks, pool.MaxModelLen = blocks, int32(min(blocks*4, 40))
	if change != nil {
		change(pool)
	}
	c, log := testcluster.New(nil, requests, pool)
	c.Run()
	require.Equal(t, len(requests), log.Count(sim.Completed), "all are served: %v", model)
}

// three is requests that come at once: the second has the longest prompt, and the third the longest output.
func three() []sim.Request {
	return []sim.Request{{Prompt: 6, Output: 4}, {Prompt: 12, Output: 3}, {Prompt: 3, Output: 8}}
}

// twice is two requests that come at once, of which 6 blocks hold 12 tokens each: one needs 4 blocks at its end.
func twice() []sim.Request { return []sim.Request{{Prompt: 8, Output: 8}, {Prompt: 8, Output: 8}} }

// What becomes of them where one has to go on alone: the other waits until the end, or is computed again with the five
// tokens that it had emitted, the first with its prompt.
var (
	oneByOne   = []string{"p1:8", "7 × d1", "p1:8", "7 × d1"}
	recomputed = []string{"p2:16", "4 × d2", "3 × d1", "p1:13", "2 × d1"}
)

// TestAStaticBatchIsPaddedAndEndsAsAWhole: a row that has finished computes on, and the next batch waits for all.
func TestAStaticBatchIsPaddedAndEndsAsAWhole(t *testing.T) {
	twoThenOne := []string{"p2:24", "3 × d2", "p1:3", "7 × d1"}
	for _, c := range []struct {
		rows   int
		tokens int32
		blocks int64
		want   []string
	}{
		{2, 100, 100, twoThenOne},
		{3, 36, 100, []string{"p3:36", "7 × d3"}}, // three prompts as long as the longest, which has 12 tokens
		{3, 35, 100, twoThenOne},
		{3, 36, 15, []string{"p3:36", "7 × d3"}}, // three rows of 12 tokens and 8 outputs, 5 blocks each
		{3, 36, 14, twoThenOne},
	} {
		p := &schedulers.Static{MaxBatchSize: c.rows, MaxNumBatchedTokens: c.tokens}
		assert.Equal(t, c.want, stepsOf(t, p, c.blocks, nil, three()...), "%+v", c)
	}
}

// TestPromptsComeFirst: whole prompts in steps of their own.
func TestPromptsComeFirst(t *testing.T) {
	type rule = func(*schedulers.PrefillFirst)
	for _, c := range []struct {
		name     string
		blocks   int64
		rule     rule
		requests []sim.Request
		want     []string
	}{
		{"a prompt waits for budget", 100, func(*schedulers.PrefillFirst) {}, three(),
			[]string{"p2:18", "p1:3", "2 × d3", "d2", "4 × d1"}},
		{"a prompt waits for a place", 100, func(p *schedulers.PrefillFirst) { p.MaxNumSeqs = 2 }, three(),
			[]string{"p2:18", "2 × d2", "p1:3", "d2", "6 × d1"}},
		{"a prompt waits for decodes", 100, func(p *schedulers.PrefillFirst) { p.PrefillBelow = 2 }, three(),
			[]string{"p2:18", "2 × d2", "p1:3", "d2", "6 × d1"}},
		{"recompute", 6, func(*schedulers.PrefillFirst) {}, twice(), recomputed},
		{"just enough", 8, func(*schedulers.PrefillFirst) {}, twice(), []string{"p2:16", "7 × d2"}},
		// the third goes first, as two of its blocks would be the eighth; the second is longer than a step by its return, in
		// which it is alone then
		{"recompute what is longer than a step", 7, func(p *schedulers.PrefillFirst) { p.MaxNumBatchedTokens = 12 },
			append(twice(), sim.Request{Prompt: 4, Output: 2}),
			[]string{"p1:8", "p2:12", "4 × d2", "3 × d1", "p1:13", "p1:5", "2 × d1"}},
		// with their ninth tokens the first two take the blocks of the third, and no more have to go
		{"recompute one", 6, func(*schedulers.PrefillFirst) {},
			[]sim.Request{{Prompt: 4, Output: 8}, {Prompt: 4, Output: 8}, {Prompt: 4, Output: 8}},
			[]string{"p3:12", "4 × d3", "3 × d2", "p1:9", "2 × d1"}},
		{"swap", 6, func(p *schedulers.PrefillFirst) { p.Preempt = sim.Swap }, twice(),
			[]string{"p2:16", "4 × d2", "6 × d1"}},
		// when the first has ended, three blocks are free, which is one more than the third had
		{"swap in beside another", 6, func(p *schedulers.PrefillFirst) { p.Preempt = sim.Swap },
			append([]sim.Request{{Prompt: 1, Output: 3}}, twice()...), []string{"p3:17", "4 × d2", "8 × d1"}},
		{"swap in above a watermark", 6, func(p *schedulers.PrefillFirst) { p.Preempt, p.WatermarkBlocks = sim.Swap, 1 },
			append([]sim.Request{{Prompt: 1, Output: 3}}, twice()...), []string{"p3:17", "2 × d2", "12 × d1"}},
		{"watermark", 6, func(p *schedulers.PrefillFirst) { p.WatermarkBlocks = 2 }, twice(), recomputed},
		{"watermark above", 6, func(p *schedulers.PrefillFirst) { p.WatermarkBlocks = 3 }, twice(), oneByOne},
	} {
		p := &schedulers.PrefillFirst{MaxNumSeqs: 8, MaxNumBatchedTokens: 18}
		c.rule(p)
		swap := func(pool *sim.PoolSpec) { pool.SwapBlocks = 100 * int64(p.Preempt&sim.Swap) }
		assert.Equal(t, c.want, stepsOf(t, p, c.blocks, swap, c.requests...), c.name)
	}
}

// TestOneBudgetForPromptsAndDecodes is continuous batching with 8 tokens a step, unless a case says otherwise.
func TestOneBudgetForPromptsAndDecodes(t *testing.T) {
	for _, c := range []struct {
		name     string
		blocks   int64
		rule     func(*schedulers.Continuous)
		requests []sim.Request
		want     []string
	}{
		{"chunks", 100, func(*schedulers.Continuous) {}, three(),
			[]string{"p2:8", "p1:7+d1", "p2:6+d1", "d3", "d2", "5 × d1"}},
		{"whole prompts", 100, func(p *schedulers.Continuous) { p.Unchunked, p.MaxNumBatchedTokens = true, 16 }, three(),
			[]string{"p1:6", "p2:15+d1", "2 × d3", "5 × d1"}},
		{"prompts that wait for others", 100, func(p *schedulers.Continuous) {
			p.Unchunked, p.MaxNumBatchedTokens, p.BatchWaitIters = true, 16, 2
		}, three(), []string{"p1:6", "2 × d1", "p2:15+d1", "2 × d2", "5 × d1"}},
		{"which wait for a step", 100, func(p *schedulers.Continuous) {
			p.Unchunked, p.MaxNumBatchedTokens, p.BatchWaitIters = true, 16, 1
		}, three(), []string{"p1:6", "d1", "p2:15+d1", "d3", "d2", "5 × d1"}},
		{"which wait no longer than there are decodes", 100, func(p *schedulers.Continuous) {
			p.Unchunked, p.MaxNumBatchedTokens, p.BatchWaitIters = true, 16, 9
		}, three(), []string{"p1:6", "3 × d1", "p2:15", "2 × d2", "5 × d1"}},
		{"two places", 100, func(p *schedulers.Continuous) { p.MaxNumSeqs = 2 }, three(),
			[]string{"p2:8", "p1:7+d1", "p1:3+d1", "d2", "p1:3+d1", "7 × d1"}},
		{"long prompts", 100, func(p *schedulers.Continuous) { p.LongPrefillTokenThreshold = 4 }, three()[:2],
			[]string{"p2:8", "p2:6", "p1:4+d1", "2 × d2"}},
		{"a long prompt by itself", 100, func(p *schedulers.Continuous) { p.LongPrefillTokenThreshold = 4 }, three()[:1],
			[]string{"p1:4", "p1:2", "3 × d1"}},
		{"which is exempt", 100, func(p *schedulers.Continuous) { p.LongPrefillTokenThreshold, p.SingleExempt = 4, true },
			three()[:1], []string{"p1:6", "3 × d1"}},
		{"a draft model takes a token beside each request's", 100, func(p *schedulers.Continuous) { p.DraftSlots = 1 },
			three(), []string{"p1:6", "2 × p1:5+d1", "p2:4+d1", "p1:1+d1", "d2", "6 × d1"}},
		{"preemption", 6, wide, twice(), recomputed},
		// it returns in chunks in the step after, as two blocks are free, and goes again for want of a third
		{"preemption of chunks", 6, func(*schedulers.Continuous) {}, twice(), []string{"p1:8", "p1:7+d1", "p1:1+d1", "2 × d2",
			"d1", "p1:7+d1", "d1", "p1:8", "p1:3", "4 × d1"}},
		{"preemption of what is longer than a step by its return", 6, func(p *schedulers.Continuous) {
			p.Unchunked, p.MaxNumBatchedTokens = true, 9
		}, twice(), []string{"p1:8", "p1:8+d1", "3 × d2", "3 × d1", "p1:12", "3 × d1"}},
		{"no preemption, with just enough", 8, wide, twice(), []string{"p2:16", "7 × d2"}},
		{"one that stops the step", 6, func(p *schedulers.Continuous) { wide(p); p.StopsAtSelf = true }, twice(), recomputed},
		{"no eviction", 6, func(p *schedulers.Continuous) { wide(p); p.NoEvict = true }, twice(), oneByOne},
		{"no need of eviction", 8, func(p *schedulers.Continuous) { wide(p); p.NoEvict = true }, twice(),
			[]string{"p2:16", "7 × d2"}},
		{"a block less than both at their limits", 7,
			func(p *schedulers.Continuous) { wide(p); p.Reserve = schedulers.MaxOutput }, twice(), oneByOne},
		{"both at their limits", 8, func(p *schedulers.Continuous) { wide(p); p.Reserve = schedulers.MaxOutput }, twice(),
			[]string{"p2:16", "7 × d2"}},
		{"reserved prompts", 7, func(p *schedulers.Continuous) { wide(p); p.Reserve = schedulers.WholePrompt }, twice(),
			recomputed},
		{"the longest sequence", 9, func(p *schedulers.Continuous) {
			wide(p)
			p.Reserve, p.MaxModelLen = schedulers.MaxModelLen, 20
		}, twice(), oneByOne},
		{"watermark", 7, func(p *schedulers.Continuous) { wide(p); p.WatermarkBlocks = 3 }, twice(), recomputed},
		{"watermark above", 7, func(p *schedulers.Continuous) { wide(p); p.WatermarkBlocks = 4 }, twice(), oneByOne},
	} {
		p := &schedulers.Continuous{MaxNumSeqs: 8, MaxNumBatchedTokens: 8}
		c.rule(p)
		shorter := func(pool *sim.PoolSpec) {
			if p.MaxModelLen > 0 {
				pool.MaxModelLen = p.MaxModelLen
			}
		}
		assert.Equal(t, c.want, stepsOf(t, p, c.blocks, shorter, c.requests...), c.name)
	}
}

// TestAWholePromptWaitsForAStepWithRoom: of 8 tokens a decode leaves 7.
func TestAWholePromptWaitsForAStepWithRoom(t *testing.T) {
	for prompt, want := range map[int32][]string{7: {"p1:4", "p1:7+d1", "2 × d1"}, 8: {"p1:4", "3 × d1", "p1:8"}} {
		p := &schedulers.Continuous{MaxNumSeqs: 8, MaxNumBatchedTokens: 8, Unchunked: true}
		assert.Equal(t, want, stepsOf(t, p, 100, nil, sim.Request{Prompt: 4, Output: 4},
			sim.Request{Prompt: prompt, Output: 1, Arrival: testcluster.At(1)}))
	}
}

// wide gives a step room for both prompts of twice.
func wide(p *schedulers.Continuous) { p.MaxNumBatchedTokens = 16 }

// TestTheLastInTheOrderIsPreempted, and not the last that was admitted.
func TestTheLastInTheOrderIsPreempted(t *testing.T) {
	for victim, want := range map[schedulers.Victim]int32{schedulers.LastAdmitted: 1, schedulers.LastInOrder: 0} {
		pool := testcluster.NewPool(1, routers.LeastLoaded{})
		pool.Scheduler = &schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 64, Victim: victim}
		pool.Order, pool.KVBlocks, pool.MaxModelLen = schedulers.Priority{}, 6, 24
		c, log := testcluster.New(nil, []sim.Request{{Prompt: 8, Output: 8, Priority: 5},
			{Prompt: 8, Output: 8, Priority: 1, Arrival: testcluster.At(1)}}, pool)
		c.Run()
		assert.Equal(t, []int32{want}, log.Gaps, "%v", victim)
	}
}

// sglang is an engine with nothing in its way but its expectations.
func sglang() *schedulers.SGLang {
	return &schedulers.SGLang{MaxRunningRequests: 8, MaxPrefillTokens: 100, ClipMaxNewTokens: 4096, RetractDecodeSteps: 2,
		InitNewTokenRatio: schedulers.Ratio(0.7), MinNewTokenRatio: schedulers.Ratio(0.1),
		NewTokenRatioDecay: schedulers.Ratio(0.05)}
}

// TestSGLangMakesRoomForWhatItExpects. Pages have 4 tokens: a prompt of 6 takes 8 of a budget.
func TestSGLangMakesRoomForWhatItExpects(t *testing.T) {
	later := []sim.Request{{Prompt: 8, Output: 24}, {Prompt: 8, Output: 4, Arrival: testcluster.At(3)}}
	for _, c := range []struct {
		name     string
		blocks   int64
		rule     func(*schedulers.SGLang)
		requests []sim.Request
		want     []string
	}{
		{"all at once", 100, func(*schedulers.SGLang) {}, three(), []string{"p3:21", "2 × d3", "d2", "4 × d1"}},
		{"a budget of prompts", 100, func(p *schedulers.SGLang) { p.MaxPrefillTokens = 10 }, three(),
			[]string{"p1:6", "p1:12", "p1:3", "2 × d3", "d2", "4 × d1"}},
		{"a token of it is left", 100, func(p *schedulers.SGLang) { p.MaxPrefillTokens, p.ChunkedPrefillSize = 9, 100 },
			three(), []string{"p2:18", "p1:3", "2 × d3", "d2", "4 × d1"}},
		{"none of it is left", 100, func(p *schedulers.SGLang) { p.MaxPrefillTokens, p.ChunkedPrefillSize = 8, 100 },
			three(), []string{"p1:6", "p1:12", "p1:3", "2 × d3", "d2", "4 × d1"}},
		{"chunks", 100, func(p *schedulers.SGLang) { p.ChunkedPrefillSize = 8 }, three(),
			[]string{"p1:6", "p1:8", "p2:7", "2 × d3", "d2", "4 × d1"}},
		{"decodes ride along", 100, func(p *schedulers.SGLang) { p.ChunkedPrefillSize, p.EnableMixedChunk = 8, true },
			three(), []string{"p1:6", "p1:4+d1", "p1:7+d1", "p1:1+d1", "p1:3+d1", "d2", "6 × d1"}},
		{"two places", 100, func(p *schedulers.SGLang) { p.MaxRunningRequests = 2 }, three(),
			[]string{"p2:18", "2 × d2", "p1:3", "d2", "6 × d1"}},
		// the first takes 8 + 8 tokens and a page of the 24, and the second would too
		{"no room for both at their limits", 6, func(*schedulers.SGLang) {}, twice(), oneByOne},
		// a token is expected of each: the second fits a step later, when the first has its page; then one is retracted
		{"retraction", 6, func(p *schedulers.SGLang) { p.ClipMaxNewTokens = 1 }, twice(),
			[]string{"2 × p1:8", "4 × d2", "3 × d1", "p1:13", "2 × d1"}},
		{"no retraction, with just enough", 8, func(p *schedulers.SGLang) { p.ClipMaxNewTokens = 1 }, twice(),
			[]string{"p2:16", "7 × d2"}},
		// both have emitted as much, and the other has the shorter prompt
		{"retraction of the longer prompt", 6, func(p *schedulers.SGLang) { p.ClipMaxNewTokens = 1 },
			[]sim.Request{{Prompt: 8, Output: 8}, {Prompt: 4, Output: 12}},
			[]string{"p2:12", "4 × d2", "7 × d1", "p1:13", "2 × d1"}},
		// 11 blocks. At 3 s the first has 22 tokens to emit and 3 blocks. Of these 10 % leave room for 8 + 4 + 4 tokens
		{"little is expected", 11, func(p *schedulers.SGLang) { p.InitNewTokenRatio = p.MinNewTokenRatio }, later,
			[]string{"p1:8", "2 × d1", "p1:8", "3 × d2", "18 × d1"}},
		// of 44 tokens 12 are in use by the first, and 0.7 of 23 expected; the second takes 20, and is not asked about again
		// before the first has left, although less and less is expected
		{"a failed attempt is not repeated", 11, func(*schedulers.SGLang) {},
			[]sim.Request{{Prompt: 8, Output: 24}, {Prompt: 8, Output: 8}}, []string{"p1:8", "23 × d1", "p1:8", "7 × d1"}},
		{"all is expected", 11, func(p *schedulers.SGLang) { p.IgnoreEOS = true }, later,
			[]string{"p1:8", "23 × d1", "p1:8", "3 × d1"}},
	} {
		p := sglang()
		c.rule(p)
		assert.Equal(t, c.want, stepsOf(t, p, c.blocks, nil, c.requests...), c.name)
	}
}

func TestSchedulersRefuseWhatCouldNotRun(t *testing.T) {
	type validates interface{ Validate() error }
	sg := func(change func(*schedulers.SGLang)) validates {
		p := sglang()
		change(p)
		return p
	}
	for _, good := range []validates{
		&schedulers.Static{MaxBatchSize: 1, MaxNumBatchedTokens: 1}, sglang(),
		&schedulers.PrefillFirst{MaxNumSeqs: 1, MaxNumBatchedTokens: 1},
		&schedulers.Continuous{MaxNumSeqs: 1, MaxNumBatchedTokens: 1},
		&schedulers.Continuous{MaxNumSeqs: 1, MaxNumBatchedTokens: 2, DraftSlots: 1},
		&schedulers.Continuous{MaxNumSeqs: 1, MaxNumBatchedTokens: 1, Reserve: schedulers.MaxModelLen, MaxModelLen: 1},
		sg(func(p *schedulers.SGLang) { p.MinNewTokenRatio, p.NewTokenRatioDecay = p.InitNewTokenRatio, 0 }),
		sg(func(p *schedulers.SGLang) { p.InitNewTokenRatio, p.MinNewTokenRatio = schedulers.RatioOne, 0 }),
		sg(func(p *schedulers.SGLang) { p.MaxRunningRequests, p.MaxPrefillTokens = 1, 1 }),
		sg(func(p *schedulers.SGLang) { p.ClipMaxNewTokens, p.RetractDecodeSteps = 1, 1 }),
	} {
		require.NoError(t, good.Validate(), "%+v", good)
	}
	for says, bad := range map[string]validates{
		"max_batch_size is 0":            &schedulers.Static{MaxNumBatchedTokens: 1},
		"max_num_batched_tokens 1, must": &schedulers.Static{MaxBatchSize: 2, MaxNumBatchedTokens: 1},
		"max_num_seqs is 0 and":          &schedulers.PrefillFirst{MaxNumBatchedTokens: 8},
		"max_num_seqs is 9 and":          &schedulers.PrefillFirst{MaxNumSeqs: 9, MaxNumBatchedTokens: 8},
		"the watermark is -1 blocks and": &schedulers.PrefillFirst{MaxNumSeqs: 1,
			MaxNumBatchedTokens: 8, WatermarkBlocks: -1},
		"prefill_below -1": &schedulers.PrefillFirst{MaxNumSeqs: 1,
			MaxNumBatchedTokens: 8, PrefillBelow: -1},
		"never retracts": &schedulers.PrefillFirst{MaxNumSeqs: 1,
			MaxNumBatchedTokens: 8, Preempt: sim.Retract},
		"a draft model takes 8": &schedulers.Continuous{MaxNumSeqs: 8, MaxNumBatchedTokens: 8, DraftSlots: 8},
		"the watermark is -1 blocks, must": &schedulers.Continuous{MaxNumSeqs: 8,
			MaxNumBatchedTokens: 8, WatermarkBlocks: -1},
		"max_model_len is 0": &schedulers.Continuous{MaxNumSeqs: 8,
			MaxNumBatchedTokens: 8, Reserve: schedulers.MaxModelLen},
		"max_running_requests is 0":    sg(func(p *schedulers.SGLang) { p.MaxRunningRequests = 0 }),
		"max_prefill_tokens 0":         sg(func(p *schedulers.SGLang) { p.MaxPrefillTokens = 0 }),
		"chunked_prefill_size -1":      sg(func(p *schedulers.SGLang) { p.ChunkedPrefillSize = -1 }),
		"the clip of new tokens is 0":  sg(func(p *schedulers.SGLang) { p.ClipMaxNewTokens = 0 }),
		"the steps to make room for 0": sg(func(p *schedulers.SGLang) { p.RetractDecodeSteps = 0 }),
		"by -1 (1e-9)":                 sg(func(p *schedulers.SGLang) { p.NewTokenRatioDecay = -1 }),
		"to -1 by":                     sg(func(p *schedulers.SGLang) { p.MinNewTokenRatio = -1 }),
		"from 99999999999999 to":       sg(func(p *schedulers.SGLang) { p.InitNewTokenRatio = p.MinNewTokenRatio - 1 }),
		"from 1000000000000001 to":     sg(func(p *schedulers.SGLang) { p.InitNewTokenRatio = schedulers.RatioOne + 1 }),
	} {
		require.ErrorContains(t, bad.Validate(), says)
	}
}

func TestSchedulersHaveNamesAndSayWhatTheyDo(t *testing.T) {
	assert.Equal(t, []string{"continuous", "prefill-first", "sglang", "static"}, schedulers.Names())
	for _, name := range schedulers.Names() {
		assert.NotEmpty(t, schedulers.Does(name), name)
	}
	assert.Equal(t, []string{"lpm", "dfs-weight"}, schedulers.CacheOrderNames())
	assert.Equal(t, schedulers.LPM, schedulers.CacheOrderNamed("lpm"))
	assert.Equal(t, schedulers.DFSWeight, schedulers.CacheOrderNamed("dfs-weight"))
	assert.Equal(t, schedulers.FCFS, schedulers.CacheOrderNamed("fcfs"))
	assert.Contains(t, schedulers.OrderDoes("lpm"), "longest prefix")
	assert.False(t, sglang().Sequential(), "nothing is shared but where queues are sorted")
	assert.True(t, (&schedulers.SGLang{Order: schedulers.LPM}).Sequential())
	assert.EqualValues(t, schedulers.RatioOne/4, schedulers.Ratio(0.25))
}

// TestAStaticBatchSharesWhatIsCached: of a prompt of 9 tokens, which came before, two blocks of 4 tokens. A row is
// computed as long as the longest prompt nevertheless.
func TestAStaticBatchSharesWhatIsCached(t *testing.T) {
	tree, model := new(sim.Contents), &steps{}
	node := tree.Add(0, 9)
	pool := testcluster.NewPool(1, routers.LeastLoaded{})
	pool.Scheduler = &schedulers.Static{MaxBatchSize: 1, MaxNumBatchedTokens: 9}
	pool.Model, pool.PrefixCaching = model, true
	c, _ := testcluster.New(func(c *sim.Config) { c.Contents = tree }, []sim.Request{
		{Prompt: 9, Output: 2, Content: node}, {Prompt: 9, Output: 2, Content: node}}, pool)
	c.Run()
	assert.Equal(t, []string{"p1:9", "d1", "p1:9", "d1"}, model.all)
	assert.EqualValues(t, 8, c.Totals().CachedTokens)
}
