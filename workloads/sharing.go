package workloads

import (
	"fmt"
	"math/rand/v2"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
)

// Sharing says what the prompts of a workload have in common. The zero Sharing is nothing.
//
// Groups put a prefix of PrefixTokens, such as a system prompt, in front of what the length laws draw, as benchmark
// tools do: each request belongs to a group, drawn at random. With DistinctPrompts there are only so many prompts in
// all, drawn once with their outputs' lengths and dealt out evenly to the groups, and each is sent again and again.
type Sharing struct {
	Groups          int64
	PrefixTokens    int64
	DistinctPrompts int64
	Order           string // "cycle" (also ""): shuffled once, then in turn; "random": drawn for each request
}

// distinctMax bounds the memory of a set of prompts to half a GiB.
const distinctMax = 1 << 24

// prefixMax lets the longest prompt and its prefix fit an int32. What exceeds tokensMax then is longer than any model takes,
// and rejected as such.
const prefixMax = 1<<29 - 1

// OrderNames lists the orders in which distinct prompts are sent.
func OrderNames() []string { return []string{"cycle", "random"} }

func (c *Sharing) validate() error {
	switch {
	case c.Groups == 0 && c.PrefixTokens != 0:
		return refuse("prefix.groups", 0, "a number of groups beside tokens")
	case c.Groups != 0 && c.PrefixTokens == 0:
		return refuse("prefix.tokens", 0, "a number of tokens beside groups")
	case c.Groups < 0 || c.Groups > distinctMax:
		return refuse("prefix.groups", c.Groups, fmt.Sprintf("a whole number from 1 to %d", distinctMax))
	case c.PrefixTokens < 0 || c.PrefixTokens > prefixMax:
		return refuse("prefix.tokens", c.PrefixTokens, fmt.Sprintf("a whole number of tokens from 1 to %d", prefixMax))
	case c.DistinctPrompts < 0 || c.DistinctPrompts > distinctMax:
		return refuse("distinct_prompts", c.DistinctPrompts, fmt.Sprintf("a whole number from 1 to %d", distinctMax))
	case c.DistinctPrompts != 0 && c.DistinctPrompts < c.Groups:
		return refuse("distinct_prompts", c.DistinctPrompts, fmt.Sprintf("at least one prompt for each of the %d groups", c.Groups))
	case c.DistinctPrompts == 0 && c.Order != "":
		return refuse("order", c.Order, "nothing without distinct_prompts")
	}
	if c.Order == "" {
		return nil
	}
	return oneOf("order", c.Order, OrderNames())
}

// sharing gives requests their content.
type sharing struct {
	tree    sim.Contents // the groups' prefixes, and below them the distinct prompts
	tokens  int32        // of a prefix
	groups  []int32      // their nodes
	grouped *rand.Rand   // picks the group; nil: the prompt has one
	prompts []prompt     // in the order in which they are sent; empty: every prompt is another
	ordered *rand.Rand   // picks the prompt; nil: in turn
	next    int
}

// prompt is one of a set of distinct prompts.
type prompt struct{ node, tokens, output int32 }

// newSharing returns what gives requests the content that c describes, or nil. It draws the set of prompts from s.
func newSharing(c Sharing, s *sizes, seed uint64) (*sharing, error) {
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
		h.ordered = order
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
	i := h.next
	if h.ordered != nil {
		i = h.ordered.IntN(len(h.prompts))
	} else if h.next++; h.next == len(h.prompts) {
		h.next = 0
	}
	p := h.prompts[i]
	r.Content, r.Prompt, r.Output = p.node, p.tokens, p.output
}

// contents returns the tree of what is shared, or nil.
func (h *sharing) contents() *sim.Contents {
	if h == nil {
		return nil
	}
	return &h.tree
}

// mean returns the mean prompt, where the laws' own is own.
func (h *sharing) mean(own float64) float64 {
	if h == nil {
		return own
	}
	return own + float64(h.tokens)
}

// Contents returns the tree that the requests' Content is in; nil: they share nothing.
func (o *Open) Contents() *sim.Contents { return o.sizes.sharing.contents() }

// Contents returns the tree that the requests' Content is in; nil: they share nothing.
func (l *Closed) Contents() *sim.Contents { return l.sizes.sharing.contents() }
