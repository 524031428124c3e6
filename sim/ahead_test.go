package sim_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

const (
	stepTime   = 10 * sim.Millisecond // of a step that decodes one sequence
	promptTime = 25 * sim.Millisecond // of a step that reads a prompt beside it
)

// twoTimes is a model of these two steps.
type twoTimes struct{}

func (twoTimes) Price(ranks []sim.Shape, g *sim.Segment) {
	*g = sim.Segment{First: stepTime, Steps: 1 << 20}
	if ranks[0].Prefills > 0 {
		g.First = promptTime
	}
	g.Part[sim.Overhead].A = g.First
}

// TestAnArrivalWaitsForAStepFixedWithoutIt: the prompt of a request that arrives at the share x of a decode step of
// length T is read after the rest of it, (1 − x)·T, and with batches fixed a step ahead after another T. An arrival at
// a boundary belongs to the step that ends there.
func TestAnArrivalWaitsForAStepFixedWithoutIt(t *testing.T) {
	for _, c := range []struct {
		into  sim.Duration // a step
		delay [2]sim.Duration
	}{
		{1, [2]sim.Duration{stepTime - 1, 2*stepTime - 1}},
		{stepTime / 4, [2]sim.Duration{stepTime * 3 / 4, stepTime * 7 / 4}},
		{stepTime - 1, [2]sim.Duration{1, stepTime + 1}},
		{stepTime, [2]sim.Duration{0, stepTime}},
	} {
		for _, ingress := range []sim.Duration{0, 3 * sim.Millisecond} {
			var runs [2]int
			for i, ahead := range []bool{false, true} {
				sc := aheadScenario(ahead)
				sc.ingress = ingress
				begun := sim.Time(0).Add(promptTime + 20*stepTime)
				sc.requests = []sim.Request{
					{ID: 0, Prompt: 1, Output: 500, Traced: true},
					{ID: 1, Prompt: 1, Output: 3, Traced: true, Arrival: begun.Add(c.into)},
				}
				j := newJournal()
				run(t, sc.config(j))
				what := fmt.Sprintf("ahead %v, %v into a step, ingress %v", ahead, c.into, ingress)
				require.Equal(t, c.delay[i]+promptTime+ingress, j.tokens[1][0].Sub(sc.requests[1].Arrival), what)
				require.Equal(t, j.tokens[1][0], j.tokens[0][20+1+int((c.into+c.delay[i])/stepTime)], "%s: both are in that step",
					what)
				runs[i] = j.runs
			}
			require.Equal(t, runs[0], runs[1], "a run of steps is cut where the arrival is seen, not before")
		}
	}
}

// TestAnIdleEngineTakesEverybodyAtOnce: no step was fixed before them, neither when the engine had nothing to do, nor
// when its batch ends as they wait.
func TestAnIdleEngineTakesEverybodyAtOnce(t *testing.T) {
	sc := aheadScenario(true)
	end := sim.Time(0).Add(promptTime + stepTime) // of the first request
	afterwards := sim.Time(0).Add(sim.Second)
	sc.requests = []sim.Request{
		{ID: 0, Prompt: 1, Output: 2, Traced: true},
		{ID: 1, Prompt: 1, Output: 1, Arrival: end - 1, Traced: true},
		{ID: 2, Prompt: 1, Output: 1, Arrival: afterwards, Traced: true},
	}
	j := newJournal()
	run(t, sc.config(j))
	require.Equal(t, []sim.Time{end.Add(promptTime)}, j.tokens[1])
	require.Equal(t, []sim.Time{afterwards.Add(promptTime)}, j.tokens[2])
}

// TestACancellationBeforeAPlanDelaysNoOtherRequest: behind it waits a request that came before the step that ends.
func TestACancellationBeforeAPlanDelaysNoOtherRequest(t *testing.T) {
	sc := aheadScenario(true)
	begun := sim.Time(0).Add(promptTime + 20*stepTime)
	sc.requests = []sim.Request{
		{ID: 0, Prompt: 1, Output: 500, Traced: true},
		{ID: 1, Prompt: 1, Output: 3, Arrival: begun - 2, Deadline: begun + 1, Traced: true},
		{ID: 2, Prompt: 1, Output: 3, Arrival: begun - 1, Traced: true},
	}
	j := newJournal()
	run(t, sc.config(j))
	require.Equal(t, "failed", j.ended[1])
	require.Equal(t, begun.Add(stepTime+promptTime), j.tokens[2][0])
}

func aheadScenario(ahead bool) scenario {
	return scenario{
		size: 1, blocks: 1000, blockSize: 16, maxLen: 1000, model: twoTimes{}, ahead: ahead,
		policy: &schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 100},
	}
}

// TestARetractedRequestLosesTheTokenUnderWay: two requests of 4 tokens and a cache of 20 leave no room for a seventh
// step of decodes. SGLang's overlap scheduler composes that while the sixth runs, so the request that it retracts gets
// no token of the sixth; without it the request has that token, and waits then.
func TestARetractedRequestLosesTheTokenUnderWay(t *testing.T) {
	for _, ahead := range []bool{false, true} {
		sc := aheadScenario(ahead)
		sc.blocks, sc.blockSize, sc.maxLen = 20, 1, 16
		sc.uncached = true
		sc.policy = &schedulers.SGLang{MaxRunningRequests: 4, MaxPrefillTokens: 100, ClipMaxNewTokens: 1,
			RetractDecodeSteps: 1}
		sc.requests = []sim.Request{
			{ID: 0, Prompt: 4, Output: 12, Traced: true}, {ID: 1, Prompt: 4, Output: 12, Traced: true}}
		j := newJournal()
		run(t, sc.config(j))
		before := 7
		if ahead {
			require.True(t, sc.queues())
			before = 6
		}
		require.Len(t, j.tokens[1], 12)
		for i, at := range j.tokens[1][:before] {
			require.Equal(t, sim.Time(0).Add(promptTime+sim.Duration(i)*stepTime), at, "ahead %v: token %d", ahead, i)
		}
		require.Greater(t, j.tokens[1][before], j.tokens[0][11], "it returns when the other has ended")
	}
}

// TestWhatHasEndedUnseenIsNoVictim: as three sequences have emitted five tokens each, one ends, of which SGLang, which
// composes the next step meanwhile, does not know. Of that step it lacks a block. It retracts the last of the longer
// prompts, and not the request that has ended, of which it knows as many tokens.
func TestWhatHasEndedUnseenIsNoVictim(t *testing.T) {
	sc := handing(sim.Stage{Tokens: 1}, sim.Request{Prompt: 1, Output: 5, MaxOutput: 20},
		sim.Request{Prompt: 5, Output: 6, MaxOutput: 20}, sim.Request{Prompt: 5, Output: 6, MaxOutput: 20})
	p := &sc.pools[0]
	p.blocks, p.blockSize, p.maxLen = 25, 1, 25
	p.ahead, p.uncached = true, true
	p.policy = &schedulers.SGLang{MaxRunningRequests: 4, MaxPrefillTokens: 100, ClipMaxNewTokens: 1, RetractDecodeSteps: 1,
		InitNewTokenRatio: schedulers.RatioOne / 10, MinNewTokenRatio: schedulers.RatioOne / 10}
	_, cl := play(t, sc, "retracted")
	require.Equal(t, int64(1), cl.PoolTotals(1).Preemptions)
}

// TestAQueueOfOneBatchIsNone: an engine that composes a step when it knows what came of the one before queues one
// batch, or none. A request that waits for blocks joins as soon as another has ended.
func TestAQueueOfOneBatchIsNone(t *testing.T) {
	var all []*journal
	for queued := range 2 {
		sc := scenario{size: 1, blocks: 10, blockSize: 1, maxLen: 10, model: ticks(sim.Second),
			policy: &schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 100}}
		for i := range int32(4) {
			sc.requests = append(sc.requests, sim.Request{ID: i, Prompt: 4, Output: 2 + i, MaxOutput: 6, Traced: true})
		}
		j := newJournal()
		c := sc.config(j)
		c.Pools[0].BatchQueue = queued
		run(t, c)
		all = append(all, j)
	}
	require.Equal(t, all[0], all[1])
}
