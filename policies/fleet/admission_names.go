package fleet

import (
	"fmt"

	"github.com/decodesim/decodesim/sim"
)

// AdmissionArguments says who may enter, by each rule that has a limit.
type AdmissionArguments struct {
	Entries    Entries // the pool that each route begins with
	Rate       float64 // requests per second; 0: no such rule
	Burst      int64   // of those
	TokenRate  float64 // tokens per second, of prompts and the most that may be emitted; 0: no such rule
	TokenBurst int64   // of those
	QueueLimit int64   // waiting requests per instance, at which nobody enters; 0: no such rule
	ShedLimit  int64   // waiting requests per instance, at which those with a priority above ShedAbove do not enter; 0: no such rule
	ShedAbove  int8
}

// NewAdmission returns the rules as one, or nil if there are none. Buckets come last and spend nothing on whom others
// refuse.
func NewAdmission(a AdmissionArguments) (sim.Admission, error) {
	var rules Admissions
	switch {
	case a.QueueLimit < 0 || a.ShedLimit < 0:
		return nil, fmt.Errorf("policies: queue_limit is %d and shed_limit %d, must be at least 1; 0: no such rule", a.QueueLimit, a.ShedLimit)
	case (a.QueueLimit > 0 || a.ShedLimit > 0) && len(a.Entries) == 0:
		return nil, fmt.Errorf("policies: an admission by queues needs the pool that each route begins with")
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
