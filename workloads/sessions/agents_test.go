package sessions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/arrivals"
	"github.com/decodesim/decodesim/workloads/lengths"
	"github.com/decodesim/decodesim/workloads/requests"
)

// drawAgents returns a loop of agents of every kind.
func drawAgents(t *rapid.T) AgentLoop {
	few := func(name string, most int64) lengths.Spec {
		return lengths.Spec{Distribution: "uniform", Min: 1, Max: rapid.Int64Range(1, most).Draw(t, name)}
	}
	c := AgentLoop{
		Tasks: rapid.Int64Range(1, 60).Draw(t, "tasks"),
		Loop:  Loop{Arrivals: arrivals.Spec{Process: "poisson", Rate: 2}, Turns: few("turns", 8)}, Result: few("results", 50),
		Tool: Span{Distribution: "exponential", MeanS: rapid.SampledFrom([]float64{0, 1}).Draw(t, "tool")},
	}
	c.Mix = requests.Mix{Prompt: few("prompts", 60), Output: few("outputs", 90)}
	if rapid.Bool().Draw(t, "sub-agents") {
		c.SubAgents = &SubAgents{Probability: rapid.SampledFrom([]float64{0.2, 1}).Draw(t, "probability"),
			Agents: few("agents", 4), Turns: few("sub-turns", 4), Prompt: few("sub-prompts", 40),
			Fork: rapid.Bool().Draw(t, "fork")}
	}
	if rapid.Bool().Draw(t, "prefix") {
		c.Mix.Sharing = requests.Sharing{Groups: 2, PrefixTokens: 70}
	}
	if rapid.Bool().Draw(t, "reasoning") {
		c.Mix.Reasoning = requests.Reasoning{Tokens: few("reasoning", 40), InContext: rapid.Bool().Draw(t, "in context")}
	}
	if rapid.Bool().Draw(t, "limit") {
		c.Mix.MaxOutput = lengths.Fixed(50)
	}
	if rapid.IntRange(0, 2).Draw(t, "context") == 0 {
		c.ContextMax = rapid.SampledFrom([]int64{150, 400}).Draw(t, "tokens")
	}
	if rapid.Bool().Draw(t, "closed") {
		c.Arrivals, c.Concurrency = arrivals.Spec{}, 3
		c.PauseS, c.RampS = 1, 2
	}
	return c
}

// naiveTask is a task as somebody would go through its plan by hand.
type naiveTask struct {
	plans  *plans
	plan   plan
	answer func(*sim.Request) sim.Duration // negative: the turn fails
	sent   []sim.Request
	failed bool
}

// agent goes through the turns of one agent from an instant on, and returns when it ended and what it has spent.
func (n *naiveTask) agent(of int, at sim.Time, history int32, spent Spent) (sim.Time, Spent) {
	from := int32(0)
	if of > 0 {
		from = n.plan.ends[of-1]
	}
	for i := from; i < n.plan.ends[of]; i++ {
		v := n.plan.turns[i]
		r := sim.Request{Arrival: at, Prompt: history + v.prompt, Output: v.output, Reasoning: v.hidden}
		n.sent = append(n.sent, r)
		took := n.answer(&r)
		if took < 0 {
			n.failed = true
			return at.Add(-took), spent
		}
		at = at.Add(took)
		spent.Waiting, spent.Prompts = spent.Waiting+took/4, spent.Prompts+took/4
		spent.Generation += took - 2*(took/4)
		history += v.prompt + v.output
		if !n.plans.recalls {
			history -= v.hidden
		}
		switch {
		case i+1 == n.plan.ends[of]:
			return at, spent
		case v.starts > 0:
			begun, before, end := at, spent, sim.Time(-1)
			for k := range v.starts {
				begin := int32(0)
				if n.plans.fork {
					begin = history
				} else if n.plan.group != 0 {
					begin = n.plans.prefix
				}
				ended, s := n.agent(int(v.first+k), begun, begin, before)
				if ended > end {
					end, spent = ended, s
				}
			}
			at = end
			if n.failed {
				return at, spent
			}
		default:
			at = at.Add(v.tool)
			spent.Tools += v.tool
		}
	}
	panic("an agent without an end")
}

// work serves a source of agents, each turn for the time that answer gives, and returns what was sent and the tasks.
func work(t require.TestingT, s *Agents, answer func(*sim.Request) sim.Duration,
	reorder func([]answered)) (all []answered, tasks []Task) {
	s.Report = func(t *Task) { tasks = append(tasks, *t) }
	var under []answered
	for {
		end := sim.Forever
		for _, p := range under {
			end = min(end, p.end)
		}
		when := s.When()
		if when == sim.Forever && end == sim.Forever {
			return all, tasks
		}
		if when <= end {
			a := answered{}
			require.True(t, s.Next(&a.Request))
			require.EqualValues(t, len(all), a.ID)
			require.True(t, len(all) == 0 || a.Arrival >= all[len(all)-1].Arrival, "requests come in order")
			a.session = uint64(a.Session - 1)
			if took := answer(&a.Request); took < 0 {
				a.end = a.Arrival.Add(-took)
			} else {
				a.end, a.Emitted = a.Arrival.Add(took), a.Output
				a.Admitted, a.First, a.Last = a.Arrival.Add(took/4), a.Arrival.Add(2*(took/4)), a.end
			}
			all, under = append(all, a), append(under, a)
			continue
		}
		var ended []answered
		under = slices.DeleteFunc(under, func(p answered) bool {
			if p.end == end {
				ended = append(ended, p)
			}
			return p.end == end
		})
		if reorder != nil {
			reorder(ended)
		}
		for i := range ended {
			s.Done(end, &ended[i].Request)
		}
	}
}

// TestAgentsWorkAsTheirPlansSay: turns are sent when a walk through the plan of their task by hand sends them, with the
// same lengths; tasks end then, and the parts of their time sum to it. In which order turns that end together are
// reported makes no difference.
func TestAgentsWorkAsTheirPlansSay(t *testing.T) {
	failed, full, forked := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		c, seed := drawAgents(t), rapid.Uint64().Draw(t, "seed")
		fails := rapid.SampledFrom([]int32{0, 0, 17}).Draw(t, "every how many tokens one fails")
		answer := func(r *sim.Request) sim.Duration {
			took := linear(r)
			if fails > 0 && (r.Prompt+r.Output)%fails == 0 {
				return -took
			}
			return took
		}
		s, err := NewAgentLoop(c, seed)
		require.NoError(t, err)
		all, tasks := work(t, s, answer, nil)
		require.NoError(t, s.Err())
		require.Len(t, tasks, int(c.Tasks))
		slices.SortFunc(tasks, func(a, b Task) int { return cmp.Compare(a.Number, b.Number) })
		for i := range tasks {
			task := &tasks[i]
			n := naiveTask{plans: s.plans, answer: answer}
			s.plans.plan(uint64(i), &n.plan)
			begin := int32(0)
			if n.plan.group != 0 {
				begin = s.plans.prefix
			}
			ended, spent := n.agent(0, task.Begun, begin, Spent{})
			require.Equal(t, ended, task.Ended, "end of task %d", i)
			require.Equal(t, n.failed, task.Outcome == TaskFailed)
			if !n.failed {
				require.Equal(t, spent, task.Spent)
				require.Equal(t, task.Ended.Sub(task.Begun), spent.Waiting+spent.Prompts+spent.Generation+spent.Tools)
				require.Equal(t, n.plan.cut, task.Outcome == TaskFull)
			}
			sent := of(all, uint64(i))
			require.Len(t, sent, len(n.sent))
			prompts, outputs := int64(0), int64(0)
			for k := range sent {
				prompts, outputs = prompts+int64(sent[k].Prompt), outputs+int64(sent[k].Emitted)
			}
			require.Equal(t, []int64{int64(len(sent)), prompts, outputs},
				[]int64{int64(task.Requests), task.PromptTokens, task.OutputTokens}, "sums of task %d", i)
			slices.SortFunc(n.sent, byTime)
			slices.SortFunc(sent, byTime)
			for k := range sent {
				require.Equal(t, key(&n.sent[k]), key(&sent[k]))
				require.LessOrEqual(t, s.Contents().Tokens(sent[k].Content), sent[k].Prompt)
			}
			failed, full, forked = failed+one(n.failed), full+one(n.plan.cut), forked+one(len(n.plan.ends) > 1)
		}
		again, err := NewAgentLoop(c, seed)
		require.NoError(t, err)
		_, reordered := work(t, again, answer, slices.Reverse[[]answered])
		slices.SortFunc(reordered, func(a, b Task) int { return cmp.Compare(a.Number, b.Number) })
		if fails == 0 {
			require.Equal(t, tasks, reordered)
		}
	})
	require.Positive(t, min(failed, full, forked), "tasks that fail, run out of context, and start others")
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// of returns the turns of a task.
func of(all []answered, task uint64) (sent []sim.Request) {
	for _, a := range all {
		if a.session == task {
			sent = append(sent, a.Request)
		}
	}
	return sent
}

func key(r *sim.Request) [4]int64 {
	return [4]int64{int64(r.Arrival), int64(r.Prompt), int64(r.Output), int64(r.Reasoning)}
}

func byTime(a, b sim.Request) int {
	x, y := key(&a), key(&b)
	return slices.Compare(x[:], y[:])
}

// TestAgentsPromptsBeginWithTheirContext: each turn of an agent begins with the contents of the one before, and that of
// a fork with what its agent has read and written; a fresh one begins with the prefix.
func TestAgentsPromptsBeginWithTheirContext(t *testing.T) {
	for _, fork := range []bool{false, true} {
		c := AgentLoop{
			Loop: Loop{Arrivals: arrivals.Spec{Process: "constant", Rate: 1}, Turns: lengths.Fixed(2),
				Mix: requests.Mix{Prompt: lengths.Fixed(100), Output: lengths.Fixed(30),
					Sharing: requests.Sharing{Groups: 1, PrefixTokens: 1000}}},
			Tasks: 1, Result: lengths.Fixed(10),
			SubAgents: &SubAgents{Probability: 1, Agents: lengths.Fixed(2), Turns: lengths.Fixed(1), Prompt: lengths.Fixed(7),
				Fork: fork},
		}
		s, err := NewAgentLoop(c, 1)
		require.NoError(t, err)
		all, _ := work(t, s, linear, nil)
		tree := s.Contents()
		require.Len(t, all, 4)
		first, sub, last := all[0], all[1], all[3]
		require.EqualValues(t, 1100, first.Prompt)
		require.EqualValues(t, 1130, tree.Tokens(first.OutputContent))
		require.EqualValues(t, 1130+2*30, last.Prompt, "the last answers of both")
		require.Equal(t, first.OutputContent, last.Content)
		if fork {
			require.EqualValues(t, 1137, sub.Prompt)
			require.Equal(t, first.OutputContent, sub.Content)
		} else {
			require.EqualValues(t, 1007, sub.Prompt)
			require.EqualValues(t, 1000, tree.Tokens(sub.Content))
		}
	}
}

// TestReasoningIsLeftOutOfLaterPrompts: the next prompt has the visible tokens alone, which the cache cannot have,
// unless reasoning stays in the context.
func TestReasoningIsLeftOutOfLaterPrompts(t *testing.T) {
	for _, inContext := range []bool{false, true} {
		c := talk(2)
		c.Turns = lengths.Fixed(2)
		c.Mix.Prompt, c.Mix.Output = lengths.Fixed(100), lengths.Fixed(30)
		c.Mix.Reasoning = requests.Reasoning{Tokens: lengths.Fixed(500), InContext: inContext}
		s, err := NewSessionLoop(c, 1)
		require.NoError(t, err)
		all := sessionsOf(converse(t, s, linear, nil))
		require.Len(t, all, 2)
		require.EqualValues(t, 530, all[0].Output)
		require.EqualValues(t, 500, all[0].Reasoning)
		if inContext {
			require.EqualValues(t, 730, all[1].Prompt)
			require.NotZero(t, all[0].OutputContent)
		} else {
			require.EqualValues(t, 230, all[1].Prompt)
			require.Zero(t, all[0].OutputContent)
			require.Equal(t, all[0].Content, s.Contents().Parent(all[1].Content))
		}
	}
}

// TestAgentsKeepTheirLimits: tasks end where tasks, requests and time say.
func TestAgentsKeepTheirLimits(t *testing.T) {
	c := AgentLoop{
		Loop: Loop{Concurrency: 2, Turns: lengths.Fixed(5),
			Mix: requests.Mix{Prompt: lengths.Fixed(100), Output: lengths.Fixed(30)}},
		Result: lengths.Fixed(10), Tool: Span{Distribution: "fixed", MeanS: 1},
	}
	sent := func(change func(*AgentLoop)) (n, tasks int) {
		d := c
		change(&d)
		s, err := NewAgentLoop(d, 1)
		require.NoError(t, err)
		all, done := work(t, s, linear, nil)
		require.NoError(t, s.Err())
		return len(all), len(done)
	}
	n, tasks := sent(func(c *AgentLoop) { c.Tasks = 7 })
	require.Equal(t, []int{35, 7}, []int{n, tasks})
	n, tasks = sent(func(c *AgentLoop) { c.Requests = 12 })
	require.Equal(t, []int{15, 3}, []int{n, tasks}, "the last task is whole")
	n, tasks = sent(func(c *AgentLoop) { c.DurationS = 1.8 })
	require.Equal(t, []int{4, 2}, []int{n, tasks}, "a turn takes 0.4 s and more, and a second for the tool")
	n, tasks = sent(func(c *AgentLoop) { c.Tasks, c.Requests = 7, 12 })
	require.Equal(t, []int{15, 3}, []int{n, tasks}, "the first limit that is reached counts")
	n, tasks = sent(func(c *AgentLoop) { c.Tasks, c.Requests = 2, 1000 })
	require.Equal(t, []int{10, 2}, []int{n, tasks})
}

// TestATaskIsUnfinishedWhereTheWorkloadEndsIt, and not one that ends before.
func TestATaskIsUnfinishedWhereTheWorkloadEndsIt(t *testing.T) {
	for durationS, want := range map[float64]TaskOutcome{3: TaskUnfinished, 9: TaskCompleted} {
		c := AgentLoop{Tasks: 1, Result: lengths.Fixed(10), Tool: Span{Distribution: "fixed", MeanS: 1},
			Loop: Loop{Concurrency: 1, DurationS: durationS, Turns: lengths.Fixed(4),
				Mix: requests.Mix{Prompt: lengths.Fixed(100), Output: lengths.Fixed(30)}}}
		s, err := NewAgentLoop(c, 1)
		require.NoError(t, err)
		_, tasks := work(t, s, func(*sim.Request) sim.Duration { return sim.Second }, nil)
		require.Len(t, tasks, 1)
		require.Equal(t, want, tasks[0].Outcome, "%v s", durationS)
	}
}

// TestNoTaskIsMissedBehindTheLast: a client whose pause ends beyond the clock is an error only where it has another
// task to begin.
func TestNoTaskIsMissedBehindTheLast(t *testing.T) {
	for n := range int64(2) {
		c := AgentLoop{Tasks: n + 1, Result: lengths.Fixed(10), Loop: Loop{Concurrency: 1, PauseS: sim.HorizonS / 100,
			Turns: lengths.Fixed(1), Mix: requests.Mix{Prompt: lengths.Fixed(100), Output: lengths.Fixed(30)}}}
		s, err := NewAgentLoop(c, 1)
		require.NoError(t, err)
		_, tasks := work(t, s, func(*sim.Request) sim.Duration { return sim.Seconds(.995 * sim.HorizonS) }, nil)
		require.Len(t, tasks, 1)
		if n == 0 {
			require.NoError(t, s.Err())
		} else {
			require.ErrorContains(t, s.Err(), "a task would begin after")
		}
	}
}

// TestAgentsRefuse: what agents cannot have is an error that names the key.
func TestAgentsRefuse(t *testing.T) {
	for want, change := range map[string]func(c *AgentLoop){
		"agents.turns.mean is 0; accepted":                           func(c *AgentLoop) { c.Turns.Mean = 0 },
		"agents.turns.mean is 100000; accepted: at most 65536 turns": func(c *AgentLoop) { c.Turns.Mean = 1e5 },
		`agents.tool_tokens.distribution is ""; accepted`:            func(c *AgentLoop) { c.Result = lengths.Spec{} },
		"agents.tool_time_s.mean is -1; accepted": func(c *AgentLoop) {
			c.Tool.MeanS = -1
		},
		"distinct_prompts is 3; accepted: null, for a workload of agents": func(c *AgentLoop) {
			c.Mix.Sharing.DistinctPrompts = 3
		},
		"agents.subagents.probability is 2; accepted": func(c *AgentLoop) {
			c.SubAgents = &SubAgents{Probability: 2}
		},
		"agents.subagents.agents.mean is 5000; accepted: at most 1024 sub-agents": func(c *AgentLoop) {
			c.SubAgents = &SubAgents{Probability: 1, Agents: lengths.Fixed(5000)}
		},
		"at most 1048576 turns of a task in the mean, where each turn has 1e+06 of sub-agents": func(c *AgentLoop) {
			c.SubAgents = &SubAgents{Probability: 1, Agents: lengths.Fixed(1000), Turns: lengths.Fixed(1000),
				Prompt: lengths.Fixed(1)}
		},
		"requests is 0; accepted": func(c *AgentLoop) { c.Tasks = 0 },
	} {
		c := AgentLoop{Loop: Loop{Concurrency: 1, Turns: lengths.Fixed(2),
			Mix: requests.Mix{Prompt: lengths.Fixed(1), Output: lengths.Fixed(1)}}, Tasks: 1, Result: lengths.Fixed(1),
			Tool: Span{Distribution: "fixed", MeanS: 1}}
		change(&c)
		_, err := NewAgentLoop(c, 1)
		require.Error(t, err, want)
		require.True(t, strings.Contains(err.Error(), want), fmt.Sprintf("%q lacks %q", err, want))
	}
}
