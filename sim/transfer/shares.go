package transfer

import (
	"math/bits"

	"github.com/decodesim/decodesim/sim/clock"
)

// One is all of a port, and the rate of a transfer that is alone.
const One = 1 << oneBits

const oneBits = 30

// Use says that a transfer which is alone takes Weight of a port, of One. Without Weight it does not pass the port.
type Use struct {
	Port   int32
	Weight uint64
}

// shares divides ports among the transfers that pass them, max–min fair: all rates grow alike until a port is full;
// the transfers that pass it keep their rates, and the others grow on (progressive filling: Bertsekas and Gallager,
// Data Networks, 2nd ed., §6.5.2). A rate is that of the transfer alone times at most One.
//
// A transfer that begins or ends changes rates only where a chain of shared ports leads to, so only those are found
// anew. Whose rate stays the same progresses as if nothing had happened. Transfers that pass the same ports have the
// same rate, so it is found once for all of them, however many there are.
type shares struct {
	ports  []port
	paths  []path // those without flows are for the next one
	round  int64
	joined []int32 // paths whose rates are found in the round
	passed []int32 // ports that they pass
}

// port is one direction of something that bytes pass. Its other fields are of the round in which it was passed last.
type port struct {
	reserved uint64 // for what is no transfer

	round  int64
	room   uint64 // that transfers with a rate leave
	weight uint64 // Σ over those without
}

// path is the transfers that flow through the same ports.
type path struct {
	through [2]Use
	flows   []flow
	first   int32      // which of them ends first
	at      clock.Time // when
	rate    uint64     // at which they progress, of One
	next    uint64     // that rate, while it is being found; 0: it has not been
	round   int64      // the latest one that found its rate
}

// flow is a transfer that flows.
type flow struct {
	transfer int32
	number   int64
	left     clock.Duration // work, as of since
	since    clock.Time
}

// passes reports whether a port is of the path.
func (p *path) passes(port int32) bool {
	for _, use := range p.through {
		if use.Weight > 0 && use.Port == port {
			return true
		}
	}
	return false
}

// enter has transfer i flow from now on.
func (l *Links) enter(i int32, now clock.Time) {
	t := &l.transfers[i]
	k := l.pathOf(t.Through)
	p := &l.paths[k]
	t.flows, t.path, t.ordinal = true, k, int32(len(p.flows))
	p.flows = append(p.flows, flow{i, t.Number, t.left, now})
	if !l.share(k, now) {
		if at := p.flows[t.ordinal].ends(p.rate); at < p.at || at == p.at && t.Number < p.flows[p.first].number {
			p.first, p.at = t.ordinal, at
		}
	}
}

// pathOf returns the place of the path through such ports: an unused one, if none flows through them.
func (l *Links) pathOf(through [2]Use) int32 {
	unused := None
	for i := range l.paths {
		switch p := &l.paths[i]; {
		case len(p.flows) == 0:
			unused = int32(i)
		case p.through == through:
			return int32(i)
		}
	}
	if unused == None {
		l.paths = append(l.paths, path{})
		unused = int32(len(l.paths) - 1)
	}
	p := &l.paths[unused]
	*p = path{through: through, flows: p.flows}
	return unused
}

// leave has t flow no longer.
func (l *Links) leave(t *Transfer, now clock.Time) {
	p := &l.paths[t.path]
	last := len(p.flows) - 1
	p.flows[t.ordinal] = p.flows[last]
	l.transfers[p.flows[last].transfer].ordinal = t.ordinal
	p.flows = p.flows[:last]
	t.flows = false
	if !l.share(t.path, now) && last > 0 {
		p.findFirst()
	}
}

// share brings the transfers whose rates depend on path k up to date, after one that passes it has begun or ended.
// It reports whether the rate of path k has changed.
func (l *Links) share(k int32, now clock.Time) (changed bool) {
	l.join(k)
	l.fill()
	for _, i := range l.joined {
		p := &l.paths[i]
		if p.next == p.rate {
			continue
		}
		for j := range p.flows {
			f := &p.flows[j]
			f.left -= progress(now.Sub(f.since), p.rate)
			f.since = now
		}
		p.rate = p.next
		p.findFirst()
		changed = changed || i == k
	}
	return changed
}

// findFirst finds which flow of p ends first. If two have progressed up to the same instant, it is the one with less
// work left.
func (p *path) findFirst() {
	p.first, p.at = 0, p.flows[0].ends(p.rate)
	for i := 1; i < len(p.flows); i++ {
		f, first := &p.flows[i], &p.flows[p.first]
		if f.since == first.since {
			if f.left > first.left || f.left == first.left && f.number > first.number {
				continue
			}
		}
		if at := f.ends(p.rate); at < p.at || at == p.at && f.number < first.number {
			p.first, p.at = int32(i), at
		}
	}
}

// ends returns when f ends at a rate.
func (f *flow) ends(rate uint64) clock.Time { return f.since.Add(takes(f.left, rate)) }

// join finds the paths that share a port with path k or, in turn, with each other.
func (l *Links) join(k int32) {
	l.round++
	l.joined, l.passed = l.joined[:0], l.passed[:0]
	l.pass(&l.paths[k])
	for grown := true; grown; {
		grown = false
		for i := range l.paths {
			p := &l.paths[i]
			if len(p.flows) == 0 || p.round == l.round || !l.passedBy(p) {
				continue
			}
			p.round, p.next = l.round, 0
			l.joined = append(l.joined, int32(i))
			l.pass(p)
			for _, use := range p.through {
				if use.Weight > 0 {
					l.ports[use.Port].weight += use.Weight * uint64(len(p.flows))
				}
			}
			grown = true
		}
	}
}

// pass notes the ports of p.
func (l *Links) pass(p *path) {
	for _, use := range p.through {
		if port := &l.ports[use.Port]; use.Weight > 0 && port.round != l.round {
			port.round, port.room, port.weight = l.round, One-port.reserved, 0
			l.passed = append(l.passed, use.Port)
		}
	}
}

// passedBy reports whether p passes a port that has been noted.
func (l *Links) passedBy(p *path) bool {
	for _, use := range p.through {
		if use.Weight > 0 && l.ports[use.Port].round == l.round {
			return true
		}
	}
	return false
}

// fill finds the rates of the paths that are joined.
func (l *Links) fill() {
	for found := 0; found < len(l.joined); {
		full, level := l.fullest()
		for _, i := range l.joined {
			p := &l.paths[i]
			if p.next == 0 && (level == One || p.passes(full)) {
				p.next = level
				l.settle(p)
				found++
			}
		}
	}
}

// fullest returns the port that is full first as rates grow, of several the one with the lowest number, and the rates
// then: at most One.
func (l *Links) fullest() (full int32, level uint64) {
	full, level = None, One
	for _, i := range l.passed {
		p := &l.ports[i]
		if p.weight == 0 {
			continue
		}
		x := min(One, max(1, p.room<<oneBits/p.weight))
		if x < level || x == level && i < full {
			full, level = i, x
		}
	}
	return full, level
}

// settle takes the flows of p, whose rate has been found, out of what their ports have left.
func (l *Links) settle(p *path) {
	n := uint64(len(p.flows))
	for _, use := range p.through {
		if use.Weight == 0 {
			continue
		}
		port := &l.ports[use.Port]
		port.weight -= use.Weight * n
		port.room -= min(port.room, (use.Weight*p.next+One-1)>>oneBits*n)
	}
}

// progress returns the work that a transfer does in a span, rounded down.
func progress(span clock.Duration, rate uint64) clock.Duration {
	high, low := bits.Mul64(uint64(span), rate)
	return clock.Duration(high<<(64-oneBits) | low>>oneBits)
}

// Takes returns how long work takes at a rate.
func Takes(work clock.Duration, rate uint64) clock.Duration { return takes(work, rate) }

// takes returns how long work takes, rounded up; if that is longer than any run, as long as the longest.
func takes(work clock.Duration, rate uint64) clock.Duration {
	if work <= 0 {
		return 0
	}
	high, low := bits.Mul64(uint64(work), One)
	low, carry := bits.Add64(low, rate-1, 0)
	high += carry
	if high >= rate {
		return clock.Duration(clock.End)
	}
	q, _ := bits.Div64(high, low, rate)
	return clock.Duration(min(q, uint64(clock.End)))
}
