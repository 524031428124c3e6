package fleet

import (
	"fmt"
	"math"

	"github.com/decodesim/decodesim/sim"
)

var (
	_ sim.Admission = (*TokenBucket)(nil)
	_ sim.Admission = QueueLimit{}
	_ sim.Admission = Shed{}
	_ sim.Admission = Admissions(nil)
)

// Admissions admits whom all admit. They are asked in order, up to the first that refuses: a TokenBucket that comes
// last spends nothing on those whom others refuse.
type Admissions []sim.Admission

// Admit implements sim.Admission.
func (a Admissions) Admit(now sim.Time, r *sim.Request, c *sim.Cluster) bool {
	for _, one := range a {
		if !one.Admit(now, r, c) {
			return false
		}
	}
	return true
}

// TokenBucket admits a rate of requests, or of tokens: those of the prompt and the most that may be emitted, as rate
// limits of APIs count them. What is not used is saved up to the burst, with which it begins.
type TokenBucket struct {
	Tokens bool // it counts tokens; else requests

	each  sim.Duration // in which one is earned
	burst int64
	saved sim.Duration // of earning; at most burst·each
	asked sim.Time     // when that was so
}

// NewTokenBucket returns a full bucket that earns rate requests, or tokens, a second and holds burst of them.
func NewTokenBucket(rate float64, burst int64, tokens bool) (*TokenBucket, error) {
	if !(rate >= 1e-6) || rate > 1e8 {
		return nil, fmt.Errorf("policies: admission rate is %g per second, must be from 1e-6 to 1e8", rate)
	}
	each := sim.Seconds(1 / rate)
	if burst < 1 || burst > math.MaxInt64/4/int64(each) {
		return nil, fmt.Errorf("policies: admission burst is %d, must be from 1 to %d at that rate", burst, math.MaxInt64/4/int64(each))
	}
	return &TokenBucket{Tokens: tokens, each: each, burst: burst, saved: sim.Duration(burst) * each}, nil
}

// Admit implements sim.Admission.
func (b *TokenBucket) Admit(now sim.Time, r *sim.Request, _ *sim.Cluster) bool {
	b.saved = min(sim.Duration(b.burst)*b.each, b.saved+now.Sub(b.asked))
	b.asked = now
	n := int64(1)
	if b.Tokens {
		n = int64(r.Prompt) + int64(r.Limit())
	}
	if n > b.burst || sim.Duration(n)*b.each > b.saved {
		return false
	}
	b.saved -= sim.Duration(n) * b.each
	return true
}

// Entries names, for each route, the pool in which its requests wait first.
type Entries []int

// waiting returns how many requests wait in that pool of r's route, at the gate, in queues or for room, and how many
// instances there take some; at least one, for who waits for the first to come is one instance's queue.
func (e Entries) waiting(r *sim.Request, c *sim.Cluster) (n, instances int64) {
	p := c.Pool(e[r.Route])
	n = int64(p.AtGate())
	for i := range p.Len() {
		n += int64(p.Instance(i).Queued() + p.Instance(i).Incoming())
	}
	return n, int64(max(1, p.Len()))
}

// QueueLimit refuses whoever comes when so many requests per instance wait where it would: a bounded queue.
type QueueLimit struct {
	Entries Entries
	Limit   int64 // waiting requests per instance that takes some
}

// Admit implements sim.Admission.
func (q QueueLimit) Admit(_ sim.Time, r *sim.Request, c *sim.Cluster) bool {
	n, instances := q.Entries.waiting(r, c)
	return n < q.Limit*instances
}

// Shed refuses the less urgent when so many requests per instance wait where they would: those with a Priority above a
// bound, for the lower number is the more urgent.
type Shed struct {
	Entries Entries
	Limit   int64 // waiting requests per instance that takes some
	Above   int8  // priorities that are refused then
}

// Admit implements sim.Admission.
func (s Shed) Admit(_ sim.Time, r *sim.Request, c *sim.Cluster) bool {
	if r.Priority <= s.Above {
		return true
	}
	n, instances := s.Entries.waiting(r, c)
	return n < s.Limit*instances
}
