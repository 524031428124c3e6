package requests

import (
	"fmt"
	"math/rand/v2"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
	"github.com/decodesim/decodesim/workloads/check"
)

// Sharing says what the prompts of a workload have in common. The zero Sharing is nothing.
//
// Groups put a prefix of PrefixTokens, such as a system prompt, in front of what the length laws draw, as benchmark
// tools do: each request belongs to a group, drawn at random. DistinctPrompts is the number of prompts in all: they are
// drawn once with their outputs' lengths, distributed evenly over the groups, and sent again and again.
type Sharing struct {
	Groups          int64
	PrefixTokens    int64
	DistinctPrompts int64
	Order           string // "cycle" (also ""): shuffled once, then in that order; "random": drawn for each request
}

// distinctMax bounds the memory of a set of prompts to half a GiB.
const distinctMax = 1 << 24

// prefixMax lets the longest prompt and its prefix fit an int32. A sum above check.TokensMax is longer than any model
// takes, and such a request is rejected.
const prefixMax = 1<<29 - 1

// OrderNames lists the orders in which distinct prompts are sent.
func OrderNames() []string { return []string{"cycle", "random"} }

func (c *Sharing) validate() error {
	switch {
	case c.Groups == 0 && c.PrefixTokens != 0:
		return check.Refuse("prefix.groups", 0, "a number of groups beside tokens")
	case c.Groups != 0 && c.PrefixTokens == 0:
		return check.Refuse("prefix.tokens", 0, "a number of tokens beside groups")
	case c.Groups < 0 || c.Groups > distinctMax:
		return check.Count("prefix.groups", c.Groups, distinctMax)
	case c.PrefixTokens < 0 || c.PrefixTokens > prefixMax:
		return check.Refuse("prefix.tokens", c.PrefixTokens, fmt.Sprintf("a whole number of tokens from 1 to %d", prefixMax))
	case c.DistinctPrompts < 0 || c.DistinctPrompts > distinctMax:
		return check.Count("distinct_prompts", c.DistinctPrompts, distinctMax)
	case c.DistinctPrompts != 0 && c.DistinctPrompts < c.Groups:
		return check.Refuse("distinct_prompts", c.DistinctPrompts,
			fmt.Sprintf("at least one prompt for each of the %d groups", c.Groups))
	case c.DistinctPrompts == 0 && c.Order != "":
		return check.Refuse("order", c.Order, "nothing without distinct_prompts")
	}
	if c.Order == "" {
		return nil
	}
	return check.OneOf("order", c.Order, OrderNames())
}

// sharing gives requests their content.
type sharing struct {
	tree    sim.Contents // the groups' prefixes, and below them the distinct prompts
	tokens  int32        // of a prefix
	groups  []int32      // their nodes
	grouped *rand.Rand   // picks the group; nil: the prompt has one
	prompts []prompt     // in the order in which they are sent; empty: no prompt is sent twice
	picks   *rand.Rand   // picks the prompt; nil: one after the other
	next    int
}

// prompt is one of a set of distinct prompts.
type prompt struct{ node, tokens, output int32 }

// newSharing returns what gives requests the content that c describes, or nil. It draws the set of prompts from s.
func newSharing(c Sharing, s *Sampler, seed uint64) (*sharing, error) {
	if err := c.validate(); err != nil || c.Groups == 0 && c.DistinctPrompts == 0 {
		return nil, err
	}
	h := &sharing{tokens: int32(c.PrefixTokens)}
	for range c.Groups {
		h.groups = append(h.groups, h.tree.Add(0, h.tokens))
	}
	if c.DistinctPrompts == 0 {
		h.grouped = rng.Stream(seed, "workloads.groups")
		return h, nil
	}
	for i := range c.DistinctPrompts {
		group := int32(0)
		if c.Groups > 0 {
			group = h.groups[i%c.Groups]
		}
		tokens, output := s.lengths()
		h.prompts = append(h.prompts, prompt{h.tree.Add(group, tokens), h.tokens + tokens, output})
	}
	order := rng.Stream(seed, "workloads.order")
	if c.Order == "random" {
		h.picks = order
	} else {
		order.Shuffle(len(h.prompts), func(i, j int) { h.prompts[i], h.prompts[j] = h.prompts[j], h.prompts[i] })
	}
	return h, nil
}

// mark makes r the next request: its prompt from the set, or a group's prefix in front of the prompt it has.
func (h *sharing) mark(r *sim.Request) {
	if h.grouped != nil {
		r.Content = h.groups[h.grouped.IntN(len(h.groups))]
		r.Prompt += h.tokens
		return
	}
	p := h.pick()
	r.Content, r.Prompt, r.Output = p.node, p.tokens, p.output
}

// pick returns the next prompt of the set.
func (h *sharing) pick() prompt {
	if h.picks != nil {
		return h.prompts[h.picks.IntN(len(h.prompts))]
	}
	p := h.prompts[h.next]
	h.next++
	if h.next == len(h.prompts) {
		h.next = 0
	}
	return p
}

// mean returns the mean prompt with its prefix, where drawn is that of the law.
func (h *sharing) mean(drawn float64) float64 {
	if h == nil {
		return drawn
	}
	return drawn + float64(h.tokens)
}

// Contents returns the tree that the requests' Content is in; nil: they share nothing.
func (s *Sampler) Contents() *sim.Contents {
	if s.sharing == nil {
		return nil
	}
	return &s.sharing.tree
}

// Prefixes returns the nodes of the groups' prefixes in Contents, and the tokens of each prefix; none: nothing is
// shared.
func (s *Sampler) Prefixes() (nodes []int32, tokens int32) {
	if s.sharing == nil {
		return nil, 0
	}
	return s.sharing.groups, s.sharing.tokens
}
