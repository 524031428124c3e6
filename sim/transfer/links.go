package transfer

import "github.com/decodesim/decodesim/sim/clock"

// None stands for an instance or a slot that is not known yet.
const None int32 = -1

// Link is what a transfer between two instances takes. A transfer of n tokens that shares neither of its ports takes
// Latency + Fixed + n·Token + min(n, Window)·Windowed.
type Link struct {
	Latency  clock.Duration // before the first byte
	Fixed    clock.Duration // what does not grow with the tokens
	Token    clock.Duration // of each
	Windowed clock.Duration // of each that layers with a sliding window still see
	Window   int32          // tokens that they see
	Layers   int32          // that a push sends one by one: all but the last overlap with the prefill
}

// Work returns what a transfer of so many tokens takes on ports of its own, after the latency.
func (l *Link) Work(tokens int32) clock.Duration {
	return l.Fixed + clock.Duration(tokens)*l.Token + clock.Duration(min(tokens, l.Window))*l.Windowed
}

// End is a request at one end of a transfer: a slot of an instance.
type End struct{ Instance, Slot int32 }

// nowhere is an end that is not known yet.
var nowhere = End{None, None}

// Transfer is the KV transfer of a request from one instance to the next.
type Transfer struct {
	Number   int64 // of transfers so far, which breaks ties
	From, To End
	Link     Link
	// the KV cache is transferred; false: something else is, and the destination needs no blocks for it
	Cache  bool
	Fetch  bool           // from a tier of the destination, not from an instance
	Write  bool           // to a tier of the source, for no request
	Tier   int8           // fetch, write: which tier it is from, or to
	Push   bool           // layer by layer, while the source computes
	Begun  bool           // push: all layers but the last are on their way
	Sent   bool           // push: all layers but the last have come
	Tokens int32          // whose cache is transferred
	Layers clock.Duration // push: work of all layers but the last
	Last   clock.Duration // push: work of the last layer

	// ports that it passes when it flows; the zero value: that with which From sends and that with which To receives
	Through [2]Use

	left    clock.Duration // work of the part that is to flow
	at      clock.Time     // it begins to flow; Forever: it flows, or nothing of it is to
	starts  bool           // it is to flow from at on
	flows   bool
	path    int32 // flows: its place in paths
	ordinal int32 // and among the flows of that path, or among those that start
}

// Active reports whether t is under way at all, or a record without a transfer.
func (t *Transfer) Active() bool { return t.Number != 0 }

// Links are the transfers under way and the ports that they share.
//
// Every instance has a port to send and one to receive; there may be more ports, see AddPort. The transfers share them
// max–min fair, see shares.go.
type Links struct {
	transfers []Transfer // by index; the first is none
	unused    []int32
	starting  []int32 // those that are to flow
	number    int64
	at        clock.Time // of the next event; Forever: none
	next      int32
	shares
}

// NewLinks returns the links of so many instances.
func NewLinks(instances int) Links {
	return Links{transfers: make([]Transfer, 1), at: clock.Forever, shares: shares{ports: make([]port, 2*instances)}}
}

// AddPort adds a port and returns its number.
func (l *Links) AddPort() int32 {
	l.ports = append(l.ports, port{})
	return int32(len(l.ports) - 1)
}

// Between reports whether an instance has ports: in a cluster without transfers none has.
func (l *Links) Between(instance int32) bool { return int(Receiving(instance)) < len(l.ports) }

// Reserve keeps some of a port, less than One, from all transfers.
func (l *Links) Reserve(port int32, some uint64) { l.ports[port].reserved = some }

// Single returns the rate of a transfer that passes through such ports while no other does.
func (l *Links) Single(through [2]Use) uint64 {
	rate := uint64(One)
	for _, use := range through {
		if use.Weight > 0 {
			rate = min(rate, max(1, (One-l.ports[use.Port].reserved)<<oneBits/use.Weight))
		}
	}
	return rate
}

// Sending returns the port with which an instance sends, and Receiving that with which it receives.
func Sending(instance int32) int32 { return 2 * instance }

// Receiving returns the port with which an instance receives.
func Receiving(instance int32) int32 { return 2*instance + 1 }

// At returns the time of the next event: Forever if there is none.
func (l *Links) At() clock.Time { return l.at }

// Len returns one more than the largest index of a transfer.
func (l *Links) Len() int32 { return int32(len(l.transfers)) }

// Transfer returns the transfer with index i. The pointer is good until the next call of Add.
func (l *Links) Transfer(i int32) *Transfer { return &l.transfers[i] }

// Beside returns how many transfers flow that share a port with one that passes through.
func (l *Links) Beside(through [2]Use) (n int) {
	for i := range l.paths {
		if p := &l.paths[i]; through[0].Weight > 0 && p.passes(through[0].Port) ||
			through[1].Weight > 0 && p.passes(through[1].Port) {
			n += len(p.flows)
		}
	}
	return n
}

// Add returns the index of a new transfer whose ends are not known yet.
func (l *Links) Add(link Link, cache, push bool) int32 {
	l.number++
	t := Transfer{Number: l.number, From: nowhere, To: nowhere, Link: link, Cache: cache, Push: push, at: clock.Forever}
	if n := len(l.unused); n > 0 {
		i := l.unused[n-1]
		l.unused = l.unused[:n-1]
		l.transfers[i] = t
		return i
	}
	l.transfers = append(l.transfers, t)
	return int32(len(l.transfers) - 1)
}

// Remove forgets transfer i, which has ended, and returns what it was.
func (l *Links) Remove(i int32) Transfer {
	t := l.transfers[i]
	l.transfers[i] = Transfer{From: nowhere, To: nowhere}
	l.unused = append(l.unused, i)
	return t
}

// Start lets transfer i flow from at on, with so much work.
func (l *Links) Start(i int32, at clock.Time, work clock.Duration) {
	t := &l.transfers[i]
	t.left, t.at = work, at
	t.starts, t.ordinal = true, int32(len(l.starting))
	l.starting = append(l.starting, i)
	l.findNext()
}

// findNext finds the next event.
func (l *Links) findNext() {
	l.at, l.next = clock.Forever, 0
	for _, i := range l.starting {
		l.earlier(l.transfers[i].at, i)
	}
	for i := range l.paths {
		if p := &l.paths[i]; len(p.flows) > 0 {
			l.earlier(p.at, p.flows[p.first].transfer)
		}
	}
}

// earlier makes that of transfer i, at a time, the next event if it comes before the one that is.
func (l *Links) earlier(at clock.Time, i int32) {
	if at < l.at || at == l.at && l.transfers[i].Number < l.transfers[l.next].Number {
		l.at, l.next = at, i
	}
}

// Advance handles the event that is due now. Either a transfer begins to flow, or the part of it that was under way has
// ended, and Advance returns which.
func (l *Links) Advance(now clock.Time) (i int32, ended bool) {
	i = l.next
	if !l.transfers[i].flows {
		l.flow(i, now)
		return i, false
	}
	l.Stop(i, now)
	return i, true
}

// flow puts transfer i on its ports.
func (l *Links) flow(i int32, now clock.Time) {
	t := &l.transfers[i]
	if t.Through == [2]Use{} {
		t.Through = [2]Use{{Sending(t.From.Instance), One}, {Receiving(t.To.Instance), One}}
	}
	l.unstart(t)
	l.enter(i, now)
	l.findNext()
}

// unstart takes t from those that are to flow.
func (l *Links) unstart(t *Transfer) {
	last := len(l.starting) - 1
	moved := l.starting[last]
	l.starting[t.ordinal] = moved
	l.transfers[moved].ordinal = t.ordinal
	l.starting = l.starting[:last]
	t.starts, t.at = false, clock.Forever
}

// Stop takes transfer i off its ports, if it flows, and out of the events.
func (l *Links) Stop(i int32, now clock.Time) {
	switch t := &l.transfers[i]; {
	case t.flows:
		l.leave(t, now)
	case t.starts:
		l.unstart(t)
	}
	l.findNext()
}
