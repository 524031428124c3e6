package sessions

import (
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/lengths"
	"github.com/decodesim/decodesim/workloads/requests"
)

// AgentLoop is a load of tasks that agents work on: an agent generates, runs a tool, generates again with what the tool
// has returned, and ends its task with its last turn. Mix.Prompt is the task as it is given, behind a prefix of
// Mix.Sharing, such as the system prompt and the tools; Mix.Output is what a turn generates.
//
// In place of a tool a turn may start sub-agents that work at the same time. When the last of them has ended, the agent
// goes on with the last answers of all.
//
// No task begins once Requests turns or Tasks tasks are planned; the last one is whole.
type AgentLoop struct {
	Loop                   // Turns: of the agent that has the task
	Tool      Span         // from the end of an answer to the next turn
	Result    lengths.Spec // tokens that a tool's result adds to the context
	SubAgents *SubAgents   // nil: none
	Tasks     int64        // 0: no limit
}

// SubAgents says when an agent has others work for it. They have its system prompt and tools; they start none.
type SubAgents struct {
	Probability float64      // that a turn which is not the last starts some, in place of a tool
	Agents      lengths.Spec // at once, at most 1024
	Turns       lengths.Spec // of each, at most 65536
	Prompt      lengths.Spec // tokens that each is asked
	Fork        bool         // each begins with all that its agent has read and written; false: with the prefix
}

// Agents is the source of an AgentLoop.
type Agents struct {
	// Report hears of every task that has ended, as it ends; nil: nobody does.
	Report func(t *Task)

	courses[task]
	plans *plans
}

var (
	_ sim.Source   = (*Agents)(nil)
	_ sim.Follower = (*Agents)(nil)
)

// NewAgentLoop returns the source that c describes in the run with the given seed.
func NewAgentLoop(c AgentLoop, seed uint64) (*Agents, error) {
	if err := c.check(taskWords, c.Tasks); err != nil {
		return nil, err
	}
	p, err := newPlans(&c, seed)
	if err != nil {
		return nil, err
	}
	s := &Agents{plans: p}
	s.courses, err = newCourses[task](&c.Loop, taskWords, c.Tasks, p.sampler.Contents(), p.expect(), seed)
	return s, err
}

// Next fills the turn that is due first.
func (s *Agents) Next(r *sim.Request) bool { return fill(s, r) }

// begin makes room for a task and plans it.
func (s *Agents) begin(at sim.Time) (slot int32) {
	slot = s.room()
	t := &s.live[slot]
	s.plans.plan(s.begun, &t.plan)
	t.begin(s.begun, at)
	t.agents[0].node = t.group
	if t.group != 0 {
		t.agents[0].history = s.plans.prefix
	}
	s.begins(len(t.turns))
	return slot
}

// ask fills the next turn of an agent. Its prompt and its answer are contents if a later prompt begins with them: the
// agent's own next one, or that of a sub-agent that it forks.
func (s *Agents) ask(r *sim.Request, at sim.Time, of place) {
	t := &s.live[of.slot]
	a := &t.agents[of.agent]
	v := &t.turns[a.next]
	s.head(r, at, t.number, of)
	r.Class, r.Priority = t.class, t.priority
	r.Prompt, r.Content = a.history+v.prompt, a.node
	r.Output, r.MaxOutput, r.Reasoning = v.output, v.limit, v.hidden
	if a.next+1 < a.to {
		a.node, a.history = follow(s.contents, r, v.prompt, v.remains(s.plans.recalls))
	}
	s.deadlines.Mark(r, t.number, uint64(a.next))
	t.Requests++
	t.PromptTokens += int64(r.Prompt)
	a.next++
}

// Done lets the agent of r run its tool and go on, start sub-agents, or end. Turns that end at one instant may be
// reported in any order.
func (s *Agents) Done(at sim.Time, r *sim.Request) {
	of := s.places.take(r.ID)
	t := &s.live[of.slot]
	a := &t.agents[of.agent]
	t.OutputTokens += int64(r.Emitted)
	if r.Emitted < r.Output {
		t.Outcome = max(t.Outcome, TaskFailed)
		s.ended(at, of)
		return
	}
	a.spent.add(at, r)
	switch v := &t.turns[a.next-1]; {
	case a.next == a.to:
		s.ended(at, of)
	case v.starts > 0:
		t.fork(v, a, s.plans)
		for i := range v.starts {
			s.resume(at, place{of.slot, v.first + i})
		}
	default:
		a.spent.Tools += v.tool
		s.resume(at.Add(v.tool), of)
	}
}

// resume sets the next turn of an agent, or ends it with the workload.
func (s *Agents) resume(at sim.Time, of place) {
	t := &s.live[of.slot]
	if s.goOn(at, t.number, of) {
		t.Outcome = max(t.Outcome, TaskUnfinished)
		s.ended(at, of)
	}
}

// ended ends an agent: the task, or a sub-agent. With the last sub-agent the one that started them goes on, having
// spent its time as the last one to end did; where several end together, as the first of these did.
func (s *Agents) ended(at sim.Time, of place) {
	t := &s.live[of.slot]
	if of.agent == 0 {
		s.finish(at, of.slot)
		return
	}
	main := &t.agents[0]
	if at > t.joined || at == t.joined && of.agent < t.latest {
		t.joined, t.latest = at, of.agent
	}
	t.children--
	if t.children > 0 {
		return
	}
	main.spent = t.agents[t.latest].spent
	if t.Outcome > TaskCompleted {
		s.finish(t.joined, of.slot)
		return
	}
	s.resume(t.joined, place{of.slot, 0})
}

// finish ends a task.
func (s *Agents) finish(at sim.Time, slot int32) {
	t := &s.live[slot]
	if t.cut {
		t.Outcome = max(t.Outcome, TaskFull)
	}
	t.Ended, t.Spent = at, t.agents[0].spent
	switch t.Outcome {
	case TaskFull:
		s.early.Full++
	case TaskFailed:
		s.early.Lost++
	}
	if s.Report != nil {
		s.Report(&t.Task)
	}
	s.leave(t.Begun, at, slot)
}

// Truncated returns how many draws so far were truncated.
func (s *Agents) Truncated() requests.Truncated { return s.plans.sampler.TruncatedDraws() }
