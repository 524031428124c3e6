package sim_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// TestFirstTokensAreDue: four requests get their only tokens one after the other, a second each. A token that comes
// when it is due is not overdue, whatever its request waited for.
func TestFirstTokensAreDue(t *testing.T) {
	for due, overdue := range map[sim.Duration]int64{0: 0, sim.Second: 3, 2*sim.Second - 1: 3, 2 * sim.Second: 2,
		4 * sim.Second: 0} {
		sc := scenario{size: 1, blocks: 50, blockSize: 4, maxLen: 100, model: ticks(sim.Second)}
		sc.policy = &schedulers.Continuous{MaxNumSeqs: 1, MaxNumBatchedTokens: 100}
		for i := range int32(4) {
			sc.requests = append(sc.requests, sim.Request{ID: i, Prompt: 5, Output: 1})
		}
		c := sc.config(newJournal())
		c.Pools[0].FirstTokenDue = due
		cl := run(t, c)
		n, after := cl.Pool(0).FirstTokens()
		assert.Equal(t, []int64{4, overdue}, []int64{n, after}, "due after %v", due)
		in := cl.Pool(0).Instance(0)
		assert.Zero(t, int64(in.Load())+in.PromptTokens()+int64(cl.Pool(0).AtGate()), "all have left")
	}
}

// TestAnInstanceKnowsWhatItWasSent: requests and their prompt tokens, in a queue or in a batch.
func TestAnInstanceKnowsWhatItWasSent(t *testing.T) {
	sc := scenario{size: 1, blocks: 50, blockSize: 4, maxLen: 100, model: ticks(sim.Second)}
	sc.policy = &schedulers.Continuous{MaxNumSeqs: 2, MaxNumBatchedTokens: 100}
	for i := range int32(4) {
		sc.requests = append(sc.requests, sim.Request{ID: i, Prompt: 5 + i, Output: 10})
	}
	c := sc.config(newJournal())
	c.Until = sim.Time(3 * sim.Second)
	in := run(t, c).Pool(0).Instance(0)
	assert.Equal(t, []int64{4, 5 + 6 + 7 + 8}, []int64{int64(in.Load()), in.PromptTokens()})
	assert.Equal(t, []int{2, 2}, []int{in.Running(), in.Queued()})
	assert.Equal(t, 1, in.Ranks())
	assert.Same(t, in, in.Replica())
}
