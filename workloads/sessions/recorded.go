package sessions

import (
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/heap"
)

// Recording is a source of recorded requests, in order of their arrival, which may have contents.
type Recording interface {
	sim.Source
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
	sent     int32
	begun    int64
	lost     Ended
	rate     float64
}

// recorded is a request of a recording.
type recorded struct {
	sim.Request
	follows bool         // it goes on from an earlier one
	next    int32        // place of the one that goes on from it; 0: none
	gap     sim.Duration // between the recorded arrivals of both
	task    Task         // of which this is the latest turn sent
}

var (
	_ sim.Source   = (*Recorded)(nil)
	_ sim.Follower = (*Recorded)(nil)
)

// NewRecorded returns the source that replays r, which it reads through. blockTokens is how many tokens a block of its
// contents has.
func NewRecorded(r Recording, blockTokens int32) (*Recorded, error) {
	s := &Recorded{contents: r.Contents()}
	for {
		var one recorded
		if !r.Next(&one.Request) {
			break
		}
		s.all = append(s.all, one)
	}
	s.chain()
	if s.contents != nil {
		s.join(blockTokens)
	}
	if n := len(s.all); n > 0 && s.all[n-1].Arrival > 0 {
		s.rate = float64(n) / s.all[n-1].Arrival.Seconds()
	}
	s.skip()
	return s, r.Err()
}

// chain lets each request with a session go on from the one before of its session.
func (s *Recorded) chain() {
	latest := map[int32]int32{}
	for i := range s.all {
		r := &s.all[i]
		if r.Session == 0 {
			continue
		}
		if before, ok := latest[r.Session]; ok {
			s.follow(before, int32(i))
		}
		latest[r.Session] = int32(i)
	}
}

// follow lets a request go on from another.
func (s *Recorded) follow(before, after int32) {
	s.all[before].next, s.all[after].follows = after, true
	s.all[before].gap = s.all[after].Arrival.Sub(s.all[before].Arrival)
}

// join finds which prompts go on from others. An extent ends where prompts part, so the whole blocks of a prompt from
// which another goes on end with a node.
func (s *Recorded) join(blockTokens int32) {
	ends := map[int32]int32{}   // place of the request whose whole blocks end with a node
	begins := map[int32]int32{} // how many requests so far begin with a node
	for i := range s.all {
		r := &s.all[i]
		if r.Session != 0 {
			continue
		}
		whole := r.Content
		for whole != 0 && s.contents.Tokens(whole) > r.Prompt/blockTokens*blockTokens {
			whole = s.contents.Parent(whole)
		}
		for node := r.Content; node != 0; node = s.contents.Parent(node) {
			before, ok := ends[node]
			if ok && begins[node] == 1 && s.all[before].Prompt < r.Prompt {
				s.follow(before, int32(i))
				break
			}
		}
		if whole != 0 && s.contents.Tokens(whole) == r.Prompt/blockTokens*blockTokens {
			ends[whole] = int32(i)
		}
		for node := r.Content; node != 0; node = s.contents.Parent(node) {
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
		at = s.all[s.next].Arrival
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
		s.all[place].task = Task{Number: s.begun, Class: s.all[place].Class, Begun: at, Agents: 1}
		s.begun++
		s.next++
		s.skip()
	}
	v := &s.all[place]
	if v.Deadline != 0 {
		v.Deadline = at.Add(v.Deadline.Sub(v.Arrival))
	}
	v.ID, v.Arrival, v.Session = s.sent, at, int32(v.task.Number)+1
	v.task.Requests++
	v.task.PromptTokens += int64(v.Prompt)
	*r = v.Request
	s.sent++
	s.places.add(place)
	return true
}

// Done sends the request that goes on from r, or ends its task.
func (s *Recorded) Done(at sim.Time, r *sim.Request) {
	v := &s.all[s.places.take(r.ID)]
	t := &v.task
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
			send := max(at, v.Arrival.Add(v.gap))
			t.Spent.Tools += send.Sub(at)
			s.all[v.next].task = *t
			s.due.Push(send, int64(v.next), v.next)
			return
		}
	}
	t.Ended = at
	if s.Report != nil {
		s.Report(t)
	}
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
		prompt, output = prompt+float64(s.all[i].Prompt), output+float64(s.all[i].Output)
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
