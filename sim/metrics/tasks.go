package metrics

import (
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/clock"
)

// Task is a task of agents that has ended: turns of one or several agents, and tools between them.
type Task struct {
	Class        uint8
	Ending       Ending
	Begun, Ended sim.Time // when its first turn was sent, and when its client had the last token of the last one
	Agents       int32
	Requests     int32
	// What the time went to, which the parts sum to: network and queues, prompts, generation, tools. Of agents that work
	// at the same time it is that of the last one to end.
	Waiting, Prompts, Generation, Tools sim.Duration
}

// Ending says how a task ended.
type Ending uint8

// The endings.
const (
	TaskCompleted  Ending = iota
	TaskFull              // its context outgrew what the model takes
	TaskUnfinished        // the run ended first
	TaskFailed            // one of its turns was rejected, cancelled or failed
	numEndings
)

// Tasks records tasks of agents. Task time is defined here: from the sending of the first turn until the client has the
// last token of the last one, of tasks that were completed. Tasks that began before the warm-up are counted among those
// that have begun, and left out of everything else.
type Tasks struct {
	Time     Hist
	begun    int64
	missing  int64 // measured tasks that ended without a result
	endings  [numEndings]int64
	requests int64 // of the completed ones, as all that follows
	agents   int64
	parts    [4]clock.Uint128
}

// TaskResult says how tasks ended, and what those that were completed consisted of.
type TaskResult struct {
	Begun      int64     `json:"begun"` // all others sum to it
	Completed  int64     `json:"completed"`
	Failed     int64     `json:"failed"`     // a turn was rejected, cancelled or failed
	Full       int64     `json:"full"`       // its context outgrew max_model_len
	Unfinished int64     `json:"unfinished"` // when the run ended
	Requests   float64   `json:"requests_mean"`
	Agents     float64   `json:"agents_mean"`
	Parts      TaskParts `json:"parts_mean_s"`
}

// TaskParts is what the mean task spent its time on. The parts sum to it.
type TaskParts struct {
	Waiting    float64 `json:"waiting"` // network, and queues before the first step that works on a turn
	Prompts    float64 `json:"prompts"` // from there to the first token
	Generation float64 `json:"generation"`
	Tools      float64 `json:"tools"`
}

// Task records a task that has ended. A recorder without Tasks begins to have some.
func (m *Recorder) Task(t *Task) {
	if m.Tasks == nil {
		m.Tasks = new(Tasks)
	}
	k := m.Tasks
	k.endings[t.Ending]++
	if m.Series != nil && t.Ending == TaskCompleted {
		m.Series.task(t)
	}
	if t.Begun < m.Warmup || t.Ending == TaskUnfinished {
		return
	}
	if t.Ending != TaskCompleted {
		k.missing++
		if m.Windows != nil {
			m.Windows.at(t.Ended.Add(-m.Egress)).taskless++
		}
		return
	}
	took := t.Ended.Sub(t.Begun)
	k.Time.One(took)
	k.requests += int64(t.Requests)
	k.agents += int64(t.Agents)
	for i, part := range [...]sim.Duration{t.Waiting, t.Prompts, t.Generation, t.Tools} {
		k.parts[i].AddProduct(uint64(part), 1)
	}
	if m.Windows != nil {
		m.Windows.task(t.Ended.Add(-m.Egress), took)
	}
}

// Task records a task that has ended, for its class too.
func (f *Full) Task(t *Task) {
	f.Recorder.Task(t)
	if f.classes != nil {
		f.classes[t.Class].Task(t)
	}
}

// TasksBegun says how many tasks have begun in all, by the end of a run.
func (m *Recorder) TasksBegun(n int64) {
	if m.Tasks == nil {
		m.Tasks = new(Tasks)
	}
	m.Tasks.begun = n
}

// tasks returns what became of the tasks; nil: there are no agents. Of a class it counts those that have ended.
func (m *Recorder) tasks() *TaskResult {
	k := m.Tasks
	if k == nil {
		return nil
	}
	r := &TaskResult{Completed: k.endings[TaskCompleted], Failed: k.endings[TaskFailed], Full: k.endings[TaskFull]}
	ended := r.Completed + r.Failed + r.Full
	r.Begun = max(k.begun, ended+k.endings[TaskUnfinished])
	r.Unfinished = r.Begun - ended
	n := float64(k.Time.N())
	r.Requests, r.Agents = ratio(float64(k.requests), n), ratio(float64(k.agents), n)
	r.Parts = TaskParts{
		Waiting: ratio(k.parts[0].Float()/1e12, n), Prompts: ratio(k.parts[1].Float()/1e12, n),
		Generation: ratio(k.parts[2].Float()/1e12, n), Tools: ratio(k.parts[3].Float()/1e12, n),
	}
	return r
}

// task records the time of a task that a client has at the end of.
func (w *Windows) task(at sim.Time, took sim.Duration) {
	if w.needs[RuleTask] {
		w.at(at).of[RuleTask].add(took, 1)
	}
}
