package sim_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// accept accepts the same share of every request's drafts: none, all, or the first of them.
type accept int32

func (a accept) Verify(batch []sim.Draft) {
	for i := range batch {
		batch[i].Accepted = min(int32(a), batch[i].Drafts)
	}
}

func speculating(k, accepted int32) (scenario, sim.Config, *journal) {
	sc := scenario{size: 1, blocks: 1000, blockSize: 16, maxLen: 1000, model: ticks(sim.Second),
		policy: &schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 100}}
	sc.requests = []sim.Request{{ID: 0, Prompt: 10, Output: 22, Traced: true},
		{ID: 1, Prompt: 20, Output: 8, Traced: true}}
	j := newJournal()
	c := sc.config(j)
	c.Pools[0].Speculation = &sim.Speculation{Tokens: k, Acceptance: accept(accepted)}
	return sc, c, j
}

// TestAllAcceptedEmitsOneMoreThanDrafted: after the first token, K+1 come with every step, and the last step is cut.
func TestAllAcceptedEmitsOneMoreThanDrafted(t *testing.T) {
	for k := range int32(5) {
		for accepted := range k + 1 {
			_, c, j := speculating(k, accepted)
			cl := run(t, c)
			for i, r := range []struct{ output int }{{22}, {8}} {
				require.Len(t, j.tokens[int32(i)], r.output)
				steps := 1 + math.Ceil(float64(r.output-1)/float64(accepted+1))
				require.Equal(t, sim.Time(0).Add(sim.Seconds(steps)), j.end[int32(i)], "%d drafts, %d accepted", k, accepted)
			}
			require.Zero(t, cl.State(cl.Now()).KVUsed)
			require.EqualValues(t, 30, cl.Totals().OutputTokens)
			require.EqualValues(t, 28, j.ITL.N())
		}
	}
}

// uneven accepts more of some requests' drafts than of others'.
type uneven struct{}

func (uneven) Verify(batch []sim.Draft) {
	for i := range batch {
		batch[i].Accepted = min(batch[i].Request%4, batch[i].Drafts)
	}
}

// TestSpeculationOutlivesCancellations: a cancelled request leaves a batch whose members end when their drafts have it,
// in small wheels too and with windows.
func TestSpeculationOutlivesCancellations(t *testing.T) {
	for _, windows := range [][]sim.Window{nil, {{Tokens: 64}}, {{Tokens: 64, Chunked: true}}} {
		rnd := rand.New(rand.NewPCG(1, 2))
		sc, _, j := speculating(3, 0)
		sc.requests, sc.windows, sc.blocks = nil, windows, 64
		sc.policy = &schedulers.Continuous{MaxNumSeqs: 16, MaxNumBatchedTokens: 1000}
		at := sim.Time(0)
		for i := range 5000 {
			at = at.Add(sim.Duration(rnd.Int64N(int64(8 * sim.Second))))
			r := sim.Request{ID: int32(i), Prompt: 1 + rnd.Int32N(100), Output: 1 + rnd.Int32N(200), Arrival: at}
			if rnd.IntN(2) == 0 {
				r.Deadline = at.Add(1 + sim.Duration(rnd.Int64N(int64(60*sim.Second))))
			}
			sc.requests = append(sc.requests, r)
		}
		c := sc.config(j)
		c.Pools[0].Speculation, c.LogWheel = &sim.Speculation{Tokens: 3, Acceptance: uneven{}}, 6
		cl := run(t, c)
		require.Zero(t, cl.State(cl.Now()).KVUsed)
		require.EqualValues(t, 5000, j.Outcomes[sim.Completed]+j.Outcomes[sim.Failed])
		require.Positive(t, j.Outcomes[sim.Failed])
		require.Positive(t, cl.PoolTotals(0).Preemptions)
	}
}

// TestARowThatNoStepIsWideEnoughForIsNotFilled: with what its drafter takes, one token and seven drafts are a token too
// many for a step, and no other step has room for more.
func TestARowThatNoStepIsWideEnoughForIsNotFilled(t *testing.T) {
	tree := new(sim.Contents)
	node := tree.Add(0, 16)
	for budget := int32(7); budget < 11; budget++ {
		sc := scenario{size: 1, blocks: 100, blockSize: 16, maxLen: 101, model: ticks(sim.Second), tree: tree,
			policy:      &schedulers.Continuous{MaxNumSeqs: 1, MaxNumBatchedTokens: budget, MaxModelLen: 101, DraftSlots: 1},
			speculation: &sim.Speculation{Tokens: 7, LookAhead: 7, Fills: true, Acceptance: accept(0)}}
		for i := range int32(2) {
			sc.requests = append(sc.requests, sim.Request{ID: i, Prompt: 17, Output: 3, Content: node, Traced: true,
				Arrival: sim.Time(i) * sim.Time(100*sim.Second)})
		}
		twin, j := runNaive(sc), newJournal()
		compare(t, "filled", twin, j, run(t, sc.config(j)))
		require.Equal(t, int32(16), j.cached[1])
		require.Equal(t, budget >= 9, twin.cover["rows filled"] > 0, "%d tokens in a step", budget)
	}
}

// TestDraftsThatABudgetCutsBesidePreemptions: of three sequences that verify three drafts each, a step has tokens for
// ten, so that the last has two drafts fewer, also in steps that take blocks from another to go on.
func TestDraftsThatABudgetCutsBesidePreemptions(t *testing.T) {
	for _, blocks := range []int64{24, 30, 36} {
		sc := scenario{size: 1, blocks: blocks, blockSize: 1, maxLen: 20, model: ticks(sim.Second),
			policy:      &schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 10},
			speculation: speculate(3, random{rates: []float64{0.7, 0.5, 0.3}})}
		for i := range int32(3) {
			sc.requests = append(sc.requests, sim.Request{ID: i, Prompt: 2, Output: 18, Traced: true})
		}
		twin, j := runNaive(sc), newJournal()
		compare(t, "cut", twin, j, run(t, sc.config(j)))
		require.Positive(t, twin.cover["steps that preempt"])
		require.Positive(t, twin.cover["drafts cut by the budget"])
	}
}

// TestRejectedDraftsOfAVictimPassNothing: the engine takes it that drafts of the step under way are accepted, but not
// those of a request that it has preempted (vllm 0.22.1, v1/core/sched/scheduler.py: num_computed_tokens is 0 when they
// turn out to be rejected). When it is computed again, windows pass only what is before its tokens.
func TestRejectedDraftsOfAVictimPassNothing(t *testing.T) {
	for seed := range uint64(4) {
		sc := scenario{size: 1, blocks: 21, blockSize: 4, maxLen: 40, model: ticks(sim.Second), ahead: true,
			policy:      &schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 16},
			passing:     sim.Passing{Blocks: 1, Window: 1, TokensMax: 16},
			speculation: speculate(4, random{seed: seed, rates: []float64{0.5}})}
		require.True(t, sc.queues())
		for i := range int32(2) {
			sc.requests = append(sc.requests, sim.Request{ID: i, Prompt: 10, Output: 30, Traced: true})
		}
		twin, j := runNaive(sc), newJournal()
		compare(t, "preempted", twin, j, run(t, sc.config(j)))
		require.Positive(t, twin.cover["steps that preempt"])
	}
}
