package sim_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// tokenized is an instance that tokenises prompts in a millisecond a token and takes one for each step.
func tokenized(requests ...sim.Request) scenario {
	return scenario{size: 1, blocks: 100, blockSize: 16, maxLen: 1000, model: ticks(sim.Millisecond),
		tokenize: sim.Millisecond, policy: &schedulers.Continuous{MaxNumSeqs: 8, MaxNumBatchedTokens: 1000},
		requests: requests}
}

// firsts runs sc and its twin, and returns when each request had its first token.
func firsts(t *testing.T, sc scenario) (at []sim.Duration) {
	twin, j := runNaive(sc), newJournal()
	compare(t, "tokenised", twin, j, run(t, sc.config(j)))
	for i := range sc.requests {
		var first sim.Time
		if tokens := j.tokens[int32(i)]; len(tokens) > 0 {
			first = tokens[0]
		}
		at = append(at, first.Sub(0))
	}
	return at
}

const ms = sim.Time(sim.Millisecond)

// TestOnePromptIsTokenisedAfterTheOther: a short one waits for a long one that came before it, whose client may even
// have left.
func TestOnePromptIsTokenisedAfterTheOther(t *testing.T) {
	long := sim.Request{ID: 0, Prompt: 100, Output: 1, Arrival: 0}
	short := sim.Request{ID: 1, Prompt: 10, Output: 1, Arrival: 20 * ms}
	assert.Equal(t, []sim.Duration{101 * sim.Millisecond, 111 * sim.Millisecond}, firsts(t, tokenized(long, short)))
	long.Deadline = 30 * ms
	assert.Equal(t, []sim.Duration{0, 111 * sim.Millisecond}, firsts(t, tokenized(long, short)))
	short.Arrival = 200 * ms
	assert.Equal(t, []sim.Duration{0, 211 * sim.Millisecond}, firsts(t, tokenized(long, short)))
}

// TestATokenizerBeginsAnewWhereItsInstanceFailed: nothing comes of what it had done of a prompt before, while the one
// of another instance that takes no more requests goes on.
func TestATokenizerBeginsAnewWhereItsInstanceFailed(t *testing.T) {
	sc := tokenized(sim.Request{ID: 0, Prompt: 100, Output: 1, Arrival: 0},
		sim.Request{ID: 1, Prompt: 79, Output: 1, Arrival: 1 * ms})
	sc.size = 2
	sc.script = []action{{at: 40 * ms, what: "drain", instance: 1}, {at: 50 * ms, what: "fail", retry: true},
		{at: 60 * ms, what: "start"}}
	assert.Equal(t, []sim.Duration{161 * sim.Millisecond, 81 * sim.Millisecond}, firsts(t, sc))
}

// TestATokenizerMayBeBusyForLongerThanAnyRun: the run ends with the clock, and what is still to be tokenised then is
// unfinished.
func TestATokenizerMayBeBusyForLongerThanAnyRun(t *testing.T) {
	const prompt = 1_000_000_000 // 11.6 days of a tokenizer
	var requests []sim.Request
	for id := range int32(20) {
		requests = append(requests, sim.Request{ID: id, Prompt: prompt, Output: 1, Arrival: sim.Time(id)})
	}
	sc := tokenized(requests...)
	sc.maxLen, sc.blocks = prompt+1, prompt
	sc.policy.(*schedulers.Continuous).MaxNumBatchedTokens = prompt
	j := newJournal()
	cl := run(t, sc.config(j))
	assert.True(t, cl.Overran())
	assert.Equal(t, sim.ClockEnd, cl.Now())
	assert.Equal(t, [2]int64{4, 16}, [2]int64{j.Outcomes[sim.Completed], j.Outcomes[sim.Unfinished]})
}
