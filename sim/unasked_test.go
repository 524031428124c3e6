package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/sim"
)

// TestAnInstanceIsWhatItWouldBeHadSomebodyAsked: instances are built when they are first asked for. One run asks for
// all of them before its first event, the other as its routers do; both have the same states, totals and tokens.
func TestAnInstanceIsWhatItWouldBeHadSomebodyAsked(t *testing.T) {
	t.Parallel()
	idle, tokens, drawn := 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		drawn++
		if onOther(rt) {
			return
		}
		sc := drawScenario(rt)
		sc.size += rapid.IntRange(0, 20).Draw(rt, "idle")
		sc.sizeMax = sc.size + rapid.IntRange(0, 3).Draw(rt, "down")
		var runs [2]*journal
		var ends [2]*sim.Cluster
		var states [2][]sim.Observation
		for i := range runs {
			runs[i] = newJournal()
			c := sc.config(runs[i])
			c.Observe = func(cl *sim.Cluster, now sim.Time) sim.Time {
				for k := range cl.Pool(0).Replicas() {
					if i == 0 {
						cl.Pool(0).Replica(k)
					}
				}
				states[i] = append(states[i], cl.State(now))
				return now.Add(100 * sim.Millisecond)
			}
			ends[i] = run(rt, c)
		}
		require.Equal(rt, runs[0].tokens, runs[1].tokens)
		require.Equal(rt, runs[0].ended, runs[1].ended)
		require.Equal(rt, states[0], states[1])
		require.Equal(rt, ends[0].Totals(), ends[1].Totals())
		require.Equal(rt, ends[0].PoolTotals(0), ends[1].PoolTotals(0))
		require.Equal(rt, ends[0].Pool(0).Waiting(), ends[1].Pool(0).Waiting())
		idle += sim.Unasked(ends[1].Pool(0))
		tokens += len(runs[1].tokens)
	})
	wantCovered(t, drawn, map[string]int{"instances that were never asked for": idle, "tokens": tokens},
		map[string]int{"instances that were never asked for": 100, "tokens": 1000})
}
