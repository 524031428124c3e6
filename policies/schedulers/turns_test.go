package schedulers_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/policies/internal/testcluster"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// urgent has an engine serve the least priority number first, and preempt the greatest.
func urgent(p *sim.PoolSpec) { p.Order = schedulers.Priority{} }

// TestDraftsGetWhatAnEarlierPromptLeaves: chunks of at most 6 tokens of a prompt come before a decode with two drafts,
// which has 2 of the 8 tokens until the last chunk.
func TestDraftsGetWhatAnEarlierPromptLeaves(t *testing.T) {
	p := &schedulers.Continuous{MaxNumSeqs: 3, MaxNumBatchedTokens: 8, LongPrefillTokenThreshold: 6}
	assert.Equal(t, []string{"p2:8", "2 × p1:6+d1:2", "p1:2+d1:3", "d1:2"}, stepsOf(t, p, 100, func(pool *sim.PoolSpec) {
		pool.Speculation = &sim.Speculation{Tokens: 2, Acceptance: all{}}
	}, sim.Request{Prompt: 20, Output: 1}, sim.Request{Prompt: 2, Output: 10}))
}

// TestOneThatPreemptsItselfMayEndTheStep: at 5 s the first of three takes the last of 9 blocks, and the second, the
// least urgent, none. The third needs no block: it decodes in that step, or misses it where the step ends there. The
// second is computed again, with the five tokens that it has emitted, when the first has ended.
func TestOneThatPreemptsItselfMayEndTheStep(t *testing.T) {
	for stops, want := range map[bool][]string{
		false: {"p2:16", "p1:4+d2", "3 × d3", "3 × d2", "p1:13+d1", "2 × d1"},
		true:  {"p2:16", "p1:4+d2", "3 × d3", "d1", "2 × d2", "p1:13+d1", "d2", "d1"},
	} {
		p := &schedulers.Continuous{MaxNumSeqs: 8, MaxNumBatchedTokens: 16, Victim: schedulers.LastInOrder,
			StopsAtSelf: stops}
		assert.Equal(t, want, stepsOf(t, p, 9, urgent, sim.Request{Prompt: 8, Output: 8},
			sim.Request{Prompt: 8, Output: 8, Priority: 9}, sim.Request{Prompt: 4, Output: 8, Arrival: testcluster.At(1)}),
			"stops %v", stops)
	}
}

// TestTheTokensOfAVictimAreThoseBehindIt: of 6 tokens a step two decodes have one each, and a long prompt the others.
// At 6 s the second decode preempts the first, which has had its token by then: the prompt has 5, and ends with them.
// The first is computed again, with the six tokens that it has emitted, in two steps.
func TestTheTokensOfAVictimAreThoseBehindIt(t *testing.T) {
	p := &schedulers.Continuous{MaxNumSeqs: 6, MaxNumBatchedTokens: 6, Victim: schedulers.LastInOrder}
	assert.Equal(t, []string{"p1:4", "p1:4+d1", "4 × p1:4+d2", "3 × p1:5+d1", "d2", "3 × d1"},
		stepsOf(t, p, 9, urgent, sim.Request{Prompt: 4, Output: 8, Priority: 9},
			sim.Request{Prompt: 4, Output: 12, Arrival: testcluster.At(1)},
			sim.Request{Prompt: 21, Output: 1, Arrival: testcluster.At(2)}))
}

// TestDecodesThatRideAlongTakeOfTheBudget: of the prompts that come at 2 s, two of 4 tokens each, the second is
// admitted where the first leaves more than its page of a prefill budget, of which a decode that rides along takes one.
func TestDecodesThatRideAlongTakeOfTheBudget(t *testing.T) {
	two := []sim.Request{{Prompt: 8, Output: 20}, {Prompt: 4, Output: 2, Arrival: testcluster.At(2)},
		{Prompt: 4, Output: 2, Arrival: testcluster.At(2)}}
	for budget, want := range map[int32][]string{
		10: {"p1:8", "d1", "p2:8+d1", "d3", "16 × d1"},
		9:  {"p1:8", "d1", "p1:4+d1", "p1:4+d2", "d2", "15 × d1"},
	} {
		p := sglang()
		p.EnableMixedChunk, p.MaxPrefillTokens = true, budget
		assert.Equal(t, want, stepsOf(t, p, 100, nil, two...), "%d tokens", budget)
	}
}

// TestTheLastOfTwoPromptsIsRetracted: where decodes ride along, prompts that end together are in the batch in the order
// in which they were admitted. Of two that have emitted as much, in 10 blocks, the second goes.
func TestTheLastOfTwoPromptsIsRetracted(t *testing.T) {
	p, model := sglang(), &steps{}
	p.EnableMixedChunk, p.ClipMaxNewTokens = true, 1
	pool := testcluster.NewPool(1, routers.LeastLoaded{})
	pool.Scheduler, pool.Model = p, model
	pool.KVBlocks, pool.MaxModelLen = 10, 40
	two := sim.Request{Prompt: 8, Output: 8, Arrival: testcluster.At(1)}
	c, log := testcluster.New(nil, []sim.Request{{Prompt: 4, Output: 20}, two, two}, pool)
	c.Run()
	assert.Equal(t, []string{"p1:4", "p2:16+d1", "4 × d3", "3 × d2"}, model.all[:4])
	assert.Equal(t, []int32{2}, log.Gaps)
}

// TestAMicrobatchPreemptsOfAnother: two stages work on a request each, of 8 tokens in 2 of 6 blocks, and each has taken
// a third block when one wants a fourth. The one that was admitted last goes first, or the least urgent, whichever
// microbatch it is in.
func TestAMicrobatchPreemptsOfAnother(t *testing.T) {
	for _, c := range []struct {
		victim     schedulers.Victim
		priorities [2]int8
		want       int32
	}{
		{schedulers.LastAdmitted, [2]int8{0, 0}, 1},
		{schedulers.LastInOrder, [2]int8{0, 1}, 1},
		{schedulers.LastInOrder, [2]int8{1, 0}, 0},
	} {
		requests := twice()
		pool := testcluster.NewPool(1, routers.LeastLoaded{})
		pool.Scheduler = &schedulers.Continuous{MaxNumSeqs: 8, MaxNumBatchedTokens: 8, Victim: c.victim}
		pool.KVBlocks, pool.MaxModelLen, pool.Stages = 6, 24, []int32{1, 1}
		if c.victim == schedulers.LastInOrder {
			urgent(pool)
		}
		for i, priority := range c.priorities {
			requests[i].Priority = priority
		}
		cluster, log := testcluster.New(nil, requests, pool)
		cluster.Run()
		require.Equal(t, 2, log.Count(sim.Completed))
		assert.Equal(t, c.want, log.Gaps[0], "%+v", c)
	}
}
