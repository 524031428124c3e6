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

// SessionLoop is a load of conversations. A session has several turns: the user reads an answer, thinks, and asks on,
// so that a prompt is all that was said before and what is new. Mix.Prompt is what is new, behind a prefix of
// Mix.Sharing in the first turn; Mix.Output is an answer. A session has one class and one prefix.
//
// Sessions begin at Arrivals or, with Concurrency, each of so many clients leads one session after the other. A turn
// that fails, that is rejected, or whose prompt and limit would exceed ContextMax ends its session.
type SessionLoop struct {
	Arrivals    arrivals.Spec // of sessions; none with Concurrency
	Concurrency int64         // clients; 0: sessions arrive
	PauseS      float64       // seconds between two sessions of a client
	RampS       float64       // seconds over which the clients start, evenly spread
	Turns       lengths.Spec  // of a session, at most 65536
	Think       Span          // from the end of an answer to the next turn
	Mix         requests.Mix
	ContextMax  int64   // tokens of prompt and limit that the model takes; 0: no limit below 2³⁰
	Requests    int64   // turns planned in all, the last session's cut to fit; 0: no limit
	DurationS   float64 // sent before it; 0: no limit
	Patience    requests.Patience
}

// Sessions is the source of a SessionLoop.
//
// What users ask, how often and how long they think is drawn by session and turn: the same on every deployment. Only
// when they ask, and thereby in which order, depends on the answers. Equal instants are ordered by session.
type Sessions struct {
	talk      *conversations
	think     thoughts
	deadlines requests.KeyedDeadlines
	starts    starts
	contents  *sim.Contents
	turns     heap.Heap[sim.Time, int32] // slots whose next turn is due, by instant and number of the session
	live      []session                  // by slot
	free      []int32                    // slots
	slots     slotWindow
	left      int64 // turns that may yet be planned
	begun     uint64
	sent      int32
	end       end
	fault     error

	rate     float64
	requests float64
	expected expectation
	ended    Ended
}

// Ended counts sessions that ended before their users meant them to, and the turns that were never asked.
type Ended struct {
	Full      int64 // sessions whose history grew too long for the model
	FullTurns int64
	Lost      int64 // sessions of which a turn failed or was rejected
	LostTurns int64
}

// session is a conversation under way.
type session struct {
	conversation
	number  uint64
	begun   sim.Time
	next    int32 // turn
	history int32 // tokens of the prompts and answers so far
	node    int32 // of the contents, where they end
}

var (
	_ sim.Source   = (*Sessions)(nil)
	_ sim.Follower = (*Sessions)(nil)
)

// NewSessionLoop returns the source that c describes in the run with the given seed.
func NewSessionLoop(c SessionLoop, seed uint64) (*Sessions, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	s := &Sessions{left: c.Requests, end: newEnd(c.DurationS)}
	if s.left == 0 {
		s.left = check.RequestsMax
	}
	if err := s.draw(c, seed); err != nil {
		return nil, err
	}
	return s, s.schedule(c, seed)
}

// check refuses what sessions do not have and numbers out of range.
func (c *SessionLoop) check() error {
	const owner = "a workload with sessions"
	err := cmp.Or(
		check.Absent("lengths", owner, c.Mix.Pairs != nil, "recorded"),
		check.Absent("distinct_prompts", owner, c.Mix.Sharing.DistinctPrompts != 0, c.Mix.Sharing.DistinctPrompts),
		check.Extent(c.Requests, c.DurationS),
	)
	if err != nil || c.Concurrency == 0 {
		return err
	}
	return cmp.Or(
		check.Count("closed_loop.concurrency", c.Concurrency, concurrencyMax),
		check.Within("closed_loop.think_time_s", c.PauseS, 0, spanMax),
		check.Within("closed_loop.ramp_s", c.RampS, 0, sim.HorizonS),
	)
}

// draw prepares what is drawn by session and turn.
func (s *Sessions) draw(c SessionLoop, seed uint64) (err error) {
	s.talk, err = newConversations(c, seed)
	if err != nil {
		return err
	}
	s.think, err = newThoughts(c.Think, seed)
	if err != nil {
		return err
	}
	s.deadlines, err = requests.NewKeyedDeadlines(c.Patience, seed)
	s.contents, s.expected = s.talk.tree(), s.talk.expect()
	return err
}

// schedule prepares when sessions begin.
func (s *Sessions) schedule(c SessionLoop, seed uint64) error {
	s.requests = float64(c.Requests)
	if c.Concurrency > 0 {
		clients := newClients(sessionWords, c.Concurrency, c.RampS, s.end)
		clients.pause = sim.Seconds(c.PauseS)
		s.starts = clients
		return nil
	}
	process, err := arrivals.New(c.Arrivals, seed)
	if err != nil {
		return err
	}
	sessions, err := process.Expect(int64(math.Ceil(s.requests/s.expected.turns)), c.DurationS)
	if err != nil {
		return err
	}
	s.rate = process.MeanRate(sessions) * s.expected.turns
	if turns := sessions * s.expected.turns; s.requests == 0 || turns < s.requests {
		s.requests = turns
	}
	s.starts = newArriving(process, c.DurationS)
	return nil
}

// When returns the instant of the earliest turn that is due.
func (s *Sessions) When() sim.Time {
	if s.fault != nil {
		return sim.Forever
	}
	return min(s.beginning(), s.turnDue())
}

// turnDue returns when the next turn of a session under way is due.
func (s *Sessions) turnDue() sim.Time {
	if len(s.turns) == 0 {
		return sim.Forever
	}
	return s.turns[0].Key
}

// beginning returns when the next session begins.
func (s *Sessions) beginning() sim.Time {
	if s.left == 0 {
		return sim.Forever
	}
	return s.starts.when()
}

// Next fills the turn that is due first: of a session under way rather than of a new one.
func (s *Sessions) Next(r *sim.Request) bool {
	at := s.When()
	if at == sim.Forever {
		return false
	}
	slot := int32(0)
	if s.turnDue() > at {
		slot = s.begin(at)
	} else {
		slot = s.turns.Pop().Value
	}
	s.ask(r, at, slot)
	return true
}

// begin makes room for a session and plans it.
func (s *Sessions) begin(at sim.Time) (slot int32) {
	if n := len(s.free); n > 0 {
		slot, s.free = s.free[n-1], s.free[:n-1]
	} else {
		slot = int32(len(s.live))
		s.live = append(s.live, session{})
	}
	v := &s.live[slot]
	*v = session{conversation: v.conversation, number: s.begun, begun: at}
	s.talk.plan(v.number, s.left, &v.conversation)
	v.node = v.group
	if v.group != 0 {
		v.history = s.talk.prefix
	}
	if v.cut > 0 {
		s.ended.Full++
		s.ended.FullTurns += int64(v.cut)
	}
	s.begun++
	s.left -= int64(len(v.turns))
	s.starts.take()
	return slot
}

// ask fills the next turn of a session. Its prompt and its answer are contents if there is a turn after it; of the last
// one only the history can be in a cache: no later prompt begins with it.
func (s *Sessions) ask(r *sim.Request, at sim.Time, slot int32) {
	v := &s.live[slot]
	t := v.turns[v.next]
	r.ID, r.Arrival = s.sent, at
	r.Class, r.Priority = v.class, v.priority
	r.Session = int32(v.number) + 1 // a session has a turn, and there are fewer than 2³¹ turns
	r.Prompt, r.Content = v.history+t.prompt, v.node
	r.Output, r.MaxOutput, r.Reasoning = t.output, t.limit, t.hidden
	if int(v.next)+1 < len(v.turns) {
		v.node, v.history = follow(s.contents, r, t.prompt, t.remains(s.talk.recalls))
	}
	s.deadlines.Mark(r, v.number, uint64(v.next))
	v.next++
	s.sent++
	s.slots.add(slot)
}

// follow makes the prompt and the output of r, a turn whose prompt has so many tokens beside the history, contents that
// the next prompt begins with: node and tokens. Of an output whose reasoning it leaves out only so many tokens remain,
// at other positions than those at which they were computed.
func follow(tree *sim.Contents, r *sim.Request, prompt, remains int32) (node, history int32) {
	r.Content = tree.Add(r.Content, prompt)
	switch remains {
	case r.Output:
		r.OutputContent = tree.Add(r.Content, r.Output)
		return r.OutputContent, r.Prompt + r.Output
	case 0:
		return r.Content, r.Prompt
	}
	return tree.Add(r.Content, remains), r.Prompt + remains
}

// Done lets the user of r think and ask on, or leave. Turns that end at one instant may be reported in any order.
func (s *Sessions) Done(at sim.Time, r *sim.Request) {
	slot := s.slots.take(r.ID)
	v := &s.live[slot]
	unasked := int64(len(v.turns)) - int64(v.next)
	answered := r.Emitted == r.Output
	if unasked > 0 && answered {
		s.goOn(at.Add(s.think.after(v.number, uint64(v.next))), slot)
		return
	}
	if unasked > 0 {
		s.ended.Lost++
		s.ended.LostTurns += unasked
	}
	s.leave(at, slot)
}

// goOn sets the next turn of a session, unless the workload has ended by then.
func (s *Sessions) goOn(at sim.Time, slot int32) {
	switch {
	case at < s.end.at:
		s.turns.Push(at, int64(s.live[slot].number), slot)
	case s.end.timed:
		s.leave(at, slot)
	case s.fault == nil:
		s.fault = fmt.Errorf("workloads: sessions: a turn would be sent after %g s; accepted: a run within %g s",
			at.Seconds(), sim.HorizonS)
	}
}

// leave ends a session.
func (s *Sessions) leave(at sim.Time, slot int32) {
	s.free = append(s.free, slot)
	if !s.starts.ended(s.live[slot].begun, at) && s.left > 0 {
		s.fault = s.starts.err()
	}
}

// Contents returns the tree that the requests' Content and Answer are in.
func (s *Sessions) Contents() *sim.Contents { return s.contents }

// Rate returns the mean offered rate in turns/s; 0: it is a result, for clients begin a session when one has ended.
func (s *Sessions) Rate() float64 { return s.rate }

// Requests returns how many turns to expect; 0: unknown.
func (s *Sessions) Requests() float64 { return s.requests }

// Means returns the mean prompt, history included, and output in tokens, over the sessions that come first.
func (s *Sessions) Means() (prompt, output float64) { return s.expected.prompt, s.expected.output }

// Turns returns the mean turns of a session, over the sessions that come first.
func (s *Sessions) Turns() float64 { return s.expected.turns }

// PauseS returns how long a client waits on average between an answer and what it sends next, a session's end included.
func (s *Sessions) PauseS() float64 {
	pause := 0.0
	if c, ok := s.starts.(*clients); ok {
		pause = c.pause.Seconds()
	}
	return (float64(s.think.law.meanS*(s.expected.turns-1)) + pause) / s.expected.turns
}

// Truncated returns how many draws so far were truncated: every draw counts, since a turn draws from one law only.
func (s *Sessions) Truncated() requests.Truncated { return s.talk.sampler.TruncatedDraws() }

// Ended returns the sessions so far that ended early. Those whose history grew too long are counted when they begin.
func (s *Sessions) Ended() Ended { return s.ended }

// Begun returns how many sessions have begun.
func (s *Sessions) Begun() int64 { return int64(s.begun) }

// Err says why the source ended before its limits, or nil.
func (s *Sessions) Err() error {
	if s.fault == nil && s.left > 0 {
		return s.starts.err()
	}
	return s.fault
}
