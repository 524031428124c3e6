package schedulers_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/decodesim/decodesim/policies/internal/testcluster"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// TestContinuousRefusesWhatVLLMRefuses: limits that no engine starts with.
func TestContinuousRefusesWhatVLLMRefuses(t *testing.T) {
	good := schedulers.Continuous{MaxNumSeqs: 8, MaxNumBatchedTokens: 8}
	assert.NoError(t, good.Validate())
	for _, bad := range []schedulers.Continuous{
		{MaxNumSeqs: 0, MaxNumBatchedTokens: 8}, {MaxNumSeqs: 9, MaxNumBatchedTokens: 8},
		{MaxNumSeqs: 8, MaxNumBatchedTokens: 8, LongPrefillTokenThreshold: -1},
		{MaxNumSeqs: 8, MaxNumBatchedTokens: 8, Unchunked: true, BatchWaitIters: -1},
		{MaxNumSeqs: 8, MaxNumBatchedTokens: 8, BatchWaitIters: 1},
	} {
		assert.Error(t, bad.Validate(), "%+v", bad)
	}
}

// run serves requests that arrive together on one instance with so many blocks of KV cache.
func run(policy schedulers.Continuous, blocks int64, requests ...sim.Request) *testcluster.Log {
	p := testcluster.NewPool(1, routers.LeastLoaded{})
	p.Scheduler, p.KVBlocks, p.MaxModelLen = &policy, blocks, 40
	c, log := testcluster.New(nil, requests, p)
	c.Run()
	return log
}

// firsts is when requests got their first token, in seconds and by ID.
func firsts(seconds ...int64) map[int32]sim.Time {
	at := map[int32]sim.Time{}
	for id, s := range seconds {
		at[int32(id)] = testcluster.At(s)
	}
	return at
}

// TestPromptsAreChunked: a prompt of 20 tokens takes three steps of 8, and the next shares the last of them.
func TestPromptsAreChunked(t *testing.T) {
	log := run(schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 8}, 100,
		sim.Request{Prompt: 20, Output: 1}, sim.Request{Prompt: 4, Output: 1})
	assert.Equal(t, firsts(3, 3), log.FirstToken)
}

// TestALongPrefillThresholdLetsOthersIn: with chunks of at most 4, the second prompt runs beside the first.
func TestALongPrefillThresholdLetsOthersIn(t *testing.T) {
	log := run(schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 8, LongPrefillTokenThreshold: 4}, 100,
		sim.Request{Prompt: 20, Output: 1}, sim.Request{Prompt: 4, Output: 1})
	assert.Equal(t, firsts(5, 1), log.FirstToken)
}

// TestAChunkMayBeOneToken: two prompts that run beside each other take as many steps as they have tokens.
func TestAChunkMayBeOneToken(t *testing.T) {
	log := run(schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 8, LongPrefillTokenThreshold: 1}, 100,
		sim.Request{Prompt: 3, Output: 1}, sim.Request{Prompt: 2, Output: 1})
	assert.Equal(t, firsts(3, 2), log.FirstToken)
}

// TestTheLatestIsPreempted: 10 blocks of 4 tokens hold two sequences of 16 until one grows. The later one is preempted,
// and its client, which has a first token already, sees a gap and not another first token.
func TestTheLatestIsPreempted(t *testing.T) {
	log := run(schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 64}, 10,
		sim.Request{Prompt: 16, Output: 12}, sim.Request{Prompt: 16, Output: 12})
	assert.Equal(t, firsts(1, 1), log.FirstToken)
	assert.Equal(t, []int32{1}, log.Gaps)
}

// TestReservingTheWholePrompt: a chunk would fit beside the first request, the whole prompt does not.
func TestReservingTheWholePrompt(t *testing.T) {
	requests := []sim.Request{{Prompt: 24, Output: 1}, {Prompt: 28, Output: 1}}
	policy := schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 26}
	chunked := run(policy, 10, requests...)
	policy.SchedulerReserveFullISL = true
	whole := run(policy, 10, requests...)
	assert.Equal(t, testcluster.At(2), chunked.FirstToken[1])
	assert.Equal(t, testcluster.At(3), whole.FirstToken[1])
}

// TestAPromptLongerThanAStepIsNeverAdmitted where prompts are computed whole: its engine is left with nothing to do.
func TestAPromptLongerThanAStepIsNeverAdmitted(t *testing.T) {
	for _, p := range []sim.Scheduler{
		&schedulers.PrefillFirst{MaxNumSeqs: 8, MaxNumBatchedTokens: 8},
		&schedulers.Continuous{MaxNumSeqs: 8, MaxNumBatchedTokens: 8, Unchunked: true},
	} {
		for prompt, never := range map[int32]bool{8: false, 9: true} {
			runs := func() { stepsOf(t, p, 100, nil, sim.Request{Prompt: prompt, Output: 2}) }
			if never {
				assert.Panics(t, runs, "%T", p)
			} else {
				assert.NotPanics(t, runs, "%T", p)
			}
		}
	}
}
