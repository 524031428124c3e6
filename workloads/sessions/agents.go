package sessions

import (
	"cmp"
	"fmt"
	"math"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/heap"
	"github.com/decodesim/decodesim/workloads/arrivals"
	"github.com/decodesim/decodesim/workloads/check"
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
// Tasks begin at Arrivals or, with Concurrency, each of so many clients gives one task after the other. No task begins
// once Requests turns or Tasks tasks are planned; the last one is whole.
type AgentLoop struct {
	Arrivals    arrivals.Spec // of tasks; none with Concurrency
	Concurrency int64         // clients; 0: tasks arrive
	PauseS      float64       // seconds between two tasks of a client
	RampS       float64       // seconds over which the clients start, evenly spread
	Turns       lengths.Spec  // of the agent that has the task, at most 65536
	Tool        Span          // from the end of an answer to the next turn
	Result      lengths.Spec  // tokens that a tool's result adds to the context
	SubAgents   *SubAgents    // nil: none
	Mix         requests.Mix
	ContextMax  int64   // tokens of prompt and limit that the model takes; 0: no limit below 2³⁰
	Tasks       int64   // 0: no limit
	Requests    int64   // 0: no limit
	DurationS   float64 // sent before it; 0: no limit
	Patience    requests.Patience
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
//
// What a task takes is drawn by task and turn: the same on every deployment. Only when turns are sent, and thereby in
// which order, depends on the answers. Equal instants are ordered by task, then by agent.
type Agents struct {
	// Report hears of every task that has ended, as it ends; nil: nobody does.
	Report func(t *Task)

	plans     *plans
	deadlines requests.KeyedDeadlines
	starts    starts
	contents  *sim.Contents
	due       heap.Heap[sim.Time, place] // turns, by instant, number of the task and agent
	live      []task                     // by slot
	free      []int32                    // slots
	slots     slotWindow
	agents    slotWindow
	left      int64 // turns that may yet be planned
	tasks     int64 // that may yet begin
	begun     uint64
	sent      int32
	end       end
	fault     error

	rate     float64
	requests float64
	expected expectation
	early    Ended
}

// place is an agent of a task under way.
type place struct{ slot, agent int32 }

var (
	_ sim.Source   = (*Agents)(nil)
	_ sim.Follower = (*Agents)(nil)
)

// NewAgentLoop returns the source that c describes in the run with the given seed.
func NewAgentLoop(c AgentLoop, seed uint64) (*Agents, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	s := &Agents{left: c.Requests, tasks: c.Tasks, end: newEnd(c.DurationS), contents: new(sim.Contents)}
	if s.left == 0 {
		s.left = check.RequestsMax
	}
	if s.tasks == 0 {
		s.tasks = check.RequestsMax
	}
	var err error
	s.plans, err = newPlans(&c, seed)
	if err != nil {
		return nil, err
	}
	if tree := s.plans.sampler.Contents(); tree != nil {
		s.contents = tree
	}
	s.deadlines, err = requests.NewKeyedDeadlines(c.Patience, seed)
	if err != nil {
		return nil, err
	}
	s.expected = s.plans.expect()
	return s, s.schedule(&c, seed)
}

// check refuses what agents do not have and numbers out of range.
func (c *AgentLoop) check() error {
	const owner = "a workload of agents"
	err := cmp.Or(
		check.Absent("lengths", owner, c.Mix.Pairs != nil, "recorded"),
		check.Absent("distinct_prompts", owner, c.Mix.Sharing.DistinctPrompts != 0, c.Mix.Sharing.DistinctPrompts),
	)
	if err != nil {
		return err
	}
	if c.Tasks == 0 {
		err = check.Extent(c.Requests, c.DurationS)
	} else {
		err = cmp.Or(check.Count("agents.tasks", c.Tasks, check.RequestsMax),
			check.Within("duration_s", c.DurationS, 0, sim.HorizonS))
	}
	if err != nil || c.Concurrency == 0 {
		return err
	}
	return cmp.Or(
		check.Count("closed_loop.concurrency", c.Concurrency, concurrencyMax),
		check.Within("closed_loop.think_time_s", c.PauseS, 0, spanMax),
		check.Within("closed_loop.ramp_s", c.RampS, 0, sim.HorizonS),
	)
}

// schedule prepares when tasks begin.
func (s *Agents) schedule(c *AgentLoop, seed uint64) error {
	turns := s.expected.turns
	s.requests = float64(c.Requests)
	if n := float64(c.Tasks) * turns; n > 0 && (s.requests == 0 || n < s.requests) {
		s.requests = n
	}
	if c.Concurrency > 0 {
		clients := newClients(taskWords, c.Concurrency, c.RampS, s.end)
		clients.pause = sim.Seconds(c.PauseS)
		s.starts = clients
		return nil
	}
	process, err := arrivals.New(c.Arrivals, seed)
	if err != nil {
		return err
	}
	tasks, err := process.Expect(int64(math.Ceil(s.requests/turns)), c.DurationS)
	if err != nil {
		return err
	}
	s.rate = process.MeanRate(tasks) * turns
	if n := tasks * turns; s.requests == 0 || n < s.requests {
		s.requests = n
	}
	s.starts = newArriving(process, c.DurationS)
	return nil
}

// When returns the instant of the earliest turn that is due.
func (s *Agents) When() sim.Time {
	if s.fault != nil {
		return sim.Forever
	}
	return min(s.beginning(), s.turnDue())
}

// turnDue returns when the next turn of a task under way is due.
func (s *Agents) turnDue() sim.Time {
	if len(s.due) == 0 {
		return sim.Forever
	}
	return s.due[0].Key
}

// beginning returns when the next task begins.
func (s *Agents) beginning() sim.Time {
	if s.left <= 0 || s.tasks == 0 {
		return sim.Forever
	}
	return s.starts.when()
}

// Next fills the turn that is due first: of a task under way rather than of a new one.
func (s *Agents) Next(r *sim.Request) bool {
	at := s.When()
	if at == sim.Forever {
		return false
	}
	var turn place
	if s.turnDue() > at {
		turn = place{s.begin(at), 0}
	} else {
		turn = s.due.Pop().Value
	}
	s.ask(r, at, turn)
	return true
}

// begin makes room for a task and plans it.
func (s *Agents) begin(at sim.Time) (slot int32) {
	if n := len(s.free); n > 0 {
		slot, s.free = s.free[n-1], s.free[:n-1]
	} else {
		slot = int32(len(s.live))
		s.live = append(s.live, task{})
	}
	t := &s.live[slot]
	s.plans.plan(s.begun, &t.plan)
	t.begin(s.begun, at)
	t.agents[0].node = t.group
	if t.group != 0 {
		t.agents[0].history = s.plans.prefix
	}
	s.begun++
	s.left -= int64(len(t.turns))
	s.tasks--
	s.starts.take()
	return slot
}

// ask fills the next turn of an agent. Its prompt and its answer are contents if a later prompt begins with them: the
// agent's own next one, or that of a sub-agent that it forks.
func (s *Agents) ask(r *sim.Request, at sim.Time, of place) {
	t := &s.live[of.slot]
	a := &t.agents[of.agent]
	v := &t.turns[a.next]
	r.ID, r.Arrival = s.sent, at
	r.Class, r.Priority = t.class, t.priority
	r.Session = int32(t.number) + 1 // fewer than 2³¹ tasks, for each has a turn
	r.Prompt, r.Content = a.history+v.prompt, a.node
	r.Output, r.MaxOutput, r.Reasoning = v.output, v.limit, v.hidden
	if a.next+1 < a.to {
		a.node, a.history = follow(s.contents, r, v.prompt, v.remains(s.plans.recalls))
	}
	s.deadlines.Mark(r, t.number, uint64(a.next))
	t.Requests++
	t.PromptTokens += int64(r.Prompt)
	a.next++
	s.sent++
	s.slots.add(of.slot)
	s.agents.add(of.agent)
}

// Done lets the agent of r run its tool and go on, start sub-agents, or end. Turns that end at one instant may be
// reported in any order.
func (s *Agents) Done(at sim.Time, r *sim.Request) {
	of := place{s.slots.take(r.ID), s.agents.take(r.ID)}
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
			s.goOn(at, place{of.slot, v.first + i})
		}
	default:
		a.spent.Tools += v.tool
		s.goOn(at.Add(v.tool), of)
	}
}

// goOn sets the next turn of an agent, unless the workload has ended by then.
func (s *Agents) goOn(at sim.Time, of place) {
	t := &s.live[of.slot]
	switch {
	case at < s.end.at:
		s.due.Push(at, int64(t.number)<<agentBits|int64(of.agent), of)
	case s.end.timed:
		t.Outcome = max(t.Outcome, TaskUnfinished)
		s.ended(at, of)
	case s.fault == nil:
		s.fault = fmt.Errorf("workloads: agents: a turn would be sent after %g s; accepted: a run within %g s",
			at.Seconds(), sim.HorizonS)
	}
}

// ended ends an agent: the task, or a sub-agent. With the last sub-agent the one that started them goes on, having
// spent its time as the last one to end did; where several end together, as the first of these did.
func (s *Agents) ended(at sim.Time, of place) {
	t := &s.live[of.slot]
	if of.agent == 0 {
		s.leave(at, of.slot)
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
		s.leave(t.joined, of.slot)
		return
	}
	s.goOn(t.joined, place{of.slot, 0})
}

// leave ends a task.
func (s *Agents) leave(at sim.Time, slot int32) {
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
	s.free = append(s.free, slot)
	if !s.starts.ended(t.Begun, at) && s.left > 0 && s.tasks > 0 {
		s.fault = s.starts.err()
	}
}

// Contents returns the tree that the requests' contents are in.
func (s *Agents) Contents() *sim.Contents { return s.contents }

// Rate returns the mean offered rate in turns/s; 0: it is a result, for clients give a task when one has ended.
func (s *Agents) Rate() float64 { return s.rate }

// Requests returns how many turns to expect; 0: unknown.
func (s *Agents) Requests() float64 { return s.requests }

// Means returns the mean prompt, history included, and output in tokens, over the tasks that come first.
func (s *Agents) Means() (prompt, output float64) { return s.expected.prompt, s.expected.output }

// Turns returns the mean turns of a task, those of sub-agents included, over the tasks that come first.
func (s *Agents) Turns() float64 { return s.expected.turns }

// PauseS returns the mean time beside answers that goes with a turn: tools, and the pause between a client's tasks.
func (s *Agents) PauseS() float64 {
	pause := 0.0
	if c, ok := s.starts.(*clients); ok {
		pause = c.pause.Seconds()
	}
	return (s.expected.tools + pause) / s.expected.turns
}

// Truncated returns how many draws so far were truncated.
func (s *Agents) Truncated() requests.Truncated { return s.plans.sampler.TruncatedDraws() }

// Begun returns how many tasks have begun.
func (s *Agents) Begun() int64 { return int64(s.begun) }

// Early returns the tasks so far that ended without a result.
func (s *Agents) Early() Ended { return s.early }

// Err says why the source ended before its limits, or nil.
func (s *Agents) Err() error {
	if s.fault == nil && s.left > 0 && s.tasks > 0 {
		return s.starts.err()
	}
	return s.fault
}
