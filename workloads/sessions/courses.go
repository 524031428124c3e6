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

// Loop is what loads of several turns have in common, of conversations as of tasks: both are called courses here. They
// begin at Arrivals or, with Concurrency, each of so many clients has one after the other. A prompt is all that came
// before in its course, and what is new.
type Loop struct {
	Arrivals    arrivals.Spec // of courses; none with Concurrency
	Concurrency int64         // clients; 0: courses arrive
	PauseS      float64       // seconds between two courses of a client
	RampS       float64       // seconds over which the clients start, evenly spread
	Turns       lengths.Spec  // of a course, at most 65536
	Mix         requests.Mix
	ContextMax  int64   // tokens of prompt and limit that the model takes; 0: no limit below 2³⁰
	Requests    int64   // turns; 0: no limit
	DurationS   float64 // sent before it; 0: no limit
	Patience    requests.Patience
}

// courses is how a Loop stands. T is a course under way.
//
// What a course asks is a function of the seed and its number; when it asks, and thereby in which order, depends on the
// answers. Equal instants are ordered by course, then by agent.
type courses[T any] struct {
	words     words
	deadlines requests.KeyedDeadlines
	starts    starts
	contents  *sim.Contents
	due       heap.Heap[sim.Time, place] // turns of courses under way
	live      []T                        // by slot
	free      []int32                    // slots
	places    window[place]              // of the requests under way
	left      int64                      // turns that may yet be planned
	unbegun   int64                      // courses that may yet begin
	begun     uint64
	sent      int32
	end       end
	fault     error

	rate     float64
	requests float64
	expected expectation
	early    Ended
}

// place is where a turn belongs: the slot of its course, and which agent of it asks; in conversations always the first.
type place struct{ slot, agent int32 }

// noPlace is the place of a turn whose course has yet to begin.
var noPlace = place{-1, -1}

// Ended counts courses that ended before they were meant to, and the turns that were never asked, which only
// conversations count.
type Ended struct {
	Full      int64 // whose history grew too long for the model
	FullTurns int64
	Lost      int64 // of which a turn failed or was rejected
	LostTurns int64
}

// check refuses what courses do not have and numbers out of range. Where a number of courses ends the loop, it needs no
// other end.
func (c *Loop) check(w words, most int64) error {
	err := cmp.Or(
		check.Absent("lengths", w.owner, c.Mix.Pairs != nil, "recorded"),
		check.Absent("distinct_prompts", w.owner, c.Mix.Sharing.DistinctPrompts != 0, c.Mix.Sharing.DistinctPrompts),
	)
	if err == nil {
		if most == 0 {
			err = check.Extent(c.Requests, c.DurationS)
		} else {
			err = cmp.Or(check.Count(w.key, most, check.RequestsMax), check.Within("duration_s", c.DurationS, 0, sim.HorizonS))
		}
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

// contextMax is how many tokens of prompt and limit a turn has at most.
func (c *Loop) contextMax() int64 {
	if c.ContextMax > 0 {
		return min(check.TokensMax, c.ContextMax)
	}
	return check.TokensMax
}

// newCourses returns courses of which none has begun, at most so many in all (0: no limit).
func newCourses[T any](c *Loop, w words, most int64, contents *sim.Contents, e expectation, seed uint64) (
	s courses[T], err error) {
	s = courses[T]{words: w, left: c.Requests, unbegun: most, end: newEnd(c.DurationS), contents: contents, expected: e}
	if s.left == 0 {
		s.left = check.RequestsMax
	}
	if s.unbegun == 0 {
		s.unbegun = check.RequestsMax
	}
	if s.contents == nil {
		s.contents = new(sim.Contents)
	}
	s.deadlines, err = requests.NewKeyedDeadlines(c.Patience, seed)
	if err != nil {
		return s, err
	}
	s.requests = float64(c.Requests)
	if n := float64(most) * e.turns; n > 0 && (s.requests == 0 || n < s.requests) {
		s.requests = n
	}
	return s, s.schedule(c, seed)
}

// schedule prepares when courses begin.
func (s *courses[T]) schedule(c *Loop, seed uint64) error {
	if c.Concurrency > 0 {
		clients := newClients(s.words, c.Concurrency, c.RampS, s.end)
		clients.pause = sim.Seconds(c.PauseS)
		s.starts = clients
		return nil
	}
	process, err := arrivals.New(c.Arrivals, seed)
	if err != nil {
		return err
	}
	all, err := process.Expect(int64(math.Ceil(s.requests/s.expected.turns)), c.DurationS)
	if err != nil {
		return err
	}
	s.rate = process.MeanRate(all) * s.expected.turns
	if n := all * s.expected.turns; s.requests == 0 || n < s.requests {
		s.requests = n
	}
	s.starts = newArriving(process, c.DurationS)
	return nil
}

// When returns the instant of the earliest turn that is due.
func (s *courses[T]) When() sim.Time {
	if s.fault != nil {
		return sim.Forever
	}
	return min(s.beginning(), s.turnDue())
}

// turnDue returns when the next turn of a course under way is due.
func (s *courses[T]) turnDue() sim.Time {
	if len(s.due) == 0 {
		return sim.Forever
	}
	return s.due[0].Key
}

// beginning returns when the next course begins.
func (s *courses[T]) beginning() sim.Time {
	if s.left <= 0 || s.unbegun == 0 {
		return sim.Forever
	}
	return s.starts.when()
}

// asks begins courses and asks their turns: Sessions or Agents.
type asks interface {
	take() (at sim.Time, of place)
	begin(at sim.Time) (slot int32)
	ask(r *sim.Request, at sim.Time, of place)
}

// fill fills the turn that is due first, for which a course begins if there is none under way that has it.
func fill(s asks, r *sim.Request) bool {
	at, of := s.take()
	if at == sim.Forever {
		return false
	}
	if of == noPlace {
		of = place{s.begin(at), 0}
	}
	s.ask(r, at, of)
	return true
}

// take takes the turn that is due first: of a course under way rather than of a new one, which is at noPlace. It is at
// Forever if there is none.
func (s *courses[T]) take() (at sim.Time, of place) {
	at = s.When()
	switch {
	case at == sim.Forever:
		return at, noPlace
	case s.turnDue() > at:
		return at, noPlace
	}
	return at, s.due.Pop().Value
}

// room returns a slot for a course that begins, which has what the last one there has left.
func (s *courses[T]) room() (slot int32) {
	if n := len(s.free); n > 0 {
		slot, s.free = s.free[n-1], s.free[:n-1]
		return slot
	}
	var none T
	s.live = append(s.live, none)
	return int32(len(s.live)) - 1
}

// begins counts a course that begins, and the turns planned of it.
func (s *courses[T]) begins(turns int) {
	s.begun++
	s.left -= int64(turns)
	s.unbegun--
	s.starts.take()
}

// head fills what r has whatever it asks. A course has a turn, and there are fewer than 2³¹ turns.
func (s *courses[T]) head(r *sim.Request, at sim.Time, number uint64, of place) {
	r.ID, r.Arrival, r.Session = s.sent, at, int32(number)+1
	s.sent++
	s.places.add(of)
}

// goOn sets the next turn of a course, unless the workload has ended by then.
func (s *courses[T]) goOn(at sim.Time, number uint64, of place) (ended bool) {
	switch {
	case at < s.end.at:
		s.due.Push(at, int64(number)<<agentBits|int64(of.agent), of)
	case s.end.timed:
		return true
	case s.fault == nil:
		s.fault = fmt.Errorf("workloads: %s: a turn would be sent after %g s; accepted: a run within %g s", s.words.kind,
			at.Seconds(), sim.HorizonS)
	}
	return false
}

// leave frees the slot of a course that has ended.
func (s *courses[T]) leave(begun, at sim.Time, slot int32) {
	s.free = append(s.free, slot)
	if !s.starts.ended(begun, at) && s.left > 0 && s.unbegun > 0 {
		s.fault = s.starts.err()
	}
}

// Contents returns the tree that the requests' contents are in.
func (s *courses[T]) Contents() *sim.Contents { return s.contents }

// Rate returns the mean offered rate in turns/s; 0: it is a result, for clients begin anew when they have ended.
func (s *courses[T]) Rate() float64 { return s.rate }

// Requests returns how many turns to expect; 0: unknown.
func (s *courses[T]) Requests() float64 { return s.requests }

// Means returns the mean prompt, history included, and output in tokens, over the sessions or tasks that come first.
func (s *courses[T]) Means() (prompt, output float64) { return s.expected.prompt, s.expected.output }

// Turns returns the mean turns of a session or a task, those of sub-agents included, over those that come first.
func (s *courses[T]) Turns() float64 { return s.expected.turns }

// PauseS returns the mean time beside answers that goes with a turn: thinking or tools, and the pause of a client.
func (s *courses[T]) PauseS() float64 {
	pause := 0.0
	if c, ok := s.starts.(*clients); ok {
		pause = c.pause.Seconds()
	}
	return (s.expected.betweenS + pause) / s.expected.turns
}

// Begun returns how many sessions or tasks have begun.
func (s *courses[T]) Begun() int64 { return int64(s.begun) }

// Early returns those so far that ended early. Conversations whose history grew too long are counted when they begin.
func (s *courses[T]) Early() Ended { return s.early }

// Err says why the source ended before its limits, or nil.
func (s *courses[T]) Err() error {
	if s.fault == nil && s.left > 0 && s.unbegun > 0 {
		return s.starts.err()
	}
	return s.fault
}
