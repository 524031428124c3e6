package sim_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// fickle admits the request that comes first, thinks better of it, and then schedules as vLLM does.
type fickle struct {
	schedulers.Continuous
	regrets int
}

func (f *fickle) Schedule(in *sim.Instance, w *sim.Work) int {
	if r := in.Head(); r != nil && r.Content == 0 && r.Preemptions == 0 {
		w.CachedTokens(r)
		w.Admit(r, 0)
		if f.regrets%2 == 0 {
			w.Chunk(r, r.Pending())
		}
		w.Preempt(in.LastAdmitted(), sim.Recompute)
		f.regrets++
	}
	return f.Continuous.Schedule(in, w)
}

// TestWhoHasJustBeenAdmittedGivesBackNothing: a request that is preempted in the step that admits it holds no block
// yet, not even those that a sequence holds whatever its length.
func TestWhoHasJustBeenAdmittedGivesBackNothing(t *testing.T) {
	for _, prefix := range []bool{false, true} {
		sc := scenario{size: 1, blocks: 50, blockSize: 4, fixed: 3, maxLen: 100, model: ticks(sim.Second)}
		for i := range int32(10) {
			sc.requests = append(sc.requests,
				sim.Request{ID: i, Prompt: 1 + i, Output: 4, Traced: true, Arrival: sim.Time(i) * sim.Time(2*sim.Second)})
		}
		policy := &fickle{Continuous: schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 100}}
		j := newJournal()
		c := sc.config(j)
		c.Pools[0].Scheduler, c.Pools[0].PrefixCaching = policy, prefix
		cl := run(t, c)
		require.Equal(t, 10, policy.regrets)
		require.EqualValues(t, 10, cl.PoolTotals(0).Preemptions, fmt.Sprintf("prefix caching %v", prefix))
		require.EqualValues(t, 40, cl.Totals().OutputTokens)
		require.Zero(t, cl.State(cl.Now()).KVUsed)
		require.NoError(t, sim.CheckCaches(cl))
	}
}
