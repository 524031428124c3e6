package sessions

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/workloads/arrivals"
	"github.com/decodesim/decodesim/workloads/lengths"
	"github.com/decodesim/decodesim/workloads/requests"
)

// TestWhatTasksAreExpectedToTake: three turns of an agent with a tool of two seconds after each but the last. A turn
// that starts sub-agents has no tool, and theirs run beside it.
func TestWhatTasksAreExpectedToTake(t *testing.T) {
	c := AgentLoop{Tasks: 5, Loop: Loop{Arrivals: arrivals.Spec{Process: "poisson", Rate: 2}, Turns: lengths.Fixed(3)},
		Result: lengths.Fixed(10), Tool: Span{Distribution: "fixed", MeanS: 2}}
	c.Mix = requests.Mix{Prompt: lengths.Fixed(20), Output: lengths.Fixed(30)}
	s, err := NewAgentLoop(c, 1)
	require.NoError(t, err)
	// prompts of 20, 60 and 100 tokens: each has those before it, with their answers
	require.Equal(t, expectation{turns: 3, prompt: 60, output: 30, betweenS: 4}, s.plans.expect())
	c.SubAgents = &SubAgents{Probability: 1, Agents: lengths.Fixed(2), Turns: lengths.Fixed(2), Prompt: lengths.Fixed(5)}
	s, err = NewAgentLoop(c, 1)
	require.NoError(t, err)
	e := s.plans.expect()
	require.Equal(t, 11.0, e.turns, "two sub-agents of two turns after the first turn and after the second")
	require.Zero(t, e.betweenS)
}
