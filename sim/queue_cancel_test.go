package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// TestACancellationShowsNoRequestTooEarly: with an order and batches fixed a step ahead, an entry of the queue whose
// client has cancelled does not bring the request after it to the head before the scheduler can see that one.
func TestACancellationShowsNoRequestTooEarly(t *testing.T) {
	sc := scenario{size: 1, blocks: 100, blockSize: 16, maxLen: 100, model: ticks(sim.Second), ahead: true,
		order: schedulers.Priority{}, policy: &schedulers.Continuous{MaxNumSeqs: 2, MaxNumBatchedTokens: 100}}
	at := func(s float64) sim.Time { return sim.Time(0).Add(sim.Seconds(s)) }
	sc.requests = []sim.Request{
		{ID: 0, Prompt: 1, Output: 4, Traced: true},
		{ID: 1, Prompt: 1, Output: 20, Traced: true},
		{ID: 2, Prompt: 1, Output: 2, Priority: 5, Arrival: at(0.5), Traced: true},
		{ID: 3, Prompt: 1, Output: 2, Priority: 5, Arrival: at(2.5), Deadline: at(3.2), Traced: true},
		{ID: 4, Prompt: 1, Output: 2, Priority: -1, Arrival: at(3.5), Traced: true},
	}
	twin := runNaive(sc)
	j := newJournal()
	run(t, sc.config(j))
	for _, r := range twin.all {
		require.Equal(t, r.tokens, j.tokens[r.ID], "request %d", r.ID)
	}
}
