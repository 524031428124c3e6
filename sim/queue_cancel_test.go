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

// endings is a journal that also keeps the order in which requests end.
type endings struct {
	*journal
	order []int32
}

func (e *endings) Done(r *sim.Request, at sim.Time, o sim.Outcome) {
	e.order = append(e.order, r.ID)
	e.journal.Done(r, at, o)
}

// TestWhatEndsTogetherEndsInOrder of its numbers, whatever the order in which it was admitted.
func TestWhatEndsTogetherEndsInOrder(t *testing.T) {
	for n := 2; n <= 4; n++ {
		for backwards := range 2 {
			sc := scenario{size: 1, blocks: 100, blockSize: 16, maxLen: 100, model: ticks(sim.Second),
				order: schedulers.Priority{}, policy: &schedulers.Continuous{MaxNumSeqs: 8, MaxNumBatchedTokens: 100}}
			for id := range n {
				r := sim.Request{ID: int32(id), Prompt: 1, Output: 4, Priority: int8(id), Traced: true}
				if backwards > 0 {
					r.Priority = -r.Priority
				}
				sc.requests = append(sc.requests, r)
			}
			e := &endings{journal: newJournal()}
			run(t, sc.config(e))
			require.IsIncreasing(t, e.order)
			require.Len(t, e.order, n)
		}
	}
}
