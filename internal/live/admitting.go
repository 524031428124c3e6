package live

import (
	"github.com/decodesim/decodesim/policies/fleet"
	"github.com/decodesim/decodesim/sim"
)

// Refusal says why a request was rejected.
type Refusal int8

// Reasons why a request is rejected.
const (
	RefusedForLength Refusal = iota // no pool on its way takes it
	RefusedForQueue                 // queue_limit or shed_limit of the admission
	RefusedForRate                  // rate_per_s
	RefusedForTokens                // tokens_per_s
)

// admitting is the admission of a run, which its clients observe as soon as it has decided.
type admitting struct {
	fleet *Fleet
	rules []sim.Admission
}

func newAdmitting(f *Fleet, a sim.Admission) *admitting {
	switch a := a.(type) {
	case nil:
		return &admitting{f, nil}
	case fleet.Admissions:
		return &admitting{f, a}
	}
	return &admitting{f, []sim.Admission{a}}
}

// Admit implements sim.Admission.
func (x *admitting) Admit(now sim.Time, r *sim.Request, c *sim.Cluster) bool {
	o := x.fleet.open[r.ID]
	for _, rule := range x.rules {
		if rule.Admit(now, r, c) {
			continue
		}
		if o != nil {
			o.answer.refusal = refusalBy(rule)
		}
		return false
	}
	if o != nil {
		o.answer.admitted.Store(true)
		x.fleet.dirty = append(x.fleet.dirty, o.answer)
	}
	return true
}

func refusalBy(rule sim.Admission) Refusal {
	bucket, ok := rule.(*fleet.TokenBucket)
	switch {
	case !ok:
		return RefusedForQueue
	case bucket.Tokens:
		return RefusedForTokens
	}
	return RefusedForRate
}
