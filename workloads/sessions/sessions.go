package sessions

import (
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/requests"
)

// SessionLoop is a load of conversations. A session has several turns: the user reads an answer, thinks, and asks on,
// so that a prompt is all that was said before and what is new. Mix.Prompt is what is new, behind a prefix of
// Mix.Sharing in the first turn; Mix.Output is an answer. A session has one class and one prefix.
//
// A turn that fails, that is rejected, or whose prompt and limit would exceed ContextMax ends its session. Turns are
// planned up to Requests, the last session's cut to fit.
type SessionLoop struct {
	Loop
	Think Span // from the end of an answer to the next turn
}

// Sessions is the source of a SessionLoop.
type Sessions struct {
	courses[session]
	talk  *conversations
	think thoughts
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
	if err := c.check(sessionWords, 0); err != nil {
		return nil, err
	}
	talk, err := newConversations(c, seed)
	if err != nil {
		return nil, err
	}
	think, err := newThoughts(c.Think, seed)
	if err != nil {
		return nil, err
	}
	s := &Sessions{talk: talk, think: think}
	expected := talk.expect(think.law.meanS)
	s.courses, err = newCourses[session](&c.Loop, sessionWords, 0, talk.sampler.Contents(), expected, seed)
	return s, err
}

// Next fills the turn that is due first.
func (s *Sessions) Next(r *sim.Request) bool { return fill(s, r) }

// begin makes room for a session and plans it.
func (s *Sessions) begin(at sim.Time) (slot int32) {
	slot = s.room()
	v := &s.live[slot]
	*v = session{conversation: v.conversation, number: s.begun, begun: at}
	s.talk.plan(v.number, s.left, &v.conversation)
	v.node = v.group
	if v.group != 0 {
		v.history = s.talk.prefix
	}
	if v.cut > 0 {
		s.early.Full++
		s.early.FullTurns += int64(v.cut)
	}
	s.begins(len(v.turns))
	return slot
}

// ask fills the next turn of a session. Its prompt and its answer are contents if there is a turn after it; of the last
// one only the history can be in a cache: no later prompt begins with it.
func (s *Sessions) ask(r *sim.Request, at sim.Time, of place) {
	v := &s.live[of.slot]
	t := v.turns[v.next]
	s.head(r, at, v.number, of)
	r.Class, r.Priority = v.class, v.priority
	r.Prompt, r.Content = v.history+t.prompt, v.node
	r.Output, r.MaxOutput, r.Reasoning = t.output, t.limit, t.hidden
	if int(v.next)+1 < len(v.turns) {
		v.node, v.history = follow(s.contents, r, t.prompt, t.remains(s.talk.recalls))
	}
	s.deadlines.Mark(r, v.number, uint64(v.next))
	v.next++
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
	of := s.places.take(r.ID)
	v := &s.live[of.slot]
	unasked := int64(len(v.turns)) - int64(v.next)
	answered := r.Emitted == r.Output
	if unasked > 0 && answered {
		at = at.Add(s.think.after(v.number, uint64(v.next)))
		if s.goOn(at, v.number, of) {
			s.leave(v.begun, at, of.slot)
		}
		return
	}
	if unasked > 0 {
		s.early.Lost++
		s.early.LostTurns += unasked
	}
	s.leave(v.begun, at, of.slot)
}

// Truncated returns how many draws so far were truncated: every draw counts, since a turn draws from one law only.
func (s *Sessions) Truncated() requests.Truncated { return s.talk.sampler.TruncatedDraws() }
