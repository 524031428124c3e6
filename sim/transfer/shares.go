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
// anew. Whose rate stays the same progresses as if nothing had happened.
type shares struct {
	ports  []port
	round  int64
	joined []int32 // transfers whose rates are found in the round
	passed []int32 // ports that they pass
}

// port is one direction of something that bytes pass. Its fields are of the round in which it was passed last.
type port struct {
	round  int64
	room   uint64 // that transfers with a rate leave
	weight uint64 // Σ over those without
}

// share brings the transfers whose rates depend on t up to date, after t has begun or ended.
func (l *Links) share(t *Transfer, now clock.Time) {
	l.join(t)
	l.fill()
	for _, i := range l.joined {
		u := &l.transfers[i]
		if u.next == u.rate {
			continue
		}
		u.left -= progress(now.Sub(u.since), u.rate)
		u.since, u.rate = now, u.next
		u.at = now.Add(takes(u.left, u.rate))
	}
	l.findNext()
}

// join finds the transfers that flow and share a port with t or, in turn, with each other.
func (l *Links) join(t *Transfer) {
	l.round++
	l.joined, l.passed = l.joined[:0], l.passed[:0]
	l.pass(t)
	for grown := true; grown; {
		grown = false
		for _, i := range l.active {
			u := &l.transfers[i]
			if !u.flows || u.round == l.round || !l.passedBy(u) {
				continue
			}
			u.round, u.next = l.round, 0
			l.joined = append(l.joined, i)
			l.pass(u)
			for _, use := range u.Through {
				if use.Weight > 0 {
					l.ports[use.Port].weight += use.Weight
				}
			}
			grown = true
		}
	}
}

// pass notes the ports of t.
func (l *Links) pass(t *Transfer) {
	for _, use := range t.Through {
		if p := &l.ports[use.Port]; use.Weight > 0 && p.round != l.round {
			*p = port{round: l.round, room: One}
			l.passed = append(l.passed, use.Port)
		}
	}
}

// passedBy reports whether t passes a port that has been noted.
func (l *Links) passedBy(t *Transfer) bool {
	for _, use := range t.Through {
		if use.Weight > 0 && l.ports[use.Port].round == l.round {
			return true
		}
	}
	return false
}

// fill finds the rates of the transfers that are joined.
func (l *Links) fill() {
	for found := 0; found < len(l.joined); {
		full, level := l.fullest()
		for _, i := range l.joined {
			u := &l.transfers[i]
			if u.next == 0 && (level == One || u.Passes(full)) {
				u.next = level
				l.leave(u)
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

// leave takes t, whose rate has been found, out of what its ports have left.
func (l *Links) leave(t *Transfer) {
	for _, use := range t.Through {
		if use.Weight == 0 {
			continue
		}
		p := &l.ports[use.Port]
		p.weight -= use.Weight
		p.room -= min(p.room, (use.Weight*t.next+One-1)>>oneBits)
	}
}

// progress returns the work that a transfer does in a span, rounded down.
func progress(span clock.Duration, rate uint64) clock.Duration {
	high, low := bits.Mul64(uint64(span), rate)
	return clock.Duration(high<<(64-oneBits) | low>>oneBits)
}

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
