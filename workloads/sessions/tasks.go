package sessions

import "github.com/decodesim/decodesim/sim"

// TaskOutcome says how a task ended.
type TaskOutcome uint8

// The outcomes, the later of which prevails.
const (
	TaskCompleted  TaskOutcome = iota
	TaskFull                   // its context outgrew what the model takes
	TaskUnfinished             // the workload ended first
	TaskFailed                 // one of its turns was rejected, was cancelled or failed
)

// String returns the name of the outcome.
func (o TaskOutcome) String() string {
	return [...]string{TaskCompleted: "completed", TaskFull: "full", TaskUnfinished: "unfinished", TaskFailed: "failed"}[o]
}

// Task is a task that has ended.
type Task struct {
	Number       int64 // in the order in which tasks began, from 0
	Class        uint8
	Outcome      TaskOutcome
	Begun, Ended sim.Time // when the first turn was sent, and when its client had the last token
	Agents       int32    // the main one and those that it started
	Requests     int32    // turns that were sent, of all agents
	PromptTokens int64    // of all turns, histories included
	OutputTokens int64    // emitted
	Spent        Spent
}

// Spent is what the time of a task was spent on. Of agents that work at the same time it is what the last one to end
// has spent. The parts sum to the time from Begun to Ended.
type Spent struct {
	Waiting    sim.Duration // network, tokenizers, and queues before the first step that worked on a turn
	Prompts    sim.Duration // from there to the first token
	Generation sim.Duration // from the first token of a turn to its last, thinking and preemptions included
	Tools      sim.Duration
}

// add adds the time of a turn, whose client has its last token at an instant.
func (s *Spent) add(at sim.Time, r *sim.Request) {
	s.Waiting += r.Admitted.Sub(r.Arrival) + at.Sub(r.Last)
	s.Prompts += r.First.Sub(r.Admitted)
	s.Generation += r.Last.Sub(r.First)
}

// agentBits is how many bits the number of an agent of a task takes.
const agentBits = 32

// task is a task under way.
type task struct {
	plan
	Task
	number   uint64
	agents   []agent
	children int32    // sub-agents that have not ended
	joined   sim.Time // when the latest sub-agent ended
	latest   int32    // which
}

// agent is one of a task's, of which the first has the task.
type agent struct {
	next, to int32 // turns of the plan
	history  int32 // tokens of the prompts and answers so far
	node     int32 // of the contents, where they end
	spent    Spent
}

// begin makes t a task whose plan is made and of which nothing was sent.
func (t *task) begin(number uint64, at sim.Time) {
	t.number = number
	t.Task = Task{Number: int64(number), Class: t.class, Begun: at, Agents: int32(len(t.ends))}
	t.agents, t.children = t.agents[:0], 0
	from := int32(0)
	for _, to := range t.ends {
		t.agents = append(t.agents, agent{next: from, to: to})
		from = to
	}
}

// fork starts the sub-agents of a turn, each with what its agent has spent so far.
func (t *task) fork(v *agentTurn, by *agent, p *plans) {
	t.children, t.joined, t.latest = v.starts, -1, 0
	for i := range v.starts {
		a := &t.agents[v.first+i]
		a.spent = by.spent
		switch {
		case p.fork:
			a.history, a.node = by.history, by.node
		case t.group != 0:
			a.history, a.node = p.prefix, t.group
		}
	}
}
