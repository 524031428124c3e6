package sessions

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/arrivals"
	"github.com/decodesim/decodesim/workloads/lengths"
	"github.com/decodesim/decodesim/workloads/requests"
)

// TestTheLeastLimitIsExpected: of tasks, of requests, and of what arrives in the time. Where clients begin anew and
// time alone ends them, nobody knows.
func TestTheLeastLimitIsExpected(t *testing.T) {
	for _, c := range []struct {
		tasks, requests int64
		rate, durationS float64
		want            float64
	}{
		{tasks: 7, want: 35}, {requests: 12, want: 12}, {tasks: 7, requests: 12, want: 12},
		{tasks: 7, requests: 36, want: 35}, {tasks: 7, requests: 34, want: 34}, {durationS: 10, want: 0},
		{tasks: 1, want: 5}, {requests: 1, want: 1}, {tasks: 4, rate: 2, want: 20},
		{durationS: 10, rate: 2, want: 100}, {tasks: 4, durationS: 10, rate: 2, want: 20},
		{requests: 60, durationS: 10, rate: 2, want: 60}, {requests: 600, durationS: 10, rate: 2, want: 100},
		{tasks: 900, requests: 70, durationS: 10, rate: 2, want: 70},
	} {
		l := AgentLoop{Tasks: c.tasks, Loop: Loop{Requests: c.requests, DurationS: c.durationS, Turns: lengths.Fixed(5),
			Mix: requests.Mix{Prompt: lengths.Fixed(100), Output: lengths.Fixed(30)}}, Result: lengths.Fixed(10)}
		if c.rate == 0 {
			l.Concurrency = 2
		} else {
			l.Arrivals = arrivals.Spec{Process: "constant", Rate: c.rate}
		}
		s, err := NewAgentLoop(l, 1)
		require.NoError(t, err)
		require.InDelta(t, c.want, s.Requests(), 1e-9, "%+v", c)
		require.InDelta(t, 5*c.rate, s.Rate(), 1e-9, "%+v", c)
		require.Equal(t, 5.0, s.Turns())
	}
	s, err := NewAgentLoop(AgentLoop{Tasks: 1, Result: lengths.Fixed(10), Loop: Loop{Concurrency: 1,
		Turns: lengths.Fixed(1), Mix: requests.Mix{Prompt: lengths.Fixed(100), Output: lengths.Fixed(30)}}}, 1)
	require.NoError(t, err)
	require.Equal(t, 1.0, s.Requests(), "one task of one turn")
}

// TestWhatIsExpectedOfAgentsComes: turns, prompts with all that came before, outputs, and where there are no
// sub-agents to wait for the time of tools.
func TestWhatIsExpectedOfAgentsComes(t *testing.T) {
	few := func(most int64) lengths.Spec { return lengths.Spec{Distribution: "uniform", Min: 1, Max: most} }
	for _, agents := range []*SubAgents{nil, {Probability: 0.3, Agents: few(3), Turns: few(3), Prompt: few(40)},
		{Probability: 0.3, Agents: few(3), Turns: few(3), Prompt: few(40), Fork: true}} {
		c := AgentLoop{Tasks: 2000, Result: few(50), Tool: Span{Distribution: "fixed", MeanS: 3},
			Loop: Loop{Arrivals: arrivals.Spec{Process: "constant", Rate: 1}, Turns: few(5), Mix: requests.Mix{
				Prompt: few(60), Output: few(90), Sharing: requests.Sharing{Groups: 2, PrefixTokens: 500},
				Reasoning: requests.Reasoning{Tokens: few(20)}}},
			SubAgents: agents}
		s, err := NewAgentLoop(c, 1)
		require.NoError(t, err)
		prompt, output := s.Means()
		all, tasks := work(t, s, linear, nil)
		prompts, outputs, tools := 0.0, 0.0, sim.Duration(0)
		for i := range all {
			prompts, outputs = prompts+float64(all[i].Prompt), outputs+float64(all[i].Output)
		}
		turns := 0.0
		for i := range tasks {
			tools += tasks[i].Spent.Tools
			turns += float64(tasks[i].Requests)
		}
		n := float64(len(all))
		require.Equal(t, n, turns)
		require.InEpsilon(t, n, s.Requests(), 0.05)
		require.InEpsilon(t, n/2000, s.Turns(), 0.05)
		require.InEpsilon(t, prompts/n, prompt, 0.05)
		require.InEpsilon(t, outputs/n, output, 0.05)
		if agents == nil {
			require.InEpsilon(t, tools.Seconds()/n, s.PauseS(), 0.05)
		}
	}
}
