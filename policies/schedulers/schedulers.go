package schedulers

import (
	"github.com/decodesim/decodesim/policies/internal/named"
	"github.com/decodesim/decodesim/sim"
)

// list is the schedulers that engines can name. Each has arguments of its own, with which package configs builds it.
func list() named.List[struct{}, sim.Scheduler] {
	return named.List[struct{}, sim.Scheduler]{
		{Name: "continuous",
			Does: "one token budget a step for prompts and decodes alike, chunked prefill if the engine has it"},
		{Name: "prefill-first",
			Does: "whole prompts in steps of their own while decodes wait; or, below prefill_below decodes alone"},
		{Name: "sglang",
			Does: "prompts in steps of their own, room for the tokens that are expected, retraction when it was too little"},
		{Name: "static",
			Does: "a padded batch at a time, formed when the one before has wholly ended"},
	}
}

// Names returns the names of all schedulers.
func Names() []string { return list().Names() }

// Does returns in a few words what the scheduler called name does.
func Does(name string) string { return list().Does(name) }

// Reserve says how much of the KV cache a request takes when it is admitted.
type Reserve uint8

// The reservations.
const (
	AsComputed  Reserve = iota // blocks for its next chunk: paged attention (vLLM, SOSP '23)
	WholePrompt                // blocks for its prompt
	MaxOutput                  // blocks for its prompt and the most it may emit
	MaxModelLen                // blocks for the longest sequence of the model
)

// Victim says which request is preempted when the KV cache is full.
type Victim uint8

// The victims.
const (
	LastAdmitted Victim = iota
	LastInOrder         // the one that the order of the queue puts last; without an order, the last admitted
)

// of returns the next victim.
func (v Victim) of(in *sim.Instance) *sim.Request {
	worst := in.LastAdmitted()
	if v == LastInOrder {
		for r := in.AdmittedBefore(worst); r != nil; r = in.AdmittedBefore(r) {
			if in.Later(r, worst) {
				worst = r
			}
		}
	}
	return worst
}

// anywhere is of, over all microbatches of a pipeline.
func (v Victim) anywhere(in *sim.Instance) *sim.Request {
	worst := v.of(in)
	for i := range in.Microbatches() {
		lane := in.Microbatch(i)
		if lane == in {
			continue
		}
		for r := lane.LastAdmitted(); r != nil; r = lane.AdmittedBefore(r) {
			if later := in.AdmittedEarlier(worst, r); in.Preemptible(r) &&
				(later && v == LastAdmitted || v == LastInOrder && in.Later(r, worst)) {
				worst = r
			}
		}
	}
	return worst
}
