package configs

import (
	"github.com/decodesim/decodesim/workloads/lengths"
	"github.com/decodesim/decodesim/workloads/sessions"
)

// Sessions makes the workload one of conversations: arrivals are those of sessions, the clients of a closed loop lead
// one after the other, and a prompt is all that was said before and what prompt_tokens says.
type Sessions struct {
	Turns      *lengths.Spec  `yaml:"turns" unit:"turns" about:"law of the number of turns"`
	ThinkTimeS *sessions.Span `yaml:"think_time_s" about:"law of the time between an answer and the next turn; null: none"`
}

// loop returns what sessions and agents have in common; a prompt and its limit have context tokens at most.
func (w *Workload) loop(turns *lengths.Spec, context int64) sessions.Loop {
	l := sessions.Loop{
		Mix: w.laws(nil), ContextMax: context, Requests: w.Requests, DurationS: w.DurationS, Patience: w.patience(),
	}
	give(&l.Turns, turns)
	give(&l.Arrivals, w.Arrivals)
	if c := w.ClosedLoop; c != nil {
		l.Concurrency, l.PauseS, l.RampS = int64(c.Concurrency), c.ThinkTimeS, c.RampS
	}
	return l
}

// SessionSource returns the loop of a workload that has sessions; a prompt and its limit have context tokens at most.
func (w *Workload) SessionSource(context int64) sessions.SessionLoop {
	l := sessions.SessionLoop{Loop: w.loop(w.Sessions.Turns, context)}
	give(&l.Think, w.Sessions.ThinkTimeS)
	return l
}

// Agents makes the workload one of tasks: arrivals are those of tasks, the clients of a closed loop give one after the
// other, and prompt_tokens says how long a task is as it is given. output_tokens is what an agent generates in a turn.
type Agents struct {
	Turns      *lengths.Spec  `yaml:"turns" unit:"turns" about:"law of how often the agent that has the task generates; between two turns it runs a tool"`
	ToolTimeS  *sessions.Span `yaml:"tool_time_s" about:"law of the time between an answer and the next turn; null: none"`
	ToolTokens *lengths.Spec  `yaml:"tool_tokens" about:"law of the tokens that the result of a tool adds to the context"`
	SubAgents  *SubAgents     `yaml:"subagents" about:"agents that work at the same time for the one that has the task; null: none"`
	Tasks      int64          `yaml:"tasks,omitempty" bound:"[1,2147483647]" unit:"tasks" doc:"begun in all; null: as workload.requests or duration_s say"`
}

// SubAgents are agents that a turn starts in place of a tool. The one that starts them goes on when the last of them
// has ended, with the last answers of all. They start none themselves.
type SubAgents struct {
	Probability  float64       `yaml:"probability" required:"a number above 0 and at most 1" bound:"(0,1]" doc:"of a turn, unless it is the last, that it starts some"`
	Agents       *lengths.Spec `yaml:"agents" unit:"agents" about:"law of how many it starts"`
	Turns        *lengths.Spec `yaml:"turns" unit:"turns" about:"law of the turns of each"`
	PromptTokens *lengths.Spec `yaml:"prompt_tokens" about:"law of what each is asked"`
	Context      string        `yaml:"context" oneof:"subagent-contexts" doc:"what each begins with: fresh, the prefix alone; fork, all that its agent has read and written"`
}

const (
	contextFresh = "fresh"
	contextFork  = "fork"
)

// Reasoning is tokens at the beginning of an output that its user does not see.
type Reasoning struct {
	Tokens    *lengths.Spec `yaml:"tokens" about:"law of how many come before the output that output_tokens says; null: share"`
	Share     float64       `yaml:"share,omitempty" bound:"(0,1]" doc:"of each output, recorded ones included, that is hidden; null: tokens"`
	InContext bool          `yaml:"in_context" doc:"they are part of the prompts of later turns; false: prompts leave them out"`
}

// Reasons reports whether outputs begin with tokens that users do not see.
func (w *Workload) Reasons() bool {
	for i := range w.Classes {
		if w.Classes[i].ReasoningTokens != nil {
			return true
		}
	}
	return w.Reasoning != nil
}

// Tasks reports whether requests are turns of tasks, whose time is measured.
func (w *Workload) Tasks() bool { return w.Agents != nil || w.Trace != nil && w.Trace.Follow }

// Waits reports whether requests follow answers: turns of sessions, or of agents.
func (w *Workload) Waits() bool { return w.Sessions != nil || w.Agents != nil }

// AgentSource returns the loop of a workload that has agents; a prompt and its limit have context tokens at most.
func (w *Workload) AgentSource(context int64) sessions.AgentLoop {
	a := w.Agents
	l := sessions.AgentLoop{Loop: w.loop(a.Turns, context), Tasks: a.Tasks}
	give(&l.Tool, a.ToolTimeS)
	give(&l.Result, a.ToolTokens)
	if s := a.SubAgents; s != nil {
		l.SubAgents = &sessions.SubAgents{Probability: s.Probability, Fork: s.Context == contextFork}
		give(&l.SubAgents.Agents, s.Agents)
		give(&l.SubAgents.Turns, s.Turns)
		give(&l.SubAgents.Prompt, s.PromptTokens)
	}
	return l
}

// give copies a section that may be absent.
func give[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// checkSessions requires the turns, and refuses what has no sessions.
func (w *Workload) checkSessions(c *checker) {
	const path = "workload.sessions"
	s := w.Sessions
	switch {
	case s == nil:
		return
	case w.Trace != nil:
		c.fail(path, "stands beside trace, whose requests are recorded; expected only one of them")
	case w.Lengths != nil:
		c.fail(path, "stands beside lengths, which are of single requests; expected only one of them")
	case w.Distinct != 0:
		c.fail(path, "stands beside distinct_prompts, which are sent again and again; expected only one of them")
	case s.Turns == nil:
		c.fail(path+".turns", "missing; expected a law, such as {distribution: fixed, mean: 5}")
	}
	c.law(path+".turns", s.Turns)
	if s.ThinkTimeS == nil {
		return
	}
	c.named(path+".think_time_s.distribution", s.ThinkTimeS.Distribution, sessions.SpanNames())
}

// checkAgents requires the laws of agents, and refuses what has none.
func (w *Workload) checkAgents(c *checker) {
	const path = "workload.agents"
	a := w.Agents
	switch {
	case a == nil:
		return
	case w.Trace != nil:
		c.fail(path, "stands beside trace, whose requests are recorded; expected only one of them")
	case w.Sessions != nil:
		c.fail(path, "stands beside sessions; expected only one of them")
	case w.Lengths != nil:
		c.fail(path, "stands beside lengths, which are of single requests; expected only one of them")
	case w.Distinct != 0:
		c.fail(path, "stands beside distinct_prompts, which are sent again and again; expected only one of them")
	case a.Turns == nil:
		c.fail(path+".turns", "missing; expected a law, such as {distribution: fixed, mean: 20}")
	case a.ToolTokens == nil:
		c.fail(path+".tool_tokens", "missing; expected a law, such as {distribution: lognormal, mean: 500, cv: 1}")
	}
	c.law(path+".turns", a.Turns)
	c.law(path+".tool_tokens", a.ToolTokens)
	if a.ToolTimeS != nil {
		c.named(path+".tool_time_s.distribution", a.ToolTimeS.Distribution, sessions.SpanNames())
	}
	if s := a.SubAgents; s != nil {
		s.check(c, path+".subagents.")
	}
}

// check requires the laws of sub-agents.
func (s *SubAgents) check(c *checker, path string) {
	for _, of := range []struct {
		key, example string
		law          *lengths.Spec
	}{
		{"agents", "{distribution: fixed, mean: 3}", s.Agents}, {"turns", "{distribution: fixed, mean: 5}", s.Turns},
		{"prompt_tokens", "{distribution: fixed, mean: 300}", s.PromptTokens},
	} {
		if of.law == nil {
			c.fail(path+of.key, "missing; expected a law, such as %s", of.example)
		}
		c.law(path+of.key, of.law)
	}
}

// checkReasoning requires one way to say how much of an output is hidden.
func (w *Workload) checkReasoning(c *checker) {
	const path = "workload.reasoning"
	r := w.Reasoning
	switch {
	case r == nil:
		return
	case r.Tokens == nil && r.Share == 0:
		c.fail(path, "says not how much; expected tokens, a law, or share, such as 0.8")
	case r.Tokens != nil && r.Share != 0:
		c.fail(path+".share", "%g stands beside tokens; expected only one of them", r.Share)
	case r.Tokens != nil && w.Trace != nil:
		c.fail(path+".tokens", "stands beside trace, whose outputs are recorded whole; expected share")
	case r.Tokens != nil && w.Lengths != nil:
		c.fail(path+".tokens", "stands beside lengths, whose outputs are recorded whole; expected share")
	case r.InContext && !w.Waits():
		c.fail(path+".in_context", "true has no effect without sessions or agents; accepted: false")
	}
	c.law(path+".tokens", r.Tokens)
}
