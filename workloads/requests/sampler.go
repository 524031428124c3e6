package requests

import (
	"cmp"
	"fmt"
	"math/rand/v2"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
	"github.com/decodesim/decodesim/workloads/check"
	"github.com/decodesim/decodesim/workloads/lengths"
)

// Mix says what the requests of a workload are: how long, of which class, and what they share. Prompts and outputs
// follow two independent laws or, instead of them, recorded Pairs, whose order no seed, server or client changes.
type Mix struct {
	Prompt lengths.Spec // prompt_tokens
	Output lengths.Spec // output_tokens: what the model would emit without a limit
	// MaxOutput is the client's max_tokens, which cuts the output. Without a Distribution the client asks for exactly the
	// output it gets.
	MaxOutput lengths.Spec
	Pairs     *lengths.Pairs // the k-th request has the k-th of them; nil: the laws
	Repeat    bool           // start over after the last of the Pairs; false: no more requests than there are pairs
	Reasoning Reasoning
	Sharing   Sharing
	Classes   []Class // nil: all requests are alike
}

// Truncated counts the draws that a law's bounds changed; see lengths.Spec.
type Truncated struct{ Prompt, Output, MaxOutput int64 }

// Limit reduces the pairs to those that a source of so many requests uses, and returns how many requests it may send:
// the number of pairs, if requests is 0 and they do not repeat. It refuses more requests, or distinct prompts, than
// there are pairs for.
func (m *Mix) Limit(requests int64) (int64, error) {
	if m.Pairs == nil {
		return requests, nil
	}
	field, need, recorded := "requests", requests, int64(m.Pairs.Len())
	if m.Sharing.DistinctPrompts > 0 {
		field, need = "distinct_prompts", m.Sharing.DistinctPrompts
	}
	switch {
	case m.Repeat:
	case need == 0:
		return recorded, nil
	case need > recorded:
		return 0, check.Refuse(field, need, fmt.Sprintf(
			"at most %d, for so many lengths are recorded, or lengths with repeat: true", recorded))
	}
	if need > 0 && need < recorded {
		m.Pairs = m.Pairs.First(need)
	}
	return requests, nil
}

// Laws are those of prompts, outputs, the client's limit and reasoning. A law that is nil does not exist.
type Laws struct{ Prompt, Output, Limit, Reasoning *lengths.Law }

// or returns the laws of a class: its own, and for those that it does not have the workload's.
func (l Laws) or(workload Laws) Laws {
	return Laws{cmp.Or(l.Prompt, workload.Prompt), cmp.Or(l.Output, workload.Output), cmp.Or(l.Limit, workload.Limit),
		cmp.Or(l.Reasoning, workload.Reasoning)}
}

// Sampler draws what requests are. Each law has a stream of its own, so that a change of one leaves the others as they
// were.
type Sampler struct {
	laws                     Laws
	prompts, outputs, limits *rand.Rand
	pairs                    *lengths.Pairs // nil: the laws
	next                     int            // index of the next pair
	classes                  *Classes       // nil: none
	sharing                  *sharing       // nil: nothing is shared
	reasoning                reasoning
}

// NewSampler returns what draws the requests of m in the run with the given seed.
func NewSampler(m Mix, seed uint64) (*Sampler, error) {
	s, err := newLaws(m, seed)
	if err != nil {
		return nil, err
	}
	if m.Sharing.DistinctPrompts > 0 {
		if err := refuseLengths(m.Classes, "a workload with distinct_prompts"); err != nil {
			return nil, err
		}
	}
	s.classes, err = newClasses(m.Classes, seed)
	if err != nil {
		return nil, err
	}
	s.sharing, err = newSharing(m.Sharing, s, seed)
	if err == nil {
		s.reasoning, s.laws.Reasoning, err = newReasoning(&m, seed)
	}
	return s, err
}

func newLaws(m Mix, seed uint64) (s *Sampler, err error) {
	s = &Sampler{pairs: m.Pairs}
	if m.MaxOutput.Given() {
		s.laws.Limit, err = lengths.New("max_output", m.MaxOutput)
		if err != nil {
			return nil, err
		}
		s.limits = rng.Stream(seed, "workloads.limits")
	}
	if m.Pairs != nil {
		const owner = "a workload with recorded lengths"
		return s, cmp.Or(
			check.Absent("prompt_tokens", owner, m.Prompt.Given(), m.Prompt.Distribution),
			check.Absent("output_tokens", owner, m.Output.Given(), m.Output.Distribution),
			refuseLengths(m.Classes, owner),
		)
	}
	s.prompts, s.outputs = rng.Stream(seed, "workloads.prompts"), rng.Stream(seed, "workloads.outputs")
	// Where every class has its own law the workload may have none. No request keeps the draws of the zero Law.
	s.laws.Prompt, s.laws.Output = &lengths.Law{}, &lengths.Law{}
	if m.Prompt.Given() || lacks(m.Classes, func(c *Class) *lengths.Spec { return &c.Prompt }) {
		s.laws.Prompt, err = lengths.New("prompt_tokens", m.Prompt)
		if err != nil {
			return nil, err
		}
	}
	if m.Output.Given() || lacks(m.Classes, func(c *Class) *lengths.Spec { return &c.Output }) {
		s.laws.Output, err = lengths.New("output_tokens", m.Output)
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Draw sets everything but the arrival of r, whose ID is set.
func (s *Sampler) Draw(r *sim.Request) {
	if !s.repeats() {
		r.Prompt, r.Output = s.lengths()
	}
	s.Finish(r)
}

// repeats reports whether prompts come from a set that has been drawn.
func (s *Sampler) repeats() bool { return s.sharing != nil && s.sharing.prompts != nil }

// lengths draws a prompt and an output.
func (s *Sampler) lengths() (prompt, output int32) {
	if s.pairs != nil {
		return s.pair()
	}
	return s.laws.Prompt.Draw(s.prompts), s.laws.Output.Draw(s.outputs)
}

// pair returns the next recorded lengths.
func (s *Sampler) pair() (prompt, output int32) {
	i := s.next
	s.next++
	if s.next == s.pairs.Len() {
		s.next = 0
	}
	return s.pairs.Prompts[i], s.pairs.Outputs[i]
}

// Fill draws the lengths of several requests, for Finish to complete: the same draws as Draw makes, in the same order
// by stream.
func (s *Sampler) Fill(prompts, outputs []int32) {
	if s.repeats() {
		return
	}
	if s.pairs != nil {
		for i := range prompts {
			prompts[i], outputs[i] = s.pair()
		}
		return
	}
	s.laws.Prompt.Fill(prompts, s.prompts)
	s.laws.Output.Fill(outputs, s.outputs)
}

// LengthsOnly reports whether Finish has nothing to do.
func (s *Sampler) LengthsOnly() bool {
	return s.limits == nil && s.sharing == nil && s.classes == nil && !s.Reasons()
}

// Finish sets the class of r, what it shares, and the client's limit. The ID and the lengths of r are set.
func (s *Sampler) Finish(r *sim.Request) {
	limit := int32(0)
	if s.limits != nil { // drawn even if the class has a limit, so that requests of other classes keep theirs
		limit = s.laws.Limit.Draw(s.limits)
	}
	if s.classes != nil {
		if classLimit := s.classes.Mark(r); classLimit > 0 {
			limit = classLimit
		}
	}
	if s.sharing != nil {
		s.sharing.mark(r)
	}
	if s.Reasons() {
		s.reason(r)
	}
	if limit > 0 {
		r.MaxOutput, r.Output = limit, min(r.Output, limit)
		r.Reasoning = min(r.Reasoning, r.Output)
	}
}

// Laws returns the laws of a class, or those of a workload without classes.
func (s *Sampler) Laws(class uint8) Laws {
	if s.classes == nil {
		return s.laws
	}
	return s.classes.of[class].laws.or(s.laws)
}

// Recorded reports whether lengths are recorded.
func (s *Sampler) Recorded() bool { return s.pairs != nil }

// PickClass returns the class that u, uniform in [0, 1), falls on, and its priority.
func (s *Sampler) PickClass(u float64) (class uint8, priority int8) {
	i := s.Pick(u)
	return uint8(i), s.Priority(i)
}

// Pick returns the class that u, uniform in [0, 1), falls on; 0: there are none.
func (s *Sampler) Pick(u float64) int {
	if s.classes == nil {
		return 0
	}
	return s.classes.pick(u)
}

// Priority returns the priority of a class; 0: there are none.
func (s *Sampler) Priority(class int) int8 {
	if s.classes == nil {
		return 0
	}
	return s.classes.of[class].priority
}

// Means returns the mean prompt and output in tokens, before truncation and before a limit cuts the output.
func (s *Sampler) Means() (prompt, output float64) {
	if s.pairs != nil {
		prompt, output = s.pairs.Means()
	} else {
		prompt, output = s.laws.Prompt.Mean, s.laws.Output.Mean
	}
	return s.sharing.mean(s.classes.mean(prompt, promptLaw)), s.classes.mean(output, outputLaw) + s.hiddenMean()
}

// Truncated returns how many draws were truncated, without draws that the law of a class replaces.
func (s *Sampler) Truncated() Truncated {
	k, l := s.classes, s.laws
	return Truncated{k.truncated(l, promptLaw), k.truncated(l, outputLaw) + k.truncated(l, reasoningLaw),
		k.truncated(l, limitLaw)}
}

// TruncatedDraws returns how many draws of any law were truncated.
func (s *Sampler) TruncatedDraws() (t Truncated) {
	for _, l := range s.all() {
		t.Prompt += truncated(l.Prompt)
		t.Output += truncated(l.Output) + truncated(l.Reasoning)
		t.MaxOutput += truncated(l.Limit)
	}
	return t
}

// ForgetTruncated sets the counts of truncated draws to zero.
func (s *Sampler) ForgetTruncated() {
	for _, l := range s.all() {
		for _, law := range []*lengths.Law{l.Prompt, l.Output, l.Limit, l.Reasoning} {
			if law != nil {
				law.Truncated = 0
			}
		}
	}
}

// all returns the laws of the workload and of its classes.
func (s *Sampler) all() []Laws {
	laws := []Laws{s.laws}
	if s.classes != nil {
		for i := range s.classes.of {
			laws = append(laws, s.classes.of[i].laws)
		}
	}
	return laws
}

func truncated(l *lengths.Law) int64 {
	if l == nil {
		return 0
	}
	return l.Truncated
}

func promptLaw(l *Laws) *lengths.Law { return l.Prompt }
func outputLaw(l *Laws) *lengths.Law { return l.Output }
func limitLaw(l *Laws) *lengths.Law  { return l.Limit }
