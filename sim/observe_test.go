package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// composed is a scheduler that notes what its steps compute of request 0, and after how many tokens.
type composed struct {
	*schedulers.Continuous
	steps [][2]int32
}

func (s *composed) Schedule(in *sim.Instance, w *sim.Work) int {
	steps := s.Continuous.Schedule(in, w)
	for r := in.FirstAdmitted(); r != nil; r = in.AdmittedAfter(r) {
		if tokens, after := in.Composed(r); r.ID == 0 && tokens > 0 {
			s.steps = append(s.steps, [2]int32{tokens, after})
		}
	}
	return steps
}

// TestAStepSaysWhatItComputes: a prompt of 250 in chunks of 100, and then a token for each step, or with two drafts,
// none of which is accepted, three.
func TestAStepSaysWhatItComputes(t *testing.T) {
	for _, drafts := range []int32{0, 2} {
		sc := scenario{size: 1, blocks: 1000, blockSize: 16, maxLen: 1000, model: single{},
			policy: &schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 100}}
		sc.requests = []sim.Request{{Prompt: 250, Output: 5, Traced: true}}
		c := sc.config(newJournal())
		if drafts > 0 {
			c.Pools[0].Speculation = &sim.Speculation{Tokens: drafts, Acceptance: accept(0)}
		}
		s := &composed{Continuous: &schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 100}}
		c.Pools[0].Scheduler = s
		run(t, c)
		require.Equal(t, [][2]int32{{100, 0}, {100, 100}, {50, 200}}, s.steps[:3])
		want := [][2]int32{{1, 250}, {1, 251}, {1, 252}, {1, 253}}
		if drafts > 0 { // no more than the output has tokens left
			want = [][2]int32{{3, 250}, {3, 251}, {2, 252}, {1, 253}}
		}
		require.Equal(t, want, s.steps[3:])
	}
}

// single is a model whose steps are planned one by one.
type single struct{}

func (single) Price(_ []sim.Shape, g *sim.Segment) {
	*g = sim.Segment{First: sim.Second, Steps: 1}
	g.Part[sim.Overhead].A = sim.Second
}

// TestInstancesCountWhatTheirPoolDoes: preemptions and drafts are those of its ranks or microbatches. Of an output of
// n tokens, after the first, all but the last are emitted by a step that verifies drafts, if none is accepted.
func TestInstancesCountWhatTheirPoolDoes(t *testing.T) {
	counts := func(cl *sim.Cluster) (preemptions, drafts, tokens int64) {
		for i := range cl.Pool(0).Len() {
			in := cl.Pool(0).Instance(i)
			n, m := in.Drafting()
			preemptions, drafts, tokens = preemptions+in.Preemptions(), drafts+n, tokens+m
		}
		return preemptions, drafts, tokens
	}
	_, c, _ := speculating(1, 0)
	cl := run(t, c)
	preemptions, drafts, tokens := counts(cl)
	require.Equal(t, [3]int64{0, 22 - 2 + 8 - 2, 22 - 2 + 8 - 2}, [3]int64{preemptions, drafts, tokens})
	for _, split := range []func(*scenario){func(*scenario) {}, func(sc *scenario) { sc.size = 2 },
		func(sc *scenario) { sc.ranks = 2 }, func(sc *scenario) { sc.stages = []int32{1, 1} }} {
		sc := scenario{size: 1, blocks: 24, blockSize: 1, maxLen: 20, model: ticks(sim.Second),
			policy:      &schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 100},
			speculation: speculate(3, random{rates: []float64{0.7, 0.5, 0.3}})}
		for i := range int32(6) {
			sc.requests = append(sc.requests, sim.Request{ID: i, Prompt: 2, Output: 18, Traced: true})
		}
		split(&sc)
		cl := run(t, sc.config(newJournal()))
		totals := cl.PoolTotals(0)
		preemptions, drafts, tokens := counts(cl)
		require.Positive(t, preemptions)
		require.Equal(t, [2]int64{totals.Preemptions, totals.Drafted}, [2]int64{preemptions, tokens})
		require.Less(t, drafts, tokens)
	}
}

// TestAPoolIsBusyWithTheStepUnderWay: an observer halfway through a run of steps counts the time until then.
func TestAPoolIsBusyWithTheStepUnderWay(t *testing.T) {
	for _, ranks := range []int{1, 2} {
		sc := scenario{size: 1, blocks: 64, blockSize: 1, maxLen: 40, model: ticks(sim.Second), ranks: ranks,
			policy:   &schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 100},
			requests: []sim.Request{{Prompt: 2, Output: 18, Arrival: sim.Time(sim.Second)}}}
		c, seen := sc.config(newJournal()), 0
		c.Observe = func(cl *sim.Cluster, now sim.Time) sim.Time {
			p := cl.PoolTotalsNow(0)
			require.InDelta(t, now.Seconds(), p.UpS, 1e-9)
			require.InDelta(t, max(0, now.Seconds()-1), p.BusyS, 1e-9, "%d ranks at %v", ranks, now)
			require.InDelta(t, min(1, max(0, now.Seconds()-1)), p.Phases.PrefillS, 1e-9, "the first second is the prompt's")
			seen++
			return now.Add(700 * sim.Millisecond)
		}
		cl := run(t, c)
		require.Greater(t, seen, 20)
		require.Equal(t, cl.PoolTotals(0), cl.PoolTotalsNow(0), "nothing is under way at the end")
	}
}

// TestAnInstanceKnowsWhatItHasCached: of two shared blocks of 16 tokens those that the second prompt has not pushed
// out, and nothing beyond what is shared.
func TestAnInstanceKnowsWhatItHasCached(t *testing.T) {
	for _, ranks := range []int{1, 2} {
		sc := tiered()
		sc.size, sc.offload = 1, 0
		sc.ranks, sc.ranksInTurn = ranks, true
		sc.requests = sc.requests[:3]
		cl := run(t, sc.config(newJournal()))
		in := cl.Pool(0).Instance(0)
		for i, want := range []int32{0, 0, 32} {
			r := sc.requests[i]
			require.Equal(t, want, in.CachedTokens(&r), "%d ranks, prompt %d", ranks, i)
		}
		longer := sc.requests[2]
		longer.Prompt = 400
		require.EqualValues(t, 32, in.CachedTokens(&longer))
		longer.Prompt = 20
		require.EqualValues(t, 16, in.CachedTokens(&longer), "a prompt that ends within the second block")
	}
}

// clipped notes before each step how many tokens the requests that decode may still emit, by two clips.
type clipped struct {
	*schedulers.SGLang
	sums [][2]int64
}

func (s *clipped) Schedule(in *sim.Instance, w *sim.Work) int {
	s.sums = append(s.sums, [2]int64{in.RemainingTokens(4096), in.RemainingTokens(4500)})
	return s.SGLang.Schedule(in, w)
}

// TestWhatMayStillBeEmittedIsClipped: of 5000, 4200 and 10 tokens each step emits one, and all end with their fourth.
func TestWhatMayStillBeEmittedIsClipped(t *testing.T) {
	s := &clipped{SGLang: &schedulers.SGLang{MaxRunningRequests: 4, MaxPrefillTokens: 100, ClipMaxNewTokens: 4096,
		RetractDecodeSteps: 1}}
	sc := aheadScenario(false)
	sc.model, sc.maxLen, sc.policy = single{}, 6000, s.SGLang
	for i, most := range []int32{5000, 4200, 10} {
		sc.requests = append(sc.requests, sim.Request{ID: int32(i), Prompt: 1, Output: 4, MaxOutput: most})
	}
	c := sc.config(newJournal())
	c.Pools[0].Scheduler = s
	run(t, c)
	require.Equal(t, [][2]int64{{0, 0}, {4096 + 4096 + 9, 4500 + 4199 + 9}, {4096 + 4096 + 8, 4500 + 4198 + 8},
		{4096 + 4096 + 7, 4500 + 4197 + 7}, {0, 0}}, s.sums)
}

// TestTokensAreCountedAsTheyAreEmitted: of a request alone, in steps that are taken together. Its prompt of one token
// and all that it has emitted are in blocks by then, those of the token under way among them.
func TestTokensAreCountedAsTheyAreEmitted(t *testing.T) {
	for _, size := range []int32{1, 3, 16} {
		sc := aheadScenario(false)
		sc.blockSize, sc.requests = size, []sim.Request{{Prompt: 1, Output: 50}}
		c := sc.config(newJournal())
		n := int64(0)
		c.Observe = func(c *sim.Cluster, now sim.Time) sim.Time {
			state := c.State(now)
			require.Equal(t, n, state.OutputTokens)
			if n > 0 {
				require.Equal(t, (1+n+int64(size)-1)/int64(size), state.KVUsed, "after %d tokens", n)
			}
			n++
			return sim.Time(promptTime).Add(sim.Duration(n-1)*stepTime + stepTime/2)
		}
		run(t, c)
		require.EqualValues(t, 50, n)
	}
}

// TestAHorizonReportsTheStepsThatHaveEnded of a request alone: the first token and five more, and none of the next
// step.
func TestAHorizonReportsTheStepsThatHaveEnded(t *testing.T) {
	for _, traced := range []bool{true, false} {
		sc := aheadScenario(false)
		sc.requests = []sim.Request{{Prompt: 1, Output: 50, Traced: traced}}
		j := newJournal()
		c := sc.config(j)
		c.Until = sim.Time(promptTime + 5*stepTime + stepTime/2)
		cl := run(t, c)
		require.Equal(t, int64(6), cl.Totals().OutputTokens)
		require.EqualValues(t, 5, j.ITL.N())
		require.Equal(t, "unfinished", j.ended[0])
		if traced {
			require.Len(t, j.tokens[0], 6)
		}
	}
}

// TestEveryFewRequestsAreTraced, and those that ask for it.
func TestEveryFewRequestsAreTraced(t *testing.T) {
	sc := aheadScenario(false)
	for id := range int32(7) {
		sc.requests = append(sc.requests, sim.Request{ID: id, Prompt: 1, Output: 4, Traced: id == 5})
	}
	j := newJournal()
	c := sc.config(j)
	c.TraceEvery = 3
	run(t, c)
	for id := range int32(7) {
		want := 1 // the first token of each is reported in any case
		if id%3 == 0 || id == 5 {
			want = 4
		}
		require.Len(t, j.tokens[id], want, "request %d", id)
	}
}
