package sim

// Every instance has a port to send and one to receive. A transfer takes both for itself if it is alone; otherwise it
// progresses at 1/k of that speed, k being the most transfers at either. That uses no more than a port has, and may leave
// some of it idle where a max–min fair network would not.

// move is the hand-over of a request from one instance to the next: a record at each end, and a transfer between them.
type move struct {
	number   int64     // of hand-overs so far, which breaks ties
	from, to *Instance // nil: not known yet
	source   int32     // the request's slot there; noSlot: it is not parked
	slot     int32     // likewise
	stage    *Stage
	push     bool
	begun    bool // push: all layers but the last are on their way
	sent     bool // and have come

	tokens int32 // whose cache is sent

	rest  Duration // push: work of the last layer
	left  Duration // of the part under way, as of since
	since Time
	share int32 // transfers at its busier end, itself included; 0: it does not flow
	at    Time  // its next event: it begins to flow, or has ended; Forever: none
}

// links are the hand-overs under way.
type links struct {
	moves  []move // by index; the first is none
	spare  []int32
	active []int32 // those that have an event
	number int64
	at     Time // of the next event; Forever: none
	next   int32
}

func newLinks() links { return links{moves: make([]move, 1), at: Forever} }

// add returns a new hand-over.
func (l *links) add(m move) int32 {
	l.number++
	m.number, m.at = l.number, Forever
	if n := len(l.spare); n > 0 {
		i := l.spare[n-1]
		l.spare = l.spare[:n-1]
		l.moves[i] = m
		return i
	}
	l.moves = append(l.moves, m)
	return int32(len(l.moves) - 1)
}

// free forgets hand-over i, which has ended.
func (l *links) free(i int32) {
	l.moves[i] = move{}
	l.spare = append(l.spare, i)
}

// begin lets hand-over i flow from t on, with so much work.
func (l *links) begin(i int32, t Time, work Duration) {
	m := &l.moves[i]
	m.left, m.at, m.share = work, t, 0
	l.active = append(l.active, i)
	l.look()
}

// look finds the next event.
func (l *links) look() {
	l.at, l.next = Forever, 0
	for _, i := range l.active {
		if m := &l.moves[i]; m.at < l.at || m.at == l.at && m.number < l.moves[l.next].number {
			l.at, l.next = m.at, i
		}
	}
}

// flow starts the transfer of hand-over i at now.
func (l *links) flow(i int32, now Time) {
	m := &l.moves[i]
	m.from.sending++
	m.to.receiving++
	m.share, m.since = 1, now
	l.settle(m.from, m.to, now)
}

// end takes hand-over i off the ports, if it flows, and out of the events.
func (l *links) end(i int32, now Time) {
	m := &l.moves[i]
	for k, j := range l.active {
		if j == i {
			l.active = append(l.active[:k], l.active[k+1:]...)
			break
		}
	}
	m.at = Forever
	if m.share > 0 {
		m.share = 0
		m.from.sending--
		m.to.receiving--
		l.settle(m.from, m.to, now)
		return
	}
	l.look()
}

// settle takes stock of the transfers that share an end with those between two instances, whose number has changed.
func (l *links) settle(from, to *Instance, now Time) {
	for _, i := range l.active {
		m := &l.moves[i]
		if m.share == 0 || m.from != from && m.to != to {
			continue
		}
		m.left -= now.Sub(m.since) / Duration(m.share)
		m.since, m.share = now, max(m.from.sending, m.to.receiving)
		m.at = now.Add(m.left * Duration(m.share))
	}
	l.look()
}

// transfer handles the link event that is due: a transfer begins to flow, or has ended.
func (c *Cluster) transfer() {
	i := c.links.next
	m := &c.links.moves[i]
	if m.share == 0 {
		c.links.flow(i, c.now)
		return
	}
	c.links.end(i, c.now)
	switch {
	case !m.begun || m.sent:
		c.land(i)
	case m.source != noSlot: // the last layer has been computed
		m.sent = true
		c.links.begin(i, c.now, m.rest)
	default:
		m.sent = true
	}
}

// settleAll tells, at the horizon, of the requests that are handed over.
func (l *links) settleAll(c *Cluster) {
	for i := range l.moves {
		m := &l.moves[i]
		if m.to == nil {
			continue
		}
		if r := &m.to.slab[m.slot]; r.state == inbound || r.state == flying {
			c.sink.Done(r, c.now, Unfinished)
		}
	}
}

// emitted returns the tokens that requests on their way to in have emitted.
func (l *links) emitted(in *Instance) (n int64) {
	for i := range l.moves {
		if m := &l.moves[i]; m.to == in && in.slab[m.slot].state == flying {
			n += int64(in.slab[m.slot].Emitted)
		}
	}
	return n
}
