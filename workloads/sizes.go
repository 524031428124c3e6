package workloads

import (
	"math/rand/v2"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
)

// Lengths says how long prompts and outputs are: two independent laws, or recorded Pairs instead of them, whose order no
// seed, server or client changes.
type Lengths struct {
	Prompt Length // prompt_tokens
	Output Length // output_tokens: what the model would emit if nobody cut it
	// MaxOutput is the client's max_tokens, which cuts the output. Without a Distribution the client asks for exactly the
	// output it gets.
	MaxOutput Length
	Pairs     *Pairs // the k-th request has the k-th of them; nil: the laws
	Repeat    bool   // start over after the last of the Pairs; false: no more requests than there are pairs
	Sharing   Sharing
	Classes   []Class // nil: all requests are alike
}

// Truncated counts the draws that a law's bounds changed; see Length.
type Truncated struct{ Prompt, Output, MaxOutput int64 }

// sizes draws the lengths of requests, each from a stream of its own, so that a change of one law keeps the others.
type sizes struct {
	prompt, output, limit    law
	prompts, outputs, limits *rand.Rand // limits is nil without a limit
	pairs                    *Pairs     // nil: the laws
	next                     int        // of the pairs
	classes                  *classes   // nil: none
	sharing                  *sharing   // nil: every prompt is another
}

func newSizes(c Lengths, seed uint64) (*sizes, error) {
	s, err := newLaws(c, seed)
	if err != nil {
		return nil, err
	}
	if c.Sharing.DistinctPrompts > 0 {
		if err := ownLengths(c.Classes, "a workload with distinct_prompts"); err != nil {
			return nil, err
		}
	}
	if s.classes, err = newClasses(c.Classes, seed); err != nil {
		return nil, err
	}
	s.sharing, err = newSharing(c.Sharing, s, seed)
	return s, err
}

func newLaws(c Lengths, seed uint64) (*sizes, error) {
	s := &sizes{pairs: c.Pairs}
	if c.MaxOutput.Distribution != "" {
		l, err := newLaw("max_output", c.MaxOutput)
		if err != nil {
			return nil, err
		}
		s.limit, s.limits = *l, rng.Stream(seed, "workloads.limits")
	}
	if c.Pairs != nil {
		return s, first(
			absent("prompt_tokens", "a workload with recorded lengths", c.Prompt.Distribution != "", c.Prompt.Distribution),
			absent("output_tokens", "a workload with recorded lengths", c.Output.Distribution != "", c.Output.Distribution),
			ownLengths(c.Classes, "a workload with recorded lengths"),
		)
	}
	s.prompts, s.outputs = rng.Stream(seed, "workloads.prompts"), rng.Stream(seed, "workloads.outputs")
	return s, s.fillLaws(c)
}

// fillLaws makes the laws of lengths that are not each class's own.
func (s *sizes) fillLaws(c Lengths) error {
	if c.Prompt.Distribution != "" || lacks(c.Classes, func(k *Class) *Length { return &k.Prompt }) {
		prompt, err := newLaw("prompt_tokens", c.Prompt)
		if err != nil {
			return err
		}
		s.prompt = *prompt
	}
	if c.Output.Distribution != "" || lacks(c.Classes, func(k *Class) *Length { return &k.Output }) {
		output, err := newLaw("output_tokens", c.Output)
		if err != nil {
			return err
		}
		s.output = *output
	}
	return nil
}

// draw sets the lengths of r.
func (s *sizes) draw(r *sim.Request) {
	if !s.repeats() {
		r.Prompt, r.Output = s.lengths()
	}
	s.finish(r)
}

// repeats reports whether prompts come from a set that has been drawn.
func (s *sizes) repeats() bool { return s.sharing != nil && s.sharing.prompts != nil }

// lengths draws a prompt and an output.
func (s *sizes) lengths() (prompt, output int32) {
	if s.pairs != nil {
		return s.pair()
	}
	return s.prompt.draw(s.prompts), s.output.draw(s.outputs)
}

// finishes reports whether requests have more than lengths.
func (s *sizes) finishes() bool { return s.limits != nil || s.sharing != nil || s.classes != nil }

// finish says of which class r is, whose ID and lengths are set, and what it shares, and sets the client's limit.
func (s *sizes) finish(r *sim.Request) {
	limit, own := int32(0), int32(0)
	if s.limits != nil { // drawn even where the class has its own: the others keep theirs
		limit = s.limit.draw(s.limits)
	}
	if s.classes != nil {
		own = s.classes.mark(r)
	}
	if s.sharing != nil {
		s.sharing.mark(r)
	}
	if own > 0 {
		limit = own
	}
	if limit > 0 {
		r.MaxOutput, r.Output = limit, min(r.Output, limit)
	}
}

// fill draws the lengths of several requests, which finish takes from there: what draw would, in the same order by
// stream.
func (s *sizes) fill(prompt, output []int32) {
	if s.repeats() {
		return
	}
	if s.pairs != nil {
		for i := range prompt {
			prompt[i], output[i] = s.pair()
		}
		return
	}
	s.prompt.fill(prompt, s.prompts)
	s.output.fill(output, s.outputs)
}

func (s *sizes) pair() (prompt, output int32) {
	i := s.next
	if s.next++; s.next == len(s.pairs.prompt) {
		s.next = 0
	}
	return s.pairs.prompt[i], s.pairs.output[i]
}

// means returns the mean prompt and output in tokens, before truncation and before a limit cuts the output.
func (s *sizes) means() (prompt, output float64) {
	prompt, output = s.prompt.mean, s.output.mean
	if s.pairs != nil {
		prompt, output = s.pairs.Means()
	}
	return s.sharing.mean(s.classes.mean(prompt, ownPrompt)), s.classes.mean(output, ownOutput)
}

func (s *sizes) truncated() Truncated {
	k := s.classes
	return Truncated{k.cut(s.prompt.cut, ownPrompt), k.cut(s.output.cut, ownOutput), k.cut(s.limit.cut, ownLimit)}
}
