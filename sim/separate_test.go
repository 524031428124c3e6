package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/sim"
)

type inTurn struct{ routers.RoundRobin }

func (*inTurn) Blind() {}

// TestInstancesApartAreInstancesTogether: what a router does that looks at no instance is the same, token by token, if each
// instance is simulated alone.
func TestInstancesApartAreInstancesTogether(t *testing.T) {
	t.Parallel()
	tokens, cut := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		sc := drawScenario(t)
		sc.clients, sc.sessions, sc.size = 0, 0, max(2, sc.size)
		until := rapid.SampledFrom([]sim.Time{0, 0, sim.Time(sim.Second)}).Draw(t, "until")
		var runs [2]*journal
		var ends [2]*sim.Cluster
		for i := range runs {
			runs[i] = newJournal()
			c := sc.config(runs[i])
			c.Pools[0].Router, c.Until, c.Unordered = new(inTurn), until, i > 0
			ends[i] = run(t, c)
		}
		require.Equal(t, runs[0].tokens, runs[1].tokens)
		require.Equal(t, runs[0].ended, runs[1].ended)
		require.Equal(t, runs[0].end, runs[1].end)
		require.Equal(t, runs[0].gaps, runs[1].gaps)
		equalHists(t, &runs[0].ITL, &runs[1].ITL, "ITL")
		require.Equal(t, ends[0].Totals(), ends[1].Totals())
		require.Equal(t, ends[0].PoolTotals(0), ends[1].PoolTotals(0))
		require.Equal(t, ends[0].State(ends[0].Now()), ends[1].State(ends[1].Now()))
		tokens += len(runs[0].tokens)
		cut += int(runs[0].Outcomes[sim.Unfinished])
	})
	require.Greater(t, tokens, 3000)
	require.Greater(t, cut, 300)
}
