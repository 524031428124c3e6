package requests

import (
	"cmp"
	"fmt"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
	"github.com/decodesim/decodesim/workloads/check"
	"github.com/decodesim/decodesim/workloads/lengths"
)

// Reasoning is the tokens at the beginning of an output that its user does not see. Either a law says how many they are
// and come before what Mix.Output says, or they are a share of that. The zero Reasoning is none.
type Reasoning struct {
	Tokens lengths.Spec
	Share  float64 // of the output, rounded down
	// later turns have them in their prompts; false: they are left out, as the chat templates of reasoning models do
	InContext bool
}

// Given reports whether outputs have reasoning, but for those of classes with a law of their own.
func (c *Reasoning) Given() bool { return c.Tokens.Given() || c.Share > 0 }

// reasoning draws how many tokens of an output are hidden.
type reasoning struct {
	share float64
	draws *rng.Keyed // nil: there are no laws
}

// newReasoning returns what m says, and its law; nil: none.
func newReasoning(m *Mix, seed uint64) (r reasoning, law *lengths.Law, err error) {
	c := &m.Reasoning
	err = cmp.Or(
		check.Within("reasoning.share", c.Share, 0, 1),
		check.Absent("reasoning.share", "a law of reasoning tokens", c.Tokens.Given() && c.Share != 0, c.Share),
	)
	own := c.Tokens.Given()
	for i := range m.Classes {
		k := &m.Classes[i]
		own = own || k.Reasoning.Given()
		field := fmt.Sprintf("classes[%d].reasoning_tokens", i)
		err = cmp.Or(err, check.Absent(field, "reasoning.share", k.Reasoning.Given() && c.Share > 0,
			k.Reasoning.Distribution))
	}
	if err != nil || !own {
		return reasoning{share: c.Share}, nil, err
	}
	if c.Tokens.Given() {
		law, err = lengths.New("reasoning.tokens", c.Tokens)
	}
	return reasoning{draws: rng.NewKeyed(seed, "workloads.reasoning")}, law, err
}

// Reason puts reasoning in front of an output, or makes a part of it reasoning. What a law says is drawn by the key
// (a, b). It returns the hidden tokens, and the output with them.
func (s *Sampler) Reason(class uint8, output int32, a, b uint64) (hidden, all int32) {
	if s.reasoning.draws == nil {
		return Hidden(output, s.reasoning.share), output
	}
	law := s.Laws(class).Reasoning
	if law == nil {
		return 0, output
	}
	hidden = law.Draw(s.reasoning.draws.At(a, b))
	return hidden, int32(min(int64(hidden)+int64(output), check.TokensMax))
}

// Hidden returns the share of an output that is reasoning, rounded down.
func Hidden(output int32, share float64) int32 { return int32(float64(output) * share) }

// Reasons reports whether some outputs have reasoning.
func (s *Sampler) Reasons() bool { return s.reasoning.share > 0 || s.reasoning.draws != nil }

// reason puts reasoning in front of the output of r.
func (s *Sampler) reason(r *sim.Request) {
	r.Reasoning, r.Output = s.Reason(r.Class, r.Output, uint64(uint32(r.ID)), 0)
}

// hiddenMean returns the mean of the tokens that reasoning adds to an output.
func (s *Sampler) hiddenMean() float64 {
	workload := 0.0
	if l := s.laws.Reasoning; l != nil {
		workload = l.Mean
	}
	return s.classes.mean(workload, reasoningLaw)
}

func reasoningLaw(l *Laws) *lengths.Law { return l.Reasoning }
