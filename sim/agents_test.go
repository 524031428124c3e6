package sim_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/arrivals"
	"github.com/decodesim/decodesim/workloads/lengths"
	"github.com/decodesim/decodesim/workloads/requests"
	"github.com/decodesim/decodesim/workloads/sessions"
)

// agents are tasks as a source for the laws. Their requests are traced, and have contents where there is a cache for
// them.
type agents struct {
	*sessions.Agents
	cached bool
	tasks  []sessions.Task // that have ended
}

func (a *agents) Next(r *sim.Request) bool {
	if !a.Agents.Next(r) {
		return false
	}
	r.Traced = true
	if !a.cached {
		r.Content, r.OutputContent = 0, 0
	}
	return true
}

// agentic reports whether the sessions of a scenario are tasks of agents; it follows from what was drawn.
func (sc *scenario) agentic() bool { return sc.sessions > 0 && len(sc.requests)%2 == 0 }

// newAgents returns tasks that are about as many, as long and as patient as the requests of the scenario.
func newAgents(sc *scenario) *agents {
	n, last := len(sc.requests), sc.requests[len(sc.requests)-1]
	prompt, output := int64(1), int64(1)
	hurry := false
	for i := range sc.requests {
		r := &sc.requests[i]
		prompt, output, hurry = max(prompt, int64(r.Prompt)), max(output, int64(r.Output)), hurry || r.Deadline != 0
	}
	upTo := func(most int64) lengths.Spec { return lengths.Spec{Distribution: "uniform", Min: 1, Max: most} }
	l := sessions.AgentLoop{
		Loop: sessions.Loop{
			Turns: upTo(4), ContextMax: int64(sc.maxLen), Requests: int64(n),
			Mix: requests.Mix{Prompt: upTo(prompt), Output: upTo(output)},
		},
		Result: upTo(1 + prompt/4), Tool: sessions.Span{Distribution: "fixed", MeanS: sc.think.Seconds()},
	}
	if n%4 == 0 {
		l.Concurrency = int64(sc.sessions)
	} else {
		l.Arrivals = arrivals.Spec{Process: "poisson", Rate: float64(n) / (2 * max(0.001, last.Arrival.Seconds()))}
	}
	if n%3 > 0 {
		l.SubAgents = &sessions.SubAgents{Probability: .4, Agents: upTo(3), Turns: upTo(3), Prompt: upTo(1 + prompt/2),
			Fork: n%3 == 1}
	}
	if n%5 > 1 {
		l.Mix.Sharing = requests.Sharing{Groups: 2, PrefixTokens: 1 + int64(sc.maxLen)/9}
	}
	if sc.reasons {
		l.Mix.Reasoning = requests.Reasoning{Share: .4, InContext: n%8 < 4}
	}
	if hurry {
		l.Patience = requests.Patience{CancelShare: .2, CancelAfterS: 1}
	}
	for i := range sc.classes {
		l.Mix.Classes = append(l.Mix.Classes,
			requests.Class{Name: fmt.Sprint("class", i), Share: 1 / float64(sc.classes), Priority: int64(i%3) - 1})
	}
	source, err := sessions.NewAgentLoop(l, uint64(n))
	if err != nil {
		panic(err)
	}
	a := &agents{Agents: source, cached: sc.tree != nil}
	source.Report = func(t *sessions.Task) { a.tasks = append(a.tasks, *t) }
	return a
}

// TestTasksTakeWhatTheirTwinsTake: tasks of agents begin, end and fail on the simulator when they do on the naive twin,
// in the same order of their numbers, and what their time was spent on sums to it.
func TestTasksTakeWhatTheirTwinsTake(t *testing.T) {
	t.Parallel()
	cover, drawn := map[string]int{}, 0
	rapid.Check(t, func(t *rapid.T) {
		drawn++
		sc := drawScenario(t)
		if !sc.agentic() {
			return
		}
		twin, c := runNaive(sc), sc.config(newJournal())
		run(t, c)
		got, want := c.Source.(*agents), twin.feed.(*agents)
		byNumber := func(a, b sessions.Task) int { return int(a.Number - b.Number) }
		slices.SortFunc(got.tasks, byNumber)
		slices.SortFunc(want.tasks, byNumber)
		require.EqualValues(t, got.Begun(), len(got.tasks), "every task ends, for its turns do")
		require.Equal(t, len(want.tasks), len(got.tasks))
		for i := range got.tasks {
			g, w := got.tasks[i], want.tasks[i]
			s := g.Spent
			if g.Outcome != sessions.TaskFailed {
				require.Equal(t, g.Ended.Sub(g.Begun), s.Waiting+s.Prompts+s.Generation+s.Tools, "task %d", i)
				require.GreaterOrEqual(t, min(s.Waiting, s.Prompts, s.Generation, s.Tools), sim.Duration(0), "task %d", i)
			}
			g.Spent, w.Spent = sessions.Spent{}, sessions.Spent{} // the twin notes no steps in its requests
			require.Equal(t, w, g)
			cover[g.Outcome.String()]++
			cover["requests"] += int(g.Requests)
			if g.Agents > 1 {
				cover["with sub-agents"]++
			}
		}
	})
	wantCovered(t, drawn, cover, map[string]int{"completed": 100, "failed": 20, "full": 50, "requests": 1000,
		"with sub-agents": 100})
}
