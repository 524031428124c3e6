package sessions

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/arrivals"
	"github.com/decodesim/decodesim/workloads/lengths"
	"github.com/decodesim/decodesim/workloads/requests"
)

// TestATaskHasSpentWhatTheLastSubAgentDid: where several end together, the first by its number, in whatever order they
// are reported. Each of three waits a second longer than the one before it, which tells them apart.
func TestATaskHasSpentWhatTheLastSubAgentDid(t *testing.T) {
	const s = sim.Second
	for _, c := range []struct {
		ends [3]sim.Duration // of sub-agents
		want sim.Duration    // that the last one has waited
	}{
		{[3]sim.Duration{8 * s, 8 * s, 8 * s}, 1 * s},
		{[3]sim.Duration{7 * s, 8 * s, 8 * s}, 2 * s},
		{[3]sim.Duration{8 * s, 7 * s, 8 * s}, 1 * s},
		{[3]sim.Duration{8 * s, 8 * s, 7 * s}, 1 * s},
		{[3]sim.Duration{6 * s, 7 * s, 8 * s}, 3 * s},
		{[3]sim.Duration{8 * s, 7 * s, 6 * s}, 1 * s},
		{[3]sim.Duration{6 * s, 8 * s, 7 * s}, 2 * s},
	} {
		for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
			loop := AgentLoop{Tasks: 1, Result: lengths.Fixed(10),
				Loop: Loop{Arrivals: arrivals.Spec{Process: "constant", Rate: 1}, Turns: lengths.Fixed(2),
					Mix: requests.Mix{Prompt: lengths.Fixed(100), Output: lengths.Fixed(30)}},
				SubAgents: &SubAgents{Probability: 1, Agents: lengths.Fixed(3), Turns: lengths.Fixed(1),
					Prompt: lengths.Fixed(7)}}
			a, err := NewAgentLoop(loop, 1)
			require.NoError(t, err)
			var tasks []Task
			a.Report = func(t *Task) { tasks = append(tasks, *t) }
			serve := func(r *sim.Request, waits, takes sim.Duration) {
				r.Admitted, r.Last, r.Emitted = r.Arrival.Add(waits), r.Arrival.Add(takes), r.Output
				r.First = r.Admitted
				a.Done(r.Last, r)
			}
			var first, last sim.Request
			require.True(t, a.Next(&first))
			serve(&first, 0, s)
			var sub [3]sim.Request
			for i := range sub {
				require.True(t, a.Next(&sub[i]))
			}
			slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(c.ends[i], c.ends[j]) })
			for _, i := range order {
				serve(&sub[i], sim.Duration(i+1)*s, c.ends[i])
			}
			require.True(t, a.Next(&last))
			require.Equal(t, first.Last.Add(8*s), last.Arrival)
			serve(&last, 0, s)
			require.Len(t, tasks, 1)
			require.Equal(t, Spent{Waiting: c.want, Generation: 10*s - c.want}, tasks[0].Spent, "%v in order %v", c.ends, order)
		}
	}
}
