package sim_test

import "github.com/decodesim/decodesim/sim"

// conversations is a source whose requests are turns: each prompt is all that was said before and then the tokens of
// its own, and comes when the answer before it has been read. It lets the tree grow as they go.
type conversations struct {
	requests []sim.Request
	think    sim.Duration
	tree     *sim.Contents // nil: no prefix caching
	sessions []session
	sent     int32
	of       map[int32]int // session, by request
}

type session struct {
	ready   sim.Time // Forever: it waits for an answer, or has ended
	next    int      // of the requests
	history int32    // tokens said
	answer  int32    // node that ends with the last of them
	whole   bool     // the prompt is a node of its own; else one of prompt and answer together
}

// newConversations deals the requests to sessions.
func newConversations(sc *scenario, tree *sim.Contents) *conversations {
	c := &conversations{requests: sc.requests, think: sc.think, tree: tree, of: map[int32]int{}}
	for i := range min(sc.sessions, len(sc.requests)) {
		c.sessions = append(c.sessions, session{ready: sc.requests[i].Arrival, next: i, whole: i%3 > 0})
	}
	return c
}

func (c *conversations) first() int {
	best := 0
	for i, s := range c.sessions {
		if s.ready < c.sessions[best].ready {
			best = i
		}
	}
	return best
}

func (c *conversations) When() sim.Time { return c.sessions[c.first()].ready }

func (c *conversations) Next(r *sim.Request) bool {
	i := c.first()
	s := &c.sessions[i]
	*r = c.requests[s.next]
	if r.Deadline != 0 {
		r.Deadline = s.ready.Add(r.Deadline.Sub(r.Arrival))
	}
	r.ID, r.Arrival = c.sent, s.ready
	r.Prompt += s.history
	s.history = r.Prompt + r.Output
	if c.tree != nil {
		c.extend(r, s)
	}
	c.sent++
	c.of[r.ID], s.ready = i, sim.Forever
	return true
}

// extend adds what r says and hears to the tree. No later turn asks for what begins with the last answer.
func (c *conversations) extend(r *sim.Request, s *session) {
	at := r.Content
	if s.answer != 0 {
		at = s.answer
	}
	for c.tree.Tokens(at) > r.Prompt {
		at = c.tree.Parent(at)
	}
	if own := r.Prompt - c.tree.Tokens(at); own > 0 && s.whole {
		at = c.tree.Add(at, own)
	}
	r.Content = at
	if s.next+len(c.sessions) < len(c.requests) {
		r.OutputContent = c.tree.Add(at, r.Prompt+r.Output-c.tree.Tokens(at))
		s.answer = r.OutputContent
	}
}

func (c *conversations) Done(at sim.Time, r *sim.Request) {
	s := &c.sessions[c.of[r.ID]]
	s.next += len(c.sessions)
	if s.next < len(c.requests) && r.Emitted == r.Output {
		s.ready = at.Add(c.think)
	}
}

// clone returns a tree that can grow on its own.
func clone(tree *sim.Contents) *sim.Contents {
	c := new(sim.Contents)
	for i := int32(1); i < int32(tree.Len()); i++ {
		c.Add(tree.Parent(i), tree.Tokens(i)-tree.Tokens(tree.Parent(i)))
	}
	return c
}
