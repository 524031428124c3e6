package fleet

import (
	"errors"
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

// AdmissionArguments say which requests may enter, by each rule that has a limit.
type AdmissionArguments struct {
	Entries    Entries // the pool that each route begins with
	Rate       float64 // requests per second; 0: no such rule
	Burst      int64   // requests
	TokenRate  float64 // tokens per second, of prompts and output limits; 0: no such rule
	TokenBurst int64   // tokens
	QueueLimit int64   // waiting requests per instance at which no request enters; 0: no such rule
	ShedLimit  int64   // waiting requests per instance at which priorities above ShedAbove do not enter; 0: no such rule
	ShedAbove  int8
}

// NewAdmission returns the rules as one, or nil if there are none. Buckets come last, so that they spend nothing on
// requests that another rule rejects.
func NewAdmission(a AdmissionArguments) (sim.Admission, error) {
	var rules Admissions
	switch {
	case a.QueueLimit < 0 || a.ShedLimit < 0:
		return nil, fmt.Errorf("policies: queue_limit is %d and shed_limit %d, must be at least 1; 0: no such rule",
			a.QueueLimit, a.ShedLimit)
	case (a.QueueLimit > 0 || a.ShedLimit > 0) && len(a.Entries) == 0:
		return nil, errors.New("policies: an admission by queues needs the pool that each route begins with")
	}
	if a.ShedLimit > 0 {
		rules = append(rules, Shed{a.Entries, a.ShedLimit, a.ShedAbove})
	}
	if a.QueueLimit > 0 {
		rules = append(rules, QueueLimit{a.Entries, a.QueueLimit})
	}
	for _, b := range []struct {
		rate   float64
		burst  int64
		tokens bool
	}{{a.Rate, a.Burst, false}, {a.TokenRate, a.TokenBurst, true}} {
		if b.rate == 0 {
			continue
		}
		bucket, err := NewTokenBucket(b.rate, b.burst, b.tokens)
		if err != nil {
			return nil, err
		}
		rules = append(rules, bucket)
	}
	switch len(rules) {
	case 0:
		return nil, nil
	case 1:
		return rules[0], nil
	}
	return rules, nil
}

// Admissions admits a request that every rule admits. The rules are asked in order, up to the first that rejects.
type Admissions []sim.Admission

// Admit implements sim.Admission.
func (a Admissions) Admit(now sim.Time, r *sim.Request, c *sim.Cluster) bool {
	for _, rule := range a {
		if !rule.Admit(now, r, c) {
			return false
		}
	}
	return true
}

// TokenBucket admits requests, or tokens, at a rate. Tokens are those of the prompt and the most that the request may
// emit, as the rate limits of APIs count them. An unused rate is saved up to the burst, with which the bucket begins.
type TokenBucket struct {
	Tokens bool // it counts tokens; else requests

	each    sim.Duration // the time in which the bucket earns one request or token
	burst   int64
	saved   sim.Duration // earning time, at most burst·each
	updated sim.Time     // when saved was true
}

// NewTokenBucket returns a full bucket that earns rate requests, or tokens, a second, up to burst.
func NewTokenBucket(rate float64, burst int64, tokens bool) (*TokenBucket, error) {
	if !(rate >= 1e-6) || rate > 1e8 {
		return nil, fmt.Errorf("policies: admission rate is %g per second, must be from 1e-6 to 1e8", rate)
	}
	each := sim.Seconds(1 / rate)
	if most := math.MaxInt64 / 4 / int64(each); burst < 1 || burst > most {
		return nil, fmt.Errorf("policies: admission burst is %d, must be from 1 to %d at that rate", burst, most)
	}
	return &TokenBucket{Tokens: tokens, each: each, burst: burst, saved: sim.Duration(burst) * each}, nil
}

// Admit implements sim.Admission.
func (b *TokenBucket) Admit(now sim.Time, r *sim.Request, _ *sim.Cluster) bool {
	b.saved = min(sim.Duration(b.burst)*b.each, b.saved+now.Sub(b.updated))
	b.updated = now
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

// Entries has, for each route, the pool in which its requests wait first.
type Entries []int

// waiting returns how many requests wait in the first pool of r's route, at the gate, in queues or for allocation, and
// how many of its instances take requests. There is at least one such instance, because requests that wait for the
// first instance to start are the queue of that instance.
func (e Entries) waiting(r *sim.Request, c *sim.Cluster) (n, instances int64) {
	p := c.Pool(e[r.Route])
	n = int64(p.AtGate())
	for i := range p.Len() {
		in := p.Instance(i)
		n += int64(in.Queued() + in.Incoming() + in.Tokenizing())
	}
	return n, int64(max(1, p.Len()))
}

// QueueLimit rejects a request when Limit requests per instance wait where it would wait: a bounded queue.
type QueueLimit struct {
	Entries Entries
	Limit   int64 // waiting requests per instance that takes requests
}

// Admit implements sim.Admission.
func (q QueueLimit) Admit(_ sim.Time, r *sim.Request, c *sim.Cluster) bool {
	n, instances := q.Entries.waiting(r, c)
	return n < q.Limit*instances
}

// Shed rejects a less urgent request when Limit requests per instance wait where it would wait. A higher Priority is a
// less urgent one.
type Shed struct {
	Entries Entries
	Limit   int64 // waiting requests per instance that takes requests
	Above   int8  // priorities above this are rejected
}

// Admit implements sim.Admission.
func (s Shed) Admit(_ sim.Time, r *sim.Request, c *sim.Cluster) bool {
	if r.Priority <= s.Above {
		return true
	}
	n, instances := s.Entries.waiting(r, c)
	return n < s.Limit*instances
}
