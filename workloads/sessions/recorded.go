package sessions

import (
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/heap"
)

// Recording is a source of recorded requests, in order of their arrival, which may have contents. It knows how many
// requests it has, or says 0.
type Recording interface {
	sim.Source
	Requests() float64
	Contents() *sim.Contents
	Err() error
}

// Recorded replays recorded tasks, of agents or of users in conversations: a request whose prompt goes on from an
// earlier one is sent when that is answered, and no sooner after it was sent than it was recorded. So the context grows
// as it did, while each turn waits for the deployment.
//
// A prompt goes on from an earlier one if it begins with all of its whole blocks and has more, and is the first to do
// so: what several prompts begin with is a system prompt, and of prompts that part the later ones are tasks of their
// own. Requests with ids of sessions go on from the one before of their session. Requests that neither joins are tasks
// of one turn.
type Recorded struct {
	// Report hears of every task that has ended, as it ends; nil: nobody does.
	Report func(t *Task)

	all      []recorded
	contents *sim.Contents
	next     int                        // of the requests, the first that may begin a task
	due      heap.Heap[sim.Time, int32] // requests that go on from others, by instant and their place
	places   window[int32]              // of each request under way, the place among all
	tasks    []Task                     // under way, by slot
	free     []int32                    // slots
	sent     int32
	begun    int64
	lost     Ended
	rate     float64
}

// recorded is a request of a recording: of a sim.Request, what a source says of it, for all of them are kept.
type recorded struct {
	arrival, deadline         sim.Time
	prompt, output, maxOutput int32
	reasoning                 int32
	content                   int32
	session                   int32
	next                      int32 // place of the one that goes on from it; 0: none
	task                      int32 // slot of the task of which it is the latest turn sent
	adapter                   uint16
	class                     uint8
	priority                  int8
	follows                   bool // it goes on from an earlier one
}

// RecordedBytes is what a recorded request takes: itself, and what joins it to another while it is read.
const RecordedBytes = 56 + 100

var (
	_ sim.Source   = (*Recorded)(nil)
	_ sim.Follower = (*Recorded)(nil)
)

// NewRecorded returns the source that replays r, which it reads through. blockTokens is how many tokens a block of its
// contents has.
func NewRecorded(r Recording, blockTokens int32) (*Recorded, error) {
	s := &Recorded{contents: r.Contents(), all: make([]recorded, 0, int(r.Requests()))}
	for {
		var one sim.Request
		if !r.Next(&one) {
			break
		}
		s.all = append(s.all, recorded{arrival: one.Arrival, deadline: one.Deadline, prompt: one.Prompt, output: one.Output,
			maxOutput: one.MaxOutput, reasoning: one.Reasoning, content: one.Content, session: one.Session,
			adapter: one.Adapter, class: one.Class, priority: one.Priority})
	}
	s.chain()
	if s.contents != nil {
		s.join(blockTokens)
	}
	if n := len(s.all); n > 0 && s.all[n-1].arrival > 0 {
		s.rate = float64(n) / s.all[n-1].arrival.Seconds()
	}
	s.skip()
	return s, r.Err()
}

// chain lets each request with a session go on from the one before of its session.
func (s *Recorded) chain() {
	latest := map[int32]int32{}
	for i := range s.all {
		r := &s.all[i]
		if r.session == 0 {
			continue
		}
		if before, ok := latest[r.session]; ok {
			s.follow(before, int32(i))
		}
		latest[r.session] = int32(i)
	}
}

// follow lets a request go on from another.
func (s *Recorded) follow(before, after int32) {
	s.all[before].next, s.all[after].follows = after, true
}

// join finds which prompts go on from others. An extent ends where prompts part, so the whole blocks of a prompt from
// which another goes on end with a node.
func (s *Recorded) join(blockTokens int32) {
	ends := map[int32]int32{}   // place of the request whose whole blocks end with a node
	begins := map[int32]int32{} // how many requests so far begin with a node
	for i := range s.all {
		r := &s.all[i]
		if r.session != 0 {
			continue
		}
		whole := r.content
		for whole != 0 && s.contents.Tokens(whole) > r.prompt/blockTokens*blockTokens {
			whole = s.contents.Parent(whole)
		}
		for node := r.content; node != 0; node = s.contents.Parent(node) {
			before, ok := ends[node]
			if ok && begins[node] == 1 && s.all[before].prompt < r.prompt {
				s.follow(before, int32(i))
				break
			}
		}
		if whole != 0 && s.contents.Tokens(whole) == r.prompt/blockTokens*blockTokens {
			ends[whole] = int32(i)
		}
		for node := r.content; node != 0; node = s.contents.Parent(node) {
			begins[node]++
		}
	}
}

// skip passes over the requests that go on from others.
func (s *Recorded) skip() {
	for s.next < len(s.all) && s.all[s.next].follows {
		s.next++
	}
}

// When returns the instant of the earliest request that is due.
func (s *Recorded) When() sim.Time {
	at := sim.Forever
	if s.next < len(s.all) {
		at = s.all[s.next].arrival
	}
	if len(s.due) > 0 {
		at = min(at, s.due[0].Key)
	}
	return at
}

// Next fills the request that is due first: of a task under way rather than of a new one.
func (s *Recorded) Next(r *sim.Request) bool {
	at := s.When()
	if at == sim.Forever {
		return false
	}
	place := int32(s.next)
	if len(s.due) > 0 && s.due[0].Key == at {
		place = s.due.Pop().Value
	} else {
		s.all[place].task = s.begin(Task{Number: s.begun, Class: s.all[place].class, Begun: at, Agents: 1})
		s.begun++
		s.next++
		s.skip()
	}
	v := &s.all[place]
	t := &s.tasks[v.task]
	t.Requests++
	t.PromptTokens += int64(v.prompt)
	*r = sim.Request{ID: s.sent, Arrival: at, Prompt: v.prompt, Output: v.output, MaxOutput: v.maxOutput,
		Reasoning: v.reasoning, Content: v.content, Session: int32(t.Number) + 1, Adapter: v.adapter, Class: v.class,
		Priority: v.priority}
	if v.deadline != 0 {
		r.Deadline = at.Add(v.deadline.Sub(v.arrival))
	}
	s.sent++
	s.places.add(place)
	return true
}

// begin returns the slot of a task that begins.
func (s *Recorded) begin(t Task) (slot int32) {
	if n := len(s.free); n > 0 {
		slot, s.free = s.free[n-1], s.free[:n-1]
		s.tasks[slot] = t
		return slot
	}
	s.tasks = append(s.tasks, t)
	return int32(len(s.tasks)) - 1
}

// Done sends the request that goes on from r, or ends its task.
func (s *Recorded) Done(at sim.Time, r *sim.Request) {
	v := &s.all[s.places.take(r.ID)]
	t := &s.tasks[v.task]
	t.OutputTokens += int64(r.Emitted)
	if r.Emitted < r.Output {
		t.Outcome = TaskFailed
		s.lost.Lost++
		for n := v.next; n != 0; n = s.all[n].next {
			s.lost.LostTurns++
		}
	} else {
		t.Spent.add(at, r)
		if v.next != 0 {
			send := max(at, r.Arrival.Add(s.all[v.next].arrival.Sub(v.arrival)))
			t.Spent.Tools += send.Sub(at)
			s.all[v.next].task = v.task
			s.due.Push(send, int64(v.next), v.next)
			return
		}
	}
	t.Ended = at
	if s.Report != nil {
		s.Report(t)
	}
	s.free = append(s.free, v.task)
}

// Contents returns the tree that the requests' contents are in; nil: they share nothing.
func (s *Recorded) Contents() *sim.Contents { return s.contents }

// Rate returns the mean rate at which requests were recorded. How fast they are sent depends on the answers.
func (s *Recorded) Rate() float64 { return s.rate }

// Requests returns how many requests are recorded.
func (s *Recorded) Requests() float64 { return float64(len(s.all)) }

// Means returns the mean prompt and output in tokens.
func (s *Recorded) Means() (prompt, output float64) {
	for i := range s.all {
		prompt, output = prompt+float64(s.all[i].prompt), output+float64(s.all[i].output)
	}
	n := float64(max(1, len(s.all)))
	return prompt / n, output / n
}

// Turns returns the mean turns of a task.
func (s *Recorded) Turns() float64 {
	tasks := 0
	for i := range s.all {
		if !s.all[i].follows {
			tasks++
		}
	}
	return float64(len(s.all)) / float64(max(1, tasks))
}

// PauseS returns 0: how much of the recorded gaps is tools and how much answers, no recording says.
func (s *Recorded) PauseS() float64 { return 0 }

// Begun returns how many tasks have begun.
func (s *Recorded) Begun() int64 { return s.begun }

// Early returns the tasks so far that ended without a result.
func (s *Recorded) Early() Ended { return s.lost }

// Err returns nil: all was read before the run.
func (s *Recorded) Err() error { return nil }
