package sessions

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/arrivals"
	"github.com/decodesim/decodesim/workloads/lengths"
	"github.com/decodesim/decodesim/workloads/requests"
)

// TestPlansStartEachSubAgentOnce: each sub-agent of a plan is started by one turn of the first agent, in the order of
// their numbers; the turn after it is asked with their last answers, and no turn but the first of an agent is beyond
// what the model takes.
func TestPlansStartEachSubAgentOnce(t *testing.T) {
	forked := 0
	rapid.Check(t, func(t *rapid.T) {
		c := drawAgents(t)
		s, err := NewAgentLoop(c, rapid.Uint64().Draw(t, "seed"))
		require.NoError(t, err)
		p := s.plans
		for n := range uint64(20) {
			var q plan
			p.plan(n, &q)
			require.Equal(t, int(q.ends[len(q.ends)-1]), len(q.turns))
			next, answers := int32(1), int32(0)
			history := make([]int64, len(q.ends))
			if q.group != 0 {
				for i := range history {
					history[i] = int64(p.prefix)
				}
			}
			for i := range q.ends[0] {
				v := &q.turns[i]
				require.Positive(t, v.output)
				require.LessOrEqual(t, v.hidden, v.output)
				if answers > 0 {
					require.Equal(t, answers, v.prompt, "what sub-agents answered is the next prompt")
					answers = 0
				}
				history[0] += int64(v.prompt)
				require.True(t, i == 0 || history[0]+int64(max(v.output, v.limit)) <= p.context)
				history[0] += int64(v.remains(p.recalls))
				if v.starts == 0 {
					continue
				}
				forked++
				require.Equal(t, next, v.first)
				require.Less(t, i+1, q.ends[0], "somebody reads what they answer")
				for range v.starts {
					if p.fork {
						history[next] = history[0]
					}
					from, to := q.ends[next-1], q.ends[next]
					require.Less(t, from, to, "a sub-agent has a turn, whatever the model takes")
					for at := from; at < to; at++ {
						w := &q.turns[at]
						require.Zero(t, w.starts, "sub-agents have none of their own")
						history[next] += int64(w.prompt)
						require.True(t, at == from || history[next]+int64(max(w.output, w.limit)) <= p.context)
						history[next] += int64(w.remains(p.recalls))
					}
					last := q.turns[to-1]
					answers += last.output - last.hidden
					next++
				}
				answers = max(1, answers)
			}
			require.True(t, q.cut || int(next) == len(q.ends))
		}
	})
	require.Positive(t, forked)
}

// TestATaskIsCutWhereASubAgentHasNoRoom: a sub-agent is asked with 40 tokens and answers with 5; each further turn has
// 30 tokens of a result and 5 of an answer, so that n turns take 10 + 35·n. The agent that started it takes far fewer.
func TestATaskIsCutWhereASubAgentHasNoRoom(t *testing.T) {
	for _, c := range []struct {
		turns   float64
		context int64
		cut     bool
		ends    []int32 // two turns of the first agent, and those of the second
	}{
		{4, 150, false, []int32{2, 6}},
		{4, 149, true, []int32{2, 5}},
		{5, 150, true, []int32{2, 6}},
		{1, 44, false, []int32{2, 3}}, // the first turn is left to the model to refuse
	} {
		loop := AgentLoop{Tasks: 1, Result: lengths.Fixed(30), Tool: Span{Distribution: "fixed"},
			Loop: Loop{Arrivals: arrivals.Spec{Process: "poisson", Rate: 1}, Turns: lengths.Fixed(2)},
			SubAgents: &SubAgents{Probability: 1, Agents: lengths.Fixed(1), Turns: lengths.Fixed(c.turns),
				Prompt: lengths.Fixed(40)}}
		loop.ContextMax = c.context
		loop.Mix = requests.Mix{Prompt: lengths.Fixed(10), Output: lengths.Fixed(5)}
		s, err := NewAgentLoop(loop, 1)
		require.NoError(t, err)
		var q plan
		s.plans.plan(0, &q)
		require.Equal(t, c.ends, q.ends, "%+v", c)
		require.Equal(t, c.cut, q.cut, "%+v", c)
		require.EqualValues(t, 5, q.turns[1].prompt, "the answer of the sub-agent")
	}
}

// TestALimitCutsReasoningWithItsOutput: no more is hidden than there is.
func TestALimitCutsReasoningWithItsOutput(t *testing.T) {
	for limit, want := range map[int32]turn{
		30: {limit: 30, output: 30, hidden: 30},
		45: {limit: 45, output: 45, hidden: 40},
		60: {limit: 60, output: 50, hidden: 40},
	} {
		got := turn{output: 50, hidden: 40}
		got.cut(limit)
		require.Equal(t, want, got)
	}
}

// TestToolsRunBetweenTurns: a turn that another of the same agent follows has a tool behind it, also of sub-agents, and
// the last one of an agent has none.
func TestToolsRunBetweenTurns(t *testing.T) {
	loop := AgentLoop{Tasks: 1, Result: lengths.Fixed(30), Tool: Span{Distribution: "fixed", MeanS: 2},
		Loop: Loop{Arrivals: arrivals.Spec{Process: "poisson", Rate: 1}, Turns: lengths.Fixed(3),
			Mix: requests.Mix{Prompt: lengths.Fixed(10), Output: lengths.Fixed(5)}},
		SubAgents: &SubAgents{Probability: 1, Agents: lengths.Fixed(2), Turns: lengths.Fixed(3), Prompt: lengths.Fixed(40)}}
	s, err := NewAgentLoop(loop, 1)
	require.NoError(t, err)
	var q plan
	s.plans.plan(0, &q)
	require.Equal(t, []int32{3, 6, 9, 12, 15}, q.ends)
	for i := range q.turns {
		want := 2 * sim.Second
		if i%3 == 2 {
			want = 0
		}
		require.Equal(t, want, q.turns[i].tool, "turn %d of %d", i, len(q.turns))
	}
}

// TestTurnsStartSubAgentsByChance: in as many cases as the probability says, within four standard errors.
func TestTurnsStartSubAgentsByChance(t *testing.T) {
	const tasks, turns = 100, 11
	for _, p := range []float64{0.1, 0.5, 1} {
		loop := AgentLoop{Tasks: 1, Result: lengths.Fixed(30), Tool: Span{Distribution: "fixed"},
			Loop: Loop{Arrivals: arrivals.Spec{Process: "poisson", Rate: 1}, Turns: lengths.Fixed(turns),
				Mix: requests.Mix{Prompt: lengths.Fixed(10), Output: lengths.Fixed(5)}},
			SubAgents: &SubAgents{Probability: p, Agents: lengths.Fixed(1), Turns: lengths.Fixed(1), Prompt: lengths.Fixed(40)}}
		s, err := NewAgentLoop(loop, 1)
		require.NoError(t, err)
		var q plan
		forks := 0
		for n := range uint64(tasks) {
			s.plans.plan(n, &q)
			forks += len(q.ends) - 1
		}
		const n = tasks * (turns - 1)
		require.InDelta(t, n*p, forks, 4*math.Sqrt(n*p*(1-p)), "probability %v", p)
	}
}
