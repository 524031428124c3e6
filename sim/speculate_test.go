package sim_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/policies"
	"github.com/decodesim/decodesim/sim"
)

// accept accepts the same share of everybody's drafts: none, all, or the first of them.
type accept int32

func (a accept) Verify(batch []sim.Draft) {
	for i := range batch {
		batch[i].Accepted = min(int32(a), batch[i].Drafts)
	}
}

func speculating(k, accepted int32) (scenario, sim.Config, *journal) {
	sc := scenario{size: 1, blocks: 1000, blockSize: 16, maxLen: 1000, model: ticks(sim.Second), policy: &policies.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 100}}
	sc.requests = []sim.Request{{ID: 0, Prompt: 10, Output: 22, Traced: true}, {ID: 1, Prompt: 20, Output: 8, Traced: true}}
	j := newJournal()
	c := sc.config(j)
	c.Pool.Speculation = &sim.Speculation{Tokens: k, Acceptance: accept(accepted)}
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
